//! The header blocks of one connection's answers.
//!
//! Servers send a few distinct blocks over and over. One whose bytes came
//! before, while the table was the same and without changing it, means what
//! it meant then.

use super::block::Block;
use super::hpack::{self, Scratch};
use super::table::Table;
use crate::wire::Why;

/// The table size that both sides begin with; we announce no other.
const TABLE: usize = 4096;
/// Blocks that are remembered.
const KNOWN: usize = 4;
/// Longer ones are not.
const LONGEST: usize = 512;

#[derive(Debug, Default)]
struct Known {
    /// Empty when the block is not to be found again.
    bytes: Vec<u8>,
    /// The table's generation at the time.
    generation: u64,
    block: Block,
}

/// Reads the header blocks of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    generation: u64,
    known: [Known; KNOWN],
    /// The one to forget next.
    next: usize,
}

impl Default for Decoder {
    fn default() -> Decoder {
        let (generation, known, next) = Default::default();
        Decoder { table: Table::new(TABLE), generation, known, next }
    }
}

impl Decoder {
    /// What `bytes` say. An error is the connection's.
    #[inline]
    pub fn read(
        &mut self,
        bytes: &[u8],
        scratch: &mut Scratch,
    ) -> Result<&Block, Why> {
        let generation = self.generation;
        let same = |known: &Known| {
            known.bytes == bytes && known.generation == generation
        };
        match self.known.iter().position(same) {
            Some(index) if !bytes.is_empty() => Ok(&self.known[index].block),
            _ => self.decode(bytes, scratch),
        }
    }

    #[inline(never)]
    fn decode(
        &mut self,
        bytes: &[u8],
        scratch: &mut Scratch,
    ) -> Result<&Block, Why> {
        let known = &mut self.known[self.next];
        self.next = (self.next + 1) % KNOWN;
        known.bytes.clear();
        known.block.clear();
        let (table, block) = (&mut self.table, &mut known.block);
        if hpack::read(bytes, table, TABLE, scratch, block)? {
            self.generation += 1;
        } else if bytes.len() <= LONGEST {
            known.bytes.extend_from_slice(bytes);
            known.generation = self.generation;
        }
        Ok(&known.block)
    }

    /// For a new connection; memory is kept.
    pub fn reset(&mut self) {
        self.table.clear(TABLE);
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A literal that is inserted.
    fn inserted(name: &str, value: &str) -> Vec<u8> {
        let mut out = vec![0x40, name.len() as u8];
        out.extend_from_slice(name.as_bytes());
        out.push(value.len() as u8);
        out.extend_from_slice(value.as_bytes());
        out
    }

    #[test]
    fn the_same_bytes_mean_something_else_when_the_table_has_changed() {
        let mut decoder = Decoder::default();
        let scratch = &mut Scratch::default();
        let block = [&[0x88][..], &inserted("content-type", "a")].concat();
        let read = decoder.read(&block, scratch).unwrap();
        assert_eq!(read.content_type(), Some(&b"a"[..]));
        for _ in 0..3 {
            let read = decoder.read(&[0x88, 0xbe], scratch).unwrap();
            assert_eq!(read.content_type(), Some(&b"a"[..]));
        }
        let block = [&[0x89][..], &inserted("content-type", "b")].concat();
        assert_eq!(decoder.read(&block, scratch).unwrap().head(), Ok(204));
        let read = decoder.read(&[0x88, 0xbe], scratch).unwrap();
        assert_eq!(read.content_type(), Some(&b"b"[..]));
        let read = decoder.read(&[0x88, 0xbf], scratch).unwrap();
        assert_eq!(read.content_type(), Some(&b"a"[..]));
        decoder.reset();
        assert!(decoder.read(&[0x88, 0xbe], scratch).is_err());
        assert_eq!(decoder.read(&[], scratch).unwrap().trailers(), Ok(()));
    }

    #[test]
    fn more_blocks_than_are_remembered_are_all_read_right() {
        let mut decoder = Decoder::default();
        let scratch = &mut Scratch::default();
        for n in 0..1000u64 {
            let n = n * n % 13;
            let length = n.to_string();
            let mut block = vec![0x88, 0x0f, 0x0d, length.len() as u8];
            block.extend_from_slice(length.as_bytes());
            let read = decoder.read(&block, scratch).unwrap();
            assert_eq!((read.head(), read.length), (Ok(200), Some(n)));
        }
    }
}
