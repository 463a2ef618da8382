//! The functions and methods that exist: one table for the parser, the evaluator and `infer`.

use std::ops::RangeInclusive;

use super::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Base64,
    Bool,
    Bytes,
    Coalesce,
    Contains,
    Double,
    Dyn,
    EndsWith,
    HasValue,
    Int,
    Json,
    Matches,
    Now,
    OptionalNone,
    OptionalOf,
    OptionalOfNonZero,
    Or,
    OrValue,
    ParseJson,
    Secret,
    Size,
    StartsWith,
    String,
    Type,
    UrlEncode,
    Value,
}

/// How a function may be written and what it yields.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) function: Function,
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// How many arguments it takes, the receiver of a method not counted.
    pub(super) args: RangeInclusive<usize>,
    pub(super) result: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `name(x)`
    Global,
    /// `x.name()`
    Method,
    /// `optional.name(x)`
    Optional,
}

const fn global(
    function: Function,
    name: &'static str,
    args: RangeInclusive<usize>,
    result: Kind,
) -> Signature {
    Signature { function, name, form: Form::Global, args, result }
}

const fn method(
    function: Function,
    name: &'static str,
    args: RangeInclusive<usize>,
    result: Kind,
) -> Signature {
    Signature { function, name, form: Form::Method, args, result }
}

const fn optional(
    function: Function,
    name: &'static str,
    args: RangeInclusive<usize>,
) -> Signature {
    Signature { function, name, form: Form::Optional, args, result: Kind::Unknown }
}

static SIGNATURES: &[Signature] = &[
    global(Function::Base64, "base64", 1..=1, Kind::String),
    global(Function::Bool, "bool", 1..=1, Kind::Bool),
    global(Function::Bytes, "bytes", 1..=1, Kind::Unknown),
    global(Function::Coalesce, "coalesce", 1..=64, Kind::Unknown),
    global(Function::Double, "double", 1..=1, Kind::Number),
    global(Function::Dyn, "dyn", 1..=1, Kind::Unknown),
    global(Function::Int, "int", 1..=1, Kind::Number),
    global(Function::Json, "json", 1..=1, Kind::String),
    global(Function::Matches, "matches", 2..=2, Kind::Bool),
    global(Function::Now, "now", 0..=0, Kind::String),
    global(Function::ParseJson, "parse_json", 1..=1, Kind::Unknown),
    global(Function::Secret, "secret", 1..=1, Kind::String),
    global(Function::Size, "size", 1..=1, Kind::Number),
    global(Function::String, "string", 1..=1, Kind::String),
    global(Function::Type, "type", 1..=1, Kind::Unknown),
    global(Function::UrlEncode, "url_encode", 1..=1, Kind::String),
    method(Function::Contains, "contains", 1..=1, Kind::Bool),
    method(Function::EndsWith, "endsWith", 1..=1, Kind::Bool),
    method(Function::HasValue, "hasValue", 0..=0, Kind::Bool),
    method(Function::Matches, "matches", 1..=1, Kind::Bool),
    method(Function::Or, "or", 1..=1, Kind::Unknown),
    method(Function::OrValue, "orValue", 1..=1, Kind::Unknown),
    method(Function::Size, "size", 0..=0, Kind::Number),
    method(Function::StartsWith, "startsWith", 1..=1, Kind::Bool),
    method(Function::Value, "value", 0..=0, Kind::Unknown),
    optional(Function::OptionalNone, "none", 0..=0),
    optional(Function::OptionalOf, "of", 1..=1),
    optional(Function::OptionalOfNonZero, "ofNonZeroValue", 1..=1),
];

/// The signature of a function by the name and form it is called with.
pub(super) fn find(name: &str, form: Form) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|known| known.form == form && known.name == name)
}

/// The names that can be called in this form.
pub(super) fn names(form: Form) -> impl Iterator<Item = &'static str> {
    SIGNATURES.iter().filter(move |known| known.form == form).map(|known| known.name)
}

impl Function {
    /// The name it is written with.
    pub(super) fn name(self) -> &'static str {
        self.signature().name
    }

    /// The kind of its result.
    pub(super) fn result(self) -> Kind {
        self.signature().result
    }

    fn signature(self) -> &'static Signature {
        SIGNATURES
            .iter()
            .find(|known| known.function == self)
            .expect("every function has a row in the table")
    }
}

#[cfg(test)]
mod tests {
    use super::SIGNATURES;

    #[test]
    fn every_function_is_on_the_page() {
        let page = include_str!("../../../../docs/expressions.md");
        for known in SIGNATURES {
            assert!(page.contains(&format!("{}(", known.name)), "{}", known.name);
        }
    }
}
