//! Reads and changes individual configuration keys. Comments and formatting around a key are
//! preserved.

use std::path::{Path, PathBuf};

use milepost_model::suggest;
use serde_json::Value as Json;
use toml_edit::{Array, Decor, DocumentMut, Item, RawString, TableLike, Value};

use crate::config::{Config, ConfigError, ConfigLayer};
use crate::file::{self, FileError, FileMode};
use crate::settings::{self, TomlError};
use crate::{Locations, limits};

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of a fixed set of words, with the default.
    Word(&'static str),
    /// A number; unlimited by default.
    Count,
    /// A number, with the default.
    CountOr(u64),
    /// A list of strings; empty by default.
    List,
}

/// Every configuration key.
const KEYS: &[(&str, Kind)] = &[
    ("allow_private", Kind::List),
    ("approvals.presence", Kind::Word("elicitation")),
    ("budget.attempts", Kind::Count),
    ("budget.http_calls", Kind::Count),
    ("budget.writes", Kind::Count),
    ("env_allow", Kind::List),
    ("policy.writes", Kind::Word("consent")),
    ("secrets.backend", Kind::Word("file")),
    ("secrets.inputs_days", Kind::CountOr(limits::SECRET_INPUTS_DAYS)),
    ("source_roots", Kind::List),
];

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSetting {
    /// The key, including its table.
    pub key: &'static str,
    /// The value in effect: from the file, or the default. `null` means unlimited.
    pub value: Json,
    pub given: bool,
}

