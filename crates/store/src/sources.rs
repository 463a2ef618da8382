//! Local documents to import, and the files they refer to.
//!
//! What may be read depends on who named the document: a user may name any file, a model only files
//! in the directories open to it. References come from the document itself, whose author is not
//! trusted, so they must stay below a root and never reach hidden files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use milepost_catalog::limits::DOCUMENT_BYTES;

use crate::file::{self, FileError};
use crate::{Config, Directory, Locations, limits};

/// Who named a document, and what they may read.
#[derive(Debug, Clone)]
pub enum Trust {
    /// A person typed its path.
    User(UserTrust),
    /// A model put its path into a tool call.
    Agent(AgentTrust),
}

/// What a user may read: any file.
#[derive(Debug, Clone)]
pub struct UserTrust {
    working: PathBuf,
    home: Option<PathBuf>,
    root: Option<PathBuf>,
}

/// What a model may read: files below certain directories.
#[derive(Debug, Clone)]
pub struct AgentTrust {
    working: PathBuf,
    roots: Vec<AgentRoot>,
}

#[derive(Debug, Clone)]
struct AgentRoot {
    path: PathBuf,
    /// Whether hidden files below it may be read. Not allowed for a home directory, where hidden
    /// files contain keys and tokens.
    hidden: bool,
}

/// Why a document, or a file that it refers to, was not read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that a tool call may not read, whether it exists or not.
    #[error(
        "tool calls may not read `{}`: move it into the project, \
         or add its folder to `source_roots` in the configuration",
        path.display()
    )]
    NotOpen { path: PathBuf },
    /// The document is not below the root given for it.
    #[error("`{}` is not below the root `{}`", path.display(), root.display())]
    NotBelowRoot { path: PathBuf, root: PathBuf },
    /// A reference to a file that the document may not refer to.
    #[error("`{reference}` is outside `{}` or refers to a hidden file", root.display())]
    Reference { reference: String, root: PathBuf },
    /// The document refers to too many files.
    #[error("the document consists of more than {} files", limits::REFERENCED_FILES)]
    TooManyFiles,
    /// The document's files are too large in total.
    #[error("the document's files exceed {} bytes in total", limits::REFERENCED_BYTES)]
    TooManyBytes,
}

impl Trust {
    /// The trust given to a user, who may specify the folder that references must stay below. By
    /// default, it is the parent of the document's folder, unless that parent is the home directory
    /// or contains it.
    pub fn user(locations: &Locations, root: Option<&Path>) -> Trust {
        let (working, home) = (locations.working.clone(), locations.home.clone());
        let root = root.map(|root| working.join(root));
        Trust::User(UserTrust { working, home, root })
    }

    /// The trust given to a model, which may read below the project, the working directory and the
    /// configured roots.
    pub fn agent(locations: &Locations, config: &Config) -> Trust {
        let home = locations.home.as_deref().and_then(|home| fs::canonicalize(home).ok());
        let near = locations.project.iter().chain([&locations.working]);
        // Programs are often started in `/`; that must not let a model read the whole disk.
        let near = near.filter_map(|path| canonical(path)).filter(|path| path.parent().is_some());
        let near = near.map(|path| {
            let hidden = !home.as_deref().is_some_and(|home| home.starts_with(&path));
            AgentRoot { path, hidden }
        });
        let named = config.source_roots.iter().filter_map(|path| canonical(path));
        let named = named.map(|path| AgentRoot { path, hidden: true });
        let roots = near.chain(named).collect();
        Trust::Agent(AgentTrust { working: locations.working.clone(), roots })
    }
}

/// The canonical path of a directory; `None` if it does not exist.
fn canonical(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// A document read from a file, with access to the files it refers to.
#[derive(Debug)]
pub struct LocalSource {
    /// The canonical path of the file: no links, no `..`.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub references: ReferenceRoot,
}

impl LocalSource {
    /// Reads the document at a path.
    pub fn open(path: &Path, trust: &Trust) -> Result<LocalSource, SourceError> {
        match trust {
            Trust::User(user) => user.open(path),
            Trust::Agent(agent) => agent.open(path),
        }
    }
}

impl UserTrust {
    fn open(&self, path: &Path) -> Result<LocalSource, SourceError> {
        let named = self.working.join(path);
        let path = fs::canonicalize(&named).map_err(|error| FileError::of(&named, error))?;
        let bytes = file::read_document(&path, DOCUMENT_BYTES)?;
        let folder = path.parent().unwrap_or(&path);
        let root = match &self.root {
            Some(root) => fs::canonicalize(root).map_err(|error| FileError::of(root, error))?,
            None => self.root_of(folder).to_owned(),
        };
        let Ok(base) = folder.strip_prefix(&root) else {
            return Err(SourceError::NotBelowRoot { path, root });
        };
        let references = ReferenceRoot::below(&root, base)?;
        Ok(LocalSource { path, bytes, references })
    }

    /// `spec/openapi.yaml` may refer to `../common/Error.yaml`, but a document in `~/Downloads` may
    /// not refer to anything in the home directory.
    fn root_of<'p>(&self, folder: &'p Path) -> &'p Path {
        let home = self.home.as_deref().and_then(canonical);
        let holds_home = |path: &Path| home.as_deref().is_some_and(|home| home.starts_with(path));
        match folder.parent() {
            Some(above) if above.parent().is_some() && !holds_home(above) => above,
            _ => folder,
        }
    }
}

