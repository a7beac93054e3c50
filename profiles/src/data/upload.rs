//! Upload bodies. The largest has 20 MiB, so no file is stored: all bodies
//! are slices of one block of seeded noise that is made when it is needed.

use super::stream::Stream;

/// Sizes of the upload bodies.
pub const UPLOAD_BODY_BYTES: [usize; 4] =
    [512_000, 2_097_152, 10_485_760, 20_971_520];

/// The largest upload body.
pub const UPLOAD_MAX_BYTES: usize = 20_971_520;

/// Size of the block: 1 MiB more than the largest body, so even that one has
/// a million different slices to be.
pub const UPLOAD_BLOCK_BYTES: usize = 21 * 1024 * 1024;

/// The noise all upload bodies of a run are slices of.
#[derive(Clone, PartialEq, Eq)]
pub struct UploadBlock(Vec<u8>);

impl UploadBlock {
    /// The block of `seed`. Takes some ten milliseconds; make it once.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut stream = Stream::named(&format!("upload {seed}"));
        Self(stream.bytes(UPLOAD_BLOCK_BYTES))
    }

    /// The body of `len` bytes at `offset`; `None` when it would reach past
    /// the end. See [`Self::last_offset`].
    #[must_use]
    pub fn body(&self, offset: usize, len: usize) -> Option<&[u8]> {
        self.0.get(offset..offset.checked_add(len)?)
    }

    /// The last offset at which a body of `len` bytes still fits.
    #[must_use]
    pub fn last_offset(len: usize) -> Option<usize> {
        UPLOAD_BLOCK_BYTES.checked_sub(len)
    }

    /// The whole block.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for UploadBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UploadBlock({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_slice_that_never_reaches_past_the_block() {
        let block = UploadBlock::new(7);
        let len = UPLOAD_MAX_BYTES;
        let last = UploadBlock::last_offset(len).unwrap();
        assert_eq!(block.body(last, len), Some(&block.as_bytes()[last..]));
        assert_eq!(block.body(last + 1, len), None);
        assert_eq!(block.body(usize::MAX, 2), None);
        assert_eq!(UploadBlock::last_offset(UPLOAD_BLOCK_BYTES + 1), None);
    }

    #[test]
    fn a_seed_gives_one_block_and_another_seed_another() {
        let head = |seed| UploadBlock::new(seed).0[..64].to_vec();
        assert_eq!(head(1), head(1));
        assert_ne!(head(1), head(2));
    }
}
