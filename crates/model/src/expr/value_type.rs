//! The types of the language.

use std::fmt;

/// The type of a value, as `type(x)` yields it and as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `true` or `false`.
    Bool,
    /// A string of bytes, which JSON has not.
    Bytes,
    /// A floating-point number.
    Double,
    /// An integer.
    Int,
    /// A list.
    List,
    /// An object.
    Map,
    /// `null`.
    Null,
    /// A value that may be absent, as `.?` yields it.
    Optional,
    /// A text.
    String,
    /// A type, as `type(x)` yields it.
    Type,
}

impl ValueType {
    /// The type an expression means by this name.
    pub(super) fn named(name: &str) -> Option<ValueType> {
        Some(match name {
            "bool" => ValueType::Bool,
            "bytes" => ValueType::Bytes,
            "double" => ValueType::Double,
            "int" => ValueType::Int,
            "list" => ValueType::List,
            "map" => ValueType::Map,
            "null_type" => ValueType::Null,
            "optional_type" => ValueType::Optional,
            "string" => ValueType::String,
            "type" => ValueType::Type,
            _ => return None,
        })
    }
}

/// The type with its article, as a sentence needs it.
impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueType::Bool => "a boolean",
            ValueType::Bytes => "bytes",
            ValueType::Double | ValueType::Int => "a number",
            ValueType::List => "a list",
            ValueType::Map => "an object",
            ValueType::Null => "null",
            ValueType::Optional => "an optional",
            ValueType::String => "a string",
            ValueType::Type => "a type",
        })
    }
}
