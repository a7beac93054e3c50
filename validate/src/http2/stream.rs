//! What one stream has got so far.

use super::fields;
use crate::http::{Fault, Response};

/// No body of a right answer is longer.
const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// One stream, from its request on.
#[derive(Debug, Default)]
pub(super) struct Half {
    /// Whether HEAD was asked: then there is no body.
    head_only: bool,
    response: Option<Response>,
    ended: bool,
    /// Interim answers so far.
    interim: u32,
    /// How it was cut short.
    pub(super) fault: Option<Fault>,
    /// What we allow the server, and what it has not used of it.
    pub(super) inflow: i64,
    /// What the server allows us.
    pub(super) outflow: i64,
}

impl Half {
    pub(super) fn new(head_only: bool, inflow: i64, outflow: i64) -> Half {
        Half { head_only, inflow, outflow, ..Half::default() }
    }

    /// Whether nothing more is due.
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.fault.is_some()
    }

    /// Whether an answer has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.response.is_some()
    }

    /// Body bytes so far.
    pub(super) fn got(&self) -> usize {
        self.response.as_ref().map_or(0, |r| r.body.len())
    }

    /// A block of fields came.
    pub(super) fn fields(
        &mut self,
        all: Vec<(String, String)>,
        end: bool,
    ) -> Result<(), String> {
        if self.ended {
            return Err("fields after the end of the stream".into());
        }
        if let Some(response) = &mut self.response {
            if !end {
                return Err("a second head that does not end the stream".into());
            }
            for (name, _) in &all {
                fields::field(name)?;
            }
            response.trailers = Some(all);
            return self.end();
        }
        let response = fields::head(all)?;
        if (100..200).contains(&response.status) {
            self.interim += 1;
            if end || response.status == 101 || self.interim > 16 {
                return Err(format!(
                    "{} where no such answer may be",
                    response.status
                ));
            }
            return Ok(());
        }
        self.response = Some(response);
        if end { self.end() } else { Ok(()) }
    }

    /// Bytes of the body came.
    pub(super) fn data(
        &mut self,
        bytes: &[u8],
        end: bool,
    ) -> Result<(), String> {
        if self.ended {
            return Err("data after the end of the stream".into());
        }
        let Some(response) = &mut self.response else {
            return Err("data before the head".into());
        };
        if response.body.len() + bytes.len() > BODY_LIMIT {
            return Err(format!("a body of more than {BODY_LIMIT} bytes"));
        }
        if self.head_only && !bytes.is_empty() {
            return Err("a body in the answer to HEAD".into());
        }
        response.body.extend_from_slice(bytes);
        if end { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), String> {
        self.ended = true;
        let Some(response) = &self.response else { return Ok(()) };
        let bodiless = self.head_only || response.status == 304;
        match response.length {
            Some(length) if !bodiless && length != self.got() as u64 => {
                Err(format!(
                    "content-length {length} and {} bytes (RFC 9113 section \
                     8.1.1)",
                    self.got()
                ))
            }
            _ => Ok(()),
        }
    }

    /// The answer, once it is complete.
    pub(super) fn take(self) -> Result<Response, Fault> {
        match (self.fault, self.response) {
            (_, Some(response)) if self.ended => Ok(response),
            (Some(fault), _) => Err(fault),
            (None, response) => {
                let got = response.map_or(0, |r| r.body.len());
                Err(Fault::Late { got })
            }
        }
    }
}
