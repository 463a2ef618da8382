//! `milepost doctor`: what is wrong, where, and how to fix it.

use milepost_ops::doctor::{self, Check, Report, State};

use crate::args::Doctor;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::install;
use crate::session::print;
use crate::target;
use crate::terminal::{Terminal, count, safe};
use crate::wording;

pub(crate) fn run(arguments: &Doctor, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let writer = target::writer(None)?;
    let files = install::files(&target::locations()?.working);
    let report = doctor::examine(&writer, std::env::current_exe().ok(), &files, arguments.fix);
    if arguments.json.json {
        print(&report, terminal)?;
    } else {
        show(&report, arguments.fix, terminal)?;
    }
    Ok(if report.faults == 0 { Exit::Done } else { Exit::Failed })
}

fn show(report: &Report, fixed: bool, terminal: &mut Terminal) -> Result<(), Failure> {
    for done in &report.mended {
        terminal.line(&format!("fixed    {}", safe(done)))?;
    }
    for failed in &report.not_mended {
        terminal.line(&format!("not fixed: {}", safe(failed)))?;
    }
    report.checks.iter().try_for_each(|check| line(check, terminal))?;
    let faults = count(report.faults, "fault");
    let warnings = count(report.warnings, "warning");
    terminal.line(&format!("{faults}, {warnings}"))?;
    if !fixed && report.checks.iter().any(Check::is_mendable) {
        terminal.remark("hint: `milepost doctor --fix` fixes what is safe to fix");
    }
    Ok(())
}

fn line(check: &Check, terminal: &mut Terminal) -> Result<(), Failure> {
    let (state, id, what) = (check.state.name(), check.id, safe(&check.what));
    let place = check.place.as_deref().map(safe);
    if check.state == State::Ok {
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        terminal.line(&format!("{state:<8} {id}: {what}{place}"))?;
        return Ok(());
    }
    terminal.line(&format!("{state:<8} {id}: {what}"))?;
    if let Some(place) = place {
        terminal.line(&format!("         where: {place}"))?;
    }
    if let Some(fix) = &check.fix {
        terminal.line(&format!("         fix: {}", safe(&wording::said(fix))))?;
    }
    Ok(())
}
