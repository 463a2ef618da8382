//! `milepost workflow review`: what agents may run without a question.

use milepost_model::problem::{Code, Problem};
use milepost_ops::Caller;
use milepost_ops::trust::review::{self, ReviewReport};
use milepost_store::SourceKind;
use serde_json::json;

use super::args::ReviewArgs;
use crate::environment;
use crate::failure::CliResult;
use crate::terminal::{Terminal, count, safe};
use crate::terminal_user::TerminalUser;

pub(super) fn run(args: &ReviewArgs, terminal: &mut Terminal) -> CliResult {
    let writer = environment::writer(None)?;
    let ids = match args.ids.is_empty() {
        true => {
            let listing = writer.reader().listing()?;
            let own = listing.items.iter().filter(|item| item.source != SourceKind::BuiltIn);
            own.map(|item| item.id.clone()).collect()
        }
        false => args.ids.clone(),
    };
    let reports = ids.iter().map(|id| review::report(&writer, id));
    let reports = reports.collect::<Result<Vec<ReviewReport>, Problem>>()?;
    let is_due = |report: &&ReviewReport| match report.standing {
        "built-in" => false,
        "reviewed" => args.alone && !report.alone,
        _ => true,
    };
    let due: Vec<&ReviewReport> = reports.iter().filter(is_due).collect();
    let accepts = (args.all || !args.ids.is_empty()) && !due.is_empty();
    if !accepts {
        let answer = json!({"workflows": reports});
        return terminal.answer(&answer, |terminal| show_all(&reports, terminal));
    }
    for line in due.iter().flat_map(|report| lines(report)) {
        terminal.notice(line);
    }
    let user = TerminalUser::new(false, terminal.is_json());
    let workflows = count(due.len(), "workflow");
    let question = match args.alone {
        true => format!("may {workflows} run alone, with every approval given?"),
        false => format!("mark {workflows} as reviewed?"),
    };
    match user.ask_in_person(&question) {
        Some(true) => {}
        Some(false) => {
            let message = "nothing was marked as reviewed";
            return Err(Problem::new(Code::ConfirmationRequired, message, "look again").into());
        }
        None => {
            let message = "a person must review this at a terminal, and there is none";
            let hint = "run this in a terminal of your own";
            return Err(Problem::new(Code::PresenceRequired, message, hint).into());
        }
    }
    for report in &due {
        review::accept(&writer, &user, report, args.alone)?;
    }
    let done: Vec<&str> = due.iter().map(|report| report.workflow_id.as_str()).collect();
    terminal.answer(&json!({"reviewed": done, "alone": args.alone}), |terminal| {
        terminal.line(format!("reviewed {workflows}"));
    })
}

fn show_all(reports: &[ReviewReport], terminal: &mut Terminal) {
    for report in reports {
        let alone = if report.alone { ", may run alone" } else { "" };
        terminal.line(safe(&format!("{}: {}{alone}", report.workflow_id, report.standing)));
    }
}

/// A workflow with what it adds; one line if only its text changed.
fn lines(report: &ReviewReport) -> Vec<String> {
    let id = &report.workflow_id;
    let head = match (report.standing, report.added.is_empty()) {
        ("changed", true) => format!("{id}: the text changed, but not what it can change or call"),
        ("changed", false) => format!("{id}: changed, and it can now also"),
        ("new", true) => format!("{id}: new; it changes and calls nothing"),
        ("new", false) => format!("{id}: new; it can"),
        _ => format!("{id}: it can"),
    };
    let effects = match report.standing {
        "new" | "changed" => &report.added,
        _ => &report.effects,
    };
    let effects = effects.iter().map(|line| format!("  {}", safe(line)));
    std::iter::once(safe(&head)).chain(effects).collect()
}
