//! Resources that a client may read without calling a tool.

use milepost_model::schema;
use milepost_model::workflow::Spelling;
use milepost_ops::catalog::list::{ListCatalogs as Catalogs, Request as CatalogsRequest};
use milepost_ops::command::list::{Detail, ListCommands as Commands, Request as CommandsRequest};
use milepost_ops::provider::list::{ListProviders as Providers, Request as ProvidersRequest};
use milepost_ops::run::status::{self, GetRunStatus};
use milepost_ops::run::view::RunView;
use milepost_ops::workflow::DocumentFormat;
use milepost_ops::workflow::get::{GetWorkflow, Request as GetRequest};
use milepost_ops::workflow::list::{ListWorkflows, Request as ListRequest, WorkflowItem};
use milepost_ops::{AgentCaller, Code, Operations, Problem, Profile};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::{Value, json};

use super::approvals::misshapen;
use super::{ToolStyle, suggested_call, tasks};
use crate::limits;

const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
/// The prefix of our URIs.
const SCHEME: &str = "milepost://";

/// The built-in documentation pages.
pub(super) const DOCS: &[(&str, &str, &str)] = &[
    ("workflows", "Writing workflows", include_str!("../../../../docs/workflows.md")),
    ("expressions", "Writing expressions", include_str!("../../../../docs/expressions.md")),
    ("guides", "Writing guides", include_str!("../../../../docs/guides.md")),
    ("catalogs", "Working with catalogs", include_str!("../../../../docs/catalogs.md")),
    ("durability", "What a run survives", include_str!("../../../../docs/durability.md")),
];

/// What a URI refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Named {
    Spec,
    Schema,
    Manifests,
    Manifest(String),
    /// The commands of all catalogs or of one; `cursor` selects the page.
    Commands {
        catalog: Option<String>,
        cursor: Option<String>,
    },
    Providers,
    Run(String),
    Output {
        run: String,
        step: String,
    },
    Docs(String),
}

/// The fixed resources: path, name, description and type.
const FIXED: [(&str, &str, &str, &str); 5] = [
    ("workflow/spec", "workflow.spec", "The complete guide to writing workflows", MARKDOWN),
    ("workflow/schema", "workflow.schema", "The JSON Schema of workflows", JSON),
    ("workflow/manifests", "workflow.manifests", "A summary of every workflow", JSON),
    ("command/catalog", "command.catalog", "The commands of every catalog", JSON),
    ("provider/catalog", "provider.catalog", "Commands that yield choices", JSON),
];

pub(super) fn list() -> Vec<Resource> {
    let fixed = FIXED.iter().map(|(path, name, description, kind)| {
        Resource::new(format!("{SCHEME}{path}"), *name)
            .with_description(*description)
            .with_mime_type(*kind)
    });
    let docs = DOCS.iter().map(|(topic, title, text)| {
        Resource::new(format!("{SCHEME}docs/{topic}"), format!("docs.{topic}"))
            .with_title(*title)
            .with_mime_type(MARKDOWN)
            .with_size(text.len() as u64)
    });
    fixed.chain(docs).collect()
}

/// The URI templates.
pub(super) fn templates(profile: Profile) -> Vec<ResourceTemplate> {
    let all = [
        ("workflow/manifest/{workflow_id}", "workflow.manifest", "The text of a workflow", YAML),
        ("command/catalog/{catalog}", "command.catalog.one", "The commands of a catalog", JSON),
        ("run/{run_id}", "run", "The current state of a run", JSON),
        ("run/{run_id}/step/{step_id}/output", "run.output", "The output of a step", JSON),
        ("docs/{topic}", "docs", "A page of the documentation", MARKDOWN),
    ];
    let shown =
        all.iter().filter(|(_, name, ..)| profile > Profile::Work || *name != "workflow.manifest");
    let templates = shown.map(|(path, name, description, kind)| {
        ResourceTemplate::new(format!("{SCHEME}{path}"), *name)
            .with_description(*description)
            .with_mime_type(*kind)
    });
    templates.collect()
}

