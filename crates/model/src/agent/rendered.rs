//! The constant parts of responses about a step, rendered once.

use std::sync::Arc;

use milepost_syntax::escape::escape;

use crate::lazy::Lazy;
use crate::placeholders::{self, TextPiece};

/// Output that depends only on the step, each part rendered on first use.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered {
    step: Lazy<Arc<Fixed>>,
    prompt: Lazy<Vec<TextPiece<Arc<Fixed>>>>,
}

/// JSON, or a fragment of it, that is the same in every response, together with its escaped form
/// for use inside a JSON string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    pub json: String,
    /// The JSON, escaped.
    pub escaped: String,
}

impl Fixed {
    /// Escapes the JSON once, for use in every response.
    pub fn new(json: String) -> Fixed {
        let escaped = escaped(&json);
        Fixed { json, escaped }
    }
}

impl Rendered {
    /// The step as shown to the caller.
    pub fn step(&self, make: impl FnOnce() -> String) -> &Arc<Fixed> {
        self.step.get_or_init(|| Arc::new(Fixed::new(make())))
    }

    /// The prompt as the inside of a JSON string, split where variables are filled in.
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
