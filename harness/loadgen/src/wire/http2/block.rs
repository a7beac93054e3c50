//! What a header block says, as far as it matters.

/// A field by its name, sorted by what is to be done with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Nothing but to check its value's bytes.
    Plain,
    Status,
    ContentLength,
    ContentType,
    ContentEncoding,
    GrpcStatus,
    GrpcMessage,
    /// A pseudo-header no answer has.
    Pseudo,
    /// About the connection, which HTTP/2 has other words for.
    Hop,
    /// No name, or one with a capital letter.
    Bad,
}

impl Kind {
    /// The kind of `name`.
    pub(super) fn of(name: &[u8]) -> Kind {
        match name {
            b":status" => Kind::Status,
            [b':', ..] => Kind::Pseudo,
            b"content-length" => Kind::ContentLength,
            b"content-type" => Kind::ContentType,
            b"content-encoding" => Kind::ContentEncoding,
            b"grpc-status" => Kind::GrpcStatus,
            b"grpc-message" => Kind::GrpcMessage,
            b"connection" | b"keep-alive" | b"proxy-connection"
            | b"transfer-encoding" | b"upgrade" => Kind::Hop,
            [] => Kind::Bad,
            _ if name.iter().all(|b| is_lower_token(*b)) => Kind::Plain,
            _ => Kind::Bad,
        }
    }
}

