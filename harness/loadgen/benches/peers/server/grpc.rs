//! gRPC messages of the server, decoded and written by hand.

use profiles::ask::{Ask, Body};

/// The operands of a call, and how many replies a stream asks for.
pub struct Call {
    a: i32,
    b: i32,
    count: i32,
}

impl Call {
    /// From the frame of the only message of a request.
    pub fn read(body: &[u8]) -> Option<Call> {
        let (frame, message) = body.split_at_checked(5)?;
        let length = u32::from_be_bytes(*frame.last_chunk()?);
        if frame[0] != 0 || length as usize != message.len() {
            return None;
        }
        let mut fields = [0; 3];
        let mut rest = message;
        while let Some((&tag, after)) = rest.split_first() {
            let field = fields.get_mut(usize::from(tag >> 3).wrapping_sub(1));
            let (value, after) = varint(after)?;
            *field.filter(|_| tag & 7 == 0)? = value as i32;
            rest = after;
        }
        let [a, b, count] = fields;
        Some(Call { a, b, count })
    }

    /// The reply to a unary call.
    pub fn sum(&self, out: &mut Vec<u8>) {
        reply(self.a.wrapping_add(self.b), out);
    }

    /// All replies of a stream.
    pub fn stream(&self, out: &mut Vec<u8>) {
        let sum = self.a.wrapping_add(self.b);
        for i in 0..self.count.max(0) {
            reply(sum.wrapping_add(i), out);
        }
    }
}

/// One framed message whose only field is number 1.
fn reply(result: i32, out: &mut Vec<u8>) {
    let ask = Ask::GrpcSum { a: result, b: 0 };
    debug_assert_eq!(ask.body(), Body::Message);
    // A field of zero is left out, so it is the reply's form exactly.
    ask.write_message(out);
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (i, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}
