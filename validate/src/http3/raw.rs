//! Request streams byte by byte: what a library would never send.

use quinn::{Connection, ReadError, RecvStream, VarInt, WriteError};

use super::ask::ended_by;
use crate::http::{Fault, Request};
use crate::http2::fields::number;

/// Frame types (RFC 9114 section 7.2).
pub(crate) const DATA: u64 = 0;
pub(crate) const HEADERS: u64 = 1;
/// H3_REQUEST_CANCELLED.
const CANCELLED: u32 = 0x10c;
/// What is read of an answer.
const LONGEST: usize = 4 * 1024 * 1024;

/// Appends a number as QUIC writes it (RFC 9000 section 16).
pub(crate) fn varint(n: u64, out: &mut Vec<u8>) {
    match n {
        0..64 => out.push(n as u8),
        64..16_384 => out.extend_from_slice(&(n as u16 | 0x4000).to_be_bytes()),
        16_384..0x4000_0000 => {
            out.extend_from_slice(&(n as u32 | 0x8000_0000).to_be_bytes());
        }
        _ => out.extend_from_slice(&(n | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// A frame.
pub(crate) fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(kind, &mut out);
    varint(payload.len() as u64, &mut out);
    out.extend_from_slice(payload);
    out
}

/// The field section of these fields: literals, without any table.
pub(crate) fn section(fields: &[(String, String)]) -> Vec<u8> {
    let mut out = vec![0, 0];
    for (name, value) in fields {
        // A literal with a literal name (RFC 9204 section 4.5.6).
        number(name.len(), 0x20, 3, &mut out);
        out.extend_from_slice(name.as_bytes());
        number(value.len(), 0x00, 7, &mut out);
        out.extend_from_slice(value.as_bytes());
    }
    out
}

/// The fields of a request.
pub(crate) fn fields(request: &Request) -> Vec<(String, String)> {
    crate::http2::fields::of(request, "https")
}

/// What came back on a stream that was written by hand.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    /// Whether the head says 2xx, as far as it is written without a table.
    pub(crate) success: bool,
    /// The bytes of all DATA frames.
    pub(crate) body: Vec<u8>,
}

/// Sends pieces on a stream of its own, giving each the time to leave, and
/// reads what comes back.
pub(crate) async fn exchange(
    connection: &Connection,
    pieces: &[&[u8]],
) -> Result<Raw, Fault> {
    let (mut send, recv) = connection.open_bi().await.map_err(ended_by)?;
    for piece in pieces {
        // A server may refuse before all is said; then the answer tells.
        match send.write_all(piece).await {
            Ok(()) => {}
            Err(WriteError::Stopped(_)) => break,
            Err(WriteError::ConnectionLost(why)) => return Err(ended_by(why)),
            Err(why) => return Err(Fault::Broken(why.to_string())),
        }
        if pieces.len() > 1 {
            let pause = std::time::Duration::from_millis(1);
            tokio::time::sleep(pause).await;
        }
    }
    let _ = send.finish();
    read(recv).await
}

async fn read(mut recv: RecvStream) -> Result<Raw, Fault> {
    let mut bytes = Vec::new();
    loop {
        match recv.read_chunk(64 * 1024, true).await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
            Ok(None) => break,
            Err(ReadError::Reset(code)) => {
                return Err(Fault::Reset(code.into_inner()));
            }
            Err(ReadError::ConnectionLost(why)) => return Err(ended_by(why)),
            Err(why) => return Err(Fault::Broken(why.to_string())),
        }
        if bytes.len() > LONGEST {
            let why = format!("an answer of more than {LONGEST} bytes");
            return Err(Fault::Broken(why));
        }
    }
    parse(&bytes).ok_or_else(|| Fault::Broken("a frame that is cut off".into()))
}

/// Reads the frames of an answer.
fn parse(bytes: &[u8]) -> Option<Raw> {
    let (mut rest, mut out) = (bytes, Raw::default());
    while !rest.is_empty() {
        let kind = take(&mut rest)?;
        let length = usize::try_from(take(&mut rest)?).ok()?;
        let payload = rest.get(..length)?;
        rest = &rest[length..];
        match kind {
            HEADERS => out.success |= says_success(payload),
            DATA => out.body.extend_from_slice(payload),
            _ => {}
        }
    }
    Some(out)
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.first()?;
    let length = 1 << (first >> 6);
    let bytes = rest.get(..length)?;
    *rest = &rest[length..];
    let start = u64::from(first & 0x3f);
    Some(bytes[1..].iter().fold(start, |n, b| n << 8 | u64::from(*b)))
}

/// Whether a field section begins with a status of 2xx: an entry of the
/// static table, or its name and the digits as they are. Others are not told
/// apart, and never held against a server.
fn says_success(section: &[u8]) -> bool {
    let Some(fields) = section.get(2..) else { return false };
    match fields {
        // 200; then 204 and 206, past what fits into six bits.
        [0xd9, ..] | [0xff, 1 | 2, ..] => true,
        // A literal whose name is entry 24 to 28, or 63 and on.
        [0x5f, _, 0x03, b'2', ..] => true,
        _ => false,
    }
}

/// Begins a request on a stream and resets it.
pub(super) async fn abandon(
    connection: &Connection,
    request: &Request,
) -> Result<(), Fault> {
    let (mut send, mut recv) = connection.open_bi().await.map_err(ended_by)?;
    let head = frame(HEADERS, &section(&fields(request)));
    let _ = send.write_all(&head).await;
    let code = VarInt::from_u32(CANCELLED);
    let _ = send.reset(code);
    let _ = recv.stop(code);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_read_as_they_were_written_and_cut_ones_do_not() {
        for n in [0, 63, 64, 16_383, 16_384, 0x3fff_ffff, 0x4000_0000] {
            let mut bytes = Vec::new();
            varint(n, &mut bytes);
            assert_eq!(take(&mut &bytes[..]), Some(n));
        }
        let mut bytes = frame(HEADERS, &[0, 0, 0xd9]);
        bytes.extend(frame(0x21, b"grease"));
        bytes.extend(frame(DATA, b"12"));
        bytes.extend(frame(DATA, b"3"));
        let whole = parse(&bytes).unwrap();
        assert!(whole.success);
        assert_eq!(whole.body, b"123");
        for cut in 0..bytes.len() {
            // Whole frames alone are an answer, too.
            let _ = parse(&bytes[..cut]);
        }
        assert!(parse(&bytes[..bytes.len() - 1]).is_none());
    }

    #[test]
    fn only_a_success_is_one() {
        assert!(says_success(&[0, 0, 0xd9]));
        assert!(says_success(&[0, 0, 0xff, 1]));
        for odd in [&[0, 0, 0xdb][..], &[0, 0, 0xff, 4], &[0], &[]] {
            assert!(!says_success(odd), "{odd:?}");
        }
    }
}
