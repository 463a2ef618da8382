//! Placeholders in prompts: `{{name}}`, `{{a.b}}` and `{{n + 1}}`. Finding them is separate from
//! filling them in, so that a frequently used prompt is searched only once.

use serde_json::Value;

use crate::condition::Variables;
use crate::limits;

/// A piece of a prompt: literal text or a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPiece<T> {
    /// Text that is kept as it is.
    Text(T),
    /// A placeholder to fill in.
    Placeholder(Placeholder),
}

/// A variable and an optional number to add to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// The variable's path in the context.
    pub path: String,
    plus: i64,
}

/// A placeholder's variable is not in the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsetVariable;

/// Splits text at its placeholders. Anything that is not a valid placeholder is left as written,
/// because prompts may quote templates written for other systems.
pub fn split(text: &str) -> Vec<TextPiece<String>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let Some(after) = rest[start..].strip_prefix("{{") else {
            plain.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        };
        plain.push_str(&rest[..start]);
        let near = after
            .char_indices()
            .nth(limits::REFERENCE_CHARS)
            .map_or(after, |(end, _)| &after[..end]);
        let placeholder =
            near.find("}}").and_then(|end| Some((Placeholder::of(&near[..end])?, end)));
        if let Some((placeholder, end)) = placeholder {
            if !plain.is_empty() {
                pieces.push(TextPiece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(TextPiece::Placeholder(placeholder));
            rest = &after[end + 2..];
        } else {
            plain.push_str("{{");
            rest = after;
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(TextPiece::Text(plain));
    }
    pieces
}

impl Placeholder {
    fn of(text: &str) -> Option<Placeholder> {
        let text = text.trim();
        let (path, plus) = match text.split_once(['+', '-']) {
            // A hyphen without spaces around it is part of a name.
            Some((path, number)) if path.ends_with(' ') || text.contains('+') => {
                let number: i64 = number.trim().parse().ok().filter(|number| *number >= 0)?;
                let minus = text.as_bytes().get(path.len()) == Some(&b'-');
                (path.trim_end(), if minus { -number } else { number })
            }
            _ => (text, 0),
        };
        let is_name = |part: &str| {
            let rest = part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
            rest && !part.is_empty()
        };
        path.split('.').all(is_name).then(|| Placeholder { path: path.to_owned(), plus })
    }

    /// Appends the variable's value plus the placeholder's number.
    pub(crate) fn write(
        &self,
        context: &dyn Variables,
        text: &mut String,
    ) -> Result<(), UnsetVariable> {
        let value = context.get(&self.path).ok_or(UnsetVariable)?;
        match (value, self.plus) {
            (Value::String(own), 0) => text.push_str(own),
            (value, 0) => text.push_str(&value.to_string()),
            (value, plus) => {
                // If the sum cannot be computed, it is shown as written, with the value filled in.
                let sign = if plus < 0 { '-' } else { '+' };
                let written = || format!("{value} {sign} {}", plus.unsigned_abs());
                text.push_str(&sum(value, plus).map_or_else(written, |sum| sum.to_string()));
            }
        }
        Ok(())
    }
}

/// Adds to a number, or to a string that contains a number.
fn sum(value: &Value, plus: i64) -> Option<Value> {
    let text = value.as_str().map(str::trim);
    let whole = value.as_i64().or_else(|| text?.parse().ok());
    if let Some(whole) = whole {
        return whole.checked_add(plus).map(Value::from);
    }
    let number: f64 = value.as_f64().or_else(|| text?.parse().ok())?;
    #[expect(clippy::cast_precision_loss, reason = "the numbers that prompts add are small")]
    let sum = number + plus as f64;
    serde_json::Number::from_f64(sum).map(Value::Number)
}
