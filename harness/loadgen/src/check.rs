//! Is this the right answer? Asked of every answer, while it streams in.
//!
//! A body is compared with the one it must equal as its bytes come, without
//! gathering it. What it must equal is the contract's exact text where there
//! is one, else a body for the same question that the oracle has accepted in
//! full before. Anything that differs, in one byte or in a header, is gathered
//! and put to the oracle: so identical bytes cost one comparison, another
//! legal layout costs a full judgement, and nothing is sampled or trusted.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use profiles::ask::Ask;
use profiles::oracle::{Oracle, Reply, Wrong};

use crate::digits::Digits;
use crate::wire::{Answer, Head, Length, Why};

/// No right answer of fixed text is longer, whatever its coding.
const MAX_SMALL: usize = 4 * 1024;
/// Four times the longest document the oracle would read.
const MAX_LARGE: usize = 4 * 1024 * 1024;

/// An answer the oracle accepted.
#[derive(Debug)]
struct Kept {
    content_type: Option<Vec<u8>>,
    content_encoding: Option<Vec<u8>>,
    /// The body as it came over the wire; empty where the text is exact.
    body: Box<[u8]>,
}

impl Kept {
    fn fits(&self, head: &Head<'_>) -> bool {
        head.status() == 200
            && self.content_type.as_deref() == head.content_type()
            && self.content_encoding.as_deref() == head.content_encoding()
    }
}

/// Keys are already well spread; hashing them again is a waste.
#[derive(Clone, Debug, Default)]
struct KeyHasher(u64);

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

/// What is known of one class.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Headers the oracle accepted with an exact text.
    exact: Option<Rc<Kept>>,
    /// Per question: the last answer the oracle accepted.
    kept: HashMap<u64, Rc<Kept>, BuildHasherDefault<KeyHasher>>,
}

/// What one thread knows of right answers.
#[derive(Debug)]
pub struct Checker {
    oracle: Arc<Oracle>,
    /// By class, since classes differ in the codings they accept.
    classes: Vec<Known>,
    kept_bytes: usize,
    max_kept_bytes: usize,
    /// How many answers went to the oracle in full.
    pub judged: u64,
}

/// The exact text of an answer, where the contract has one.
#[derive(Clone, Copy, Debug, Default)]
enum Text {
    #[default]
    Free,
    Number(Digits),
    Ok,
}

impl Text {
    /// The same as [`Oracle::exact`], without an allocation. It can only
    /// ever accept; whatever is not equal to it goes to the oracle.
    #[inline]
    fn of(ask: &Ask) -> Text {
        match ask {
            Ask::Sum { a, b, body, .. } => {
                let third = body.map_or(0, |(v, _)| v);
                Text::Number(Digits::new(
                    a.wrapping_add(*b).wrapping_add(third),
                ))
            }
            Ask::Upload { len, .. } => Text::Number(Digits::new((*len).into())),
            Ask::Pipeline => Text::Ok,
            Ask::Json { .. } | Ask::Static { .. } => Text::Free,
        }
    }
}

/// The answer a connection is in the middle of.
#[derive(Debug, Default)]
pub struct Watch {
    text: Text,
    /// The accepted answer with the same headers. Without one, or from the
    /// first byte that differs, the answer is gathered below.
    kept: Option<Rc<Kept>>,
    gathers: bool,
    /// So many bytes were equal.
    matched: usize,
    limit: usize,
    body: Vec<u8>,
    content_type: Option<Vec<u8>>,
    content_encoding: Option<Vec<u8>>,
}

impl Watch {
    /// The next bytes of the body.
    #[inline]
    pub fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
        if !self.gathers {
            let like = self.like().get(self.matched..).unwrap_or(&[]);
            if like.starts_with(bytes) {
                self.matched += bytes.len();
                return Ok(());
            }
            self.gather();
        }
        if self.body.len() + bytes.len() > self.limit {
            return Err(Why::BodyTooLong);
        }
        self.body.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn like(&self) -> &[u8] {
        match (&self.text, &self.kept) {
            (Text::Number(digits), _) => digits.bytes(),
            (Text::Ok, _) => b"ok",
            (Text::Free, Some(kept)) => &kept.body,
            (Text::Free, None) => &[],
        }
    }

    /// From here on the bytes are kept, those that were equal included.
    #[cold]
    fn gather(&mut self) {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        body.extend_from_slice(&self.like()[..self.matched]);
        self.body = body;
        self.gathers = true;
        if let Some(kept) = &self.kept {
            self.content_type.clone_from(&kept.content_type);
            self.content_encoding.clone_from(&kept.content_encoding);
        }
    }
}

