//! Is this the right answer? Asked of every answer, while it streams in.
//!
//! A body is compared with the one it must equal as its bytes come, without
//! gathering it. What it must equal is the contract's exact text where there
//! is one, else a body for the same question that the oracle has accepted in
//! full before. Anything that differs, in one byte or in a header, is gathered
//! and put to the oracle: so identical bytes cost one comparison, another
//! legal layout costs a full judgement, and nothing is sampled or trusted.
//!
//! A row that others write to has no answer to remember. Such answers are
//! gathered in the connection's own buffer and judged one by one, without an
//! allocation.

mod grpc;
mod shelf;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use profiles::ask::Ask;
use profiles::oracle::{Oracle, Reply, Wrong};

pub use grpc::GrpcWatch;
pub use shelf::Shelf;

use shelf::{ByKey, Kept};

use crate::digits::Digits;
use crate::wire::{Answer, Head, Length, Why};

/// No right answer of fixed text is longer, whatever its coding.
const MAX_SMALL: usize = 4 * 1024;
/// Four times the longest document the oracle would read.
const MAX_LARGE: usize = 4 * 1024 * 1024;

/// What is known of one class.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Headers the oracle accepted with an exact text.
    exact: Option<Rc<Kept>>,
    /// Per question: the last answer the oracle accepted.
    kept: ByKey<Rc<Kept>>,
}

/// What one thread knows of right answers.
#[derive(Debug)]
pub struct Checker {
    oracle: Arc<Oracle>,
    /// By class, since classes differ in the codings they accept.
    classes: Vec<Known>,
    shelf: Arc<Shelf>,
    /// How many answers went to the oracle in full.
    pub judged: u64,
    /// How many of those were right but not as an earlier one to the same
    /// question.
    pub varied: u64,
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
            _ => Text::Free,
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
    content_type: Field,
    content_encoding: Field,
}

/// The value of a header, if it came. Its memory is kept for the next one.
#[derive(Debug, Default)]
struct Field {
    came: bool,
    value: Vec<u8>,
}

impl Field {
    fn set(&mut self, value: Option<&[u8]>) {
        self.came = value.is_some();
        self.value.clear();
        self.value.extend_from_slice(value.unwrap_or_default());
    }

    fn get(&self) -> Option<&[u8]> {
        self.came.then_some(&self.value)
    }

    /// What the oracle is shown; a copy only if it is no UTF-8.
    fn text(&self) -> Option<Cow<'_, str>> {
        self.get().map(String::from_utf8_lossy)
    }
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

    /// From here on the bytes are gathered, those that were equal included.
    #[cold]
    fn gather(&mut self) {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        body.extend_from_slice(&self.like()[..self.matched]);
        self.body = body;
        self.gathers = true;
        if let Some(kept) = &self.kept {
            self.content_type.set(kept.content_type.as_deref());
            self.content_encoding.set(kept.content_encoding.as_deref());
        }
    }

    fn equals(&self, kept: &Kept) -> bool {
        self.content_type.get() == kept.content_type.as_deref()
            && self.content_encoding.get() == kept.content_encoding.as_deref()
            && self.body == *kept.body
    }
}

impl Checker {
    /// A checker for `classes` classes.
    pub fn new(
        oracle: Arc<Oracle>,
        classes: usize,
        shelf: Arc<Shelf>,
    ) -> Checker {
        Checker {
            oracle,
            classes: vec![Known::default(); classes],
            shelf,
            judged: 0,
            varied: 0,
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
        if let Length::Fixed(n) = head.length
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
        let status = Oracle::status(ask);
        watch.kept = kept.filter(|k| k.fits(status, head)).cloned();
        watch.matched = 0;
        watch.gathers = watch.kept.is_none();
        if watch.gathers {
            watch.body.clear();
            watch.content_type.set(head.content_type);
            watch.content_encoding.set(head.content_encoding);
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
        if matches!(watch.text, Text::Free) && self.oracle.key(ask).is_none() {
            return self.ask(watch, ask, answer);
        }
        self.compare(watch, class, ask, answer)
    }

    /// Puts an answer to the oracle.
    #[inline(never)]
    fn ask(
        &mut self,
        watch: &Watch,
        ask: &Ask,
        answer: &Answer,
    ) -> Result<(), Wrong> {
        self.judged += 1;
        let content_type = watch.content_type.text();
        let content_encoding = watch.content_encoding.text();
        self.oracle.judge(
            ask,
            &Reply {
                status: answer.status,
                content_type: content_type.as_deref(),
                content_encoding: content_encoding.as_deref(),
                body: &watch.body,
            },
        )
    }

    /// An answer is not as this thread remembers one: another thread may, or
    /// the oracle is asked, and what it says is remembered.
    #[cold]
    fn compare(
        &mut self,
        watch: &mut Watch,
        class: usize,
        ask: &Ask,
        answer: &Answer,
    ) -> Result<(), Wrong> {
        if !watch.gathers {
            watch.gather();
        }
        let free = matches!(watch.text, Text::Free);
        let key = self.oracle.key(ask).filter(|_| free);
        if let Some(key) = key
            && answer.status == Oracle::status(ask)
            && let Some(other) = self.shelf.find(class, key)
            && watch.equals(&other)
        {
            self.know(class, key, other);
            return Ok(());
        }
        self.ask(watch, ask, answer)?;
        self.varied += u64::from(watch.kept.is_some());
        let body = if free { watch.body.as_slice() } else { &[] };
        let kept = Kept {
            content_type: watch.content_type.get().map(Into::into),
            content_encoding: watch.content_encoding.get().map(Into::into),
            body: body.into(),
        };
        if let Some(key) = key {
            if self.shelf.put(class, key, kept.clone()) {
                self.know(class, key, kept);
            }
        } else if let Some(known) = self.classes.get_mut(class) {
            known.exact = Some(Rc::new(kept));
        }
        // One large answer must not hold its memory on every connection.
        if watch.body.capacity() > MAX_SMALL {
            watch.body = Vec::new();
        }
        Ok(())
    }

    fn know(&mut self, class: usize, key: u64, kept: Kept) {
        if let Some(known) = self.classes.get_mut(class) {
            known.kept.insert(key, Rc::new(kept));
        }
    }
}

#[cfg(test)]
mod tests;
