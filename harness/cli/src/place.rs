//! Where things are: the checkout, the cache, the results.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use harness::host::local::cache_dir;
use profiles::catalog::Catalog;

use crate::exit::{Class, fail};

/// The folders of one call.
#[derive(Clone, Debug)]
pub struct Place {
    /// The checkout.
    pub root: PathBuf,
    /// What may be deleted at any time: data, builds.
    pub cache: PathBuf,
}

impl Place {
    /// `--root` or ARENA_ROOT, else the nearest folder upwards that is a
    /// checkout.
    pub fn find(root: Option<&Path>) -> anyhow::Result<Place> {
        let root = match root {
            Some(root) => root.to_path_buf(),
            None => upwards()?,
        };
        let root = root.canonicalize().with_context(|| {
            format!("{}: name a checkout with --root", root.display())
        })?;
        // Entries are started in folders of their own, so it must be absolute.
        let cache = std::path::absolute(cache_dir())
            .context("the cache folder; set ARENA_CACHE")?;
        Ok(Place { root, cache })
    }

    /// The folder of the generated data.
    pub fn data(&self) -> PathBuf {
        self.cache.join("data")
    }

    /// The folder of all runs.
    pub fn results(&self) -> PathBuf {
        self.root.join("results")
    }

    /// The folder of the built site.
    pub fn site(&self) -> PathBuf {
        self.root.join("site/dist")
    }

    /// One run by id, by path, or the newest for `latest`.
    pub fn run(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = Path::new(name);
        if path.join("run.json").is_file() {
            return Ok(path.to_path_buf());
        }
        let under = self.results().join(name);
        if name != "latest" && under.join("run.json").is_file() {
            return Ok(under);
        }
        let runs = self.runs();
        match runs.last() {
            Some(newest) if name == "latest" => Ok(newest.clone()),
            _ => {
                let known: Vec<String> = runs
                    .iter()
                    .rev()
                    .take(5)
                    .filter_map(|r| r.file_name())
                    .map(|r| r.to_string_lossy().into_owned())
                    .collect();
                Err(fail(
                    Class::Usage,
                    if known.is_empty() {
                        format!(
                            "no run `{name}`: no run yet; `arena bench` makes one"
                        )
                    } else {
                        format!(
                            "no run `{name}` in {}; the newest are: {}",
                            self.results().display(),
                            known.join(", ")
                        )
                    },
                ))
            }
        }
    }

    /// All runs, oldest first: their ids begin with the time.
    pub fn runs(&self) -> Vec<PathBuf> {
        let list = std::fs::read_dir(self.results());
        let mut runs: Vec<PathBuf> = list
            .into_iter()
            .flatten()
            .flatten()
            .map(|item| item.path())
            .filter(|path| path.join("run.json").is_file())
            .collect();
        runs.sort();
        runs
    }

    /// The catalog of the checkout. Entries that do not load are reported on
    /// stderr and make the second value false.
    pub fn catalog(&self) -> anyhow::Result<(Catalog, bool)> {
        let catalog = Catalog::load(&self.root)?;
        for bad in &catalog.bad {
            eprintln!("arena: bad entry: {bad}");
        }
        let whole = catalog.bad.is_empty();
        Ok((catalog, whole))
    }
}

fn upwards() -> anyhow::Result<PathBuf> {
    if let Some(root) = env::var_os("ARENA_ROOT") {
        return Ok(root.into());
    }
    let here = env::current_dir().context("the current folder")?;
    here.ancestors()
        .find(|dir| dir.join("profiles/defs").is_dir())
        .map(Path::to_path_buf)
        .ok_or_else(|| {
            fail(
                Class::Usage,
                format!(
                    "{} is not inside a checkout of the arena; go there or \
                     name one with --root",
                    here.display()
                ),
            )
        })
}
