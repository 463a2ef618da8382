//! `milepost doctor`: reports problems with the installation and how to fix them.

use milepost_ops::doctor::{self, CheckState, DoctorCheck, DoctorReport};

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::session::block_on;
use crate::terminal::{Terminal, count, safe};
use crate::{environment, install, wording};

pub(crate) fn run(args: &DoctorArgs, terminal: &mut Terminal) -> CliResult {
    let writer = environment::writer(None)?;
    let files = install::files(&environment::locations()?.working);
    let program = std::env::current_exe().ok();
    let report = block_on(doctor::examine(&writer, program, &files, args.fix))?;
    terminal.answer(&report, |terminal| show(&report, args.fix, terminal))?;
    Ok(if report.faults == 0 { Exit::DONE } else { Exit::FAILED })
}

fn show(report: &DoctorReport, fixed: bool, terminal: &mut Terminal) {
    for done in &report.mended {
        terminal.line(format!("fixed    {}", safe(done)));
    }
    for failed in &report.not_mended {
        terminal.line(format!("not fixed: {}", safe(failed)));
    }
    report.checks.iter().for_each(|check| show_check(check, terminal));
    let faults = count(report.faults, "fault");
    terminal.line(format!("{faults}, {}", count(report.warnings, "warning")));
    if !fixed && report.checks.iter().any(DoctorCheck::is_mendable) {
        terminal.remark("hint: `milepost doctor --fix` fixes what is safe to fix");
    }
}

fn show_check(check: &DoctorCheck, terminal: &mut Terminal) {
    let (state, id, what) = (check.state.name(), check.id, safe(&check.what));
    let place = check.place.as_deref().map(safe);
    if check.state == CheckState::Ok {
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        return terminal.line(format!("{state:<8} {id}: {what}{place}"));
    }
    terminal.line(format!("{state:<8} {id}: {what}"));
    if let Some(place) = place {
        terminal.line(format!("         where: {place}"));
    }
    if let Some(fix) = &check.fix {
        terminal.line(format!("         fix: {}", safe(&wording::hint_text(fix))));
    }
}
