//! What a run shows on stderr while it goes on: one line a finished step,
//! and on a terminal a bar with the time left.

use std::io::IsTerminal as _;

use harness::runner::{Event, Observer};
use harness::show;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows events. Quiet, it shows only what is lost.
pub struct Progress {
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar only where somebody looks.
    pub fn new(quiet: bool) -> Progress {
        let bar = !quiet && std::io::stderr().is_terminal();
        Progress { quiet, bar: bar.then(ProgressBar::hidden) }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    fn step(&self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    fn length(&mut self, of: usize) {
        let Some(bar) = &self.bar else { return };
        if bar.length() == Some(of as u64) {
            return;
        }
        let form = "{bar:30} {pos}/{len} shots, {msg}";
        let bar = ProgressBar::new(of as u64);
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        self.bar = Some(bar);
    }
}

impl Observer for Progress {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Note(note) => self.step(&format!("note: {note}")),
            Event::Run { dir, .. } => {
                self.step(&format!("storing in {}", dir.display()));
            }
            Event::Building { entry } => {
                self.step(&format!("{entry}: building"));
            }
            Event::BuildLine { .. } | Event::Judging { .. } => {}
            Event::Judged { verdicts } => {
                let v = verdicts;
                if v.failed > 0 {
                    self.say(&format!(
                        "{}: {} probes FAILED; `arena validate {}` shows why",
                        v.entry, v.failed, v.entry
                    ));
                }
            }
            Event::Lost { entry, lost } => {
                let why = show::line(&lost.why);
                self.say(&format!("{entry}: lost ({}): {why}", lost.stage));
                let lines: Vec<&str> = lost.log_tail.lines().collect();
                for line in &lines[lines.len().saturating_sub(8)..] {
                    self.say(&format!("  | {}", show::line(line)));
                }
            }
            Event::Firing { of, .. } => self.length(*of),
            Event::Stored { record, done, of, left } => {
                if let Some(bar) = &self.bar {
                    bar.set_position(*done as u64);
                    bar.set_message(format!("{} left", show::time(*left)));
                }
                let shot = show::shot(record);
                self.step(&format!("[{done}/{of}] {shot}"));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
