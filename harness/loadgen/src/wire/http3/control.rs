//! The server's unidirectional streams: control, QPACK, and others.

use super::frame::{FrameHead, Varint, kind, put_varint};
use super::{Breach, Code};
use crate::wire::MAX_HEAD;

/// Settings or other control frames longer than this are refused.
const MAX_FRAME: u64 = 4096;

const QPACK_CAPACITY: u64 = 0x1;
const MAX_FIELD_SECTION: u64 = 0x6;
const QPACK_BLOCKED: u64 = 0x7;

/// What this client's control stream begins with: its type and settings. The
/// dynamic table is off, which is what makes each field section readable by
/// itself.
pub fn hello() -> Vec<u8> {
    let mut settings = Vec::new();
    for (id, value) in [
        (QPACK_CAPACITY, 0),
        (QPACK_BLOCKED, 0),
        (MAX_FIELD_SECTION, MAX_HEAD as u64),
    ] {
        put_varint(id, &mut settings);
        put_varint(value, &mut settings);
    }
    let mut out = vec![0];
    put_varint(kind::SETTINGS, &mut out);
    put_varint(settings.len() as u64, &mut out);
    out.extend_from_slice(&settings);
    out
}

/// What the server's settings say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// The longest field section it takes, decoded.
    pub max_field_section: u64,
}

/// What a unidirectional stream brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum News {
    /// The server's settings.
    Settings(Settings),
    /// The server takes no requests from this stream id on.
    GoAway(u64),
    /// The stream is of a type nobody knows: stop it.
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Kind {
    /// Its type has not come.
    #[default]
    New,
    Control,
    Encoder,
    Decoder,
    Unknown,
}

/// Reads one unidirectional stream of the server.
#[derive(Debug, Default)]
pub struct Uni {
    kind: Kind,
    varint: Varint,
    head: FrameHead,
    /// The control frame under way, and how much of it is still to come.
    frame: Option<(u64, u64)>,
    carry: Vec<u8>,
    settled: bool,
    goaway: Option<u64>,
}

/// Which of the streams that may come once have come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    control: bool,
    encoder: bool,
    decoder: bool,
}

impl Uni {
    /// Whether the server may not end this stream.
    fn is_critical(&self) -> bool {
        matches!(self.kind, Kind::Control | Kind::Encoder | Kind::Decoder)
    }

    /// Reads `input`, all of it.
    pub fn feed(
        &mut self,
        mut input: &[u8],
        seen: &mut Seen,
        mut news: impl FnMut(News),
    ) -> Result<(), Breach> {
        if self.kind == Kind::New {
            let Some(kind) = self.varint.take(&mut input) else {
                return Ok(());
            };
            self.kind = first(kind, seen)?;
            if self.kind == Kind::Unknown {
                news(News::Unknown);
            }
        }
        match self.kind {
            Kind::New | Kind::Unknown => Ok(()),
            Kind::Control => self.control(input, &mut news),
            // Setting the table's capacity to the 0 it has is all that is
            // allowed where there is no table.
            Kind::Encoder if input.iter().all(|b| *b == 0x20) => Ok(()),
            Kind::Encoder => Err(Breach::fatal(
                Code::ENCODER_STREAM,
                "an insert into the dynamic table, which is off",
            )),
            Kind::Decoder => self.decoder(input),
        }
    }

    /// The server ended or reset the stream.
    pub fn end(&self) -> Result<(), Breach> {
        if self.is_critical() {
            return Err(Breach::fatal(
                Code::CLOSED_CRITICAL_STREAM,
                "the server ended its control or a QPACK stream",
            ));
        }
        Ok(())
    }

    /// Only cancellations may come: no section refers to a table.
    fn decoder(&mut self, input: &[u8]) -> Result<(), Breach> {
        for byte in input {
            // Bytes of a stream id that did not fit the first.
            if let Some((_, more)) = &mut self.frame {
                *more += 1;
                if *more > 10 {
                    return Err(BAD_DECODER);
                }
                if byte & 0x80 == 0 {
                    self.frame = None;
                }
                continue;
            }
            match byte {
                0x7f => self.frame = Some((0, 0)),
                0x40..=0x7e => {}
                _ => return Err(BAD_DECODER),
            }
        }
        Ok(())
    }

