//! The 20 static files: names, sizes and content types of the contract.

use super::assets;

/// One file under `/static/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticFile {
    /// Name below `/static/`.
    pub name: &'static str,
    /// Exact size, uncompressed.
    pub bytes: usize,
    /// Content types a server may send, best first; parameters aside.
    pub content_types: &'static [&'static str],
    /// Whether `<name>.gz` and `<name>.br` stand beside it.
    pub compressed: bool,
}

const CSS: &[&str] = &["text/css"];
const JS: &[&str] = &["application/javascript", "text/javascript"];
const HTML: &[&str] = &["text/html"];
const WOFF2: &[&str] = &["font/woff2"];
const SVG: &[&str] = &["image/svg+xml"];
const WEBP: &[&str] = &["image/webp"];
const JSON: &[&str] = &["application/json"];

const fn text(
    name: &'static str,
    bytes: usize,
    content_types: &'static [&'static str],
) -> StaticFile {
    StaticFile { name, bytes, content_types, compressed: true }
}

const fn binary(
    name: &'static str,
    bytes: usize,
    content_types: &'static [&'static str],
) -> StaticFile {
    StaticFile { name, bytes, content_types, compressed: false }
}

/// All static files, in the order of the contract's table.
pub const STATIC_FILES: [StaticFile; 20] = [
    text("reset.css", 8_192, CSS),
    text("layout.css", 25_600, CSS),
    text("theme.css", 18_432, CSS),
    text("components.css", 204_800, CSS),
    text("utilities.css", 61_440, CSS),
    text("analytics.js", 12_288, JS),
    text("helpers.js", 22_528, JS),
    text("app.js", 204_800, JS),
    text("vendor.js", 307_200, JS),
    text("router.js", 35_840, JS),
    text("header.html", 122_880, HTML),
    text("footer.html", 56_320, HTML),
    binary("regular.woff2", 18_432, WOFF2),
    binary("bold.woff2", 22_528, WOFF2),
    text("logo.svg", 15_344, SVG),
    text("icon-sprite.svg", 71_680, SVG),
    binary("hero.webp", 46_080, WEBP),
    binary("thumb1.webp", 8_192, WEBP),
    binary("thumb2.webp", 6_144, WEBP),
    text("manifest.json", 2_883, JSON),
];

impl StaticFile {
    /// The file called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        STATIC_FILES.iter().find(|file| file.name == name)
    }

    /// The file itself, uncompressed. Made anew by each call, in milliseconds.
    #[must_use]
    pub fn contents(&self) -> Vec<u8> {
        assets::contents(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_adds_up_to_the_published_totals() {
        let sum = |compressed| {
            let of_kind =
                STATIC_FILES.iter().filter(|f| f.compressed == compressed);
            of_kind.map(|file| file.bytes).sum::<usize>()
        };
        assert_eq!(sum(true), 1_170_227);
        assert_eq!(sum(false), 101_376);
    }

    #[test]
    fn a_file_is_found_by_its_whole_name_only() {
        assert_eq!(StaticFile::named("app.js"), Some(&STATIC_FILES[7]));
        assert_eq!(StaticFile::named("app"), None);
    }
}
