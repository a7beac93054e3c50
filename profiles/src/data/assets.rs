//! Which generator makes which static file, and with how much chance in it.

use super::css::{Sheet, css};
use super::html::html;
use super::js::js;
use super::manifest::manifest;
use super::static_files::StaticFile;
use super::stream::Stream;
use super::text::Grain;
use super::{binary, svg};

/// The bytes of `file`. The grains are chosen so that each file compresses
/// about as well as the one of the same name in the contract's table.
pub(crate) fn contents(file: &StaticFile) -> Vec<u8> {
    let mut stream = Stream::named(file.name);
    let (stream, bytes) = (&mut stream, file.bytes);
    let grain = |repeat, hashed| Grain { repeat, hashed };
    let sheet =
        |root, keyframes, media, grain| Sheet { root, keyframes, media, grain };
    let text = match file.name {
        "reset.css" => css(stream, bytes, sheet(true, 0, 0, grain(0, 350))),
        "layout.css" => css(stream, bytes, sheet(false, 0, 200, grain(0, 80))),
        "theme.css" => css(stream, bytes, sheet(true, 40, 0, grain(0, 200))),
        "components.css" => {
            css(stream, bytes, sheet(false, 40, 100, grain(40, 0)))
        }
        "utilities.css" => {
            css(stream, bytes, sheet(false, 0, 100, grain(0, 0)))
        }
        "analytics.js" => js(stream, bytes, grain(90, 0)),
        "helpers.js" => js(stream, bytes, grain(110, 0)),
        "app.js" => js(stream, bytes, grain(170, 0)),
        "vendor.js" => js(stream, bytes, grain(190, 0)),
        "router.js" => js(stream, bytes, grain(140, 0)),
        "header.html" => html(stream, bytes, "Header", grain(540, 0)),
        "footer.html" => html(stream, bytes, "Footer", grain(190, 0)),
        "logo.svg" => svg::logo(stream, bytes, grain(0, 0)),
        "icon-sprite.svg" => svg::sprite(stream, bytes, grain(0, 0)),
        "manifest.json" => manifest(stream, bytes),
        name if name.ends_with(".woff2") => {
            return binary::woff2(stream, bytes);
        }
        _ => return binary::webp(stream, bytes),
    };
    text.into_bytes()
}
