//! The static files, read into memory once at start-up. A request is a look-up
//! by name, so it cannot reach anything but these.

use std::{collections::HashMap, fs, io, path::Path};

use crate::encoding::{Encoding, Weights};

/// One file and the siblings compressed beforehand that lie beside it.
struct Asset {
    content_type: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

#[derive(Default)]
pub struct Assets {
    by_name: HashMap<Vec<u8>, Asset>,
}

/// What is sent for a file.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub content_type: &'static str,
    pub encoding: Encoding,
    pub body: &'static [u8],
}

impl Assets {
    /// Reads every plain file of `dir`. A directory that is not there holds no
    /// files: it is mounted only where a profile needs it. Bodies are leaked:
    /// they are served until the end.
    pub fn load(dir: &Path) -> io::Result<Self> {
        let mut assets = Self::default();
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(assets),
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
                plain: fs::read(&path)?.leak(),
                gzip: read_sibling(&path, ".gz")?,
                brotli: read_sibling(&path, ".br")?,
            };
            assets.by_name.insert(name.into(), asset);
        }
        Ok(assets)
    }

    /// Finds the file as the coding the client likes best of those it exists
    /// in; brotli goes first, as the smaller.
    pub fn find(&self, name: &[u8], codings: &Weights) -> Option<Found> {
        let asset = self.by_name.get(name)?;
        let offered: &[Encoding] = match (asset.brotli, asset.gzip) {
            (Some(_), Some(_)) => &[Encoding::Brotli, Encoding::Gzip],
            (Some(_), None) => &[Encoding::Brotli],
            (None, Some(_)) => &[Encoding::Gzip],
            (None, None) => &[],
        };
        let encoding = codings.choose(offered);
        let packed = match encoding {
            Encoding::Brotli => asset.brotli,
            Encoding::Gzip => asset.gzip,
            Encoding::Identity => None,
        };
        Some(Found {
            content_type: asset.content_type,
            encoding,
            body: packed.unwrap_or(asset.plain),
        })
    }
}

fn read_sibling(
    path: &Path,
    suffix: &str,
) -> io::Result<Option<&'static [u8]>> {
    let mut sibling = path.as_os_str().to_owned();
    sibling.push(suffix);
    match fs::read(sibling) {
        Ok(body) => Ok(Some(body.leak())),
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
        assert!(assets.find(b"reset.css", &Weights::default()).is_none());
    }

    #[test]
    fn siblings_are_chosen_by_the_client_and_are_no_files_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("app.js"), "plain").unwrap();
        fs::write(dir.path().join("app.js.br"), "small").unwrap();
        let assets = Assets::load(dir.path()).unwrap();
        let mut codings = Weights::default();
        assert_eq!(assets.find(b"app.js", &codings).unwrap().body, b"plain");
        codings.note(b"br, gzip");
        let found = assets.find(b"app.js", &codings).unwrap();
        assert_eq!(found.content_type, "text/javascript");
        assert_eq!(
            (found.encoding, found.body),
            (Encoding::Brotli, &b"small"[..])
        );
        assert!(assets.find(b"app.js.br", &codings).is_none());
    }
}
