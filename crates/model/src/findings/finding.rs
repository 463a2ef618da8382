//! Findings in terms of the document's text, as they are recorded while the document is read.
//! `violation` turns them into what people and models see.

use std::fmt::Display;

use milepost_syntax::fault::{SyntaxFault, SyntaxRule};
use milepost_syntax::mend::{Mend, SourceLocation};
use milepost_syntax::span::Span;
use serde_json::Value;

use crate::named_enum::named_enum;
use crate::report::Report;

crate::serialized_enum! {
    /// Whether a finding prevents a workflow from being used.
    Severity {
        /// The workflow cannot be used.
        Error = "error",
        /// The workflow works, but something about it deserves attention.
        Warning = "warning",
    }
}

/// Something wrong or questionable in a document.
#[derive(Debug, Clone)]
pub struct Finding {
    pub(crate) place: SourceLocation,
    pub(crate) severity: Severity,
    pub(crate) rule: Rule,
    pub(crate) message: String,
    pub(crate) expected: Option<String>,
    pub(crate) actual: Option<String>,
    pub(crate) suggestion: Option<String>,
    pub(crate) mend: Option<Mend>,
    pub(crate) related: Option<(Span, &'static str)>,
    /// Whether the finding is about the key of the value at this position.
    pub(crate) on_key: bool,
    /// The line and column, if they are known without the text.
    pub(crate) position: Option<(u32, u32)>,
}

impl Finding {
    pub(crate) fn error(
        place: impl Into<SourceLocation>,
        rule: Rule,
        message: impl Into<String>,
    ) -> Self {
        Finding {
            place: place.into(),
            severity: Severity::Error,
            rule,
            message: message.into(),
            expected: None,
            actual: None,
            suggestion: None,
            mend: None,
            related: None,
            on_key: false,
            position: None,
        }
    }

    pub(crate) fn warning(
        place: impl Into<SourceLocation>,
        rule: Rule,
        message: impl Into<String>,
    ) -> Self {
        Finding { severity: Severity::Warning, ..Finding::error(place, rule, message) }
    }

    pub(crate) fn expected(self, expected: impl Into<String>) -> Self {
        Finding { expected: Some(expected.into()), ..self }
    }

    pub(crate) fn actual(self, actual: impl Into<String>) -> Self {
        Finding { actual: Some(actual.into()), ..self }
    }

    pub(crate) fn suggest(self, suggestion: impl Into<String>) -> Self {
        Finding { suggestion: Some(suggestion.into()), ..self }
    }

    pub(crate) fn mend(self, mend: Mend) -> Self {
        Finding { mend: Some(mend), ..self }
    }

    /// The finding for a missing required key; `then` is what to do about it.
    pub(crate) fn required(map: Span, key: &str, then: impl Into<String>) -> Self {
        let message = format!("missing required key `{key}`");
        Finding::error(map, Rule::Required, message).suggest(then)
    }

    /// Suggests what was probably meant in place of a value or part of a string.
    pub(crate) fn did_you_mean(
        self,
        place: impl Into<SourceLocation>,
        meant: Option<&str>,
        otherwise: &str,
    ) -> Self {
        let place = place.into();
        self.meant(meant, otherwise, |text| match place.inner {
            Some(_) => Mend::ReplaceText { place, text },
            None => Mend::Replace { at: place.at, value: text.into() },
        })
    }

    /// Suggests another name for the key.
    pub(crate) fn did_you_mean_key(self, key: Span, meant: Option<&str>, otherwise: &str) -> Self {
        self.meant(meant, otherwise, |to| Mend::RenameKey { key, to })
    }

    fn meant(self, meant: Option<&str>, otherwise: &str, mend: impl Fn(String) -> Mend) -> Self {
        let Some(meant) = meant else { return self.suggest(otherwise) };
        self.suggest(format!("did you mean `{meant}`?")).mend(mend(meant.to_owned()))
    }

