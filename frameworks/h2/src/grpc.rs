//! The gRPC service: messages by prost, frames and status by hand.

use std::future::poll_fn;

use bytes::{BufMut, Bytes, BytesMut};
use h2::{Reason, SendStream, server::SendResponse};
use http::{
    HeaderMap, Method, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
    request::Parts,
};
use prost::Message;

const GRPC: &str = "application/grpc";
const STATUS: &str = "grpc-status";

/// gRPC's own status codes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Code {
    Ok = 0,
    Unimplemented = 12,
    Internal = 13,
}

#[derive(Message)]
struct SumRequest {
    #[prost(int32, tag = "1")]
    a: i32,
    #[prost(int32, tag = "2")]
    b: i32,
}

#[derive(Message)]
struct StreamRequest {
    #[prost(int32, tag = "1")]
    a: i32,
    #[prost(int32, tag = "2")]
    b: i32,
    #[prost(int32, tag = "3")]
    count: i32,
}

#[derive(Message)]
struct SumReply {
    #[prost(int32, tag = "1")]
    result: i32,
}

/// A message's flag and length stand before it.
const PREFIX_BYTES: usize = 5;

/// Replies are handed to h2 in portions of about one DATA frame.
const PORTION_BYTES: usize = 16 * 1024;

/// A prefix, a field's tag and the longest int32.
const REPLY_LIMIT_BYTES: usize = PREFIX_BYTES + 11;

pub fn is_call(head: &Parts) -> bool {
    head.method == Method::POST
        && head.uri.path().starts_with("/benchmark.BenchmarkService/")
}

pub async fn answer(
    head: &Parts,
    body: Vec<u8>,
    mut respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let content_type = head.headers.get(CONTENT_TYPE);
    let is_grpc = content_type.is_some_and(|value| {
        let rest = value.as_bytes().strip_prefix(GRPC.as_bytes());
        rest.is_some_and(|rest| matches!(rest, [] | [b'+' | b';', ..]))
    });
    if !is_grpc {
        let mut reply = Response::new(());
        *reply.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return respond.send_response(reply, true).map(drop);
    }
    let replies = match replies(head.uri.path(), &body) {
        Ok(replies) => replies,
        Err(code) => {
            let mut reply = begin();
            reply.headers_mut().insert(STATUS, (code as i32).into());
            return respond.send_response(reply, true).map(drop);
        }
    };
    let mut stream = respond.send_response(begin(), false)?;
    match replies {
        Replies::One(result) => {
            let mut frame = BytesMut::with_capacity(REPLY_LIMIT_BYTES);
            put(&mut frame, result);
            stream.send_data(frame.freeze(), false)?;
        }
        Replies::Many { first, count } => {
            send_many(&mut stream, first, count).await?;
        }
    }
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, (Code::Ok as i32).into());
    stream.send_trailers(trailers)
}

#[derive(Debug, Eq, PartialEq)]
enum Replies {
    One(i32),
    Many { first: i32, count: i32 },
}

fn replies(path: &str, body: &[u8]) -> Result<Replies, Code> {
    let method = path.rsplit('/').next().unwrap_or_default();
    match method {
        "GetSum" => {
            let SumRequest { a, b } = message(body)?;
            Ok(Replies::One(a.wrapping_add(b)))
        }
        "StreamSum" => {
            let StreamRequest { a, b, count } = message(body)?;
            Ok(Replies::Many { first: a.wrapping_add(b), count })
        }
        _ => Err(Code::Unimplemented),
    }
}

/// The one message of a body, which is never compressed here.
fn message<M: Message + Default>(body: &[u8]) -> Result<M, Code> {
    let (prefix, message) =
        body.split_first_chunk::<PREFIX_BYTES>().ok_or(Code::Internal)?;
    let [flag, length @ ..] = *prefix;
    if flag != 0 {
        return Err(Code::Unimplemented);
    }
    if u32::from_be_bytes(length) as usize != message.len() {
        return Err(Code::Internal);
    }
    M::decode(message).map_err(|_| Code::Internal)
}

fn begin() -> Response<()> {
    let mut reply = Response::new(());
    let grpc = HeaderValue::from_static(GRPC);
    reply.headers_mut().insert(CONTENT_TYPE, grpc);
    reply
}

fn put(out: &mut BytesMut, result: i32) {
    let reply = SumReply { result };
    out.put_u8(0);
    out.put_u32(reply.encoded_len() as u32);
    reply.encode_raw(out);
}

/// Makes the replies as the client's windows take them. A count of 0 or less
/// is an empty stream.
async fn send_many(
    stream: &mut SendStream<Bytes>,
    first: i32,
    count: i32,
) -> Result<(), h2::Error> {
    let mut out = BytesMut::with_capacity(PORTION_BYTES);
    for i in 0..count {
        put(&mut out, first.wrapping_add(i));
        if out.len() + REPLY_LIMIT_BYTES > PORTION_BYTES || i + 1 == count {
            send(stream, out.split().freeze()).await?;
            out.reserve(PORTION_BYTES);
        }
    }
    Ok(())
}

async fn send(
    stream: &mut SendStream<Bytes>,
    mut data: Bytes,
) -> Result<(), h2::Error> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len());
        let room = poll_fn(|cx| stream.poll_capacity(cx)).await;
        let room = room.ok_or(h2::Error::from(Reason::CANCEL))??;
        let part = data.split_to(room.min(data.len()));
        stream.send_data(part, false)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, body: &[u8]) -> Result<Replies, Code> {
        replies(&format!("/benchmark.BenchmarkService/{method}"), body)
    }

    #[test]
    fn sums_wrap_and_fields_may_come_as_they_like() {
        let body = b"\0\0\0\0\x04\x08\x0d\x10\x2a";
        assert_eq!(ask("GetSum", body), Ok(Replies::One(55)));
        let swapped = b"\0\0\0\0\x06\x10\x2a\x08\x0d\x20\x01";
        assert_eq!(ask("GetSum", swapped), Ok(Replies::One(55)));
        let most = b"\0\0\0\0\x08\x08\xff\xff\xff\xff\x07\x10\x01";
        assert_eq!(ask("GetSum", most), Ok(Replies::One(i32::MIN)));
        let empty = b"\0\0\0\0\0";
        assert_eq!(
            ask("StreamSum", empty),
            Ok(Replies::Many { first: 0, count: 0 })
        );
    }

    #[test]
    fn what_is_no_call_of_the_service_is_refused() {
        assert_eq!(ask("Other", b"\0\0\0\0\0"), Err(Code::Unimplemented));
        assert_eq!(ask("GetSum", b"\x01\0\0\0\0"), Err(Code::Unimplemented));
        for body in [&b""[..], b"\0\0\0\0\x02\x08", b"\0\0\0\0\x01\x08"] {
            assert_eq!(ask("GetSum", body), Err(Code::Internal), "{body:?}");
        }
    }

    #[test]
    fn the_longest_reply_has_room() {
        let mut out = BytesMut::new();
        put(&mut out, -1);
        assert_eq!(out.len(), REPLY_LIMIT_BYTES);
    }
}
