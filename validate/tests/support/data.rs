//! What the twin serves. The files have the names and types of the contract
//! and contents of their own: the judge only knows what its oracle is given.

use std::io::Write;
use std::sync::OnceLock;

use profiles::data::{Dataset, STATIC_FILES};
use profiles::oracle::Oracle;

pub struct File {
    pub name: &'static str,
    pub kinds: &'static [&'static str],
    pub compressed: bool,
    pub raw: Vec<u8>,
    pub gzip: Vec<u8>,
    pub brotli: Vec<u8>,
}

pub struct Data {
    pub dataset: Dataset,
    pub files: Vec<File>,
}

/// Made once for all tests of a binary.
pub fn data() -> &'static Data {
    static DATA: OnceLock<Data> = OnceLock::new();
    DATA.get_or_init(|| Data {
        dataset: Dataset::generate(),
        files: STATIC_FILES
            .iter()
            .map(|f| {
                let raw = contents(f.name, f.bytes / 4);
                File {
                    name: f.name,
                    kinds: f.content_types,
                    compressed: f.compressed,
                    gzip: gzip(&raw),
                    brotli: brotli(&raw),
                    raw,
                }
            })
            .collect(),
    })
}

/// The oracle over the same data.
pub fn oracle() -> &'static Oracle {
    static ORACLE: OnceLock<Oracle> = OnceLock::new();
    ORACLE.get_or_init(|| {
        let files = &data().files;
        Oracle::new(data().dataset.clone(), |name| {
            Some(files.iter().find(|f| f.name == name)?.raw.clone())
        })
    })
}

impl Data {
    /// The document of `items` items that claims to have `count`.
    pub fn document(
        &self,
        items: usize,
        count: usize,
        total: impl Fn(i64) -> i64,
    ) -> Vec<u8> {
        let items: Vec<String> = self.dataset.0[..items]
            .iter()
            .map(|item| {
                let mut text = serde_json::to_string(item).unwrap();
                text.pop();
                let product = i64::from(item.price * item.quantity);
                format!("{text},\"total\":{}}}", total(product))
            })
            .collect();
        let items = items.join(",");
        format!("{{\"items\":[{items}],\"count\":{count}}}").into_bytes()
    }
}

fn contents(name: &str, bytes: usize) -> Vec<u8> {
    let lines = (0..).map(|i| format!("{name} line {i} of {}\n", i * 7));
    let mut out = Vec::new();
    for line in lines {
        if out.len() >= bytes {
            break;
        }
        out.extend(line.into_bytes());
    }
    out.truncate(bytes);
    out
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::new(3);
    let mut out = flate2::write::GzEncoder::new(Vec::new(), level);
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

pub fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = brotli::CompressorWriter::new(&mut out, 4096, 2, 18);
    writer.write_all(bytes).unwrap();
    drop(writer);
    out
}
