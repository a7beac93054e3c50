//! The rows as text, as a table and as JSON.

use serde_json::json;

use crate::floor::Way;
use crate::options::Options;
use crate::pairs::{Pair, Pairs, Spread};
use crate::row::Row;
use crate::tool::Outcome;
use crate::workloads::Workload;

/// One line of `--list`.
pub fn line(workload: &Workload) -> String {
    let peer = workload.peer.map_or("alone", |peer| peer.name());
    let goal = goal(workload.goal);
    format!("{:14} {:7} {goal:8} {}", workload.name, peer, workload.title)
}

fn goal(goal: Option<f64>) -> String {
    goal.map_or("no goal".into(), |goal| format!("<= {goal:.2}"))
}

pub fn skipped(workload: &Workload, why: &anyhow::Error) {
    eprintln!("{}: NOT MEASURED: {why:#}", workload.name);
}

/// What the outcomes of one tool were in the middle.
struct Middle {
    user: f64,
    system: f64,
    total: f64,
    rate: f64,
}

impl Middle {
    fn of(outcomes: &[Outcome]) -> Middle {
        let middle = |value: fn(&Outcome) -> f64| {
            Spread::of(outcomes.iter().map(value)).map_or(0.0, |s| s.median)
        };
        Middle {
            user: middle(|o| o.cost().user_s),
            system: middle(|o| o.cost().system_s),
            total: middle(|o| o.cost().total_s()),
            rate: middle(Outcome::rate),
        }
    }

    fn text(&self, name: &str) -> String {
        format!(
            "  {name:10} {:7.3} CPU s per million (user {:.3}, system {:.3}), \
             {:.0}/s",
            self.total, self.user, self.system, self.rate
        )
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "cpu_s_per_million": self.total,
            "user_s_per_million": self.user,
            "system_s_per_million": self.system,
            "rate_per_s": self.rate,
        })
    }
}

impl Row {
    fn gun(&self) -> Middle {
        let paired = self.pairs.valid.iter().map(|p| p.gun);
        let all: Vec<_> = paired.chain(self.alone.iter().copied()).collect();
        Middle::of(&all)
    }

    fn other(&self) -> Option<(&str, Middle)> {
        let all: Vec<_> = self.pairs.valid.iter().map(|p| p.other).collect();
        Some((self.peer.as_deref()?, Middle::of(&all)))
    }

    /// loadgen over the peer, pair by pair.
    fn ratio(&self, value: fn(&Outcome) -> f64) -> Option<Spread> {
        ratio(&self.pairs, value)
    }

    /// loadgen over the floor by each way that was had: its name, the floor
    /// and the ratio.
    fn shares(&self) -> Vec<(&'static str, Middle, Spread)> {
        let share = |(way, pairs): &(Way, anyhow::Result<Pairs>)| {
            let pairs = pairs.as_ref().ok()?;
            let all: Vec<_> = pairs.valid.iter().map(|p| p.other).collect();
            let spread = ratio(pairs, |o| o.cost().total_s())?;
            Some((way.name(), Middle::of(&all), spread))
        };
        self.floors.iter().filter_map(share).collect()
    }

    /// Each ratio with its goal.
    fn ratios(&self) -> Vec<(&'static str, Spread, Option<f64>)> {
        let workload = self.workload;
        let mut out = Vec::new();
        let mut add = |name, value, goal| {
            if let Some(spread) = self.ratio(value) {
                out.push((name, spread, goal));
            }
        };
        add("cpu", |o| o.cost().total_s(), workload.goal);
        add("rate", Outcome::rate, None);
        // The kernel tells user from system time by its ticks, too few in
        // one shot: all pairs count as one.
        let all = |outcome: fn(&Pair) -> Outcome| {
            let outcomes = self.pairs.valid.iter().map(outcome);
            let (user, answers) = outcomes
                .fold((0.0, 0), |(u, n), o| (u + o.cpu.user_s, n + o.answers));
            user / answers as f64
        };
        let user = all(|p| p.gun) / all(|p| p.other);
        if user.is_finite() {
            let spread = Spread { median: user, min: user, max: user };
            out.push(("user", spread, workload.user_goal));
        }
        out
    }
}

