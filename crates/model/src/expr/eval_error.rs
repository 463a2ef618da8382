//! Why an expression has no value.
//!
//! Errors are shown to people, and an expression may read secrets, so errors name fields and types
//! but never values.

use milepost_syntax::span::Span;

use super::{Names, ValueType};

/// An evaluation error and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct EvalError {
    /// The part of the source that failed.
    pub span: Span,
    pub kind: EvalErrorKind,
}

/// Why an expression has no value. `of` is the source of the value that was read; lines and columns
/// start at 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalErrorKind {
    /// The scope has no such root name.
    #[error("unknown name `{name}`{}; available: {names}", names.suggestion())]
    UnknownName { name: String, names: Names },
    /// The object has no such key.
    #[error("`{of}` has no `{key}`{}: it has {names}", names.suggestion())]
    MissingKey { of: String, key: String, names: Names },
    /// The list has no such index.
    #[error("`{of}` has no element {index}: it has {}", elements(*index, *length))]
    OutOfRange { of: String, index: i64, length: usize },
    /// A field of a value that is not an object.
    #[error("`{of}` is {found} and has no `{field}`{}", field_help(of, *found, field))]
    NoFields { of: String, found: ValueType, field: String },
    /// An index into a value without elements.
    #[error("`{of}` is {found} and cannot be indexed")]
    NotIndexable { of: String, found: ValueType },
    /// An index of the wrong type.
    #[error("{of} cannot be indexed by {found}")]
    BadIndex { of: ValueType, found: ValueType },
    /// A binary operator that does not support the types of its operands.
    #[error("`{op}` does not work on {left} and {right}{}", operands_help(op, *left, *right))]
    Operands { op: &'static str, left: ValueType, right: ValueType },
    /// A unary operator that does not support the type of its operand.
    #[error("`{op}` does not work on {found}")]
    Operand { op: &'static str, found: ValueType },
    /// A condition that is not a boolean.
    #[error(
        "a condition must be true or false, but this is {found}: compare it, as in `{}`",
        comparison(*found)
    )]
    NotBoolean { found: ValueType },
    /// An argument of the wrong type.
    #[error("`{function}` takes {expected}, but this is {found}{}", argument_help(*found))]
    Argument { function: &'static str, expected: &'static str, found: ValueType },
    /// A value that cannot be converted to the requested type.
    #[error("`{function}` cannot convert {from} like this")]
    Conversion { function: &'static str, from: ValueType },
    /// Arithmetic on an integer in the data that does not fit into a signed 64-bit integer.
    #[error(
        "this number does not fit into a 64-bit integer: it can only be passed on and compared"
    )]
    BeyondInteger,
    /// An integer result out of range.
    #[error("the result does not fit into a 64-bit integer")]
    Overflow,
    /// A floating-point result that JSON cannot represent.
    #[error("the result is not a finite number")]
    NotFinite,
    #[error("division by zero")]
    DivisionByZero,
    /// The remainder of numbers that are not integers.
    #[error("`%` needs two integers: convert them with `int(…)`")]
    FractionalRemainder,
    /// `value()` on an empty optional.
    #[error("the optional has no value: use `orValue(…)` to provide one")]
    NoValue,
    /// A map literal with the same key twice.
    #[error("this map has the same key twice")]
    DuplicateKey,
    /// A map literal with a key of a type that keys cannot have.
    #[error("a key must be a string, an integer or a boolean, but this is {found}")]
    BadKey { found: ValueType },
    /// An invalid pattern.
    #[error("the pattern is not valid: {reason}")]
    BadPattern { reason: String },
    /// A string that is not JSON.
    #[error("the text is not valid JSON: error at line {line}, column {column}")]
    BadJson { line: usize, column: usize },
    /// A value that JSON cannot represent.
    #[error("{found} cannot be converted to JSON{}", json_help(*found))]
    NotJson { found: ValueType },
    /// An empty optional in the middle of a template.
    #[error("there is no value to insert: use `orValue('')` to provide one")]
    NoText,
    /// `now()` in a context without a time.
    #[error("`now()` is not available here")]
    NoTime,
    /// A secret that does not exist.
    #[error("there is no secret `{name}` here")]
    NoSecret { name: String },
    /// A secret in a place where its sentinel would be split or changed.
    #[error("`secret()` must be used alone or joined with `+`")]
    SecretPlace,
    /// The evaluation ran out of fuel.
    #[error("the expression is too expensive")]
    TooExpensive,
    /// The result is too large.
    #[error("the result is larger than {} bytes", super::limits::RESULT_BYTES_MAX)]
    TooLarge,
    /// The result nests deeper than JSON parsers accept.
    #[error("the value nests deeper than {} levels", super::limits::RESULT_DEPTH_MAX)]
    TooDeep,
}

impl EvalErrorKind {
    /// Whether the error means that something is missing. `coalesce()` ignores such errors.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::UnknownName { .. } | Self::MissingKey { .. } | Self::OutOfRange { .. } => true,
            Self::NoFields { found, .. } | Self::NotIndexable { found, .. } => {
                *found == ValueType::Null
            }
            _ => false,
        }
    }

    /// Whether a limit on the whole evaluation was exceeded. No operator may absorb such an error.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::TooExpensive | Self::TooLarge | Self::TooDeep)
    }
}

fn elements(index: i64, length: usize) -> String {
    let from_end = if index < 0 { ", and indexes start at 0" } else { "" };
    match length {
        0 => "none".to_owned(),
        _ => format!("{}{from_end}", crate::suggest::count(length, "element")),
    }
}

fn field_help(of: &str, found: ValueType, field: &str) -> String {
    match (found, field) {
        (ValueType::List | ValueType::String, "length" | "size" | "count") => {
            format!(": write `size({of})`")
        }
        (ValueType::List, _) => format!(": read one element as `{of}[0]`, or each with `map`"),
        (ValueType::String, _) => ": if it contains JSON, parse it with `parse_json`".to_owned(),
        (ValueType::Null, _) => ": use `.?` to read a field of a value that may be null".to_owned(),
        _ => String::new(),
    }
}

fn operands_help(op: &str, left: ValueType, right: ValueType) -> &'static str {
    let number = |side| matches!(side, ValueType::Int | ValueType::Double);
    let either = |wanted| left == wanted || right == wanted;
    if op == "in" && right == ValueType::String {
        ": write `text.contains(part)`"
    } else if either(ValueType::Optional) {
        ": get the value of the optional with `orValue(…)`"
    } else if op == "+" && either(ValueType::String) {
        ": convert the other operand with `string(…)`"
    } else if op != "in" && either(ValueType::String) && (number(left) || number(right)) {
        ": convert the string with `int(…)` or `double(…)`"
    } else {
        ""
    }
}

fn argument_help(found: ValueType) -> &'static str {
    match found {
        ValueType::Optional => ": get its value with `orValue(…)`",
        ValueType::Null => ": `coalesce(x, other)` replaces null",
        _ => "",
    }
}

fn comparison(found: ValueType) -> &'static str {
    match found {
        ValueType::String => "x != ''",
        ValueType::Int | ValueType::Double => "x > 0",
        ValueType::List | ValueType::Map => "size(x) > 0",
        ValueType::Optional => "x.hasValue()",
        _ => "x != null",
    }
}

fn json_help(found: ValueType) -> &'static str {
    match found {
        ValueType::Bytes => ": write `base64(…)`",
        ValueType::Optional => {
            ": write `[?x]` or `{?'key': x}` to leave it out when it has no value"
        }
        _ => "",
    }
}
