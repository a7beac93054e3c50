//! Request bodies that are not a slice of the upload block.

use std::io::Write as _;

use super::{Ask, Echo};
use crate::profile::Framing;

/// The body of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Body {
    /// None; neither length nor coding header is sent.
    None,
    /// One decimal integer.
    Integer(i64, Framing),
    /// A slice of the upload block.
    Slice {
        /// Where it begins.
        offset: u32,
        /// Its length in bytes.
        len: u32,
        /// How it is framed.
        framing: Framing,
    },
    /// A JSON document, see [`Ask::write_json`].
    Json,
    /// One gRPC message, see [`Ask::write_message`].
    Message,
}

impl Ask {
    /// Appends the JSON document of a [`Body::Json`].
    pub fn write_json(&self, out: &mut Vec<u8>) {
        // Writing to a Vec cannot fail.
        let _ = match self {
            Ask::CrudCreate { id, price, quantity } => write!(
                out,
                "{{\"id\":{id},\"name\":\"New Product\",\
                 \"category\":\"test\",\
                 \"price\":{price},\"quantity\":{quantity}}}"
            ),
            Ask::CrudUpdate { price, quantity, .. } => write!(
                out,
                "{{\"name\":\"Updated Product\",\"category\":\"test\",\
                 \"price\":{price},\"quantity\":{quantity}}}"
            ),
            Ask::ItemWrite { price, quantity, .. } => write!(
                out,
                "{{\"name\":\"bench-updated\",\
                 \"price\":{price},\"quantity\":{quantity}}}"
            ),
            _ => Ok(()),
        };
    }

    /// Appends the gRPC message of a [`Body::Message`] with its frame: a
    /// flag, four bytes of length, protobuf fields 1, 2 (and 3). Zero fields
    /// are left out, as proto3 says.
    pub fn write_message(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 5]);
        match *self {
            Ask::GrpcSum { a, b } => fields(&[a, b], out),
            Ask::GrpcStream { a, b, count } => {
                fields(&[a, b, count as i32], out);
            }
            _ => {}
        }
        let len = (out.len() - start - 5) as u32;
        out[start + 1..start + 5].copy_from_slice(&len.to_be_bytes());
    }

    /// Appends the text of a WebSocket message.
    pub fn write_payload(&self, out: &mut Vec<u8>) {
        Echo::of(self).write(out);
    }
}

/// Protobuf int32 fields numbered from 1.
fn fields(values: &[i32], out: &mut Vec<u8>) {
    for (number, value) in (1u8..).zip(values) {
        if *value != 0 {
            out.push(number << 3);
            varint(i64::from(*value) as u64, out);
        }
    }
}

/// A protobuf varint: seven bits a byte, the low ones first.
pub(crate) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_bodies_have_their_sizes() {
        let length = |ask: &Ask| {
            let mut out = Vec::new();
            ask.write_json(&mut out);
            out.len()
        };
        let create = Ask::CrudCreate { id: 100_001, price: 150, quantity: 30 };
        let update = Ask::CrudUpdate { id: 7, price: 200, quantity: 25 };
        let write = Ask::ItemWrite { id: 7, price: 250, quantity: 10 };
        // One byte less than the listed 51: no newline at the end.
        assert_eq!((length(&create), length(&update)), (78, 70));
        assert_eq!(length(&write), 50);
    }

    #[test]
    fn a_unary_call_is_the_nine_byte_frame_of_the_contract() {
        let mut out = Vec::new();
        Ask::GrpcSum { a: 1, b: 2 }.write_message(&mut out);
        assert_eq!(out, [0, 0, 0, 0, 4, 8, 1, 16, 2]);
        out.clear();
        Ask::GrpcSum { a: -1, b: 0 }.write_message(&mut out);
        let minus = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(out[5..], [&[8][..], &minus].concat());
    }

    #[test]
    fn a_message_is_printable_and_as_long_as_it_says() {
        for len in [0, 4, 5, 8, 200] {
            let mut out = Vec::new();
            Ask::WsEcho { salt: 0x0123_4567_89ab_cdef, len }
                .write_payload(&mut out);
            assert_eq!(out.len(), len as usize);
            assert!(out.iter().all(u8::is_ascii_alphanumeric));
        }
    }
}
