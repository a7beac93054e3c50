//! From the spec to all that a shot needs, or why it cannot be fired.

use std::{fs, io, path::Path, sync::Arc};

use profiles::data::{Dataset, Rows, UploadBlock};
use profiles::oracle::Oracle;
use profiles::profile::{DefError, Kind, Lane, Profile};
use profiles::spec::{SPEC_SCHEMA, Spec};

use crate::check::Shelf;

/// Accepted bodies that are kept to compare others with.
const SHELF_BYTES: usize = 256 * 1024 * 1024;
/// Threads beyond this are a slip.
const MAX_THREADS: u32 = 1024;
/// Connections beyond this are a slip: no machine has the ports.
const MAX_CONNECTIONS: u32 = 1 << 24;
/// More requests a second than any machine sends.
const MAX_RATE: f64 = 1e9;

/// A spec that was understood.
#[derive(Debug)]
pub struct Plan {
    /// What was asked.
    pub spec: Spec,
    /// The profile it names.
    pub profile: Profile,
    /// Knows the right answers.
    pub oracle: Arc<Oracle>,
    /// Answers it accepted, known to all threads.
    pub shelf: Arc<Shelf>,
    /// Upload bodies, when the profile has any.
    pub block: Option<Arc<UploadBlock>>,
}

/// Why a spec cannot be fired.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Not a spec.
    #[error("the spec on stdin is refused: {0}")]
    Json(serde_json::Error),
    /// Of a version this one does not know.
    #[error(
        "the spec has schema {0}, this gun reads {SPEC_SCHEMA}; \
         use the arena and the gun of one build"
    )]
    Schema(u32),
    /// A number that makes no shot.
    #[error("`{field}` is {found}; expected {expected}")]
    Number {
        /// The key in the spec.
        field: &'static str,
        /// What it says.
        found: u64,
        /// What it may say.
        expected: &'static str,
    },
    /// The definition in it is broken.
    #[error("`definition`: {0}")]
    Definition(#[from] DefError),
    /// A rate that makes no schedule.
    #[error(
        "`rate_per_s` is {0}; expected a number above 0, at most a thousand \
         million"
    )]
    Rate(f64),
    /// Classes with a bearer token, but no token for them.
    #[error("`tokens`: class {0} sends a bearer token; expected one for {1}")]
    Token(String, String),
    /// A token that cannot stand in a header.
    #[error(
        "`tokens`: that of user {0} is not a token; expected one or more \
         visible ASCII characters"
    )]
    NoToken(i64),
    /// The generated data is missing or broken.
    #[error("{path}: {why}; generate the data again, or mend `data_dir`")]
    Data {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Plan {
    /// Reads a spec and what it points to.
    pub fn new(json: &str) -> Result<Plan, PlanError> {
        Plan::of(Plan::read(json)?)
    }

    /// Reads a spec alone.
    pub fn read(json: &str) -> Result<Spec, PlanError> {
        serde_json::from_str(json).map_err(PlanError::Json)
    }

    /// Reads what a spec points to.
    pub fn of(spec: Spec) -> Result<Plan, PlanError> {
        check_numbers(&spec)?;
        let file = format!("{}.toml", spec.profile);
        let profile =
            Profile::parse(spec.profile.clone(), &file, &spec.definition)?;
        check_tokens(&spec, &profile)?;
        let asks = |kind: fn(&Kind) -> bool| {
            profile.classes.iter().any(|class| kind(&class.kind))
        };
        let uploads = asks(|k| matches!(k, Kind::Upload { .. }));
        let files = asks(|k| matches!(k, Kind::Static { .. }));
        if asks(Kind::reads_rows) {
            // Made here, not by the first answer.
            Rows::get();
        }
        let oracle = oracle(&spec.data_dir, files)?.with_run(spec.seed);
        let oracle = Arc::new(oracle);
        let block = uploads.then(|| Arc::new(UploadBlock::new(spec.seed)));
        let shelf = Arc::new(Shelf::new(SHELF_BYTES));
        Ok(Plan { spec, profile, oracle, shelf, block })
    }

    /// The lanes of connections: the main one, and the writers' if the
    /// profile has any. The rate of an open loop is split by what each may
    /// have in flight.
    pub fn lanes(&self) -> Vec<LaneLoad> {
        let load = &self.profile.load;
        let mut lanes = vec![LaneLoad {
            lane: Lane::Main,
            connections: self.spec.connections,
            in_flight: load.in_flight,
            per_connection: load.requests_per_connection,
            rate_per_s: None,
        }];
        if let Some(writers) = load.writers {
            lanes.push(LaneLoad {
                lane: Lane::Writers,
                connections: writers.connections(self.spec.connections),
                in_flight: writers.in_flight,
                per_connection: None,
                rate_per_s: None,
            });
        }
        if let Some(rate) = self.spec.rate_per_s {
            let room = |lane: &LaneLoad| {
                f64::from(lane.connections) * f64::from(lane.in_flight)
            };
            let all: f64 = lanes.iter().map(room).sum();
            for lane in &mut lanes {
                lane.rate_per_s = Some(rate * room(lane) / all);
            }
        }
        lanes
    }

    /// The connections of all lanes.
    pub fn connections(&self) -> u32 {
        self.lanes().iter().map(|lane| lane.connections).sum()
    }
}

/// How one lane is loaded, over all threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneLoad {
    /// Which.
    pub lane: Lane,
    /// Connections to hold open.
    pub connections: u32,
    /// Requests in flight on each.
    pub in_flight: u32,
    /// Answers after which the client closes.
    pub per_connection: Option<u32>,
    /// Requests per second of an open loop.
    pub rate_per_s: Option<f64>,
}

