//! Commands that start, follow and control runs, and answer their questions.

mod approve;
pub(crate) mod args;
mod decide;
mod event_text;
mod follow;
mod list;
mod maintenance;
mod resume;

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::process::{Command, Stdio};

use milepost_model::id::RunId;
use milepost_model::limits::OUTPUT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_ops::preview::preview_rendered::{PreviewRequests, Request};
use milepost_ops::run::cancel::{CancelRun, Request as CancelRequest};
use milepost_ops::run::pause::{PauseRun, Request as PauseRequest};
use milepost_ops::run::pin::{Request as PinRequest, SetPin};
use milepost_ops::run::start::{Request as StartRequest, StartRun};
use milepost_ops::run::submit::{Request as SubmitRequest, SubmitStep};
use milepost_ops::run::view::{RunStatus, RunView};
use serde_json::{Map, Value};

use self::args::{CancelArgs, DurabilityChoice, RunArgs, RunIdArgs, ShowRunArgs, SubmitArgs};
use crate::argument_values::file_text;
use crate::exit::Exit;
use crate::failure::{CliError, CliResult};
use crate::session::{CliSession, call};
use crate::terminal::{Terminal, count, safe};
use crate::{document, guide, wording, workflow};

pub(crate) use approve::{answer, answer_as};
pub(crate) use decide::run as decide;
pub(crate) use event_text::waiting_name;
pub(crate) use list::{inbox, logs, run as runs, runs_table};
pub(crate) use maintenance::{backup, forget, restore};
pub(crate) use resume::run as resume;

/// `milepost run`.
pub(crate) fn start(args: &RunArgs, terminal: &mut Terminal) -> CliResult {
    if args.detach {
        return detach(terminal);
    }
    let session = CliSession::open(terminal)?;
    let ChosenWorkflow { manifest, workflow_id, inputs } = ChosenWorkflow::of(args)?;
    let about = |failure: CliError| failure.about(&args.target);
    if args.dry_run {
        let request = Request { manifest, workflow_id, inputs };
        let rendered = session.run::<PreviewRequests>(request).map_err(about)?;
        return terminal.answer(&rendered, |terminal| {
            workflow::plan::show_requests(&rendered, terminal);
        });
    }
    let request = StartRequest {
        manifest,
        workflow_id,
        inputs,
        mock: args.mock,
        relaxed: args.durability == DurabilityChoice::Relaxed,
        ..StartRequest::default()
    };
    let view = session.run::<StartRun>(request).map_err(about)?;
    if args.detached {
        terminal.line(&view.run_id);
    } else if !terminal.is_json() {
        terminal.remark(format!("{}  {}", view.run_id, safe(&view.workflow)));
    }
    follow::follow(&session, &view.run_id, 0, terminal)
}

/// `milepost run --detach`: starts this command line again in a separate process, which outlives
/// this one and the terminal, and shows the new run as soon as it is on disk.
fn detach(terminal: &mut Terminal) -> CliResult {
    let mut command = Command::new(std::env::current_exe().map_err(|error| cannot_start(&error))?);
    // Only the process that starts the run may hold its secret inputs.
    command.args(std::env::args_os().skip(1).map(|word| match word.to_str() {
        Some("--detach") => "--detached".into(),
        _ => word,
    }));
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    command.stdin(if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() });
    // Ctrl-C at this terminal must not reach the child.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| cannot_start(&error))?;
    // The child must be the only writer; otherwise the pipe would never reach its end.
    drop(command);
    for line in BufReader::new(reader).lines() {
        let line = line?;
        // The run id is the first result; nobody reads the child's later output.
        if RunId::parse(&line).is_ok() {
            let view = follow::view(&CliSession::open(terminal)?, &line)?;
            return terminal.answer(&view, |terminal| follow::show_card(&view, terminal));
        }
        terminal.notice(&line);
    }
    Ok(Exit::of_process(child.wait()?.code()))
}

fn cannot_start(error: &io::Error) -> Problem {
    let message = format!("cannot start a process for the run: {error}");
    Problem::new(Code::Internal, message, "run the command without `--detach`")
}

/// The workflow to run, as its text or as its id, and the values of its inputs.
struct ChosenWorkflow {
    manifest: Option<Value>,
    workflow_id: Option<String>,
    inputs: Map<String, Value>,
}

