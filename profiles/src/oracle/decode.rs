//! Content codings: was this one allowed, and what does it decode to.

use std::borrow::Cow;
use std::io::Read;

use super::{Reply, Wrong, clip};

/// A content coding the contract knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Coding {
    /// No coding.
    Identity,
    /// gzip (RFC 1952).
    Gzip,
    /// Brotli (RFC 7932).
    Brotli,
}

impl Coding {
    fn parse(text: &str) -> Option<Coding> {
        // RFC 9110 section 8.4.1.3: x-gzip is gzip.
        const NAMES: [(&str, Coding); 5] = [
            ("", Coding::Identity),
            ("identity", Coding::Identity),
            ("gzip", Coding::Gzip),
            ("x-gzip", Coding::Gzip),
            ("br", Coding::Brotli),
        ];
        let text = text.trim();
        let known = NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(text));
        known.map(|(_, coding)| *coding)
    }

    fn word(self) -> &'static str {
        match self {
            Coding::Identity => "identity",
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
        }
    }

    /// Whether `accept`, an `Accept-Encoding` value, allows this coding
    /// (RFC 9110 section 12.5.3). No header asks for identity here: the
    /// contract is stricter than the RFC, which would allow any coding.
    pub fn accepted(self, accept: Option<&str>) -> bool {
        let Some(accept) = accept else {
            return self == Coding::Identity;
        };
        let mut star = None;
        for part in accept.split(',') {
            let mut fields = part.split(';');
            let name = fields.next().unwrap_or("").trim();
            let zero = fields
                .filter_map(|f| f.trim().strip_prefix("q="))
                .any(|q| q.trim().parse::<f32>().is_ok_and(|q| q == 0.0));
            if name == "*" {
                star = Some(!zero);
            } else if !name.is_empty() && Coding::parse(name) == Some(self) {
                return !zero;
            }
        }
        match self {
            Coding::Identity => star.unwrap_or(true),
            _ => star.unwrap_or(false),
        }
    }
}

/// The decoded body of `reply`, if its coding was allowed by what was sent.
/// Stops one byte past `limit`, so a bomb costs no memory.
pub(super) fn decode<'a>(
    accept: Option<&str>,
    must_encode: bool,
    reply: &Reply<'a>,
    limit: usize,
) -> Result<Cow<'a, [u8]>, Wrong> {
    let named = reply.content_encoding.unwrap_or("");
    let coding = Coding::parse(named).ok_or_else(|| {
        let named = clip(named.as_bytes());
        Wrong::Encoding(format!("`{named}` is none of gzip, br, identity"))
    })?;
    if !coding.accepted(accept) {
        return Err(Wrong::Encoding(format!(
            "{} was sent, the request said `{}`",
            coding.word(),
            accept.unwrap_or("nothing of codings"),
        )));
    }
    let could = [Coding::Gzip, Coding::Brotli].map(|c| c.accepted(accept));
    if must_encode && coding == Coding::Identity && could.contains(&true) {
        return Err(Wrong::Encoding(format!(
            "none was used, the request said `{}`",
            accept.unwrap_or_default(),
        )));
    }
    let cap = limit as u64 + 1;
    let mut out = Vec::new();
    match coding {
        Coding::Identity => return Ok(Cow::Borrowed(reply.body)),
        Coding::Gzip => flate2::read::MultiGzDecoder::new(reply.body)
            .take(cap)
            .read_to_end(&mut out),
        Coding::Brotli => brotli::Decompressor::new(reply.body, 16 * 1024)
            .take(cap)
            .read_to_end(&mut out),
    }
    .map_err(|e| {
        Wrong::Encoding(format!("the {} stream is broken: {e}", coding.word()))
    })?;
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn allows(accept: Option<&str>, identity: bool, gzip: bool, br: bool) {
        let found = [Coding::Identity, Coding::Gzip, Coding::Brotli]
            .map(|c| c.accepted(accept));
        assert_eq!(found, [identity, gzip, br], "{accept:?}");
    }

    #[test]
    fn accept_encoding_is_read_as_the_rfc_says() {
        allows(None, true, false, false);
        allows(Some(""), true, false, false);
        allows(Some("gzip, br"), true, true, true);
        allows(Some("br;q=1, gzip;q=0.8"), true, true, true);
        allows(Some("gzip;q=0, br"), true, false, true);
        allows(Some("*"), true, true, true);
        allows(Some("*;q=0"), false, false, false);
        allows(Some("gzip, *;q=0"), false, true, false);
        allows(Some("identity;q=0, gzip"), false, true, false);
        allows(Some("GZip"), true, true, false);
        allows(Some("gzip;q=0.000"), true, false, false);
    }
}
