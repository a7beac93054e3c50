//! WebSocket frames as bytes (RFC 6455 section 5.2).

/// The opcodes.
pub(crate) mod op {
    pub(crate) const CONTINUATION: u8 = 0;
    pub(crate) const TEXT: u8 = 1;
    pub(crate) const BINARY: u8 = 2;
    pub(crate) const CLOSE: u8 = 8;
    pub(crate) const PING: u8 = 9;
    pub(crate) const PONG: u8 = 10;
}

/// The longest message that is ever due, and room to spare.
const LONGEST: u64 = 4 * 1024 * 1024;
/// The longest payload of a control frame.
pub(crate) const CONTROL: usize = 125;

/// One frame of the server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Frame {
    pub(crate) last: bool,
    pub(crate) opcode: u8,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The first frame of `bytes`, with how many it took; `None` while it is
    /// not complete.
    ///
    /// # Errors
    ///
    /// If it is none that a server may send: that shows before its payload.
    pub(crate) fn parse(
        bytes: &[u8],
    ) -> Result<Option<(Frame, usize)>, String> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(
                "a reserved bit is set, and no extension was agreed on \
                        (RFC 6455 section 5.2)"
                    .into(),
            );
        }
        let (last, opcode) = (first & 0x80 != 0, first & 0x0f);
        if second & 0x80 != 0 {
            return Err("a masked frame from a server (section 5.1)".into());
        }
        if matches!(opcode, 3..=7 | 11..) {
            return Err(format!("opcode {opcode}, which has no meaning"));
        }
        let (length, at) = match second & 0x7f {
            126 => match rest.first_chunk::<2>() {
                Some(two) => (u64::from(u16::from_be_bytes(*two)), 4),
                None => return Ok(None),
            },
            127 => match rest.first_chunk::<8>() {
                Some(eight) => (u64::from_be_bytes(*eight), 10),
                None => return Ok(None),
            },
            short => (u64::from(short), 2),
        };
        let shortest = match length {
            0..126 => 2,
            126..65_536 => 4,
            _ => 10,
        };
        if at != shortest {
            return Err(format!("a length of {length} in too many bytes"));
        }
        if opcode >= op::CLOSE && (!last || length > CONTROL as u64) {
            return Err("a control frame that is cut up or over 125 bytes \
                        (section 5.5)"
                .into());
        }
        if length > LONGEST {
            return Err(format!("a frame of {length} bytes"));
        }
        let end = at + length as usize;
        let Some(payload) = bytes.get(at..end) else { return Ok(None) };
        Ok(Some((Frame { last, opcode, payload: payload.to_vec() }, end)))
    }
}

/// A frame of the client, with any first byte.
pub(crate) fn masked(first: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut out = head(first, payload.len(), 0x80);
    out.extend_from_slice(&mask);
    let masks = mask.iter().cycle();
    out.extend(payload.iter().zip(masks).map(|(byte, mask)| byte ^ mask));
    out
}

/// The same without a mask, which no client may send.
pub(crate) fn unmasked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = head(first, payload.len(), 0);
    out.extend_from_slice(payload);
    out
}

fn head(first: u8, length: usize, mask: u8) -> Vec<u8> {
    let mut out = vec![first];
    match length {
        0..126 => out.push(mask | length as u8),
        126..65_536 => {
            out.push(mask | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(mask | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_any_length_is_read_and_a_cut_one_is_waited_for() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let bytes = unmasked(0x82, &vec![7; length]);
            let (frame, used) = Frame::parse(&bytes).unwrap().unwrap();
            assert_eq!((frame.payload.len(), used), (length, bytes.len()));
            for cut in (0..bytes.len()).filter(|n| *n < 20 || n % 997 == 0) {
                assert_eq!(Frame::parse(&bytes[..cut]), Ok(None), "{cut}");
            }
        }
    }

    #[test]
    fn what_no_server_may_send_is_refused_before_it_has_come() {
        let huge = [0x82, 127, 0, 0, 0, 0, 0x40, 0, 0, 0];
        for (bytes, why) in [
            (&huge[..], "a frame of 1073741824 bytes"),
            (&[0xc1, 0], "reserved bit"),
            (&[0x83, 0], "opcode 3"),
            (&[0x8b, 0], "opcode 11"),
            (&[0x81, 0x80], "masked"),
            (&[0x09, 0], "control frame"),
            (&[0x89, 126, 0, 126], "control frame"),
            (&[0x82, 126, 0, 125], "too many bytes"),
            (&[0x82, 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff], "too many bytes"),
        ] {
            let found = Frame::parse(bytes).unwrap_err();
            assert!(found.contains(why), "{bytes:?}: {found}");
        }
    }

    #[test]
    fn a_mask_is_laid_over_the_payload_alone() {
        assert_eq!(
            masked(0x81, b"ab\0cd", [1, 2, 3, 4]),
            [0x81, 0x85, 1, 2, 3, 4, b'a' ^ 1, b'b' ^ 2, 3, b'c' ^ 4, b'd' ^ 1,]
        );
    }
}