/// How many of `all` connections thread `index` holds: an even split, its
/// remainder spread, none lost.
pub fn share(all: u32, threads: u32, index: u32) -> u32 {
    let threads = threads.max(1);
    all / threads + u32::from(index < all % threads)
}

fn check_tokens(spec: &Spec, profile: &Profile) -> Result<(), PlanError> {
    for token in &spec.tokens {
        let visible = token.token.bytes().all(|b| b.is_ascii_graphic());
        if token.token.is_empty() || !visible {
            return Err(PlanError::NoToken(token.user));
        }
    }
    for class in profile.classes.iter().filter(|class| class.bearer) {
        let missing =
            |who: String| Err(PlanError::Token(class.name.clone(), who));
        if spec.tokens.is_empty() {
            return missing("any user".into());
        }
        if let Kind::Me { ids } = &class.kind {
            let has = |id| spec.tokens.iter().any(|t| t.user == id);
            if let Some(id) = (ids.low..=ids.high).find(|id| !has(*id)) {
                return missing(format!("user {id}"));
            }
        }
    }
    Ok(())
}

fn check_numbers(spec: &Spec) -> Result<(), PlanError> {
    if spec.schema != SPEC_SCHEMA {
        return Err(PlanError::Schema(spec.schema));
    }
    let number = |field, found, expected, good| {
        if good {
            Ok(())
        } else {
            Err(PlanError::Number { field, found, expected })
        }
    };
    let (connections, threads) = (spec.connections, spec.threads);
    number(
        "connections",
        connections.into(),
        "1 to 16,777,216",
        (1..=MAX_CONNECTIONS).contains(&connections),
    )?;
    number(
        "threads",
        threads.into(),
        "1 to 1,024",
        (1..=MAX_THREADS).contains(&threads),
    )?;
    if let Some(rate) = spec.rate_per_s
        && !(rate > 0.0 && rate <= MAX_RATE)
    {
        return Err(PlanError::Rate(rate));
    }
    for (field, found) in [
        ("connect_timeout_ns", spec.connect_timeout_ns),
        ("window_ns", spec.window_ns),
        ("timeout_ns", spec.timeout_ns),
    ] {
        number(field, found, "at least 1", found > 0)?;
    }
    const DAY: u64 = 86_400_000_000_000;
    for (field, found) in [
        ("connect_timeout_ns", spec.connect_timeout_ns),
        ("warmup_ns", spec.warmup_ns),
        ("gap_ns", spec.gap_ns),
        ("window_ns", spec.window_ns),
        ("timeout_ns", spec.timeout_ns),
    ] {
        number(field, found, "at most one day", found <= DAY)?;
    }
    Ok(())
}

fn oracle(dir: &Path, files: bool) -> Result<Oracle, PlanError> {
    let read = |path: &Path| {
        fs::read(path).map_err(|e: io::Error| PlanError::Data {
            path: path.display().to_string(),
            why: e.to_string(),
        })
    };
    let path = dir.join("dataset.json");
    let dataset = Dataset::parse(&read(&path)?).map_err(|e| {
        PlanError::Data { path: path.display().to_string(), why: e.to_string() }
    })?;
    let mut missing = None;
    let oracle = Oracle::new(dataset, |name| {
        if !files {
            return None;
        }
        match read(&dir.join("static").join(name)) {
            Ok(bytes) => Some(bytes),
            Err(why) => {
                missing.get_or_insert(why);
                None
            }
        }
    });
    match missing {
        Some(why) => Err(why),
        None => Ok(oracle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_would_end_its_header_is_refused() {
        let text = include_str!("../../../profiles/defs/baseline.toml");
        for token in ["a\r\nX-Evil: 1", "a b", "\u{e9}", "\u{7f}", ""] {
            let spec = serde_json::json!({
                "schema": 1, "profile": "p", "definition": text,
                "target": "127.0.0.1:1", "connections": 1, "threads": 1,
                "cpus": null, "seed": 7, "connect_timeout_ns": 1,
                "warmup_ns": 1, "gap_ns": 1, "window_ns": 1, "timeout_ns": 1,
                "data_dir": "/nonexistent",
                "tokens": [{"user": 7, "token": token}],
            });
            let said = Plan::new(&spec.to_string()).unwrap_err().to_string();
            assert!(said.contains("user 7 is not a token"), "{said}");
        }
    }
}
