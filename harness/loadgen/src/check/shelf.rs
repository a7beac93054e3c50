//! Answers the oracle accepted, shared by all threads of a shot.
//!
//! A thread looks here only when it does not know an answer itself, and then
//! keeps a handle: each distinct body is judged once and stored once, however
//! many threads there are, and none of them meets another while it fires.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wire::Head;

/// An answer the oracle accepted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Kept {
    pub(super) content_type: Option<Vec<u8>>,
    pub(super) content_encoding: Option<Vec<u8>>,
    /// The body as it came over the wire; empty where the text is exact.
    pub(super) body: Arc<[u8]>,
}

impl Kept {
    /// Whether `head` has the right status and the headers of this answer.
    pub(super) fn fits(&self, status: u16, head: &Head<'_>) -> bool {
        head.status == status
            && self.content_type.as_deref() == head.content_type
            && self.content_encoding.as_deref() == head.content_encoding
    }
}

/// A map by question. Keys are made of counters, one multiplication spreads
/// them enough.
pub(super) type ByKey<T> = HashMap<u64, T, BuildHasherDefault<KeyHasher>>;

#[derive(Clone, Debug, Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }
    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// The last accepted answer to each question of each class.
#[derive(Debug)]
pub struct Shelf {
    inner: Mutex<Inner>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Inner {
    by_class: HashMap<usize, ByKey<Kept>>,
    bytes: usize,
}

impl Shelf {
    /// A shelf for at most `max_bytes` of bodies.
    pub fn new(max_bytes: usize) -> Shelf {
        Shelf { inner: Mutex::default(), max_bytes }
    }

    /// The answer to `key`, if there is one.
    pub(super) fn find(&self, class: usize, key: u64) -> Option<Kept> {
        let inner = self.inner.lock();
        let inner = inner.unwrap_or_else(PoisonError::into_inner);
        inner.by_class.get(&class)?.get(&key).cloned()
    }

    /// Puts an answer where the last one to `key` was; whether there was
    /// room for it.
    pub(super) fn put(&self, class: usize, key: u64, kept: Kept) -> bool {
        let inner = self.inner.lock();
        let mut inner = inner.unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        let answers = inner.by_class.entry(class).or_default();
        let before = answers.get(&key).map_or(0, |k| k.body.len());
        let bytes = inner.bytes - before + kept.body.len();
        if bytes > self.max_bytes {
            return false;
        }
        inner.bytes = bytes;
        answers.insert(key, kept);
        true
    }
}
