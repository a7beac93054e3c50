//! What a connection has to send, to the byte.

use std::io::IoSlice;

use crate::write::Block;

/// Slices of one write: enough for 1 MiB of a chunked body.
pub const SLICES: usize = 50;

/// Queued bytes: text, and at most one large body behind it. Positions in
/// the text count from the start of the connection and never repeat.
#[derive(Debug, Default)]
pub struct Out {
    text: Vec<u8>,
    /// How much of `text` is sent.
    done: usize,
    /// Text sent before what is in `text`.
    base: u64,
    block: Option<Block>,
    /// Whether the text itself is part of a large body.
    large: bool,
}

impl Out {
    /// Whether another request may be queued. Behind a large body none is,
    /// so that one is enough.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.block.is_none()
    }

    /// Whether there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.block.is_none()
    }

    /// Where the queued text ends.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.text.len() as u64
    }

    /// How far the text is sent.
    pub(crate) fn text_sent(&self) -> u64 {
        self.base + self.done as u64
    }

    /// Whether a request whose text ends at `end` is sent with its body.
    pub(super) fn is_sent_to(&self, end: u64) -> bool {
        let in_body = self.block.is_some() && end == self.end();
        self.text_sent() >= end && !in_body
    }

    /// The queued text, to append to.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// A large body follows the text.
    #[inline]
    pub(super) fn set_block(&mut self, block: Option<Block>) {
        self.block = block;
    }

    /// The text is a large body, wrapped; more of it may follow.
    #[inline]
    pub(super) fn set_large(&mut self, large: bool) {
        self.large = large;
    }

    /// The text to send, when there is no large body.
    #[inline]
    pub fn text(&self) -> Option<&[u8]> {
        let large = self.large || self.block.is_some();
        (!large).then_some(&self.text[self.done..])
    }

    /// All there is to send, as far as it goes into `out`; returns how many
    /// slices that are. `block` is the upload block.
    pub fn slices<'a>(
        &'a self,
        block: &'a [u8],
        out: &mut [IoSlice<'a>; SLICES],
    ) -> usize {
        let mut used = 0;
        if self.done < self.text.len() {
            out[0] = IoSlice::new(&self.text[self.done..]);
            used = 1;
        }
        match &self.block {
            Some(body) => body.slices(block, out, used),
            None => used,
        }
    }

    /// `n` more bytes are sent.
    #[inline]
    pub(crate) fn advance(&mut self, n: usize) {
        let text = n.min(self.text.len() - self.done);
        self.done += text;
        if let Some(block) = &mut self.block {
            block.advance(n - text);
            if self.done < self.text.len() || !block.is_sent() {
                return;
            }
            self.block = None;
        }
        if self.done == self.text.len() {
            self.base += self.done as u64;
            self.done = 0;
            self.text.clear();
        }
    }

    /// Forgets the queued text from `end` on.
    pub(super) fn cut(&mut self, end: u64) {
        let keep = end.saturating_sub(self.base) as usize;
        self.text.truncate(keep.max(self.done));
    }

    /// Forgets what was queued.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.done = 0;
        self.block = None;
        self.large = false;
    }
}
