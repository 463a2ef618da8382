//! The state of all runs in numbers, for monitoring a server.

use milepost_driver::RunReader;
use milepost_engine::ports::{RunCounts, RunStatus};
use milepost_metrics::JournalMetrics;

use crate::prelude::*;

/// What a run can wait for.
const WHOM: [&str; 5] = ["person", "agent", "time", "paused", "other"];

/// The current numbers; all zero if no run has ever been started.
pub(crate) async fn of(runs: &dyn RunReader) -> Result<JournalMetrics> {
    let tally = runs.tally().await.or_problem()?;
    Ok(journal(&tally))
}

fn journal(tally: &RunCounts) -> JournalMetrics {
    let statuses = RunStatus::ALL.iter().map(|status| status.name());
    let runs = statuses.map(|status| (status, sum(&tally.runs, |word| word == status)));
    let waiting = WHOM.map(|whom| (whom, sum(&tally.waiting, |word| waits_for(word) == whom)));
    JournalMetrics { runs: runs.collect(), waiting: waiting.to_vec(), inbox: tally.inbox }
}

fn sum(counts: &[(String, u64)], wanted: impl Fn(&str) -> bool) -> u64 {
    counts.iter().filter(|(word, _)| wanted(word)).map(|(_, count)| count).sum()
}

/// What a run is waiting for, according to the first word of its entry in the index.
fn waits_for(word: &str) -> &'static str {
    match word {
        "approval" | "decision" | "person" | "budget" => "person",
        "agent" | "variable" => "agent",
        "" => "time",
        "paused" => "paused",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_index_has_its_number() {
        let count = |all: &[(&str, u64)]| -> Vec<(String, u64)> {
            all.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
        };
        let tally = RunCounts {
            runs: count(&[("waiting", 7), ("failed", 2)]),
            waiting: count(&[("approval", 1), ("budget", 2), ("agent", 3), ("", 1)]),
            inbox: 4,
        };
        let told = journal(&tally);
        let of = |all: &[(&str, u64)], word: &str| {
            all.iter().find(|(other, _)| *other == word).map(|(_, count)| *count)
        };
        assert_eq!(of(&told.runs, "waiting"), Some(7));
        assert_eq!(of(&told.runs, "succeeded"), Some(0));
        assert_eq!(of(&told.waiting, "person"), Some(3));
        assert_eq!(of(&told.waiting, "agent"), Some(3));
        assert_eq!(of(&told.waiting, "time"), Some(1));
        assert_eq!(told.inbox, 4);
    }
}
