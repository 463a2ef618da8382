//! Whether the folder whose configuration is in force may act.
//!
//! The user's own configuration may. Any other folder asks for things, and does nothing until a
//! person has accepted what it asks for. Everything is decided by what is on disk now and by the
//! grants in the user's data directory; no variable and no flag can make a folder trusted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::asks::FolderAsks;
use crate::catalogs::{CatalogRecord, Catalogs};
use crate::grants::{FolderGrant, GrantSubject, Grants};
use crate::{Digest, GrantError, Locations, limits, user};

/// Whether the folder in force may act.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FolderStanding {
    /// The configuration is the user's own.
    #[default]
    Own,
    /// A person accepted what the folder asks for.
    Trusted(Box<FolderGrant>),
    Untrusted(Distrust),
}

/// Why a folder may not act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distrust {
    /// Nobody has trusted it.
    New,
    /// It asks for other things than those that were accepted.
    Changed { added: Vec<String>, removed: Vec<String> },
    /// It cannot be trusted as it is.
    Unsafe(UnsafeFolder),
}

/// What makes a folder unsafe, regardless of what it asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeFolder {
    #[error("there is no home directory, so nothing that you allowed can be known")]
    NoHome,
    /// Whoever wrote the folder wrote the user's settings, too.
    #[error("your own directory `{}` is inside it", path.display())]
    UserDirectoryInside { path: PathBuf },
    #[error("`{}` belongs to another user", path.display())]
    Foreign { path: PathBuf },
    #[error("`{}` can be changed by other users", path.display())]
    WritableByOthers { path: PathBuf },
    #[error("`{}` is a link that leaves the folder", path.display())]
    LinkOutside { path: PathBuf },
    #[error("its path is not valid UTF-8")]
    NotText,
}

/// What a folder asks for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskingFolder {
    /// The real path of the folder that contains the configuration.
    pub folder: PathBuf,
    /// What its configuration asks for, one line each.
    pub asks: Vec<String>,
    /// What each catalog asks for.
    pub catalogs: BTreeMap<String, CatalogAsks>,
}

/// What a catalog in a folder asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogAsks {
    /// The digest of its record and its document.
    pub version: String,
    pub asks: Vec<String>,
}

impl AskingFolder {
    /// What the folder in force asks for; `None` if the configuration is the user's own.
    pub fn of(locations: &Locations, asks: &FolderAsks) -> Option<AskingFolder> {
        let folder = locations.asking_folder()?;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let catalogs = Catalogs::open(locations);
        let records = catalogs.list().unwrap_or_default().records;
        let catalogs = records.iter().map(|record| {
            let document = catalogs.document_now(record).map(|document| document.sha256);
            let document = document.unwrap_or(record.source_sha256);
            let version = catalog_version(record, document);
            (record.id.to_string(), CatalogAsks { version, asks: catalog_lines(record) })
        });
        Some(AskingFolder { folder, asks: asks.lines(), catalogs: catalogs.collect() })
    }

    /// The digest of what the configuration asks for.
    pub fn digest(&self) -> String {
        let lines: Vec<&[u8]> = self.asks.iter().map(String::as_bytes).collect();
        Digest::of_parts(&lines).to_string()
    }

    /// What is recorded when a person accepts all of it. Versions of catalogs that were accepted
    /// before stay accepted, because open runs may be pinned to them.
    pub fn accepted(&self, before: Option<&FolderGrant>) -> FolderGrant {
        let mut catalogs = before.map(|before| before.catalogs.clone()).unwrap_or_default();
        for (id, asked) in &self.catalogs {
            let versions: &mut Vec<String> = catalogs.entry(id.clone()).or_default();
            versions.retain(|version| *version != asked.version);
            versions.push(asked.version.clone());
            let surplus = versions.len().saturating_sub(limits::ACCEPTED_VERSIONS);
            versions.drain(..surplus);
        }
        let (folder, digest, asks) = (self.folder.clone(), self.digest(), self.asks.clone());
        FolderGrant { folder, digest, asks, catalogs }
    }
}

