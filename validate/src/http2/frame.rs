//! Frames as bytes (RFC 9113 section 4).

/// Before every frame.
pub(crate) const HEAD: usize = 9;
/// The largest payload that a server may send us: we never allow more.
pub(crate) const LARGEST: usize = 16_384;

/// The types of frames (RFC 9113 section 6).
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Their flags.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 1;
    pub(crate) const END_STREAM: u8 = 1;
    pub(crate) const END_HEADERS: u8 = 4;
    pub(crate) const PADDED: u8 = 8;
    pub(crate) const PRIORITY: u8 = 32;
}

/// Settings that the judge sends or reads.
pub(crate) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
    pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// One frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn new(
        kind: u8,
        flags: u8,
        stream: u32,
        payload: impl Into<Vec<u8>>,
    ) -> Frame {
        Frame { kind, flags, stream, payload: payload.into() }
    }

    /// A SETTINGS frame.
    pub(crate) fn settings(all: &[(u16, u32)]) -> Frame {
        let mut payload = Vec::new();
        for (id, value) in all {
            payload.extend_from_slice(&id.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        Frame::new(kind::SETTINGS, 0, 0, payload)
    }

    /// A WINDOW_UPDATE frame; stream 0 is the connection.
    pub(crate) fn credit(stream: u32, bytes: u32) -> Frame {
        Frame::new(kind::WINDOW_UPDATE, 0, stream, bytes.to_be_bytes())
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = (self.payload.len() as u32).to_be_bytes()[1..].to_vec();
        out.extend_from_slice(&[self.kind, self.flags]);
        out.extend_from_slice(&self.stream.to_be_bytes());
        out.extend_from_slice(&self.payload);
        out
    }

    /// The first frame of `bytes`, with how many it took; `None` while it is
    /// not complete.
    ///
    /// # Errors
    ///
    /// If it is larger than we allow, which shows before it has come.
    pub(crate) fn parse(
        bytes: &[u8],
    ) -> Result<Option<(Frame, usize)>, String> {
        let Some((head, rest)) = bytes.split_at_checked(HEAD) else {
            return Ok(None);
        };
        let length = usize::from(head[0]) << 16
            | usize::from(head[1]) << 8
            | usize::from(head[2]);
        if length > LARGEST {
            return Err(format!(
                "a frame of {length} bytes; {LARGEST} were allowed \
                 (RFC 9113 section 4.2)"
            ));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let frame = Frame::new(head[3], head[4], stream & 0x7fff_ffff, payload);
        Ok(Some((frame, HEAD + length)))
    }

    /// The payload without padding and priority.
    ///
    /// # Errors
    ///
    /// If there is more padding than payload.
    pub(crate) fn content(&self) -> Result<&[u8], String> {
        let mut content = &self.payload[..];
        let short = || "a frame shorter than what must be in it".to_string();
        if self.has(flag::PADDED) {
            let (pad, rest) = content.split_first().ok_or_else(short)?;
            let end = rest
                .len()
                .checked_sub(usize::from(*pad))
                .ok_or("more padding than payload (RFC 9113 section 6.1)")?;
            content = &rest[..end];
        }
        if self.kind == kind::HEADERS && self.has(flag::PRIORITY) {
            content = content.get(5..).ok_or_else(short)?;
        }
        Ok(content)
    }

    /// The 32-bit number that some frames are, without the reserved bit.
    pub(crate) fn number(&self) -> u32 {
        let mut bytes = [0; 4];
        let n = self.payload.len().min(4);
        bytes[..n].copy_from_slice(&self.payload[..n]);
        u32::from_be_bytes(bytes)
    }

    /// For a replay: what it is, in words.
    pub(crate) fn told(&self) -> String {
        let Frame { kind, flags, stream, payload } = self;
        let names = [
            "DATA",
            "HEADERS",
            "PRIORITY",
            "RST_STREAM",
            "SETTINGS",
            "PUSH_PROMISE",
            "PING",
            "GOAWAY",
            "WINDOW_UPDATE",
            "CONTINUATION",
        ];
        let name = names.get(usize::from(*kind)).copied();
        let name = name.map_or(format!("type {kind}"), str::to_string);
        format!(
            "{name} flags {flags:#x} stream {stream}: {}",
            crate::http::show(payload)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_as_it_was_written_and_a_cut_one_is_waited_for() {
        let frame = Frame::new(kind::HEADERS, flag::END_HEADERS, 7, *b"abc");
        let bytes = frame.bytes();
        for cut in 0..bytes.len() {
            assert_eq!(Frame::parse(&bytes[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(Frame::parse(&bytes), Ok(Some((frame, bytes.len()))));
        let huge = [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1];
        assert!(Frame::parse(&huge).unwrap_err().contains("16777215 bytes"));
    }

    #[test]
    fn padding_and_priority_are_no_content() {
        let of = |flags, payload: &[u8]| {
            let frame = Frame::new(kind::HEADERS, flags, 1, payload);
            frame.content().map(<[u8]>::to_vec)
        };
        assert_eq!(of(0, b"abc"), Ok(b"abc".to_vec()));
        assert_eq!(of(flag::PADDED, b"\x02abcd"), Ok(b"ab".to_vec()));
        let both = flag::PADDED | flag::PRIORITY;
        assert_eq!(of(both, b"\x0112345a."), Ok(b"a".to_vec()));
        assert!(of(flag::PADDED, b"\x04abc").is_err());
        assert!(of(flag::PADDED, b"").is_err());
        assert!(of(flag::PRIORITY, b"1234").is_err());
    }
}