/// How long the content of a URI may be cached; `None` if it may change at any time.
pub(super) fn lives_ms(uri: &str) -> Option<u64> {
    matches!(named(uri)?, Named::Spec | Named::Schema | Named::Docs(_)).then_some(limits::FIXED_MS)
}

/// Whether a URI refers to a kind of resource that exists.
pub(super) fn is_known(uri: &str) -> bool {
    named(uri).is_some()
}

/// Reads the resource at a URI; `None` if the URI cannot refer to one.
pub(super) async fn read(
    operations: &Operations,
    caller: &AgentCaller,
    style: ToolStyle,
    uri: &str,
) -> Option<Result<ResourceContents, Problem>> {
    let named = named(uri)?;
    if style.profile == Profile::Work && matches!(named, Named::Manifest(_)) {
        return None;
    }
    let read = contents(operations, caller, style, &named).await;
    Some(read.map(|(text, kind)| ResourceContents::text(text, uri).with_mime_type(kind)))
}

async fn contents(
    operations: &Operations,
    caller: &AgentCaller,
    style: ToolStyle,
    named: &Named,
) -> Result<(String, &'static str), Problem> {
    match named {
        Named::Spec => Ok((page("workflows")?.to_owned(), MARKDOWN)),
        Named::Docs(topic) => Ok((page(topic)?.to_owned(), MARKDOWN)),
        Named::Schema => Ok((format!("{:#}", schema::of(Spelling::Manifest)), JSON)),
        Named::Manifests => {
            let listed = operations.run::<ListWorkflows>(caller, ListRequest::default()).await?;
            let items: Vec<Value> = listed.workflows.iter().map(short).collect();
            json_of(&json!({"manifests": items, "invalid": listed.invalid}))
        }
        Named::Manifest(id) => {
            let request = GetRequest { workflow_id: id.clone() };
            let got = operations.run::<GetWorkflow>(caller, request).await?;
            Ok((got.content, if got.format == Some(DocumentFormat::Json) { JSON } else { YAML }))
        }
        Named::Commands { catalog, cursor } => {
            let request = CommandsRequest {
                catalog: catalog.clone(),
                cursor: cursor.clone(),
                detail: Some(Detail::Full),
                ..Default::default()
            };
            json_of(&operations.run::<Commands>(caller, request).await?)
        }
        Named::Providers => {
            json_of(&operations.run::<Providers>(caller, ProvidersRequest::default()).await?)
        }
        Named::Run(run) => {
            json_of(&suggested_call::written(&self::run(operations, caller, run).await?, style)?)
        }
        Named::Output { run, step } => {
            let seen = self::run(operations, caller, run).await?;
            let found = seen.steps.iter().find(|one| one.id == *step);
            let found = found.ok_or_else(|| {
                let hint = "read the run to see its steps";
                Problem::new(Code::StepNotFound, format!("the run has no step `{step}`"), hint)
            })?;
            json_of(&found.output)
        }
    }
}

async fn run(operations: &Operations, caller: &AgentCaller, run: &str) -> Result<RunView, Problem> {
    let run_id = Some(run.to_owned());
    tasks::view(operations, caller, status::Request { run_id, ..Default::default() }).await
}

/// The summary of a workflow, with the fields that the contract prescribes.
fn short(item: &WorkflowItem) -> Value {
    json!({
        "workflow_id": item.workflow_id,
        "title": item.title,
        "description": item.description,
        "path": item.path,
        "format": item.format,
        "version": item.version,
    })
}

fn json_of(value: &impl Serialize) -> Result<(String, &'static str), Problem> {
    let text = serde_json::to_string(value).map_err(|error| misshapen(&error))?;
    Ok((text, JSON))
}

fn page(topic: &str) -> Result<&'static str, Problem> {
    let found = DOCS.iter().find(|(name, ..)| *name == topic);
    found.map(|(_, _, text)| *text).ok_or_else(|| {
        let names: Vec<&str> = DOCS.iter().map(|(name, ..)| *name).collect();
        let hint = format!("read one of {}", names.join(", "));
        Problem::new(Code::FileNotFound, format!("there is no page `{topic}`"), hint)
    })
}

