//! What is kept and what is removed: backups, old runs, remembered inputs.

use std::path::Path;

use milepost_driver::clock::now_ms;
use milepost_engine::ports::{Forgetting, Forgotten, JournalError, PurgeFilter};
use milepost_model::id::InputName;
use milepost_model::suggest::count;
use milepost_store::SealedInputs;

use super::errors::of_journal;
use crate::prelude::*;
use crate::workflow::id_of;

/// The destination.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupRequest {
    /// The folder to create; it must not exist.
    pub to: String,
}

/// The backup's location.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BackupResponse {
    /// The folder's path.
    pub path: String,
}

operation! {
    /// Copies all runs.
    BackupRuns: "runs.backup", "Back up all runs",
        "Copy all runs to a folder, consistently even while runs are active, with their \
         texts, responses, remembered inputs and verification key. Excludes secrets, \
         catalogs and workflow files.";
    doors: [Door::Command("backup")];
    run: backup(Writer, BackupRequest) -> BackupResponse;
    example: {"to": "runs-backup"};
}

async fn backup(writer: &Writer, _: &dyn Caller, request: BackupRequest) -> Result<BackupResponse> {
    writer.reader.ports.history.backup(Path::new(&request.to)).await.or_problem()?;
    Ok(BackupResponse { path: request.to })
}

/// The source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// The backup's folder.
    pub from: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RestoreResponse {
    /// The number of runs.
    pub runs: u64,
    /// The number of events; each was verified.
    pub events: u64,
    /// The number of response files and catalog documents.
    pub files: u64,
}

operation! {
    /// Restores all runs from a backup.
    RestoreRuns: "runs.restore", "Restore all runs from a backup",
        "Restore the runs in a backup, if there are none yet, after verifying every row and \
         file. Runs that were active at the time continue.";
    doors: [Door::Command("restore")];
    run: restore(Writer, RestoreRequest) -> RestoreResponse;
    admits: restore_runs_admits;
    example: {"from": "runs-backup"};
}

fn restore_runs_admits(call: &dyn Caller, request: &RestoreRequest) -> Result<()> {
    let restore = Invocation::of(RestoreRuns::NAME).with("from", request.from.as_str());
    super::person::only_a_person(call, "only a person can restore runs", restore)
}

async fn restore(
    writer: &Writer,
    _: &dyn Caller,
    request: RestoreRequest,
) -> Result<RestoreResponse> {
    let restored = writer.reader.ports.history.restore(Path::new(&request.from)).await;
    let report = restored.map_err(|error| match error {
        JournalError::Exists { path } => {
            let message = "runs already exist, and a backup must not replace them";
            let path = path.display();
            let hint = format!("move `{path}` and the `chain.key` next to it out of the way");
            Problem::new(Code::FileRefused, message, hint)
        }
        JournalError::Busy => {
            let message = "another process has the runs open";
            Problem::new(Code::FileRefused, message, "stop it, then try again")
        }
        error => of_journal(&error),
    })?;
    Ok(RestoreResponse { runs: report.runs, events: report.events, files: report.files })
}

/// Which runs to remove.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeRequest {
    /// Only runs that ended at least this many seconds ago.
    pub older_than_s: Option<u64>,
    /// Only runs of this workflow.
    pub workflow_id: Option<String>,
    /// Runs in all workspaces, not just this one.
    #[serde(default)]
    pub all_workspaces: bool,
    /// Shows what would be removed, without removing it.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was removed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PurgeResponse {
    /// The number of runs, including child runs.
    pub runs: u64,
    /// The number of workspaces they belong to.
    pub projects: u64,
    /// The number of response files that no other run uses; 0 in a dry run, which does not check
    /// them.
    pub blobs: u64,
    /// The number of bytes freed; 0 in a dry run.
    pub bytes_freed: u64,
    /// Whether nothing was removed.
    pub dry_run: bool,
}

operation! {
    /// Removes runs that have ended.
    PurgeRuns: "runs.purge", "Remove old runs",
        "Remove ended runs in this workspace, with their child runs, journals and anything \
         only they used. A run that another run still needs is kept.";
    doors: [Door::Command("runs purge")];
    run: purge(Writer, PurgeRequest) -> PurgeResponse;
    loss: purge_runs_loss;
    example: {"older_than_s": 2_592_000, "dry_run": true};
}

async fn purge_runs_loss(
    writer: &Writer,
    _: &dyn Caller,
    request: &PurgeRequest,
) -> Result<Option<String>> {
    if request.dry_run {
        return Ok(None);
    }
    let filter = filter(writer, request)?;
    let report = writer.reader.ports.history.purgeable(filter).await.or_problem()?;
    let (runs, folders) = (count(report.runs, "run"), count(report.projects, "folder"));
    let lost = || format!("this removes {runs} in {folders}, including all journals");
    Ok((report.runs > 0).then(lost))
}

