//! What the folder in force asks for, and a person's answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use milepost_model::untrusted;
use milepost_store::catalogs::CatalogRecord;
use milepost_store::{
    AskingFolder, Config, Digest, Distrust, FolderAsks, FolderGrant, FolderStanding, Grant,
    GrantSubject, catalog_lines,
};

use super::grants;
use crate::prelude::*;

/// The folder in force, and what it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FolderReport {
    /// The real path of the folder; absent if the configuration is the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// `own`, `trusted`, `new`, `changed` or `unsafe`.
    pub standing: &'static str,
    /// Why the folder cannot be trusted as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What its configuration asks for, one line each.
    pub asks: Vec<String>,
    pub catalogs: Vec<CatalogReport>,
    pub workflows: Vec<WorkflowReport>,
    /// What it no longer asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Identifies all of this, to accept it where there is no terminal.
    pub digest: String,
}

/// A catalog in the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogReport {
    pub catalog_id: String,
    pub asks: Vec<String>,
    /// Whether this version was accepted.
    pub accepted: bool,
}

/// A workflow in the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowReport {
    pub workflow_id: String,
    /// The hash of its source.
    pub version: String,
}

impl FolderReport {
    /// Whether everything in the folder was accepted.
    pub fn is_trusted(&self) -> bool {
        matches!(self.standing, "own" | "trusted")
            && self.catalogs.iter().all(|catalog| catalog.accepted)
    }

    /// Whether a person can change the folder without being asked about anything but their own
    /// change: everything in it was accepted, or there is nothing in it.
    pub(crate) fn is_clean(&self) -> bool {
        let is_empty = self.standing == "new"
            && self.asks.is_empty()
            && self.catalogs.is_empty()
            && self.workflows.is_empty();
        is_empty || self.is_trusted()
    }

    /// Everything that the folder asks for, one line each, with a mark in front of what is new.
    pub fn lines(&self) -> Vec<String> {
        let is_new = matches!(self.standing, "new" | "changed");
        let mark = |new: bool| if new { "+" } else { " " };
        let asks = self.asks.iter().map(|line| format!("{} {line}", mark(is_new)));
        let catalogs = self.catalogs.iter().flat_map(|catalog| {
            let mark = mark(!catalog.accepted);
            catalog.asks.iter().map(move |line| format!("{mark} {line}"))
        });
        let removed = self.removed.iter().map(|line| format!("- {line}"));
        asks.chain(catalogs).chain(removed).collect()
    }

    /// The question for a person at a terminal.
    pub(crate) fn question(&self) -> String {
        let folder = self.folder.as_deref().unwrap_or(std::path::Path::new("."));
        // The folder's author wrote these lines; none of them may look like two.
        let folder = folder.display().to_string();
        let mut lines = vec![format!("{} asks to:", untrusted::escape(&folder))];
        lines.extend(self.lines().iter().map(|line| format!("  {}", untrusted::escape(line))));
        if lines.len() == 1 {
            lines.push("    run its workflows".to_owned());
        }
        lines.push("do you trust this folder?".to_owned());
        lines.join("\n")
    }
}

/// The folder in force, as it is now.
pub fn report(reader: &Reader) -> Result<FolderReport> {
    let config = reader.live_config()?;
    let asking = AskingFolder::of(&reader.locations, &config.asks);
    let (standing, fault, removed) = match &config.standing {
        FolderStanding::Own => ("own", None, Vec::new()),
        FolderStanding::Trusted(_) => ("trusted", None, Vec::new()),
        FolderStanding::Untrusted(Distrust::New) => ("new", None, Vec::new()),
        FolderStanding::Untrusted(Distrust::Changed { removed, .. }) => {
            ("changed", None, removed.clone())
        }
        FolderStanding::Untrusted(Distrust::Unsafe(fault)) => {
            ("unsafe", Some(fault.to_string()), Vec::new())
        }
    };
    let workflows = workflows(reader)?;
    let digest = digest(asking.as_ref(), &workflows);
    let accepted = granted(&config);
    let own = own_catalogs(reader, &config)?;
    let catalogs = asking.iter().flat_map(|asking| &asking.catalogs).map(|(id, asked)| {
        let versions = accepted.and_then(|granted| granted.catalogs.get(id));
        CatalogReport {
            catalog_id: id.clone(),
            asks: asked.asks.clone(),
            accepted: versions.is_some_and(|versions| versions.contains(&asked.version)),
        }
    });
    Ok(FolderReport {
        catalogs: catalogs.chain(own).collect(),
        folder: asking.as_ref().map(|asking| asking.folder.clone()),
        asks: asking.map(|asking| asking.asks).unwrap_or_default(),
        standing,
        fault,
        workflows,
        removed,
        digest,
    })
}

