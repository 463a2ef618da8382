//! Parses TOML files that people edit. A value of the wrong type is an error with its line and
//! column, and an unknown key is a warning that suggests the key that was probably meant.
//!
//! No error quotes a value, because someone may have entered a secret in place of its name.

use std::borrow::Cow;
use std::fmt;

use milepost_model::suggest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A position in a file. Line and column start at 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TomlPosition {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for TomlPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The first error in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TomlError {
    #[error("the file is not valid UTF-8: save it as UTF-8")]
    NotText,
    #[error("{at}: invalid TOML: {message}")]
    Syntax { at: TomlPosition, message: String },
    #[error("{at}: `{key}` must be {expected}, not {found}")]
    Type { at: TomlPosition, key: String, expected: &'static str, found: &'static str },
    /// A value of the right type that is not valid.
    #[error("{at}: `{key}` must be {expected}")]
    Value { at: TomlPosition, key: String, expected: &'static str },
    #[error("`{key}` is missing: add it")]
    Missing { key: String },
    /// A key that a project cannot set.
    #[error(
        "{at}: `{key}` counts only in your own configuration, `{own}`; a project asks for it \
         in `[asks]`"
    )]
    NotForProjects { at: TomlPosition, key: String, own: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    pub at: TomlPosition,
    pub key: String,
    pub meant: Option<&'static str>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownKey { at, key, meant } = self;
        write!(f, "{at}: unknown key `{key}`")?;
        match meant {
            Some(meant) => write!(f, ": did you mean `{meant}`?"),
            None => write!(f, ": remove it"),
        }
    }
}

/// A table from which values are taken one by one; the keys that are left are unknown.
#[derive(Debug)]
pub(crate) struct TomlTable<'t> {
    text: &'t str,
    /// The path of the table, with a trailing dot; empty at the top level.
    prefix: String,
    values: DeTable<'t>,
    /// The keys that were requested.
    known: Vec<&'static str>,
}

/// A value that was taken from a table.
#[derive(Debug)]
pub(crate) struct TomlField<'t> {
    text: &'t str,
    pub(crate) key: String,
    offset: usize,
    value: DeValue<'t>,
}

