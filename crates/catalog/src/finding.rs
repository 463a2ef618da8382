//! What is worth telling about a document: a place, a rule and a sentence.

use crate::limits;
use crate::text;

/// Which rule a finding goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentRule {
    Version,
    Info,
    Paths,
    PathItem,
    Operation,
    Method,
    OperationId,
    Parameter,
    PathParameter,
    Body,
    Response,
    Schema,
    Security,
    Server,
    ServerScheme,
    Ref,
    RefCycle,
    RefRefused,
    NoOperations,
    Webhooks,
    Reader(&'static str),
    Specification,
    Credentials,
}

impl DocumentRule {
    /// The word people and models see.
    pub fn name(self) -> &'static str {
        match self {
            DocumentRule::Version => "version",
            DocumentRule::Info => "info",
            DocumentRule::Paths => "paths",
            DocumentRule::PathItem => "path-item",
            DocumentRule::Operation => "operation",
            DocumentRule::Method => "method",
            DocumentRule::OperationId => "operation-id",
            DocumentRule::Parameter => "parameter",
            DocumentRule::PathParameter => "path-parameter",
            DocumentRule::Body => "body",
            DocumentRule::Response => "response",
            DocumentRule::Schema => "schema",
            DocumentRule::Security => "security",
            DocumentRule::Server => "server",
            DocumentRule::ServerScheme => "server-scheme",
            DocumentRule::Ref => "ref",
            DocumentRule::RefCycle => "ref-cycle",
            DocumentRule::RefRefused => "ref-refused",
            DocumentRule::NoOperations => "no-operations",
            DocumentRule::Webhooks => "webhooks",
            DocumentRule::Reader(name) => name,
            DocumentRule::Specification => "specification",
            DocumentRule::Credentials => "credentials",
        }
    }
}

/// One thing to tell about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentFinding {
    /// JSON pointer.
    pub path: String,
    pub rule: DocumentRule,
    /// What is wrong and what was done about it, in one sentence.
    pub message: String,
}

/// Findings so far. The same thing is told once, and no more than there is use for.
#[derive(Debug, Default)]
pub struct DocumentFindings {
    list: Vec<DocumentFinding>,
    more: usize,
}

impl DocumentFindings {
    /// Adds one.
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

    /// What was found.
    pub fn into_list(mut self) -> Vec<DocumentFinding> {
        if self.more > 0 {
            let message = format!("{} more findings are not shown", self.more);
            self.list.push(DocumentFinding {
                path: String::new(),
                rule: DocumentRule::Specification,
                message,
            });
        }
        self.list
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// A key or index as a part of a JSON pointer.
pub fn part(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
