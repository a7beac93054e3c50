//! The production stack: who is let in, and as whom.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use profiles::ask::Ask;
use profiles::token::sign;

use super::database::{database, ours};
use crate::counts;
use crate::http::{Request, Response};
use crate::probe::{BLANK, Miss, Outcome, Probe, Stage};
use crate::session::{Session, summary};

pub(super) const STACK: &[&str] = &["production-stack"];
const HS256: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// The users there are.
const USERS: [i64; 4] = [42, 43, 44, 45];
/// Requests that the auth service must have been asked about.
const COUNTED: u64 = 8;

const BASE: Probe = Probe {
    profiles: STACK,
    source: "contract, profile production-stack; RFC 7519",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "stack.auth",
        rule: "GET on /api without a valid token is refused: none, garbage, \
               another scheme, a changed payload or signature, another \
               secret, one that has expired, and alg none.",
        legal: "401, and nothing of the answer",
        hint: "edge and auth service: ask for every request, and verify \
               signature, alg and exp",
        run: |s| {
            let id = s.rng.between(1, 10_000);
            refused(s, &Ask::ItemRead { id, accept_encoding: None })?;
            refused(s, &Ask::Me { id: 42, accept_encoding: None })
        },
        ..BASE
    },
    Probe {
        id: "stack.auth-write",
        rule: "POST on /api without a valid token is refused, and nothing is \
               written.",
        legal: "401, and the row as it was",
        hint: "edge: ask the auth service for every method",
        run: refused_writes,
        ..BASE
    },
    Probe {
        id: "stack.identity",
        rule: "Who somebody is comes from the token alone: an X-User-Id of \
               the client's is no proof, and counts for nothing beside a \
               token.",
        legal: "401 without a token; with one, the token's user",
        hint: "edge: overwrite X-User-Id with the auth service's answer",
        run: identity,
        ..BASE
    },
    Probe {
        id: "stack.me",
        rule: "Each user gets the row of his own, also when several ask in \
               turn.",
        legal: "200, application/json, the whole row of the token's user",
        hint: "server: key the cached user by X-User-Id",
        run: me,
        ..BASE
    },
    Probe {
        id: "stack.auth-count",
        // Others ask it, too.
        stage: Stage::Alone,
        rule: "The auth service is asked about each request on /api, also \
               about a token it has seen, and about no other request.",
        legal: "its own count rises by the requests on /api, at least",
        hint: "edge: keep no answer of the auth service",
        run: counted,
        ..BASE
    },
    Probe {
        id: "stack.public",
        rule: "What is public needs no token: /public and /static.",
        legal: "the right answers",
        hint: "edge: ask the auth service for /api alone",
        run: public,
        ..BASE
    },
];

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| d.as_secs())
}

