//! Orchestrations: writing or correcting a workflow, saving it and running it, all as one durable
//! run.
//!
//! An orchestration *is* a run of a workflow that is assembled for the request. Work for a model is
//! an agent step: the client's own model does it if the client supports sampling, any agent can do
//! it through `workflow.submit`, and a person takes over when the attempts are used up. Work that
//! Milepost does itself is a built-in command. An orchestration can therefore be recovered,
//! resumed, canceled and inspected like any other run.

pub mod author_and_run;
pub(crate) mod builtin_command;
mod reject_secrets;
pub mod repair_and_rerun;

pub(crate) use self::reject_secrets::of_run as no_secrets;
use crate::prelude::*;
use crate::run::prepare;
use crate::run::view::RunView;

/// The target of a step that runs any workflow it is given.
pub(crate) const CHOSEN: &str = "milepost.chosen";
/// The agent step that submits a workflow.
pub const DRAFT: &str = "draft";
/// The agent step that submits missing inputs.
pub const INPUTS: &str = "inputs";
/// How many times the client's model is asked before someone else has to take over.
pub const ROUNDS: u32 = limits::AUTHOR_ROUNDS;
/// The step that saves the workflow.
const SAVE: &str = "save";

/// The workflows whose runs are orchestrations.
const ORCHESTRATIONS: [&str; 2] = ["milepost.author-and-run", "milepost.repair-and-rerun"];

/// Whether a run of this workflow is an orchestration.
pub fn is_orchestration(workflow: &str) -> bool {
    ORCHESTRATIONS.contains(&workflow)
}

/// The workflow that an orchestration eventually runs.
#[derive(Debug)]
enum Subject {
    /// An existing workflow in the library, unchanged.
    Kept(String),
    /// A valid source.
    Text(String),
    /// The source that an agent submits for this prompt.
    Drafted(String),
}

/// An orchestration that is about to start.
#[derive(Debug)]
struct Orchestration {
    id: &'static str,
    title: &'static str,
    subject: Subject,
    /// The id that the workflow must have, and the version that it replaces.
    keeps: Option<(String, Option<String>)>,
    inputs: Map<String, Value>,
}

impl Orchestration {
    /// Starts the orchestration; it is on disk when this returns.
    async fn begin(self, writer: &Writer, call: &dyn Caller) -> Result<RunView> {
        let runs = writer.runs()?;
        let prepared = prepare::own(writer, call, &self.manifest(), self.given()).await?;
        let run = runs.start(prepared).await.or_problem()?;
        // Callers follow the orchestration as a task, so there is no need to wait here.
        crate::run::view(runs, &run).await
    }

    fn given(&self) -> Map<String, Value> {
        let (name, subject) = match &self.subject {
            Subject::Kept(id) => ("workflow_id", id),
            Subject::Text(text) => ("manifest", text),
            Subject::Drafted(prompt) => ("task", prompt),
        };
        let inputs = Value::Object(self.inputs.clone());
        Map::from_iter([(name.into(), subject.clone().into()), ("inputs".into(), inputs)])
    }

    /// The orchestration's workflow.
    fn manifest(&self) -> Value {
        let text = json!({"type": "string"});
        let mut inputs = json!({"inputs": {"type": "object"}});
        let mut steps = Vec::new();
        let (saved, workflow) = match &self.subject {
            Subject::Kept(_) => {
                inputs["workflow_id"] = text;
                (None, "${{ inputs.workflow_id }}")
            }
            Subject::Text(_) => {
                inputs["manifest"] = text;
                (Some("${{ inputs.manifest }}"), SAVED)
            }
            Subject::Drafted(_) => {
                inputs["task"] = text;
                steps.push(self.draft());
                (Some("${{ steps.draft.output.manifest }}"), SAVED)
            }
        };
        steps.extend(saved.map(|manifest| self.save(manifest)));
        steps.extend(run(workflow));
        json!({
            "workflow": self.id,
            "title": self.title,
            "inputs": inputs,
            "steps": steps,
            "final_output": {"workflow_id": workflow, "output": "${{ steps.run.output }}"},
        })
    }

