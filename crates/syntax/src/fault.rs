//! Faults in a document, each with its position and, if it is certain, a fix.

use crate::limits;
use crate::mend::Mend;
use crate::span::Span;
use crate::tree::SyntaxKind;

pub(crate) type SyntaxResult<T> = Result<T, Box<SyntaxFault>>;

/// A syntax error, a duplicate key, or a number that a tree cannot represent.
#[derive(Debug, Clone, Default)]
pub struct SyntaxFault {
    pub at: Span,
    pub rule: SyntaxRule,
    pub message: String,
    pub expected: Option<String>,
    pub suggestion: Option<String>,
    pub mend: Option<Mend>,
    /// A related position, with a label.
    pub related: Option<(Span, &'static str)>,
    /// The line and column, for a document that could not be decoded.
    pub position: Option<(u32, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyntaxRule {
    /// The document is not JSON or YAML, or uses a feature that is not supported.
    #[default]
    Syntax,
    /// A number that has too many digits or is not finite.
    Number,
    DuplicateKey,
}

impl SyntaxFault {
    /// Boxed, because a fault is large and most results do not contain one.
    pub(crate) fn new(at: Span, message: impl Into<String>) -> Box<SyntaxFault> {
        Box::new(SyntaxFault { at, message: message.into(), ..SyntaxFault::default() })
    }

    pub(crate) fn rule(self: Box<Self>, rule: SyntaxRule) -> Box<Self> {
        Box::new(SyntaxFault { rule, ..*self })
    }

    pub(crate) fn expected(self: Box<Self>, expected: impl Into<String>) -> Box<Self> {
        Box::new(SyntaxFault { expected: Some(expected.into()), ..*self })
    }

    pub(crate) fn suggest(self: Box<Self>, suggestion: impl Into<String>) -> Box<Self> {
        Box::new(SyntaxFault { suggestion: Some(suggestion.into()), ..*self })
    }

    pub(crate) fn mend(self: Box<Self>, mend: impl Into<Option<Mend>>) -> Box<Self> {
        Box::new(SyntaxFault { mend: mend.into(), ..*self })
    }

    /// Sets a fix that replaces a range of the source.
    pub(crate) fn edit(self: Box<Self>, at: Span, text: impl Into<String>) -> Box<Self> {
        self.mend(Mend::Edit { at, text: text.into() })
    }

    pub(crate) fn related(self: Box<Self>, at: Span, label: &'static str) -> Box<Self> {
        Box::new(SyntaxFault { related: Some((at, label)), ..*self })
    }
}

/// Faults that leave the structure of a document intact; beyond a limit they are only counted.
#[derive(Debug, Default)]
pub struct Faults {
    pub kept: Vec<SyntaxFault>,
    pub left_out: usize,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: impl FnOnce() -> Box<SyntaxFault>) {
        if self.kept.len() < limits::FAULTS {
            self.kept.push(*fault());
        } else {
            self.left_out += 1;
        }
    }

    /// Reports a number that cannot be represented and replaces it with a placeholder node.
    pub(crate) fn past_number(
        &mut self,
        read: SyntaxResult<SyntaxKind>,
    ) -> SyntaxResult<SyntaxKind> {
        match read {
            Err(fault) if fault.rule == SyntaxRule::Number => {
                self.add(|| fault);
                Ok(SyntaxKind::Bad)
            }
            read => read,
        }
    }
}