    fn control(
        &mut self,
        mut input: &[u8],
        news: &mut impl FnMut(News),
    ) -> Result<(), Breach> {
        loop {
            let (kind, left) = match self.frame {
                Some(frame) => frame,
                None => {
                    let Some(head) = self.head.take(&mut input) else {
                        return Ok(());
                    };
                    self.check(head)?;
                    head
                }
            };
            let known = matches!(kind, kind::SETTINGS | kind::GOAWAY);
            let n =
                input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if known {
                self.carry.extend_from_slice(&input[..n]);
            }
            input = &input[n..];
            let left = left - n as u64;
            if left > 0 {
                self.frame = Some((kind, left));
                return Ok(());
            }
            self.frame = None;
            if known {
                let body = std::mem::take(&mut self.carry);
                news(self.whole(kind, &body)?);
            }
        }
    }

    /// Whether this frame may come now.
    fn check(&mut self, (kind, len): (u64, u64)) -> Result<(), Breach> {
        if !self.settled && kind != kind::SETTINGS {
            return Err(Breach::fatal(
                Code::MISSING_SETTINGS,
                "the control stream does not begin with SETTINGS",
            ));
        }
        let refused = match kind {
            kind::SETTINGS => self.settled,
            kind::DATA
            | kind::HEADERS
            | kind::PUSH_PROMISE
            | kind::MAX_PUSH_ID => true,
            other => kind::is_forbidden(other),
        };
        if refused {
            return Err(Breach::fatal(
                Code::FRAME_UNEXPECTED,
                "a frame that may not come on the control stream, or twice",
            ));
        }
        if kind == kind::CANCEL_PUSH {
            return Err(Breach::fatal(Code::ID, "a push that never was"));
        }
        let known = matches!(kind, kind::SETTINGS | kind::GOAWAY);
        if known && len > MAX_FRAME {
            return Err(Breach::fatal(
                Code::EXCESSIVE_LOAD,
                "a control frame is too long",
            ));
        }
        self.settled = true;
        Ok(())
    }

    fn whole(&mut self, kind: u64, body: &[u8]) -> Result<News, Breach> {
        const SHORT: Breach =
            Breach::fatal(Code::FRAME, "a control frame is malformed");
        let mut input = body;
        let mut varint = Varint::default();
        if kind == kind::SETTINGS {
            return settings(input).map(News::Settings);
        }
        let id = varint.take(&mut input).ok_or(SHORT)?;
        if !input.is_empty() {
            return Err(SHORT);
        }
        // It must name a request stream, and may only ever come down.
        if id % 4 != 0 || self.goaway.is_some_and(|last| id > last) {
            return Err(Breach::fatal(Code::ID, "the id of a GOAWAY is wrong"));
        }
        self.goaway = Some(id);
        Ok(News::GoAway(id))
    }
}

const BAD_DECODER: Breach = Breach::fatal(
    Code::DECODER_STREAM,
    "acknowledgements of inserts that never were",
);

fn first(kind: u64, seen: &mut Seen) -> Result<Kind, Breach> {
    let (kind, slot) = match kind {
        0x0 => (Kind::Control, &mut seen.control),
        0x1 => {
            return Err(Breach::fatal(
                Code::ID,
                "a push, which this client does not allow",
            ));
        }
        0x2 => (Kind::Encoder, &mut seen.encoder),
        0x3 => (Kind::Decoder, &mut seen.decoder),
        _ => return Ok(Kind::Unknown),
    };
    if std::mem::replace(slot, true) {
        return Err(Breach::fatal(
            Code::STREAM_CREATION,
            "a second control or QPACK stream",
        ));
    }
    Ok(kind)
}

fn settings(mut input: &[u8]) -> Result<Settings, Breach> {
    let mut found = Settings { max_field_section: u64::MAX };
    let mut ids = Vec::new();
    while !input.is_empty() {
        let mut next = || Varint::default().take(&mut input);
        let (Some(id), Some(value)) = (next(), next()) else {
            return Err(Breach::fatal(Code::FRAME, "SETTINGS are cut off"));
        };
        if matches!(id, 0x2..=0x5) || ids.contains(&id) {
            return Err(Breach::fatal(
                Code::SETTINGS,
                "a setting of HTTP/2, or one that came twice",
            ));
        }
        ids.push(id);
        if id == MAX_FIELD_SECTION {
            found.max_field_section = value;
        }
    }
    Ok(found)
}
