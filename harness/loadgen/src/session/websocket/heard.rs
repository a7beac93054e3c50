//! A message on its way in, compared with the one it should echo.

use profiles::ask::{Ask, Echo};
use profiles::oracle::{Wrong, clip};

use crate::wire::websocket::Kind;

/// So much of a wrong echo is kept for an example.
const MAX_SHOWN: usize = 100;

/// The message that is coming in.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// What it should go on with.
    pub(super) echo: Echo,
    pub(super) kind: Option<Kind>,
    pub(super) bytes: u64,
    /// The start of it, once it is not what it should be.
    differs: bool,
    shown: Vec<u8>,
}

impl Heard {
    pub(super) fn clear(&mut self) {
        self.kind = None;
        self.bytes = 0;
        self.differs = false;
        self.shown.clear();
    }

    /// The next bytes of the message.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if !self.differs && self.echo.goes_on_with(bytes) {
            return;
        }
        self.differs = true;
        let room = MAX_SHOWN.saturating_sub(self.shown.len());
        self.shown.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    pub(super) fn verdict(&self, ask: &Ask) -> Result<(), Wrong> {
        let right = !self.differs && self.echo.left() == 0;
        if right && self.kind == Some(Kind::Text) {
            return Ok(());
        }
        Err(self.wrong(ask, right))
    }

    #[cold]
    fn wrong(&self, ask: &Ask, same: bool) -> Wrong {
        if same {
            let words = "expected a text message, found it as a binary one";
            return Wrong::Body(words.into());
        }
        let mut expected = Vec::new();
        ask.write_payload(&mut expected);
        let matched = expected.len() - self.echo.left() as usize;
        let mut found = expected[..matched].to_vec();
        found.extend_from_slice(&self.shown);
        Wrong::Body(format!(
            "expected `{}`, found {} bytes: `{}`",
            clip(&expected),
            self.bytes,
            clip(&found)
        ))
    }
}
