//! Which workflows a person reviewed: a digest of everything that decides what their runs may send.

use std::path::PathBuf;

use milepost_engine::event::Presence;
use milepost_model::digest::Digest;
use milepost_model::workflow::Workflow;
use milepost_store::{
    AskingFolder, FolderAsks, Grant, GrantSubject, LibraryEntry, ReviewedGrant, SourceKind,
};

use super::grants;
use crate::prelude::*;
use crate::run::world::OpenedWorld;

/// A workflow as it can be reviewed now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewReport {
    pub workflow_id: String,
    /// Identifies the text, the texts it runs, and the requests that these may send.
    pub digest: String,
    /// What its runs can change and call, one line each.
    pub effects: Vec<String>,
    /// `built-in`, `reviewed`, `changed` or `new`.
    pub standing: &'static str,
    /// Whether its approvals are given without asking.
    pub alone: bool,
    /// What its runs could not change or call when it was reviewed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

/// The hash of a workflow's text.
pub(crate) fn text_hash(entry: &LibraryEntry) -> String {
    let text = entry.document.source.as_ref().map(milepost_syntax::source::Source::text);
    Digest::of(text.unwrap_or_default().as_bytes()).to_string()
}

/// The digest of everything that a person reviews: the text, the texts it runs, the environment,
/// and of each command its method, origin, path and the places of its credentials.
pub(crate) fn digest(world: &OpenedWorld, workflow: &Workflow, text: &str) -> String {
    let commands = world.commands(workflow);
    let commands: Map<String, Value> = commands
        .into_iter()
        .map(|(name, known)| {
            let effect = &known.effect;
            let record = &known.catalog.record;
            let auth = serde_json::to_value(&record.auth).unwrap_or_default();
            let facts = json!([effect.method, effect.origin, effect.path, known.security, auth]);
            (name, facts)
        })
        .collect();
    let texts = world.world.as_ref().map(|world| &world.workflows);
    let all = json!({
        "text": text,
        "workflow": workflow.id.value.as_str(),
        "texts": texts,
        "environment": "default",
        "commands": commands,
    });
    Digest::of(all.to_string().as_bytes()).to_string()
}

/// The grant for a text that a person reviewed, if it is still the one that they reviewed.
pub(crate) fn granted(
    world: &OpenedWorld,
    workflow: &Workflow,
    text: &str,
) -> Result<Option<ReviewedGrant>> {
    let valid = world.writer.reader.grants.valid().or_problem()?;
    let id = workflow.id.value.as_str();
    let mut named = valid.iter().filter_map(|grant| match &grant.subject {
        GrantSubject::Reviewed(reviewed) if reviewed.workflow == id => Some(reviewed),
        GrantSubject::Reviewed(_) | GrantSubject::Folder(_) | GrantSubject::Secret(_) => None,
    });
    let Some(first) = named.next() else { return Ok(None) };
    let digest = digest(world, workflow, text);
    Ok(std::iter::once(first).chain(named).find(|one| one.digest == digest).cloned())
}

/// Whether a person reviewed a text.
pub(crate) fn is_reviewed(world: &OpenedWorld, workflow: &Workflow, text: &str) -> Result<bool> {
    Ok(granted(world, workflow, text)?.is_some())
}

