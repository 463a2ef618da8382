//! The types of the language.

use std::fmt;

use crate::named_enum::named_enum;

named_enum! {
    /// The type of a value, as returned by `type(x)` and named in errors.
    pub ValueType {
        Bool = "bool",
        /// A byte string, which JSON does not have.
        Bytes = "bytes",
        /// A floating-point number.
        Double = "double",
        Int = "int",
        List = "list",
        /// An object.
        Map = "map",
        Null = "null_type",
        /// A value that may be absent, such as the result of `.?`.
        Optional = "optional_type",
        String = "string",
        /// A type, such as the result of `type(x)`.
        Type = "type",
    }
}

/// The type with its article, as used in a sentence.
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
