//! The command line. Each flag says its unit and its default.

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};
use profiles::units::Span;

/// A multi-profile benchmark arena for HTTP servers and web frameworks.
#[derive(Debug, Parser)]
#[command(name = "arena", version = crate::cmd::bench::VERSION)]
#[command(max_term_width = 90)]
#[command(after_help = "Exit codes: 0 done, 1 our fault, 2 usage or a bad \
file, 3 an entry failed validation, 4 finished but some cases failed or are \
disqualified, 5 the rig is unfit.")]
pub struct Args {
    /// The checkout to work in; default: ARENA_ROOT, or the nearest one
    /// upwards.
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// No progress on stderr; warnings and errors stay.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List all profiles and entries, and which the tool can run.
    List(List),
    /// Say what this machine can and cannot measure, and why.
    Doctor(Doctor),
    /// Generate the data entries serve, or check it.
    Data(Data),
    /// Ask entries every probe of the profiles they subscribe to.
    Validate(Validate),
    /// Validate entries, fire their profiles, store and rank the results.
    Bench(Bench),
    /// Rank the results of one or more runs.
    Rank(Rank),
    /// Compare two entries of one run, or one entry of two runs.
    Compare(Compare),
    /// Fire one stored case again with its own seed.
    Replay(Replay),
    /// Build the leaderboard site.
    Site(Site),
    /// Remove containers and groups that dead runs left behind.
    Clean(Clean),
}

/// Where entries run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum HostName {
    /// A pinned child process.
    Local,
    /// A container with host network and limits.
    Docker,
}

/// How long and how often.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum PresetName {
    /// Does everything work: 1 round, 16 connections, 300ms.
    Smoke,
    /// A first look: 3 rounds, the lowest level, at most 512 connections,
    /// 1s.
    Quick,
    /// A fair comparison: 5 rounds, all levels, 5s.
    Standard,
    /// For publication: 7 rounds, all levels, each profile's own window.
    Full,
}

/// `arena list`.
#[derive(Debug, Group)]
pub struct List {
    /// One JSON document on stdout (schemas/list.json).
    #[arg(long)]
    pub json: bool,
}

/// `arena doctor`.
#[derive(Debug, Group)]
pub struct Doctor {
    /// One JSON document on stdout (schemas/doctor.json).
    #[arg(long)]
    pub json: bool,
}

/// `arena data`.
#[derive(Debug, Group)]
pub struct Data {
    /// Only compare what is there with the committed digests.
    #[arg(long)]
    pub check: bool,
}

/// `arena validate`.
#[derive(Debug, Group)]
pub struct Validate {
    /// Entries by name; needed unless --all or --rules is given.
    #[arg(value_name = "ENTRY", required_unless_present_any = ["all", "rules"])]
    pub entries: Vec<String>,
    /// Every enabled entry.
    #[arg(long)]
    pub all: bool,
    /// Only these profiles; may be repeated.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Vec<String>,
    /// Where entries run; default: docker where an engine answers, else local.
    #[arg(long, value_enum)]
    pub host: Option<HostName>,
    /// Where all inputs of the probes come from; default: drawn and printed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Validate a server that already runs: http://HOST has the ports of the
    /// contract, 8443=HOST:PORT puts one elsewhere; database=URL, auth=HOST:PORT,
    /// secret=TEXT, certificate=FILE and statics=DIR say what is beside it.
    /// May be repeated. Needs exactly one entry, which says what it serves.
    #[arg(long, value_name = "TARGET")]
    pub target: Vec<String>,
    /// Ask only this probe, once, and print every byte of the exchange; with
    /// --seed it asks what that run asked.
    #[arg(long, value_name = "PROBE")]
    pub replay: Option<String>,
    /// Print the rule of every probe and ask nothing.
    #[arg(long)]
    pub rules: bool,
    /// JSON on stdout: one document a line, one an entry
    /// (schemas/validate.json, and schemas/rules.json with --rules).
    #[arg(long)]
    pub json: bool,
}

/// `arena bench`.
#[derive(Clone, Debug, Group)]
pub struct Bench {
    /// Entries by name; default: all enabled ones.
    #[arg(value_name = "ENTRY")]
    pub entries: Vec<String>,
    /// Only these profiles; may be repeated.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Vec<String>,
    /// How long and how often.
    #[arg(long, value_enum, default_value = "quick")]
    pub preset: PresetName,
    /// Rounds; default: the preset's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// The measured interval of each shot, like 500ms or 5s; default: the
    /// preset's.
    #[arg(long, value_name = "TIME")]
    pub window: Option<Span>,
    /// Where entries run; default: docker where an engine answers, else local.
    #[arg(long, value_enum)]
    pub host: Option<HostName>,
    /// The seed of the order and of every request; default: drawn and stored.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Enter this entry a second time: how far apart the two come out is the
    /// noise floor, below which nothing is told apart. May be repeated.
    #[arg(long, value_name = "ENTRY")]
    pub aa: Vec<String>,
    /// Go on with this run, which was stopped or cut off: its shots that are
    /// not stored are fired. Needs the same entries, tools and machine.
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "entries", "profile", "preset", "rounds", "window", "host", "seed", "aa",
    ])]
    pub resume: Option<String>,
    /// Print the plan and fire nothing.
    #[arg(long)]
    pub list: bool,
    /// Build the site from this run when it is done.
    #[arg(long)]
    pub site: bool,
    /// Print the ranking as one JSON document (schemas/rank.json).
    #[arg(long)]
    pub json: bool,
}

/// `arena rank`.
#[derive(Debug, Group)]
pub struct Rank {
    /// Runs by id or folder; default: the newest.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub runs: Vec<String>,
    /// One JSON document on stdout (schemas/rank.json).
    #[arg(long)]
    pub json: bool,
}

/// `arena compare`.
#[derive(Debug, Group)]
pub struct Compare {
    /// An entry, or a run.
    pub a: String,
    /// Another entry, or another run.
    pub b: String,
    /// The run both entries are in; default: the newest.
    #[arg(long, value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// One JSON document on stdout (schemas/compare.json).
    #[arg(long)]
    pub json: bool,
}

/// `arena replay`.
#[derive(Debug, Group)]
pub struct Replay {
    /// The run, by id or folder.
    pub run: String,
    /// The case, as `entry/profile/level`: axum/json/512.
    pub case: String,
    /// The round whose shot is repeated.
    #[arg(long, default_value_t = 1)]
    pub round: u32,
}

/// `arena site`.
#[derive(Debug, Group)]
pub struct Site {
    /// What to do with the site.
    #[command(subcommand)]
    pub what: SiteWhat,
}

/// What to do with the site.
#[derive(Debug, Subcommand)]
pub enum SiteWhat {
    /// Write site/dist from stored runs.
    Build {
        /// Runs by id or folder; default: the newest.
        #[arg(value_name = "RUN", default_value = "latest")]
        runs: Vec<String>,
        /// The folder to write; default: site/dist of the checkout.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// `arena clean`.
#[derive(Debug, Group)]
pub struct Clean {}
