//! HTTP/1.1 of the server: all requests of a piece answered in one piece.

use std::io::Write as _;

use super::answers::{Answers, Question};
use super::talk::{Heard, Talk};

/// Heads are short here; more is no client of ours.
const MAX_HEADERS: usize = 32;

/// One connection.
#[derive(Default)]
pub struct Http1 {
    /// The beginning of a request whose end has not come yet.
    rest: Vec<u8>,
    scratch: Vec<u8>,
}

/// One request and its length in bytes.
struct Request<'a> {
    question: Question<'a>,
    bytes: usize,
}

impl Talk for Http1 {
    fn hear(
        &mut self,
        bytes: &[u8],
        answers: &Answers,
        out: &mut Vec<u8>,
    ) -> Heard {
        if self.rest.is_empty() {
            return self.take(bytes, answers, out);
        }
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        self.take(&all, answers, out)
    }
}

impl Http1 {
    fn take(
        &mut self,
        mut bytes: &[u8],
        answers: &Answers,
        out: &mut Vec<u8>,
    ) -> Heard {
        let mut answered = 0;
        let mut body = Vec::new();
        while !bytes.is_empty() {
            match request(bytes, &mut body) {
                Ok(Some(request)) => {
                    let answer =
                        answers.answer(&request.question, &mut self.scratch);
                    write_head(&answer, out);
                    out.extend_from_slice(answer.body);
                    answered += 1;
                    bytes = &bytes[request.bytes..];
                }
                Ok(None) => {
                    self.rest.extend_from_slice(bytes);
                    break;
                }
                Err(()) => return Heard::HangUp,
            }
        }
        Heard::Answered(answered)
    }
}

fn write_head(answer: &super::answers::Answer<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    let status: &[u8] = match answer.status {
        200 => b"200 OK",
        _ => b"404 Not Found",
    };
    out.extend_from_slice(status);
    out.extend_from_slice(b"\r\nServer: peers\r\nContent-Type: ");
    out.extend_from_slice(answer.content_type.as_bytes());
    if let Some(coding) = answer.content_encoding {
        out.extend_from_slice(b"\r\nContent-Encoding: ");
        out.extend_from_slice(coding.as_bytes());
    }
    // Writing to a Vec cannot fail.
    let _ = write!(out, "\r\nContent-Length: {}\r\n\r\n", answer.body.len());
}

/// The first request in `bytes`; `None` until it is whole. A body that came
/// in chunks is joined in `joined`.
fn request<'a>(
    bytes: &'a [u8],
    joined: &'a mut Vec<u8>,
) -> Result<Option<Request<'a>>, ()> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let Ok(parsed) = head.parse(bytes) else { return Err(()) };
    let httparse::Status::Complete(end) = parsed else { return Ok(None) };
    let target = head.path.ok_or(())?;
    let (mut length, mut chunked, mut takes_brotli) = (0, false, false);
    for header in head.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| ())?;
        if header.name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| ())?;
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = true;
        } else if header.name.eq_ignore_ascii_case("accept-encoding") {
            takes_brotli = value.contains("br");
        }
    }
    let rest = &bytes[end..];
    let (body, length) = if chunked {
        match chunks(rest, joined)? {
            Some(length) => (&joined[..], length),
            None => return Ok(None),
        }
    } else {
        match rest.get(..length) {
            Some(body) => (body, length),
            None => return Ok(None),
        }
    };
    let question = Question { target, body, takes_brotli };
    Ok(Some(Request { question, bytes: end + length }))
}

/// Joins the chunks of a body; how many bytes they took, or `None` until the
/// last is there.
fn chunks(bytes: &[u8], joined: &mut Vec<u8>) -> Result<Option<usize>, ()> {
    joined.clear();
    let mut at = 0;
    loop {
        match httparse::parse_chunk_size(&bytes[at..]).map_err(|_| ())? {
            httparse::Status::Partial => return Ok(None),
            httparse::Status::Complete((line, size)) => {
                let from = at + line;
                let size = usize::try_from(size).map_err(|_| ())?;
                let end = from.checked_add(size).ok_or(())?;
                let Some(piece) = bytes.get(from..end) else {
                    return Ok(None);
                };
                joined.extend_from_slice(piece);
                if bytes.len() < end + 2 {
                    return Ok(None);
                }
                at = end + 2;
                if size == 0 {
                    return Ok(Some(at));
                }
            }
        }
    }
}
