//! `milepost doctor`: what is wrong, where, and what mends it.

use milepost_ops::doctor::{self, Check, Report, State};

use crate::args::Doctor;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::target;
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Doctor, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let writer = target::writer(None)?;
    let report = doctor::examine(&writer, std::env::current_exe().ok(), arguments.fix);
    if arguments.json.json {
        print(&report, terminal)?;
    } else {
        show(&report, arguments.fix, terminal)?;
    }
    Ok(if report.faults == 0 { Exit::Done } else { Exit::Failed })
}

fn show(report: &Report, fixed: bool, terminal: &mut Terminal) -> Result<(), Failure> {
    for done in &report.mended {
        terminal.line(&format!("mended   {}", safe(done)))?;
    }
    for failed in &report.not_mended {
        terminal.line(&format!("not mended: {}", safe(failed)))?;
    }
    report.checks.iter().try_for_each(|check| line(check, terminal))?;
    let faults = count(report.faults, "fault");
    let warnings = count(report.warnings, "warning");
    terminal.line(&format!("{faults}, {warnings}"))?;
    if !fixed && report.faults + report.warnings > 0 {
        terminal.complain("hint: `milepost doctor --fix` mends what is safe to mend");
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
        terminal.line(&format!("         fix: {}", safe(fix)))?;
    }
    Ok(())
}
