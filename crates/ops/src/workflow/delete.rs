//! `workflow.delete`: a workflow is gone, until it is restored.

use milepost_model::problem::Problem;
use milepost_store::{Found, SourceKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Elsewhere, change, elsewhere, expecting, id_of, problem, runners};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::tool::Tool;
use crate::writer::Writer;

/// Deletes a workflow.
#[derive(Debug)]
pub struct Delete;

/// Which one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub workflow_id: String,
    /// The version you have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<String>,
}

/// What is gone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// It is gone.
    pub deleted: bool,
    /// The file that it was.
    pub path: String,
    /// The version that it was, which `workflow.restore` brings back.
    pub version: String,
    /// The workflow of a source that is only read, which counts from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncovers: Option<Elsewhere>,
    /// Which workflows still run it.
    pub warnings: Vec<String>,
}

impl Later for Delete {
    type Request = Request;
    type Response = Response;
    type Hands = Writer;

    const NAME: &'static str = "workflow.delete";
    const TITLE: &'static str = "Delete a workflow";
    const DESCRIPTION: &'static str = include_str!("delete.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::FULL), Door::Command("workflow delete")];

    async fn loss(writer: &Writer, request: &Request) -> Result<Option<String>, Problem> {
        let id = id_of(&request.workflow_id)?;
        let path = match writer.reader.found(id.as_str())? {
            Some(Found::Workflow(entry)) if entry.source == SourceKind::Runtime => {
                entry.path.clone()
            }
            Some(Found::Invalid(invalid)) => invalid.path.clone(),
            _ => return Err(problem::missing(&writer.reader, &id)),
        };
        let path = path.display();
        Ok(Some(format!(
            "Workflow `{id}` (`{path}`) is deleted; its versions stay and can be restored."
        )))
    }

    async fn run(writer: &Writer, _call: &dyn Call, request: Request) -> Result<Response, Problem> {
        let id = id_of(&request.workflow_id)?;
        let change = change(expecting(request.expected_version.as_deref())?);
        let deleted = writer.workflows.delete(&id, change);
        let deleted = deleted.map_err(|error| problem::of_change(error, &writer.reader))?;
        let uncovers = elsewhere(&writer.reader, &id).map(|(there, _)| there);
        let warnings = match uncovers {
            Some(_) => Vec::new(),
            None => runners(&writer.reader, &id, "it has nothing to run now")?,
        };
        Ok(Response {
            workflow_id: id.to_string(),
            deleted: true,
            path: deleted.path.display().to_string(),
            version: deleted.version.to_string(),
            uncovers,
            warnings,
        })
    }

    fn example() -> Request {
        Request { workflow_id: "greet".to_owned(), expected_version: None }
    }
}
