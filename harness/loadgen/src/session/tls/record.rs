//! The record layer of one direction of an established connection: opened
//! and sealed where the bytes lie.

use std::ops::Range;

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey,
    Nonce, UnboundKey,
};
use rustls::ConnectionTrafficSecrets as Secrets;

/// The head of a record: kind, version, length.
pub(super) const HEAD: usize = 5;
/// The most plaintext a record may hold.
pub(super) const MAX_PLAIN: usize = 1 << 14;
/// The longest record of any version, its head included.
pub(super) const MAX_RECORD: usize = HEAD + MAX_PLAIN + 2048;

const TAG: usize = 16;
/// What AES-GCM carries of the nonce in each record of TLS 1.2.
const EXPLICIT: usize = 8;
/// What a record of TLS 1.3 may be longer than its plaintext.
const MOST_OVER: usize = 256;

/// Content types.
pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
/// The other end says why it stops.
pub(super) const ALERT: u8 = 21;
/// Messages of the handshake, and those after it.
pub(super) const HANDSHAKE: u8 = 22;
/// What the protocol above says.
pub(super) const DATA: u8 = 23;

/// How a record is laid out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// TLS 1.3, any suite: the content type is encrypted, too.
    New,
    /// TLS 1.2 with AES-GCM: half of the nonce travels along.
    Gcm,
    /// TLS 1.2 with ChaCha20-Poly1305.
    ChaCha,
}

/// The key of one direction.
#[derive(Debug)]
pub(super) struct Key {
    key: LessSafeKey,
    iv: [u8; 12],
    seq: u64,
    form: Form,
}

/// What is known of a record from its first bytes: its length with the head
/// once that is there, and an error as soon as it cannot be a record.
pub(super) fn length(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    const NO_RECORD: &str = "the server's bytes are no TLS record";
    let is_kind = |kind| (CHANGE_CIPHER_SPEC..=DATA).contains(kind);
    let known = bytes.first().is_none_or(is_kind)
        && bytes.iter().skip(1).take(2).all(|version| *version == 3);
    if !known {
        return Err(NO_RECORD);
    }
    let [_, _, _, high, low, ..] = *bytes else { return Ok(None) };
    let len = HEAD + usize::from(u16::from_be_bytes([high, low]));
    if len > MAX_RECORD {
        return Err("a TLS record is longer than any may be");
    }
    Ok(Some(len))
}