/// The catalogs in the user's own directory that agents imported.
fn own_catalogs(reader: &Reader, config: &Config) -> Result<Vec<CatalogReport>> {
    if config.standing != FolderStanding::Own {
        return Ok(Vec::new());
    }
    let records = reader.shelf.listing()?.records.into_iter().filter(|record| record.by_agent);
    let report = |record: Arc<CatalogRecord>| CatalogReport {
        catalog_id: record.id.to_string(),
        asks: catalog_lines(&record),
        accepted: false,
    };
    Ok(records.map(report).collect())
}

fn granted(config: &Config) -> Option<&FolderGrant> {
    match &config.standing {
        FolderStanding::Trusted(granted) => Some(granted),
        FolderStanding::Own | FolderStanding::Untrusted(_) => None,
    }
}

/// The folder's own workflows.
fn workflows(reader: &Reader) -> Result<Vec<WorkflowReport>> {
    let Some(folder) = reader.locations.asking_folder() else { return Ok(Vec::new()) };
    let listing = reader.listing()?;
    let own = listing.items.iter().filter(|item| item.path.starts_with(folder));
    let all = own
        .map(|item| WorkflowReport { workflow_id: item.id.clone(), version: item.version.clone() });
    Ok(all.collect())
}

/// The digest of everything that a person accepts with the folder.
fn digest(asking: Option<&AskingFolder>, workflows: &[WorkflowReport]) -> String {
    let catalogs: BTreeMap<&str, &str> = asking
        .iter()
        .flat_map(|asking| &asking.catalogs)
        .map(|(id, asked)| (id.as_str(), asked.version.as_str()))
        .collect();
    let workflows: BTreeMap<&str, &str> =
        workflows.iter().map(|one| (one.workflow_id.as_str(), one.version.as_str())).collect();
    let asks = asking.map(AskingFolder::digest);
    Digest::of(json!([asks, catalogs, workflows]).to_string().as_bytes()).to_string()
}

/// Records that a person accepts what the folder asks for, as it was shown.
pub fn accept(writer: &Writer, call: &dyn Caller, shown: &FolderReport) -> Result<Option<Grant>> {
    if let Some(fault) = &shown.fault {
        let message = format!("this folder cannot be trusted: {fault}");
        return Err(Problem::new(Code::ProjectUntrusted, message, "mend this, then try again"));
    }
    let config = writer.reader.live_config()?;
    let asking = AskingFolder::of(&writer.reader.locations, &config.asks);
    let Some(asking) = asking else { return accept_own(writer, shown).map(|()| None) };
    if digest(Some(&asking), &workflows(&writer.reader)?) != shown.digest {
        return Err(changed_meanwhile());
    }
    let valid = writer.reader.grants.valid().or_problem()?;
    let before = valid.iter().find_map(|grant| match &grant.subject {
        GrantSubject::Folder(before) if before.folder == asking.folder => Some(&**before),
        _ => None,
    });
    let subject = GrantSubject::Folder(Box::new(asking.accepted(before)));
    grants::give(writer, call, subject, "trust this folder").map(Some)
}

/// Accepts the catalogs in the user's own directory that agents imported.
fn accept_own(writer: &Writer, shown: &FolderReport) -> Result<()> {
    for catalog in &shown.catalogs {
        let record = writer.reader.shelf.record(&catalog.catalog_id)?;
        if catalog_lines(&record) != catalog.asks {
            return Err(changed_meanwhile());
        }
        writer.catalogs.accept(&record.id).or_problem()?;
    }
    Ok(())
}

/// Accepts the folder if this is its digest. For a shell without a terminal: the digest proves
/// which state of the folder somebody looked at.
pub fn accept_digest(writer: &Writer, call: &dyn Caller, digest: &str) -> Result<Option<Grant>> {
    crate::run::person::only_a_person(
        call,
        "only a person can trust a folder",
        Invocation::of("trust"),
    )?;
    let report = report(&writer.reader)?;
    if report.digest != digest {
        return Err(changed_meanwhile());
    }
    accept(writer, call, &report)
}

fn changed_meanwhile() -> Problem {
    let message = "the folder is not what it was when this digest was made";
    let hint = Hint::text("look at it again with ").person(Invocation::of("trust"));
    Problem::new(Code::ProjectUntrusted, message, hint)
}

/// Forgets that the folder in force was trusted; returns whether it was.
pub fn forget(writer: &Writer) -> Result<bool> {
    // This works even if the configuration cannot be read.
    let asking = AskingFolder::of(&writer.reader.locations, &FolderAsks::default());
    let Some(AskingFolder { folder, .. }) = asking else { return Ok(false) };
    let removed = writer.reader.grants.revoke(|grant| match &grant.subject {
        GrantSubject::Folder(granted) => granted.folder == folder,
        GrantSubject::Reviewed(reviewed) => reviewed.folder.as_ref() == Some(&folder),
        GrantSubject::Secret(_) => false,
    });
    Ok(!removed.or_problem()?.is_empty())
}
