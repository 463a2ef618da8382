//! Queries as people write them, labelled with the operations that answer them, and a count of
//! those found.
//!
//! The labels were written from the meaning of the operations, before the index existed. A hash
//! decides which half a query belongs to: only `tune` was used to choose weights.

use milepost_catalog::document::ParsedDocument;
use milepost_catalog::import::Inspection;
use milepost_catalog::naming::AssignedNames;
use milepost_catalog::openapi::Api;
use milepost_catalog::search::{Filter, SearchEntry, SearchIndex};
use milepost_catalog::table::Row;

const QUERIES: &str = include_str!("queries.tsv");

/// The halves of the queries: for tuning, and held out.
pub(crate) const HALVES: [&str; 2] = ["tune", "held"];

/// A query and the operations that answer it.
#[derive(Debug, Clone)]
pub(crate) struct Labelled {
    pub(crate) corpus: &'static str,
    pub(crate) half: &'static str,
    pub(crate) query: &'static str,
    /// Operations as `METHOD path`; empty for nonsense queries.
    pub(crate) answers: Vec<&'static str>,
}

/// All queries in the file.
pub(crate) fn queries() -> Vec<Labelled> {
    QUERIES.lines().skip(1).map(labelled).collect()
}

fn labelled(line: &'static str) -> Labelled {
    let [corpus, half, query, answers] =
        line.split('\t').collect::<Vec<_>>().try_into().expect("four columns");
    let answers = answers.split(" | ").filter(|answer| *answer != "nothing").collect();
    Labelled { corpus, half, query, answers }
}

/// The commands of a document.
pub(crate) fn rows(bytes: &[u8]) -> Vec<Row> {
    let reading = ParsedDocument::read(bytes).expect("a document");
    let api = Api::new(reading).expect("an API");
    Inspection::of(&api).into_rows(&AssignedNames::new())
}

/// An index of one catalog.
pub(crate) fn index(catalog: &str, rows: &[Row]) -> SearchIndex {
    SearchIndex::new(rows.iter().map(|row| SearchEntry::Command { catalog, row }))
}

/// How many queries of one half were answered correctly.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) asked: usize,
    pub(crate) first: usize,
    pub(crate) among_five: usize,
    /// Queries whose answer did not come first, with its position and the result found instead.
    pub(crate) missed: Vec<String>,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Outcome) {
        self.asked += other.asked;
        self.first += other.first;
        self.among_five += other.among_five;
        self.missed.extend(other.missed);
    }

    /// Whether at least 80% of the answers come first, and 95% are among the first five.
    pub(crate) fn holds(&self) -> bool {
        self.first * 100 >= self.asked * 80 && self.among_five * 100 >= self.asked * 95
    }
}

/// Runs every query of a corpus and half.
pub(crate) fn ask(corpus: &str, half: &str, rows: &[Row], index: &SearchIndex) -> Outcome {
    let mut outcome = Outcome::default();
    for case in queries().iter().filter(|case| case.corpus == corpus && case.half == half) {
        let keys: Vec<String> = rows.iter().map(Row::key).collect();
        for answer in &case.answers {
            assert!(keys.iter().any(|key| key == answer), "{corpus} has no {answer}");
        }
        let hits = index.search(case.query, &Filter::default(), 10);
        let found: Vec<&str> = hits.iter().map(|hit| &*keys[hit.entry]).collect();
        let place = found.iter().position(|key| case.answers.contains(key));
        outcome.asked += 1;
        outcome.first += usize::from(place == Some(0));
        outcome.among_five += usize::from(place.is_some_and(|place| place < 5));
        if place != Some(0) {
            let place = place.map_or("nowhere".to_owned(), |place| format!("{}.", place + 1));
            let instead: Vec<&str> = found.iter().take(5).copied().collect();
            let line = format!("{}: {place}, not {}\n", case.query, case.answers[0]);
            outcome.missed.push(line + "      " + &instead.join("\n      "));
        }
    }
    outcome
}

/// Nonsense queries that returned a result.
pub(crate) fn fooled(half: &str, rows: &[Row], index: &SearchIndex) -> Vec<String> {
    let nonsense =
        queries().into_iter().filter(|case| case.corpus == "nonsense" && case.half == half);
    nonsense
        .filter_map(|case| {
            let hit = *index.search(case.query, &Filter::default(), 1).first()?;
            Some(format!("{} → {}", case.query, rows[hit.entry].key()))
        })
        .collect()
}
