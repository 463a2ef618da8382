//! Syntax errors in expressions, and how to fix them.

use milepost_syntax::span::Span;

/// Why some source is not an expression: one cause at one position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The text that the message is about.
    pub span: Span,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to write instead, if the message does not include that.
    pub help: Option<String>,
    /// A replacement that certainly fixes this error and keeps the author's meaning.
    pub replace: Option<(Span, String)>,
}

impl SyntaxError {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> SyntaxError {
        SyntaxError { span, message: message.into(), help: None, replace: None }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> SyntaxError {
        SyntaxError { help: Some(help.into()), ..self }
    }

    pub(crate) fn replace(self, span: Span, text: impl Into<String>) -> SyntaxError {
        SyntaxError { replace: Some((span, text.into())), ..self }
    }

    /// Boxed, because errors are rare and unboxed results would use a lot of stack at every level
    /// of nesting.
    pub(super) fn fail<T>(self) -> Result<T, Box<SyntaxError>> {
        Err(Box::new(self))
    }

    /// The same error, with its spans moved to a template in which the expression starts at
    /// `offset`.
    pub(crate) fn shifted(mut self, offset: u32) -> SyntaxError {
        self.span = self.span.shifted(offset);
        self.replace = self.replace.map(|(span, text)| (span.shifted(offset), text));
        self
    }
}