/// The digest that identifies a version of a catalog: everything that affects its requests.
pub fn catalog_version(record: &CatalogRecord, document: Digest) -> String {
    let document = document.to_string();
    Digest::of_parts(&[record.pinned_text().as_bytes(), document.as_bytes()]).to_string()
}

/// What a catalog asks for, as sentences without a subject.
pub fn catalog_lines(record: &CatalogRecord) -> Vec<String> {
    let address = record.base_url.as_ref().map_or("no address", |base| base.url.as_str());
    let id = &record.id;
    let mut lines = vec![format!("call {id} at {address}")];
    let private = record.allow_private.iter();
    lines.extend(private.map(|host| format!("call the private host {host} for {id}")));
    for schemes in record.auth.values() {
        for (scheme, credential) in schemes {
            let to = credential.authority.as_deref().map(|url| format!(" and {url}"));
            let to = format!("{address}{}", to.unwrap_or_default());
            let names = credential.secrets.values();
            lines.extend(names.map(|name| {
                format!("send the secret {} to {to} as `{scheme}` of {id}", name.as_str())
            }));
        }
    }
    lines
}

impl FolderStanding {
    /// Whether the folder in force may act, given what its configuration asks for.
    pub fn of(
        locations: &Locations,
        asks: &FolderAsks,
        grants: &Grants,
    ) -> Result<FolderStanding, GrantError> {
        if let Some(fault) = unsafe_user(locations) {
            return Ok(FolderStanding::Untrusted(Distrust::Unsafe(fault)));
        }
        let Some(folder) = locations.asking_folder() else { return Ok(FolderStanding::Own) };
        if let Some(fault) = unsafe_folder(locations, folder) {
            return Ok(FolderStanding::Untrusted(Distrust::Unsafe(fault)));
        }
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let valid = grants.valid()?;
        let granted = |folder: &Path| {
            valid.iter().find_map(|grant| match &grant.subject {
                GrantSubject::Folder(granted) if granted.folder == folder => Some(&**granted),
                _ => None,
            })
        };
        let lines = asks.lines();
        let bytes: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let digest = Digest::of_parts(&bytes).to_string();
        let elsewhere = || granted(&in_main_worktree(&real)?).filter(|own| own.digest == digest);
        let Some(granted) = granted(&real).or_else(elsewhere) else {
            return Ok(FolderStanding::Untrusted(Distrust::New));
        };
        if granted.digest == digest {
            return Ok(FolderStanding::Trusted(Box::new(granted.clone())));
        }
        let missing = |all: &[String], from: &[String]| {
            all.iter().filter(|line| !from.contains(line)).cloned().collect()
        };
        let (added, removed) = (missing(&lines, &granted.asks), missing(&granted.asks, &lines));
        Ok(FolderStanding::Untrusted(Distrust::Changed { added, removed }))
    }

    /// Whether anything may be sent, read or taken from the environment.
    pub fn may_act(&self) -> bool {
        !matches!(self, FolderStanding::Untrusted(_))
    }

    /// Whether a person accepted this version of a catalog. In the user's own directory, a catalog
    /// that an agent imported is not accepted until a person says so.
    pub fn accepts(&self, record: &CatalogRecord, document: Digest) -> bool {
        match self {
            FolderStanding::Own => !record.by_agent,
            FolderStanding::Untrusted(_) => false,
            FolderStanding::Trusted(granted) => {
                let versions = granted.catalogs.get(record.id.as_str());
                let version = || catalog_version(record, document);
                versions.is_some_and(|versions| versions.contains(&version()))
            }
        }
    }
}

