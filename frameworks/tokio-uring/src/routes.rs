//! Every endpoint of the entry: what a request asks, and what is answered.

use crate::{
    assets::{Assets, Found},
    dataset::{Dataset, Listing},
    http::{
        Status,
        head::{Head, Method},
    },
    query, ws,
};

/// What the server answers from, for as long as it runs.
#[derive(Default)]
pub struct Site {
    pub dataset: Dataset,
    pub assets: Assets,
}

/// What is done with a request's body.
#[derive(Debug)]
pub enum Plan {
    /// Nothing: the answer stands, and comes when the body has been read.
    Skip(Answer),
    /// The integer in it is added.
    Add(i128),
    /// Its bytes are counted.
    Count,
    /// There is none, and the connection changes its protocol.
    Upgrade(String),
}

/// What is answered. It is written when the request has come whole.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Ok,
    Number(i64),
    Listing(Listing),
    File(Found),
    /// A status, and a field that goes with it.
    Refusal(Status, &'static str),
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self::Refusal(status, "")
    }
}

pub fn plan(site: &Site, head: &Head) -> Plan {
    match choose(site, head) {
        Ok(plan) => plan,
        Err(refusal) => Plan::Skip(refusal),
    }
}

fn choose(site: &Site, head: &Head) -> Result<Plan, Answer> {
    match head.path {
        b"/baseline11" => baseline(head),
        b"/pipeline" => {
            reads(head)?;
            Ok(Plan::Skip(Answer::Ok))
        }
        b"/upload" => match head.method {
            Method::Post => Ok(Plan::Count),
            _ => Err(Answer::Refusal(Status::METHOD, "Allow: POST\r\n")),
        },
        b"/ws" => upgrade(head),
        path => {
            if let Some(count) = path.strip_prefix(b"/json/") {
                listing(site, head, count)
            } else if let Some(name) = path.strip_prefix(b"/static/") {
                reads(head)?;
                let found = site.assets.find(name, &head.codings);
                let found = found.ok_or(Status::NOT_FOUND)?;
                Ok(Plan::Skip(Answer::File(found)))
            } else {
                Err(Status::NOT_FOUND.into())
            }
        }
    }
}

/// Refuses every method that does more than read.
fn reads(head: &Head) -> Result<(), Answer> {
    match head.method {
        Method::Get | Method::Head => Ok(()),
        _ => Err(Answer::Refusal(Status::METHOD, "Allow: GET, HEAD\r\n")),
    }
}

fn baseline(head: &Head) -> Result<Plan, Answer> {
    if head.method == Method::Other {
        let allow = "Allow: GET, HEAD, POST\r\n";
        return Err(Answer::Refusal(Status::METHOD, allow));
    }
    let [Some(a), Some(b)] = query::integers(head.query, [b"a", b"b"])
        .map_err(|_| Status::BAD_REQUEST)?
    else {
        return Err(Status::BAD_REQUEST.into());
    };
    // Only the result has to fit 64 bits, whatever the order of the terms.
    let sum = i128::from(a) + i128::from(b);
    Ok(match head.method {
        Method::Post => Plan::Add(sum),
        _ => Plan::Skip(total(sum)),
    })
}

pub fn total(sum: i128) -> Answer {
    match i64::try_from(sum) {
        Ok(sum) => Answer::Number(sum),
        Err(_) => Status::BAD_REQUEST.into(),
    }
}

fn listing(site: &Site, head: &Head, count: &[u8]) -> Result<Plan, Answer> {
    reads(head)?;
    let count = query::integer(count).ok_or(Status::BAD_REQUEST)?;
    let [m] =
        query::integers(head.query, [b"m"]).map_err(|_| Status::BAD_REQUEST)?;
    let listing = site.dataset.listing(count, m.unwrap_or(1));
    let listing = listing.ok_or(Status::BAD_REQUEST)?;
    Ok(Plan::Skip(Answer::Listing(listing)))
}

fn upgrade(head: &Head) -> Result<Plan, Answer> {
    if head.method != Method::Get {
        return Err(Answer::Refusal(Status::METHOD, "Allow: GET\r\n"));
    }
    if !head.upgrade.asked || !head.upgrade.version {
        let fields = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
        return Err(Answer::Refusal(Status::UPGRADE, fields));
    }
    let accept = head.upgrade.key.and_then(ws::accept);
    match accept {
        Some(accept) if !head.framing.has_body() => Ok(Plan::Upgrade(accept)),
        _ => Err(Status::BAD_REQUEST.into()),
    }
}
