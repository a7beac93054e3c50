//! Filters that need no script: they hide rows and change nothing else.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use profiles::record::Contestant;

use crate::cells::letter;
use crate::format;

/// The filters of one page.
pub struct Filters {
    kinds: BTreeSet<String>,
    languages: Vec<String>,
    engines: Vec<String>,
}

impl Filters {
    /// Filters that can hide at least one of these entries.
    pub fn of<'a>(entries: impl Iterator<Item = &'a Contestant>) -> Self {
        let (mut kinds, mut languages, mut engines) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for entry in entries {
            kinds.insert(entry.kind.clone());
            languages.insert(format::name(&entry.language));
            engines.insert(format::name(&entry.engine));
        }
        let listed = |set: BTreeSet<String>| set.into_iter().collect();
        Self { kinds, languages: listed(languages), engines: listed(engines) }
    }

    /// The classes of an entry's row. Strangers' texts never become classes:
    /// their places in the sorted list do.
    pub fn classes(&self, entry: &Contestant) -> String {
        let place = |list: &[String], text: &str| {
            let text = format::name(text);
            list.iter().position(|one| *one == text).unwrap_or(0)
        };
        format!(
            "row r{} l{} g{}",
            letter(&entry.kind),
            place(&self.languages, &entry.language),
            place(&self.engines, &entry.engine),
        )
    }

    /// The controls, and the rules that make them work. A control that could
    /// not hide anything is left out.
    pub fn controls(&self) -> Markup {
        let kinds = self.kinds.len() > 1;
        let chosen = |list: &[String]| list.len() > 1;
        if !kinds && !chosen(&self.languages) && !chosen(&self.engines) {
            return html! {};
        }
        html! {
            style { (PreEscaped(self.rules())) }
            form.filters aria-label="Filters" autocomplete="off" {
                label.fold { input #fold type="checkbox"; " show filters" }
                @if kinds {
                    fieldset {
                        legend { "Type" }
                        @for kind in &self.kinds {
                            label {
                                input type="checkbox" checked
                                    id={ "f" (letter(kind)) };
                                " " (letter(kind)) ", " (format::name(kind))
                            }
                        }
                    }
                }
                (select("fl", "Language", &self.languages))
                (select("fg", "Engine", &self.engines))
                p { "Filters hide rows. Ranks, scores and colours stay those \
                     of the whole board." }
            }
        }
    }

    fn rules(&self) -> String {
        let hide = "{display:none!important}";
        let mut rules = String::new();
        for kind in &self.kinds {
            let letter = letter(kind);
            rules += &format!(
                "body:has(#f{letter}:not(:checked)) tr.r{letter}{hide}"
            );
        }
        for (id, class, list) in
            [("fl", "l", &self.languages), ("fg", "g", &self.engines)]
        {
            if list.len() < 2 {
                continue;
            }
            for place in 0..list.len() {
                rules += &format!(
                    "body:has(#{id} [value='{place}']:checked) \
                     tr.row:not(.{class}{place}){hide}"
                );
            }
        }
        rules
    }
}

fn select(id: &str, label: &str, list: &[String]) -> Markup {
    html! {
        @if list.len() > 1 {
            label {
                (label) " "
                select id=(id) {
                    option value="all" { "all" }
                    @for (place, text) in list.iter().enumerate() {
                        option value=(place) { (text) }
                    }
                }
            }
        }
    }
}