async fn purge(writer: &Writer, _: &dyn Caller, request: PurgeRequest) -> Result<PurgeResponse> {
    let history = &writer.reader.ports.history;
    let filter = filter(writer, &request)?;
    if !request.dry_run {
        remove_sealed(writer).await;
    }
    let report = match request.dry_run {
        true => history.purgeable(filter).await,
        false => history.purge(filter).await,
    }
    .or_problem()?;
    Ok(PurgeResponse {
        runs: report.runs,
        projects: report.projects,
        blobs: report.files,
        bytes_freed: report.bytes,
        dry_run: request.dry_run,
    })
}

/// Removes secret inputs that were left behind after their run ended.
async fn remove_sealed(writer: &Writer) {
    let sealed = SealedInputs::of(&writer.reader.locations.data);
    for run in sealed.runs() {
        let record = writer.reader.ports.journal.run(&run).await;
        if record.is_ok_and(|record| record.standing.ended_ms.is_some())
            && let Err(error) = sealed.remove(&run)
        {
            tracing::warn!(%run, %error, "secret inputs remain until they expire");
        }
    }
}

fn filter(writer: &Writer, request: &PurgeRequest) -> Result<PurgeFilter> {
    let age = request.older_than_s.unwrap_or(0).saturating_mul(1000);
    let own = || writer.reader.workspace().display().to_string();
    let mut filter = PurgeFilter {
        ended_before_ms: Some(now_ms().saturating_sub(age)),
        workspace: (!request.all_workspaces).then(own),
        ..PurgeFilter::default()
    };
    filter.workflow = request.workflow_id.as_deref().map(id_of).transpose()?;
    Ok(filter)
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetRequest {
    /// Only for this workflow; all workflows if absent.
    pub workflow_id: Option<String>,
    /// Only for these inputs; all inputs if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_keys: Vec<String>,
}

/// What was forgotten.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForgetResponse {
    /// The number of values.
    pub removed: usize,
    /// The inputs they belonged to.
    pub entries: Vec<ForgottenInput>,
}

/// Values of one input that were forgotten.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForgottenInput {
    /// The workflow.
    pub workflow_id: String,
    /// The input.
    pub input_key: String,
    /// The number of forgotten values; there is one for each folder the input was used in.
    pub values: usize,
}

operation! {
    /// Forgets remembered inputs.
    ForgetInputs: "workflow.purge_history", "Forget remembered inputs",
        "Forget the input values that earlier runs saved as defaults. Runs are not changed.";
    doors: [Door::Tool(Tool { repeats: true, ..Tool::FULL }), Door::Command("inputs forget")];
    run: forget_inputs(Writer, ForgetRequest) -> ForgetResponse;
    loss: forget_inputs_loss;
    admits: forget_inputs_admits;
    example: {"workflow_id": "refund-order"};
}

/// Only a person may forget everything, because a model may have omitted the filter by mistake.
fn forget_inputs_admits(call: &dyn Caller, request: &ForgetRequest) -> Result<()> {
    let names_nothing = request.workflow_id.is_none() && request.input_keys.is_empty();
    if call.kind() == CallerKind::Person || !names_nothing {
        return Ok(());
    }
    let message = "the request does not say which inputs to forget";
    let hint = Hint::text(
        "give `workflow_id` or `input_keys`; only a person can forget the inputs of all \
         workflows, with ",
    )
    .person(Invocation::of(ForgetInputs::NAME));
    Err(Problem::new(Code::ParamsInvalid, message, hint))
}

async fn forget_inputs_loss(
    writer: &Writer,
    call: &dyn Caller,
    request: &ForgetRequest,
) -> Result<Option<String>> {
    let history = &writer.reader.ports.history;
    let remembers = history.remembers_inputs(call.principal(), forgetting(request)?).await;
    if !remembers.or_problem()? {
        return Ok(None);
    }
    let whose = request.workflow_id.as_ref();
    let whose = whose.map_or("all workflows".to_owned(), |id| format!("`{id}`"));
    let which = match &request.input_keys[..] {
        [] => "inputs".to_owned(),
        some => format!("values of `{}`", some.join("`, `")),
    };
    Ok(Some(format!("this forgets the remembered {which} for {whose}")))
}

async fn forget_inputs(
    writer: &Writer,
    call: &dyn Caller,
    request: ForgetRequest,
) -> Result<ForgetResponse> {
    let history = &writer.reader.ports.history;
    let forgotten = history.forget_inputs(call.principal(), forgetting(&request)?).await;
    let forgotten = forgotten.or_problem()?;
    let removed = forgotten.iter().map(|forgotten| forgotten.values).sum();
    let entry = |Forgotten { workflow, input, values }| ForgottenInput {
        workflow_id: workflow,
        input_key: input,
        values,
    };
    Ok(ForgetResponse { removed, entries: forgotten.into_iter().map(entry).collect() })
}

fn forgetting(request: &ForgetRequest) -> Result<Forgetting> {
    let inputs = request.input_keys.iter().map(|key| input(key));
    Ok(Forgetting {
        workflow: request.workflow_id.as_deref().map(id_of).transpose()?,
        inputs: inputs.collect::<Result<_, _>>()?,
    })
}

fn input(key: &str) -> Result<InputName> {
    InputName::parse(key).map_err(|error| {
        Problem::new(Code::IdInvalid, error.to_string(), "use the name of an input")
    })
}
