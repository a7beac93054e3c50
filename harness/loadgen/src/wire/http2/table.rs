//! The dynamic table of an HPACK decoder.

use std::collections::VecDeque;

use super::block::{Kind, is_value};

/// What RFC 7541 adds to each entry.
const OVERHEAD: usize = 32;

/// One entry: where its text is, and what to do with it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    name: u32,
    value: u32,
    kind: Kind,
    good: bool,
}

impl Entry {
    fn size(&self) -> usize {
        self.name as usize + self.value as usize + OVERHEAD
    }
}

/// A field of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) kind: Kind,
    /// Whether the value's bytes are allowed.
    pub(super) good: bool,
}

/// Fields the server spoke of, the newest first.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    /// Their texts in the order they came; those of the oldest are dropped
    /// from time to time.
    text: Vec<u8>,
    size: usize,
    max: usize,
}

impl Table {
    pub(super) fn new(max: usize) -> Table {
        let (entries, text) = Default::default();
        Table { entries, text, size: 0, max }
    }

    /// Empties it and makes it `max` large, keeping its memory.
    pub(super) fn clear(&mut self, max: usize) {
        self.resize(0);
        self.max = max;
    }

    /// The entry `index`, from 0.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<Field<'_>> {
        let entry = self.entries.get(index)?;
        let start = entry.start as usize;
        let middle = start + entry.name as usize;
        let end = middle + entry.value as usize;
        Some(Field {
            name: self.text.get(start..middle)?,
            value: self.text.get(middle..end)?,
            kind: entry.kind,
            good: entry.good,
        })
    }

    pub(super) fn resize(&mut self, max: usize) {
        self.max = max;
        self.evict(0);
    }

    /// Adds a field, if it fits, and drops the oldest ones.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let need = name.len() + value.len() + OVERHEAD;
        self.evict(need);
        if need > self.max {
            return;
        }
        if self.text.len() + need > self.text.capacity() {
            self.compact();
        }
        let entry = Entry {
            start: self.text.len() as u32,
            name: name.len() as u32,
            value: value.len() as u32,
            kind: Kind::of(name),
            good: is_value(value),
        };
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.entries.push_front(entry);
        self.size += need;
    }

    /// Drops the oldest until there is room for `need`.
    fn evict(&mut self, need: usize) {
        while self.size + need > self.max
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.size();
        }
        if self.entries.is_empty() {
            self.text.clear();
        }
    }

    /// Forgets the texts of dropped entries, if that is worth it.
    #[cold]
    fn compact(&mut self) {
        let first = self.entries.back().map_or(0, |oldest| oldest.start);
        if (first as usize) < self.text.len() / 2 {
            return;
        }
        self.text.drain(..first as usize);
        for entry in &mut self.entries {
            entry.start -= first;
        }
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room_and_the_texts_stay_right() {
        let mut table = Table::new(200);
        for n in 0..1000 {
            let value = format!("{n:0width$}", width = n % 40);
            table.insert(b"name", value.as_bytes());
            assert!(table.size() <= 200 && table.text.len() <= 600);
            assert_eq!(table.get(0).unwrap().value, value.as_bytes());
            assert_eq!(table.get(0).unwrap().name, b"name");
            if n > 0 {
                let before = table.get(1).unwrap().value;
                let before = std::str::from_utf8(before).unwrap();
                assert_eq!(before.parse(), Ok(n - 1));
            }
        }
        table.insert(b"n", &[b'x'; 168]);
        assert!(table.get(0).is_none(), "too large, and nothing is left");
        table.insert(b"n", &[b'x'; 167]);
        assert_eq!((table.size(), table.get(1).is_none()), (200, true));
        table.resize(199);
        assert_eq!((table.size(), table.get(0).is_none()), (0, true));
    }
}
