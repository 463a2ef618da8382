//! A snapshot of the whole library: a summary of every workflow, every invalid file and every
//! source.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use milepost_model::document::{self, Document};
use milepost_model::finding::Severity;
use milepost_model::step::Action;
use milepost_model::target::Target;
use milepost_model::violation::Violation;
use milepost_model::workflow::{Spelling, Workflow};
use milepost_syntax::source::Format;

use crate::index::{FileRecord, Validity, WorkflowIndex};
use crate::{FileError, SourceKind, limits};

/// A snapshot of the whole library, without the documents.
#[derive(Debug)]
pub struct Listing {
    /// Every workflow, sorted by id.
    pub items: Vec<Arc<WorkflowSummary>>,
    /// Every file that is not a valid workflow, without its document.
    pub invalid: Vec<InvalidFile>,
    /// The contents of each source, in ascending order of precedence.
    pub sources: Vec<SourceReport>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowSummary {
    pub id: String,
    pub title: String,
    pub description: Option<String>,
    pub category: Option<String>,
    pub tags: Vec<String>,
    /// The kinds of its steps: `agent`, `command`, `approval`.
    pub kinds: Vec<&'static str>,
    pub runs: Vec<String>,
    pub version_label: Option<String>,
    /// The hash of its bytes.
    pub version: String,
    pub spelling: Spelling,
    pub format: Option<Format>,
    /// The number of steps, including those in loops.
    pub steps: usize,
    /// Whether every step, including those in loops, is performed by an agent.
    pub agent_only: bool,
    pub source: SourceKind,
    /// The path of its file; for a built-in workflow, only the name.
    pub path: PathBuf,
}

/// What makes a file invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidCause {
    /// Its content, or an id that is already taken.
    Text,
    /// Its location or type: it points outside its directory, or is not a regular file.
    Place,
    /// The system: the file could not be read.
    System,
}

/// Why a file is not a valid workflow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InvalidReason {
    pub(crate) cause: InvalidCause,
    pub(crate) reason: Box<str>,
    violations: Arc<Vec<Violation>>,
}

impl InvalidReason {
    pub(crate) fn of_text(reason: String) -> InvalidReason {
        let (cause, violations) = (InvalidCause::Text, Arc::default());
        InvalidReason { cause, reason: reason.into(), violations }
    }

    /// Why a document with errors is invalid: its first error.
    pub(crate) fn of_document(document: &Document) -> InvalidReason {
        let errors = document.violations.iter().filter(|one| one.severity == Severity::Error);
        let errors: Vec<Violation> = errors.take(limits::VIOLATIONS_LISTED).cloned().collect();
        let reason = errors.first().map(|fault| format!("line {}: {}", fault.line, fault.message));
        let cause = InvalidCause::Text;
        let reason = reason.unwrap_or_default().into();
        InvalidReason { cause, reason, violations: Arc::new(errors) }
    }

    /// Why a file could not be read, including the system's message if there is one.
    pub(crate) fn of_file(error: &FileError) -> InvalidReason {
        let cause = match error {
            FileError::Io { .. }
            | FileError::NotFound { .. }
            | FileError::NotFolder { .. }
            | FileError::Exists { .. } => InvalidCause::System,
            FileError::NotRegular { .. } | FileError::Outside { .. } => InvalidCause::Place,
            FileError::TooLarge { .. } => InvalidCause::Text,
        };
        InvalidReason { cause, reason: error.told().into(), violations: Arc::default() }
    }

    pub(crate) fn at(self, path: PathBuf, document: Option<Arc<Document>>) -> InvalidFile {
        let InvalidReason { cause, reason, violations } = self;
        InvalidFile { path, cause, reason: reason.into(), violations, document }
    }
}

/// A file that is not a valid workflow, or whose id is already taken.
#[derive(Debug, Clone)]
pub struct InvalidFile {
    pub path: PathBuf,
    pub cause: InvalidCause,
    /// The reason in one sentence.
    pub reason: String,
    /// The first errors in its content.
    pub violations: Arc<Vec<Violation>>,
    /// The document; `None` if the file could not be read, and always `None` in a listing.
    pub document: Option<Arc<Document>>,
}

/// The contents of one source.
#[derive(Debug, Clone)]
pub struct SourceReport {
    pub kind: SourceKind,
    /// Its directory; `None` for the built-in workflows.
    pub path: Option<PathBuf>,
    pub exists: bool,
    pub count: usize,
    /// Ids that a later source overrides, with the kind of that source.
    pub shadowed: Vec<(String, SourceKind)>,
    pub cut: bool,
}