/// loadgen over the other, pair by pair.
fn ratio(pairs: &Pairs, value: fn(&Outcome) -> f64) -> Option<Spread> {
    let pairs = pairs.valid.iter();
    Spread::of(pairs.map(|pair| value(&pair.gun) / value(&pair.other)))
}

pub fn row(row: &Row, options: &Options) {
    if options.json {
        println!("{}", json(row, options));
        return;
    }
    println!("{}: {}", row.workload.name, row.workload.title);
    println!("{}", row.gun().text("loadgen"));
    if let Some((peer, middle)) = row.other() {
        println!("{}", middle.text(peer));
    }
    for (name, spread, goal) in row.ratios() {
        let verdict = goal.map_or(String::new(), |goal| {
            let met = if spread.median <= goal { "met" } else { "MISSED" };
            format!("; goal {goal:.2}: {met}")
        });
        println!(
            "  {name:5} ratio {:.3} ({:.3} to {:.3} over {} pairs){verdict}",
            spread.median,
            spread.min,
            spread.max,
            row.pairs.valid.len()
        );
    }
    for (way, floor, share) in row.shares() {
        println!("{}", floor.text(&format!("floor by {way}")));
        println!(
            "  loadgen / floor by {way}: {:.3} ({:.3} to {:.3})",
            share.median, share.min, share.max
        );
    }
    for (way, pairs) in &row.floors {
        if let Err(why) = pairs {
            println!("  no floor by {}: {why:#}", way.name());
        }
    }
    for why in &row.pairs.invalid {
        println!("  a pair did not count: {why}");
    }
    println!("  loadgen's queue: {}\n", row.engine);
}

fn json(row: &Row, options: &Options) -> serde_json::Value {
    let ratios: serde_json::Map<_, _> = row
        .ratios()
        .into_iter()
        .map(|(name, s, goal)| {
            let value = json!({
                "median": s.median, "min": s.min, "max": s.max, "goal": goal,
                "met": goal.map(|goal| s.median <= goal),
            });
            (name.to_string(), value)
        })
        .collect();
    let other = row.other();
    let floors: Vec<_> = row
        .shares()
        .into_iter()
        .map(|(way, floor, share)| {
            json!({
                "way": way, "cost": floor.json(), "loadgen_over_floor":
                { "median": share.median, "min": share.min, "max": share.max },
            })
        })
        .collect();
    json!({
        "workload": row.workload.name,
        "title": row.workload.title,
        "connections":
            options.connections.unwrap_or(row.workload.connections),
        "in_flight": row.workload.in_flight,
        "window_s": options.window_s,
        "pairs": row.pairs.valid.len(),
        "pairs_invalid": row.pairs.invalid,
        "engine": row.engine,
        "loadgen": row.gun().json(),
        "peer": other.as_ref().map(|(name, _)| name),
        "peer_cost": other.as_ref().map(|(_, middle)| middle.json()),
        "ratios": ratios,
        "floors": floors,
    })
}

/// All rows in Markdown.
pub fn table(rows: &[Row]) {
    println!(
        "| workload | loadgen user + system | peer user + system | ratio | \
         goal | rate ratio | loadgen / floor |\n\
         |---|---|---|---|---|---|---|"
    );
    for row in rows {
        let cost = |m: &Middle| format!("{:.2} + {:.2}", m.user, m.system);
        let other = row.other().map_or("none".into(), |(name, middle)| {
            format!("{name}: {}", cost(&middle))
        });
        let ratio = |value| {
            row.ratio(value).map_or(String::new(), |s| {
                format!("{:.2} ({:.2} to {:.2})", s.median, s.min, s.max)
            })
        };
        let floors: Vec<String> = row
            .shares()
            .iter()
            .map(|(way, _, share)| format!("{way} {:.2}", share.median))
            .collect();
        println!(
            "| {} | {} | {other} | {} | {} | {} | {} |",
            row.workload.name,
            cost(&row.gun()),
            ratio(|o| o.cost().total_s()),
            goal(row.workload.goal),
            ratio(Outcome::rate),
            floors.join(", "),
        );
    }
}
