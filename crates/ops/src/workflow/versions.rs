//! `workflow.versions`: the earlier versions of a workflow, and what created each.

use milepost_model::id::WorkflowId;
use milepost_store::workflows::{VersionList as Past, WorkflowHistory};
use milepost_store::{Digest, LibraryMatch, SourceKind};
use milepost_syntax::source::{Format, Source};

use super::{DocumentFormat, content, id_of, problem};
use crate::prelude::*;

/// The workflow whose versions to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id; it may have been deleted.
    pub workflow_id: String,
    /// Maximum number; default 50.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// The versions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflow's id.
    pub workflow_id: String,
    /// Newest first; a restored version is listed again.
    pub versions: Vec<VersionItem>,
    /// Whether there are older ones.
    pub more: bool,
    /// When it was deleted, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VersionItem {
    /// The hash of its bytes.
    pub version: String,
    /// When it was created; absent for edits made outside Milepost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What created it: `save`, `rename`, `restore`, or `edit` (outside Milepost).
    pub operation: String,
    /// Its format.
    pub format: DocumentFormat,
    /// The workflow's id before this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// Whether it is the current version.
    pub current: bool,
}

operation! {
    /// Lists the versions of a workflow.
    ListVersions: "workflow.versions", "List versions of a workflow",
        include_str!("versions.md");
    doors: [Door::Command("workflow versions")];
    run: list_versions(Reader, Request) -> Response;
    example: {"workflow_id": "greet"};
}

async fn list_versions(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let VersionedWorkflow { id, past, .. } = VersionedWorkflow::of(reader, &request.workflow_id)?;
    let limit = request.limit.unwrap_or(limits::VERSIONS_PAGE).clamp(1, limits::VERSIONS_PAGE_MAX);
    let items = past.items.iter().take(limit).map(|one| VersionItem {
        version: one.version.to_string(),
        at: one.at_ms.map(to_the_second),
        operation: one.operation.name().to_owned(),
        format: one.format.into(),
        renamed_from: one.renamed_from.clone(),
        current: one.current,
    });
    Ok(Response {
        workflow_id: id.to_string(),
        versions: items.collect(),
        more: past.cut || past.items.len() > limit,
        deleted_at: past.deleted_ms.map(to_the_second),
    })
}

/// Formats milliseconds since 1970 as RFC 3339 in UTC, to the second.
fn to_the_second(at_ms: u64) -> String {
    format!("{:.19}Z", crate::rfc3339(at_ms))
}

/// A workflow in the runtime directory, with its history.
pub(super) struct VersionedWorkflow {
    pub(super) id: WorkflowId,
    pub(super) past: Past,
    history: WorkflowHistory,
    /// The current version and content of the file.
    current: Option<(Digest, String)>,
}

impl VersionedWorkflow {
    /// Loads a current or deleted workflow by id.
    pub(super) fn of(reader: &Reader, id: &str) -> Result<VersionedWorkflow> {
        let id = id_of(id)?;
        let now = now(reader, &id)?;
        let now = now.map(|(text, format)| (Digest::of(text.as_bytes()), text, format));
        let history = WorkflowHistory::open(&reader.locations);
        let known = now.as_ref().map(|(version, _, format)| (*version, *format));
        let past = history.versions(&id, known).or_problem()?;
        if past.items.is_empty() {
            return Err(problem::missing(reader, &id));
        }
        let current = now.map(|(version, text, _)| (version, text));
        Ok(VersionedWorkflow { id, past, history, current })
    }

    /// Finds a version by a unique prefix of its hash.
    pub(super) fn called(&self, text: &str) -> Result<Digest> {
        let asked = text.to_ascii_lowercase();
        let fits = |version: &Digest| version.to_string().starts_with(&asked);
        let mut found: Vec<Digest> =
            self.past.items.iter().map(|one| one.version).filter(fits).collect();
        found.sort();
        found.dedup();
        match found.as_slice() {
            [version] if asked.len() >= limits::VERSION_DIGITS_MIN => Ok(*version),
            [_, _, ..] if asked.len() >= limits::VERSION_DIGITS_MIN => {
                let message = format!("several versions of `{}` begin with `{asked}`", self.id);
                let hint = "give more digits";
                Err(Problem::new(Code::WorkflowVersionNotFound, message, hint)
                    .context("workflow_id", self.id.as_str())
                    .context("version", asked))
            }
            _ => Err(problem::no_version(&self.id, text)),
        }
    }

    /// The source of a version.
    pub(super) fn text(&self, version: Digest, reader: &Reader) -> Result<String> {
        if let Some((_, text)) = self.current.as_ref().filter(|(held, _)| *held == version) {
            return Ok(text.clone());
        }
        let kept = self.history.text(&self.id, version);
        let kept = kept.map_err(|error| problem::of_change(error, reader))?;
        // An editor may have saved bytes that are not valid UTF-8; show as much as possible.
        Ok(String::from_utf8_lossy(&kept.bytes).into_owned())
    }
}

/// The current source and format of a workflow; `None` if it has no file in the runtime directory.
fn now(reader: &Reader, id: &WorkflowId) -> Result<Option<(String, Format)>> {
    let document = match reader.found(id.as_str())? {
        Some(LibraryMatch::Workflow(entry)) if entry.source == SourceKind::Runtime => {
            Some(std::sync::Arc::clone(&entry.document))
        }
        Some(LibraryMatch::Invalid(invalid))
            if reader.source_of(&invalid.path) == SourceKind::Runtime =>
        {
            invalid.document.clone()
        }
        _ => None,
    };
    Ok(document.and_then(|document| {
        let format = document.source.as_ref().map(Source::format)?;
        Some((content(&document)?, format))
    }))
}

#[cfg(test)]
mod tests {
    use super::to_the_second;

    #[test]
    fn known_moments() {
        for (at_s, written) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(to_the_second(at_s * 1_000 + 999), written);
        }
    }
}
