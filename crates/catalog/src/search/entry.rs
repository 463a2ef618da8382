//! What search knows about a command or workflow: its weighted words and its shape.

use super::intent::{Deeds, Intent};
use super::stem::stem;
use super::synonyms;
use super::tokenizer::{normal, words};
use super::vocabulary::{Gathering, Term};
use crate::command::Method;
use crate::limits::{SEARCH_ENTRY_WORDS, SEARCH_TITLE_WORDS, SEARCH_WORD_CHARS};
use crate::naming;
use crate::table::Row;

/// The group for all workflows.
pub const WORKFLOWS: &str = "workflow";

/// An entry in the search index.
#[derive(Debug, Clone, Copy)]
pub enum SearchEntry<'a> {
    /// A catalog command.
    Command {
        /// The catalog's id, which is also the group for its commands.
        catalog: &'a str,
        row: &'a Row,
    },
    Workflow {
        id: &'a str,
        title: &'a str,
        description: &'a str,
    },
}

impl<'a> SearchEntry<'a> {
    /// The first part of the entry's id: the catalog, or [`WORKFLOWS`].
    pub fn group(&self) -> &'a str {
        match self {
            SearchEntry::Command { catalog, .. } => catalog,
            SearchEntry::Workflow { .. } => WORKFLOWS,
        }
    }

    /// The second part of the entry's id.
    pub fn name(&self) -> &'a str {
        match self {
            SearchEntry::Command { row, .. } => &row.name,
            SearchEntry::Workflow { id, .. } => id,
        }
    }

    pub(super) fn operation_id(&self) -> Option<&'a str> {
        match self {
            SearchEntry::Command { row, .. } => row.operation_id.as_deref(),
            SearchEntry::Workflow { .. } => None,
        }
    }
}

/// An entry field: the weight of a word in it, and its usual length in words.
#[derive(Clone, Copy)]
struct Field {
    weight: f32,
    usual: f32,
    /// Whether a word in this field is what the entry is about rather than a mere mention.
    strong: bool,
}

const NAME: Field = Field { weight: 2.0, usual: 5.0, strong: true };
const OPERATION: Field = Field { weight: 1.5, usual: 6.0, strong: true };
const SUMMARY: Field = Field { weight: 3.0, usual: 7.0, strong: true };
const RESOURCE: Field = Field { weight: 2.0, usual: 2.0, strong: true };
const PATH: Field = Field { weight: 1.0, usual: 4.0, strong: true };
const TAGS: Field = Field { weight: 0.8, usual: 2.0, strong: true };
const GROUP: Field = Field { weight: 0.5, usual: 1.0, strong: true };
const VARIABLE: Field = Field { weight: 0.4, usual: 3.0, strong: false };
const PARAMETERS: Field = Field { weight: 0.4, usual: 8.0, strong: false };
const DESCRIPTION: Field = Field { weight: 0.8, usual: 40.0, strong: false };

/// How much long fields are penalized (`b` in BM25).
const LENGTH: f32 = 0.6;

/// A word in an entry.
pub(super) struct WeightedTerm {
    pub(super) term: Term,
    pub(super) weight: f32,
    pub(super) strong: bool,
}

/// Properties of an entry other than its words.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EntryShape {
    pub(super) method: Option<Method>,
    pub(super) deeds: Deeds,
    /// The number of segments in the path.
    pub(super) depth: u8,
    /// 0 for a stable version, 1 for beta, 2 for alpha.
    pub(super) unsteady: u8,
    pub(super) deprecated: bool,
    /// Index of the first of its terms: the resource, then the path before it, then the summary.
    pub(super) from: u32,
    pub(super) resource: u8,
    pub(super) path: u8,
    pub(super) title: u8,
}

/// Reads an index's entries.
#[derive(Default)]
pub(super) struct EntryReader {
    /// The stems of known verbs, sorted. `Creates` and `Creating` have the same stem as `create`.
    verbs: Vec<(String, Intent)>,
    pub(super) gathering: Gathering,
    /// The terms that shapes refer to.
    pub(super) terms: Vec<Term>,
    field: Vec<Term>,
    said: Vec<WeightedTerm>,
}

