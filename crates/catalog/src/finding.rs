//! Findings about a document: a location, a rule and a message.

use crate::limits;
use crate::text;

/// The name of the violated rule, as shown to people and models. The document reader's rules have
/// their own names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentRule(pub &'static str);

impl DocumentRule {
    pub const VERSION: DocumentRule = DocumentRule("version");
    pub const INFO: DocumentRule = DocumentRule("info");
    pub const PATHS: DocumentRule = DocumentRule("paths");
    pub const PATH_ITEM: DocumentRule = DocumentRule("path-item");
    pub const OPERATION: DocumentRule = DocumentRule("operation");
    pub const METHOD: DocumentRule = DocumentRule("method");
    pub const OPERATION_ID: DocumentRule = DocumentRule("operation-id");
    pub const PARAMETER: DocumentRule = DocumentRule("parameter");
    pub const PATH_PARAMETER: DocumentRule = DocumentRule("path-parameter");
    pub const BODY: DocumentRule = DocumentRule("body");
    pub const RESPONSE: DocumentRule = DocumentRule("response");
    pub const SERVER: DocumentRule = DocumentRule("server");
    pub const SERVER_SCHEME: DocumentRule = DocumentRule("server-scheme");
    pub const REF: DocumentRule = DocumentRule("ref");
    pub const REF_CYCLE: DocumentRule = DocumentRule("ref-cycle");
    pub const REF_REFUSED: DocumentRule = DocumentRule("ref-refused");
    pub const NO_OPERATIONS: DocumentRule = DocumentRule("no-operations");
    pub const WEBHOOKS: DocumentRule = DocumentRule("webhooks");
    pub const SPECIFICATION: DocumentRule = DocumentRule("specification");
    pub const CREDENTIALS: DocumentRule = DocumentRule("credentials");
}

/// A single finding about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFinding {
    /// JSON pointer to the place in the document.
    pub path: String,
    pub rule: DocumentRule,
    /// What is wrong and how it was handled, in one sentence.
    pub message: String,
}

/// Collects findings, without consecutive duplicates and up to a limit.
#[derive(Debug, Default)]
pub struct DocumentFindings {
    list: Vec<DocumentFinding>,
    more: usize,
}

impl DocumentFindings {
    /// Adds a finding.
    pub fn add(&mut self, path: impl Into<String>, rule: DocumentRule, message: impl AsRef<str>) {
        if self.list.len() >= limits::FINDINGS {
            self.more += 1;
            return;
        }
        let message = text::line(message.as_ref(), limits::MESSAGE_CHARS);
        let finding = DocumentFinding { path: path.into(), rule, message };
        if self.list.last() != Some(&finding) {
            self.list.push(finding);
        }
    }

    /// Returns the collected findings.
    pub fn into_list(mut self) -> Vec<DocumentFinding> {
        if self.more > 0 {
            let message = format!("further findings not shown: {}", self.more);
            self.list.push(DocumentFinding {
                path: String::new(),
                rule: DocumentRule::SPECIFICATION,
                message,
            });
        }
        self.list
    }

    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Escapes a key or index for use in a JSON pointer.
pub fn part(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The pointer to a member of the value at a pointer.
pub fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", part(key))
}
