//! Who gets which CPUs.
//!
//! Whole physical cores, SMT siblings together: the lower half of the cores
//! serves, the upper half fires. An odd core is for the sidecars.

use profiles::{cpuset::CpuSet, profile::Budget, record::Pools};

use super::topology::Topology;

/// Why two CPU sets cannot be pools of this machine.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PoolError {
    /// No such CPU, or not ours to use.
    #[error("{pool} cpu {cpu} is not there or not allowed; there are: {have}")]
    NotThere {
        /// The pool.
        pool: &'static str,
        /// The CPU.
        cpu: u16,
        /// What there is.
        have: String,
    },
    /// The same CPU in both.
    #[error("cpu {0} is in both pools; give it to one of them")]
    Overlap(u16),
    /// Two threads of one core in different pools.
    #[error(
        "server cpu {server} and load cpu {load} are siblings on one physical \
         core; give both to one pool"
    )]
    SharedCore {
        /// In the server pool.
        server: u16,
        /// Its sibling in the load pool.
        load: u16,
    },
    /// Whole cores and halves of cores in one pool.
    #[error(
        "{pool} mixes whole cores with halves: cpu {cpu} is there without its \
         sibling {sibling}; add it, or take only first threads"
    )]
    Mixed {
        /// The pool.
        pool: &'static str,
        /// The CPU that stands alone.
        cpu: u16,
        /// Its missing sibling.
        sibling: u16,
    },
}

/// The pools of a machine, by its topology alone.
pub fn derive(topology: &Topology) -> Pools {
    let cores = topology.cores();
    let mut compromises = Vec::new();
    let set = |cores: &[Vec<u16>]| CpuSet::new(cores.iter().flatten().copied());
    let n = cores.len();
    let (server, load, aux) = if n >= 2 {
        let half = n / 2;
        let aux = (n % 2 == 1).then(|| set(&cores[n - 1..]));
        (set(&cores[..half]), set(&cores[half..2 * half]), aux.flatten())
    } else {
        let ids: Vec<u16> = cores.into_iter().flatten().collect();
        let half = ids.len().div_ceil(2);
        let of = |ids: &[u16]| CpuSet::new(ids.iter().copied());
        if ids.len() > 1 {
            compromises.push(
                "server and load share one physical core, a thread each".into(),
            );
        }
        (of(&ids[..half]), of(&ids[half..]), None)
    };
    // Where nothing is known, CPU 0 is always there.
    let server = server.unwrap_or_else(first_cpu);
    let Some(load) = load else {
        compromises.push(format!(
            "server, load and aux share cpu {server}: figures of this rig show \
             the sum of both sides"
        ));
        let (load, aux) = (server.clone(), server.clone());
        return Pools { server, load, aux, compromises };
    };
    let aux = aux.unwrap_or_else(|| {
        compromises.push(format!("aux shares cpus {load} with load"));
        load.clone()
    });
    for (name, pool) in [("server", &server), ("load", &load)] {
        if topology.spread(pool, |c| c.package) > 1 {
            compromises.push(format!("{name} spans more than one socket"));
        } else if topology.spread(pool, |c| c.node) > 1 {
            compromises.push(format!("{name} spans more than one NUMA node"));
        }
    }
    Pools { server, load, aux, compromises }
}

fn first_cpu() -> CpuSet {
    "0".parse().expect("cpu 0 is a set")
}

/// Checks two sets that were asked for by hand.
pub fn check(
    topology: &Topology,
    server: &CpuSet,
    load: &CpuSet,
) -> Result<(), PoolError> {
    for (pool, set) in [("server", server), ("load", load)] {
        if let Some(cpu) = set.iter().find(|cpu| !topology.has(*cpu)) {
            let all = CpuSet::new(topology.cpus.iter().map(|c| c.id));
            let have = all.map_or("none".into(), |s| s.to_string());
            return Err(PoolError::NotThere { pool, cpu, have });
        }
    }
    if let Some(cpu) = server.overlap(load).first() {
        return Err(PoolError::Overlap(*cpu));
    }
    for server in server.iter() {
        let siblings = topology.siblings(server);
        if let Some(load) = siblings.into_iter().find(|s| load.contains(*s)) {
            return Err(PoolError::SharedCore { server, load });
        }
    }
    for (pool, set) in [("server", server), ("load", load)] {
        let missing = |cpu: u16| {
            topology.siblings(cpu).into_iter().find(|s| !set.contains(*s))
        };
        let whole =
            |c: u16| !topology.siblings(c).is_empty() && missing(c).is_none();
        if set.iter().any(whole)
            && let Some((cpu, sibling)) =
                set.iter().find_map(|c| Some((c, missing(c)?)))
        {
            return Err(PoolError::Mixed { pool, cpu, sibling });
        }
    }
    Ok(())
}