impl Checker {
    /// A checker for `classes` classes that keeps at most `max_kept_bytes`.
    pub fn new(
        oracle: Arc<Oracle>,
        classes: usize,
        max_kept_bytes: usize,
    ) -> Checker {
        Checker {
            oracle,
            classes: vec![Known::default(); classes],
            kept_bytes: 0,
            max_kept_bytes,
            judged: 0,
        }
    }

    /// The head of the answer to `ask` has come.
    #[inline]
    pub fn head(
        &self,
        watch: &mut Watch,
        class: usize,
        ask: &Ask,
        head: &Head<'_>,
    ) -> Result<(), Why> {
        watch.text = Text::of(ask);
        let free = matches!(watch.text, Text::Free);
        watch.limit = if free { MAX_LARGE } else { MAX_SMALL };
        if let Length::Fixed(n) = head.length()
            && n > watch.limit as u64
        {
            return Err(Why::BodyTooLong);
        }
        let known = self.classes.get(class);
        let kept = known.and_then(|known| {
            if !free {
                return known.exact.as_ref();
            }
            known.kept.get(&self.oracle.key(ask)?)
        });
        watch.kept = kept.filter(|k| k.fits(head)).cloned();
        watch.matched = 0;
        watch.gathers = watch.kept.is_none();
        if watch.gathers {
            watch.body.clear();
            let copy = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
            watch.content_type = copy(head.content_type());
            watch.content_encoding = copy(head.content_encoding());
        }
        Ok(())
    }

    /// The answer is complete: is it right?
    #[inline]
    pub fn finish(
        &mut self,
        watch: &mut Watch,
        class: usize,
        ask: &Ask,
        answer: &Answer,
    ) -> Result<(), Wrong> {
        if !watch.gathers && watch.matched == watch.like().len() {
            return Ok(());
        }
        self.judge(watch, class, ask, answer)
    }

    #[cold]
    fn judge(
        &mut self,
        watch: &mut Watch,
        class: usize,
        ask: &Ask,
        answer: &Answer,
    ) -> Result<(), Wrong> {
        if !watch.gathers {
            watch.gather();
        }
        self.judged += 1;
        let text = |value: &Option<Vec<u8>>| {
            let value = value.as_deref()?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        let content_type = text(&watch.content_type);
        let content_encoding = text(&watch.content_encoding);
        self.oracle.judge(
            ask,
            &Reply {
                status: answer.status,
                content_type: content_type.as_deref(),
                content_encoding: content_encoding.as_deref(),
                body: &watch.body,
            },
        )?;
        self.keep(watch, class, ask);
        // One large answer must not hold its memory on every connection.
        if watch.body.capacity() > MAX_SMALL {
            watch.body = Vec::new();
        }
        Ok(())
    }

    fn keep(&mut self, watch: &mut Watch, class: usize, ask: &Ask) {
        let headers = |body: Box<[u8]>| {
            Rc::new(Kept {
                content_type: watch.content_type.clone(),
                content_encoding: watch.content_encoding.clone(),
                body,
            })
        };
        let Some(known) = self.classes.get_mut(class) else { return };
        if !matches!(watch.text, Text::Free) {
            known.exact = Some(headers(Box::default()));
            return;
        }
        let Some(key) = self.oracle.key(ask) else { return };
        let before = known.kept.get(&key).map_or(0, |k| k.body.len());
        let bytes = self.kept_bytes - before + watch.body.len();
        if bytes <= self.max_kept_bytes {
            self.kept_bytes = bytes;
            known.kept.insert(key, headers(watch.body.as_slice().into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Memo, Reader, Sink, Step};
    use profiles::data::Dataset;
    use profiles::profile::Framing;

    struct Ear<'a>(&'a Checker, &'a mut Watch, &'a Ask);

    impl Sink for Ear<'_> {
        fn head(&mut self, head: &Head<'_>) -> Result<(), Why> {
            self.0.head(self.1, 0, self.2, head)
        }
        fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
            self.1.body(bytes)
        }
    }

    fn checker() -> Checker {
        let oracle = Oracle::new(Dataset::generate(), |_| None);
        Checker::new(Arc::new(oracle), 1, 1 << 20)
    }

    /// What the checker says of `reply`, fed in pieces of `size`; `None` is
    /// a broken stream.
    fn ask(
        checker: &mut Checker,
        ask: &Ask,
        reply: &str,
        size: usize,
    ) -> Option<Result<(), &'static str>> {
        let (mut reader, mut watch) = (Reader::default(), Watch::default());
        for piece in reply.as_bytes().chunks(size) {
            let mut ear = Ear(checker, &mut watch, ask);
            match reader.feed(piece, &mut Memo::default(), &mut ear).1 {
                Step::Incomplete => {}
                Step::Broken(_) => return None,
                Step::Done(answer) => {
                    let said = checker.finish(&mut watch, 0, ask, &answer);
                    return Some(said.map_err(|w| w.word()));
                }
            }
        }
        unreachable!("the reply is cut short: {reply:?}")
    }

