//! A record as the text of its file, and back. The text has one order; what people wrote beside
//! it, comments above all, stays when it is written again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use milepost_catalog::command::Method;
use milepost_catalog::limits::NAME_CHARS;
use milepost_model::id::CatalogId;
use milepost_model::source::Format;
use serde::Serialize;
use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::record::{
    Auth, BaseUrl, ClientAuth, Credential, GivenBy, Idempotency, Options, Part, ProfileName,
    Record, Source, is_web_url,
};
use crate::hosts::PrivateHost;
use crate::secrets::SecretName;
use crate::settings::{self, Fault, Field, Table, UnknownKey};
use milepost_model::digest::Digest;

const HEAD: &str = "# A catalog of Milepost. Secrets are named here, never written down.\n\n";
const KEYS: &[&str] = &[
    "id",
    "title",
    "vendor",
    "base_url",
    "base_url_by",
    "enabled",
    "source",
    "source_sha256",
    "format",
    "allow_private",
    "options",
    "auth",
    "names",
];
const OPTION_KEYS: &[&str] = &["idempotency_header"];
const CREDENTIAL_KEYS: &[&str] = &[
    "key",
    "token",
    "username",
    "password",
    "client_id",
    "client_secret",
    "client_auth",
    "scopes",
    "audience",
    "authority",
];

/// Reads a record.
pub(crate) fn parse(bytes: &[u8]) -> Result<Record, Fault> {
    let mut top = Table::read(settings::decoded(bytes)?)?;
    let id = top.need("id")?;
    let id = id.parsed("a catalog id", |text| CatalogId::parse(text).ok())?;
    let title = top.need("title")?.parsed("a title", filled)?;
    let source = top.need("source")?.parsed("a path or a URL without password", Source::parse)?;
    let format = top.need("format")?.parsed("`json` or `yaml`", format_of)?;
    let mut record = Record::new(id, title, source, format);
    record.source_sha256 =
        top.need("source_sha256")?.parsed("64 hexadecimal digits", Digest::parse)?;
    if let Some(field) = top.take("vendor") {
        record.vendor = Some(field.parsed("a name", filled)?);
    }
    record.base_url = base_url(&mut top)?;
    if let Some(field) = top.take("enabled") {
        record.enabled = field.flag()?;
    }
    if let Some(field) = top.take("allow_private") {
        record.allow_private = field.parsed_list(PrivateHost::EXPECTED, PrivateHost::parse)?;
    }
    if let Some(field) = top.take("options") {
        record.options = options(field.table()?, &mut record.warnings)?;
    }
    if let Some(field) = top.take("auth") {
        record.auth = auth(field.table()?, &mut record.warnings)?;
    }
    if let Some(field) = top.take("names") {
        record.names = names(field.table()?)?;
    }
    top.unknown(KEYS, &mut record.warnings);
    Ok(record)
}

