//! What is wrong with a text, with its position and, where it is certain, the mend.

use crate::limits;
use crate::mend::Mend;
use crate::span::Span;

/// A fault of the text, or of a value that JSON or YAML cannot hold.
#[derive(Debug, Clone)]
pub struct SyntaxFault {
    pub at: Span,
    pub rule: SyntaxRule,
    pub message: String,
    pub expected: Option<String>,
    pub suggestion: Option<String>,
    pub mend: Option<Mend>,
    /// Another position that belongs to it, with a label.
    pub related: Option<(Span, &'static str)>,
    /// Line and column, where there is no decoded text to count in.
    pub position: Option<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxRule {
    /// The text is not JSON or YAML, or uses a part of them that is refused.
    Syntax,
    /// A number that cannot be kept exactly.
    Number,
    DuplicateKey,
}

impl SyntaxFault {
    pub(crate) fn new(at: Span, message: impl Into<String>) -> SyntaxFault {
        SyntaxFault {
            at,
            rule: SyntaxRule::Syntax,
            message: message.into(),
            expected: None,
            suggestion: None,
            mend: None,
            related: None,
            position: None,
        }
    }

    pub(crate) fn rule(self, rule: SyntaxRule) -> Self {
        SyntaxFault { rule, ..self }
    }

    pub(crate) fn expected(self, expected: impl Into<String>) -> Self {
        SyntaxFault { expected: Some(expected.into()), ..self }
    }

    pub(crate) fn suggest(self, suggestion: impl Into<String>) -> Self {
        SyntaxFault { suggestion: Some(suggestion.into()), ..self }
    }

    pub(crate) fn mend(self, mend: Mend) -> Self {
        SyntaxFault { mend: Some(mend), ..self }
    }

    pub(crate) fn related(self, at: Span, label: &'static str) -> Self {
        SyntaxFault { related: Some((at, label)), ..self }
    }
}

/// The faults that left the structure of a document whole; beyond a limit they are only counted.
#[derive(Debug, Default)]
pub struct Faults {
    pub kept: Vec<SyntaxFault>,
    pub left_out: usize,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: impl FnOnce() -> SyntaxFault) {
        if self.kept.len() < limits::FAULTS {
            self.kept.push(fault());
        } else {
            self.left_out += 1;
        }
    }
}
