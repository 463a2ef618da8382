//! TOML files that people edit, read with places: a wrong type is a fault with line and column, an
//! unknown key a warning with the key that was probably meant.
//!
//! No fault quotes a value: somebody may have written a secret where its name belongs.

use std::borrow::Cow;
use std::fmt;

use milepost_model::suggest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where something stands in a file, counted from 1; the column in characters.
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

/// What is wrong with a file, at the first place that is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TomlError {
    #[error("it is not UTF-8 text: save it as UTF-8")]
    NotText,
    #[error("{at}: it is not valid TOML: {message}")]
    Syntax { at: TomlPosition, message: String },
    #[error("{at}: `{key}` must be {expected}, not {found}")]
    Type { at: TomlPosition, key: String, expected: &'static str, found: &'static str },
    /// A value of the right type that does not fit.
    #[error("{at}: `{key}` must be {expected}")]
    Value { at: TomlPosition, key: String, expected: &'static str },
    #[error("`{key}` is missing: add it")]
    Missing { key: String },
}

/// A key that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    pub at: TomlPosition,
    pub key: String,
    pub meant: Option<&'static str>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownKey { at, key, meant } = self;
        write!(f, "{at}: `{key}` means nothing here")?;
        match meant {
            Some(meant) => write!(f, ": did you mean `{meant}`?"),
            None => write!(f, ": remove it"),
        }
    }
}

/// A table whose values are taken out one by one; what is left is unknown.
#[derive(Debug)]
pub(crate) struct TomlTable<'t> {
    text: &'t str,
    /// The keys above it, with a dot behind; empty at the top.
    prefix: String,
    values: DeTable<'t>,
    /// The keys that were asked for.
    known: Vec<&'static str>,
}

/// A value that was taken out of a table.
#[derive(Debug)]
pub(crate) struct TomlField<'t> {
    text: &'t str,
    pub(crate) key: String,
    offset: usize,
    value: DeValue<'t>,
}

/// Bytes as text, without a byte order mark in front.
pub(crate) fn decoded(bytes: &[u8]) -> Result<&str, TomlError> {
    let text = std::str::from_utf8(bytes).map_err(|_| TomlError::NotText)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

impl<'t> TomlTable<'t> {
    /// Reads a whole file.
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

    /// Takes a value out.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<TomlField<'t>> {
        self.known.push(key);
        let value = self.values.remove(key)?;
        Some(self.field(key, value))
    }

    /// Takes a value out, if there is one, and reads it.
    pub(crate) fn take_as<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(TomlField<'t>) -> Result<T, TomlError>,
    ) -> Result<Option<T>, TomlError> {
        self.take(key).map(read).transpose()
    }

    /// Takes a value out that must be there.
    pub(crate) fn need(&mut self, key: &'static str) -> Result<TomlField<'t>, TomlError> {
        self.take(key).ok_or_else(|| TomlError::Missing { key: format!("{}{key}", self.prefix) })
    }

    /// Every value that is left, in the order of the keys.
    pub(crate) fn fields(mut self) -> impl Iterator<Item = (Cow<'t, str>, TomlField<'t>)> {
        let values = std::mem::take(&mut self.values);
        values.into_iter().map(move |(key, value)| {
            let field = self.field(key.get_ref(), value);
            (key.into_inner(), field)
        })
    }

    /// Reports every key that nobody asked for.
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

    /// A number of things.
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

    /// A text that something can be made of.
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

    /// A list of texts that something can be made of.
    pub(crate) fn parsed_list<T>(
        self,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, TomlError> {
        self.list()?.into_iter().map(|item| item.parsed(expected, &parse)).collect()
    }

    /// Whether it is a text.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    /// The fault of a value that does not fit.
    pub(crate) fn wrong_value(&self, expected: &'static str) -> TomlError {
        let at = place(self.text, self.offset);
        TomlError::Value { at, key: suggest::excerpt(&self.key), expected }
    }

    fn wrong_type(&self, expected: &'static str) -> TomlError {
        let at = place(self.text, self.offset);
        let found = match &self.value {
            DeValue::String(_) => "a text",
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
