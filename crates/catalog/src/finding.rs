//! What is worth telling about a document: a place, a rule and a sentence.

use crate::limits;
use crate::text;

/// Which rule a finding goes back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names on the wire say it")]
pub enum Rule {
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

impl Rule {
    /// The word people and models see.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Version => "version",
            Rule::Info => "info",
            Rule::Paths => "paths",
            Rule::PathItem => "path-item",
            Rule::Operation => "operation",
            Rule::Method => "method",
            Rule::OperationId => "operation-id",
            Rule::Parameter => "parameter",
            Rule::PathParameter => "path-parameter",
            Rule::Body => "body",
            Rule::Response => "response",
            Rule::Schema => "schema",
            Rule::Security => "security",
            Rule::Server => "server",
            Rule::ServerScheme => "server-scheme",
            Rule::Ref => "ref",
            Rule::RefCycle => "ref-cycle",
            Rule::RefRefused => "ref-refused",
            Rule::NoOperations => "no-operations",
            Rule::Webhooks => "webhooks",
            Rule::Reader(name) => name,
            Rule::Specification => "specification",
            Rule::Credentials => "credentials",
        }
    }
}

/// One thing to tell about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// JSON pointer.
    pub path: String,
    /// Which rule.
    pub rule: Rule,
    /// What is wrong and what was done about it, in one sentence.
    pub message: String,
}

/// Findings so far. The same thing is told once, and no more than there is use for.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    more: usize,
}

impl Findings {
    /// Adds one.
    pub fn add(&mut self, path: impl Into<String>, rule: Rule, message: impl AsRef<str>) {
        if self.list.len() >= limits::FINDINGS {
            self.more += 1;
            return;
        }
        let message = text::line(message.as_ref(), limits::MESSAGE_CHARS);
        let finding = Finding { path: path.into(), rule, message };
        if self.list.last() != Some(&finding) {
            self.list.push(finding);
        }
    }

    /// What was found.
    pub fn into_list(mut self) -> Vec<Finding> {
        if self.more > 0 {
            let message = format!("{} more findings are not shown", self.more);
            self.list.push(Finding { path: String::new(), rule: Rule::Specification, message });
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
