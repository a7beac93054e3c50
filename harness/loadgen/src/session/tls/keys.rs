//! An established connection: both directions' keys, and what the protocol
//! itself still says on it.

use std::fmt;

use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::{ExtractedSecrets, ProtocolVersion};

use super::record::{ALERT, DATA, HANDSHAKE, Key};
use super::words;

/// Before AES-GCM under one key becomes weak, it is replaced: a quarter of
/// what the standard allows.
const REKEY: u64 = 1 << 22;
/// `KeyUpdate`, the other end need not follow.
const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
const WARNING: u8 = 1;

/// What a record that is no data comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Word {
    /// Nothing for us to do.
    Nothing,
    /// The server's keys are new, and it wants ours to be.
    Rekey,
    /// The server says that no more will come.
    Close,
}

/// The keys of one connection.
pub(super) struct Keys {
    /// The server's.
    pub(super) rx: Key,
    tx: Key,
    /// Makes the next keys; only TLS 1.3 has such.
    kernel: Option<Box<KernelConnection<ClientConnectionData>>>,
    late: Late,
    /// After so many records our keys are replaced.
    pub(super) rekey_at: u64,
}

impl Keys {
    /// Those a handshake came to.
    pub(super) fn new(
        secrets: ExtractedSecrets,
        kernel: KernelConnection<ClientConnectionData>,
    ) -> Result<Keys, &'static str> {
        let new = kernel.protocol_version() == ProtocolVersion::TLSv1_3;
        Ok(Keys {
            rx: Key::new(secrets.rx, new)?,
            tx: Key::new(secrets.tx, new)?,
            kernel: new.then(|| Box::new(kernel)),
            late: Late::default(),
            rekey_at: REKEY,
        })
    }

    /// Appends a record with `content` to `out`.
    #[inline]
    pub(super) fn seal(
        &mut self,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        if self.tx.records() >= self.rekey_at && self.kernel.is_some() {
            self.rekey(out)?;
        }
        self.tx.seal(DATA, content, out)
    }

    /// Tells the server that our keys are new, and makes them so.
    #[cold]
    pub(super) fn rekey(
        &mut self,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let Some(kernel) = &mut self.kernel else { return Ok(()) };
        self.tx.seal(HANDSHAKE, &KEY_UPDATE, out)?;
        let next = kernel.update_tx_secret();
        self.tx = Key::new(next.map_err(|_| NO_UPDATE)?, true)?;
        Ok(())
    }

    /// Whether data may come now, and not the rest of a message.
    #[inline]
    pub(super) fn takes_data(&self) -> bool {
        self.late.is_idle()
    }

    /// A record that is no data.
    #[cold]
    pub(super) fn word(
        &mut self,
        kind: u8,
        content: &[u8],
    ) -> Result<Word, &'static str> {
        match (kind, content) {
            (ALERT, [_, CLOSE_NOTIFY]) => Ok(Word::Close),
            (ALERT, [level, code]) => {
                let harmless = match self.kernel {
                    Some(_) => *code == USER_CANCELED,
                    None => *level == WARNING,
                };
                if harmless {
                    Ok(Word::Nothing)
                } else {
                    Err(words::alert(*code))
                }
            }
            (ALERT, _) => Err("a TLS alert is malformed"),
            (HANDSHAKE, _) => self.message(content),
            _ => Err("a TLS record of a kind that may not come now"),
        }
    }

    fn message(&mut self, content: &[u8]) -> Result<Word, &'static str> {
        let Some(kernel) = &mut self.kernel else {
            // The wish to shake hands anew may be ignored.
            return match content {
                [0, 0, 0, 0] => Ok(Word::Nothing),
                _ => Err(UNEXPECTED),
            };
        };
        match self.late.feed(content)? {
            None => Ok(Word::Nothing),
            Some(wanted) => {
                let next = kernel.update_rx_secret();
                self.rx = Key::new(next.map_err(|_| NO_UPDATE)?, true)?;
                Ok(if wanted { Word::Rekey } else { Word::Nothing })
            }
        }
    }
}

const NO_UPDATE: &str = "the TLS keys could not be updated";
const UNEXPECTED: &str = "a TLS message that may not come after the handshake";

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("rx", &self.rx).finish_non_exhaustive()
    }
}

/// Messages after a handshake of TLS 1.3: tickets, which are thrown away
/// since no session is ever resumed, and new keys. They may be cut over
/// records and share them.
#[derive(Debug, Default)]
struct Late {
    head: [u8; 4],
    /// How much of `head` is there.
    got: usize,
    /// Bytes of a ticket still to come.
    skip: usize,
}

impl Late {
    const TICKET: u8 = 4;
    const UPDATE: u8 = 24;

    fn is_idle(&self) -> bool {
        self.got == 0
    }

    /// `Some` when the server's keys are new: whether it wants ours to be.
    fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<bool>, &'static str> {
        if bytes.is_empty() {
            return Err("an empty TLS record that is no data");
        }
        while let [first, rest @ ..] = bytes {
            if self.got < self.head.len() {
                self.head[self.got] = *first;
                self.got += 1;
                bytes = rest;
                let [kind, len @ ..] = self.head;
                if self.got < self.head.len() {
                    continue;
                }
                let len = len.iter().fold(0, |n, b| n << 8 | usize::from(*b));
                match (kind, len) {
                    (Late::TICKET, 1..) => self.skip = len,
                    (Late::UPDATE, 1) => {}
                    _ => return Err(UNEXPECTED),
                }
            } else if self.head[0] == Late::UPDATE {
                self.got = 0;
                // The next byte is under the new key, so in a new record.
                return match (first, rest) {
                    (0 | 1, []) => Ok(Some(*first == 1)),
                    _ => Err("a TLS KeyUpdate is malformed"),
                };
            } else {
                let n = self.skip.min(bytes.len());
                self.skip -= n;
                bytes = &bytes[n..];
                if self.skip == 0 {
                    self.got = 0;
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKET: [u8; 7] = [4, 0, 0, 3, 1, 2, 3];

    #[test]
    fn tickets_and_updates_are_found_at_every_cut() {
        let mut all = TICKET.repeat(2);
        all.extend([24, 0, 0, 1, 1]);
        for at in 1..all.len() {
            let mut late = Late::default();
            let (a, b) = all.split_at(at);
            assert_eq!(late.feed(a), Ok(None), "{at}");
            assert_eq!(late.is_idle(), at == 7 || at == 14, "{at}");
            assert_eq!(late.feed(b), Ok(Some(true)), "{at}");
            assert!(late.is_idle());
        }
    }

    #[test]
    fn nothing_may_follow_an_update_in_its_record() {
        let mut late = Late::default();
        assert!(late.feed(&[24, 0, 0, 1, 0, 4]).is_err());
        for bad in [
            &[][..],
            &[24, 0, 0, 2],
            &[24, 0, 0, 1, 2],
            &[4, 0, 0, 0],
            &[13, 0, 0, 1],
        ] {
            assert!(Late::default().feed(bad).is_err(), "{bad:?}");
        }
    }
}