    fn draft(&self) -> Value {
        let mut with = json!({
            "manifest": "${{ steps.self.output.manifest }}",
            "inputs": "${{ inputs.inputs }}",
        });
        if let Some((id, _)) = &self.keeps {
            with["workflow_id"] = id.clone().into();
        }
        json!({
            "id": DRAFT,
            "title": "Write the workflow",
            "prompt": "${{ inputs.task }}\n\nSubmit it as `{\"manifest\": \"<the whole text>\"}`.",
            "output_schema": {
                "type": "object",
                "required": ["manifest"],
                "properties": {"manifest": {"type": "string"}},
            },
            "max_attempts": limits::AUTHOR_SUBMISSIONS,
            "verify": [{
                "run": "milepost workflow:check",
                "with": with,
                "check": "output.valid",
                "message": "The workflow must validate",
            }],
        })
    }

    fn save(&self, manifest: &str) -> Value {
        let mut with = json!({"manifest": manifest});
        if let Some((_, Some(version))) = &self.keeps {
            with["expected_version"] = version.clone().into();
        }
        json!({"id": SAVE, "title": "Save it", "run": "milepost workflow:save", "with": with})
    }
}

const LACKING: &str = "The workflow still needs these values:
${{ json(steps.resolve.output.missing) }}

Ask the user for what you do not know, and never for a secret. Submit them as an object, keyed by \
input name.";
const SAVED: &str = "${{ steps.save.output.workflow_id }}";

/// The steps that resolve a workflow's inputs and run the workflow.
fn run(workflow: &str) -> [Value; 3] {
    let given = json!({"workflow_id": workflow, "inputs": "${{ inputs.inputs }}"});
    let with = |more: &str| {
        let mut with = given.clone();
        with["more"] = more.into();
        with
    };
    [
        json!({
            "id": "resolve",
            "title": "Check which inputs are missing",
            "run": "milepost workflow:inputs",
            "with": given,
        }),
        json!({
            "id": INPUTS,
            "title": "Supply the missing inputs",
            "if": "size(steps.resolve.output.missing) > 0",
            "prompt": LACKING,
            "output_schema": {"type": "object"},
            "max_attempts": limits::AUTHOR_SUBMISSIONS,
            "verify": [{
                "run": "milepost workflow:ready",
                "with": with("${{ steps.self.output }}"),
                "check": "output.ready",
                "message": "The workflow must accept the inputs",
            }],
        }),
        json!({
            "id": "run",
            "title": "Run it",
            "run": format!("workflow {CHOSEN}"),
            "depends_on": ["resolve", INPUTS],
            "needs": "any",
            "with": with("${{ steps.inputs.?output }}"),
        }),
    ]
}

/// The workflow and inputs for a [`CHOSEN`] step, taken from its arguments.
pub(crate) fn chosen(given: &Map<String, Value>) -> (Option<String>, Map<String, Value>) {
    let workflow = given.get("workflow_id").and_then(Value::as_str).map(str::to_owned);
    (workflow, values(given))
}

/// The inputs given to an orchestration step.
fn values(given: &Map<String, Value>) -> Map<String, Value> {
    let parts = ["inputs", "more"].into_iter().filter_map(|name| given.get(name)?.as_object());
    parts.flat_map(Clone::clone).collect()
}

/// The id that a corrected source keeps, and the current version, which it replaces. `None` if the
/// corrected source may have any id.
fn keeps(
    writer: &Writer,
    text: &str,
    meant: Option<&str>,
) -> Result<Option<(String, Option<String>)>> {
    let id = meant.map(str::to_owned).or_else(|| {
        let document = crate::workflow::read(&writer.reader, text.as_bytes(), None);
        document.id.filter(|id| writer.reader.workflow(id).is_ok())
    });
    let Some(id) = id else { return Ok(None) };
    let there = match writer.reader.workflow(&id) {
        Ok(entry) => Some(entry.version.clone()),
        Err(problem) if problem.code == Code::WorkflowNotFound => None,
        Err(problem) => return Err(problem),
    };
    Ok(Some((id, there)))
}
