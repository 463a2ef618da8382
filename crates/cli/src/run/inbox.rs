//! `milepost inbox`: everything that waits for a person.

use milepost_ops::run::list::{ListRuns, Request};
use milepost_ops::run::next_action::NextAction;
use milepost_ops::run::view::{RunStatus, WaitingView};
use serde::Serialize;

use super::follow;
use crate::failure::CommandResult;
use crate::session::CliSession;
use crate::terminal::{Terminal, safe};

#[derive(Debug, Serialize)]
struct InboxView {
    inbox: Vec<InboxRun>,
}

#[derive(Debug, Serialize)]
struct InboxRun {
    run_id: String,
    workflow: String,
    waiting: Vec<WaitingView>,
    next: Option<NextAction>,
}

/// Lists what waits for a person, in every folder.
pub(crate) fn run(terminal: &mut Terminal) -> CommandResult {
    let session = CliSession::open(terminal)?;
    let status = Some(RunStatus::Waiting.name().to_owned());
    let all_workspaces = true;
    let page = session.run::<ListRuns>(Request { status, all_workspaces, ..Request::default() })?;
    let mut inbox = Vec::new();
    for listed in &page.runs {
        let view = follow::view(&session, &listed.run_id)?;
        let waiting = view.waiting.into_iter().filter(|one| !one.kind.is_for_agent());
        let waiting: Vec<_> = waiting.collect();
        if !waiting.is_empty() {
            let (run_id, workflow) = (view.run_id, view.workflow);
            inbox.push(InboxRun { run_id, workflow, waiting, next: view.next });
        }
    }
    let view = InboxView { inbox };
    terminal.answer(&view, |terminal| {
        if view.inbox.is_empty() {
            terminal.remark("nothing is waiting for you");
        }
        for run in &view.inbox {
            terminal.line(format!("{}  {}", run.run_id, safe(&run.workflow)));
            // The questions are the result of this command.
            run.waiting.iter().for_each(|one| terminal.notice(follow::waiting_text(one)));
            follow::show_next(run.next.as_ref(), &run.waiting, terminal);
        }
    })
}
