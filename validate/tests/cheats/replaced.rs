//! Servers of static files that do not look at the disk.

use profiles::entry::Type;
use profiles::profile::Profile;
use profiles::verdict::Verdict;
use validate::{Options, Target, validate};

use crate::folder::{Folder, Keeps};
use crate::gallery;
use crate::row::{Row, Running};
use crate::support::{data, profiles};

const STATIC: &[&str] = &["static"];

impl Running for Folder {
    fn target(&self) -> Target {
        Folder::target(self)
    }
}

fn start(keeps: Keeps) -> Box<dyn Running> {
    Box::new(Folder::start(keeps))
}

pub fn rows() -> Vec<Row> {
    [Keeps::FromStart, Keeps::FromFirstRead, Keeps::Coded]
        .into_iter()
        .map(|keeps| Row {
            name: format!("Keeps{keeps:?}"),
            profiles: STATIC,
            start: Box::new(move || start(keeps)),
            honest: || start(Keeps::Nothing),
            named: vec!["static.replaced"],
            others: vec![],
        })
        .collect()
}

/// What the probe alone comes to.
fn replaced(server: &Folder, options: Options<'_>) -> Verdict {
    let profiles = profiles(STATIC);
    let profiles: Vec<&Profile> = profiles.iter().collect();
    let options = Options { only: Some("static.replaced"), ..options };
    let name = "twin".parse().unwrap();
    let (target, oracle) = (server.target(), data::oracle());
    let verdicts =
        validate(&name, "sha256:0", &target, &profiles, oracle, &options);
    verdicts.probes[0].verdict
}

#[test]
fn servers_that_read_files_anew_pass_and_find_them_as_they_were() {
    for seed in 1..=50 {
        let keeps = match seed % 10 {
            0 => Keeps::ASecond,
            _ => Keeps::Nothing,
        };
        let server = Folder::start(keeps);
        let options = gallery::options(seed);
        assert_eq!(replaced(&server, options), Verdict::Pass, "seed {seed}");
        assert!(server.is_whole(), "seed {seed}");
    }
}

#[test]
fn a_file_is_put_back_when_the_server_never_shows_the_new_one() {
    let server = Folder::start(Keeps::FromStart);
    assert_eq!(replaced(&server, gallery::options(3)), Verdict::Fail);
    assert!(server.is_whole());
}

#[test]
fn types_that_may_keep_files_in_memory_are_not_asked() {
    for kind in [Type::Tuned, Type::Engine] {
        let server = Folder::start(Keeps::FromStart);
        let options = Options { kind, ..gallery::options(4) };
        assert_eq!(replaced(&server, options), Verdict::Skip);
    }
}