/// Decodes UTF-8 and strips a byte order mark.
pub(crate) fn decoded(bytes: &[u8]) -> Result<&str, TomlError> {
    let text = std::str::from_utf8(bytes).map_err(|_| TomlError::NotText)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

impl<'t> TomlTable<'t> {
    /// Parses a whole file.
    pub(crate) fn read(text: &'t str) -> Result<TomlTable<'t>, TomlError> {
        let values = DeTable::parse(text).map_err(|error| {
            let at = place(text, error.span().map_or(0, |span| span.start));
            TomlError::Syntax { at, message: error.message().to_owned() }
        })?;
        Ok(TomlTable {
            text,
            prefix: String::new(),
            values: values.into_inner(),
            known: Vec::new(),
        })
    }

    /// Takes an optional value.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<TomlField<'t>> {
        self.known.push(key);
        let value = self.values.remove(key)?;
        Some(self.field(key, value))
    }

    /// Takes an optional value and reads it.
    pub(crate) fn take_as<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(TomlField<'t>) -> Result<T, TomlError>,
    ) -> Result<Option<T>, TomlError> {
        self.take(key).map(read).transpose()
    }

    /// Takes an optional string and parses it.
    pub(crate) fn parsed<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, TomlError> {
        self.take_as(key, |field| field.parsed(expected, parse))
    }

    /// Takes an optional list of strings, empty by default, and parses each string.
    pub(crate) fn parsed_list<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, TomlError> {
        let items = self.take_as(key, TomlField::list)?.unwrap_or_default();
        items.into_iter().map(|item| item.parsed(expected, &parse)).collect()
    }

    /// Takes a required value.
    pub(crate) fn need(&mut self, key: &'static str) -> Result<TomlField<'t>, TomlError> {
        self.take(key).ok_or_else(|| self.missing(key))
    }

    /// The error for a required value that is not there.
    pub(crate) fn missing(&self, key: &'static str) -> TomlError {
        TomlError::Missing { key: format!("{}{key}", self.prefix) }
    }

    /// The error for a key that only the user's own configuration, in the file `own`, may contain.
    pub(crate) fn not_for_projects(
        &mut self,
        key: &'static str,
        own: &str,
    ) -> Result<(), TomlError> {
        self.take(key).map_or(Ok(()), |field| {
            let at = place(field.text, field.offset);
            Err(TomlError::NotForProjects { at, key: field.key, own: own.to_owned() })
        })
    }

    /// All remaining values, in key order.
    pub(crate) fn fields(mut self) -> impl Iterator<Item = (Cow<'t, str>, TomlField<'t>)> {
        let values = std::mem::take(&mut self.values);
        values.into_iter().map(move |(key, value)| {
            let field = self.field(key.get_ref(), value);
            (key.into_inner(), field)
        })
    }

    /// Reports every key that was not requested.
    pub(crate) fn unknown(self, warnings: &mut Vec<UnknownKey>) {
        warnings.extend(self.values.keys().map(|key| UnknownKey {
            at: place(self.text, key.span().start),
            key: format!("{}{}", self.prefix, suggest::excerpt(key.get_ref())),
            meant: suggest::nearest_word(key.get_ref(), self.known.iter().copied()),
        }));
    }

    fn field(&self, key: &str, value: Spanned<DeValue<'t>>) -> TomlField<'t> {
        let offset = value.span().start;
        let key = format!("{}{}", self.prefix, key);
        TomlField { text: self.text, key, offset, value: value.into_inner() }
    }
}

impl<'t> TomlField<'t> {
    pub(crate) fn flag(self) -> Result<bool, TomlError> {
        match self.value {
            DeValue::Boolean(flag) => Ok(flag),
            _ => Err(self.wrong_type("`true` or `false`")),
        }
    }

    /// A non-negative whole number.
    pub(crate) fn count(self) -> Result<u64, TomlError> {
        const EXPECTED: &str = "a whole number, 0 or more";
        match &self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| self.wrong_value(EXPECTED)),
            _ => Err(self.wrong_type(EXPECTED)),
        }
    }

    pub(crate) fn table(self) -> Result<TomlTable<'t>, TomlError> {
        match self.value {
            DeValue::Table(values) => {
                let (text, prefix) = (self.text, format!("{}.", self.key));
                Ok(TomlTable { text, prefix, values, known: Vec::new() })
            }
            _ => Err(self.wrong_type("a table")),
        }
    }

    pub(crate) fn list(self) -> Result<Vec<TomlField<'t>>, TomlError> {
        let DeValue::Array(items) = self.value else { return Err(self.wrong_type("a list")) };
        let TomlField { text, key, .. } = self;
        let item = |(number, value): (usize, Spanned<DeValue<'t>>)| {
            let (key, offset) = (format!("{key}[{number}]"), value.span().start);
            TomlField { text, key, offset, value: value.into_inner() }
        };
        Ok(items.into_iter().enumerate().map(item).collect())
    }

    /// A string that `parse` accepts.
    pub(crate) fn parsed<T>(
        self,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, TomlError> {
        match &self.value {
            DeValue::String(text) => parse(text).ok_or_else(|| self.wrong_value(expected)),
            _ => Err(self.wrong_type(expected)),
        }
    }

    /// Whether the value is a string.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    /// The error for a value that is not valid.
    pub(crate) fn wrong_value(&self, expected: &'static str) -> TomlError {
        let at = place(self.text, self.offset);
        TomlError::Value { at, key: suggest::excerpt(&self.key), expected }
    }

    fn wrong_type(&self, expected: &'static str) -> TomlError {
        let at = place(self.text, self.offset);
        let found = match &self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "`true` or `false`",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        TomlError::Type { at, key: suggest::excerpt(&self.key), expected, found }
    }
}

fn place(text: &str, offset: usize) -> TomlPosition {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    TomlPosition {
        line: before.matches('\n').count() + 1,
        column: before[start..].chars().count() + 1,
    }
}
