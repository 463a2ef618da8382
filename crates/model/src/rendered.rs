//! Texts that are the same in every answer about a step, made once.

use std::sync::Arc;

use serde_json::Value;

use crate::lazy::Lazy;

/// Texts of a step that depend on nothing but the step, each made when it is first needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rendered {
    step: Lazy<Arc<Fixed>>,
    prompt: Lazy<Option<Arc<Fixed>>>,
}

/// JSON that is the same in every answer, and the same again as the inside of a JSON string.
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
        let mut escaped = Value::from(json.as_str()).to_string();
        escaped.pop();
        escaped.remove(0);
        Fixed { json, escaped }
    }
}

impl Rendered {
    /// The step as it is shown.
    pub fn step(&self, make: impl FnOnce() -> String) -> &Arc<Fixed> {
        self.step.get_or_init(|| Arc::new(Fixed::new(make())))
    }

    /// What an agent is told, when nothing is filled in.
    pub fn prompt(&self, make: impl FnOnce() -> Option<String>) -> Option<&Arc<Fixed>> {
        self.prompt.get_or_init(|| make().map(|json| Arc::new(Fixed::new(json)))).as_ref()
    }
}
