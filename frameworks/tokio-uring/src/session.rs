//! One connection's side of the conversation: bytes in, answers out. It knows
//! nothing of sockets, so it can be cut and tested at every byte.

use crate::{
    http::{
        Status,
        chunked::{Decoder, Piece},
        fields::{BODY_LIMIT_BYTES, Framing},
        head::{self, Method},
    },
    output::{LIMIT_BYTES, Output},
    query::Integer,
    reply::{Manner, Writer},
    routes::{self, Answer, Plan},
    ws::Echo,
};

/// Boxed where it is rare or large: most connections wait for a head.
#[derive(Debug, Default)]
pub enum Session {
    #[default]
    Head,
    Body(Box<Body>),
    WebSocket(Box<Echo>),
    /// Nothing more is read: what is written is sent, then it is closed.
    Ended,
}

#[derive(Debug)]
pub struct Body {
    framing: Reading,
    read_bytes: u64,
    purpose: Purpose,
    manner: Manner,
}

#[derive(Debug)]
enum Reading {
    Length(u64),
    Chunked(Decoder),
}

#[derive(Debug)]
enum Purpose {
    Skip(Answer),
    Add(i128, Integer),
    Count,
}

impl Session {
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Ended)
    }

    /// Answers what has come whole and returns how much of the input is used
    /// up. The rest is to be given again, with more behind it. It stops early
    /// where `out` is full.
    pub fn feed(
        &mut self,
        writer: &mut Writer,
        input: &[u8],
        out: &mut Output,
    ) -> usize {
        let mut rest = input;
        while !out.is_full() {
            let more = match self {
                Self::Head => self.head(writer, &mut rest, out),
                Self::Body(body) => match body.read(&mut rest) {
                    Ok(None) => false,
                    Ok(Some(answer)) => {
                        let manner = body.manner;
                        self.answer(writer, answer, manner, out);
                        true
                    }
                    Err(status) => {
                        self.refuse(writer, status, out);
                        false
                    }
                },
                Self::WebSocket(echo) => {
                    let full = |bytes: &[u8]| bytes.len() >= LIMIT_BYTES;
                    let used = echo.feed(rest, &mut out.bytes, full);
                    rest = &rest[used..];
                    if echo.is_closed() {
                        *self = Self::Ended;
                    }
                    false
                }
                // What comes after the last request is nobody's.
                Self::Ended => return input.len(),
            };
            if !more {
                break;
            }
        }
        if self.is_ended() { input.len() } else { input.len() - rest.len() }
    }

    /// Reads one head; whether there may be more to do.
    fn head(
        &mut self,
        writer: &mut Writer,
        rest: &mut &[u8],
        out: &mut Output,
    ) -> bool {
        if rest.is_empty() {
            return false;
        }
        let head = match head::parse(rest) {
            Ok(None) => return false,
            Ok(Some((head, length))) => {
                *rest = &rest[length..];
                head
            }
            Err(status) => {
                self.refuse(writer, status, out);
                return false;
            }
        };
        let bodiless = head.method == Method::Head;
        let manner = Manner { keep: head.keep, bodiless };
        let purpose = match routes::plan(writer.site, &head) {
            // The usual case, short of everything else.
            Plan::Skip(answer) if !head.framing.has_body() => {
                self.answer(writer, answer, manner, out);
                return true;
            }
            Plan::Skip(answer) => Purpose::Skip(answer),
            Plan::Add(sum) => Purpose::Add(sum, Integer::default()),
            Plan::Count => Purpose::Count,
            Plan::Upgrade(accept) => {
                out.bytes.extend_from_slice(
                    b"HTTP/1.1 101 Switching Protocols\r\n\
                    Upgrade: websocket\r\nConnection: Upgrade\r\n\
                    Sec-WebSocket-Accept: ",
                );
                out.bytes.extend_from_slice(accept.as_bytes());
                out.bytes.extend_from_slice(b"\r\n\r\n");
                *self = Self::WebSocket(Box::default());
                return true;
            }
        };
        if head.expects && head.framing.has_body() && rest.is_empty() {
            out.bytes.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let framing = match head.framing {
            Framing::Length(length) => Reading::Length(length),
            Framing::Chunked => Reading::Chunked(Decoder::new()),
        };
        let mut body = Body { framing, read_bytes: 0, purpose, manner };
        // A small body has mostly come with its head: nothing is kept then.
        match body.read(rest) {
            Ok(Some(answer)) => {
                self.answer(writer, answer, manner, out);
                true
            }
            Ok(None) => {
                *self = Self::Body(Box::new(body));
                false
            }
            Err(status) => {
                self.refuse(writer, status, out);
                false
            }
        }
    }

    fn answer(
        &mut self,
        writer: &mut Writer,
        answer: Answer,
        manner: Manner,
        out: &mut Output,
    ) {
        writer.write(answer, manner, out);
        *self = if manner.keep { Self::Head } else { Self::Ended };
    }

    /// After what cannot be read nothing that follows can be trusted.
    fn refuse(
        &mut self,
        writer: &mut Writer,
        status: Status,
        out: &mut Output,
    ) {
        let manner = Manner { keep: false, bodiless: false };
        self.answer(writer, status.into(), manner, out);
    }
}

impl Body {
    /// Reads on; the answer is there when the body has come whole.
    fn read(&mut self, rest: &mut &[u8]) -> Result<Option<Answer>, Status> {
        loop {
            let data = match &mut self.framing {
                Reading::Length(0) => return Ok(Some(self.finish())),
                Reading::Length(_) if rest.is_empty() => return Ok(None),
                Reading::Length(left) => {
                    let all = usize::try_from(*left).unwrap_or(usize::MAX);
                    let (data, after) = rest.split_at(all.min(rest.len()));
                    *left -= data.len() as u64;
                    *rest = after;
                    data
                }
                Reading::Chunked(decoder) => match decoder.next(rest)? {
                    Piece::Data(data) => data,
                    Piece::More => return Ok(None),
                    Piece::End => return Ok(Some(self.finish())),
                },
            };
            self.read_bytes += data.len() as u64;
            if self.read_bytes > BODY_LIMIT_BYTES {
                return Err(Status::CONTENT_TOO_LARGE);
            }
            if let Purpose::Add(_, integer) = &mut self.purpose {
                integer.read(data);
            }
        }
    }

    fn finish(&self) -> Answer {
        match &self.purpose {
            Purpose::Skip(answer) => *answer,
            Purpose::Add(sum, integer) => match integer.finish() {
                Some(third) => routes::total(sum + i128::from(third)),
                None => Status::BAD_REQUEST.into(),
            },
            Purpose::Count => Answer::Number(self.read_bytes as i64),
        }
    }
}

#[cfg(test)]
#[path = "session_test.rs"]
mod tests;
