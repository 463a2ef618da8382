//! What a command is about: a file, standard input, or a workflow of the library.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::id::WorkflowId;
use milepost_model::limits::DOCUMENT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::source::Format;
use milepost_model::suggest;
use milepost_ops::{Known, Operations, Reader, Writer};
use milepost_store::secrets::Environment;
use milepost_store::{
    Config, Entry, FileError, Found, Invalid, Library, Listing, Locations, SourceKind,
    read_document,
};

use crate::failure::Failure;
use crate::wording;

/// A document and where it came from.
pub(crate) struct Loaded {
    /// What the user calls it.
    pub(crate) name: String,
    /// The file, when there is one that may be written.
    pub(crate) file: Option<PathBuf>,
    /// Its id, when it was named by it and lies in the directory that keeps what it said.
    pub(crate) kept: Option<WorkflowId>,
    pub(crate) document: Arc<Document>,
}

/// What validation can ask for now: the catalogs, the workflows beside it, and the variables that
/// may be read.
pub(crate) fn world() -> World<'static> {
    static KNOWN: OnceLock<Option<(Known, Option<Vec<String>>)>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let locations = locations().ok()?;
        // A configuration that cannot be read is told by whoever needs it.
        let allowed = Config::read(&locations).ok().map(|config| config.env_allow);
        Some((Known::of(Reader::open(locations)), allowed))
    });
    match known {
        Some((known, allowed)) => World { commands: known, env_allow: allowed.as_deref() },
        None => World { commands: &NoCommands, env_allow: None },
    }
}

/// The directories of this user and working directory.
pub(crate) fn locations() -> Result<Locations, Failure> {
    let working = std::env::current_dir().map_err(|error| {
        let message = format!("there is no working directory: {error}");
        Problem::new(Code::StorageFailed, message, "change into a directory that exists")
    })?;
    Ok(Locations::resolve(&variable, &working))
}

/// A variable of the environment, if it is text.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The library of this user and working directory.
pub(crate) fn library() -> Result<Library, Failure> {
    Ok(Library::open(locations()?))
}

/// What operations work with, and one more workflow when somebody named its file.
pub(crate) fn writer(given: Option<Entry>) -> Result<Writer, Failure> {
    let reader = Reader::open(locations()?);
    let reader = match given {
        Some(entry) => reader.with(entry),
        None => reader,
    };
    Ok(Writer::open(reader, Environment::from_variables(std::env::vars_os())))
}

/// The same over other directories.
pub(crate) fn writer_at(locations: Locations) -> Writer {
    let environment = Environment::from_variables(std::env::vars_os());
    Writer::open(Reader::open(locations), environment)
}

/// The operations of this user and working directory.
pub(crate) fn operations() -> Result<Operations, Failure> {
    Ok(Operations::new(writer(None)?).worded(wording::shared()))
}

/// The text of the file that the user named, if there is one and it is plain text.
pub(crate) fn text(target: &OsStr) -> Option<String> {
    let bytes = read_document(Path::new(target), DOCUMENT_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// Finds and reads what the user named.
pub(crate) fn load(target: &OsStr) -> Result<Loaded, Failure> {
    if target == "-" {
        return standard_input();
    }
    let path = Path::new(target);
    let text = target.to_string_lossy();
    let looks_like_path = text.contains(['/', '\\'])
        || path.extension().and_then(|e| e.to_str()).and_then(Format::of_extension).is_some();
    if path.exists() || looks_like_path {
        return file(path);
    }
    from_library(&text)
}

/// Standard input as far as a document may go, and one byte more.
pub(crate) fn standard_bytes() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = DOCUMENT_BYTES as u64 + 1;
    std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(|error| {
        let message = format!("cannot read standard input: {error}");
        Problem::new(Code::StorageFailed, message, "pass a file instead")
    })?;
    Ok(bytes)
}

fn standard_input() -> Result<Loaded, Failure> {
    let bytes = standard_bytes()?;
    let document = match bytes.len() > DOCUMENT_BYTES {
        true => Document::too_large(None),
        false => Document::read(&bytes, None, world()),
    };
    let document = Arc::new(document);
    Ok(Loaded { name: "<stdin>".into(), file: None, kept: None, document })
}

fn file(path: &Path) -> Result<Loaded, Failure> {
    let name = path.display().to_string();
    let format = path.extension().and_then(|e| e.to_str()).and_then(Format::of_extension);
    let document = match read_document(path, DOCUMENT_BYTES) {
        Ok(bytes) => Document::read(&bytes, format, world()),
        Err(FileError::TooLarge { bytes, .. }) => Document::too_large(usize::try_from(bytes).ok()),
        Err(error) => return Err(error.into()),
    };
    Ok(Loaded { name, file: Some(path.to_owned()), kept: None, document: Arc::new(document) })
}

fn from_library(target: &str) -> Result<Loaded, Failure> {
    let library = library()?;
    let invalid = match library.get(target, world())? {
        Some(Found::Workflow(entry)) => return Ok(of_entry(&entry)),
        Some(Found::Invalid(invalid)) => Some(invalid),
        None => None,
    };
    let listing = library.listing(world())?;
    // The beginning of an id will do where only one begins so.
    let mut begun = listing.items.iter().filter(|item| item.id.starts_with(target));
    if let (Some(sole), None) = (begun.next(), begun.next())
        && let Some(Found::Workflow(entry)) = library.get(&sole.id, world())?
    {
        return Ok(of_entry(&entry));
    }
    // An invalid file with this id is what the user means, and its errors are the answer.
    match invalid {
        Some(invalid) => of_invalid(target, &invalid),
        None => Err(missing(target, &listing).into()),
    }
}

fn of_entry(entry: &Entry) -> Loaded {
    let file = (entry.source != SourceKind::BuiltIn).then(|| entry.path.clone());
    let name = entry.path.display().to_string();
    let kept = (entry.source == SourceKind::Runtime).then_some(entry.document.id.as_deref());
    let kept = kept.flatten().and_then(|id| WorkflowId::parse(id).ok());
    Loaded { name, file, kept, document: Arc::clone(&entry.document) }
}

fn of_invalid(id: &str, invalid: &Invalid) -> Result<Loaded, Failure> {
    let name = invalid.path.display().to_string();
    if let Some(document) = &invalid.document {
        let file = Some(invalid.path.clone());
        let kept = invalid.path.starts_with(locations()?.runtime());
        let kept = kept.then(|| WorkflowId::parse(id).ok()).flatten();
        return Ok(Loaded { name, file, kept, document: Arc::clone(document) });
    }
    Err(milepost_ops::invalid_file_problem(id, invalid).into())
}

fn missing(target: &str, listing: &Listing) -> Problem {
    let message = format!("there is no file and no workflow `{target}`");
    let ids = listing.items.iter().map(|item| item.id.as_str());
    let hint = match suggest::nearest(target, ids) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "see `milepost workflow list`".to_owned(),
    };
    let code = match WorkflowId::parse(target) {
        Ok(_) => Code::WorkflowNotFound,
        Err(_) => Code::FileNotFound,
    };
    Problem::new(code, message, hint).context("workflow_id", target)
}