impl WorkflowSummary {
    pub(crate) fn of(
        document: &Document,
        workflow: &Workflow,
        bytes: &[u8],
        source: SourceKind,
        path: PathBuf,
    ) -> WorkflowSummary {
        WorkflowSummary {
            id: workflow.id.value.to_string(),
            title: workflow.display_title().to_owned(),
            description: workflow.description.clone(),
            category: workflow.category.clone(),
            tags: workflow.tags.clone(),
            kinds: kinds(workflow),
            runs: runs(workflow),
            version_label: workflow.version.clone(),
            version: document::version(bytes),
            spelling: workflow.spelling,
            format: document.source.as_ref().map(milepost_syntax::source::Source::format),
            steps: workflow.all_steps().len(),
            agent_only: workflow.is_agent_only(),
            source,
            path,
        }
    }
}

/// The kinds of steps in a workflow.
fn kinds(workflow: &Workflow) -> Vec<&'static str> {
    let steps = workflow.all_steps();
    let has = |wanted: fn(&Action) -> bool| steps.iter().any(|step| wanted(&step.action));
    let kinds = [
        ("agent", has(|action| matches!(action, Action::Prompt(_)))),
        ("command", has(|action| matches!(action, Action::Run(_)))),
        ("approval", has(|action| matches!(action, Action::Approve(_)))),
    ];
    kinds.into_iter().filter(|(_, there)| *there).map(|(kind, _)| kind).collect()
}

/// The workflows that a workflow runs as steps.
fn runs(workflow: &Workflow) -> Vec<String> {
    let steps = workflow.all_steps();
    let ids = steps.iter().filter_map(|step| {
        let Action::Run(run) = &step.action else { return None };
        let Target::Workflow(id) = &run.target.value else { return None };
        Some(id.to_string())
    });
    ids.collect()
}

impl Listing {
    /// The listing of an index in which every file has been validated.
    pub(crate) fn of(index: &WorkflowIndex) -> Listing {
        let mut draft = Draft::default();
        let mut records: Vec<&FileRecord> = index.files().map(|(_, record)| record).collect();
        records.sort_by_key(|record| (record.source, Arc::clone(&record.path)));
        let mut records = records.into_iter().peekable();
        for (number, source) in index.sources.iter().enumerate() {
            draft.sources.push(SourceReport {
                kind: source.kind,
                path: source.path.clone(),
                exists: source.path.is_none() || source.directory.is_some(),
                count: 0,
                shadowed: Vec::new(),
                cut: source.tree.cut,
            });
            for (folder, error) in source.tree.refused() {
                let path =
                    source.path.as_deref().map_or_else(PathBuf::new, |path| path.join(folder));
                draft.invalid.push(InvalidReason::of_file(error).at(path, None));
            }
            while let Some(record) = records.next_if(|record| record.source == number) {
                draft.add(number, index.path(record), &record.verdict);
            }
        }
        let Draft { winners, invalid, sources } = draft;
        let mut items: Vec<Arc<WorkflowSummary>> =
            winners.into_values().map(|(_, summary)| Arc::clone(summary)).collect();
        items.sort_by(|one, other| one.id.cmp(&other.id));
        Listing { items, invalid, sources }
    }
}

#[derive(Default)]
struct Draft<'i> {
    /// The winning workflow for each id, with the index of its source.
    winners: HashMap<&'i str, (usize, &'i Arc<WorkflowSummary>)>,
    invalid: Vec<InvalidFile>,
    sources: Vec<SourceReport>,
}

impl<'i> Draft<'i> {
    fn add(&mut self, number: usize, path: PathBuf, verdict: &'i Validity) {
        let summary = match verdict {
            Validity::Valid(summary) => summary,
            Validity::Invalid(refusal) => {
                self.invalid.push(refusal.clone().at(path, None));
                return;
            }
            // The file disappeared while the others were being validated.
            Validity::Open => return,
        };
        if let Some((held, other)) = self.winners.get(summary.id.as_str()) {
            if *held == number {
                let reason = format!("id `{}` is taken by `{}`", summary.id, other.path.display());
                self.invalid.push(InvalidReason::of_text(reason).at(path, None));
                return;
            }
            self.sources[*held].shadowed.push((summary.id.clone(), summary.source));
        }
        self.sources[number].count += 1;
        self.winners.insert(&summary.id, (number, summary));
    }
}
