//! Whether the folder in force may act: send requests, read files, take variables.

use std::sync::Arc;

use milepost_store::catalogs::CatalogRecord;
use milepost_store::{Config, Digest, Distrust, FolderStanding};

use super::folder;
use crate::catalog_cache::LoadedCatalog;
use crate::prelude::*;

/// Fails unless the folder in force may act.
pub(crate) fn may_act(reader: &Reader) -> Result<()> {
    match &reader.live_config()?.standing {
        FolderStanding::Own | FolderStanding::Trusted(_) => Ok(()),
        FolderStanding::Untrusted(why) => Err(untrusted(reader, why)),
    }
}

/// A version of a catalog that is about to be called.
pub(crate) type UsedCatalog = (Arc<CatalogRecord>, Digest);

/// Like [`may_act`], but a person at a terminal is asked first. For a person, every catalog that is
/// used must be accepted; an agent gets no further with one that is not than its address.
pub(crate) fn ensure(writer: &Writer, call: &dyn Caller, used: &[UsedCatalog]) -> Result<()> {
    let may_act = may_act(&writer.reader);
    let refused = if let Err(refused) = may_act {
        refused
    } else {
        let standing = &writer.reader.live_config()?.standing;
        let open = |(record, document): &&UsedCatalog| !standing.accepts(record, *document);
        match used.iter().find(open) {
            Some((record, _)) if call.kind() == CallerKind::Person => not_accepted(record),
            _ => return Ok(()),
        }
    };
    if call.kind() != CallerKind::Person || refused.code != Code::ProjectUntrusted {
        return Err(refused);
    }
    let report = folder::report(&writer.reader)?;
    if report.fault.is_some() {
        return Err(refused);
    }
    match call.ask_in_person(&report.question()) {
        Some(true) => folder::accept(writer, call, &report).map(drop),
        Some(false) => {
            let hint = Hint::text("nothing was done; look at what the folder asks for with ")
                .person(Invocation::of("trust"));
            Err(Problem::new(Code::ProjectUntrusted, "you do not trust this folder", hint))
        }
        None => Err(refused),
    }
}

/// Fails if a catalog in a trusted folder is not the one that was accepted, unless an agent
/// imported it: then it is called without credentials.
pub(crate) fn may_call(config: &Config, loaded: &LoadedCatalog) -> Result<()> {
    let record = &loaded.record;
    match &config.standing {
        FolderStanding::Trusted(_)
            if !record.by_agent && !config.standing.accepts(record, loaded.document_hash()?) =>
        {
            Err(not_accepted(record))
        }
        _ => Ok(()),
    }
}

/// The problem with a catalog that nobody accepted.
fn not_accepted(record: &CatalogRecord) -> Problem {
    let id = &record.id;
    let message = match record.by_agent {
        true => format!("an agent imported the catalog `{id}`, and nobody has accepted it yet"),
        false => format!("the catalog `{id}` is not the one that you accepted"),
    };
    let hint = Hint::text("look at it, and accept it, with ").person(Invocation::of("trust"));
    Problem::new(Code::ProjectUntrusted, message, hint).context("catalog_id", id.to_string())
}

/// Records what a person has just changed in a folder that they trusted before, so that they are
/// not asked about their own change. `before` is whether the folder was as they had accepted it.
pub(crate) fn keep_trusted(writer: &Writer, call: &dyn Caller, before: bool) -> Result<()> {
    if !before || call.kind() != CallerKind::Person {
        return Ok(());
    }
    let report = folder::report(&writer.reader)?;
    if report.folder.is_none() || report.fault.is_some() || report.is_trusted() {
        return Ok(());
    }
    match folder::accept(writer, call, &report) {
        // Without the PIN, the change is there, and the person is asked about it later.
        Err(problem) if problem.code == Code::PresenceRequired => Ok(()),
        done => done.map(drop),
    }
}

/// The problem with a folder that may not act.
fn untrusted(reader: &Reader, why: &Distrust) -> Problem {
    let folder = reader.locations.asking_folder().unwrap_or(&reader.locations.working);
    let shown = folder.display();
    let (message, hint) = match why {
        Distrust::New => (
            format!("`{shown}` is not trusted, so nothing in it may act"),
            Hint::text("look at what it asks for, and trust it, with ")
                .person(Invocation::of("trust")),
        ),
        Distrust::Changed { .. } => (
            format!("`{shown}` asks for other things than those that you accepted"),
            Hint::text("see what changed, and trust it again, with ")
                .person(Invocation::of("trust")),
        ),
        Distrust::Unsafe(fault) => (
            format!("`{shown}` cannot act: {fault}"),
            Hint::text("mend this, then look at the folder with ").person(Invocation::of("trust")),
        ),
    };
    Problem::new(Code::ProjectUntrusted, message, hint).context("folder", shown.to_string())
}