/// The CPUs of `pool` that a profile's budget gives the entry: whole cores
/// first, and what was too small for it in words.
pub fn budget(
    topology: &Topology,
    pool: &CpuSet,
    budget: Budget,
) -> (CpuSet, Option<String>) {
    let Budget::Cpus(wanted) = budget else { return (pool.clone(), None) };
    let wanted = usize::from(wanted);
    if wanted >= pool.count() {
        let short = (wanted > pool.count()).then(|| {
            let have = pool.count();
            format!("the profile's {wanted} cpus were scaled down to {have}")
        });
        return (pool.clone(), short);
    }
    let ids = topology.cores().into_iter().flatten();
    let picked = ids.filter(|id| pool.contains(*id)).take(wanted);
    (CpuSet::new(picked).unwrap_or_else(|| pool.clone()), None)
}

#[cfg(test)]
mod tests {
    use super::{super::topology::fake::machine, *};

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[track_caller]
    fn gives(t: &Topology, server: &str, load: &str, aux: &str, said: usize) {
        let pools = derive(t);
        let texts =
            [&pools.server, &pools.load, &pools.aux].map(|s| s.to_string());
        assert_eq!(texts, [server, load, aux]);
        assert_eq!(pools.compromises.len(), said, "{:?}", pools.compromises);
    }

    #[test]
    fn pools_are_halves_of_whole_cores_and_say_what_they_share() {
        gives(
            &machine(64, 2, 1),
            "0-31,64-95",
            "32-63,96-127",
            "32-63,96-127",
            1,
        );
        gives(
            &machine(64, 2, 2),
            "0-31,64-95",
            "32-63,96-127",
            "32-63,96-127",
            1,
        );
        gives(&machine(2, 1, 1), "0", "1", "1", 1);
        gives(&machine(3, 2, 1), "0,3", "1,4", "2,5", 0);
        gives(&machine(1, 2, 1), "0", "1", "1", 2);
        gives(&machine(1, 1, 1), "0", "0", "0", 1);
        gives(&machine(3, 1, 3), "0", "1", "2", 0);
        gives(&machine(12, 1, 3), "0-5", "6-11", "6-11", 3);
    }

    #[test]
    fn sets_that_share_a_core_or_mix_halves_are_refused_by_name() {
        let t = machine(64, 2, 1);
        let refused = |server: &str, load: &str| {
            check(&t, &set(server), &set(load)).unwrap_err().to_string()
        };
        let text = refused("0-31", "64-95");
        assert!(text.contains("cpu 0 and load cpu 64 are siblings"), "{text}");
        assert!(refused("0-3", "3-5").contains("cpu 3 is in both"));
        let text = refused("0-1,64", "8-9");
        assert!(text.contains("server mixes"), "{text}");
        assert!(text.contains("cpu 1 is there without its sibling 65"));
        assert!(refused("0", "200").contains("cpu 200 is not there"));
        assert_eq!(check(&t, &set("0-31,64-95"), &set("32-63,96-127")), Ok(()));
        assert_eq!(check(&t, &set("0-31"), &set("32-63")), Ok(()));
    }

    #[test]
    fn a_budget_takes_whole_cores_and_says_when_it_is_cut() {
        let t = machine(64, 2, 1);
        let pool = derive(&t).server;
        let of = |n| budget(&t, &pool, n);
        assert_eq!(of(Budget::Cpus(4)), (set("0-1,64-65"), None));
        assert_eq!(of(Budget::Pool), (pool.clone(), None));
        let (cut, said) = of(Budget::Cpus(100));
        assert_eq!(cut, pool);
        assert!(said.unwrap().contains("scaled down to 64"));
    }
}
