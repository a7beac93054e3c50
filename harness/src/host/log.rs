//! A stranger's output: capped while it comes, made safe before it is kept.

use std::{
    collections::VecDeque,
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use profiles::oracle::is_hidden;

/// The most of one server's output that is kept: the end of it.
const KEPT_BYTES: usize = 64 << 10;
/// The end of the output may still be in the pipe when its writer is gone.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The end of a process's output, read in the background.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    file: PathBuf,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    closed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    tail: VecDeque<u8>,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Reads `output` until it closes. [`Log::save`] writes to `file`.
    pub fn of(mut output: impl Read + Send + 'static, file: &Path) -> Log {
        let shared = Arc::<Shared>::default();
        let writer = Arc::clone(&shared);
        thread::spawn(move || {
            let mut piece = [0; 8192];
            while let Ok(len @ 1..) = output.read(&mut piece) {
                let mut state = writer.state();
                state.tail.extend(&piece[..len]);
                let over = state.tail.len().saturating_sub(KEPT_BYTES);
                state.tail.drain(..over);
            }
            writer.state().closed = true;
            writer.closed.notify_all();
        });
        Log { shared, file: file.to_path_buf() }
    }

    /// What came so far, made safe.
    pub fn tail(&self) -> String {
        clean(self.shared.state().tail.make_contiguous())
    }

    /// Waits a moment for the last words, then keeps them in the file. An
    /// empty log makes no file; a full disk is met by the store soon enough.
    pub fn save(&self) {
        let state = self.shared.state();
        let waited =
            self.shared
                .closed
                .wait_timeout_while(state, LAST_WORDS, |state| !state.closed);
        drop(waited);
        let text = self.tail();
        if !text.is_empty() {
            let _ = fs::write(&self.file, text);
        }
    }
}

/// Text without control characters other than line ends, terminal colours
/// taken out whole.
pub fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\t' => out.push(' '),
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            c if is_hidden(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// The last line that says something, cut to a readable length.
pub fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|l| !l.trim().is_empty())?;
    Some(line.trim().chars().take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_chatty_servers_output_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.log");
        let mut bytes = vec![b'x'; 3 * KEPT_BYTES];
        bytes.extend(b"\nthe end\n");
        let log = Log::of(std::io::Cursor::new(bytes), &file);
        log.save();
        let kept = fs::read_to_string(&file).unwrap();
        assert_eq!(kept.len(), KEPT_BYTES);
        assert_eq!(last_line(&kept).unwrap(), "the end");
    }

    #[test]
    fn control_characters_and_colours_do_not_survive() {
        let text = clean(b"\x1b[31mred\x1b[0m\r\x07 a\tb\nc\xff");
        assert_eq!(text, "red a b\nc\u{fffd}");
        assert_eq!(clean(b"\x1b[31"), "");
        assert_eq!(last_line(" \n\n"), None);
    }
}
