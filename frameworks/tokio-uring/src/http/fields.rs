//! What the fields of a head mean, taken together.

use super::{Status, head::Upgrade};
use crate::encoding::Weights;

/// The largest body taken: the largest of the contract's is 20 MiB.
pub const BODY_LIMIT_BYTES: u64 = 25 * 1024 * 1024;

/// How a request's body ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Framing {
    Length(u64),
    Chunked,
}

#[derive(Default)]
pub struct Fields<'a> {
    pub expects: bool,
    pub codings: Weights,
    hosts: usize,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    upgrade: Upgrade<'a>,
    /// `Connection` names `Upgrade`.
    upgrades: bool,
    /// `Upgrade` names `websocket`.
    websocket: bool,
}

impl<'a> Fields<'a> {
    /// Takes in one field. Most of them are told apart by their length.
    pub fn note(&mut self, name: &[u8], value: &'a [u8]) -> Result<(), Status> {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        match name.len() {
            4 if is(b"host") => self.hosts += 1,
            6 if is(b"expect") => {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(Status::EXPECTATION_FAILED);
                }
                self.expects = true;
            }
            7 if is(b"upgrade") => self.websocket |= lists(value, b"websocket"),
            10 if is(b"connection") => {
                self.close |= lists(value, b"close");
                self.upgrades |= lists(value, b"upgrade");
            }
            14 if is(b"content-length") => self.note_length(value)?,
            15 if is(b"accept-encoding") => self.codings.note(value),
            17 if is(b"transfer-encoding") => self.note_coding(value)?,
            17 if is(b"sec-websocket-key")
                && self.upgrade.key.replace(value).is_some() =>
            {
                return Err(Status::BAD_REQUEST);
            }
            21 if is(b"sec-websocket-version") => {
                self.upgrade.version = value == b"13";
            }
            _ => {}
        }
        Ok(())
    }

    /// A length that is given twice is refused even where both are equal.
    fn note_length(&mut self, value: &[u8]) -> Result<(), Status> {
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(Status::BAD_REQUEST);
        }
        let mut length = 0u64;
        for digit in value {
            // What no body can have stays what no body can have.
            length = length
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'));
        }
        match self.length.replace(length) {
            None => Ok(()),
            Some(_) => Err(Status::BAD_REQUEST),
        }
    }

    /// Only `chunked`, and only once: another coding cannot be undone, and
    /// two fields might be read as one by some and as two by others.
    fn note_coding(&mut self, value: &[u8]) -> Result<(), Status> {
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Status::NOT_IMPLEMENTED);
        }
        if self.chunked {
            return Err(Status::BAD_REQUEST);
        }
        self.chunked = true;
        Ok(())
    }

    /// How the body ends and whether the connection is kept. `old` is
    /// HTTP/1.0, whose connections are closed after one answer.
    pub fn conclude(&self, old: bool) -> Result<(Framing, bool), Status> {
        let hosts = if old { 0..=1 } else { 1..=1 };
        if !hosts.contains(&self.hosts) {
            return Err(Status::BAD_REQUEST);
        }
        let framing = match (self.chunked, self.length) {
            (true, None) if !old => Framing::Chunked,
            // Two that could mean different ends, or a coding older than it.
            (true, _) => return Err(Status::BAD_REQUEST),
            (false, length) => Framing::Length(length.unwrap_or(0)),
        };
        match framing {
            Framing::Length(length) if length > BODY_LIMIT_BYTES => {
                Err(Status::CONTENT_TOO_LARGE)
            }
            _ => Ok((framing, !self.close && !old)),
        }
    }

    pub fn upgrade(&self, old: bool) -> Upgrade<'a> {
        let asked = self.upgrades && self.websocket && !old;
        Upgrade { asked, ..self.upgrade }
    }
}

/// Whether the comma separated list has the word, in any case.
fn lists(value: &[u8], word: &[u8]) -> bool {
    value
        .split(|byte| *byte == b',')
        .any(|one| one.trim_ascii().eq_ignore_ascii_case(word))
}

impl Framing {
    pub fn has_body(self) -> bool {
        self != Self::Length(0)
    }
}