    /// Suggests the only possible value at `at`.
    pub(crate) fn write_instead<V: Display + Into<Value>>(
        self,
        at: Span,
        meant: Option<V>,
        otherwise: &str,
    ) -> Self {
        let Some(meant) = meant else { return self.suggest(otherwise) };
        self.suggest(format!("write `{meant}`")).mend(Mend::Replace { at, value: meant.into() })
    }

    pub(crate) fn on_key(self) -> Self {
        Finding { on_key: true, ..self }
    }

    pub(crate) fn add_to(self, report: &mut Report) {
        report.add(self);
    }

    pub(crate) fn related(self, at: Span, label: &'static str) -> Self {
        Finding { related: Some((at, label)), ..self }
    }
}

impl From<SyntaxFault> for Finding {
    fn from(fault: SyntaxFault) -> Finding {
        let rule = match fault.rule {
            SyntaxRule::Syntax => Rule::Syntax,
            SyntaxRule::Number => Rule::Number,
            SyntaxRule::DuplicateKey => Rule::DuplicateKey,
        };
        Finding {
            expected: fault.expected,
            suggestion: fault.suggestion,
            mend: fault.mend,
            related: fault.related,
            position: fault.position,
            ..Finding::error(fault.at, rule, fault.message)
        }
    }
}

named_enum! {
    /// The rule behind a finding: a stable name that programs may branch on.
    pub Rule {
        /// The text is not YAML or JSON, or uses unsupported syntax.
        Syntax = "syntax",
        /// A number that cannot be represented exactly.
        Number = "number",
        /// A key occurs twice in one map.
        DuplicateKey = "duplicate-key",
        /// Neither a manifest nor a guide.
        DocumentKind = "document-kind",
        UnknownKey = "unknown-key",
        /// A missing required key.
        Required = "required",
        /// A value of the wrong type.
        Type = "type",
        /// A value that is not one of the choices.
        Choice = "choice",
        /// A value outside its range or length.
        Range = "range",
        /// Text in the wrong format for its field.
        Format = "format",
        /// An invalid identifier.
        Id = "id",
        /// A duplicate identifier.
        DuplicateId = "duplicate-id",
        /// Keys that exclude or require each other.
        Combination = "combination",
        /// An expression or template that does not parse.
        Expression = "expression",
        /// A name that does not exist here.
        UnknownName = "unknown-name",
        /// A path that the value cannot have.
        UnknownPath = "unknown-path",
        /// An expression whose type is not allowed in its place.
        ExpressionType = "expression-type",
        /// Steps that wait for each other.
        Cycle = "cycle",
        /// A `run` whose target does not exist or cannot be run.
        Command = "command",
        /// An argument that is unknown, missing or of the wrong type.
        Argument = "argument",
        /// A secret in a place that is shown or stored.
        SecretExposed = "secret-exposed",
        /// A regular expression that does not compile.
        Pattern = "pattern",
        /// An invalid JSON Schema.
        Schema = "schema",
        /// An invalid condition.
        Condition = "condition",
        /// Validation criteria that cannot be applied.
        Criteria = "criteria",
        /// A loop that cannot run.
        Loop = "loop",
        /// A field that is kept and shown but has no effect.
        NotActedOn = "not-acted-on",
        /// An input that no expression reads.
        UnusedInput = "unused-input",
        /// A step that can never run.
        NeverRuns = "never-runs",
        /// A step that reads a step defined below it.
        DefinedLater = "defined-later",
        /// A write before any read.
        WriteBeforeCheck = "write-before-check",
        /// A write with neither a condition nor an approval before it.
        UnguardedWrite = "unguarded-write",
        /// A `create` that does not first check whether the resource exists.
        CreateWithoutCheck = "create-without-check",
        /// A non-repeatable request without a preceding approval.
        UnapprovedWrite = "unapproved-write",
        /// A path that the schema allows but does not declare.
        UnmentionedPath = "unmentioned-path",
        /// A missing version, or a required version that this version of Milepost does not satisfy.
        Version = "version",
        /// A notation that works but is not the usual one.
        Spelling = "spelling",
        /// More findings than are kept.
        TooMany = "too-many",
    }
}