/// The values of Authorization that let nobody in, each with what it is.
fn bad(s: &mut Session<'_>) -> Result<Vec<(&'static str, String)>, Box<Miss>> {
    let Some(secret) = s.target.secret.clone() else {
        return Err(Miss::skip(
            "the secret of the tokens was not said",
            "say it with --target auth=HOST:PORT and secret=TEXT",
        ));
    };
    let user = USERS[s.rng.below(4) as usize];
    let payload = |user: i64, exp: u64| {
        format!(r#"{{"sub":"{user}","name":"User {user}","exp":{exp}}}"#)
    };
    let (soon, past) = (now() + 600, now() - s.rng.between(60, 9999) as u64);
    let key = secret.as_bytes();
    let good = sign(key, HS256, &payload(user, soon));
    let parts: Vec<&str> = good.split('.').collect();
    let other = URL_SAFE_NO_PAD.encode(payload(user + 1, soon));
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let garbage = s.rng.bits();
    let mut signature = parts[2].to_string();
    // The first letter of it, so that all its bits count.
    let changed = if signature.starts_with('A') { "B" } else { "A" };
    signature.replace_range(..1, changed);
    let foreign = format!("{secret}{garbage}");
    let bearer = |token: String| format!("Bearer {token}");
    Ok(vec![
        ("garbage", bearer(format!("x{garbage:x}.y.z"))),
        (
            "a changed payload",
            bearer(format!("{}.{other}.{}", parts[0], parts[2])),
        ),
        (
            "a changed signature",
            bearer(format!("{}.{}.{signature}", parts[0], parts[1])),
        ),
        (
            "another secret",
            bearer(sign(foreign.as_bytes(), HS256, &payload(user, soon))),
        ),
        (
            "one that has expired",
            bearer(sign(key, HS256, &payload(user, past))),
        ),
        ("alg none", bearer(format!("{none}.{}.", parts[1]))),
        ("another scheme", format!("Basic {good}")),
        ("half a token", bearer(format!("{}.{}", parts[0], parts[1]))),
    ])
}

/// A request with another Authorization than a good one, or none.
fn with_token(s: &Session<'_>, ask: &Ask, token: Option<&str>) -> Request {
    let own = s.request(ask);
    let mut extra = String::new();
    let others = own.fields.iter().filter(|(n, _)| n != "Authorization");
    for (name, value) in others {
        extra.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(token) = token {
        extra.push_str(&format!("Authorization: {token}\r\n"));
    }
    let request = Request::new(&own.method, &own.target, &own.host, &extra);
    request.with(own.body())
}

fn refused(s: &mut Session<'_>, ask: &Ask) -> Outcome {
    let none = with_token(s, ask, None);
    expect_401(s, &none, "no token")?;
    for (what, token) in bad(s)? {
        let request = with_token(s, ask, Some(&token));
        expect_401(s, &request, what)?;
    }
    // And a good one is let in, or all this says nothing.
    s.ask(ask)
}

fn expect_401(s: &mut Session<'_>, request: &Request, what: &str) -> Outcome {
    let response = s.exchange(request)?;
    let leaks = response.body.windows(8).any(|w| w == b"\"price\":");
    if response.status == 401 && !leaks {
        return Ok(());
    }
    let mut miss = s.miss(request, "401", summary(&response));
    miss.asked = format!("{} ({what})", miss.asked);
    Err(miss)
}

fn refused_writes(s: &mut Session<'_>) -> Outcome {
    let id = s.rng.between(1, 10_000);
    let before = match database(s) {
        Ok(mut db) => Some(db.item(id as i32).map_err(|why| ours(&why))?),
        Err(_) => None,
    };
    let ask = Ask::ItemWrite { id, price: 499, quantity: 1 };
    let none = with_token(s, &ask, None);
    expect_401(s, &none, "no token")?;
    for (what, token) in bad(s)? {
        let request = with_token(s, &ask, Some(&token));
        expect_401(s, &request, what)?;
    }
    if let Some(before) = before {
        let mut db = database(s)?;
        let after = db.item(id as i32).map_err(|why| ours(&why))?;
        if after != before {
            let got = "the row was written all the same";
            return Err(s.miss(&none, "the row as it was", got));
        }
    }
    Ok(())
}

fn identity(s: &mut Session<'_>) -> Outcome {
    let (one, two) = (USERS[s.rng.below(2) as usize], 44);
    let ask = Ask::Me { id: one, accept_encoding: None };
    let forged = ("X-User-Id".to_string(), two.to_string());
    let mut alone = with_token(s, &ask, None);
    alone.fields.push(forged.clone());
    expect_401(s, &alone, "X-User-Id and no token")?;
    let mut beside = s.request(&ask);
    beside.fields.push(forged);
    let response = s.exchange(&beside)?;
    s.judge(&ask, &beside, &response)
}

fn me(s: &mut Session<'_>) -> Outcome {
    let mut link = s.link()?;
    for _ in 0..2 {
        for id in USERS {
            s.ask_on(&mut link, &Ask::Me { id, accept_encoding: None })?;
        }
    }
    Ok(())
}

fn counted(s: &mut Session<'_>) -> Outcome {
    let Some(address) = s.target.auth else {
        return Err(Miss::skip(
            "the auth service's counts are not at hand",
            "name them with --target auth=HOST:PORT",
        ));
    };
    let count = |s: &Session<'_>| {
        counts::asked(address, s.deadline())
            .map_err(|why| Miss::skip(&why, "is the auth service up?"))
    };
    let before = count(s)?;
    let id = s.rng.between(1, 10_000);
    let ask = Ask::ItemRead { id, accept_encoding: None };
    for _ in 0..COUNTED {
        s.ask(&ask)?;
    }
    let asked = count(s)?.saturating_sub(before);
    if asked >= COUNTED {
        return Ok(());
    }
    let request = s.request(&ask);
    let expected = format!("the auth service asked {COUNTED} times, at least");
    Err(s.miss(&request, expected, format!("it was asked {asked} times")))
}

fn public(s: &mut Session<'_>) -> Outcome {
    let sum = s.sum(1, 9999, None);
    let file = s.rng.below(20) as usize;
    let asks = [sum, Ask::Static { file, accept_encoding: None }];
    for ask in asks {
        let request = with_token(s, &ask, None);
        let response: Response = s.exchange(&request)?;
        s.judge(&ask, &request, &response)?;
    }
    Ok(())
}