fn filled(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn format_of(text: &str) -> Option<Format> {
    [Format::Json, Format::Yaml].into_iter().find(|format| format.name() == text)
}

fn base_url(top: &mut Table<'_>) -> Result<Option<BaseUrl>, Fault> {
    // Who edits the file by hand and leaves this out is a person, but so is who copies a file
    // from elsewhere: what may reach private hosts has to be said.
    let by = top.take("base_url_by").map(|field| {
        let all = [GivenBy::User, GivenBy::Document];
        field.parsed("`user` or `document`", |text| all.into_iter().find(|by| by.name() == text))
    });
    let by = by.transpose()?.unwrap_or(GivenBy::Document);
    let Some(field) = top.take("base_url") else { return Ok(None) };
    let url = field.parsed("an `http` or `https` URL without user and password", |text| {
        is_web_url(text).then(|| text.to_owned())
    })?;
    Ok(Some(BaseUrl { url, by }))
}

fn options(mut table: Table<'_>, warnings: &mut Vec<UnknownKey>) -> Result<Options, Fault> {
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
    table.unknown(OPTION_KEYS, warnings);
    Ok(Options { idempotency })
}

/// A token of RFC 9110.
fn is_header_name(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(token)
}

fn auth(table: Table<'_>, warnings: &mut Vec<UnknownKey>) -> Result<Auth, Fault> {
    let mut auth = Auth::new();
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

fn credential(mut table: Table<'_>, warnings: &mut Vec<UnknownKey>) -> Result<Credential, Fault> {
    let mut credential = Credential::default();
    for part in Part::ALL {
        if let Some(field) = table.take(part.name()) {
            let name = field.parsed(SecretName::EXPECTED, |text| SecretName::parse(text).ok())?;
            credential.secrets.insert(*part, name);
        }
    }
    if let Some(field) = table.take("client_auth") {
        let all = [ClientAuth::Basic, ClientAuth::Post];
        let named = |text: &str| all.into_iter().find(|way| way.name() == text);
        credential.client_auth = Some(field.parsed("`basic` or `post`", named)?);
    }
    if let Some(field) = table.take("scopes") {
        credential.scopes = field.parsed_list("a scope", filled)?;
    }
    if let Some(field) = table.take("audience") {
        credential.audience = Some(field.parsed("an audience", filled)?);
    }
    if let Some(field) = table.take("authority") {
        let url = |text: &str| is_web_url(text).then(|| text.to_owned());
        credential.authority = Some(field.parsed("the URL of a token server", url)?);
    }
    table.unknown(CREDENTIAL_KEYS, warnings);
    Ok(credential)
}

fn names(table: Table<'_>) -> Result<BTreeMap<String, String>, Fault> {
    let fields = table.fields();
    fields.map(|(operation, field)| name(operation, field)).collect()
}

fn name(operation: Cow<'_, str>, field: Field<'_>) -> Result<(String, String), Fault> {
    let known = operation.split_once(' ').is_some_and(|(method, path)| {
        Method::ALL.iter().any(|known| known.name() == method) && path.starts_with('/')
    });
    if !known {
        return Err(field.wrong_value("under a method and a path such as `GET /orders`"));
    }
    let name = field.parsed("the name of a command, at most 48 characters", |text| {
        let fits = !text.is_empty()
            && text.chars().count() <= NAME_CHARS
            && !text.contains(|c: char| c.is_whitespace() || c.is_control());
        fits.then(|| text.to_owned())
    })?;
    Ok((operation.into_owned(), name))
}

/// The file as it is written, keys in this order.
#[derive(Serialize)]
struct File<'r> {
    id: &'r str,
    title: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url_by: Option<&'static str>,
    enabled: bool,
    source: String,
    source_sha256: String,
    format: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allow_private: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<OptionsTable<'r>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    auth: BTreeMap<&'r str, BTreeMap<&'r str, CredentialTable<'r>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    names: &'r BTreeMap<String, String>,
}

#[derive(Serialize)]
struct OptionsTable<'r> {
    idempotency_header: TextOrFalse<'r>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TextOrFalse<'r> {
    Text(&'r str),
    False(bool),
}

#[derive(Serialize)]
struct CredentialTable<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_auth: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    scopes: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authority: Option<&'r str>,
}

/// The text of a record, the same for the same record.
pub(crate) fn render(record: &Record) -> String {
    let text = toml::to_string(&file(record)).expect("texts, flags and tables of them are TOML");
    format!("{HEAD}{text}")
}

/// All that a record says, the same for the same record. Nobody reads it, but it is made whenever
/// a catalog is loaded, and as TOML that takes longer than to read the catalog.
pub(crate) fn canonical(record: &Record) -> String {
    serde_json::to_string(&file(record)).expect("texts, flags and tables of them are JSON")
}

fn file(record: &Record) -> File<'_> {
    let idempotency = match &record.options.idempotency {
        Idempotency::Unsaid => None,
        Idempotency::Header(name) => Some(TextOrFalse::Text(name)),
        Idempotency::Off => Some(TextOrFalse::False(false)),
    };
    let auth = record.auth.iter().map(|(profile, schemes)| {
        let schemes = schemes.iter();
        (profile.as_str(), schemes.map(|(scheme, one)| (scheme.as_str(), table(one))).collect())
    });
    File {
        id: record.id.as_str(),
        title: &record.title,
        vendor: record.vendor.as_deref(),
        base_url: record.base_url.as_ref().map(|base| base.url.as_str()),
        base_url_by: record.base_url.as_ref().map(|base| base.by.name()),
        enabled: record.enabled,
        source: record.source.to_string(),
        source_sha256: record.source_sha256.to_string(),
        format: record.format.name(),
        allow_private: record.allow_private.iter().map(ToString::to_string).collect(),
        options: idempotency.map(|idempotency_header| OptionsTable { idempotency_header }),
        auth: auth.collect(),
        names: &record.names,
    }
}

fn table(credential: &Credential) -> CredentialTable<'_> {
    let secret = |part| credential.secrets.get(&part).map(SecretName::as_str);
    CredentialTable {
        key: secret(Part::Key),
        token: secret(Part::Token),
        username: secret(Part::Username),
        password: secret(Part::Password),
        client_id: secret(Part::ClientId),
        client_secret: secret(Part::ClientSecret),
        client_auth: credential.client_auth.map(ClientAuth::name),
        scopes: &credential.scopes,
        audience: credential.audience.as_deref(),
        authority: credential.authority.as_deref(),
    }
}

/// The text of a record in place of an older one, whose comments and unknown keys stay.
pub(crate) fn render_over(record: &Record, old: &[u8]) -> String {
    let fresh = render(record);
    let merged = settings::decoded(old).ok().and_then(|old| {
        let mut merged: DocumentMut = old.parse().ok()?;
        let new: DocumentMut = fresh.parse().ok()?;
        merge(merged.as_table_mut(), new.as_table(), |key| !KEYS.contains(&key));
        Some(merged.to_string())
    });
    // What the file says matters more than what stands beside it.
    let same = |text: &String| parse(text.as_bytes()).is_ok_and(|found| says_same(&found, record));
    merged.filter(same).unwrap_or(fresh)
}

/// Whether two records say the same; what they are warned of is not something they say.
pub(crate) fn says_same(one: &Record, other: &Record) -> bool {
    *one == Record { warnings: one.warnings.clone(), ..other.clone() }
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

/// Puts another value where one stood, and leaves the comment behind it. The same value in other
/// quotes stays as it is.
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
