//! Texts that are the same in every answer about a step, made once.

use std::sync::Arc;

use milepost_syntax::escape::escape;

use crate::lazy::Lazy;
use crate::placeholders::{self, TextPiece};

/// Texts of a step that depend on nothing but the step, each made when it is first needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered {
    step: Lazy<Arc<Fixed>>,
    prompt: Lazy<Vec<TextPiece<Arc<Fixed>>>>,
}

/// JSON, or a part of some, that is the same in every answer, and the same again as the inside of a
/// JSON string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// The JSON.
    pub json: String,
    /// Its text, escaped.
    pub escaped: String,
}

impl Fixed {
    /// Escapes JSON once for all answers.
    pub fn new(json: String) -> Fixed {
        let escaped = escaped(&json);
        Fixed { json, escaped }
    }
}

impl Rendered {
    /// The step as it is shown.
    pub fn step(&self, make: impl FnOnce() -> String) -> &Arc<Fixed> {
        self.step.get_or_init(|| Arc::new(Fixed::new(make())))
    }

    /// The inside of the literal that an agent is told, cut where variables are filled in.
    pub fn prompt(&self, make: impl FnOnce() -> String) -> &[TextPiece<Arc<Fixed>>] {
        self.prompt.get_or_init(|| {
            let fixed = |piece: TextPiece<String>| match piece {
                TextPiece::Text(text) => TextPiece::Text(Arc::new(Fixed::new(escaped(&text)))),
                TextPiece::Placeholder(placeholder) => TextPiece::Placeholder(placeholder),
            };
            placeholders::split(&make()).into_iter().map(fixed).collect()
        })
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    escape(text, |part| escaped.push_str(part));
    escaped
}