impl Key {
    /// From what the handshake came to: the number of the next record and
    /// the secrets.
    pub(super) fn new(
        (seq, secrets): (u64, Secrets),
        new: bool,
    ) -> Result<Key, &'static str> {
        const NO_KEY: &str = "a TLS key could not be made";
        let (algorithm, key, iv): (&'static Algorithm, _, _) = match secrets {
            Secrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            Secrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            Secrets::Chacha20Poly1305 { key, iv } => {
                (&CHACHA20_POLY1305, key, iv)
            }
            _ => return Err("a TLS cipher that was not offered"),
        };
        let form = if new {
            Form::New
        } else if *algorithm == CHACHA20_POLY1305 {
            Form::ChaCha
        } else {
            Form::Gcm
        };
        let unbound = UnboundKey::new(algorithm, key.as_ref());
        Ok(Key {
            key: LessSafeKey::new(unbound.map_err(|_| NO_KEY)?),
            iv: iv.as_ref().try_into().map_err(|_| NO_KEY)?,
            seq,
            form,
        })
    }

    /// Records opened or sealed with it, and before it in this direction.
    pub(super) fn records(&self) -> u64 {
        self.seq
    }

    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, seq) in nonce[4..].iter_mut().zip(self.seq.to_be_bytes()) {
            *byte ^= seq;
        }
        nonce
    }

    /// What is authenticated beside the content in TLS 1.2.
    fn old_aad(&self, kind: u8, len: usize) -> Aad<[u8; 13]> {
        let mut aad = [0; 13];
        aad[..8].copy_from_slice(&self.seq.to_be_bytes());
        aad[8..11].copy_from_slice(&[kind, 3, 3]);
        aad[11..].copy_from_slice(&(len as u16).to_be_bytes());
        Aad::from(aad)
    }

    /// Opens one whole record in place: what kind it is, and where in it the
    /// content lies.
    #[inline]
    pub(super) fn open(
        &mut self,
        record: &mut [u8],
    ) -> Result<(u8, Range<usize>), &'static str> {
        const SHORT: &str = "a TLS record is too short";
        const LONG: &str = "a TLS record is longer than any may be";
        let (head, payload) =
            record.split_first_chunk_mut::<HEAD>().ok_or(SHORT)?;
        let (kind, len) = (head[0], payload.len());
        let (from, most) = match self.form {
            Form::New => (0, MAX_PLAIN + MOST_OVER),
            Form::Gcm => (EXPLICIT, MAX_RECORD),
            Form::ChaCha => (0, MAX_RECORD),
        };
        if self.form == Form::New && kind != DATA {
            return Err(match (kind, &*payload) {
                // It could not read us, so it cannot encrypt either.
                (ALERT, [_, alert]) => super::words::alert(*alert),
                _ => "a TLS record that is not encrypted",
            });
        }
        if len > most {
            return Err(LONG);
        }
        let body = len.checked_sub(from + TAG).ok_or(SHORT)?;
        let mut nonce = self.nonce();
        if self.form == Form::Gcm {
            nonce[4..].copy_from_slice(&payload[..EXPLICIT]);
        }
        let nonce = Nonce::assume_unique_for_key(nonce);
        let (text, tag) = payload[from..].split_at_mut(body);
        let (key, tag) = (&self.key, &*tag);
        let opened = match self.form {
            Form::New => key.open_in_place_separate_tag(
                nonce,
                Aad::from(*head),
                tag,
                text,
            ),
            Form::Gcm | Form::ChaCha => key.open_in_place_separate_tag(
                nonce,
                self.old_aad(kind, body),
                tag,
                text,
            ),
        };
        let text =
            opened.map_err(|_| "a TLS record does not decrypt (bad MAC)")?;
        self.seq += 1;
        let start = HEAD + from;
        let (kind, len) = match self.form {
            Form::New => unpadded(text)?,
            Form::Gcm | Form::ChaCha => (kind, body),
        };
        if len > MAX_PLAIN {
            return Err(LONG);
        }
        Ok((kind, start..start + len))
    }

    /// Appends one record that holds `content` to `out`.
    #[inline]
    pub(super) fn seal(
        &mut self,
        kind: u8,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        const NOT_SEALED: &str = "a TLS record could not be sealed";
        let nonce = self.nonce();
        let (from, outer, after) = match self.form {
            Form::New => (0, DATA, 1),
            Form::Gcm => (EXPLICIT, kind, 0),
            Form::ChaCha => (0, kind, 0),
        };
        let len = (from + content.len() + after + TAG) as u16;
        let [high, low] = len.to_be_bytes();
        let head = [outer, 3, 3, high, low];
        out.reserve(HEAD + usize::from(len));
        out.extend_from_slice(&head);
        out.extend_from_slice(&nonce[12 - from..]);
        let start = out.len();
        out.extend_from_slice(content);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = if self.form == Form::New {
            out.push(kind);
            let text = &mut out[start..];
            self.key.seal_in_place_separate_tag(nonce, Aad::from(head), text)
        } else {
            let aad = self.old_aad(kind, content.len());
            let text = &mut out[start..];
            self.key.seal_in_place_separate_tag(nonce, aad, text)
        };
        out.extend_from_slice(tag.map_err(|_| NOT_SEALED)?.as_ref());
        self.seq += 1;
        Ok(())
    }
}

/// The content type behind the content, and how long the content is. What
/// follows them is padding.
#[inline]
fn unpadded(text: &[u8]) -> Result<(u8, usize), &'static str> {
    match text.iter().rposition(|byte| *byte != 0) {
        Some(at) => Ok((text[at], at)),
        None => Err("a TLS record without a content type"),
    }
}
