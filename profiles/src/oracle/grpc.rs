//! The gRPC contract: which `SumReply` messages answer a call, and what one
//! of them says.
//!
//! A message is read as protobuf readers do: unknown fields are skipped, of
//! several values the last one counts, and zero may be left out or written.

use crate::ask::Ask;

/// Groups within groups beyond this are an attack, not a message.
const MAX_DEPTH: u8 = 8;
/// The only field of a `SumReply`.
const RESULT: u64 = 1;

/// The messages that answer a call: `count` of them, the i-th (from 0) with
/// `first + i`. Numbers wrap, as an int32 does.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sums {
    /// The result of the first message.
    pub first: i32,
    /// How many messages there are.
    pub count: u64,
}

impl Sums {
    /// The right messages for `ask`, if that is a gRPC call.
    pub fn of(ask: &Ask) -> Option<Sums> {
        let (a, b, count) = match *ask {
            Ask::GrpcSum { a, b } => (a, b, 1),
            // On the wire the count is an int32; below zero means none.
            Ask::GrpcStream { a, b, count } => {
                (a, b, u64::try_from(count as i32).unwrap_or(0))
            }
            _ => return None,
        };
        Some(Sums { first: a.wrapping_add(b), count })
    }

    /// The result of message `index`.
    #[inline]
    pub fn value(&self, index: u64) -> i32 {
        self.first.wrapping_add(index as i32)
    }
}

/// The result in one `SumReply`, or why it is none.
pub fn sum_reply(message: &[u8]) -> Result<i32, &'static str> {
    let (mut rest, mut result) = (message, 0);
    while !rest.is_empty() {
        let (field, kind) = tag(&mut rest)?;
        match (field, kind) {
            // An int32 is the low half of what is written.
            (RESULT, 0) => result = varint(&mut rest)? as i32,
            (_, 4) => return Err("a group ends that never began"),
            _ => skip(&mut rest, field, kind, 0)?,
        }
    }
    Ok(result)
}

/// A field's number and its wire type.
fn tag(rest: &mut &[u8]) -> Result<(u64, u8), &'static str> {
    let tag = varint(rest)?;
    let field = tag >> 3;
    if field == 0 || field > (1 << 29) - 1 {
        return Err("a field has a number that none may have");
    }
    Ok((field, (tag & 7) as u8))
}

fn varint(rest: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (byte, after) = rest.split_first().ok_or("a number is cut off")?;
        *rest = after;
        value |= u64::from(byte & 0x7f).wrapping_shl(shift);
        if *byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number has more than ten bytes")
}

fn skip(
    rest: &mut &[u8],
    field: u64,
    kind: u8,
    depth: u8,
) -> Result<(), &'static str> {
    let n = match kind {
        0 => return varint(rest).map(drop),
        1 => 8,
        2 => varint(rest)?,
        3 if depth == MAX_DEPTH => return Err("groups are nested too deep"),
        3 => loop {
            match tag(rest)? {
                (end, 4) if end == field => return Ok(()),
                (_, 4) => return Err("a group ends that never began"),
                (inner, kind) => skip(rest, inner, kind, depth + 1)?,
            }
        },
        5 => 4,
        _ => return Err("a field has a wire type that does not exist"),
    };
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    *rest = rest.get(n..).ok_or("a field is cut off")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::varint as write_varint;

    #[test]
    fn a_call_has_the_messages_of_the_contract() {
        let sum = Sums::of(&Ask::GrpcSum { a: 1, b: 2 });
        assert_eq!(sum, Some(Sums { first: 3, count: 1 }));
        let ask = Ask::GrpcStream { a: i32::MAX, b: 0, count: 3 };
        let sums = Sums::of(&ask).unwrap();
        let all: Vec<i32> = (0..sums.count).map(|i| sums.value(i)).collect();
        assert_eq!(all, [i32::MAX, i32::MIN, i32::MIN + 1]);
        let below = Ask::GrpcStream { a: 1, b: 1, count: -4i32 as u32 };
        assert_eq!(Sums::of(&below).unwrap().count, 0);
        assert_eq!(Sums::of(&Ask::Pipeline), None);
    }

    #[test]
    fn every_number_is_read_as_it_was_written() {
        for value in [0, 1, 127, 128, 16_383, 1 << 20, -1, i32::MIN, i32::MAX] {
            let mut message = vec![8];
            write_varint(i64::from(value) as u64, &mut message);
            assert_eq!(sum_reply(&message), Ok(value));
            // A reader takes the low 32 bits of a longer number.
            let mut short = vec![8];
            write_varint(u64::from(value as u32), &mut short);
            assert_eq!(sum_reply(&short), Ok(value));
        }
    }

    #[test]
    fn any_legal_layout_is_read() {
        let reads = |message: &[u8], result| {
            assert_eq!(sum_reply(message), Ok(result), "{message:?}");
        };
        reads(&[], 0);
        reads(&[8, 0], 0);
        reads(&[8, 0x83, 0x80, 0], 3);
        reads(&[8, 9, 8, 3], 3);
        reads(&[16, 7, 8, 3, 26, 2, 1, 2], 3);
        reads(&[0x21, 1, 2, 3, 4, 5, 6, 7, 8, 8, 3, 0x2d, 1, 2, 3, 4], 3);
        reads(&[0x1b, 0x23, 8, 9, 0x24, 0x1c, 8, 3], 3);
        // The right number in another type is another, unknown field.
        reads(&[10, 1, 3], 0);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let refuses = |message: &[u8], part: &str| {
            let why = sum_reply(message).unwrap_err();
            assert!(why.contains(part), "{message:?}: {why}");
        };
        refuses(&[8], "cut off");
        refuses(&[8, 0x80], "cut off");
        refuses(&[8; 1].repeat(3), "cut off");
        refuses(&[&[8][..], &[0x80; 10]].concat(), "ten bytes");
        refuses(&[0, 1], "number that none");
        refuses(&[14, 1], "wire type");
        refuses(&[18, 200, 1], "cut off");
        refuses(&[12], "never began");
        refuses(&[0x1b, 0x24], "never began");
        refuses(&[0x1b; 20], "too deep");
        refuses(b"3", "cut off");
    }
}
