//! Converts a record to the text of its file and back. Keys have a fixed order; comments that
//! people added are preserved when a record is rewritten.

use std::borrow::Cow;
use std::collections::BTreeMap;

use milepost_catalog::command::Method;
use milepost_catalog::limits::NAME_CHARS;
use milepost_model::id::CatalogId;
use milepost_syntax::source::Format;
use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::record::{
    AuthProfiles, BaseUrl, CatalogCredential, CatalogOptions, CatalogRecord, CatalogSource,
    ClientAuth, CredentialField, GivenBy, Idempotency, ProfileName, is_web_url,
};
use crate::secrets::SecretName;
use crate::settings::{self, TomlError, TomlField, TomlTable, UnknownKey};
use crate::{Digest, PrivateHost};

const HEAD: &str =
    "# A Milepost catalog. It contains the names of secrets, never their values.\n\n";
const KEYS: &[&str] = &[
    "id",
    "title",
    "vendor",
    "base_url",
    "base_url_by",
    "enabled",
    "by_agent",
    "source",
    "source_sha256",
    "format",
    "allow_private",
    "options",
    "auth",
    "names",
];
pub(crate) fn parse(bytes: &[u8]) -> Result<CatalogRecord, TomlError> {
    let mut top = TomlTable::read(settings::decoded(bytes)?)?;
    let id = top.need("id")?;
    let id = id.parsed("a catalog id", |text| CatalogId::parse(text).ok())?;
    let title = top.need("title")?.parsed("a title", filled)?;
    let source = top
        .need("source")?
        .parsed("a path, or a URL without a user name or password", CatalogSource::parse)?;
    let format = top.need("format")?.parsed("`json` or `yaml`", format_of)?;
    let mut record = CatalogRecord::new(id, title, source, format);
    record.source_sha256 =
        top.need("source_sha256")?.parsed("64 hexadecimal digits", Digest::parse)?;
    record.vendor = top.parsed("vendor", "a name", filled)?;
    record.base_url = base_url(&mut top)?;
    record.enabled = top.take_as("enabled", TomlField::flag)?.unwrap_or(true);
    record.by_agent = top.take_as("by_agent", TomlField::flag)?.unwrap_or(false);
    record.allow_private =
        top.parsed_list("allow_private", PrivateHost::EXPECTED, PrivateHost::parse)?;
    if let Some(table) = top.take_as("options", TomlField::table)? {
        record.options = options(table, &mut record.warnings)?;
    }
    if let Some(table) = top.take_as("auth", TomlField::table)? {
        record.auth = auth(table, &mut record.warnings)?;
    }
    let names = |field: TomlField<'_>| field.table()?.fields().map(name).collect();
    record.names = top.take_as("names", names)?.unwrap_or_default();
    top.unknown(&mut record.warnings);
    Ok(record)
}

