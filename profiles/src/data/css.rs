//! Style sheets: minified rules, media blocks and keyframes.

use super::stream::Stream;
use super::text::{self, Grain};
use super::words::ADJECTIVES;

const COLOURS: [&str; 8] = [
    "#fff", "#1b1f3b", "#53599a", "#6d9dc5", "#80ded9", "#aeecef", "#f4a259",
    "#bc4b51",
];

const COMMON: [&str; 10] = [
    "display:flex;align-items:center;justify-content:space-between",
    "display:grid;grid-template-columns:1fr 2fr;gap:16px",
    "position:absolute;inset:0;overflow:hidden",
    "margin:0 auto;max-width:1120px;padding:0 24px",
    "border:1px solid var(--line);border-radius:6px",
    "font:500 14px/1.5 var(--sans);color:var(--ink)",
    "white-space:nowrap;overflow:hidden;text-overflow:ellipsis",
    "transition:opacity .2s ease,transform .2s ease",
    "background:var(--paper);box-shadow:0 1px 3px rgba(0,0,0,.2)",
    "list-style:none;margin:0;padding:0",
];

const STATES: [&str; 8] = [
    ":hover",
    ":focus-visible",
    ":first-child",
    ":last-child",
    "::before",
    "::after",
    ":disabled",
    ":nth-child(2n)",
];

const TAGS: [&str; 10] =
    ["a", "button", "h1", "h2", "img", "input", "li", "p", "span", "ul"];

/// What a style sheet is made of, in a thousand pieces.
#[derive(Clone, Copy)]
pub(crate) struct Sheet {
    pub(crate) root: bool,
    pub(crate) keyframes: u32,
    pub(crate) media: u32,
    pub(crate) grain: Grain,
}

pub(crate) fn css(stream: &mut Stream, bytes: usize, sheet: Sheet) -> String {
    let mut out = String::from("@charset \"utf-8\";");
    if sheet.root {
        root(stream, &mut out);
    }
    text::fill(&mut out, bytes, sheet.grain, stream, |stream| {
        if stream.chance(sheet.keyframes) {
            keyframes(stream, sheet.grain)
        } else if stream.chance(sheet.media) {
            media(stream, sheet.grain)
        } else {
            rule(stream, sheet.grain)
        }
    });
    out
}

fn root(stream: &mut Stream, out: &mut String) {
    out.push_str(":root{--ink:#1b1f3b;--paper:#fff;--line:#d8dee9;");
    out.push_str("--sans:system-ui,sans-serif;");
    for name in ADJECTIVES {
        out.push_str(&format!("--{name}:{};", colour(stream)));
    }
    out.push('}');
}

fn colour(stream: &mut Stream) -> String {
    if stream.chance(800) {
        stream.pick(&COLOURS).to_owned()
    } else {
        format!("#{}", text::code(stream, "0123456789abcdef", 6))
    }
}

fn length(stream: &mut Stream) -> String {
    match stream.below(5) {
        0 => "0".to_owned(),
        1 => format!("{}px", stream.below(64)),
        2 => format!("{}px", 4 * stream.below(12)),
        3 => format!(".{}rem", stream.range(1, 9) * 125),
        _ => format!("{}%", stream.range(1, 100)),
    }
}

fn declaration(stream: &mut Stream) -> String {
    match stream.below(14) {
        0 => format!("color:{}", colour(stream)),
        1 => format!("background-color:{}", colour(stream)),
        2 => format!("padding:{} {}", length(stream), length(stream)),
        3 => format!("margin:{} {}", length(stream), length(stream)),
        4 => format!("width:{}", length(stream)),
        5 => format!("min-height:{}", length(stream)),
        6 => format!("font-size:{}px", stream.range(10, 48)),
        7 => format!("line-height:1.{}", stream.range(1, 8)),
        8 => format!("z-index:{}", stream.range(1, 400)),
        9 => format!("opacity:.{}", stream.range(1, 99)),
        10 => format!("border-radius:{}", length(stream)),
        11 => format!("transform:translate({},0)", length(stream)),
        12 => format!("flex:{} 1 {}", stream.below(4), length(stream)),
        _ => format!("border-color:var(--{})", stream.pick(&ADJECTIVES)),
    }
}

fn selector(stream: &mut Stream, grain: Grain) -> String {
    let mut selector = format!(".{}", text::kebab(stream, grain));
    if stream.chance(250) {
        selector.push_str("--");
        selector.push_str(stream.pick(&ADJECTIVES));
    }
    if stream.chance(300) {
        selector.push_str(stream.pick(&[">", " ", "+"]));
        selector.push_str(stream.pick(&TAGS));
    }
    if stream.chance(300) {
        selector.push_str(stream.pick(&STATES));
    }
    selector
}

fn rule(stream: &mut Stream, grain: Grain) -> String {
    let mut selectors = selector(stream, grain);
    while stream.chance(200) {
        selectors = format!("{selectors},{}", selector(stream, grain));
    }
    let mut body: Vec<String> = Vec::new();
    if stream.chance(400) {
        body.push(stream.pick(&COMMON).to_owned());
    }
    for _ in 0..stream.range(1, 5) {
        body.push(declaration(stream));
    }
    format!("{selectors}{{{}}}", body.join(";"))
}

fn media(stream: &mut Stream, grain: Grain) -> String {
    let side = stream.pick(&["min", "max"]);
    let width = stream.range(4, 16) * 80;
    let rules: String =
        (0..stream.range(3, 10)).map(|_| rule(stream, grain)).collect();
    format!("@media ({side}-width:{width}px){{{rules}}}")
}

fn keyframes(stream: &mut Stream, grain: Grain) -> String {
    let name = text::kebab(stream, grain);
    let from = declaration(stream);
    let middle = stream.range(20, 80);
    let half = declaration(stream);
    let to = declaration(stream);
    format!("@keyframes {name}{{0%{{{from}}}{middle}%{{{half}}}to{{{to}}}}}")
}
