//! What the functions do.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milepost_syntax::span::Span;
use serde_json::Value as Json;

use super::EvalErrorKind;
use super::ast::Call;
use super::eval::{AN_OPTIONAL, Eval, Evaluator, error, wrong_argument};
use super::function::Function;
use super::limits::PATTERN_FUEL;
use super::value::{Text, Value};
use super::{number, parse_call};

/// Applies a function to its arguments, the receiver of a method first.
pub(super) fn apply<'v>(
    cx: &mut Evaluator<'v, '_>,
    call: &'v Call,
    args: &[Value<'v>],
    span: Span,
) -> Eval<Value<'v>> {
    let function = call.function;
    match (function, args) {
        (Function::Now, _) => match cx.scope.now() {
            Some(now) => Ok(Value::Str(Text::Borrowed(now))),
            None => error(span, EvalErrorKind::NoTime),
        },
        (Function::OptionalNone, _) => Ok(Value::Optional(None)),
        (Function::Matches, [text, pattern]) => matches(cx, call, text, pattern, span),
        (Function::Contains | Function::StartsWith | Function::EndsWith, [text, part]) => {
            search(cx, function, text, part, span)
        }
        (_, [value]) => apply_one(cx, function, value, span),
        _ => unreachable!("the parser checks how many arguments a function gets"),
    }
}

fn apply_one<'v>(
    cx: &mut Evaluator<'v, '_>,
    function: Function,
    value: &Value<'v>,
    span: Span,
) -> Eval<Value<'v>> {
    match (function, value) {
        (Function::Size, _) => size(cx, value, span),
        (Function::Dyn, value) => Ok(value.clone()),
        (Function::Type, value) => Ok(Value::Type(value.value_type())),
        (Function::Json, value) => {
            let json = cx.json(value, span)?;
            Ok(Value::text(json.to_string()))
        }
        (Function::ParseJson, Value::Str(text)) => parse_json(cx, text, span),
        (Function::Base64, Value::Str(text)) => {
            cx.spend_bytes(span, text.len())?;
            Ok(Value::text(STANDARD.encode(text.as_bytes())))
        }
        (Function::Base64, Value::Bytes(bytes)) => {
            cx.spend_bytes(span, bytes.len())?;
            Ok(Value::text(STANDARD.encode(bytes)))
        }
        (Function::UrlEncode, Value::Str(text)) => {
            cx.spend_bytes(span, 3 * text.len())?;
            Ok(Value::text(percent_encoded(text)))
        }
        (Function::Secret, Value::Str(name)) => match cx.scope.secret(name) {
            Some(sentinel) => Ok(Value::text(sentinel)),
            None => error(span, EvalErrorKind::NoSecret { name: name.to_string() }),
        },
        (Function::OptionalOfNonZero, value) if value.is_zero() => Ok(Value::Optional(None)),
        (Function::OptionalOf | Function::OptionalOfNonZero, value) => {
            Ok(Value::some(value.clone()))
        }
        (Function::HasValue, Value::Optional(inner)) => Ok(Value::Bool(inner.is_some())),
        (Function::Value, Value::Optional(inner)) => match inner {
            Some(inner) => Ok((**inner).clone()),
            None => error(span, EvalErrorKind::NoValue),
        },
        (function, value) => convert(cx, function, value, span),
    }
}

/// The conversions `int double string bool bytes`.
fn convert<'v>(
    cx: &mut Evaluator<'v, '_>,
    function: Function,
    value: &Value<'v>,
    span: Span,
) -> Eval<Value<'v>> {
    if let Value::Str(text) = value {
        cx.spend_bytes(span, text.len())?;
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
            cx.spend_bytes(span, bytes.len())?;
            String::from_utf8(bytes.to_vec()).ok().map(Value::text)
        }
        // The text is the one a template inserts for the same value.
        (Function::String, Value::Int(_) | Value::Big(_) | Value::Double(_) | Value::Bool(_)) => {
            let json = cx.json(value, span)?;
            Some(Value::text(json.to_string()))
        }
        (function, value) => return argument(function, value, span),
    };
    let from = value.value_type();
    let function = function.name();
    converted.map_or_else(|| error(span, EvalErrorKind::Conversion { function, from }), Ok)
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

fn size<'v>(cx: &mut Evaluator<'v, '_>, value: &Value<'v>, span: Span) -> Eval<Value<'v>> {
    let size = match value {
        Value::Str(text) => {
            cx.spend_bytes(span, text.len())?;
            text.chars().count()
        }
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        other => return argument(Function::Size, other, span),
    };
    i64::try_from(size).map(Value::Int).or_else(|_| error(span, EvalErrorKind::Overflow))
}

fn argument<T>(function: Function, value: &Value<'_>, span: Span) -> Eval<T> {
    wrong_argument(span, function.name(), expected(function), value)
}

fn search<'v>(
    cx: &mut Evaluator<'v, '_>,
    function: Function,
    text: &Value<'v>,
    part: &Value<'v>,
    span: Span,
) -> Eval<Value<'v>> {
    let Value::Str(text) = text else {
        return argument(function, text, span);
    };
    let Value::Str(part) = part else {
        return argument(function, part, span);
    };
    cx.spend_bytes(span, text.len() + part.len())?;
    Ok(Value::Bool(match function {
        Function::StartsWith => text.starts_with(&**part),
        Function::EndsWith => text.ends_with(&**part),
        _ => text.contains(&**part),
    }))
}

fn matches<'v>(
    cx: &mut Evaluator<'v, '_>,
    call: &'v Call,
    text: &Value<'v>,
    pattern: &Value<'v>,
    span: Span,
) -> Eval<Value<'v>> {
    let Value::Str(text) = text else {
        return argument(Function::Matches, text, span);
    };
    let Value::Str(pattern) = pattern else {
        return argument(Function::Matches, pattern, span);
    };
    // A pattern looks at each byte several times.
    cx.spend_bytes(span, 8 * text.len())?;
    if let Some(compiled) = &call.pattern {
        return Ok(Value::Bool(compiled.is_match(text)));
    }
    cx.spend(span, PATTERN_FUEL + pattern.len() as u64)?;
    match parse_call::compile_pattern(pattern) {
        Ok(compiled) => Ok(Value::Bool(compiled.is_match(text))),
        Err(reason) => error(span, EvalErrorKind::BadPattern { reason }),
    }
}

fn parse_json<'v>(cx: &mut Evaluator<'v, '_>, text: &str, span: Span) -> Eval<Value<'v>> {
    // A value of JSON takes far more room than its text.
    cx.spend_bytes(span, 8 * text.len())?;
    match serde_json::from_str::<Json>(text) {
        Ok(json) => Ok(Value::of_owned_json(json)),
        Err(found) => {
            let (line, column) = (found.line(), found.column());
            error(span, EvalErrorKind::BadJson { line, column })
        }
    }
}

/// Text with everything but the unreserved characters of RFC 3986 percent-encoded.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => write!(out, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    out
}
