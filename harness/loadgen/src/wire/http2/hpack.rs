//! Header blocks, read field by field.

use super::block::{Block, Kind, is_value};
use super::statics::STATICS;
use super::table::{Field, Table};
use crate::wire::{MAX_HEAD, Why, huffman};

const CUT: Why = Why::Protocol("a header block is cut off");
const INDEX: Why = Why::Protocol("a header block points outside its tables");
const NUMBER: Why = Why::Protocol("a number in a header block is too large");
const CODING: Why = Why::Protocol("a Huffman coded text is malformed");
const RESIZE: Why =
    Why::Protocol("a header table is resized against the rules");

/// Room for texts that have to be decoded. One serves a whole thread.
#[derive(Debug, Default)]
pub struct Scratch {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Takes the fields of a block as they are read.
pub(super) trait Sink {
    /// `good` says whether the value's bytes are allowed.
    fn field(&mut self, name: &[u8], kind: Kind, value: &[u8], good: bool);
}

impl Sink for Block {
    #[inline]
    fn field(&mut self, _: &[u8], kind: Kind, value: &[u8], good: bool) {
        self.add(kind, value, good);
    }
}

/// Reads one block into `sink`; says whether that changed the table. Of the
/// table's size the server may choose up to `most`.
pub(super) fn read(
    bytes: &[u8],
    table: &mut Table,
    most: usize,
    scratch: &mut Scratch,
    sink: &mut impl Sink,
) -> Result<bool, Why> {
    let mut rest = bytes;
    let (mut changed, mut first) = (false, true);
    let mut listed = 0;
    while let Some(byte) = rest.first() {
        match *byte {
            0x80.. => {
                let index = number(&mut rest, 7)?;
                let Field { name, value, kind, good } = field(index, table)?;
                sink.field(name, kind, value, good);
                listed += name.len() + value.len() + 32;
            }
            0x20..0x40 => {
                let size = number(&mut rest, 5)?;
                if !first || size > most {
                    return Err(RESIZE);
                }
                table.resize(size);
                changed = true;
                continue;
            }
            byte => {
                let inserted = byte >= 0x40;
                let bits = if inserted { 6 } else { 4 };
                let index = number(&mut rest, bits)?;
                let kind = name(index, &mut rest, table, scratch)?;
                let Scratch { name, value } = &mut *scratch;
                let value = text(&mut rest, value)?;
                sink.field(name, kind, value, is_value(value));
                listed += name.len() + value.len() + 32;
                if inserted {
                    table.insert(name, value);
                    changed = true;
                }
            }
        }
        first = false;
        if listed > MAX_HEAD {
            return Err(Why::HeadTooLong);
        }
    }
    Ok(changed)
}

#[inline]
fn field(index: usize, table: &Table) -> Result<Field<'_>, Why> {
    let before = index.checked_sub(1).ok_or(INDEX)?;
    match STATICS.get(before) {
        Some((name, value)) => Ok(Field {
            name: name.as_bytes(),
            value: value.as_bytes(),
            kind: static_kind(index, name),
            good: true,
        }),
        None => table.get(before - STATICS.len()).ok_or(INDEX),
    }
}

#[inline]
fn static_kind(index: usize, name: &str) -> Kind {
    match index {
        8..=14 => Kind::Status,
        26 => Kind::ContentEncoding,
        28 => Kind::ContentLength,
        31 => Kind::ContentType,
        1..=7 | 57 => Kind::of(name.as_bytes()),
        _ => Kind::Plain,
    }
}

/// The kind of a literal's name, whose text is left in the scratch.
#[inline]
fn name(
    index: usize,
    rest: &mut &[u8],
    table: &Table,
    scratch: &mut Scratch,
) -> Result<Kind, Why> {
    scratch.name.clear();
    if index > 0 {
        let field = field(index, table)?;
        scratch.name.extend_from_slice(field.name);
        return Ok(field.kind);
    }
    let name = text(rest, &mut scratch.value)?;
    scratch.name.extend_from_slice(name);
    Ok(Kind::of(name))
}

/// A text, decoded into `scratch` if it is coded.
#[inline]
fn text<'a, 'i: 'a>(
    rest: &mut &'i [u8],
    scratch: &'a mut Vec<u8>,
) -> Result<&'a [u8], Why> {
    let coded = rest.first().ok_or(CUT)? & 0x80 != 0;
    let len = number(rest, 7)?;
    let (text, after) = rest.split_at_checked(len).ok_or(CUT)?;
    *rest = after;
    if !coded {
        return Ok(text);
    }
    scratch.clear();
    huffman::decode(text, scratch).map_err(|_| CODING)?;
    Ok(scratch)
}

/// A number whose first `bits` are in the first byte.
#[inline]
fn number(rest: &mut &[u8], bits: u32) -> Result<usize, Why> {
    let (first, after) = rest.split_first().ok_or(CUT)?;
    *rest = after;
    let most = (1 << bits) - 1;
    let start = usize::from(*first) & most;
    if start < most {
        return Ok(start);
    }
    let mut value = start;
    for shift in [0, 7, 14, 21] {
        let (byte, after) = rest.split_first().ok_or(CUT)?;
        *rest = after;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(NUMBER)
}

#[cfg(test)]
#[path = "hpack_tests.rs"]
pub(super) mod tests;
