//! What the text generators share: filling a file to its exact size, and
//! names and prose from the word lists.

use std::collections::VecDeque;

use super::stream::Stream;
use super::words::{NOUNS, PROSE};

/// How many of the newest pieces may come again.
const REMEMBERED: usize = 60;

/// How much chance there is in a text, and with it how well it compresses.
#[derive(Clone, Copy)]
pub(crate) struct Grain {
    /// How often, in a thousand, an earlier piece comes again word for word.
    pub(crate) repeat: u32,
    /// How often, in a thousand, a name carries a random suffix.
    pub(crate) hashed: u32,
}

/// Appends pieces to `out` until it holds `bytes`, and cuts there: the
/// contract's style sheets and scripts may end in the middle of a token.
pub(crate) fn fill(
    out: &mut String,
    bytes: usize,
    grain: Grain,
    stream: &mut Stream,
    piece: impl FnMut(&mut Stream) -> String,
) {
    let last = fill_whole(out, bytes, grain, stream, piece);
    out.push_str(&last);
    // All word lists are ASCII, so any cut is a valid one.
    out.truncate(bytes);
}

/// Appends whole pieces to `out` as long as they fit into `bytes`. Returns
/// the one that did not fit.
pub(crate) fn fill_whole(
    out: &mut String,
    bytes: usize,
    grain: Grain,
    stream: &mut Stream,
    mut piece: impl FnMut(&mut Stream) -> String,
) -> String {
    let mut recent: VecDeque<String> = VecDeque::new();
    loop {
        let again = !recent.is_empty() && stream.chance(grain.repeat);
        let next = if again {
            recent[stream.below(recent.len() as u32) as usize].clone()
        } else {
            piece(stream)
        };
        if out.len() + next.len() > bytes {
            return next;
        }
        out.push_str(&next);
        if !again {
            recent.push_back(next);
        }
        if recent.len() > REMEMBERED {
            recent.pop_front();
        }
    }
}

/// `len` characters out of `alphabet`.
pub(crate) fn code(stream: &mut Stream, alphabet: &str, len: u32) -> String {
    let letters = alphabet.as_bytes();
    (0..len)
        .map(|_| letters[stream.below(letters.len() as u32) as usize] as char)
        .collect()
}

/// A short random suffix, as bundlers append to names.
pub(crate) fn hash(stream: &mut Stream) -> String {
    code(stream, "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", 5)
}

/// A hyphenated name, hashed as often as `grain` says.
pub(crate) fn kebab(stream: &mut Stream, grain: Grain) -> String {
    let mut name = stream.pick(&NOUNS).to_owned();
    if stream.chance(600) {
        name = format!("{name}-{}", stream.pick(&NOUNS));
    }
    if stream.chance(grain.hashed) {
        name = format!("{name}_{}", hash(stream));
    }
    name
}

/// `word` with a capital first letter.
pub(crate) fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_ascii_uppercase() + rest
}

/// A phrase of `words` words.
pub(crate) fn prose(stream: &mut Stream, words: u32) -> String {
    let words: Vec<&str> = (0..words)
        .map(|_| {
            if stream.chance(300) {
                stream.pick(&NOUNS)
            } else {
                stream.pick(&PROSE)
            }
        })
        .collect();
    capital(&words.join(" "))
}

/// Prose of exactly `bytes` bytes, for files that must end well formed.
pub(crate) fn prose_of(stream: &mut Stream, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(&prose(stream, 7));
        text.push_str(". ");
    }
    text.truncate(bytes);
    text
}
