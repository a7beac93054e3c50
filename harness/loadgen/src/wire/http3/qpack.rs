//! Field sections without a dynamic table: this client allows none, so every
//! block means the same wherever it comes.

use super::statics::STATICS;
use super::{Breach, Code};
use crate::wire::huffman;

const BAD: Breach =
    Breach::fatal(Code::DECOMPRESSION, "a QPACK field section is malformed");
const DYNAMIC: Breach = Breach::fatal(
    Code::DECOMPRESSION,
    "a QPACK field section refers to the dynamic table, which is off",
);

/// Decoded texts; only saves allocations.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Hands each field of `block` to `field`.
pub(super) fn decode(
    block: &[u8],
    scratch: &mut Scratch,
    mut field: impl FnMut(&[u8], &[u8]) -> Result<(), Breach>,
) -> Result<(), Breach> {
    let mut input = block;
    // Required Insert Count, then the base, which then means nothing.
    if integer(&mut input, 8)? != 0 {
        return Err(DYNAMIC);
    }
    integer(&mut input, 7)?;
    while let Some(first) = input.first().copied() {
        let Scratch { name, value } = &mut *scratch;
        match first {
            0xc0.. => {
                let (name, value) = entry(integer(&mut input, 6)?)?;
                field(name.as_bytes(), value.as_bytes())?;
            }
            0x50..=0x5f | 0x70..=0x7f => {
                let (name, _) = entry(integer(&mut input, 4)?)?;
                let value = text(&mut input, 7, value)?;
                field(name.as_bytes(), value)?;
            }
            0x20..=0x3f => {
                let name = text(&mut input, 3, name)?;
                let value = text(&mut input, 7, value)?;
                field(name, value)?;
            }
            _ => return Err(DYNAMIC),
        }
    }
    Ok(())
}

fn entry(index: u64) -> Result<(&'static str, &'static str), Breach> {
    let index = usize::try_from(index).map_err(|_| BAD)?;
    STATICS.get(index).copied().ok_or(BAD)
}

/// An integer in the low `prefix` bits of the first byte and, if they are all
/// ones, in those that follow (RFC 7541 section 5.1).
#[inline]
pub(super) fn integer(input: &mut &[u8], prefix: u32) -> Result<u64, Breach> {
    let (first, mut rest) = input.split_first().ok_or(BAD)?;
    let most = (1u64 << prefix) - 1;
    let mut value = u64::from(*first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (byte, after) = rest.split_first().ok_or(BAD)?;
            rest = after;
            // No length of this protocol needs more.
            if shift > 28 {
                return Err(BAD);
            }
            value += u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    Ok(value)
}

/// A text whose length has a prefix of `prefix` bits and the Huffman flag
/// above it.
#[inline]
fn text<'t, 'b: 't>(
    input: &mut &'b [u8],
    prefix: u32,
    scratch: &'t mut Vec<u8>,
) -> Result<&'t [u8], Breach> {
    let coded = input.first().ok_or(BAD)? & 1 << prefix != 0;
    let len = integer(input, prefix)?;
    let len = usize::try_from(len).map_err(|_| BAD)?;
    if len > input.len() {
        return Err(BAD);
    }
    let (text, rest) = input.split_at(len);
    *input = rest;
    if !coded {
        return Ok(text);
    }
    scratch.clear();
    huffman::decode(text, scratch).map_err(|_| BAD)?;
    Ok(scratch)
}

/// Appends an integer below `mark`, the bits above its prefix.
pub(super) fn put_integer(
    value: usize,
    prefix: u32,
    mark: u8,
    out: &mut Vec<u8>,
) {
    let most = (1usize << prefix) - 1;
    if value < most {
        return out.push(mark | value as u8);
    }
    out.push(mark | most as u8);
    let mut left = value - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Appends a text as it is.
pub(super) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    put_integer(text.len(), 7, 0, out);
    out.extend_from_slice(text);
}

/// Appends the entry `index` of the static table.
pub(super) fn put_static(index: usize, out: &mut Vec<u8>) {
    put_integer(index, 6, 0xc0, out);
}

/// Appends a field with the name of the entry `index`; its value follows.
pub(super) fn put_name(index: usize, out: &mut Vec<u8>) {
    put_integer(index, 4, 0x50, out);
}
