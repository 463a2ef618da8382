//! The functions and methods of the language: one table for the parser, the evaluator and `infer`.

use std::ops::RangeInclusive;

use super::InferredKind as Kind;

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
    OfNonZero,
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

/// How a function is called and what it returns.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) function: Function,
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// The number of arguments, not counting a method's receiver.
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

impl Signature {
    const fn new(
        form: Form,
        function: Function,
        name: &'static str,
        args: RangeInclusive<usize>,
        result: Kind,
    ) -> Signature {
        Signature { function, name, form, args, result }
    }
}

static SIGNATURES: &[Signature] = &[
    Signature::new(Form::Global, Function::Base64, "base64", 1..=1, Kind::String),
    Signature::new(Form::Global, Function::Bool, "bool", 1..=1, Kind::Bool),
    Signature::new(Form::Global, Function::Bytes, "bytes", 1..=1, Kind::Unknown),
    Signature::new(Form::Global, Function::Coalesce, "coalesce", 1..=64, Kind::Unknown),
    Signature::new(Form::Global, Function::Double, "double", 1..=1, Kind::Number),
    Signature::new(Form::Global, Function::Dyn, "dyn", 1..=1, Kind::Unknown),
    Signature::new(Form::Global, Function::Int, "int", 1..=1, Kind::Number),
    Signature::new(Form::Global, Function::Json, "json", 1..=1, Kind::String),
    Signature::new(Form::Global, Function::Matches, "matches", 2..=2, Kind::Bool),
    Signature::new(Form::Global, Function::Now, "now", 0..=0, Kind::String),
    Signature::new(Form::Global, Function::ParseJson, "parse_json", 1..=1, Kind::Unknown),
    Signature::new(Form::Global, Function::Secret, "secret", 1..=1, Kind::String),
    Signature::new(Form::Global, Function::Size, "size", 1..=1, Kind::Number),
    Signature::new(Form::Global, Function::String, "string", 1..=1, Kind::String),
    Signature::new(Form::Global, Function::Type, "type", 1..=1, Kind::Unknown),
    Signature::new(Form::Global, Function::UrlEncode, "url_encode", 1..=1, Kind::String),
    Signature::new(Form::Method, Function::Contains, "contains", 1..=1, Kind::Bool),
    Signature::new(Form::Method, Function::EndsWith, "endsWith", 1..=1, Kind::Bool),
    Signature::new(Form::Method, Function::HasValue, "hasValue", 0..=0, Kind::Bool),
    Signature::new(Form::Method, Function::Matches, "matches", 1..=1, Kind::Bool),
    Signature::new(Form::Method, Function::Or, "or", 1..=1, Kind::Unknown),
    Signature::new(Form::Method, Function::OrValue, "orValue", 1..=1, Kind::Unknown),
    Signature::new(Form::Method, Function::Size, "size", 0..=0, Kind::Number),
    Signature::new(Form::Method, Function::StartsWith, "startsWith", 1..=1, Kind::Bool),
    Signature::new(Form::Method, Function::Value, "value", 0..=0, Kind::Unknown),
    Signature::new(Form::Optional, Function::OptionalNone, "none", 0..=0, Kind::Unknown),
    Signature::new(Form::Optional, Function::OptionalOf, "of", 1..=1, Kind::Unknown),
    Signature::new(Form::Optional, Function::OfNonZero, "ofNonZeroValue", 1..=1, Kind::Unknown),
];

/// Looks up a signature by name and call form.
pub(super) fn find(name: &str, form: Form) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|known| known.form == form && known.name == name)
}

/// The names that can be called in this form.
pub(super) fn names(form: Form) -> impl Iterator<Item = &'static str> {
    SIGNATURES.iter().filter(move |known| known.form == form).map(|known| known.name)
}

impl Function {
    /// The name of the function in expressions.
    pub(super) fn name(self) -> &'static str {
        self.signature().name
    }

    /// The kind of the result.
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
