//! Scores entries for a query.
//!
//! The base score is BM25. It is raised if the last literal segment of the path is the resource
//! that the query names, and if the path and summary are about nothing else. It is raised or
//! lowered by how well the command's actions match the intent, and lowered for deprecated, unstable
//! or deeply nested commands. An entry that covers too little of the query's information is not a
//! hit.

use super::intent::{self, Deeds, Intent};
use super::query::{Concept, Query, Role};
use super::vocabulary::Term;
use super::{Hit, SearchIndex, count};
use crate::limits::SEARCH_CANDIDATES;

/// The share of a query's information that an entry must cover.
const FLOOR: f32 = 0.4;
/// How much a mere mention counts toward [`FLOOR`].
const MENTIONED: f32 = 0.6;
/// The information content of an unknown word, relative to a word that occurs in a single entry.
const UNKNOWN: f32 = 0.8;
/// The information content of a verb, relative to an equally rare noun.
const VERB: f32 = 0.35;
/// The minimum confidence for a term to count as mentioned by the query.
const SURE: f32 = 0.5;
/// The information content of a hint, relative to a required word.
const HINT: f32 = 0.5;
/// Added if the query is the entry's name; exceeds every other score.
const NAMED: f32 = 1.0e6;

/// Ranks an index's entries for a query.
pub(super) struct Ranking<'a> {
    index: &'a SearchIndex,
    query: &'a Query,
    /// The information content of each concept.
    information: Vec<f32>,
    /// The total information content of all required concepts.
    total: f32,
    /// All terms that the query mentions with their confidence, sorted.
    mentioned: Vec<(Term, f32)>,
}