/// Why the user's own directories cannot be relied on. A variable that a project sets for a client
/// could point them into the project.
fn unsafe_user(locations: &Locations) -> Option<UnsafeFolder> {
    if !locations.has_user_directories {
        return Some(UnsafeFolder::NoHome);
    }
    let real = |path: &Path| existing(path).and_then(|path| fs::canonicalize(path).ok());
    let roots = [locations.asking_root(), checkout(locations)];
    let home = user::home().and_then(|home| fs::canonicalize(home).ok());
    let own = [locations.user_config.parent()?, &locations.data];
    for root in roots.into_iter().flatten().filter_map(real) {
        // People do work in their home directory, which contains their own directories.
        if home.as_ref().is_some_and(|home| home.starts_with(&root)) {
            continue;
        }
        let inside = own.iter().find(|path| real(path).is_some_and(|own| own.starts_with(&root)));
        if let Some(path) = inside {
            return Some(UnsafeFolder::UserDirectoryInside { path: path.to_path_buf() });
        }
    }
    None
}

/// The closest ancestor that looks like the root of a checkout, or that configures a client, or
/// else the working directory, unless that is nothing but the home directory.
fn checkout(locations: &Locations) -> Option<&Path> {
    let is_root = |folder: &&Path| {
        limits::CHECKOUT_MARKS.iter().any(|name| fs::symlink_metadata(folder.join(name)).is_ok())
    };
    let working = &*locations.working;
    let root = working.ancestors().find(is_root);
    root.or_else(|| (locations.home.as_deref() != Some(working)).then_some(working))
}

/// The closest ancestor that exists, because directories are created when they are first needed.
fn existing(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| fs::symlink_metadata(path).is_ok())
}

/// What makes a folder unsafe, if anything does.
fn unsafe_folder(locations: &Locations, folder: &Path) -> Option<UnsafeFolder> {
    if folder.to_str().is_none() {
        return Some(UnsafeFolder::NotText);
    }
    let root = locations.asking_root().and_then(|root| fs::canonicalize(root).ok());
    let paths = [
        folder.to_owned(),
        locations.config.clone(),
        locations.catalogs(),
        locations.runtime().to_owned(),
    ];
    for path in paths {
        let Ok(real) = fs::canonicalize(&path) else { continue };
        if root.as_ref().is_some_and(|root| path.starts_with(folder) && !real.starts_with(root)) {
            return Some(UnsafeFolder::LinkOutside { path });
        }
        if let Some(fault) = exposed(&real) {
            return Some(fault);
        }
    }
    None
}

#[cfg(unix)]
fn exposed(path: &Path) -> Option<UnsafeFolder> {
    use std::os::unix::fs::MetadataExt;

    let file = fs::metadata(path).ok()?;
    if file.uid() != rustix::process::getuid().as_raw() {
        return Some(UnsafeFolder::Foreign { path: path.to_owned() });
    }
    (file.mode() & limits::OTHERS_WRITE_MODE != 0)
        .then(|| UnsafeFolder::WritableByOthers { path: path.to_owned() })
}

#[cfg(not(unix))]
fn exposed(_: &Path) -> Option<UnsafeFolder> {
    None
}

/// The same folder in the main worktree of a git repository, if `folder` is in another worktree of
/// it. Both sides must name each other: only git, and not the content of a repository, can write
/// into the main worktree's own directory.
fn in_main_worktree(folder: &Path) -> Option<PathBuf> {
    let root = folder.ancestors().find(|root| root.join(".git").is_file())?;
    let named = |path: PathBuf| -> Option<PathBuf> {
        let text = fs::read_to_string(path).ok()?;
        let text = text.trim();
        fs::canonicalize(text.strip_prefix("gitdir: ").unwrap_or(text)).ok()
    };
    let own = named(root.join(".git"))?;
    if named(own.join("gitdir"))? != fs::canonicalize(root.join(".git")).ok()? {
        return None;
    }
    let worktrees = own.parent()?;
    let git = worktrees.parent()?;
    let is_main = worktrees.ends_with("worktrees") && git.ends_with(".git");
    let main = is_main.then(|| git.parent()).flatten()?;
    fs::canonicalize(main.join(folder.strip_prefix(root).ok()?)).ok()
}