impl EntryReader {
    pub(super) fn new() -> EntryReader {
        let all = synonyms::VERBS.iter();
        let mut verbs: Vec<(String, Intent)> = all
            .flat_map(|(intent, verbs)| verbs.iter().map(|verb| (stem(verb), *intent)))
            .collect();
        verbs.sort_by(|(one, _), (other, _)| one.cmp(other));
        EntryReader { verbs, ..EntryReader::default() }
    }

    /// The distinct words of an entry with their total weights, and its shape.
    pub(super) fn read(&mut self, entry: &SearchEntry<'_>) -> (&[WeightedTerm], EntryShape) {
        self.said.clear();
        let shape = match entry {
            SearchEntry::Command { catalog, row } => self.command(catalog, row),
            SearchEntry::Workflow { id, title, description } => {
                self.workflow(id, title, description)
            }
        };
        self.said.truncate(SEARCH_ENTRY_WORDS);
        self.said.sort_unstable_by_key(|said| said.term);
        self.said.dedup_by(|next, kept| {
            let same = next.term == kept.term;
            if same {
                kept.weight += next.weight;
                kept.strong |= next.strong;
            }
            same
        });
        (&self.said, shape)
    }

    fn command(&mut self, catalog: &str, row: &Row) -> EntryShape {
        let mut shape = self.shape(row);
        self.title(&row.summary, &mut shape);
        let (name, operation) = (&row.name, row.operation_id.as_deref().unwrap_or_default());
        for (field, text) in [(NAME, name.as_str()), (OPERATION, operation), (GROUP, catalog)] {
            self.say(field, text);
        }
        row.tags.iter().for_each(|tag| self.say(TAGS, tag));
        for parameter in &row.parameters {
            self.say_of(PARAMETERS, &parameter.name, Some(row.parameters.len()));
        }
        // A description that starts with the summary only adds the rest.
        if !row.description.starts_with(row.summary.trim_end_matches(['…', '.'])) {
            self.say(DESCRIPTION, &row.description);
        } else if let Some(more) = row.description.get(row.summary.len()..) {
            self.say(DESCRIPTION, more);
        }
        shape
    }

    fn workflow(&mut self, id: &str, title: &str, description: &str) -> EntryShape {
        let from = self.terms.len() as u32;
        let mut shape = EntryShape { depth: 1, from, ..EntryShape::default() };
        self.title(title, &mut shape);
        for (field, text) in [(NAME, id), (GROUP, WORKFLOWS), (DESCRIPTION, description)] {
            self.say(field, text);
        }
        shape
    }

    /// Adds a string's words to the entry, weighted by the field that they occur in.
    fn say(&mut self, field: Field, text: &str) {
        self.say_of(field, text, None);
    }

    /// Like `say`, for one of several strings that make up a field of `length` words.
    fn say_of(&mut self, field: Field, text: &str, length: Option<usize>) {
        self.field.clear();
        words(text, |word| self.field.extend(self.gathering.term(word)));
        let length = length.unwrap_or(self.field.len());
        let length = f32::from(u16::try_from(length).unwrap_or(u16::MAX));
        let weight = field.weight / (1.0 - LENGTH + LENGTH * length / field.usual);
        let strong = field.strong;
        let said = self.field.iter().map(|term| WeightedTerm { term: *term, weight, strong });
        self.said.extend(said);
    }

    /// Reads the summary: its words, and the action that its verb names.
    fn title(&mut self, summary: &str, shape: &mut EntryShape) {
        if let Some(intent) = self.verb(summary) {
            shape.deeds.add(Deeds::of(intent));
        }
        self.say(SUMMARY, summary);
        let before = self.terms.len();
        for term in self.field.iter().take(SEARCH_TITLE_WORDS) {
            if !self.terms[before..].contains(term) {
                self.terms.push(*term);
            }
        }
        shape.title = (self.terms.len() - before) as u8;
    }

