//! How good an entry is for a query.
//!
//! The base is BM25: what the query's words tell, times how much they say in the entry. It is
//! raised where the last literal part of the path is the thing that the query names, and where
//! path and summary speak of nothing else; raised or lowered by what is asked for and what the
//! command does; and lowered for what is deprecated, unsettled or deep. An entry in which too
//! little of the query's information is found is no hit.

use super::intent::{self, Deeds, Intent};
use super::query::{Concept, Query, Role};
use super::vocabulary::Term;
use super::{Hit, SearchIndex, count};
use crate::limits::SEARCH_CANDIDATES;

/// The share of a query's information that an entry must have.
const FLOOR: f32 = 0.4;
/// What a word counts for the floor that is only mentioned.
const MENTIONED: f32 = 0.6;
/// What a word tells that is nowhere, against one that is in a single entry.
const UNKNOWN: f32 = 0.8;
/// What a verb tells, against a noun that is as rare.
const VERB: f32 = 0.35;
/// How surely a term must mean a word for the query to mention it.
const SURE: f32 = 0.5;
/// What a hint tells, against a word that must be found.
const HINT: f32 = 0.5;
/// Beyond every other score: the query names the entry.
const NAMED: f32 = 1.0e6;

/// A query against an index.
pub(super) struct Ranking<'a> {
    index: &'a SearchIndex,
    query: &'a Query,
    /// What each concept tells.
    information: Vec<f32>,
    /// What all that must be found tells.
    total: f32,
    /// Every term that the query mentions, sorted, with how surely.
    mentioned: Vec<(Term, f32)>,
}

/// What is known of one entry while the query's words are gone through.
#[derive(Clone, Copy, Default)]
struct Tally {
    score: f32,
    covered: f32,
    /// The same for the concept at hand.
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

    /// Every entry that is good enough, in no order.
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

    /// Adds what one concept says of every entry.
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

    /// The score before path and summary are looked at.
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

    /// How much an entry is about what the query names, and nothing else.
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
        // A thing is also cancelled by deleting it.
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

    /// The share of what some terms tell that the query mentions.
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

/// What a concept tells: as much as the most common of the terms that surely mean it.
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