/// Completes a parameter of a URI template, given the part that has been typed and the run that
/// another parameter names. On error, the result is empty.
pub(super) async fn complete(
    operations: &Operations,
    caller: &AgentCaller,
    blank: &str,
    typed: &str,
    run: Option<&str>,
) -> Vec<String> {
    let mut all = all_of(operations, caller, blank, run).await.unwrap_or_else(|_| Vec::new());
    all.retain(|one| one.starts_with(typed));
    all
}

/// All possible values of a template parameter.
async fn all_of(
    operations: &Operations,
    caller: &AgentCaller,
    blank: &str,
    run: Option<&str>,
) -> Result<Vec<String>, Problem> {
    Ok(match (blank, run) {
        ("workflow_id", _) => {
            let listed = operations.run::<ListWorkflows>(caller, ListRequest::default()).await?;
            listed.workflows.into_iter().map(|item| item.workflow_id).collect()
        }
        ("run_id", _) => {
            match operations.run::<GetRunStatus>(caller, status::Request::default()).await? {
                status::Response::Open { runs } => runs.into_iter().map(|run| run.run_id).collect(),
                status::Response::Run(run) => vec![run.run_id],
            }
        }
        ("step_id", Some(run)) => {
            let seen = self::run(operations, caller, run).await?;
            seen.steps.into_iter().map(|step| step.id).collect()
        }
        ("catalog", _) => {
            let listed = operations.run::<Catalogs>(caller, CatalogsRequest::default()).await?;
            listed.catalogs.into_iter().map(|item| item.catalog_id).collect()
        }
        ("topic", _) => DOCS.iter().map(|(topic, ..)| (*topic).to_owned()).collect(),
        _ => Vec::new(),
    })
}

/// Parses a URI, in our format or in the contract's.
fn named(uri: &str) -> Option<Named> {
    if let Some(path) = uri.strip_prefix(SCHEME) {
        return of_path(path);
    }
    match FIXED.iter().find(|(_, name, ..)| *name == uri) {
        Some((path, ..)) => of_path(path),
        None => uri.strip_prefix("workflow.manifest:").and_then(whole).map(Named::Manifest),
    }
}

fn of_path(path: &str) -> Option<Named> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let cursor = query.strip_prefix("cursor=").and_then(whole);
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["workflow", "spec"] => Some(Named::Spec),
        ["workflow", "schema"] => Some(Named::Schema),
        ["workflow", "manifests"] => Some(Named::Manifests),
        ["workflow", "manifest", id] => whole(id).map(Named::Manifest),
        ["command", "catalog"] => Some(Named::Commands { catalog: None, cursor }),
        ["command", "catalog", catalog] => {
            Some(Named::Commands { catalog: Some(whole(catalog)?), cursor })
        }
        ["provider", "catalog"] => Some(Named::Providers),
        ["run", run] => whole(run).map(Named::Run),
        ["run", run, "step", step, "output"] => {
            Some(Named::Output { run: whole(run)?, step: whole(step)? })
        }
        ["docs", topic] => whole(topic).map(Named::Docs),
        _ => None,
    }
}

/// Percent-decodes a part of a URI; `None` if it is empty or not UTF-8.
fn whole(part: &str) -> Option<String> {
    let decoded = percent_encoding::percent_decode_str(part).decode_utf8().ok()?;
    (!decoded.is_empty()).then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_the_same() {
        for (ours, theirs) in [
            ("milepost://workflow/spec", "workflow.spec"),
            ("milepost://workflow/schema", "workflow.schema"),
            ("milepost://workflow/manifests", "workflow.manifests"),
            ("milepost://workflow/manifest/a-b", "workflow.manifest:a-b"),
            ("milepost://command/catalog", "command.catalog"),
            ("milepost://provider/catalog", "provider.catalog"),
        ] {
            assert!(named(ours).is_some(), "{ours}");
            assert_eq!(named(ours), named(theirs), "{ours}");
        }
        let output = Named::Output { run: "r".into(), step: "a[1]".into() };
        assert_eq!(named("milepost://run/r/step/a%5B1%5D/output"), Some(output));
        for nothing in
            ["milepost://", "milepost://run/", "workflow.manifest:", "file:///etc/passwd"]
        {
            assert_eq!(named(nothing), None, "{nothing}");
        }
    }
}
