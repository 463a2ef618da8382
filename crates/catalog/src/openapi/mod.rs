//! An OpenAPI document of any version, read through one set of questions: which operations, and
//! of each its parameters, body, answers, security and servers. Nothing is copied before it is
//! asked for, and one bad part costs that part.

mod body;
mod command;
mod operations;
mod parameters;
mod responses;
mod schema;
mod security;
mod servers;
mod version;

pub use operations::Operation;
pub use version::Version;

use crate::document::{Document, Node, Reading};
use crate::finding::{Finding, Findings, Rule};
use crate::{limits, refs, text};

/// A document that describes an API.
#[derive(Debug)]
pub struct Api {
    document: Document,
    version: Version,
    /// What the reader and the look at its version had to say.
    notes: Vec<Finding>,
}

/// A document that describes no API we know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnApi {
    /// It says no version of OpenAPI.
    #[error("this is not an OpenAPI document: it has neither `openapi: 3.x` nor `swagger: 2.0`")]
    NoVersion,
    /// It says a version we cannot read.
    #[error("OpenAPI {0} cannot be read: 2.0, 3.0, 3.1 and 3.2 can")]
    OtherVersion(String),
}

impl Api {
    /// Looks at what kind of document it is.
    pub fn new(reading: Reading) -> Result<Api, NotAnApi> {
        let mut warnings = Findings::default();
        for note in &reading.notes {
            warnings.add(&note.pointer, Rule::Reader(note.rule), &note.message);
        }
        let root = reading.document.root();
        let Some(version) = Version::of(root, &mut warnings) else {
            let said = ["openapi", "swagger", "swaggerVersion"];
            let said = said.iter().find_map(|key| root.get(key)?.scalar());
            return Err(match said {
                Some(said) => NotAnApi::OtherVersion(text::line(&said, 40)),
                None => NotAnApi::NoVersion,
            });
        };
        Ok(Api { document: reading.document, version, notes: warnings.into_list() })
    }

    /// The document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The version it follows.
    pub fn version(&self) -> Version {
        self.version
    }

    /// What the reader had to say.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// Its title, cleaned.
    pub fn title(&self) -> Option<String> {
        let title = self.root().get("info")?.get("title")?.scalar()?;
        let title = text::line(&title, limits::SUMMARY_CHARS);
        (!title.is_empty()).then_some(title)
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.document.root()
    }

    pub(crate) fn resolve<'d>(&'d self, node: Node<'d>) -> Result<Node<'d>, refs::RefError> {
        refs::resolve(&self.document, node)
    }

    /// The value behind a reference; where there is none, that is told.
    pub(crate) fn resolved<'d>(
        &'d self,
        node: Node<'d>,
        path: &str,
        findings: &mut Findings,
    ) -> Option<Node<'d>> {
        match self.resolve(node) {
            Ok(node) => Some(node),
            Err(error) => {
                let rule = match error {
                    refs::RefError::Cycle(_) => Rule::RefCycle,
                    refs::RefError::Missing(_) => Rule::Ref,
                    refs::RefError::Outside(_) => Rule::RefRefused,
                };
                findings.add(path, rule, format!("{error}; it was left out"));
                None
            }
        }
    }
}

/// The text of a key, cleaned into one line.
pub(crate) fn line_of(node: Node<'_>, key: &str, chars: usize) -> String {
    let said = node.get(key).and_then(Node::text);
    said.map(|said| text::line(&text::without_html(&said), chars)).unwrap_or_default()
}

/// The text of a key, cleaned.
pub(crate) fn block_of(node: Node<'_>, key: &str, chars: usize) -> String {
    let said = node.get(key).and_then(Node::text);
    said.map(|said| text::block(&text::without_html(&said), chars)).unwrap_or_default()
}

/// A yes or no, also when somebody put it in quotes.
pub(crate) fn flag(node: Node<'_>, key: &str) -> Option<bool> {
    let node = node.get(key)?;
    node.bool().or_else(|| match &*node.text()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })
}
