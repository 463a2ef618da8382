//! `milepost inbox`: everything that waits for a person.

use milepost_ops::run::list::{List, Request};
use milepost_ops::run::view::RunStatus;
use serde::Serialize;

use super::{args, follow};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{self, Session};
use crate::terminal::{Terminal, safe};
use crate::wording;

#[derive(Debug, Serialize)]
struct Inbox {
    inbox: Vec<Waiting>,
}

#[derive(Debug, Serialize)]
struct Waiting {
    run_id: String,
    workflow: String,
    #[serde(rename = "waiting")]
    asked: Vec<milepost_ops::run::view::WaitingView>,
    next: Option<milepost_ops::run::next::Next>,
}

/// Lists what waits for a person, of every workspace.
pub(crate) fn run(arguments: &args::Inbox, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let status = Some(RunStatus::Waiting.name().to_owned());
    let all_workspaces = true;
    let page = session.run::<List>(Request { status, all_workspaces, ..Request::default() })?;
    let mut all = Vec::new();
    for listed in &page.runs {
        let view = follow::view(&session, &listed.run_id)?;
        let waiting: Vec<_> =
            view.waiting.into_iter().filter(|one| !one.kind.is_for_agent()).collect();
        if !waiting.is_empty() {
            let (run_id, workflow) = (view.run_id, view.workflow);
            all.push(Waiting { run_id, workflow, asked: waiting, next: view.next });
        }
    }
    if json {
        session::print(&Inbox { inbox: all }, terminal)?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        terminal.remark("nothing waits for you");
    }
    for one in &all {
        terminal.line(&format!("{}  {}", one.run_id, safe(&one.workflow)))?;
        // The questions are what was asked for.
        one.asked.iter().for_each(|waiting| terminal.complain(&follow::asked(waiting)));
        let is_asked = one.asked.iter().any(|one| one.kind.is_question());
        match one.next.as_ref().map(wording::typed) {
            // How to answer belongs to the question.
            Some(next) if is_asked => terminal.complain(&format!("next: {next}")),
            Some(next) => terminal.remark(&format!("next: {next}")),
            None => {}
        }
    }
    Ok(Exit::Done)
}
