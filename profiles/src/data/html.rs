//! Pages: a head that links the other assets, then cards, tables, lists,
//! navigation and forms.

use super::static_files::STATIC_FILES;
use super::stream::Stream;
use super::text::{self, Grain};
use super::words::{ADJECTIVES, NOUNS};

pub(crate) fn html(
    stream: &mut Stream,
    bytes: usize,
    title: &str,
    grain: Grain,
) -> String {
    const BEFORE: &str = "<p class=\"small\">";
    let mut out = head(title);
    let mut tail = String::from("</p>\n</main>\n");
    for name in names(".js") {
        tail.push_str(&format!("<script src=\"/static/{name}\"></script>\n"));
    }
    tail.push_str("</body>\n</html>\n");
    let most = bytes - BEFORE.len() - tail.len();
    text::fill_whole(&mut out, most, grain, stream, |stream| {
        match stream.below(100) {
            0..25 => card(stream, grain),
            25..45 => table(stream, grain),
            45..65 => list(stream, grain),
            65..75 => nav(stream, grain),
            75..85 => form(stream, grain),
            _ => section(stream, grain),
        }
    });
    // The last paragraph takes up what is left.
    let left = most - out.len();
    out + BEFORE + &text::prose_of(stream, left) + &tail
}

fn names(ending: &str) -> impl Iterator<Item = &'static str> {
    let names = STATIC_FILES.iter().map(|file| file.name);
    names.filter(move |name| name.ends_with(ending))
}

fn head(title: &str) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n\
         <meta charset=\"utf-8\">\n<title>{title}</title>\n"
    );
    for name in names(".css") {
        out.push_str("<link rel=\"stylesheet\" href=\"/static/");
        out.push_str(name);
        out.push_str("\">\n");
    }
    out.push_str(
        "<link rel=\"icon\" href=\"/static/logo.svg\">\n\
         <link rel=\"manifest\" href=\"/static/manifest.json\">\n\
         </head>\n<body>\n<main>\n",
    );
    out
}

fn link(stream: &mut Stream, grain: Grain) -> String {
    let path = text::kebab(stream, grain);
    let words = stream.range(1, 3);
    let label = text::prose(stream, words);
    format!("<a class=\"link\" href=\"/{path}\">{label}</a>")
}

fn card(stream: &mut Stream, grain: Grain) -> String {
    let kind = stream.pick(&ADJECTIVES);
    let image = stream.pick(&["hero", "thumb1", "thumb2"]);
    let title = text::prose(stream, 3);
    let words = stream.range(6, 18);
    let about = text::prose(stream, words);
    let link = link(stream, grain);
    format!(
        "<article class=\"card card--{kind}\">\n  \
         <img src=\"/static/{image}.webp\" alt=\"\" loading=\"lazy\">\n  \
         <h3 class=\"card-title\">{title}</h3>\n  \
         <p class=\"card-text\">{about}.</p>\n  {link}\n</article>\n"
    )
}

fn table(stream: &mut Stream, grain: Grain) -> String {
    let mut out = String::from("<table class=\"table\">\n");
    for _ in 0..stream.range(3, 8) {
        let name = text::kebab(stream, grain);
        let price = stream.range(100, 99_999);
        let (whole, cents) = (price / 100, price % 100);
        let count = stream.below(500);
        out.push_str(&format!(
            "  <tr class=\"table-row\"><td>{name}</td>\
             <td class=\"num\">{whole}.{cents:02}</td>\
             <td class=\"num\">{count}</td></tr>\n"
        ));
    }
    out + "</table>\n"
}

fn list(stream: &mut Stream, grain: Grain) -> String {
    let mut out = String::from("<ul class=\"list\">\n");
    for _ in 0..stream.range(3, 8) {
        let link = link(stream, grain);
        out.push_str(&format!("  <li class=\"list-row\">{link}</li>\n"));
    }
    out + "</ul>\n"
}

fn nav(stream: &mut Stream, grain: Grain) -> String {
    let mut out = String::from("<nav class=\"nav\" aria-label=\"Main\">\n");
    for _ in 0..stream.range(3, 6) {
        out.push_str(&format!("  {}\n", link(stream, grain)));
    }
    out + "</nav>\n"
}

fn form(stream: &mut Stream, grain: Grain) -> String {
    let action = text::kebab(stream, grain);
    let mut out = format!("<form method=\"post\" action=\"/{action}\">\n");
    for _ in 0..stream.range(2, 5) {
        let field = stream.pick(&NOUNS);
        let kind = stream.pick(&["text", "email", "number", "search"]);
        let label = text::prose(stream, 2);
        out.push_str(&format!(
            "  <label for=\"{field}\">{label}</label>\
             <input id=\"{field}\" name=\"{field}\" type=\"{kind}\">\n"
        ));
    }
    out + "  <button type=\"submit\" class=\"button\">Send</button>\n</form>\n"
}

fn section(stream: &mut Stream, grain: Grain) -> String {
    let id = text::kebab(stream, grain);
    let title = text::prose(stream, 4);
    let words = stream.range(10, 30);
    let about = text::prose(stream, words);
    format!(
        "<section id=\"{id}\" class=\"section\"><div class=\"section-body\">\n  \
         <h2>{title}</h2>\n  <p>{about}.</p>\n</div></section>\n"
    )
}
