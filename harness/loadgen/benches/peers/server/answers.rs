//! The right answers of the contract, worked out for every request anew.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::Path;

use profiles::data::{Dataset, STATIC_FILES, StaticFile};

/// What every protocol here answers from.
pub struct Answers {
    /// Each item as JSON up to its total, and price times quantity.
    items: Vec<(String, i64)>,
    files: HashMap<&'static str, File>,
}

struct File {
    content_type: &'static str,
    raw: Vec<u8>,
    brotli: Option<Vec<u8>>,
}

/// A request, whatever protocol it came by.
pub struct Question<'a> {
    pub target: &'a str,
    pub body: &'a [u8],
    pub takes_brotli: bool,
}

/// The answer to one.
#[derive(Debug)]
pub struct Answer<'a> {
    pub status: u16,
    pub content_type: &'static str,
    pub content_encoding: Option<&'static str>,
    pub body: &'a [u8],
}

impl Answers {
    /// With the static files of a data folder, if it has any.
    pub fn new(dir: Option<&Path>) -> io::Result<Answers> {
        let items = Dataset::generate()
            .0
            .iter()
            .map(|item| {
                let json = serde_json::to_string(item)?;
                let open = json.trim_end_matches('}').len();
                // The rating closes with one brace of its own.
                let text = format!("{}}},\"total\":", &json[..open]);
                let cost = i64::from(item.price) * i64::from(item.quantity);
                Ok((text, cost))
            })
            .collect::<Result<_, serde_json::Error>>()?;
        let mut files = HashMap::new();
        if let Some(dir) = dir {
            for file in &STATIC_FILES {
                files.insert(file.name, File::read(dir, file)?);
            }
        }
        Ok(Answers { items, files })
    }

    /// The answer to `question`; small ones are written into `scratch`.
    pub fn answer<'a>(
        &'a self,
        question: &Question<'_>,
        scratch: &'a mut Vec<u8>,
    ) -> Answer<'a> {
        scratch.clear();
        let (path, query) =
            question.target.split_once('?').unwrap_or((question.target, ""));
        let mut answer = Answer {
            status: 200,
            content_type: "text/plain",
            content_encoding: None,
            body: b"",
        };
        if let Some(name) = path.strip_prefix("/static/")
            && let Some(file) = self.files.get(name)
        {
            answer.content_type = file.content_type;
            answer.body = &file.raw;
            if let Some(brotli) = &file.brotli
                && question.takes_brotli
            {
                answer.content_encoding = Some("br");
                answer.body = brotli;
            }
            return answer;
        }
        let written = match path {
            "/pipeline" => scratch.write_all(b"ok"),
            "/baseline11" | "/baseline2" => {
                let sum = number(query, "a=")
                    .wrapping_add(number(query, "b="))
                    .wrapping_add(integer(question.body));
                write!(scratch, "{sum}")
            }
            "/upload" => write!(scratch, "{}", question.body.len()),
            _ => match path.strip_prefix("/json/").map(str::parse) {
                Some(Ok(count)) => {
                    answer.content_type = "application/json";
                    self.json(count, query, scratch)
                }
                _ => {
                    answer.status = 404;
                    Ok(())
                }
            },
        };
        // Writing to a Vec cannot fail.
        debug_assert!(written.is_ok());
        answer.body = scratch;
        answer
    }

    fn json(
        &self,
        count: usize,
        query: &str,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let count = count.min(self.items.len());
        let m = if query.is_empty() { 1 } else { number(query, "m=") };
        out.extend_from_slice(b"{\"items\":[");
        for (i, (text, cost)) in self.items[..count].iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(text.as_bytes());
            write!(out, "{}}}", cost * m)?;
        }
        write!(out, "],\"count\":{count}}}")
    }
}

impl File {
    fn read(dir: &Path, file: &StaticFile) -> io::Result<File> {
        let path = dir.join("static").join(file.name);
        let raw = std::fs::read(&path)?;
        let brotli = file.compressed.then(|| {
            std::fs::read(path.with_file_name(format!("{}.br", file.name)))
        });
        let content_type = file.content_types[0];
        Ok(File { content_type, raw, brotli: brotli.transpose()? })
    }
}

/// The value of the parameter that `key` names with its equals sign.
fn number(query: &str, key: &str) -> i64 {
    let value = query.split('&').find_map(|pair| pair.strip_prefix(key));
    value.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn integer(body: &[u8]) -> i64 {
    let text = std::str::from_utf8(body).unwrap_or("");
    text.trim().parse().unwrap_or(0)
}
