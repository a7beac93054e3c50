//! What the intervals and verdicts promise, held to it by simulation: 20,000
//! made-up cases each, from fixed seeds.

use profiles::{
    rng::Rng,
    score::{
        Board, BoardInput, Cell, EntryInput, Metric, NoiseFloor, Options,
        ProfileScoring, RoundValue, Verdict, noise_floor,
    },
    stat::{paired_t_log, t_interval_log},
};

const DRAWS: u32 = 20_000;
/// Four standard errors of a share of 5 % over so many draws.
const CHANCE: f64 = 0.0062;
/// What a rate is on average.
const TRUTH: f64 = 100_000.0;

/// Normal numbers (Box and Muller) from a seeded stream.
struct Normal(Rng);

impl Normal {
    fn new(seed: u64) -> Normal {
        Normal(Rng::new(seed, 0))
    }

    /// In (0, 1].
    fn even(&mut self) -> f64 {
        ((self.0.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn draw(&mut self) -> f64 {
        let (a, b) = (self.even(), self.even());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// One round's noise, as a factor: quiet, or with every tenth round three
    /// times as loud, as neighbours on a machine make it.
    fn noise(&mut self, loud: bool) -> f64 {
        let disturbed = loud && self.even() < 0.1;
        (self.draw() * if disturbed { 0.06 } else { 0.02 }).exp()
    }

    fn rounds(&mut self, n: usize, loud: bool) -> Vec<f64> {
        (0..n).map(|_| TRUTH * self.noise(loud)).collect()
    }
}

fn share(seed: u64, mut happens: impl FnMut(&mut Normal) -> bool) -> f64 {
    let mut normal = Normal::new(seed);
    let count = (0..DRAWS).filter(|_| happens(&mut normal)).count();
    count as f64 / f64::from(DRAWS)
}

#[test]
fn the_interval_covers_the_truth_as_often_as_it_promises() {
    for rounds in [3, 5, 7] {
        for loud in [false, true] {
            let covered = share(rounds as u64, |normal| {
                let values = normal.rounds(rounds, loud);
                let range = t_interval_log(&values, 0.95).unwrap();
                range.lo <= TRUTH && TRUTH <= range.hi
            });
            println!("{rounds} rounds, loud {loud}: covered {covered:.4}");
            assert!(
                (0.94..=0.965).contains(&covered),
                "{rounds} rounds, loud {loud}: {covered}"
            );
        }
    }
}

/// A t test at 5 % errs in 5 % of all cases, no more and no less; what the
/// machine does to a whole round falls on both entries and drops out.
#[test]
fn the_paired_test_alone_errs_as_often_as_it_says() {
    for rounds in [3, 5, 7] {
        let alarms = share(10 + rounds as u64, |normal| {
            let drift: Vec<f64> =
                (0..rounds).map(|_| (normal.draw() * 0.2).exp()).collect();
            let mut entry = || -> Vec<f64> {
                drift.iter().map(|d| d * normal.noise(false)).collect()
            };
            let (a, b) = (entry(), entry());
            paired_t_log(&a, &b).unwrap().p <= 0.05
        });
        println!("{rounds} rounds: false alarms {alarms:.4}");
        assert!((alarms - 0.05).abs() <= CHANCE, "{rounds}: {alarms}");
    }
}

/// A board of one profile, five rounds, with an entry for each given speed.
fn board(normal: &mut Normal, speeds: &[(&str, f64)]) -> BoardInput {
    let entry = |(id, speed): &(&str, f64)| {
        let values = (1..).zip(normal.rounds(5, true));
        let value = |(round, rate): (u32, f64)| RoundValue {
            round,
            rate: rate * speed,
            body_bytes: None,
        };
        let cell = Cell::Rounds(values.map(value).collect());
        let cells = [(("a".to_string(), 512), cell)].into();
        EntryInput { id: (*id).into(), cells }
    };
    BoardInput {
        league: "framework".into(),
        profiles: vec![ProfileScoring {
            name: "a".into(),
            levels: vec![512],
            metric: Metric::Rate,
        }],
        entries: speeds.iter().map(entry).collect(),
    }
}

fn judged(input: &BoardInput, floor: NoiseFloor) -> Board {
    Board::of(input, &Options { frozen: None, floor }).unwrap()
}

/// The board with the noise floor that its entries `a1` and `a2` set.
fn with_floor(normal: &mut Normal, speeds: &[(&str, f64)]) -> Board {
    let pair = board(normal, &[("a1", 1.0), ("a2", 1.0)]);
    let floor = noise_floor(&pair, "a1", "a2").unwrap();
    judged(&board(normal, speeds), floor)
}

#[test]
fn two_identical_entries_tie_on_the_board() {
    let same = [("one", 1.0), ("two", 1.0)];
    let tie = |board: &Board| {
        board.verdicts().get("one", "two") == Some(Verdict::Tie)
    };
    // Rounds that are now and then loud make t careful, not careless.
    let alone = share(21, |n| tie(&judged(&board(n, &same), <_>::default())));
    let floored = share(22, |n| tie(&with_floor(n, &same)));
    println!("ties: {alone:.4}, with an A/A pair {floored:.4}");
    assert!(alone >= 0.95, "{alone}");
    assert!(floored >= 0.99, "{floored}");
}

/// With no difference anywhere, Benjamini and Hochberg allow a wrong verdict
/// in 5 % of all tables, however many pairs a table has.
#[test]
fn a_table_of_identical_entries_is_seldom_torn_apart() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let same = names.map(|name| (name, 1.0));
    let torn = share(31, |normal| {
        let board = judged(&board(normal, &same), <_>::default());
        board.rows.iter().any(|row| row.rank.unwrap().hi != 6)
    });
    println!("tables torn: {torn:.4}");
    assert!(torn <= 0.05, "{torn}");
}

/// Ties are cheap where nothing is ever told apart: this is the other side.
#[test]
fn a_clear_difference_is_found() {
    let apart = [("slow", 1.0), ("fast", 1.25)];
    let found = |board: &Board| {
        board.verdicts().get("fast", "slow") == Some(Verdict::Faster)
    };
    let alone =
        share(41, |n| found(&judged(&board(n, &apart), <_>::default())));
    let floored = share(42, |n| found(&with_floor(n, &apart)));
    println!("found: {alone:.4}, with an A/A pair {floored:.4}");
    assert!(alone >= 0.99, "{alone}");
    assert!(floored >= 0.9, "{floored}");
}