impl ChosenWorkflow {
    fn of(args: &RunArgs) -> CliResult<ChosenWorkflow> {
        // The declarations are needed only for inputs; the operation reads the source anyway.
        if args.given.is_empty()
            && let Some(text) = document::file_text(&args.target)
        {
            let (manifest, inputs) = (Some(Value::from(text)), Map::new());
            return Ok(ChosenWorkflow { manifest, workflow_id: None, inputs });
        }
        let loaded = document::load(&args.target)?;
        let workflow = loaded.document.workflow.as_ref();
        let inputs = match workflow {
            Some(workflow) => args.given.read(workflow)?,
            // Starting the run reports what is wrong with the workflow.
            None => Map::new(),
        };
        // A review counts for an agent only if it names the workflow by its id.
        if let Some(id) = loaded.listed {
            return Ok(ChosenWorkflow { manifest: None, workflow_id: Some(id), inputs });
        }
        let manifest = loaded.document.source.as_ref().map(|source| Value::from(source.text()));
        Ok(ChosenWorkflow { manifest, workflow_id: None, inputs })
    }
}

/// `milepost show`.
pub(crate) fn show(args: &ShowRunArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let view = follow::view_of(&session, &args.run, args.step.as_deref())?;
    terminal.answer(&view, |terminal| {
        list::show_steps(&view, terminal);
        match args.step {
            Some(_) => list::show_requests(&view, terminal),
            None => follow::show_card(&view, terminal),
        }
    })
}

/// `milepost cancel`.
pub(crate) fn cancel(args: &CancelArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open_confirmed(args.yes, terminal)?;
    let mut view = follow::view(&session, &args.run)?;
    if !view.has_ended() {
        let (run_id, reason) = (view.run_id, args.reason.clone());
        view = session.run::<CancelRun>(CancelRequest { run_id, reason })?;
    } else if !terminal.is_json() {
        let (run, status) = (&view.run_id, &view.status);
        terminal.remark(format!("{run} has already ended ({status}): nothing to cancel"));
    }
    terminal.answer(&view, |terminal| follow::show_card(&view, terminal))
}

/// `milepost pause`.
pub(crate) fn pause(args: &RunIdArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let view = session.run::<PauseRun>(PauseRequest { run_id: args.run.clone() })?;
    terminal.answer(&view, |terminal| follow::show_card(&view, terminal))
}

/// `milepost person set-pin`: the PIN is asked for only on the terminal.
pub(crate) fn set_pin(terminal: &mut Terminal) -> CliResult {
    let response = call::<SetPin>(PinRequest {}, terminal)?;
    terminal.answer(&response, |terminal| {
        terminal.line("the PIN is set: runs that start from now on need it for decisions");
        if response.grants > 0 {
            let signed = count(response.grants, "grant");
            terminal.remark(format!("{signed} signed with it; see them with `milepost grants`"));
        }
    })
}

/// `milepost submit`.
pub(crate) fn submit(args: &SubmitArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let output = match &args.output {
        Some(file) => Some(Value::from(file_text(file, OUTPUT_BYTES)?)),
        None if args.context.is_some() => None,
        None => {
            let (run, step) = (&args.run, args.step.as_deref().unwrap_or("<step>"));
            let hint = format!("name a file: `milepost submit {run} {step} result.json`");
            let message = "there is nothing to submit";
            return Err(Problem::new(Code::ParamsInvalid, message, hint).into());
        }
    };
    let response = session.run::<SubmitStep>(SubmitRequest {
        run_id: args.run.clone(),
        step_id: args.step.clone(),
        output,
        context: guide::context(args.context.as_deref())?,
        attempt: None,
    })?;
    terminal.answer(&response, |terminal| {
        for issue in &response.issues {
            terminal.notice(format!("issue: {}", safe(&issue.message)));
            terminal.notice(format!("hint: {}", safe(&wording::hint_text(&issue.suggestion))));
        }
    })?;
    match response.accepted {
        Some(false) => Ok(Exit::FAILED),
        _ if terminal.is_json() => Ok(follow::exit(&response.run)),
        _ => continue_run(&session, &response.run, response.run.seq, terminal),
    }
}

/// After a run has received a message, follows it until it ends or is waiting again, and then
/// follows its parent run.
fn continue_run(
    session: &CliSession,
    view: &RunView,
    after: u64,
    terminal: &mut Terminal,
) -> CliResult {
    // Also show events that the answer caused and that `view` already includes.
    let has_news = !terminal.is_json() && view.seq > after;
    let exit = match has_news || view.status == RunStatus::Running {
        true => follow::follow(session, &view.run_id, after, terminal)?,
        false => follow::finish(view, terminal)?,
    };
    if terminal.is_json() || exit == Exit::INTERRUPTED {
        return Ok(exit);
    }
    let Some(parent) = view.parent.as_deref() else { return Ok(exit) };
    let ended = follow::view(session, &view.run_id)?.has_ended();
    let before = follow::view(session, parent)?;
    if !ended || before.has_ended() {
        return Ok(exit);
    }
    terminal.remark(format!("{parent}  {}  continues", safe(&before.workflow)));
    session.wait(session.operations.hand_on_runs());
    follow::follow(session, parent, before.seq, terminal)
}
