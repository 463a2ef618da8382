//! The workflow that a command operates on: a file, standard input, or a library entry.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_model::document::Document;
use milepost_model::id::WorkflowId;
use milepost_model::problem::{Code, Problem};
use milepost_model::suggest;
use milepost_model::workflow::Workflow;
use milepost_store::{
    FileError, InvalidFile, Library, LibraryEntry, LibraryMatch, Listing, SourceKind, read_document,
};
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

use crate::argument_values;
use crate::diagnostics;
use crate::environment::{locations, world};
use crate::failure::{CliError, CliResult};
use crate::session::CliSession;
use crate::terminal::Terminal;

/// The name of a document from standard input.
const STDIN: &str = "<stdin>";

/// A document and its origin.
pub(crate) struct LoadedDocument {
    /// The path of the file, or [`STDIN`].
    pub(crate) name: String,
    /// The file, if it exists and may be written.
    pub(crate) file: Option<PathBuf>,
    /// The workflow id, if the user gave the id and its directory keeps earlier versions.
    pub(crate) versioned: Option<WorkflowId>,
    /// Its id in the library, if the user named it by that and not by a file.
    pub(crate) listed: Option<String>,
    pub(crate) document: Arc<Document>,
}

impl LoadedDocument {
    pub(crate) fn is_stdin(&self) -> bool {
        self.name == STDIN
    }

    /// The workflow in the document. If there is none, prints the errors.
    pub(crate) fn workflow(&self, terminal: &mut Terminal) -> CliResult<&Workflow> {
        self.document.workflow.as_ref().ok_or_else(|| self.invalid(terminal))
    }

    /// The workflow in the document if it is valid. Otherwise prints the errors.
    pub(crate) fn valid_workflow(&self, terminal: &mut Terminal) -> CliResult<&Workflow> {
        if self.document.is_valid() { self.workflow(terminal) } else { Err(self.invalid(terminal)) }
    }

    /// Opens a session whose library includes this workflow.
    pub(crate) fn open_session(
        &self,
        workflow: &Workflow,
        terminal: &Terminal,
    ) -> CliResult<CliSession> {
        let entry = LibraryEntry {
            id: workflow.id.value.to_string(),
            source: SourceKind::Runtime,
            path: self.name.clone().into(),
            version: String::new(),
            document: Arc::clone(&self.document),
        };
        CliSession::open_with(entry, terminal)
    }

    fn invalid(&self, terminal: &mut Terminal) -> CliError {
        let (name, violations) = (&self.name, &self.document.violations);
        // In JSON output, the violations are part of the problem itself.
        let shown: &[_] = if terminal.is_json() { &[] } else { violations };
        for violation in shown {
            let source = self.document.source.as_ref();
            let text = diagnostics::render(violation, name, source, terminal.width());
            terminal.notice(format!("{text}\n"));
        }
        let message = format!("`{name}` is not a valid workflow");
        let hint = "fix the errors above";
        let mut problem =
            Problem::new(Code::WorkflowInvalid, message, hint).context("path", name.as_str());
        problem.violations.clone_from(violations);
        problem.into()
    }
}

/// The content of the given file, if it exists and is valid UTF-8.
pub(crate) fn file_text(target: &OsStr) -> Option<String> {
    let bytes = read_document(Path::new(target), DOCUMENT_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

/// Finds and reads the document that the user named.
pub(crate) fn load(target: &OsStr) -> CliResult<LoadedDocument> {
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

fn standard_input() -> CliResult<LoadedDocument> {
    let bytes = argument_values::stdin_bytes(DOCUMENT_BYTES)?;
    let document = match bytes.len() > DOCUMENT_BYTES {
        true => Document::too_large(None),
        false => Document::read(&bytes, None, world()),
    };
    let document = Arc::new(document);
    Ok(LoadedDocument { name: STDIN.into(), file: None, versioned: None, listed: None, document })
}

fn file(path: &Path) -> CliResult<LoadedDocument> {
    let name = path.display().to_string();
    let format = path.extension().and_then(|e| e.to_str()).and_then(Format::of_extension);
    let document = match read_document(path, DOCUMENT_BYTES) {
        Ok(bytes) => Document::read(&bytes, format, world()),
        Err(FileError::TooLarge { bytes, .. }) => Document::too_large(usize::try_from(bytes).ok()),
        Err(error) => return Err(error.into()),
    };
    Ok(LoadedDocument {
        name,
        file: Some(path.to_owned()),
        versioned: None,
        listed: None,
        document: Arc::new(document),
    })
}

fn from_library(target: &str) -> CliResult<LoadedDocument> {
    let library = Library::open(locations()?);
    let invalid = match library.get(target, world())? {
        Some(LibraryMatch::Workflow(entry)) => return Ok(of_entry(&entry)),
        Some(LibraryMatch::Invalid(invalid)) => Some(invalid),
        None => None,
    };
    let listing = library.listing(world())?;
    // A unique prefix of an id is enough.
    let mut matching = listing.items.iter().filter(|item| item.id.starts_with(target));
    if let (Some(sole), None) = (matching.next(), matching.next())
        && let Some(LibraryMatch::Workflow(entry)) = library.get(&sole.id, world())?
    {
        return Ok(of_entry(&entry));
    }
    // If the file with this id is invalid, report its errors.
    match invalid {
        Some(invalid) => of_invalid(target, &invalid),
        None => Err(not_found(target, &listing).into()),
    }
}

fn of_entry(entry: &LibraryEntry) -> LoadedDocument {
    let file = (entry.source != SourceKind::BuiltIn).then(|| entry.path.clone());
    let name = entry.path.display().to_string();
    let versioned = (entry.source == SourceKind::Runtime).then_some(entry.document.id.as_deref());
    let versioned = versioned.flatten().and_then(|id| WorkflowId::parse(id).ok());
    let (listed, document) = (Some(entry.id.clone()), Arc::clone(&entry.document));
    LoadedDocument { name, file, versioned, listed, document }
}

fn of_invalid(id: &str, invalid: &InvalidFile) -> CliResult<LoadedDocument> {
    let name = invalid.path.display().to_string();
    if let Some(document) = &invalid.document {
        let file = Some(invalid.path.clone());
        let versioned = invalid.path.starts_with(locations()?.runtime());
        let versioned = versioned.then(|| WorkflowId::parse(id).ok()).flatten();
        let (listed, document) = (None, Arc::clone(document));
        return Ok(LoadedDocument { name, file, versioned, listed, document });
    }
    Err(milepost_ops::invalid_file_problem(id, invalid).into())
}

fn not_found(target: &str, listing: &Listing) -> Problem {
    let message = format!("there is no file or workflow `{target}`");
    let ids = listing.items.iter().map(|item| item.id.as_str());
    let hint = match suggest::nearest(target, ids) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "see `milepost workflow list`".to_owned(),
    };
    let code = match WorkflowId::parse(target) {
        Ok(_) => Code::WorkflowNotFound,
        Err(_) => Code::FileNotFound,
    };
    Problem::new(code, message, hint).context("workflow_id", target)
}
