//! A static file is replaced while the server runs: who reads from disk, as
//! most types must, serves the new bytes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use profiles::ask::Ask;
use profiles::data::STATIC_FILES;
use profiles::entry::Type;
use profiles::oracle::Oracle;

use super::STATIC;
use super::statics::{LOAD, file, order};
use crate::probe::{BLANK, Miss, Outcome, Probe, Stage};
use crate::session::{Session, reply};

/// Servers may keep a file for so long.
const WINDOW: Duration = Duration::from_secs(2);
/// Proxies, in front of others or alone, commonly keep it longer.
const PROXY_WINDOW: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The length of what replaces a file; a brotli block holds it.
const BYTES: (i64, i64) = (2_000, 60_000);

pub(super) const PROBES: &[Probe] = &[Probe {
    id: "static.replaced",
    profiles: STATIC,
    stage: Stage::Alone,
    rule: "A file that is replaced on disk, and its compressed siblings with \
           it, is served with its new bytes after 2 s at the latest, with \
           Accept-Encoding and without; after 30 s by entries of type \
           infrastructure and by stacks, whose files a proxy serves. Types \
           tuned and engine may keep files in memory and are not asked.",
    source: "contract, sections 2 and 7.3",
    legal: "the old bytes or the new ones within the window, the new ones \
            after it",
    hint: "read the file for every request, or look whether it has changed; \
           do not keep it from the start of the server",
    run: replaced,
    ..BLANK
}];

fn replaced(s: &mut Session<'_>) -> Outcome {
    if matches!(s.kind, Type::Tuned | Type::Engine) {
        let why = "not applicable: this type may keep files in memory";
        return Err(Miss::skip(why, "nothing is to be done"));
    }
    let Some(dir) = s.target.statics.clone() else {
        let why = "it is not known where the entry reads its files";
        return Err(Miss::skip(why, "judge an entry that the arena starts"));
    };
    let is_proxy =
        s.kind == Type::Infrastructure || !s.profile.server.services.is_empty();
    let window = if is_proxy { PROXY_WINDOW } else { WINDOW };
    s.end = Instant::now() + 3 * window + 4 * s.timeout;
    let index = order(s)?[0];
    // Whoever keeps what was read once has read it now.
    let asks = [file(index, None), file(index, Some(LOAD))];
    for ask in &asks {
        s.ask(ask)?;
    }
    let old = s.oracle.file(index).map_or(0, <[u8]>::len);
    let new = contents(s, old);
    let name = STATIC_FILES[index].name;
    let failed = |why: io::Error| {
        let why = format!("{} in {}: {why}", name, dir.display());
        Miss::skip(&why, "the judge must be able to write there")
    };
    let swapped = Swapped::new(&dir.join(name), &new).map_err(failed)?;
    let bytes = new.clone();
    let oracle = Oracle::new(s.oracle.dataset().clone(), move |other| {
        (other == name).then(|| bytes.clone())
    });
    let by = Instant::now() + window;
    for ask in &asks {
        until(s, &oracle, ask, by, "replaced", window)?;
    }
    drop(swapped);
    // Later probes ask for it, too.
    let oracle = s.oracle.clone();
    let by = Instant::now() + window;
    for ask in &asks {
        until(s, &oracle, ask, by, "put back", window)?;
    }
    Ok(())
}

/// Asks until the answer is right, or the time is over.
fn until(
    s: &mut Session<'_>,
    oracle: &Oracle,
    ask: &Ask,
    by: Instant,
    what: &str,
    window: Duration,
) -> Outcome {
    let request = s.request(ask);
    loop {
        // What is asked from now on must be new.
        let is_last = Instant::now() >= by;
        let response = s.exchange(&request)?;
        let Err(wrong) = oracle.judge(ask, &reply(&response)) else {
            return Ok(());
        };
        if is_last {
            let seconds = window.as_secs();
            let expected = format!(
                "the bytes of the file, {seconds} s after it was {what}"
            );
            return Err(s.miss(&request, expected, wrong.to_string()));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Other contents, of another length.
fn contents(s: &mut Session<'_>, old: usize) -> Vec<u8> {
    let mut len = s.rng.between(BYTES.0, BYTES.1) as usize;
    len += usize::from(len == old);
    let mut out = Vec::with_capacity(len + 32);
    while out.len() < len {
        out.extend(format!("{:016x}\n", s.rng.bits()).into_bytes());
    }
    out.truncate(len);
    out
}

/// How a file is coded.
type Form = fn(&[u8]) -> Vec<u8>;

/// A file and its siblings with other bytes; dropped, they are as they were.
struct Swapped(Vec<(PathBuf, Vec<u8>)>);

impl Swapped {
    fn new(path: &Path, bytes: &[u8]) -> io::Result<Swapped> {
        let mut swapped = Swapped(Vec::new());
        let forms: [(&str, Form); 3] =
            [("gz", gzip), ("br", brotli), ("", <[u8]>::to_vec)];
        for (ending, form) in forms {
            let mut name = path.as_os_str().to_owned();
            if !ending.is_empty() {
                name.push(".");
                name.push(ending);
            }
            let path = PathBuf::from(name);
            if !path.is_file() {
                continue;
            }
            let old = fs::read(&path)?;
            swapped.0.push((path.clone(), old));
            put(&path, &form(bytes))?;
        }
        Ok(swapped)
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        for (path, bytes) in &self.0 {
            // If it cannot be written back, the probes after it will say so.
            let _ = put(path, bytes);
        }
    }
}

/// Writes beside the file and renames, so that nobody reads half of it.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.judge"));
    let done =
        fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// A gzip file with the bytes as they are, of at most 65,535.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let len = bytes.len() as u16;
    out.extend(len.to_le_bytes());
    out.extend((!len).to_le_bytes());
    out.extend(bytes);
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let odd = (crc & 1).wrapping_neg();
            crc = (crc >> 1) ^ (0xedb8_8320 & odd);
        }
    }
    out.extend((!crc).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

/// A brotli stream with the bytes as they are, of 1 to 65,536.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    // From the lowest bit: a window of 64 KiB, not the last block, a length
    // of 16 bits and less by one, uncompressed.
    let length = bytes.len().saturating_sub(1) as u32;
    let head = (length << 4) | (1 << 20);
    let mut out = head.to_le_bytes()[..3].to_vec();
    out.extend(bytes);
    // The last block, which is empty.
    out.push(3);
    out
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_siblings_are_what_they_say() {
        for len in [1, 2_000, 60_001] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let mut found = Vec::new();
            let packed = gzip(&bytes);
            flate2::read::GzDecoder::new(&packed[..])
                .read_to_end(&mut found)
                .unwrap();
            assert_eq!(found, bytes);
            let packed = super::brotli(&bytes);
            let mut found = Vec::new();
            ::brotli::Decompressor::new(&packed[..], 4096)
                .read_to_end(&mut found)
                .unwrap();
            assert_eq!(found, bytes);
        }
    }

    #[test]
    fn files_are_put_back_whatever_happens() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.js");
        fs::write(&path, "old").unwrap();
        fs::write(dir.path().join("app.js.br"), "older").unwrap();
        let swapped = Swapped::new(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        drop(swapped);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let sibling = fs::read(dir.path().join("app.js.br")).unwrap();
        assert_eq!(sibling, b"older");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
