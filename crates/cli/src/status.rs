//! `milepost` alone: how things stand, and the one command to type next.

use milepost_ops::Reader;
use milepost_ops::run::overview::{Asked, AskedKind, Overview, overview};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits;
use crate::run;
use crate::session::{print, waiting_for};
use crate::table::cut;
use crate::target;
use crate::terminal::{Terminal, safe};
use crate::wording;

pub(crate) fn run(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let reader = Reader::open(target::locations()?);
    let found = waiting_for(overview(&reader))??;
    if json {
        print(&found, terminal)?;
    } else {
        show(&found, terminal)?;
    }
    Ok(Exit::Done)
}

fn show(found: &Overview, terminal: &mut Terminal) -> Result<(), Failure> {
    if let Some(fault) = &found.fault {
        terminal.complain(&format!("warning: the configuration cannot be used: {}", safe(fault)));
    }
    if found.open.is_empty() {
        terminal.line("no run is open")?;
    } else {
        let shown = &found.open[..found.open.len().min(limits::STATUS_LINES)];
        terminal.line(&run::overview("open run", shown, terminal.width()))?;
        if found.more || found.open.len() > limits::STATUS_LINES {
            terminal.line("… and more: milepost runs --open --all")?;
        }
    }
    waiting("waits on you", "milepost inbox", &found.waits_on_you, terminal)?;
    waiting("waits on an agent", "milepost runs --open", &found.waits_on_agent, terminal)?;
    terminal.line(&format!("next: {}", safe(&wording::typed(&found.next))))?;
    Ok(())
}

/// What kind of thing is waited for, for people.
fn kind(kind: AskedKind) -> &'static str {
    match kind {
        AskedKind::Waiting(kind) => run::kind(kind),
        AskedKind::Paused | AskedKind::Damaged => kind.name(),
    }
}

fn waiting(
    heading: &str,
    all: &str,
    asked: &[Asked],
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    if asked.is_empty() {
        return Ok(());
    }
    terminal.line(&format!("{heading}:"))?;
    let width = terminal.width();
    for one in asked.iter().take(limits::STATUS_LINES) {
        let step = one.step.as_deref().map(|step| format!(" {step}")).unwrap_or_default();
        let message = one.message.lines().next().unwrap_or_default();
        let line = format!("  {}  {}{step}: {message}", one.run_id, kind(one.kind));
        terminal.line(&cut(&safe(&line), width))?;
    }
    if asked.len() > limits::STATUS_LINES {
        terminal.line(&format!("  … and {} more: {all}", asked.len() - limits::STATUS_LINES))?;
    }
    Ok(())
}
