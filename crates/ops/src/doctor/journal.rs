//! The runs: their key, their database and its contents.

use std::path::Path;

use milepost_driver::clock::now_ms;
use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use milepost_store::FileError;
use milepost_store::runs::{self, Examination, FILE, RunsError, RunsReader};

use super::{DoctorCheck, access, backup, count, mended_or, mending, or_ok};
use crate::prelude::*;
use crate::run::next_action::resume;

fn restore() -> Hint {
    Hint::text("replace the runs with the newest copy that ")
        .call(Invocation::of("runs.backup"))
        .then(" made")
}

pub(super) fn checks(writer: &Writer) -> Vec<DoctorCheck> {
    let data = &*writer.reader.locations.data;
    let database = data.join(FILE);
    let opened = RunsReader::open(data)
        .and_then(|reader| reader.map(|reader| reader.examine(now_ms())).transpose());
    match opened {
        Err(error) => vec![unusable(&error, data, &database)],
        Ok(None) => {
            let gone = behind(&runs::noted_runs(data), &data.join(format!("{FILE}-wal")));
            if !gone.is_empty() {
                return gone;
            }
            let what = if database.exists() { "empty" } else { "no runs yet" };
            vec![DoctorCheck::ok("journal.database", what).at(&database)]
        }
        Ok(Some(found)) => examined(&found, data, &database),
    }
}

fn unusable(error: &RunsError, data: &Path, database: &Path) -> DoctorCheck {
    let key = data.join("chain.key");
    match error {
        RunsError::KeyMissing { .. } => {
            let fix = backup("put `chain.key` back from", ": without it no run can be verified");
            DoctorCheck::fault("journal.key", "the runs' key is missing", fix).at(&key)
        }
        RunsError::WrongKey { .. } => {
            let what = "the runs were written with another key";
            let fix = backup("put `chain.key` back from", "");
            DoctorCheck::fault("journal.key", what, fix).at(&key)
        }
        RunsError::KeyExposed { mode, .. } => {
            let what = format!("other users can read the runs' key (mode {mode:03o})");
            let fix = mended_or(&format!(", or `chmod 600 {}`", key.display()));
            DoctorCheck::fault("journal.key", what, fix).at(&key)
        }
        RunsError::Journal(JournalError::Newer { found, known, .. }) => {
            let what = format!("database version {found}; this program supports up to {known}");
            let fix = "install the version of Milepost that wrote it, or a later one";
            DoctorCheck::fault("journal.version", what, fix).at(database)
        }
        RunsError::Journal(JournalError::Full) => {
            DoctorCheck::fault("journal.database", error.to_string(), "free some disk space")
                .at(data)
        }
        error if error.is_damage() => {
            DoctorCheck::fault("journal.database", error.to_string(), restore()).at(database)
        }
        // Inaccessible runs may be intact, and restoring a backup would lose the newest ones.
        RunsError::File(FileError::Io { path, .. } | FileError::NotRegular { path }) => {
            let id = if *path == key { "journal.key" } else { "journal.database" };
            DoctorCheck::fault(id, error.to_string(), access(path)).at(path)
        }
        error => {
            DoctorCheck::fault("journal.database", error.to_string(), access(database)).at(database)
        }
    }
}

fn examined(found: &Examination, data: &Path, database: &Path) -> Vec<DoctorCheck> {
    let report = &found.report;
    let key =
        DoctorCheck::ok("journal.key", "key matches the database; readable only by its owner");
    let mut checks = vec![key.at(&data.join("chain.key"))];
    if let Some(first) = report.file.first() {
        let more = report.file.len();
        let what = format!("the file is damaged in {}: {first}", count(more, "place"));
        checks.push(DoctorCheck::fault("journal.database", what, restore()).at(database));
        return checks;
    }
    let (runs, events) = (report.runs as usize, report.events as usize);
    let what = format!("intact: {}, {}", count(runs, "run"), count(events, "event"));
    checks.push(DoctorCheck::ok("journal.database", what).at(database));
    let log = data.join(format!("{FILE}-wal"));
    if let Ok(metadata) = std::fs::metadata(&log) {
        let what = format!("write-ahead log: {} bytes pending", metadata.len());
        checks.push(DoctorCheck::ok("journal.log", what).at(&log));
    }
    checks.extend(damaged(found, &log));
    checks.extend(processes(found));
    checks.push(clock(found.newest_ms.unwrap_or(0), now_ms()));
    checks
}

