//! From a definition file to a [`Profile`], with errors that point at a line.

use std::{collections::BTreeSet, ops::Range as Bytes};

use sha2::{Digest, Sha256};
use toml::Spanned;

use super::class::SizeRange;
use super::wire::{Ask, WireClass, WireProfile};
use super::{Class, Kind, Lane, Load, Profile, Protocol, Server};
use crate::name::ProfileName;

/// More in flight on one connection is a slip of the finger.
const MOST_IN_FLIGHT: u32 = 4096;
/// The longest WebSocket message there is.
const MOST_ECHO_BYTES: u64 = 1 << 20;

/// Why a definition file was refused: the file, the line, a caret under the
/// place, and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}\n{excerpt}")]
pub struct DefError {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What was expected, what was found, what to write.
    pub message: String,
    /// The line itself with a caret under the place.
    pub excerpt: String,
}

impl DefError {
    /// An error at the byte range `at` of `source`.
    pub fn at(
        file: &str,
        source: &str,
        at: Bytes<usize>,
        message: impl Into<String>,
    ) -> DefError {
        let start = floor(source, at.start.min(source.len()));
        let end = floor(source, at.end.clamp(start, source.len()));
        let line_start = source[..start].rfind('\n').map_or(0, |i| i + 1);
        let line = source[..start].matches('\n').count() + 1;
        let text = source[line_start..].lines().next().unwrap_or("");
        let column = source[line_start..start].chars().count() + 1;
        let room = text.chars().count().saturating_sub(column - 1).max(1);
        let width = source[start..end].chars().count().clamp(1, room);
        let gutter = " ".repeat(line.to_string().len());
        let pad = " ".repeat(column - 1);
        let carets = "^".repeat(width);
        let excerpt =
            format!("{gutter} |\n{line} | {text}\n{gutter} | {pad}{carets}");
        DefError {
            file: file.to_string(),
            line,
            column,
            message: message.into(),
            excerpt,
        }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl Profile {
    /// Reads one definition. `file` is only used in errors.
    pub fn parse(
        name: ProfileName,
        file: &str,
        source: &str,
    ) -> Result<Profile, DefError> {
        let wire: WireProfile = toml::from_str(source).map_err(|e| {
            DefError::at(file, source, e.span().unwrap_or(0..0), e.message())
        })?;
        build(name, wire, source)
            .map_err(|(at, why)| DefError::at(file, source, at, why))
    }
}

type Refusal = (Bytes<usize>, String);

fn build(
    name: ProfileName,
    wire: WireProfile,
    source: &str,
) -> Result<Profile, Refusal> {
    let load = &wire.load;
    nonempty(&wire.leagues, "leagues", "[\"framework\"]")?;
    nonempty(&wire.endpoints, "endpoints", "[\"/baseline11\"]")?;
    nonempty(&load.levels, "levels", "[512, 4096]")?;
    distinct(&load.levels)?;
    positive(&load.in_flight, "in_flight")?;
    at_most(&load.in_flight, MOST_IN_FLIGHT, "in_flight")?;
    if *wire.port.get_ref() == 0 {
        return Err((wire.port.span(), "port 0 is none; write 8080".into()));
    }
    for path in wire.endpoints.get_ref() {
        rooted(path).map_err(|why| (wire.endpoints.span(), why))?;
    }
    positive(&load.share_total, "share_total")?;
    if let Some(n) = &load.requests_per_connection {
        positive(n, "requests_per_connection")?;
    }
    if load.window.get_ref().0.is_zero() {
        return Err((
            load.window.span(),
            "a window of 0 measures nothing; \
            write `5s`"
                .into(),
        ));
    }
    if let Some(w) = &load.writers {
        let v = w.get_ref();
        if v.per_level == 0 || v.at_least == 0 || v.in_flight == 0 {
            return Err((
                w.span(),
                "per_level, at_least and in_flight of \
                writers must be at least 1"
                    .into(),
            ));
        }
    }
    let classes = classes(&wire)?;
    let digest = Sha256::digest(source.as_bytes());
    Ok(Profile {
        name,
        title: wire.title,
        summary: wire.summary,
        family: wire.family,
        scored: wire.scored,
        leagues: wire.leagues.into_inner(),
        metric: wire.metric,
        protocol: wire.protocol,
        port: wire.port.into_inner(),
        endpoints: wire.endpoints.into_inner(),
        load: Load {
            levels: wire.load.levels.into_inner(),
            in_flight: wire.load.in_flight.into_inner(),
            requests_per_connection: wire
                .load
                .requests_per_connection
                .map(Spanned::into_inner),
            window: wire.load.window.into_inner().0,
            share_total: wire.load.share_total.into_inner(),
            writers: wire.load.writers.map(Spanned::into_inner),
        },
        server: Server {
            cpus: wire.server.cpus,
            reference_cpus: wire.server.reference_cpus,
            memory: wire.server.memory,
            sidecars: wire.server.sidecars,
            services: wire.server.services,
        },
        classes,
        digest: digest.iter().map(|b| format!("{b:02x}")).collect(),
        source: source.to_string(),
    })
}

fn classes(wire: &WireProfile) -> Result<Vec<Class>, Refusal> {
    let total = *wire.load.share_total.get_ref();
    let list = wire.class.get_ref();
    let mut names = BTreeSet::new();
    let mut out = Vec::new();
    for class in list {
        let c = class.get_ref();
        if !names.insert(c.name.as_str()) {
            return Err((
                class.span(),
                format!(
                    "class `{}` stands twice; give each class its own name",
                    c.name
                ),
            ));
        }
        if c.share == 0 {
            return Err((
                class.span(),
                format!(
                    "class `{}` has share 0; give it a share or remove it",
                    c.name
                ),
            ));
        }
        c.name.parse::<ProfileName>().map_err(|why| {
            (class.span(), format!("class {:?}: {why}", c.name))
        })?;
        if let Some(path) = &c.path {
            rooted(path).map_err(|why| (class.span(), why))?;
        }
        let of_class =
            |why| (class.span(), format!("class `{}`: {why}", c.name));
        if let Some(codings) = &c.accept_encoding {
            field_value(codings).map_err(of_class)?;
        }
        let kind = kind(c).map_err(of_class)?;
        carried(&kind, wire.protocol).map_err(of_class)?;
        out.push(Class {
            name: c.name.clone(),
            share: c.share,
            lane: c.lane,
            accept_encoding: c.accept_encoding.clone(),
            bearer: c.bearer,
            kind,
        });
    }
    for lane in [Lane::Main, Lane::Writers] {
        let shares: Vec<u64> = out
            .iter()
            .filter(|c| c.lane == lane)
            .map(|c| u64::from(c.share))
            .collect();
        let needed = lane == Lane::Main || wire.load.writers.is_some();
        let sum: u64 = shares.iter().sum();
        if needed && sum != u64::from(total) {
            let parts: Vec<_> = shares.iter().map(u64::to_string).collect();
            return Err((
                wire.load.share_total.span(),
                format!(
                    "shares of the {lane:?} lane are {} = {sum}, not {total}; \
                 write share_total = {sum} or mend the shares",
                    if parts.is_empty() {
                        "none".into()
                    } else {
                        parts.join(" + ")
                    },
                ),
            ));
        }
        if !needed && !shares.is_empty() {
            return Err((
                wire.class.span(),
                "a class is on the writers lane \
                but [load.writers] is missing; add it"
                    .into(),
            ));
        }
    }
    Ok(out)
}

fn kind(c: &WireClass) -> Result<Kind, String> {
    // Which keys are set, so that one the ask does not use is refused.
    let set = [
        ("path", c.path.is_some()),
        ("operands", c.operands.is_some()),
        ("body", c.body.is_some()),
        ("counts", c.counts.is_some()),
        ("multiplier", c.multiplier.is_some()),
        ("must_encode", c.must_encode.is_some()),
        ("sizes", c.sizes.is_some()),
        ("files", c.files.is_some()),
        ("min", c.min.is_some()),
        ("max", c.max.is_some()),
        ("limits", c.limits.is_some()),
        ("ids", c.ids.is_some()),
        ("categories", c.categories.is_some()),
        ("pages", c.pages.is_some()),
        ("limit", c.limit.is_some()),
        ("from", c.from.is_some()),
        ("messages", c.messages.is_some()),
    ];
    let (uses, kind): (&[&str], Kind) = match c.ask {
        Ask::Sum => (
            &["path", "operands", "body"],
            Kind::Sum {
                path: need(&c.path, "path")?,
                operands: need(&c.operands, "operands")?,
                body: c.body,
            },
        ),
        Ask::Pipeline => (&[], Kind::Pipeline),
        Ask::Json => (
            &["path", "counts", "multiplier", "must_encode"],
            Kind::Json {
                path: need(&c.path, "path")?,
                counts: some(&c.counts, "counts")?,
                multiplier: c.multiplier,
                must_encode: c.must_encode.unwrap_or(false),
            },
        ),
        Ask::Upload => (
            &["sizes", "body"],
            Kind::Upload {
                sizes: some(&c.sizes, "sizes")?,
                body: need(&c.body, "body")?,
            },
        ),
        Ask::Static => (
            &["files"],
            Kind::Static {
                files: static_files(c.files.clone().unwrap_or_default())?,
            },
        ),
        Ask::AsyncDb => (
            &["min", "max", "limits"],
            Kind::AsyncDb {
                min: need(&c.min, "min")?,
                max: need(&c.max, "max")?,
                limits: some(&c.limits, "limits")?,
            },
        ),
        Ask::CrudRead => {
            (&["ids"], Kind::CrudRead { ids: need(&c.ids, "ids")? })
        }
        Ask::CrudList => (
            &["categories", "pages", "limit"],
            Kind::CrudList {
                categories: categories(&c.categories)?,
                pages: need(&c.pages, "pages")?,
                limit: need(&c.limit, "limit")?,
            },
        ),
        Ask::CrudCreate => {
            (&["from"], Kind::CrudCreate { from: need(&c.from, "from")? })
        }
        Ask::CrudUpdate => {
            (&["ids"], Kind::CrudUpdate { ids: need(&c.ids, "ids")? })
        }
        Ask::ItemRead => {
            (&["ids"], Kind::ItemRead { ids: need(&c.ids, "ids")? })
        }
        Ask::ItemWrite => {
            (&["ids"], Kind::ItemWrite { ids: need(&c.ids, "ids")? })
        }
        Ask::Me => (&["ids"], Kind::Me { ids: need(&c.ids, "ids")? }),
        Ask::GrpcSum => (
            &["operands"],
            Kind::GrpcSum { operands: need(&c.operands, "operands")? },
        ),
        Ask::GrpcStream => (
            &["operands", "messages"],
            Kind::GrpcStream {
                operands: need(&c.operands, "operands")?,
                messages: need(&c.messages, "messages")?,
            },
        ),
        Ask::WsEcho => {
            (&["sizes"], Kind::WsEcho { sizes: echo_sizes(&c.sizes)? })
        }
    };
    match set.iter().find(|(key, is)| *is && !uses.contains(key)) {
        Some((key, _)) => Err(format!(
            "`{key}` is not used by this ask; it takes {}",
            if uses.is_empty() { "no keys".into() } else { uses.join(", ") }
        )),
        None => Ok(kind),
    }
}

fn echo_sizes(sizes: &Option<Vec<SizeRange>>) -> Result<SizeRange, String> {
    let sizes = *some(sizes, "sizes")?.first().ok_or("")?;
    if sizes.high > MOST_ECHO_BYTES {
        return Err(format!(
            "a message of {} bytes is too long; write at most `1MiB`",
            sizes.high
        ));
    }
    Ok(sizes)
}

/// They go into a query as they are.
fn categories(list: &Option<Vec<String>>) -> Result<Vec<String>, String> {
    let list = some(list, "categories")?;
    let plain = |text: &str| {
        let safe = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        !text.is_empty() && text.bytes().all(safe)
    };
    match list.iter().find(|text| !plain(text)) {
        Some(text) => Err(format!(
            "{text:?} is not a category; write letters, digits, `-`, `.`, \
             `_` and `~`"
        )),
        None => Ok(list),
    }
}

/// A value as it goes into a header.
fn field_value(text: &str) -> Result<(), String> {
    let plain = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if plain && !text.is_empty() && text.trim() == text {
        return Ok(());
    }
    Err(format!("{text:?} is not a header value; write one like `br, gzip`"))
}

/// Whether `protocol` has a form for such a request.
fn carried(kind: &Kind, protocol: Protocol) -> Result<(), String> {
    let needs = match kind {
        Kind::WsEcho { .. } => "`websocket`",
        Kind::GrpcSum { .. } | Kind::GrpcStream { .. } => "`grpc`, `grpc-tls`",
        _ => "one of HTTP",
    };
    let has = match protocol {
        Protocol::Websocket => "`websocket`",
        Protocol::Grpc | Protocol::GrpcTls => "`grpc`, `grpc-tls`",
        _ => "one of HTTP",
    };
    if needs == has {
        return Ok(());
    }
    Err(format!(
        "its ask needs another protocol: {needs}; this one carries what \
         needs {has}"
    ))
}

fn static_files(files: Vec<String>) -> Result<Vec<String>, String> {
    let known = &crate::data::STATIC_FILES;
    match files.iter().find(|f| !known.iter().any(|k| k.name == **f)) {
        Some(f) => Err(format!("`{f}` is none of the 20 static files")),
        None => Ok(files),
    }
}

fn need<T: Clone>(value: &Option<T>, key: &str) -> Result<T, String> {
    value.clone().ok_or_else(|| format!("`{key}` is missing; add it"))
}

fn some<T: Clone>(value: &Option<Vec<T>>, key: &str) -> Result<Vec<T>, String> {
    let list = need(value, key)?;
    if list.is_empty() {
        return Err(format!("`{key}` is empty; name at least one"));
    }
    Ok(list)
}

fn nonempty<T>(
    list: &Spanned<Vec<T>>,
    key: &str,
    like: &str,
) -> Result<(), Refusal> {
    if list.get_ref().is_empty() {
        return Err((list.span(), format!("{key} is empty; write {like}")));
    }
    Ok(())
}

fn distinct(levels: &Spanned<Vec<u32>>) -> Result<(), Refusal> {
    let list = levels.get_ref();
    let rising = list.windows(2).all(|w| w[0] < w[1]) && list[0] > 0;
    if !rising {
        return Err((
            levels.span(),
            "levels must rise from at least 1, each \
            once; write [512, 4096]"
                .into(),
        ));
    }
    Ok(())
}

fn at_most(value: &Spanned<u32>, most: u32, key: &str) -> Result<(), Refusal> {
    if *value.get_ref() > most {
        return Err((value.span(), format!("{key} must be at most {most}")));
    }
    Ok(())
}

/// A path or endpoint as it goes into a request line.
fn rooted(path: &str) -> Result<(), String> {
    let plain = path.bytes().all(|b| b.is_ascii_graphic());
    if path.starts_with('/') && plain {
        return Ok(());
    }
    Err(format!("{path:?} is not a path; write one like `/baseline11`"))
}

fn positive(value: &Spanned<u32>, key: &str) -> Result<(), Refusal> {
    if *value.get_ref() == 0 {
        return Err((value.span(), format!("{key} must be at least 1")));
    }
    Ok(())
}