fn is_lower_token(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`'
        | b'|' | b'~' | b'0'..=b'9' | b'a'..=b'z')
}

/// Whether a value is one (RFC 9113 section 8.2.1).
pub(super) fn is_value(value: &[u8]) -> bool {
    let blank = |b: Option<&u8>| matches!(b, Some(b' ' | b'\t'));
    !blank(value.first())
        && !blank(value.last())
        && !value.iter().any(|b| matches!(b, 0 | b'\r' | b'\n'))
}

/// Fields whose values are kept.
const TEXTS: usize = 4;

/// What a header block says: a head, a trailer section, or neither because
/// it is malformed.
#[derive(Debug, Default)]
pub struct Block {
    /// The status code, if there is one.
    pub status: Option<u16>,
    /// What `content-length` says.
    pub length: Option<u64>,
    /// The first rule it breaks.
    wrong: Option<&'static str>,
    /// Whether a regular field came.
    regular: bool,
    text: Vec<u8>,
    at: [Option<(u32, u32)>; TEXTS],
}

impl Block {
    /// The value of `content-type`.
    #[inline]
    pub fn content_type(&self) -> Option<&[u8]> {
        self.text(0)
    }

    /// The value of `content-encoding`.
    #[inline]
    pub fn content_encoding(&self) -> Option<&[u8]> {
        self.text(1)
    }

    /// The value of `grpc-status`.
    #[inline]
    pub fn grpc_status(&self) -> Option<&[u8]> {
        self.text(2)
    }

    /// The value of `grpc-message`.
    #[inline]
    pub fn grpc_message(&self) -> Option<&[u8]> {
        self.text(3)
    }

    #[inline]
    fn text(&self, index: usize) -> Option<&[u8]> {
        let (from, to) = self.at[index]?;
        self.text.get(from as usize..to as usize)
    }

    /// The status of a final or informational head, or the rule it breaks.
    #[inline]
    pub fn head(&self) -> Result<u16, &'static str> {
        match (self.wrong, self.status) {
            (Some(why), _) => Err(why),
            (None, Some(status)) => Ok(status),
            (None, None) => Err("a head has no :status"),
        }
    }

    /// Whether it may be a trailer section.
    #[inline]
    pub fn trailers(&self) -> Result<(), &'static str> {
        match (self.wrong, self.status) {
            (Some(why), _) => Err(why),
            (None, None) => Ok(()),
            (None, Some(_)) => Err("a trailer section has a :status"),
        }
    }

    pub(super) fn clear(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        *self = Block { text, ..Block::default() };
    }

    /// One more field. `good` says whether its value is one.
    pub(super) fn add(&mut self, kind: Kind, value: &[u8], good: bool) {
        let wrong = match kind {
            _ if !good => Some("a field value has forbidden bytes"),
            Kind::Bad => Some("a field name is none"),
            Kind::Hop => Some("a field is about the connection"),
            Kind::Pseudo => Some("a pseudo-header is none of an answer's"),
            Kind::Status => self.status(value).err(),
            Kind::ContentLength => self.length(value).err(),
            Kind::ContentType => self.keep(0, value).err(),
            Kind::ContentEncoding => self.keep(1, value).err(),
            Kind::GrpcStatus => self.keep(2, value).err(),
            Kind::GrpcMessage => self.keep(3, value).err(),
            Kind::Plain => None,
        };
        self.regular |= kind != Kind::Status;
        if self.wrong.is_none() {
            self.wrong = wrong;
        }
    }

    fn status(&mut self, value: &[u8]) -> Result<(), &'static str> {
        if self.regular {
            return Err("a pseudo-header is behind a regular one");
        }
        let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = *value else {
            return Err("a :status is no status code");
        };
        let digit = |byte| u16::from(byte - b'0');
        let status = digit(a) * 100 + digit(b) * 10 + digit(c);
        match self.status.replace(status) {
            None => Ok(()),
            Some(_) => Err("a :status came twice"),
        }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), &'static str> {
        const BAD: &str = "content-length is no number, or two of them differ";
        if value.is_empty() || value.len() > 18 {
            return Err(BAD);
        }
        let mut length = 0;
        for byte in value {
            if !byte.is_ascii_digit() {
                return Err(BAD);
            }
            length = length * 10 + u64::from(byte - b'0');
        }
        match self.length.replace(length) {
            Some(other) if other != length => Err(BAD),
            _ => Ok(()),
        }
    }

    fn keep(&mut self, index: usize, value: &[u8]) -> Result<(), &'static str> {
        let from = self.text.len() as u32;
        self.text.extend_from_slice(value);
        match self.at[index].replace((from, self.text.len() as u32)) {
            None => Ok(()),
            Some(_) => Err("a field that may come once came twice"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(fields: &[(&str, &str)]) -> Block {
        let mut block = Block::default();
        for (name, value) in fields {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            block.add(Kind::of(name), value, is_value(value));
        }
        block
    }

    #[test]
    fn a_head_is_told_from_trailers() {
        let head = block(&[
            (":status", "200"),
            ("content-type", "text/plain"),
            ("content-length", "3"),
            ("x", ""),
        ]);
        assert_eq!((head.head(), head.length), (Ok(200), Some(3)));
        assert_eq!(head.content_type(), Some(&b"text/plain"[..]));
        assert!(head.trailers().is_err());
        let trailers = block(&[("grpc-status", "0"), ("grpc-message", "")]);
        assert_eq!(trailers.trailers(), Ok(()));
        assert_eq!(trailers.grpc_status(), Some(&b"0"[..]));
        assert_eq!(trailers.grpc_message(), Some(&b""[..]));
        assert!(trailers.head().is_err());
        assert_eq!(block(&[]).trailers(), Ok(()));
    }

    #[track_caller]
    fn refuse(fields: &[(&str, &str)]) {
        let mut all = vec![(":status", "200")];
        all.extend_from_slice(fields);
        let block = block(&all);
        assert!(block.head().is_err() && block.trailers().is_err());
    }

    #[test]
    fn malformed_blocks_are_refused() {
        refuse(&[("Content-Type", "text/plain")]);
        refuse(&[("x y", "")]);
        refuse(&[("", "")]);
        refuse(&[("x\u{e4}", "")]);
        refuse(&[("x", "a\r\nb")]);
        refuse(&[("x", " a")]);
        refuse(&[("x", "a\t")]);
        refuse(&[("x", "\0")]);
        refuse(&[("connection", "close")]);
        refuse(&[("transfer-encoding", "chunked")]);
        refuse(&[(":path", "/")]);
        refuse(&[(":status", "200")]);
        refuse(&[("content-length", "")]);
        refuse(&[("content-length", "-1")]);
        refuse(&[("content-length", "1, 1")]);
        refuse(&[("content-length", "1"), ("content-length", "2")]);
        refuse(&[("content-length", "9999999999999999999")]);
        refuse(&[("content-type", "a"), ("content-type", "a")]);
        for status in ["", "20", "2000", "099", "2x0", "+20"] {
            assert!(block(&[(":status", status)]).head().is_err());
        }
        assert!(block(&[("x", "y"), (":status", "200")]).head().is_err());
    }
}