/// Runs that lost their last events along with part of the log.
fn behind(found: &[(RunId, u64)], log: &Path) -> Vec<DoctorCheck> {
    let runs = found.iter().take(limits::DOCTOR_RUNS).map(|(run, seq)| {
        let log = log.display();
        let what = match seq {
            0 => format!("its last events are lost: `{log}` was damaged"),
            seq => format!("its last events, up to event {seq}, are lost: `{log}` was damaged"),
        };
        let before = "it is quarantined and sends nothing more: check with its API what it did \
                      last and start a new run for the rest, or look at";
        of_run(DoctorCheck::fault("journal.runs", what, backup(before, "")), run.as_str())
    });
    runs.collect()
}

fn damaged(found: &Examination, log: &Path) -> Vec<DoctorCheck> {
    let report = &found.report;
    let mut checks = behind(&found.behind, log);
    for (run, seq) in report.corrupt.iter().take(limits::DOCTOR_RUNS) {
        let what = match seq {
            0 => "its journal was changed after it was written".to_owned(),
            seq => format!("event {seq} was changed after it was written"),
        };
        let before = "the other runs are not affected; for this one, look at";
        let fix = backup(before, ", or start it again");
        checks.push(of_run(DoctorCheck::fault("journal.runs", what, fix), run.as_str()));
    }
    let corrupt = |run: &RunId| report.corrupt.iter().any(|(other, _)| other == run);
    for run in found.quarantined.iter().filter(|run| !corrupt(run)).take(limits::DOCTOR_RUNS) {
        let fix = backup("start it again, or look at", "");
        let what = "it is quarantined because its journal is damaged";
        checks.push(of_run(DoctorCheck::warning("journal.runs", what, fix), run.as_str()));
    }
    if report.forged > 0 {
        let what = format!("messages to runs from outside Milepost: {}", report.forged);
        let fix =
            "no fix is needed, because they are ignored; find out what else writes to the database";
        checks.push(DoctorCheck::fault("journal.runs", what, fix));
    }
    or_ok(checks, || DoctorCheck::ok("journal.runs", "no run is damaged"))
}

fn processes(found: &Examination) -> Vec<DoctorCheck> {
    let left = found.left.iter().take(limits::DOCTOR_RUNS).map(|run| {
        let fix = Hint::text("continue it: ")
            .call(resume(run.as_str()))
            .then("; ")
            .call(mending())
            .then(" lets other processes do so");
        let what = "it was interrupted: no process is driving it";
        of_run(DoctorCheck::warning("journal.leases", what, fix), run.as_str())
    });
    or_ok(left.collect(), || {
        let what = match found.ended {
            0 => "every open run can continue".to_owned(),
            more => format!("{}, removed by the next run", count(more, "leftover file")),
        };
        DoctorCheck::ok("journal.leases", what)
    })
}

fn of_run(check: DoctorCheck, run: &str) -> DoctorCheck {
    DoctorCheck { place: Some(run.to_owned()), ..check }
}

fn clock(newest_ms: u64, now_ms: u64) -> DoctorCheck {
    if newest_ms <= now_ms.saturating_add(limits::CLOCK_SKEW_MS) {
        return DoctorCheck::ok("clock", "not behind the newest run");
    }
    let seconds = (newest_ms - now_ms) / 1_000;
    let what = format!("{} behind the newest run", count(seconds as usize, "second"));
    DoctorCheck::warning("clock", what, "correct this machine's clock")
}

#[cfg(test)]
mod tests {
    use std::io;

    use milepost_model::wording::Neutral;

    use super::*;

    /// Only damaged data may be replaced, because no backup contains the newest runs.
    #[test]
    fn runs_that_cannot_be_reached_are_not_replaced() {
        let data = Path::new("/data");
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            for name in [FILE, "chain.key"] {
                let path = data.join(name);
                let error = FileError::Io { path: path.clone(), source: kind.into() };
                let check = unusable(&error.into(), data, &data.join(FILE));
                let fix = check.fix.expect("a fix").worded(&Neutral);
                assert!(fix.contains(&format!("chmod u+rw {}", path.display())), "{fix}");
                assert!(!fix.contains("backup"), "{fix}");
                assert_eq!(check.place, Some(path.display().to_string()));
            }
        }
    }
}
