//! Drawings: a logo that is a complete document, and a sheet of symbols.

use super::stream::Stream;
use super::text::{self, Grain};
use super::words::{ADJECTIVES, NOUNS};

const OPEN: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" \
                    viewBox=\"0 0 512 512\">\n";

/// A symbol sheet, cut at `bytes`.
pub(crate) fn sprite(
    stream: &mut Stream,
    bytes: usize,
    grain: Grain,
) -> String {
    let mut out = String::from(OPEN);
    let mut number = 0;
    text::fill(&mut out, bytes, grain, stream, |stream| {
        number += 1;
        let noun = NOUNS[number % NOUNS.len()];
        let kind = stream.pick(&ADJECTIVES);
        let drawing = path(stream, 64);
        format!(
            "<symbol id=\"{noun}-{kind}\" viewBox=\"0 0 64 64\">\
             <path fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" \
             d=\"{drawing}\"/></symbol>\n"
        )
    });
    out
}

/// A well-formed drawing of exactly `bytes`: shapes, and a description that
/// takes up what is left.
pub(crate) fn logo(stream: &mut Stream, bytes: usize, grain: Grain) -> String {
    const BEFORE: &str = "<desc>";
    const AFTER: &str = "</desc>\n</svg>\n";
    let mut out = String::from(OPEN);
    for number in 1..=4 {
        let (from, to) = (colour(stream), colour(stream));
        out.push_str(&format!(
            "<linearGradient id=\"g{number}\"><stop stop-color=\"{from}\"/>\
             <stop offset=\"1\" stop-color=\"{to}\"/></linearGradient>\n"
        ));
    }
    let most = bytes - BEFORE.len() - AFTER.len();
    text::fill_whole(&mut out, most, grain, stream, shape);
    let left = most - out.len();
    out + BEFORE + &text::prose_of(stream, left) + AFTER
}

fn colour(stream: &mut Stream) -> String {
    format!("#{}", text::code(stream, "0123456789abcdef", 6))
}

fn shape(stream: &mut Stream) -> String {
    let fill = stream.range(1, 4);
    let (x, y) = (stream.below(512), stream.below(512));
    match stream.below(4) {
        0 => {
            let r = stream.range(2, 60);
            format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" \
                 fill=\"url(#g{fill})\"/>\n"
            )
        }
        1 => {
            let (w, h) = (stream.range(4, 90), stream.range(4, 90));
            format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" \
                 fill=\"url(#g{fill})\"/>\n"
            )
        }
        2 => {
            let label = stream.pick(&NOUNS);
            format!(
                "<text x=\"{x}\" y=\"{y}\" font-size=\"14\" \
                 text-anchor=\"middle\">{label}</text>\n"
            )
        }
        _ => {
            let drawing = path(stream, 24);
            format!("<path fill=\"url(#g{fill})\" d=\"{drawing}\"/>\n")
        }
    }
}

/// Path data with whole-number coordinates below `size`.
fn path(stream: &mut Stream, size: u32) -> String {
    let mut out = format!("M{} {}", stream.below(size), stream.below(size));
    for _ in 0..stream.range(3, 9) {
        let step = stream.pick(&["l", "L", "h", "v", "c", "a"]);
        let (a, b) = (stream.below(size), stream.below(size));
        let (c, d) = (stream.below(size), stream.below(size));
        out.push_str(&match step {
            "h" | "v" => format!("{step}{a}"),
            "c" => format!("c{a} 0 {b} {c} {d} {c}"),
            "a" => format!("a{a} {a} 0 0 1 {c} {d}"),
            _ => format!("{step}{a} {b}"),
        });
    }
    out + "z"
}
