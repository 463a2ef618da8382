//! Text with expressions in it: `Order ${{ steps.lookup.output.number }}`.
//!
//! A template is parsed once. The values of its expressions are inserted and never parsed again, so
//! a value that happens to contain `${{ … }}` stays plain text.

use milepost_syntax::span::Span;
use serde_json::Value as Json;

use crate::expr::limits::RESULT_BYTES_MAX;
use crate::expr::{
    EvalError, EvalErrorKind, Expr, Fuel, Outcome, Scope, SyntaxError, closing_braces,
};

const OPEN: &str = "${{";
const CLOSE: &str = "}}";

/// Text that may contain expressions. If it consists of a single expression, the JSON type of the
/// value is kept; otherwise the values of expressions are inserted as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Text and expressions in order; empty for an empty template.
    pub parts: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Literal text.
    Text(String),
    /// An expression whose value is inserted.
    Expr(Placed),
}

/// An expression and its position in the template's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub expr: Expr,
    /// The byte offset of its source in the text.
    pub offset: u32,
}

/// Braces that lack the `$` and therefore insert nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareBrace {
    /// The braces and their content; inserting a `$` at the start fixes them.
    pub span: Span,
    /// The content of the braces, trimmed.
    pub inner: String,
}

impl Template {
    /// Parses a template. All its expressions are parsed before errors are returned.
    pub fn parse(text: &str) -> Result<Template, Vec<SyntaxError>> {
        let mut parts = Vec::new();
        let mut errors = Vec::new();
        for piece in (Pieces { text, at: 0 }) {
            match piece {
                Piece::Text(span) => parts.push(TemplatePart::Text(text[span.range()].to_owned())),
                Piece::Expr(span) => match placed(text, span) {
                    Ok(placed) => parts.push(TemplatePart::Expr(placed)),
                    Err(error) => errors.push(error),
                },
                Piece::Unclosed(span) => errors.push(unclosed(text, span)),
            }
        }
        if errors.is_empty() { Ok(Template { parts }) } else { Err(errors) }
    }

    /// The expression, if the text consists of nothing else.
    pub fn sole(&self) -> Option<&Placed> {
        match self.parts.as_slice() {
            [TemplatePart::Expr(placed)] => Some(placed),
            _ => None,
        }
    }

    /// The text, if it contains no expressions.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The expressions, each with the byte offset of its source in the text.
    ///
    /// Spans reported by an expression are relative to its own source, so the offset must be added.
    pub fn exprs(&self) -> impl Iterator<Item = (&Expr, u32)> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Text(_) => None,
            TemplatePart::Expr(placed) => Some((&placed.expr, placed.offset)),
        })
    }

    /// Evaluates the expressions in the text; the spans of errors are relative to the text.
    pub fn render(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Result<Outcome, EvalError> {
        if let Some(placed) = self.sole() {
            return placed.eval(scope, fuel);
        }
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => out.push_str(text),
                TemplatePart::Expr(placed) => placed.insert(&mut out, scope, fuel)?,
            }
        }
        Ok(Outcome::Value(Json::String(out)))
    }
}

impl Placed {
    /// The span of the expression's source in the text, for errors about the whole expression.
    fn span(&self) -> Span {
        Span::new(0, self.expr.source().len()).shifted(self.offset)
    }

    fn eval(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Result<Outcome, EvalError> {
        self.expr.eval(scope, fuel).map_err(|mut error| {
            error.span = error.span.shifted(self.offset);
            error
        })
    }

    fn insert(
        &self,
        out: &mut String,
        scope: &dyn Scope,
        fuel: &mut Fuel,
    ) -> Result<(), EvalError> {
        match self.eval(scope, fuel)? {
            Outcome::Value(Json::String(text)) => out.push_str(&text),
            Outcome::Value(json) => out.push_str(&json.to_string()),
            Outcome::Omit => {
                return Err(EvalError { span: self.span(), kind: EvalErrorKind::NoText });
            }
        }
        if out.len() > RESULT_BYTES_MAX {
            return Err(EvalError { span: self.span(), kind: EvalErrorKind::TooLarge });
        }
        Ok(())
    }
}

/// Finds `{{ name }}` in templates, in which only `${{ name }}` inserts a value.
pub fn bare_braces(text: &str) -> Vec<BareBrace> {
    let mut found = Vec::new();
    for piece in (Pieces { text, at: 0 }) {
        let Piece::Text(span) = piece else { continue };
        let end = span.end as usize;
        let mut at = span.start as usize;
        while let Some(open) = text[at..end].find("{{").map(|open| at + open) {
            let Some(close) = text[open..end].find(CLOSE).map(|close| open + close) else {
                break;
            };
            let inner = text[open + 2..close].trim();
            // Anything else is unlikely to be a Mustache or Jinja placeholder.
            if inner.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
                let span = Span::new(open, close + CLOSE.len());
                found.push(BareBrace { span, inner: inner.to_owned() });
                at = close + CLOSE.len();
            } else {
                at = open + 2;
            }
        }
    }
    found
}

fn unclosed(text: &str, open: Span) -> SyntaxError {
    let error = SyntaxError::new(open, "`${{` is never closed: `}}` is missing");
    if text[open.range().end..].contains(CLOSE) {
        return error.help("the `}}` after it is inside a comment, a string or an unclosed map");
    }
    error.help("to write the characters literally, use `${{ '${{' }}`")
}

fn placed(text: &str, span: Span) -> Result<Placed, SyntaxError> {
    let raw = &text[span.range()];
    let source = raw.trim();
    let blank = if source.is_empty() { 0 } else { raw.len() - raw.trim_start().len() };
    let offset = span.start + blank as u32;
    let expr = Expr::parse(source).map_err(|error| error.shifted(offset))?;
    Ok(Placed { expr, offset })
}

/// A piece of a template's text, which is split at its braces.
enum Piece {
    Text(Span),
    /// The content of the braces.
    Expr(Span),
    /// Opening braces that are not closed.
    Unclosed(Span),
}

struct Pieces<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start = self.at;
        let rest = &self.text[start..];
        if rest.is_empty() {
            return None;
        }
        let Some(inner) = rest.strip_prefix(OPEN) else {
            self.at = rest.find(OPEN).map_or(self.text.len(), |open| start + open);
            return Some(Piece::Text(Span::new(start, self.at)));
        };
        let inner_start = self.text.len() - inner.len();
        if let Some(close) = closing_braces(self.text, inner_start) {
            self.at = close + CLOSE.len();
            Some(Piece::Expr(Span::new(inner_start, close)))
        } else {
            self.at = self.text.len();
            Some(Piece::Unclosed(Span::new(start, inner_start)))
        }
    }
}
