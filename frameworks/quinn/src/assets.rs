//! The static files, read into memory once at start-up. A request is a look-up
//! by name, so it cannot reach anything but these.

use std::{collections::HashMap, fs, io, path::Path};

use bytes::Bytes;

use crate::encoding::Encoding;

/// One file and the siblings compressed beforehand that lie beside it.
struct Asset {
    content_type: &'static str,
    plain: Bytes,
    gzip: Option<Bytes>,
    brotli: Option<Bytes>,
}

pub struct Assets {
    by_name: HashMap<String, Asset>,
}

/// What is sent for a file.
pub struct Found {
    pub content_type: &'static str,
    pub encoding: Encoding,
    pub body: Bytes,
}

impl Assets {
    /// Reads every plain file of `dir`. A directory that is not there holds no
    /// files: it is mounted only where a profile needs it.
    pub fn load(dir: &Path) -> io::Result<Self> {
        let mut by_name = HashMap::new();
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { by_name });
            }
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(name) = name.filter(|_| path.is_file()) else { continue };
            if name.ends_with(".gz") || name.ends_with(".br") {
                continue;
            }
            let asset = Asset {
                content_type: content_type(name),
                plain: fs::read(&path)?.into(),
                gzip: read_sibling(&path, ".gz")?,
                brotli: read_sibling(&path, ".br")?,
            };
            by_name.insert(name.to_owned(), asset);
        }
        Ok(Self { by_name })
    }

    /// Finds the file as one of the encodings it exists in. `choose` gets
    /// those, the smallest first, and names one of them or `Identity`.
    pub fn find(
        &self,
        name: &str,
        choose: impl FnOnce(&[Encoding]) -> Encoding,
    ) -> Option<Found> {
        let asset = self.by_name.get(name)?;
        let offered: &[Encoding] = match (&asset.brotli, &asset.gzip) {
            (Some(_), Some(_)) => &[Encoding::Brotli, Encoding::Gzip],
            (Some(_), None) => &[Encoding::Brotli],
            (None, Some(_)) => &[Encoding::Gzip],
            (None, None) => &[],
        };
        let encoding = choose(offered);
        let packed = match encoding {
            Encoding::Brotli => asset.brotli.as_ref(),
            Encoding::Gzip => asset.gzip.as_ref(),
            Encoding::Identity => None,
        };
        Some(Found {
            content_type: asset.content_type,
            encoding,
            body: packed.unwrap_or(&asset.plain).clone(),
        })
    }
}

fn read_sibling(path: &Path, suffix: &str) -> io::Result<Option<Bytes>> {
    let mut sibling = path.as_os_str().to_owned();
    sibling.push(suffix);
    match fs::read(sibling) {
        Ok(body) => Ok(Some(body.into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "css" => "text/css",
        "js" => "text/javascript",
        "html" => "text/html",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_holds_no_files() {
        let assets = Assets::load(Path::new("/nowhere/at/all")).unwrap();
        assert!(assets.find("reset.css", |_| Encoding::Identity).is_none());
    }

    #[test]
    fn siblings_are_offered_and_are_no_files_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("app.js"), "plain").unwrap();
        fs::write(dir.path().join("app.js.br"), "small").unwrap();
        fs::write(dir.path().join("bold.woff2"), "font").unwrap();
        let assets = Assets::load(dir.path()).unwrap();

        let script = assets.find("app.js", |offered| {
            assert_eq!(offered, [Encoding::Brotli]);
            Encoding::Brotli
        });
        let script = script.unwrap();
        assert_eq!(script.content_type, "text/javascript");
        assert_eq!(script.body, "small");

        let font = assets.find("bold.woff2", |offered| {
            assert!(offered.is_empty());
            Encoding::Identity
        });
        assert_eq!(font.unwrap().body, "font");
        assert!(assets.find("app.js.br", |_| Encoding::Identity).is_none());
    }
}
