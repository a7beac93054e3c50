//! Is this the right gRPC answer? Asked of every message, while they stream
//! in.
//!
//! The bytes of the message that is due are known, so they are compared as
//! they come and nothing is decoded or gathered. A message that differs is
//! gathered and decoded: another legal layout of the same number is right.

use profiles::ask::Ask;
use profiles::oracle::{Sums, Wrong, clip, sum_reply};

/// No right message is longer, whatever unknown fields it has.
const MAX_MESSAGE: u32 = 1024;
/// Flag and length before each message.
const PREFIX: usize = 5;
/// So much of a `grpc-message` is decoded for an example.
const MAX_WORDS: usize = 240;

/// The gRPC answer a stream is in the middle of.
///
/// [`GrpcWatch::head`] begins it; then come [`GrpcWatch::data`] and
/// [`GrpcWatch::trailers`]. An answer of trailers alone is a head that ends
/// the stream, with its fields handed to both. Whatever comes, the verdict is
/// in [`GrpcWatch::finish`] once the stream has ended.
#[derive(Debug, Default)]
pub struct GrpcWatch {
    sums: Sums,
    /// Messages so far.
    index: u64,
    /// So many bytes of the message that is due have come.
    matched: usize,
    /// What came of a message that differs.
    part: Vec<u8>,
    /// What is left of a message that is not looked at.
    skipped: Option<u32>,
    /// Whether the frames cannot be told apart any more.
    lost: bool,
    trailers_only: bool,
    /// The trailers, if they came.
    status: Option<Status>,
    /// What is wrong with the HTTP head.
    head: Option<Wrong>,
    /// The first message that is not right. A failed call says more, so this
    /// waits for the trailers.
    message: Option<Wrong>,
}

/// What the trailers say.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Status {
    Ok,
    Failed(String),
}

impl GrpcWatch {
    /// The answer to `ask` begins. `end_stream` says that its trailers are
    /// among these headers and nothing follows.
    #[inline]
    pub fn head(
        &mut self,
        ask: &Ask,
        status: u16,
        content_type: Option<&[u8]>,
        end_stream: bool,
    ) {
        self.sums = Sums::of(ask).unwrap_or_default();
        self.index = 0;
        self.matched = 0;
        self.part.clear();
        self.skipped = None;
        self.lost = false;
        self.trailers_only = end_stream;
        self.status = None;
        self.message = None;
        self.head = if status == 200 && is_grpc(content_type) {
            None
        } else {
            Some(wrong_head(status, content_type))
        };
    }

    /// The next bytes of the body: any part of any number of messages.
    #[inline]
    pub fn data(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if self.matched == 0 && self.part.is_empty() && self.skipped.is_none() {
            rest = self.due(rest);
        }
        while !rest.is_empty() {
            rest = self.piece(rest);
            rest = if self.is_between() { self.due(rest) } else { rest };
        }
    }

    /// The trailers came, and with them the end.
    #[inline]
    pub fn trailers(&mut self, status: Option<&[u8]>, message: Option<&[u8]>) {
        self.status = Some(match status {
            Some(b"0") => Status::Ok,
            other => unlike_ok(other, message),
        });
    }

    /// The stream has ended: how many messages it brought, or what was wrong.
    /// The first of these that applies: the HTTP head, trailers alone or
    /// none, the status in them, a message, the number of messages.
    #[inline]
    pub fn finish(&mut self) -> Result<u64, Wrong> {
        let right = self.head.is_none()
            && self.message.is_none()
            && self.status == Some(Status::Ok)
            && self.index == self.sums.count
            && self.is_between();
        if right { Ok(self.index) } else { Err(self.wrong()) }
    }

    /// Whether no part of a message has come.
    fn is_between(&self) -> bool {
        self.matched == 0
            && self.part.is_empty()
            && self.skipped.is_none()
            && !self.lost
    }

