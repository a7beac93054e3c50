//! `manifest.json`: a compact web-app manifest of an exact size.
//!
//! Plain structs, not `serde_json::Value`: the order of a `Value`'s keys
//! depends on a feature that any crate of the build may switch on.

use serde::Serialize;

use super::stream::Stream;
use super::text;
use super::words::{ADJECTIVES, NOUNS};

const ICONS: [u32; 10] = [48, 72, 96, 128, 144, 152, 192, 256, 384, 512];

#[derive(Serialize)]
struct Manifest {
    name: &'static str,
    short_name: &'static str,
    description: String,
    start_url: &'static str,
    scope: &'static str,
    display: &'static str,
    background_color: &'static str,
    theme_color: &'static str,
    icons: Vec<Image>,
    shortcuts: Vec<Shortcut>,
    screenshots: Vec<Image>,
}

#[derive(Serialize)]
struct Image {
    src: String,
    sizes: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    purpose: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    form_factor: Option<&'static str>,
}

#[derive(Serialize)]
struct Shortcut {
    name: String,
    description: String,
    url: String,
}

impl Manifest {
    fn to_json(&self) -> String {
        serde_json::to_string(self)
            .expect("plain structs with string keys always serialise")
    }
}

/// A manifest of exactly `bytes`; its description takes up what is left.
pub(crate) fn manifest(stream: &mut Stream, bytes: usize) -> String {
    let mut manifest = Manifest {
        name: "Arena Shop",
        short_name: "Arena",
        description: String::new(),
        start_url: "/?from=home",
        scope: "/",
        display: "standalone",
        background_color: "#ffffff",
        theme_color: "#1b1f3b",
        icons: ICONS.map(icon).into(),
        shortcuts: (0..6).map(|_| shortcut(stream)).collect(),
        screenshots: (1..=4).map(screenshot).collect(),
    };
    let left = bytes - manifest.to_json().len();
    manifest.description = text::prose_of(stream, left);
    manifest.to_json()
}

fn icon(pixels: u32) -> Image {
    Image {
        src: format!("/static/icons/icon-{pixels}.png"),
        sizes: format!("{pixels}x{pixels}"),
        kind: "image/png",
        purpose: Some(if pixels < 192 { "any" } else { "maskable" }),
        form_factor: None,
    }
}

fn shortcut(stream: &mut Stream) -> Shortcut {
    let (kind, noun) = (stream.pick(&ADJECTIVES), stream.pick(&NOUNS));
    Shortcut {
        name: format!("{} {noun}", text::capital(kind)),
        description: text::prose(stream, 8),
        url: format!("/{noun}?view={kind}"),
    }
}

fn screenshot(number: u32) -> Image {
    let (sizes, form) = if number % 2 == 1 {
        ("1280x720", "wide")
    } else {
        ("720x1280", "narrow")
    };
    Image {
        src: format!("/static/screenshots/screen-{number}.webp"),
        sizes: sizes.to_owned(),
        kind: "image/webp",
        purpose: None,
        form_factor: Some(form),
    }
}