impl AgentTrust {
    fn open(&self, path: &Path) -> Result<LocalSource, SourceError> {
        let named = self.working.join(path);
        let not_open = || SourceError::NotOpen { path: path.to_owned() };
        let found = match fs::canonicalize(&named) {
            Ok(found) => found,
            // A missing file is reported as such only if the caller could have read it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = lexical(&named).and_then(|path| canonical(path.parent()?));
                return match parent.and_then(|parent| self.root_of(&parent.join("_"))) {
                    Some(_) => Err(FileError::NotFound { path: path.to_owned() }.into()),
                    None => Err(not_open()),
                };
            }
            Err(_) => return Err(not_open()),
        };
        let (root, below) = self.root_of(&found).ok_or_else(not_open)?;
        // Read through the root, in case the file was replaced by a link since the check.
        let directory = Directory::open(&root)?.ok_or_else(not_open)?;
        let bytes = directory.read(&below, DOCUMENT_BYTES)?;
        let folder = found.parent().unwrap_or(&found);
        let references = ReferenceRoot::below(folder, Path::new(""))?;
        Ok(LocalSource { bytes, references, path: found })
    }

    /// The root that contains a file, and the file's path below it.
    fn root_of(&self, file: &Path) -> Option<(PathBuf, PathBuf)> {
        self.roots.iter().find_map(|root| {
            let below = file.strip_prefix(&root.path).ok()?;
            let open = root.hidden || !has_hidden(below);
            open.then(|| (root.path.clone(), below.to_owned()))
        })
    }
}

/// The files that a document may refer to: a limited number of files below a root.
#[derive(Debug)]
pub struct ReferenceRoot {
    directory: Directory,
    /// The path of the document's folder below the root.
    base: PathBuf,
    /// The files read so far, by path below the root.
    read: BTreeMap<PathBuf, Arc<[u8]>>,
    bytes: usize,
}

impl ReferenceRoot {
    /// The files below a document's folder.
    pub fn open(folder: &Path) -> Result<ReferenceRoot, SourceError> {
        ReferenceRoot::below(folder, Path::new(""))
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The files read so far, as paths below the root.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.read.keys().map(PathBuf::as_path)
    }

    /// Reads a file that a document refers to by a path relative to the document's folder. The path
    /// is not a URL and is already percent-decoded; `..` is allowed as long as it stays below the
    /// root.
    pub fn read(&mut self, reference: &str) -> Result<Arc<[u8]>, SourceError> {
        let refused = || SourceError::Reference {
            reference: reference.chars().take(limits::REFERENCE_SHOWN_CHARS).collect(),
            root: self.directory.path().to_owned(),
        };
        let path = self.resolved(reference).ok_or_else(refused)?;
        if let Some(bytes) = self.read.get(&path) {
            return Ok(Arc::clone(bytes));
        }
        if self.read.len() >= limits::REFERENCED_FILES {
            return Err(SourceError::TooManyFiles);
        }
        let room = limits::REFERENCED_BYTES - self.bytes;
        let bytes = match self.directory.read(&path, room.min(DOCUMENT_BYTES)) {
            Ok(bytes) => bytes,
            Err(FileError::TooLarge { .. }) if room < DOCUMENT_BYTES => {
                return Err(SourceError::TooManyBytes);
            }
            Err(FileError::Outside { .. }) => return Err(refused()),
            Err(error) => return Err(error.into()),
        };
        self.bytes += bytes.len();
        let bytes: Arc<[u8]> = bytes.into();
        self.read.insert(path, Arc::clone(&bytes));
        Ok(bytes)
    }

    fn below(root: &Path, base: &Path) -> Result<ReferenceRoot, SourceError> {
        let missing = || FileError::NotFound { path: root.to_owned() };
        let directory = Directory::open(root)?.ok_or_else(missing)?;
        Ok(ReferenceRoot { directory, base: base.to_owned(), read: BTreeMap::new(), bytes: 0 })
    }

    /// Resolves a reference to a path below the root; `None` if it leads out of the root or to a
    /// hidden file.
    fn resolved(&self, reference: &str) -> Option<PathBuf> {
        // A backslash is a separator on some systems and an ordinary character on others.
        let relative = Path::new(reference);
        if relative.is_absolute() || reference.contains(['\\', '\0']) {
            return None;
        }
        let path = lexical(&self.base.join(relative))?;
        // The name of the document's own folder is the user's choice, so it may be hidden.
        let beyond = path.strip_prefix(&self.base).unwrap_or(&path);
        (!has_hidden(beyond)).then_some(path)
    }
}

/// Removes `.` and `..` from a path; `None` if it leads above its starting point.
fn lexical(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                plain.push(component);
            }
        }
    }
    Some(plain)
}

fn has_hidden(path: &Path) -> bool {
    path.components().any(|component| component.as_os_str().as_encoded_bytes().starts_with(b"."))
}
