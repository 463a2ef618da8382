//! Checks every part of an installation; each finding includes its location and a fix. Checking
//! changes nothing, and the automatic fixes are limited to those that are safe to apply without
//! asking.

mod catalogs;
mod clients;
mod journal;
mod library;
mod mend;
mod pin;
mod place;
mod secrets;

use std::path::{Path, PathBuf};

use milepost_model::serialized_enum;
use milepost_model::suggest::count;
use milepost_model::wording::Worded;

use crate::prelude::*;

pub use clients::ClientFile;

serialized_enum! {
    /// The result of a check.
    CheckState {
        /// All is well.
        Ok = "ok",
        /// Nothing is broken yet, or nothing essential.
        Warning = "warning",
        /// Something does not work.
        Fault = "fault",
    }
}

/// The result of checking one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// The kind of check; stable across versions.
    pub id: &'static str,
    /// The result.
    pub state: CheckState,
    /// What was found.
    pub what: String,
    /// The file, directory or run concerned.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Worded>,
}

/// The results of all checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    /// The version of this program.
    pub version: &'static str,
    /// The number of faults.
    pub faults: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// The checks, in order of dependency.
    pub checks: Vec<DoctorCheck>,
    /// What was fixed before checking.
    pub mended: Vec<String>,
    /// What could not be fixed, and why.
    pub not_mended: Vec<String>,
}

impl DoctorCheck {
    /// Whether it can be fixed automatically.
    pub fn is_mendable(&self) -> bool {
        let mending = mending();
        self.fix.as_ref().is_some_and(|fix| fix.calls().any(|call| *call == mending))
    }

    fn ok(id: &'static str, what: impl Into<String>) -> DoctorCheck {
        DoctorCheck { id, state: CheckState::Ok, what: what.into(), place: None, fix: None }
    }

    fn warning(id: &'static str, what: impl Into<String>, fix: impl Into<Hint>) -> DoctorCheck {
        let (state, fix) = (CheckState::Warning, Some(Worded(fix.into())));
        DoctorCheck { state, fix, ..DoctorCheck::ok(id, what) }
    }

    fn fault(id: &'static str, what: impl Into<String>, fix: impl Into<Hint>) -> DoctorCheck {
        DoctorCheck { state: CheckState::Fault, ..DoctorCheck::warning(id, what, fix) }
    }

    fn at(self, path: &Path) -> DoctorCheck {
        DoctorCheck { place: Some(path.display().to_string()), ..self }
    }
}

/// The call that fixes everything that is safe to fix.
fn mending() -> Invocation {
    Invocation::of("doctor").with("fix", true)
}

/// A hint to run the automatic fix, followed by the alternative.
fn mended_or(otherwise: &str) -> Hint {
    Hint::text("run ").call(mending()).then(otherwise)
}

/// A hint that mentions a backup of the runs.
fn backup(before: &str, after: &str) -> Hint {
    Hint::text(format!("{before} a copy that "))
        .call(Invocation::of("runs.backup"))
        .then(format!(" made{after}"))
}

/// Checks everything, after applying safe fixes if requested. `program` is the path of this
/// program, and `files` are the configuration files of clients that may start it.
pub async fn examine(
    writer: &Writer,
    program: Option<PathBuf>,
    files: &[ClientFile],
    mends: bool,
) -> DoctorReport {
    let (mended, not_mended) = if mends { mend::all(writer) } else { (Vec::new(), Vec::new()) };
    let version = env!("CARGO_PKG_VERSION");
    let mut checks = vec![DoctorCheck {
        place: program.map(|path| path.display().to_string()),
        ..DoctorCheck::ok("program", format!("milepost {version}"))
    }];
    checks.extend(place::config(writer));
    checks.extend(place::directories(writer));
    checks.extend(place::modes(writer));
    checks.extend(place::disk(writer));
    checks.extend(place::leftovers(writer));
    checks.extend(journal::checks(writer));
    checks.extend(pin::check(writer).await);
    checks.extend(catalogs::checks(writer));
    checks.extend(secrets::checks(writer));
    checks.extend(library::checks(writer));
    checks.extend(clients::checks(writer, files));
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let (faults, warnings) = (count(CheckState::Fault), count(CheckState::Warning));
    DoctorReport { version, faults, warnings, checks, mended, not_mended }
}

/// How to restore access to a path. Its content may be intact and must be kept.
fn access(path: &Path) -> String {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            "a folder is in the file's place: move it away and restore the file".to_owned()
        }
        _ => format!(
            "restore your access without deleting anything: `ls -ld {shown}` shows the owner; \
             then `chmod u+rw {shown}` or `sudo chown \"$USER\" {shown}`"
        ),
    }
}

/// The findings, or a single `Ok` check if there are none.
fn or_ok(found: Vec<DoctorCheck>, ok: impl FnOnce() -> DoctorCheck) -> Vec<DoctorCheck> {
    if found.is_empty() { vec![ok()] } else { found }
}