    /// Passes over whole messages that are, byte for byte, the due ones.
    #[inline]
    fn due<'a>(&mut self, mut rest: &'a [u8]) -> &'a [u8] {
        while self.index < self.sums.count
            && let Some(found) = rest.first_chunk::<16>()
        {
            let (due, len) = frame(self.sums.value(self.index));
            let found = u128::from_le_bytes(*found);
            if (found ^ due) << (128 - 8 * len) != 0 {
                break;
            }
            rest = &rest[len..];
            self.index += 1;
        }
        rest
    }

    /// Goes on to the end of a message at most; returns what is left.
    fn piece<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.lost {
            return &[];
        }
        if let Some(left) = self.skipped {
            let n = bytes.len().min(left as usize);
            self.skip(left - n as u32);
            return &bytes[n..];
        }
        if self.part.is_empty() && self.index < self.sums.count {
            let (due, len) = frame(self.sums.value(self.index));
            let due = due.to_le_bytes();
            let like = &due[self.matched..len];
            let n = like.len().min(bytes.len());
            if like[..n] == bytes[..n] {
                self.matched += n;
                if self.matched == len {
                    self.matched = 0;
                    self.index += 1;
                }
                return &bytes[n..];
            }
            self.part.extend_from_slice(&due[..self.matched]);
            self.matched = 0;
        }
        self.gather(bytes)
    }

    /// Gathers a message that is not the due one byte for byte.
    #[cold]
    fn gather<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let take = |part: &mut Vec<u8>, rest: &'a [u8], upto: usize| {
            let n = rest.len().min(upto.saturating_sub(part.len()));
            part.extend_from_slice(&rest[..n]);
            &rest[n..]
        };
        let rest = take(&mut self.part, bytes, PREFIX);
        let Some([flag, len @ ..]) = self.part.first_chunk::<PREFIX>() else {
            return rest;
        };
        let (flag, len) = (*flag, u32::from_be_bytes(*len));
        if flag > 1 {
            self.refuse(|| format!("begins with {flag}, which is no flag"));
            self.lost = true;
            return &[];
        }
        if flag == 1 || len > MAX_MESSAGE {
            let why = match flag {
                1 => "is compressed, though no coding was offered".into(),
                _ => format!("has {len} bytes, more than {MAX_MESSAGE}"),
            };
            self.refuse(|| why);
            self.part.clear();
            self.skip(len);
            return rest;
        }
        let whole = PREFIX + len as usize;
        let rest = take(&mut self.part, rest, whole);
        if self.part.len() >= whole {
            self.judge();
        }
        rest
    }

    /// A whole message was gathered.
    fn judge(&mut self) {
        if self.index < self.sums.count {
            let expected = self.sums.value(self.index);
            match sum_reply(&self.part[PREFIX..]) {
                Ok(found) if found == expected => {}
                Ok(found) => self
                    .refuse(|| format!("expected {expected}, found {found}")),
                Err(why) => self.refuse(|| format!("is no SumReply: {why}")),
            }
        }
        self.part.clear();
        self.index += 1;
    }

    fn skip(&mut self, left: u32) {
        self.skipped = (left > 0).then_some(left);
        self.index += u64::from(left == 0);
    }

    fn refuse(&mut self, why: impl FnOnce() -> String) {
        let (number, count) = (self.index + 1, self.sums.count);
        self.message.get_or_insert_with(|| {
            Wrong::GrpcMessage(format!("number {number} of {count}: {}", why()))
        });
    }

    #[cold]
    fn wrong(&mut self) -> Wrong {
        if let Some(wrong) = self.head.take() {
            return wrong;
        }
        let (expected, found) = (self.sums.count, self.index);
        match self.status.take() {
            None => return Wrong::GrpcNoTrailers,
            Some(Status::Failed(words)) if self.trailers_only => {
                return Wrong::GrpcTrailersOnly(words);
            }
            Some(Status::Failed(words)) => return Wrong::GrpcStatus(words),
            Some(Status::Ok) if self.trailers_only && expected > 0 => {
                return Wrong::GrpcTrailersOnly("0".into());
            }
            Some(Status::Ok) => {}
        }
        if let Some(wrong) = self.message.take() {
            return wrong;
        }
        if !self.is_between() {
            let number = found + 1;
            let words = format!("number {number} of {expected}: is cut off");
            return Wrong::GrpcMessage(words);
        }
        Wrong::GrpcMessages { expected, found }
    }
}

/// The frame of a `SumReply` as every encoder writes it, the first byte
/// lowest, and its length. Ten bytes of number fill it to the last.
#[inline]
fn frame(value: i32) -> (u128, usize) {
    let wide = i64::from(value) as u64;
    let low = wide & 0x7f;
    // Sums of the contract have one to three bytes.
    let (number, n): (u128, usize) = if wide == 0 {
        return (0, PREFIX);
    } else if wide < 1 << 7 {
        (wide.into(), 1)
    } else if wide < 1 << 14 {
        ((low | 0x80 | (wide >> 7) << 8).into(), 2)
    } else if wide < 1 << 21 {
        let middle = wide >> 7 & 0x7f;
        ((low | 0x80 | (middle | 0x80) << 8 | wide >> 14 << 16).into(), 3)
    } else {
        long(wide)
    };
    // Length 1 + n in the fifth byte, field 1 as a number in the sixth.
    let prefix = (n as u128 + 1) << 32 | 8 << 40;
    (number << 48 | prefix, PREFIX + 1 + n)
}

fn long(mut wide: u64) -> (u128, usize) {
    let (mut number, mut n) = (0, 0);
    while wide >= 0x80 {
        number |= u128::from(wide & 0x7f | 0x80) << (8 * n);
        wide >>= 7;
        n += 1;
    }
    (number | u128::from(wide) << (8 * n), n + 1)
}

/// `application/grpc`, or the same with its usual format named.
#[inline]
fn is_grpc(content_type: Option<&[u8]>) -> bool {
    let Some(found) = content_type else { return false };
    if found == b"application/grpc" {
        return true;
    }
    let bare = found.split(|b| *b == b';').next().unwrap_or(&[]);
    let bare = bare.trim_ascii();
    bare.eq_ignore_ascii_case(b"application/grpc")
        || bare.eq_ignore_ascii_case(b"application/grpc+proto")
}

#[cold]
fn wrong_head(status: u16, content_type: Option<&[u8]>) -> Wrong {
    if status != 200 {
        return Wrong::Status { expected: 200, found: status };
    }
    Wrong::ContentType {
        expected: "application/grpc",
        found: content_type.map_or("none".into(), clip),
    }
}

#[cold]
fn unlike_ok(status: Option<&[u8]>, message: Option<&[u8]>) -> Status {
    let Some(status) = status else { return Status::Failed("none".into()) };
    if !status.is_empty() && status.iter().all(|b| *b == b'0') {
        return Status::Ok;
    }
    let mut words = clip(status);
    if let Some(message) = message.filter(|m| !m.is_empty()) {
        words += &format!(" ({})", clip(&percent_decoded(message)));
    }
    Status::Failed(words)
}

/// Bytes written as `%41` are what they stand for; anything else is itself.
fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let text = &text[..text.len().min(MAX_WORDS)];
    let hex = |at: usize| (*text.get(at)? as char).to_digit(16);
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(byte) = text.get(at) {
        match (byte, hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
