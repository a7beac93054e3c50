//! Scripts: imports, then minified functions, classes, tables and modules.

use super::stream::Stream;
use super::text::{self, Grain};
use super::words::{ADJECTIVES, NOUNS, VERBS};

const RUNTIME: &str = "const modules=Object.create(null),ready=new Map;\
function define(id,run){modules[id]=run}function need(id){\
if(ready.has(id))return ready.get(id);const self={exports:{}};\
ready.set(id,self.exports);modules[id](self,self.exports,need);\
return self.exports}";

const STRINGS: [&str; 12] = [
    "click",
    "change",
    "submit",
    "error",
    "object",
    "function",
    "pending",
    "done",
    "data-state",
    "aria-hidden",
    "utf-8",
    "application/json",
];

pub(crate) fn js(stream: &mut Stream, bytes: usize, grain: Grain) -> String {
    let mut out = String::new();
    for _ in 0..31 {
        let (verb, noun) = (stream.pick(&VERBS), stream.pick(&NOUNS));
        let from = text::kebab(stream, grain);
        let name = text::capital(noun);
        out.push_str(&format!("import{{{verb}{name}}}from\"./{from}.js\";"));
    }
    out.push_str(RUNTIME);
    text::fill(&mut out, bytes, grain, stream, |stream| {
        match stream.below(100) {
            0..30 => function(stream, grain),
            30..45 => class(stream, grain),
            45..60 => table(stream, grain),
            60..75 => module(stream, grain),
            75..90 => component(stream, grain),
            _ => wrapped(stream, grain),
        }
    });
    out
}

/// A camel-case name of one verb and one noun.
fn name(stream: &mut Stream, grain: Grain) -> String {
    let noun = text::capital(stream.pick(&NOUNS));
    let mut name = format!("{}{noun}", stream.pick(&VERBS));
    if stream.chance(grain.hashed) {
        name = format!("{name}${}", text::hash(stream));
    }
    name
}

/// A minified variable.
fn letter(stream: &mut Stream) -> String {
    text::code(stream, "abcdefghijklmnopqrstuvwxyz", 1)
}

fn string(stream: &mut Stream) -> String {
    match stream.below(4) {
        0 | 1 => format!("\"{}\"", stream.pick(&STRINGS)),
        2 => {
            format!("\"{} {}\"", stream.pick(&ADJECTIVES), stream.pick(&NOUNS))
        }
        _ => format!("\"{}\"", stream.pick(&NOUNS)),
    }
}

fn value(stream: &mut Stream, grain: Grain) -> String {
    match stream.below(7) {
        0 => stream.below(1000).to_string(),
        1 => string(stream),
        2 => "null".to_owned(),
        3 => stream.pick(&["!0", "!1"]).to_owned(),
        4 => format!("{}.{}", letter(stream), stream.pick(&NOUNS)),
        5 => format!("[{},{}]", letter(stream), stream.below(64)),
        _ => format!("{}({})", name(stream, grain), letter(stream)),
    }
}

fn statement(stream: &mut Stream, grain: Grain) -> String {
    let a = letter(stream);
    match stream.below(9) {
        0 => format!("const {a}={};", value(stream, grain)),
        1 => format!("if(!{a})return {};", value(stream, grain)),
        2 => format!("{a}.{}={};", stream.pick(&NOUNS), value(stream, grain)),
        3 => format!(
            "for(let {a}=0;{a}<{}.length;{a}++)this.{}({a},{});",
            letter(stream),
            stream.pick(&VERBS),
            value(stream, grain)
        ),
        4 => format!("{}({a},{});", name(stream, grain), value(stream, grain)),
        5 => format!(
            "{a}.addEventListener({},{}=>{}({}));",
            string(stream),
            letter(stream),
            name(stream, grain),
            value(stream, grain)
        ),
        6 => format!("try{{{}({a})}}catch{{}}", name(stream, grain)),
        7 => format!(
            "{a}={}?{}:{};",
            letter(stream),
            value(stream, grain),
            value(stream, grain)
        ),
        _ => format!(
            "await {}({},{{{}:{}}});",
            name(stream, grain),
            string(stream),
            stream.pick(&NOUNS),
            value(stream, grain)
        ),
    }
}

fn block(stream: &mut Stream, grain: Grain, most: u32) -> String {
    let count = stream.range(2, most);
    (0..count).map(|_| statement(stream, grain)).collect()
}

fn function(stream: &mut Stream, grain: Grain) -> String {
    let kind = stream.pick(&["function", "async function"]);
    let name = name(stream, grain);
    let (a, b) = (letter(stream), letter(stream));
    let body = block(stream, grain, 7);
    format!("{kind} {name}({a},{b}){{{body}return {a}}}")
}

fn class(stream: &mut Stream, grain: Grain) -> String {
    let noun = text::capital(stream.pick(&NOUNS));
    let kind = text::capital(stream.pick(&ADJECTIVES));
    let methods: String = (0..stream.range(2, 5))
        .map(|_| {
            let verb = stream.pick(&VERBS);
            let a = letter(stream);
            format!("{verb}({a}){{{}}}", block(stream, grain, 4))
        })
        .collect();
    format!("class {kind}{noun} extends {noun}{{{methods}}}")
}

fn table(stream: &mut Stream, grain: Grain) -> String {
    let name = name(stream, grain);
    let rows: Vec<String> = (0..stream.range(4, 12))
        .map(|_| {
            let key = stream.pick(&NOUNS);
            format!("{key}:{}", value(stream, grain))
        })
        .collect();
    format!("const {name}={{{}}};", rows.join(","))
}

fn module(stream: &mut Stream, grain: Grain) -> String {
    let id = stream.range(1000, 9999);
    let body = block(stream, grain, 8);
    let name = name(stream, grain);
    format!("define({id},(e,t,n)=>{{{body}t.{name}=n({id})}});")
}

fn component(stream: &mut Stream, grain: Grain) -> String {
    let name = text::capital(&name(stream, grain));
    let class = text::kebab(stream, grain);
    let noun = stream.pick(&NOUNS);
    let body = block(stream, grain, 4);
    format!(
        "const {name}=({{{noun}:e,...t}})=>{{{body}return h(\"div\",\
         {{className:\"{class}\",...t}},e)}};"
    )
}

fn wrapped(stream: &mut Stream, grain: Grain) -> String {
    format!("(()=>{{{}}})();", block(stream, grain, 6))
}