    /// The intent of the verb at the start of `text`.
    fn verb(&self, text: &str) -> Option<Intent> {
        let mut first = None;
        let begin = text.char_indices().nth(SEARCH_WORD_CHARS).map_or(text, |(at, _)| &text[..at]);
        words(begin, |word| {
            if first.is_none() && word.len() > 1 {
                first = Some(stem(&normal(word)));
            }
        });
        let first = first?;
        let at = self.verbs.binary_search_by(|(verb, _)| verb.cmp(&first)).ok()?;
        Some(self.verbs[at].1)
    }

    /// Reads the path: its words, and what they imply about the command.
    fn shape(&mut self, row: &Row) -> EntryShape {
        let from = self.terms.len();
        let parts: Vec<&str> = row.path.split(['/', '#']).filter(|part| !part.is_empty()).collect();
        let literal = |part: &&&str| !part.contains('{') && unsteadiness(part).is_none();
        let last = parts.iter().rposition(|part| literal(&part));
        let mut depth: u8 = 0;
        let mut unsteady = 0;
        let mut before = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if let Some(level) = unsteadiness(part) {
                unsteady = level;
            } else if part.contains('{') {
                self.say(VARIABLE, plain(part));
            } else if Some(at) == last {
                self.say(RESOURCE, plain(part));
                self.terms.extend(self.field.iter().take(SEARCH_TITLE_WORDS));
            } else {
                self.say(PATH, plain(part));
                before.extend(self.field.iter().take(SEARCH_TITLE_WORDS).copied());
            }
            depth = depth.saturating_add(1);
        }
        let resource = self.terms.len() - from;
        let named = row.operation_id.as_deref().and_then(|id| self.verb(id));
        before.truncate(SEARCH_TITLE_WORDS);
        self.terms.extend(&before);
        EntryShape {
            method: Some(row.method),
            deeds: deeds(row, &parts, named),
            depth,
            unsteady,
            deprecated: row.deprecated,
            from: from as u32,
            resource: resource as u8,
            path: before.len() as u8,
            title: 0,
        }
    }
}

/// A command's actions according to its method and name.
fn deeds(row: &Row, parts: &[&str], named: Option<Intent>) -> Deeds {
    let last = parts.last().copied().unwrap_or_default();
    let item = last.contains('{');
    let end = row.name.rsplit(':').next().unwrap_or_default();
    let several = !item && (end == "list" || naming::is_plural(plain(last)));
    let mut deeds = match (row.method, named) {
        (Method::Get | Method::Query, _) if several => Deeds::LIST,
        (Method::Get | Method::Query, _) => Deeds::GET,
        // The name of a `POST` operation shows what it does, but `PostOrder` only repeats the
        // method.
        (Method::Post, Some(intent)) if intent != Intent::Create => Deeds::of(intent),
        (Method::Post, _) if item => Deeds::UPDATE,
        (Method::Post, _) => Deeds::CREATE,
        (Method::Put | Method::Patch, _) => Deeds::UPDATE,
        (Method::Delete, _) => Deeds::DELETE,
        (Method::Head | Method::Options | Method::Trace, _) => Deeds::default(),
    };
    if end == "clear" {
        deeds.add(Deeds::WHOLE);
    }
    if item {
        deeds.add(Deeds::ONE);
    }
    if parts.iter().any(|part| matches!(*part, "search" | "find" | "query")) {
        deeds.add(Deeds::SEARCH);
    }
    deeds
}

/// Strips the format extension from a path segment such as `Messages.json`.
fn plain(part: &str) -> &str {
    match part.rsplit_once('.') {
        Some((name, "json" | "xml" | "yaml" | "csv" | "html")) => name,
        _ => part,
    }
}

/// How unstable a version is; `None` if the path segment is not a version.
fn unsteadiness(part: &str) -> Option<u8> {
    let rest = part.strip_prefix(['v', 'V'])?;
    let stage = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if stage.len() == rest.len() {
        return None;
    }
    let stage = stage.trim_end_matches(|c: char| c.is_ascii_digit());
    match stage {
        "" => Some(0),
        "beta" => Some(1),
        "alpha" => Some(2),
        _ => None,
    }
}
