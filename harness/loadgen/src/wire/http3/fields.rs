//! What the fields of one section say: a head, or trailers.

use super::Breach;
use crate::wire::{Head, Length, Why};

/// The parts of a section that matter.
#[derive(Debug, Default)]
pub(super) struct Fields {
    status: Option<u16>,
    /// An ordinary field has come; no pseudo-field may follow.
    ordinary: bool,
    length: Option<u64>,
    content_type: Option<(u32, u32)>,
    content_encoding: Option<(u32, u32)>,
    /// The values the ranges above are of.
    text: Vec<u8>,
}

/// A head free of the block it was read from.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) status: u16,
    pub(super) length: Option<u64>,
    content_type: Option<(u32, u32)>,
    content_encoding: Option<(u32, u32)>,
    text: Vec<u8>,
}

impl Parsed {
    /// As every protocol has it.
    #[inline]
    pub(super) fn head(&self) -> Head<'_> {
        let part = |at: Option<(u32, u32)>| {
            at.map(|(from, to)| &self.text[from as usize..to as usize])
        };
        let length = match (self.status, self.length) {
            (204 | 304, _) => Length::None,
            (_, Some(n)) => Length::Fixed(n),
            (_, None) => Length::UntilClose,
        };
        Head {
            status: self.status,
            length,
            close: false,
            content_type: part(self.content_type),
            content_encoding: part(self.content_encoding),
        }
    }
}

impl Fields {
    /// One more field of a head.
    pub(super) fn head(
        &mut self,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), Breach> {
        if name == b":status" {
            if self.ordinary || self.status.is_some() {
                return Err(Breach::message("a second or late :status"));
            }
            self.status = Some(status(value)?);
            return Ok(());
        }
        check(name, value)?;
        self.ordinary = true;
        match name {
            b"content-length" => {
                let n = number(value).ok_or(Breach::stream(Why::Length))?;
                if self.length.is_some_and(|known| known != n) {
                    return Err(Breach::stream(Why::Length));
                }
                self.length = Some(n);
            }
            b"content-type" => {
                keep(&mut self.content_type, &mut self.text, value)?;
            }
            b"content-encoding" => {
                keep(&mut self.content_encoding, &mut self.text, value)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The head they make.
    pub(super) fn parsed(self) -> Result<Parsed, Breach> {
        let status = self.status.ok_or(Breach::message("no :status"))?;
        Ok(Parsed {
            status,
            length: self.length,
            content_type: self.content_type,
            content_encoding: self.content_encoding,
            text: self.text,
        })
    }
}

/// Whether a field may stand in any section (RFC 9114 section 4.2).
pub(super) fn check(name: &[u8], value: &[u8]) -> Result<(), Breach> {
    if name.is_empty() || !name.iter().all(|b| is_name(*b)) {
        return Err(Breach::message("a field name is malformed"));
    }
    if value.iter().any(|b| matches!(b, 0 | b'\r' | b'\n')) {
        return Err(Breach::message("a field value is malformed"));
    }
    let of_connection = matches!(
        name,
        b"connection"
            | b"keep-alive"
            | b"proxy-connection"
            | b"transfer-encoding"
            | b"upgrade"
    );
    if of_connection {
        return Err(Breach::message("a field of HTTP/1.1 connections"));
    }
    Ok(())
}

fn keep(
    slot: &mut Option<(u32, u32)>,
    text: &mut Vec<u8>,
    value: &[u8],
) -> Result<(), Breach> {
    let from = text.len() as u32;
    text.extend_from_slice(value.trim_ascii());
    match slot.replace((from, text.len() as u32)) {
        None => Ok(()),
        Some(_) => Err(Breach::stream(Why::Twice)),
    }
}

fn status(value: &[u8]) -> Result<u16, Breach> {
    match value {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            let digit = |d: &u8| u16::from(d - b'0');
            Ok(digit(a) * 100 + digit(b) * 10 + digit(c))
        }
        _ => Err(Breach::message("the :status is no code")),
    }
}

fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0u64, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0'))
    })
}

/// A token in lower case; upper case is malformed here.
fn is_name(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`'
        | b'|' | b'~' | b'0'..=b'9' | b'a'..=b'z')
}