/// The workflows of which a person reviewed some version.
pub(crate) fn reviewed_ids(reader: &Reader) -> Result<Vec<String>> {
    let valid = reader.grants.valid().or_problem()?;
    let ids = valid.iter().filter_map(|grant| match &grant.subject {
        GrantSubject::Reviewed(reviewed) => Some(reviewed.workflow.clone()),
        GrantSubject::Folder(_) | GrantSubject::Secret(_) => None,
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids.dedup();
    Ok(ids)
}

/// Whether a text ships with the program.
pub(crate) fn is_builtin(reader: &Reader, entry: &LibraryEntry) -> bool {
    reader.source_of(&entry.path) == SourceKind::BuiltIn
}

/// A workflow in the library as it can be reviewed now.
pub fn report(writer: &Writer, id: &str) -> Result<ReviewReport> {
    let entry = writer.reader.workflow(id)?;
    let workflow = entry.document.workflow.as_ref().ok_or_else(|| writer.reader.no_workflow(id))?;
    let world = OpenedWorld::newest(writer, workflow);
    let digest = digest(&world, workflow, &text_hash(&entry));
    let effects = world.bound_of_any(workflow).lines(usize::MAX);
    let valid = writer.reader.grants.valid().or_problem()?;
    let before: Vec<&ReviewedGrant> = valid
        .iter()
        .filter_map(|grant| match &grant.subject {
            GrantSubject::Reviewed(reviewed) if reviewed.workflow == id => Some(reviewed),
            GrantSubject::Reviewed(_) | GrantSubject::Folder(_) | GrantSubject::Secret(_) => None,
        })
        .collect();
    let same = before.iter().find(|one| one.digest == digest);
    let known = |line: &String| before.iter().any(|one| one.effects.contains(line));
    let (standing, added) = match (same, before.is_empty()) {
        _ if is_builtin(&writer.reader, &entry) => ("built-in", Vec::new()),
        (Some(_), _) => ("reviewed", Vec::new()),
        (None, false) => ("changed", effects.iter().filter(|line| !known(line)).cloned().collect()),
        (None, true) => ("new", effects.clone()),
    };
    let alone = same.is_some_and(|one| one.alone);
    Ok(ReviewReport { workflow_id: id.to_owned(), digest, effects, standing, alone, added })
}

/// Records that a person reviewed a workflow as it was shown.
pub fn accept(
    writer: &Writer,
    call: &dyn Caller,
    shown: &ReviewReport,
    alone: bool,
) -> Result<Grant> {
    let now = report(writer, &shown.workflow_id)?;
    if now.digest != shown.digest {
        let message = format!("`{}` changed while you looked at it", shown.workflow_id);
        let hint = Hint::text("look at it again with ").person(Invocation::of("workflow.review"));
        return Err(Problem::new(Code::WorkflowVersionConflict, message, hint));
    }
    let deed = match alone {
        true => format!("let `{}` run alone", shown.workflow_id),
        false => format!("mark `{}` as reviewed", shown.workflow_id),
    };
    grants::give(writer, call, subject(writer, &now, alone)?, &deed)
}

/// The subject of a grant for a workflow.
pub(crate) fn subject(writer: &Writer, report: &ReviewReport, alone: bool) -> Result<GrantSubject> {
    let entry = writer.reader.workflow(&report.workflow_id)?;
    Ok(GrantSubject::Reviewed(ReviewedGrant {
        workflow: report.workflow_id.clone(),
        digest: report.digest.clone(),
        folder: folder_of(&writer.reader, &entry),
        alone,
        effects: report.effects.clone(),
    }))
}

/// The real path of the folder that a workflow belongs to; `None` for the user's own.
fn folder_of(reader: &Reader, entry: &LibraryEntry) -> Option<PathBuf> {
    let folder = reader.locations.asking_folder()?;
    let own = entry.path.starts_with(folder);
    own.then(|| AskingFolder::of(&reader.locations, &FolderAsks::default()))
        .flatten()
        .map(|asking| asking.folder)
}

/// Records that a person reviewed a workflow by saving or running it at a terminal. With a PIN, only
/// a signature counts, so nothing is recorded here.
pub(crate) fn note(writer: &Writer, call: &dyn Caller, id: &str) -> Result<()> {
    let pinned = crate::run::person::of(writer).key().or_problem()?.is_some();
    if call.kind() != CallerKind::Person || !call.is_at_terminal() || pinned {
        return Ok(());
    }
    let report = report(writer, id)?;
    if matches!(report.standing, "reviewed" | "built-in") {
        return Ok(());
    }
    let grant = Grant {
        subject: subject(writer, &report, false)?,
        principal: String::new(),
        presence: Presence::Terminal,
        at_ms: milepost_driver::clock::now_ms(),
        signature: None,
    };
    writer.reader.grants.add(grant).or_problem()
}
