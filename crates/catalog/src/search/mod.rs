//! Finds commands and workflows by free-text queries. Results are deterministic.
//!
//! BM25 over weighted fields finds candidates. They are ranked by how well they match the query's
//! intent, and by whether the command is about the named resource and nothing more. See `rank`.

mod entry;
mod intent;
mod query;
mod rank;
mod stem;
mod synonyms;
mod tokenizer;
mod vocabulary;

pub use entry::{SearchEntry, WORKFLOWS};

use self::entry::{EntryReader, EntryShape};
use self::query::Query;
use self::rank::Ranking;
use self::vocabulary::{Term, Vocabulary};
use crate::command::Method;
use crate::text;

/// Which entries to include.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    /// Only entries from this catalog (or from [`WORKFLOWS`]).
    pub catalog: Option<&'a str>,
    /// Only commands with this method.
    pub method: Option<Method>,
}

/// A search result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Index of the entry in the sequence that the index was built from.
    pub entry: usize,
    /// The score, comparable only within the same search.
    pub score: f32,
}

/// A searchable index of entries.
#[derive(Debug)]
pub struct SearchIndex {
    vocabulary: Vocabulary,
    /// The start of each term's postings, followed by the end of the last.
    starts: Vec<u32>,
    postings: Vec<Posting>,
    /// The information content of each term: the rarer, the higher.
    information: Vec<f32>,
    shapes: Vec<EntryShape>,
    /// The terms that shapes refer to.
    terms: Vec<Term>,
    groups: Vec<Box<str>>,
    /// The group and name of each entry.
    names: Vec<(u16, Box<str>)>,
    /// Hashes of names and operation ids with their entries, sorted.
    keys: Vec<(u64, u32)>,
}

/// A term's occurrence in an entry.
#[derive(Debug, Clone, Copy, Default)]
struct Posting {
    entry: u32,
    /// The weight of the term in the entry; negative if it is only mentioned.
    weight: f32,
}

/// How quickly repeated words stop adding to the score (`k1` in BM25).
const SATURATION: f32 = 1.5;

/// How much a mere mention counts toward a term's frequency.
const MENTION: f32 = 0.3;

impl SearchIndex {
    /// Builds the index.
    pub fn new<'a>(entries: impl IntoIterator<Item = SearchEntry<'a>>) -> SearchIndex {
        let mut reader = EntryReader::new();
        let mut found: Vec<(Term, Posting)> = Vec::new();
        let mut shapes = Vec::new();
        let mut groups: Vec<Box<str>> = Vec::new();
        let mut names = Vec::new();
        let mut keys = Vec::new();
        for (at, entry) in (0_u32..).zip(entries) {
            let (said, shape) = reader.read(&entry);
            found.extend(said.iter().map(|said| {
                let weight = said.weight * (SATURATION + 1.0) / (SATURATION + said.weight);
                let weight = if said.strong { weight } else { -weight };
                (said.term, Posting { entry: at, weight })
            }));
            shapes.push(shape);
            let group = group(&mut groups, entry.group());
            names.push((group, entry.name().into()));
            let full = format!("{} {}", entry.group(), entry.name());
            let known = [Some(&*full), Some(entry.name()), entry.operation_id()];
            keys.extend(known.into_iter().flatten().filter_map(|text| Some((key(text)?, at))));
        }
        keys.sort_unstable();
        keys.dedup();
        let vocabulary = reader.gathering.finish();
        let (starts, postings) = by_term(&found, vocabulary.len());
        let information = information(&starts, &postings, shapes.len());
        let terms = reader.terms;
        SearchIndex {
            vocabulary,
            starts,
            postings,
            information,
            shapes,
            terms,
            groups,
            names,
            keys,
        }
    }

    /// The best entries for a query, best first; empty if most of the query's words are unknown.
    pub fn search(&self, query: &str, filter: &Filter<'_>, limit: usize) -> Vec<Hit> {
        let group = match filter.catalog {
            None => None,
            Some(catalog) => match self.groups.iter().position(|group| **group == *catalog) {
                None => return Vec::new(),
                found => found,
            },
        };
        let admits = |entry: u32| {
            let at = entry as usize;
            group.is_none_or(|group| usize::from(self.names[at].0) == group)
                && (filter.method.is_none() || self.shapes[at].method == filter.method)
        };
        let parsed = Query::of(query, &self.vocabulary);
        let mut hits = Ranking::new(self, &parsed).hits(&self.named(query), admits);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| self.tie(a.entry, b.entry)));
        hits.truncate(limit);
        hits
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether the index has no entries.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// Entries whose name or operation id is the query.
    fn named(&self, query: &str) -> Vec<u32> {
        let Some(key) = key(query) else { return Vec::new() };
        let from = self.keys.partition_point(|(other, _)| *other < key);
        self.keys[from..].iter().take_while(|(other, _)| *other == key).map(|(_, at)| *at).collect()
    }

    fn postings(&self, term: Term) -> &[Posting] {
        let at = term as usize;
        &self.postings[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Breaks ties in favor of the shorter name.
    fn tie(&self, one: usize, other: usize) -> std::cmp::Ordering {
        let claim = |at: usize| (self.names[at].1.len(), &self.names[at].1, self.names[at].0, at);
        claim(one).cmp(&claim(other))
    }
}

fn group(groups: &mut Vec<Box<str>>, name: &str) -> u16 {
    let at = groups.iter().rposition(|group| **group == *name).unwrap_or_else(|| {
        groups.push(name.into());
        groups.len() - 1
    });
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// A hash for comparing names. It covers their words but not how they are joined (FNV-1a, 64 bits).
fn key(text: &str) -> Option<u64> {
    let words = text::kebab(text)?;
    Some(words.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}

/// Sorts postings by term, keeping the order of entries.
fn by_term(found: &[(Term, Posting)], terms: usize) -> (Vec<u32>, Vec<Posting>) {
    let mut starts = vec![0_u32; terms + 1];
    for (term, _) in found {
        starts[*term as usize + 1] += 1;
    }
    for at in 0..terms {
        starts[at + 1] += starts[at];
    }
    let mut next = starts.clone();
    let mut postings = vec![Posting::default(); found.len()];
    for (term, posting) in found {
        let slot = &mut next[*term as usize];
        postings[*slot as usize] = *posting;
        *slot += 1;
    }
    (starts, postings)
}

/// The information content of each term (`idf` in BM25).
fn information(starts: &[u32], postings: &[Posting], entries: usize) -> Vec<f32> {
    let all = count(entries);
    let runs = starts.windows(2).map(|run| &postings[run[0] as usize..run[1] as usize]);
    let common = runs.map(|run| {
        run.iter().map(|posting| if posting.weight > 0.0 { 1.0 } else { MENTION }).sum::<f32>()
    });
    common.map(|common| (1.0 + (all - common + 0.5).max(0.0) / (common + 0.5)).ln()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of entries are far below 2^24")]
fn count(number: usize) -> f32 {
    number as f32
}
