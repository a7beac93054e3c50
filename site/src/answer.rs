//! The page's finding in words, before any table.

use profiles::score::{Board, Row};

use crate::format::{count, list, range};

/// Who leads, what is shared, what is missing.
pub fn sentence(board: &Board) -> String {
    let ranked: Vec<&Row> =
        board.rows.iter().filter(|row| row.rank.is_some()).collect();
    let Some(first) = ranked.first() else {
        return "No entry of this league has a valid result.".to_owned();
    };
    let mut text = vec![leader(&ranked, first)];
    let rounds = ranked.iter().filter_map(|row| row.score).map(|s| s.rounds);
    if ranked.len() > 1 && rounds.max() < Some(2) {
        text.push(
            "With one round there is no interval, so nothing is told apart: \
             the order is by score only."
                .to_owned(),
        );
    }
    let of = first.coverage.of;
    let full = ranked.iter().filter(|r| r.coverage.ran == of).count();
    text.push(format!(
        "{} of {} ran all {}.",
        full,
        count(ranked.len(), "ranked entry", "ranked entries"),
        count(of as usize, "scored profile", "scored profiles"),
    ));
    let unranked = board.rows.len() - ranked.len();
    if unranked > 0 {
        let what = count(unranked, "entry has", "entries have");
        text.push(format!("{what} no valid result and no rank."));
    }
    text.join(" ")
}

fn leader(ranked: &[&Row], first: &Row) -> String {
    if ranked.len() == 1 {
        return format!("{} is the only ranked entry.", first.entry);
    }
    let may_lead: Vec<String> = ranked
        .iter()
        .filter(|row| row.rank.is_some_and(|rank| rank.lo == 1))
        .map(|row| row.entry.clone())
        .collect();
    match first.rank {
        Some(rank) if rank.hi == 1 => {
            format!("{} leads (rank 1).", first.entry)
        }
        Some(rank) if may_lead.len() <= 4 => format!(
            "{} may each hold rank 1: the data do not tell them apart. {} \
             has the highest score (rank {}).",
            list(&may_lead),
            first.entry,
            range(rank.lo, rank.hi),
        ),
        _ => format!(
            "{} has the highest score, but {} entries may hold rank 1: the \
             data do not tell them apart.",
            first.entry,
            may_lead.len(),
        ),
    }
}
