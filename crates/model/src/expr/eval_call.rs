//! Implements the functions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milepost_syntax::span::Span;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;

use super::EvalErrorKind;
use super::ast::Call;
use super::eval::{AN_OPTIONAL, Eval, Evaluator, Valued, error, wrong_argument};
use super::function::Function;
use super::limits::PATTERN_FUEL;
use super::value::{Text, Value};
use super::{number, parse_call};

impl<'v> Evaluator<'v, '_> {
    /// Applies a function to its arguments; the receiver of a method comes first.
    pub(super) fn apply(&mut self, call: &'v Call, args: &[Value<'v>], span: Span) -> Valued<'v> {
        let function = call.function;
        match (function, args) {
            (Function::Now, _) => match self.scope.now() {
                Some(now) => Ok(Value::Str(Text::Borrowed(now))),
                None => error(span, EvalErrorKind::NoTime),
            },
            (Function::OptionalNone, _) => Ok(Value::Optional(None)),
            (_, [value]) => self.apply_one(function, value, span),
            (_, [text, part]) => {
                let (text, part) = (text_of(function, text, span)?, text_of(function, part, span)?);
                self.search(call, text, part, span).map(Value::Bool)
            }
            _ => unreachable!("the parser checks how many arguments a function gets"),
        }
    }

    fn apply_one(&mut self, function: Function, value: &Value<'v>, span: Span) -> Valued<'v> {
        match (function, value) {
            (Function::Size, _) => self.size(value, span),
            (Function::Dyn, value) => Ok(value.clone()),
            (Function::Type, value) => Ok(Value::Type(value.value_type())),
            (Function::Json, value) => {
                let json = self.json(value, span)?;
                Ok(Value::text(json.to_string()))
            }
            (Function::ParseJson, Value::Str(text)) => self.parse_json(text, span),
            (Function::Base64, Value::Str(text)) => {
                self.spend_bytes(span, text.len())?;
                Ok(Value::text(STANDARD.encode(text.as_bytes())))
            }
            (Function::Base64, Value::Bytes(bytes)) => {
                self.spend_bytes(span, bytes.len())?;
                Ok(Value::text(STANDARD.encode(bytes)))
            }
            (Function::UrlEncode, Value::Str(text)) => {
                self.spend_bytes(span, 3 * text.len())?;
                Ok(Value::text(utf8_percent_encode(text, RESERVED).to_string()))
            }
            (Function::Secret, Value::Str(name)) => match self.scope.secret(name) {
                Some(sentinel) => Ok(Value::text(sentinel)),
                None => error(span, EvalErrorKind::NoSecret { name: name.to_string() }),
            },
            (Function::OfNonZero, value) if value.is_zero() => Ok(Value::Optional(None)),
            (Function::OptionalOf | Function::OfNonZero, value) => Ok(Value::some(value.clone())),
            (Function::HasValue, Value::Optional(inner)) => Ok(Value::Bool(inner.is_some())),
            (Function::Value, Value::Optional(inner)) => match inner {
                Some(inner) => Ok((**inner).clone()),
                None => error(span, EvalErrorKind::NoValue),
            },
            (function, value) => self.convert(function, value, span),
        }
    }

    /// The conversions `int double string bool bytes`.
    fn convert(&mut self, function: Function, value: &Value<'v>, span: Span) -> Valued<'v> {
        if let Value::Str(text) = value {
            self.spend_bytes(span, text.len())?;
        }
        let converted = match (function, value) {
            (Function::Int, Value::Int(_))
            | (Function::Double, Value::Double(_))
            | (Function::String, Value::Str(_))
            | (Function::Bool, Value::Bool(_))
            | (Function::Bytes, Value::Bytes(_)) => Some(value.clone()),
            (Function::Int | Function::Double, Value::Big(_)) => {
                return error(span, EvalErrorKind::BeyondInteger);
            }
            (Function::Int, Value::Double(value)) => number::truncated(*value).map(Value::Int),
            (Function::Int, Value::Str(text)) => text.parse().ok().map(Value::Int),
            (Function::Double, Value::Int(value)) => Some(Value::Double(number::to_double(*value))),
            (Function::Double, Value::Str(text)) => {
                text.parse().ok().and_then(|value| number::finite(value).ok())
            }
            (Function::Bool, Value::Str(text)) => boolean(text).map(Value::Bool),
            (Function::Bytes, Value::Str(text)) => Some(Value::Bytes(text.as_bytes().into())),
            (Function::String, Value::Bytes(bytes)) => {
                self.spend_bytes(span, bytes.len())?;
                String::from_utf8(bytes.to_vec()).ok().map(Value::text)
            }
            // A template inserts the same text for this value.
            (
                Function::String,
                Value::Int(_) | Value::Big(_) | Value::Double(_) | Value::Bool(_),
            ) => {
                let json = self.json(value, span)?;
                Some(Value::text(json.to_string()))
            }
            (function, value) => return argument(function, value, span),
        };
        let from = value.value_type();
        let function = function.name();
        converted.map_or_else(|| error(span, EvalErrorKind::Conversion { function, from }), Ok)
    }

    fn size(&mut self, value: &Value<'v>, span: Span) -> Valued<'v> {
        let size = match value {
            Value::Str(text) => {
                self.spend_bytes(span, text.len())?;
                text.chars().count()
            }
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            other => return argument(Function::Size, other, span),
        };
        i64::try_from(size).map(Value::Int).or_else(|_| error(span, EvalErrorKind::Overflow))
    }

    /// Searches a string for a substring or a pattern.
    fn search(&mut self, call: &Call, text: &str, part: &str, span: Span) -> Eval<bool> {
        if call.function != Function::Matches {
            self.spend_bytes(span, text.len() + part.len())?;
            return Ok(match call.function {
                Function::StartsWith => text.starts_with(part),
                Function::EndsWith => text.ends_with(part),
                _ => text.contains(part),
            });
        }
        // Matching a pattern may visit each byte several times.
        self.spend_bytes(span, 8 * text.len())?;
        if let Some(compiled) = &call.pattern {
            return Ok(compiled.is_match(text));
        }
        self.spend(span, PATTERN_FUEL + part.len() as u64)?;
        match parse_call::compile_pattern(part) {
            Ok(compiled) => Ok(compiled.is_match(text)),
            Err(reason) => error(span, EvalErrorKind::BadPattern { reason }),
        }
    }

    fn parse_json(&mut self, text: &str, span: Span) -> Valued<'v> {
        // A parsed JSON value uses far more memory than its text.
        self.spend_bytes(span, 8 * text.len())?;
        match serde_json::from_str::<Json>(text) {
            Ok(json) => Ok(Value::of_owned_json(json)),
            Err(found) => {
                let (line, column) = (found.line(), found.column());
                error(span, EvalErrorKind::BadJson { line, column })
            }
        }
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn expected(function: Function) -> &'static str {
    match function {
        Function::Int | Function::Double => "a number or a string",
        Function::Bool => "a boolean or a string",
        Function::Bytes | Function::Base64 => "a string or bytes",
        Function::String => "a number, a boolean, a string or bytes (`json(x)` takes anything)",
        Function::Size => "a string, a list, an object or bytes",
        Function::HasValue | Function::Value => AN_OPTIONAL,
        _ => "a string",
    }
}

fn argument<T>(function: Function, value: &Value<'_>, span: Span) -> Eval<T> {
    wrong_argument(span, function.name(), expected(function), value)
}

fn text_of<'t>(function: Function, value: &'t Value<'_>, span: Span) -> Eval<&'t str> {
    let Value::Str(text) = value else { return argument(function, value, span) };
    Ok(text)
}

/// Everything but the unreserved characters of RFC 3986 is percent-encoded.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
