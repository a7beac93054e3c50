//! gRPC answers: the messages in the body, and the status in the trailers.
//!
//! The rules are those of the gRPC project's page "gRPC over HTTP2".

use profiles::ask::Ask;
use profiles::oracle::{Sums, clip, sum_reply};

use crate::http::Response;

/// Before every message: a flag and four bytes of length.
const PREFIX: usize = 5;

/// Whether `response` is the whole right answer to a call.
pub(crate) fn judge(ask: &Ask, response: &Response) -> Result<(), String> {
    let Some(sums) = Sums::of(ask) else {
        return Err("it is no gRPC call".into());
    };
    if response.status != 200 {
        return Err(format!("status: expected 200, found {}", response.status));
    }
    content_type(response)?;
    if let Some(status) = response.header("grpc-status") {
        let shown = clip(status.as_bytes());
        return match (sums.count, status) {
            // Nothing was due, so trailers alone are the whole answer.
            (0, "0") if response.body.is_empty() => Ok(()),
            _ => Err(format!(
                "grpc-status {shown} in the head; expected messages and the \
                 status in the trailers"
            )),
        };
    }
    let messages = messages(&response.body)?;
    for (index, message) in messages.iter().enumerate() {
        let index = index as u64;
        let right = sums.value(index);
        if index == sums.count {
            break;
        }
        match sum_reply(message) {
            Ok(found) if found == right => {}
            Ok(found) => {
                return Err(format!(
                    "message {index}: expected result {right}, found {found}"
                ));
            }
            Err(why) => return Err(format!("message {index}: {why}")),
        }
    }
    if messages.len() as u64 != sums.count {
        return Err(format!(
            "expected {} messages, found {}",
            sums.count,
            messages.len()
        ));
    }
    match status(response) {
        Some("0") => Ok(()),
        Some(other) => Err(format!(
            "grpc-status: expected 0, found {}",
            clip(other.as_bytes())
        )),
        None => Err("no grpc-status in the trailers".into()),
    }
}

/// The status of a call, in the trailers or, where nothing else came, in the
/// head.
pub(crate) fn status(response: &Response) -> Option<&str> {
    let trailers = response.trailers.iter().flatten();
    let mut all = trailers.chain(&response.headers);
    all.find(|(name, _)| name == "grpc-status").map(|(_, v)| &v[..])
}

fn content_type(response: &Response) -> Result<(), String> {
    let found = response.header("content-type").unwrap_or("none");
    let rest = found.strip_prefix("application/grpc");
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with(['+', ';']) => Ok(()),
        _ => Err(format!(
            "content type: expected application/grpc, found {}",
            clip(found.as_bytes())
        )),
    }
}

/// The messages of a body, each in its frame.
pub(crate) fn messages(body: &[u8]) -> Result<Vec<&[u8]>, String> {
    let (mut rest, mut out) = (body, Vec::new());
    while !rest.is_empty() {
        let (prefix, after) =
            rest.split_at_checked(PREFIX).ok_or_else(|| {
                format!("{} bytes after the last message", rest.len())
            })?;
        if prefix[0] != 0 {
            return Err(format!(
                "message {} is marked as compressed, and no coding was agreed \
                 on",
                out.len()
            ));
        }
        let length = [prefix[1], prefix[2], prefix[3], prefix[4]];
        let length = u32::from_be_bytes(length) as usize;
        let message = after.get(..length).ok_or_else(|| {
            format!(
                "message {} says {length} bytes, and {} came",
                out.len(),
                after.len()
            )
        })?;
        out.push(message);
        rest = &after[length..];
    }
    Ok(out)
}

/// A message in its frame.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
    out
}

/// A protobuf field of wire type 0.
pub(crate) fn field(number: u8, value: i32, out: &mut Vec<u8>) {
    out.push(number << 3);
    // An int32 below zero is written as ten bytes.
    let mut rest = i64::from(value) as u64;
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Delimited;

    fn answer(results: &[i32]) -> Response {
        let mut body = Vec::new();
        for result in results {
            let mut message = Vec::new();
            field(1, *result, &mut message);
            body.extend(framed(&message));
        }
        let own = |n: &str, v: &str| (n.to_string(), v.to_string());
        Response {
            status: 200,
            headers: vec![own("content-type", "application/grpc+proto")],
            body,
            trailers: Some(vec![own("grpc-status", "0")]),
            delimited: Delimited::Stream,
            length: None,
            says_close: false,
        }
    }

    #[track_caller]
    fn wrong(ask: &Ask, response: &Response, part: &str) {
        let why = judge(ask, response).unwrap_err();
        assert!(why.contains(part), "`{part}` is not in `{why}`");
    }

    #[test]
    fn a_call_is_right_only_with_all_its_messages_and_its_status() {
        let sum = Ask::GrpcSum { a: -7, b: 3 };
        assert_eq!(judge(&sum, &answer(&[-4])), Ok(()));
        wrong(&sum, &answer(&[]), "expected 1 messages, found 0");
        wrong(&sum, &answer(&[-4, -4]), "expected 1 messages, found 2");
        wrong(&sum, &answer(&[4]), "expected result -4, found 4");
        let stream = Ask::GrpcStream { a: i32::MAX, b: 0, count: 3 };
        let right = [i32::MAX, i32::MIN, i32::MIN + 1];
        assert_eq!(judge(&stream, &answer(&right)), Ok(()));
        wrong(&stream, &answer(&right[..2]), "expected 3 messages, found 2");
        let mut odd = answer(&[-4]);
        odd.trailers = None;
        wrong(&sum, &odd, "no grpc-status");
        let status = ("grpc-status".to_string(), "0".to_string());
        odd.headers.push(status.clone());
        wrong(&sum, &odd, "in the head");
        let none = Ask::GrpcStream { a: 1, b: 2, count: 0 };
        let mut empty = answer(&[]);
        assert_eq!(judge(&none, &empty), Ok(()));
        empty.trailers = None;
        empty.headers.push(status);
        assert_eq!(judge(&none, &empty), Ok(()));
        let mut html = answer(&[-4]);
        html.headers[0].1 = "text/html".into();
        wrong(&sum, &html, "content type");
        html.headers[0].1 = "application/grpc-web".into();
        wrong(&sum, &html, "content type");
    }

    #[test]
    fn a_body_cut_anywhere_is_no_answer() {
        let stream = Ask::GrpcStream { a: 1, b: 2, count: 3 };
        let whole = answer(&[3, 4, 5]);
        for cut in 0..whole.body.len() {
            let body = whole.body[..cut].to_vec();
            let odd = Response { body, ..whole.clone() };
            assert!(judge(&stream, &odd).is_err(), "{cut}");
        }
        let mut marked = whole.clone();
        marked.body[0] = 1;
        wrong(&stream, &marked, "compressed");
        let mut huge = whole;
        huge.body[1] = 0xff;
        wrong(&stream, &huge, "message 0 says");
    }
}
