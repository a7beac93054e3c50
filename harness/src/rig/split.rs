//! How a stack's services share the server pool.

use profiles::cpuset::CpuSet;

use super::topology::Topology;

/// Parts `pool` among services by their share of the reference CPUs: whole
/// physical cores, at least one each. Where there are fewer cores than
/// services all share the pool, and the text says so.
pub fn split(
    topology: &Topology,
    pool: &CpuSet,
    shares: &[usize],
) -> (Vec<CpuSet>, Option<String>) {
    let whole = || vec![pool.clone(); shares.len()];
    let cores: Vec<Vec<u16>> = topology
        .cores()
        .into_iter()
        .map(|core| core.into_iter().filter(|c| pool.contains(*c)).collect())
        .filter(|core: &Vec<u16>| !core.is_empty())
        .collect();
    if shares.len() < 2 {
        return (whole(), None);
    }
    if cores.len() < shares.len() {
        let short = format!(
            "the {} services share cpus {pool}: a split needs a core each",
            shares.len()
        );
        return (whole(), Some(short));
    }
    let mut left = cores.into_iter();
    let counts = parted(left.len(), shares);
    let of = |n: usize| {
        let ids: Vec<u16> = left.by_ref().take(n).flatten().collect();
        CpuSet::new(ids).unwrap_or_else(|| pool.clone())
    };
    (counts.into_iter().map(of).collect(), None)
}

/// `total` parted by largest remainders, at least one each.
fn parted(total: usize, shares: &[usize]) -> Vec<usize> {
    let sum: usize = shares.iter().map(|s| (*s).max(1)).sum();
    let spare = total - shares.len();
    let exact = |share: usize| (share.max(1) * total) as f64 / sum as f64;
    let mut out = vec![1; shares.len()];
    for _ in 0..spare {
        // Who is furthest below his due is next; of equals the first.
        let most = (0..shares.len()).max_by(|a, b| {
            let due = |i: usize| exact(shares[i]) - out[i] as f64;
            due(*a).total_cmp(&due(*b)).then(b.cmp(a))
        });
        if let Some(next) = most {
            out[next] += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{super::topology::fake::machine, *};

    fn sets(
        cores: u16,
        threads: u16,
        pool: &str,
        shares: &[usize],
    ) -> Vec<String> {
        let topology = machine(cores, threads, 1);
        let (sets, short) = split(&topology, &pool.parse().unwrap(), shares);
        assert_eq!(short, None);
        sets.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_reference_machine_gives_each_what_its_file_says() {
        let gateway = sets(64, 2, "0-31,64-95", &[40, 24]);
        assert_eq!(gateway, ["0-19,64-83", "20-31,84-95"]);
        let stack = sets(64, 2, "0-31,64-95", &[30, 2, 8, 24]);
        assert_eq!(
            stack,
            ["0-14,64-78", "15,79", "16-19,80-83", "20-31,84-95"]
        );
    }

    #[test]
    fn a_smaller_pool_is_parted_alike_with_a_core_for_everybody() {
        assert_eq!(sets(8, 1, "0-3", &[30, 2, 8, 24]), ["0", "1", "2", "3"]);
        assert_eq!(sets(16, 1, "0-7", &[40, 24]), ["0-4", "5-7"]);
        assert_eq!(parted(8, &[30, 2, 8, 24]).iter().sum::<usize>(), 8);
    }

    #[test]
    fn too_few_cores_are_shared_and_that_is_said() {
        let topology = machine(2, 1, 1);
        let pool = "0".parse().unwrap();
        let (sets, short) = split(&topology, &pool, &[40, 24]);
        assert_eq!(sets, [pool.clone(), pool]);
        assert!(short.unwrap().contains("2 services share cpus 0"));
    }
}