fn filled(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn web_url(text: &str) -> Option<String> {
    is_web_url(text).then(|| text.to_owned())
}

fn format_of(text: &str) -> Option<Format> {
    [Format::Json, Format::Yaml].into_iter().find(|format| format.name() == text)
}

fn base_url(top: &mut TomlTable<'_>) -> Result<Option<BaseUrl>, TomlError> {
    const EXPECTED: &str = "an `http` or `https` URL without a user name or password";
    // If this key is missing, a user may have edited the file by hand or copied it from elsewhere,
    // so access to private hosts must be stated explicitly.
    let by = top.parsed("base_url_by", "`user` or `document`", GivenBy::named)?;
    let by = by.unwrap_or(GivenBy::Document);
    Ok(top.parsed("base_url", EXPECTED, web_url)?.map(|url| BaseUrl { url, by }))
}

fn options(
    mut table: TomlTable<'_>,
    warnings: &mut Vec<UnknownKey>,
) -> Result<CatalogOptions, TomlError> {
    const EXPECTED: &str = "the name of a header, or `false`";
    let idempotency = match table.take("idempotency_header") {
        None => Idempotency::Unsaid,
        Some(field) if field.is_text() => Idempotency::Header(
            field.parsed(EXPECTED, |text| is_header_name(text).then(|| text.to_owned()))?,
        ),
        Some(field) => {
            let fault = field.wrong_value(EXPECTED);
            if field.flag()? {
                return Err(fault);
            }
            Idempotency::Off
        }
    };
    table.unknown(warnings);
    Ok(CatalogOptions { idempotency })
}

/// Whether a string is a token as defined by RFC 9110.
fn is_header_name(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(token)
}

fn auth(table: TomlTable<'_>, warnings: &mut Vec<UnknownKey>) -> Result<AuthProfiles, TomlError> {
    let mut auth = AuthProfiles::new();
    for (profile, field) in table.fields() {
        let wrong = || field.wrong_value(ProfileName::EXPECTED);
        let profile = ProfileName::parse(&profile).ok_or_else(wrong)?;
        let mut schemes = BTreeMap::new();
        for (scheme, field) in field.table()?.fields() {
            schemes.insert(scheme.into_owned(), credential(field.table()?, warnings)?);
        }
        auth.insert(profile, schemes);
    }
    Ok(auth)
}

fn credential(
    mut table: TomlTable<'_>,
    warnings: &mut Vec<UnknownKey>,
) -> Result<CatalogCredential, TomlError> {
    let mut credential = CatalogCredential::default();
    for part in CredentialField::ALL {
        let name = |text: &str| SecretName::parse(text).ok();
        let name = table.parsed(part.name(), SecretName::EXPECTED, name)?;
        credential.secrets.extend(name.map(|name| (*part, name)));
    }
    credential.client_auth = table.parsed("client_auth", "`basic` or `post`", ClientAuth::named)?;
    credential.scopes = table.parsed_list("scopes", "a scope", filled)?;
    credential.audience = table.parsed("audience", "an audience", filled)?;
    credential.authority = table.parsed("authority", "the URL of a token server", web_url)?;
    table.unknown(warnings);
    Ok(credential)
}

fn name((operation, field): (Cow<'_, str>, TomlField<'_>)) -> Result<(String, String), TomlError> {
    let known = operation.split_once(' ').is_some_and(|(method, path)| {
        Method::ALL.iter().any(|known| known.name() == method) && path.starts_with('/')
    });
    if !known {
        return Err(field.wrong_value("keyed by a method and a path such as `GET /orders`"));
    }
    let name = field.parsed("the name of a command, at most 48 characters", |text| {
        let fits = !text.is_empty()
            && text.chars().count() <= NAME_CHARS
            && !text.contains(|c: char| c.is_whitespace() || c.is_control());
        fits.then(|| text.to_owned())
    })?;
    Ok((operation.into_owned(), name))
}

/// The file content for a record; equal records yield equal content.
pub(crate) fn render(record: &CatalogRecord) -> String {
    let text = toml::to_string(record).expect("strings, flags and tables of them are valid TOML");
    format!("{HEAD}{text}")
}

/// The content of a record as a string; equal records yield equal strings. It is never parsed. It
/// is JSON because it is built whenever a catalog is loaded, and building TOML would take longer
/// than reading the catalog.
pub(crate) fn canonical(record: &CatalogRecord) -> String {
    serde_json::to_string(record).expect("strings, flags and tables of them are valid JSON")
}

/// The file content for a record that replaces an older one, keeping the comments and unknown
/// top-level keys from the old file.
pub(crate) fn render_over(record: &CatalogRecord, old: &[u8]) -> String {
    let fresh = render(record);
    let merged = settings::decoded(old).ok().and_then(|old| {
        let mut merged: DocumentMut = old.parse().ok()?;
        let new: DocumentMut = fresh.parse().ok()?;
        merge(merged.as_table_mut(), new.as_table(), |key| !KEYS.contains(&key));
        Some(merged.to_string())
    });
    // Correct content takes priority over preserved comments.
    let same = |text: &String| parse(text.as_bytes()).is_ok_and(|found| says_same(&found, record));
    merged.filter(same).unwrap_or(fresh)
}

/// Whether two records are equal apart from their warnings.
pub(crate) fn says_same(one: &CatalogRecord, other: &CatalogRecord) -> bool {
    *one == CatalogRecord { warnings: one.warnings.clone(), ..other.clone() }
}

fn merge(old: &mut dyn TableLike, new: &dyn TableLike, keep: fn(&str) -> bool) {
    let gone: Vec<String> = old
        .iter()
        .map(|(key, _)| key)
        .filter(|key| !new.contains_key(key) && !keep(key))
        .map(str::to_owned)
        .collect();
    for key in gone {
        old.remove(&key);
    }
    for (key, item) in new.iter() {
        match (old.get_mut(key), item) {
            (Some(Item::Value(was)), Item::Value(is)) => replace(was, is),
            (Some(was), is) if was.is_table_like() && is.is_table_like() => {
                if let (Some(was), Some(is)) = (was.as_table_like_mut(), is.as_table_like()) {
                    merge(was, is, |_| false);
                }
            }
            _ => drop(old.insert(key, item.clone())),
        }
    }
}

/// Replaces a value and keeps the comment after it. An equal value that is merely quoted
/// differently is left alone.
fn replace(was: &mut Value, is: &Value) {
    let bare = |value: &Value| value.clone().decorated("", "").to_string();
    let same = match (was.as_str(), is.as_str()) {
        (Some(was), Some(is)) => was == is,
        _ => bare(was) == bare(is),
    };
    if !same {
        let decor = was.decor().clone();
        *was = is.clone();
        *was.decor_mut() = decor;
    }
}
