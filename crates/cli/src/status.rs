//! `milepost` without a command: open runs, pending questions, and the command to type next.

use milepost_model::untrusted;
use milepost_ops::Reader;
use milepost_ops::run::overview::{RunOverview, WaitingItem, overview};

use crate::environment;
use crate::failure::CliResult;
use crate::limits;
use crate::run;
use crate::session::block_on;
use crate::table::cut;
use crate::terminal::{Terminal, safe};
use crate::wording;

pub(crate) fn run(terminal: &mut Terminal) -> CliResult {
    let reader = Reader::open(environment::locations()?);
    let found = block_on(overview(&reader))??;
    terminal.answer(&found, |terminal| show(&found, terminal))
}

fn show(found: &RunOverview, terminal: &mut Terminal) {
    if let Some(pin) = &found.pin {
        terminal.notice(format!("warning: {}", safe(pin)));
    }
    if let Some(fault) = &found.fault {
        terminal.notice(format!("warning: cannot use the configuration: {}", safe(fault)));
    }
    if found.open.is_empty() {
        terminal.line("no open runs");
    } else {
        let shown = &found.open[..found.open.len().min(limits::STATUS_LINES)];
        terminal.line(run::runs_table("open run", shown, terminal.width()));
        if found.more || found.open.len() > limits::STATUS_LINES {
            terminal.line("… and more: milepost runs --open --all");
        }
    }
    waiting("waiting for you", "milepost inbox", &found.waits_on_you, terminal);
    waiting("waiting for an agent", "milepost runs --open", &found.waits_on_agent, terminal);
    terminal.line(format!("next: {}", safe(&wording::command_text(&found.next))));
}

fn waiting(heading: &str, all: &str, asked: &[WaitingItem], terminal: &mut Terminal) {
    if asked.is_empty() {
        return;
    }
    terminal.line(format!("{heading}:"));
    for one in asked.iter().take(limits::STATUS_LINES) {
        let step = one.step.as_deref().map(|step| format!(" {step}")).unwrap_or_default();
        let message = untrusted::inline(&one.message, terminal.width());
        let kind = run::waiting_name(one.kind);
        let line = format!("  {}  {kind}{step}: {message}", one.run_id);
        terminal.line(cut(&safe(&line), terminal.width()));
    }
    if let Some(rest @ 1..) = asked.len().checked_sub(limits::STATUS_LINES) {
        terminal.line(format!("  … and {rest} more: {all}"));
    }
}
