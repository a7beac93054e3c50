//! Requests as bytes of their streams.

use profiles::ask::{Ask, Body};
use profiles::profile::{Class, Profile};
use profiles::spec::Token;

use super::frame::{kind, put_varint};
use super::qpack::{put_integer, put_name, put_static, put_text};
use crate::digits::Digits;
use crate::tokens::Tokens;

/// Places in the static table.
mod at {
    pub(super) const AUTHORITY: usize = 0;
    pub(super) const PATH: usize = 1;
    pub(super) const CONTENT_LENGTH: usize = 4;
    pub(super) const GET: usize = 17;
    pub(super) const POST: usize = 20;
    pub(super) const PUT: usize = 21;
    pub(super) const HTTPS: usize = 23;
    pub(super) const ACCEPT_ENCODING: usize = 31;
    pub(super) const JSON: usize = 46;
    pub(super) const AUTHORIZATION: usize = 84;
}

const BEARER: &[u8] = b"Bearer ";

/// A slice of the upload block to be sent as the body's one DATA frame, whose
/// head is written already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Upload {
    /// Where it begins.
    pub offset: usize,
    /// Its length.
    pub len: usize,
}

/// What every request of a class says in the same words.
#[derive(Clone, Debug)]
struct Fixed {
    /// Prefix, scheme, authority and coding.
    text: Vec<u8>,
    bearer: bool,
}

/// Writes one thread's requests.
#[derive(Clone, Debug)]
pub struct Requests {
    /// By the class's index.
    classes: Vec<Fixed>,
    tokens: Tokens,
    /// Only save allocations.
    target: String,
    block: Vec<u8>,
    body: Vec<u8>,
}

impl Requests {
    /// For all classes of `profile`.
    pub fn new(profile: &Profile, tokens: &[Token]) -> Requests {
        let host = profile.host();
        let fixed = |class: &Class| {
            // No insert is required, and the base is 0.
            let mut text = vec![0, 0];
            put_static(at::HTTPS, &mut text);
            put_name(at::AUTHORITY, &mut text);
            put_text(host.as_bytes(), &mut text);
            Fixed { text, bearer: class.bearer }
        };
        Requests {
            classes: profile.classes.iter().map(fixed).collect(),
            tokens: Tokens::new(tokens),
            target: String::new(),
            block: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Appends one request of `class` to `out`. A large body is returned, to
    /// be sent after it.
    #[inline]
    pub fn write(
        &mut self,
        class: usize,
        ask: &Ask,
        out: &mut Vec<u8>,
    ) -> Option<Upload> {
        let Requests { classes, tokens, target, block, body } = self;
        block.clear();
        if let Some(fixed) = classes.get(class) {
            block.extend_from_slice(&fixed.text);
        }
        let method = match ask.method() {
            "POST" => at::POST,
            "PUT" => at::PUT,
            _ => at::GET,
        };
        put_static(method, block);
        target.clear();
        ask.write_target(target);
        put_name(at::PATH, block);
        put_text(target.as_bytes(), block);
        if let Some(coding) = ask.accept_encoding() {
            put_name(at::ACCEPT_ENCODING, block);
            put_text(coding.as_bytes(), block);
        }
        if classes.get(class).is_some_and(|fixed| fixed.bearer)
            && let Some((_, token)) = tokens.pick(ask)
        {
            put_name(at::AUTHORIZATION, block);
            put_integer(BEARER.len() + token.len(), 7, 0, block);
            block.extend_from_slice(BEARER);
            block.extend_from_slice(token.as_bytes());
        }
        body.clear();
        let mut upload = None;
        let len = match ask.body() {
            // gRPC does not go over HTTP/3.
            Body::None | Body::Message => {
                head(block, out);
                return None;
            }
            Body::Integer(value, _) => {
                body.extend_from_slice(Digits::new(value).bytes());
                body.len()
            }
            Body::Json => {
                ask.write_json(body);
                put_static(at::JSON, block);
                body.len()
            }
            Body::Slice { offset, len, .. } => {
                let (offset, len) = (offset as usize, len as usize);
                upload = Some(Upload { offset, len });
                len
            }
        };
        // Chunks are HTTP/1.1's; here every length is known.
        put_name(at::CONTENT_LENGTH, block);
        put_text(Digits::new(len as i64).bytes(), block);
        head(block, out);
        put_varint(kind::DATA, out);
        put_varint(len as u64, out);
        out.extend_from_slice(body);
        upload
    }
}

fn head(block: &[u8], out: &mut Vec<u8>) {
    put_varint(kind::HEADERS, out);
    put_varint(block.len() as u64, out);
    out.extend_from_slice(block);
}
