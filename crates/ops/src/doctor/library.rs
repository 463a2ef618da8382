//! The workflows in the library: invalid files, and workflows that are hidden by others.

use std::path::Path;

use milepost_store::{Listing, SourceKind};

use super::{DoctorCheck, count, or_ok};
use crate::prelude::*;

pub(super) fn checks(writer: &Writer) -> Vec<DoctorCheck> {
    let listing = match writer.reader.listing() {
        Ok(listing) => listing,
        Err(problem) => {
            let fix = "give yourself read access to the directory";
            return vec![DoctorCheck::fault("workflow.invalid", problem.message, fix)];
        }
    };
    let mut checks = or_ok(invalid(&listing), || {
        let number = count(listing.items.len(), "workflow");
        DoctorCheck::ok("workflow.invalid", format!("{number}, all valid"))
    });
    checks.extend(or_ok(shadowed(&listing), || {
        DoctorCheck::ok("workflow.shadowed", "no workflow hides another")
    }));
    checks
}

fn invalid(listing: &Listing) -> Vec<DoctorCheck> {
    let some = listing.invalid.iter().take(limits::DOCTOR_FILES).map(|file| {
        let path = file.path.display();
        let validate = Invocation::of("workflow.validate").with("path", path.to_string());
        let fix = Hint::default().call(validate).then(" shows every error and its fix");
        DoctorCheck::fault("workflow.invalid", file.reason.clone(), fix).at(&file.path)
    });
    let mut checks: Vec<DoctorCheck> = some.collect();
    let more = listing.invalid.len().checked_sub(limits::DOCTOR_FILES);
    if let Some(more) = more.filter(|more| *more > 0) {
        let what = format!("{} with errors", count(more, "more file"));
        let fix = Hint::text("see ").call(Invocation::of("workflow.list"));
        checks.push(DoctorCheck::fault("workflow.invalid", what, fix));
    }
    checks.extend(listing.sources.iter().filter(|source| source.cut).map(|source| {
        let path = source.path.as_deref().unwrap_or(Path::new(""));
        let what = "the directory has too many files: some were not checked";
        DoctorCheck::warning(
            "workflow.invalid",
            what,
            "move files that are not workflows elsewhere",
        )
        .at(path)
    }));
    checks
}

fn shadowed(listing: &Listing) -> Vec<DoctorCheck> {
    // Built-in workflows are overridden on purpose.
    let sources = listing.sources.iter().filter(|source| source.kind != SourceKind::BuiltIn);
    let hidden = sources.flat_map(|source| {
        source.shadowed.iter().map(|(id, by)| {
            let what = format!("`{id}` is hidden by the one in the {} directory", by.name());
            let fix = Hint::text("give one of them another id, or remove it; see ")
                .call(Invocation::of("workflow.sources"));
            let path = source.path.as_deref().unwrap_or(Path::new(""));
            DoctorCheck::warning("workflow.shadowed", what, fix).at(path)
        })
    });
    hidden.collect()
}