/// The intermediate result for one entry.
#[derive(Clone, Copy, Default)]
struct Tally {
    score: f32,
    covered: f32,
    /// The best score within the current concept.
    best: f32,
    best_cover: f32,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(index: &'a SearchIndex, query: &'a Query) -> Ranking<'a> {
        let unknown = UNKNOWN * (1.0 + count(index.len())).ln();
        let information: Vec<f32> =
            query.concepts.iter().map(|concept| tells(index, concept, unknown)).collect();
        let needed = query.concepts.iter().zip(&information);
        let total = needed.filter(|(concept, _)| must(concept)).map(|(_, tells)| tells).sum();
        let mut mentioned: Vec<(Term, f32)> =
            query.concepts.iter().flat_map(|concept| concept.terms.0.iter().copied()).collect();
        mentioned.retain(|(_, sure)| *sure >= SURE);
        mentioned.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        mentioned.dedup_by_key(|(term, _)| *term);
        Ranking { index, query, information, total, mentioned }
    }

    /// All entries that score high enough, in no particular order.
    pub(super) fn hits(&self, named: &[u32], admits: impl Fn(u32) -> bool) -> Vec<Hit> {
        let mut tallies = vec![Tally::default(); self.index.len()];
        let mut touched = Vec::new();
        for (concept, tells) in self.query.concepts.iter().zip(&self.information) {
            self.gather(concept, *tells, &mut tallies, &mut touched);
        }
        touched.sort_unstable();
        touched.dedup();
        let floor = self.total * FLOOR;
        let mut found: Vec<(f32, u32)> = touched
            .into_iter()
            .filter(|entry| tallies[*entry as usize].covered >= floor && self.total > 0.0)
            .filter(|entry| admits(*entry))
            .map(|entry| (self.rough(entry, tallies[entry as usize]), entry))
            .collect();
        if found.len() > SEARCH_CANDIDATES {
            found.select_nth_unstable_by(SEARCH_CANDIDATES, |a, b| {
                b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
            });
            found.truncate(SEARCH_CANDIDATES);
        }
        let mut hits: Vec<Hit> = found
            .into_iter()
            .filter(|(_, entry)| !named.contains(entry))
            .map(|(rough, entry)| Hit { entry: entry as usize, score: rough * self.about(entry) })
            .collect();
        let named = named.iter().filter(|entry| admits(**entry));
        hits.extend(named.map(|entry| {
            let score = NAMED + tallies[*entry as usize].score;
            Hit { entry: *entry as usize, score }
        }));
        hits
    }

    /// Adds the contribution of one concept to all entries.
    fn gather(&self, concept: &Concept, tells: f32, tallies: &mut [Tally], touched: &mut Vec<u32>) {
        let from = touched.len();
        for (term, sure) in &concept.terms.0 {
            for posting in self.index.postings(*term) {
                let tally = &mut tallies[posting.entry as usize];
                if tally.best == 0.0 {
                    touched.push(posting.entry);
                }
                let strong = if posting.weight > 0.0 { 1.0 } else { MENTIONED };
                tally.best = tally.best.max(posting.weight.abs() * sure);
                tally.best_cover = tally.best_cover.max(strong * (sure + 0.25).min(1.0));
            }
        }
        for entry in &touched[from..] {
            let tally = &mut tallies[*entry as usize];
            tally.score += tally.best * tells;
            if must(concept) {
                tally.covered += tally.best_cover * tells;
            }
            tally.best = 0.0;
            tally.best_cover = 0.0;
        }
    }

    /// The score before the path and summary are compared.
    fn rough(&self, entry: u32, tally: Tally) -> f32 {
        let shape = &self.index.shapes[entry as usize];
        let covered = tally.covered / self.total;
        let mut fit = intent::fit(self.query.intent, shape.deeds, shape.method);
        if self.query.whole && self.query.intent == Intent::Delete && shape.deeds.has(Deeds::WHOLE)
        {
            fit *= 1.4;
        }
        if self.query.method.is_some() && self.query.method == shape.method {
            fit *= 1.1;
        }
        let settled = match shape.unsteady {
            0 => 1.0,
            1 => 0.9,
            _ => 0.8,
        };
        let current = if shape.deprecated { 0.6 } else { 1.0 };
        let depth = 1.0 + 0.01 * f32::from(shape.depth);
        tally.score * (0.3 + 0.7 * covered) * fit * settled * current / depth
    }

    /// How closely an entry's subject matches the query's.
    fn about(&self, entry: u32) -> f32 {
        let shape = &self.index.shapes[entry as usize];
        let from = shape.from as usize;
        let (resource, rest) = self.index.terms[from..].split_at(usize::from(shape.resource));
        let (path, rest) = rest.split_at(usize::from(shape.path));
        let title = &rest[..usize::from(shape.title)];
        let names = |at: Option<usize>| {
            at.is_some_and(|at| {
                let terms = &self.query.concepts[at].terms.0;
                resource.iter().any(|term| terms.iter().any(|(t, sure)| t == term && *sure >= SURE))
            })
        };
        // Deleting a resource also cancels it.
        let ends = self.query.intent == Intent::End && shape.deeds.has(Deeds::DELETE);
        let thing = match (names(self.query.deed) || ends, names(self.query.thing)) {
            (true, false) if ends => 0.0,
            (true, _) => 1.0,
            (false, true) if self.query.deed.is_none() => 1.0,
            (false, true) => 0.6,
            (false, false) => 0.0,
        };
        let own = self.share(resource);
        1.0 + 0.5 * thing * own + 0.2 * own + 0.3 * self.share(path) + 0.5 * self.share(title)
    }

    /// The share of the terms' information that the query mentions.
    fn share(&self, terms: &[Term]) -> f32 {
        let (mut all, mut said) = (0.1, 0.1);
        for term in terms {
            let tells = self.index.information[*term as usize];
            all += tells;
            if let Ok(at) = self.mentioned.binary_search_by_key(term, |(term, _)| *term) {
                said += tells * self.mentioned[at].1;
            }
        }
        said / all
    }
}

fn must(concept: &Concept) -> bool {
    matches!(concept.role, Role::Head | Role::Context)
}

/// The information content of a concept: that of its most common high-confidence term.
fn tells(index: &SearchIndex, concept: &Concept, unknown: f32) -> f32 {
    let best = concept.terms.0.iter().map(|(_, sure)| *sure).fold(0.0, f32::max);
    let sure = concept.terms.0.iter().filter(|(_, sure)| *sure >= best - 0.1);
    let tells = sure.map(|(term, _)| index.information[*term as usize]).fold(unknown, f32::min);
    match concept.role {
        Role::Verb => tells * VERB,
        Role::Hint => tells * HINT,
        Role::Head | Role::Context => tells,
    }
}