    fn reply(kind: &str, body: &str) -> String {
        let n = body.len();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\
             Content-Length: {n}\r\n\r\n{body}"
        )
    }

    fn sum(a: i64, b: i64) -> Ask {
        Ask::Sum { path: "/p".into(), a, b, body: Some((1, Framing::Length)) }
    }

    #[test]
    fn the_exact_text_is_the_oracles() {
        let checker = checker();
        let upload =
            Ask::Upload { offset: 3, len: 77, framing: Framing::Chunked };
        for ask in [sum(1, 2), sum(i64::MAX, 5), Ask::Pipeline, upload] {
            let watch = Watch { text: Text::of(&ask), ..Watch::default() };
            let exact = checker.oracle.exact(&ask).unwrap();
            assert_eq!(watch.like(), exact.as_bytes());
        }
    }

    #[test]
    fn one_judgement_and_then_only_comparisons() {
        let mut checker = checker();
        for n in 0..50 {
            let right = reply("text/plain", &(n + 3).to_string());
            let said = ask(&mut checker, &sum(n, 2), &right, 1 + n as usize);
            assert_eq!(said, Some(Ok(())));
        }
        assert_eq!(checker.judged, 1);
    }

    #[test]
    fn every_difference_is_seen_with_and_without_a_memory() {
        let mut checker = checker();
        for _ in 0..2 {
            for size in [1, 7, 4096] {
                let mut says = |kind: &str, body: &str| {
                    ask(&mut checker, &sum(20, 21), &reply(kind, body), size)
                };
                assert_eq!(says("text/plain", "43"), Some(Err("body")));
                assert_eq!(says("text/plain", "4"), Some(Err("body")));
                assert_eq!(says("text/plain", "422"), Some(Err("body")));
                assert_eq!(says("text/plain", ""), Some(Err("body")));
                assert_eq!(says("text/html", "42"), Some(Err("content-type")));
                assert_eq!(says("text/plain", "42"), Some(Ok(())));
                assert_eq!(
                    says("text/plain;charset=utf-8", "42"),
                    Some(Ok(()))
                );
                assert_eq!(says("text/plain", &"4".repeat(5000)), None);
                let not_found = reply("text/plain", "42").replace("200", "404");
                let said = ask(&mut checker, &sum(20, 21), &not_found, size);
                assert_eq!(said, Some(Err("status")));
            }
        }
    }

    #[test]
    fn without_room_to_remember_every_answer_is_judged() {
        let mut checker = checker();
        checker.max_kept_bytes = 3;
        let body = reply("application/json", r#"{"items":[],"count":0}"#);
        for n in 1..4 {
            let said = ask(&mut checker, &none(), &body, 5);
            assert_eq!((said, checker.judged), (Some(Ok(())), n));
        }
        assert_eq!(checker.kept_bytes, 0);
    }

    fn none() -> Ask {
        Ask::Json {
            path: "/json/".into(),
            count: 0,
            multiplier: None,
            accept_encoding: None,
            must_encode: false,
        }
    }

    #[test]
    fn another_legal_layout_is_judged_and_then_remembered() {
        let mut checker = checker();
        let mut says = |body: &str, size| {
            let said = ask(
                &mut checker,
                &none(),
                &reply("application/json", body),
                size,
            );
            (said, checker.judged)
        };
        let (a, b) =
            (r#"{"items":[],"count":0}"#, r#"{"count":0, "items":[]}"#);
        assert_eq!(says(a, 5), (Some(Ok(())), 1));
        assert_eq!(says(a, 99), (Some(Ok(())), 1));
        assert_eq!(says(b, 3), (Some(Ok(())), 2));
        assert_eq!(says(b, 1), (Some(Ok(())), 2));
        let wrong = b.replace('0', "1");
        assert_eq!(says(&wrong, 4), (Some(Err("body")), 3));
        assert_eq!(says(b, 4), (Some(Ok(())), 3));
    }
}
