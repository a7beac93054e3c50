//! Which tokens are good, and whose they are.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::header::HeaderValue;
use serde::Deserialize;
use sha2::Sha256;

use crate::subject::Subject;

/// HMAC-SHA256 makes this many bytes, which are this many letters.
const MAC_BYTES: usize = 32;
const MAC_LETTERS: usize = 43;

/// Knows the secret. The key is taken in once; a check starts from a copy.
#[derive(Clone)]
pub struct Verifier {
    keyed: Hmac<Sha256>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    alg: std::borrow::Cow<'a, str>,
    /// Extensions that must be understood (RFC 7515, 4.1.11): none is.
    crit: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims<'a> {
    #[serde(borrow)]
    sub: Subject<'a>,
    /// Seconds since 1970, fractions allowed (RFC 7519, 2: NumericDate).
    exp: f64,
    nbf: Option<f64>,
}

impl Verifier {
    /// A verifier of tokens signed with `secret`.
    pub fn new(secret: &[u8]) -> Option<Verifier> {
        let keyed = Hmac::new_from_slice(secret).ok()?;
        Some(Verifier { keyed })
    }

    /// Whom the value of an `Authorization` field lets in at `now`, seconds
    /// since 1970, as the value of `X-User-Id`; `None` is nobody.
    pub fn user(&self, authorization: &[u8], now: f64) -> Option<HeaderValue> {
        let token = bearer(authorization)?;
        let mut parts = token.split(|&byte| byte == b'.');
        let (header, payload) = (parts.next()?, parts.next()?);
        let signature = parts.next()?;
        if parts.next().is_some() {
            return None;
        }
        // The signature first: what is read below is nobody else's text.
        let signed = &token[..header.len() + 1 + payload.len()];
        self.signed_by_us(signed, signature)?;
        let header = URL_SAFE_NO_PAD.decode(header).ok()?;
        let header: Header<'_> = serde_json::from_slice(&header).ok()?;
        if header.alg != "HS256" || header.crit.is_some() {
            return None;
        }
        let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
        let claims: Claims<'_> = serde_json::from_slice(&payload).ok()?;
        let begun = claims.nbf.is_none_or(|nbf| now >= nbf);
        if begun && now < claims.exp { claims.sub.into_field() } else { None }
    }

    fn signed_by_us(&self, signed: &[u8], signature: &[u8]) -> Option<()> {
        if signature.len() != MAC_LETTERS {
            return None;
        }
        let mut mac = [0; MAC_BYTES];
        URL_SAFE_NO_PAD.decode_slice(signature, &mut mac).ok()?;
        let mut ours = self.keyed.clone();
        ours.update(signed);
        // In constant time: how long it takes tells nothing of the right one.
        ours.verify_slice(&mac).ok()
    }
}

/// The token of the scheme Bearer, whose name has any case (RFC 9110, 11.1).
fn bearer(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = authorization.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"bearer") || rest.first() != Some(&b' ') {
        return None;
    }
    Some(rest.trim_ascii())
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