/// Why a key could not be read or changed. The value is never quoted: it may be a secret that was
/// entered in place of its name.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("there is no key `{key}` in the configuration")]
    Unknown { key: String, meant: Option<&'static str> },
    #[error("`{key}` must be {expected}")]
    Unfit { key: String, expected: &'static str },
    /// The file cannot be read, or has an error elsewhere.
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Whether a key may be set in a project's configuration, because it can only tighten something
/// there.
pub fn is_limit(key: &str) -> bool {
    matches!(key, "approvals.presence" | "policy.writes" | "secrets.inputs_days")
        || key.starts_with("budget.")
}

/// A configuration file as editable text.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    home: Option<PathBuf>,
    /// The user's own file, if this is the file of a project.
    own: Option<PathBuf>,
    document: DocumentMut,
}

impl ConfigFile {
    /// Reads the user's own file; a missing file is treated as empty.
    pub fn open_own(locations: &Locations) -> Result<ConfigFile, ConfigError> {
        ConfigFile::open(&locations.user_config, locations, None)
    }

    /// Reads the file of the project in force, if there is one.
    pub fn open_project(locations: &Locations) -> Result<Option<ConfigFile>, ConfigError> {
        let own = Some(locations.user_config.clone());
        let asking = locations.asking_folder();
        asking.map(|_| ConfigFile::open(&locations.config, locations, own)).transpose()
    }

    fn open(
        path: &Path,
        locations: &Locations,
        own: Option<PathBuf>,
    ) -> Result<ConfigFile, ConfigError> {
        let path = path.to_owned();
        let bytes = file::if_present(file::read_document(&path, limits::CONFIG_BYTES))?;
        let bytes = bytes.unwrap_or_default();
        let fault = |fault| ConfigError::Fault { path: path.clone(), fault };
        let text = settings::decoded(&bytes).map_err(fault)?;
        // Invalid TOML is reported by this parser, which knows the line and column.
        settings::TomlTable::read(text).map_err(fault)?;
        let document = text.parse().map_err(|_| fault(TomlError::NotText))?;
        Ok(ConfigFile { path, home: locations.home.clone(), own, document })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every key with its value.
    pub fn all(&self) -> Vec<ConfigSetting> {
        KEYS.iter().map(|(key, kind)| self.setting(key, *kind)).collect()
    }

    pub fn get(&self, key: &str) -> Result<ConfigSetting, KeyError> {
        let (key, kind) = known(key)?;
        Ok(self.setting(key, kind))
    }

    /// Sets or removes a key and writes the file. Nothing is written if the result would not be a
    /// valid configuration.
    pub fn set(&mut self, key: &str, text: Option<&str>) -> Result<ConfigSetting, KeyError> {
        let (key, kind) = known(key)?;
        match text {
            Some(text) => self.put(key, value_of(key, kind, text)?)?,
            None => self.take(key),
        }
        let text = self.document.to_string();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let layer = self.own.as_deref().map_or(ConfigLayer::User, ConfigLayer::Project);
        match Config::parse(text.as_bytes(), folder, self.home.as_deref(), layer) {
            Ok(_) => {}
            Err(
                TomlError::Value { key: at, expected, .. }
                | TomlError::Type { key: at, expected, .. },
            ) if at == key || at.strip_prefix(key).is_some_and(|rest| rest.starts_with('[')) => {
                return Err(KeyError::Unfit { key: at, expected });
            }
            Err(fault) => return Err(ConfigError::Fault { path: self.path.clone(), fault }.into()),
        }
        file::make_directory(folder, FileMode::Same)?;
        file::write_atomic(&self.path, text.as_bytes(), true)?;
        Ok(self.setting(key, kind))
    }

    fn setting(&self, key: &'static str, kind: Kind) -> ConfigSetting {
        let (table, name) = parts(key);
        let table: Option<&dyn TableLike> = match table {
            None => Some(self.document.as_table()),
            Some(table) => self.document.get(table).and_then(Item::as_table_like),
        };
        let said = table.and_then(|table| table.get(name)).and_then(Item::as_value).map(json);
        let given = said.is_some();
        let value = said.unwrap_or_else(|| match kind {
            Kind::Word(word) => word.into(),
            Kind::Count => Json::Null,
            Kind::CountOr(usual) => usual.into(),
            Kind::List => Json::Array(Vec::new()),
        });
        ConfigSetting { key, value, given }
    }

    fn put(&mut self, key: &'static str, mut value: Value) -> Result<(), KeyError> {
        let (table, name) = parts(key);
        let target: &mut dyn TableLike = match table {
            None => self.document.as_table_mut(),
            Some(table) => {
                let item = self.document.entry(table).or_insert_with(toml_edit::table);
                let unfit = || KeyError::Unfit { key: table.to_owned(), expected: "a table" };
                item.as_table_like_mut().ok_or_else(unfit)?
            }
        };
        // Replaced in place, so that the text around the value is preserved.
        match target.get_mut(name).map(|item| item.as_value_mut().ok_or(())) {
            Some(Ok(old)) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            Some(Err(())) | None => {
                target.insert(name, Item::Value(value));
            }
        }
        Ok(())
    }

    fn take(&mut self, key: &'static str) {
        let (table, name) = parts(key);
        let target: Option<&mut dyn TableLike> = match table {
            None => Some(self.document.as_table_mut()),
            Some(table) => self.document.get_mut(table).and_then(Item::as_table_like_mut),
        };
        let Some(above) = target.and_then(|target| removed(target, name)) else { return };
        // No key follows in the table, so the comment above the key moves to the end of the file.
        let behind = self.document.trailing().as_str().unwrap_or_default();
        let trailing = format!("{above}{behind}");
        self.document.set_trailing(trailing);
    }
}

/// Removes a key and moves the comment above it to the next key. Returns the comment if there is no
/// next key.
fn removed(table: &mut dyn TableLike, name: &str) -> Option<String> {
    let above = table.key(name)?.leaf_decor().prefix().and_then(RawString::as_str);
    let above = above.filter(|above| above.contains('#')).map(str::to_owned);
    let mut names = table.iter().map(|(name, _)| name.to_owned()).skip_while(|one| one != name);
    let next = names.nth(1);
    drop(names);
    table.remove(name);
    let above = above?;
    let Some(next) = next else { return Some(above) };
    let item = table.get_mut(&next).and_then(Item::as_table_mut);
    if let Some(section) = item {
        lead(section.decor_mut(), &above);
    } else if let Some(mut key) = table.key_mut(&next) {
        lead(key.leaf_decor_mut(), &above);
    }
    None
}

fn lead(decor: &mut Decor, above: &str) {
    let below = decor.prefix().and_then(RawString::as_str).unwrap_or_default();
    let prefix = format!("{above}{below}");
    decor.set_prefix(prefix);
}

/// Splits a key into its table, if any, and its name within the table.
fn parts(key: &'static str) -> (Option<&'static str>, &'static str) {
    key.split_once('.').map_or((None, key), |(table, name)| (Some(table), name))
}

fn known(text: &str) -> Result<(&'static str, Kind), KeyError> {
    let found = KEYS.iter().find(|(key, _)| *key == text).copied();
    found.ok_or_else(|| {
        let keys = || KEYS.iter().map(|(key, _)| *key);
        // A bare name is unambiguous if only one table has it.
        let mut named = keys().filter(|key| parts(key).1 == text);
        let alone = named.next().filter(|_| named.next().is_none());
        let meant = alone.or_else(|| suggest::closest(text, keys()));
        KeyError::Unknown { key: suggest::excerpt(text), meant }
    })
}

fn value_of(key: &str, kind: Kind, text: &str) -> Result<Value, KeyError> {
    let unfit = |expected| KeyError::Unfit { key: key.to_owned(), expected };
    match kind {
        Kind::Word(_) => Ok(text.into()),
        Kind::Count | Kind::CountOr(_) => {
            let number = text.parse::<i64>().ok().filter(|number| *number >= 0);
            Ok(number.ok_or_else(|| unfit("a whole number, 0 or more"))?.into())
        }
        Kind::List if text.trim_start().starts_with('[') => {
            let list = text.trim().parse::<Value>().ok().filter(Value::is_array);
            list.ok_or_else(|| unfit("a list such as `[\"one\", \"two\"]` or `one,two`"))
        }
        Kind::List => {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            Ok(Value::Array(words.collect::<Array>()))
        }
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Boolean(flag) => (*flag.value()).into(),
        Value::Array(items) => items.iter().map(json).collect(),
        // No key has a value of these types; the parser reports them with their position.
        Value::Float(_) | Value::Datetime(_) | Value::InlineTable(_) => Json::Null,
    }
}
