//! The words for a missing number, the letters for a type, the names in rows.

use maud::{Markup, html};
use profiles::board::Results;
use profiles::record::Contestant;
use profiles::score::Missing;

use crate::format;
use crate::frame::spoken;

/// Every state with its word in a cell, its class and its meaning.
pub const STATES: [(Missing, &str, &str, &str); 7] = [
    (
        Missing::FailedValidation,
        "invalid",
        "x",
        "the validator found a wrong answer, so nothing was measured",
    ),
    (
        Missing::Failed,
        "failed",
        "x",
        "it crashed, timed out or answered wrongly under load",
    ),
    (
        Missing::Suspect,
        "suspect †",
        "u",
        "it was measured, but the numbers contradict themselves or carry a \
         disqualifying warning",
    ),
    (
        Missing::Withdrawn,
        "withdrawn",
        "d",
        "the result was taken back, with a reason",
    ),
    (
        Missing::NotSupported,
        "cannot",
        "d",
        "the entry says that it does not support this",
    ),
    (Missing::NotEntered, "–", "h", "the entry does not list this profile"),
    (Missing::NotRunYet, "not run", "d", "due, but without a result yet"),
];

fn state(missing: Missing) -> (&'static str, &'static str, &'static str) {
    STATES
        .into_iter()
        .find(|(state, ..)| *state == missing)
        .map_or(("missing", "d", "no result"), |(_, w, c, m)| (w, c, m))
}

/// The state's word for files: the same as in `board.json`.
pub fn state_word(missing: Missing) -> &'static str {
    match missing {
        Missing::FailedValidation => "failed-validation",
        Missing::Failed => "failed",
        Missing::Suspect => "suspect",
        Missing::Withdrawn => "withdrawn",
        Missing::NotSupported => "not-supported",
        Missing::NotEntered => "not-entered",
        Missing::NotRunYet => "not-run-yet",
    }
}

/// The class of a missing cell.
pub fn state_class(missing: Missing) -> &'static str {
    state(missing).1
}

/// What stands in a missing cell.
pub fn state_text(missing: Missing) -> Markup {
    let (word, ..) = state(missing);
    html! {
        @if missing == Missing::NotEntered {
            (word) (spoken(" not entered"))
        } @else { (word) }
    }
}

/// What the words mean, for the foot of a table.
pub fn state_legend() -> Markup {
    html! {
        dl.legend {
            @for (missing, word, class, meaning) in STATES {
                dt { span.(class).s { (word) } }
                dd {
                    @if missing == Missing::NotEntered { "not entered: " }
                    (meaning)
                }
            }
        }
    }
}

/// A type's letter: its colour is never the only sign.
pub fn letter(kind: &str) -> &'static str {
    match kind {
        "production" => "P",
        "tuned" => "T",
        "engine" => "E",
        "infrastructure" => "I",
        _ => "?",
    }
}

/// An entry's name with its type's letter.
pub fn entry(contestant: &Contestant) -> Markup {
    let letter = letter(&contestant.kind);
    let shown = format::name(&contestant.display_name);
    html! {
        span.t.(format!("t{letter}")) {
            (letter) (spoken(&format!(" ({})", format::name(&contestant.kind))))
        }
        " "
        bdi.n {
            @if let Some(address) = format::link(&contestant.repo) {
                a href=(address) rel="nofollow" { (shown) }
            } @else { (shown) }
        }
    }
}

/// The entry of a board's row.
pub fn contestant<'a>(
    results: &'a Results,
    id: &str,
) -> Option<&'a Contestant> {
    results.entries.get(&id.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_state_has_its_own_word_and_meaning() {
        let words: BTreeSet<_> = STATES.iter().map(|s| s.1).collect();
        let meanings: BTreeSet<_> = STATES.iter().map(|s| s.3).collect();
        let in_files: BTreeSet<_> =
            STATES.iter().map(|s| state_word(s.0)).collect();
        assert_eq!([words.len(), meanings.len(), in_files.len()], [7; 3]);
        for (missing, word, ..) in STATES {
            assert_eq!(state(missing).0, word);
            let json = serde_json::to_value(missing).unwrap();
            assert_eq!(json, state_word(missing));
            assert!(state_text(missing).into_string().contains(word));
            assert!(!word.contains('0'), "a missing number is not zero");
        }
    }
}
