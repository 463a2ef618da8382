//! The record of a catalog: what is known of it beside its document. Names of secrets stand here,
//! never secrets.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use milepost_catalog::command::Method;
use milepost_engine::named_enum;
use milepost_model::id::CatalogId;
use milepost_syntax::source::Format;
use serde::{Serialize, Serializer};
use url::Url;

use super::text;
use crate::secrets::SecretName;
use crate::settings::UnknownKey;
use crate::{Digest, PrivateHost};

/// What is known of a catalog beside its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogRecord {
    /// Its id, which is also the group of its commands and the name of its files.
    #[serde(serialize_with = "as_text")]
    pub id: CatalogId,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Where the API is reached, instead of where its document says.
    #[serde(flatten)]
    pub base_url: Option<BaseUrl>,
    pub enabled: bool,
    #[serde(serialize_with = "as_text")]
    pub source: CatalogSource,
    /// The hash of the document as it was imported.
    #[serde(serialize_with = "as_text")]
    pub source_sha256: Digest,
    #[serde(serialize_with = "format_name")]
    pub format: Format,
    /// Private hosts that this catalog may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_private: Vec<PrivateHost>,
    #[serde(skip_serializing_if = "CatalogOptions::is_empty")]
    pub options: CatalogOptions,
    /// How it authenticates, by profile and by security scheme.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub auth: AuthProfiles,
    /// The name of each command by its operation: `GET /orders`. It keeps names as they are when
    /// the document changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Keys of the file that mean nothing.
    #[serde(skip)]
    pub warnings: Vec<UnknownKey>,
}

impl CatalogRecord {
    /// A record that says no more than it must.
    pub fn new(
        id: CatalogId,
        title: String,
        source: CatalogSource,
        format: Format,
    ) -> CatalogRecord {
        CatalogRecord {
            id,
            title,
            vendor: None,
            base_url: None,
            enabled: true,
            source,
            source_sha256: Digest::of(b""),
            format,
            allow_private: Vec::new(),
            options: CatalogOptions::default(),
            auth: AuthProfiles::new(),
            names: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// The text that a run pins: all that a request is made with, and nothing that is read live.
    pub fn pinned_text(&self) -> String {
        text::render(&CatalogRecord { enabled: true, warnings: Vec::new(), ..self.clone() })
    }

    /// The record of a text that a run has pinned.
    pub fn of_pinned(text: &str) -> Option<CatalogRecord> {
        text::parse(text.as_bytes()).ok()
    }

    /// The names of the secrets that a profile authenticates with.
    pub fn credentials(&self, profile: &ProfileName) -> impl Iterator<Item = &SecretName> {
        let schemes = self.auth.get(profile).into_iter().flat_map(BTreeMap::values);
        schemes.flat_map(|credential| credential.secrets.values())
    }

    /// Whether a title means this catalog: people do not see case or spaces.
    pub fn is_titled(&self, title: &str) -> bool {
        folded(&self.title) == folded(title)
    }
}

fn as_text<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn format_name<S: Serializer>(format: &Format, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(format.name())
}

fn folded(title: &str) -> String {
    let words: Vec<String> = title.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Where an API is reached, and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BaseUrl {
    #[serde(rename = "base_url")]
    pub url: String,
    #[serde(rename = "base_url_by")]
    pub by: GivenBy,
}

named_enum! {
    /// Who gave a base URL.
    GivenBy {
        /// The user, who may mean a private host.
        User = "user",
        /// The document, which may not.
        Document = "document",
    }
}

/// Where a document came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogSource {
    File(PathBuf),
    Url(String),
}

impl CatalogSource {
    /// Reads a path or a URL. A URL with a user or a password in it is none: they would be
    /// written down.
    pub fn parse(text: &str) -> Option<CatalogSource> {
        if text.starts_with("http://") || text.starts_with("https://") {
            return is_web_url(text).then(|| CatalogSource::Url(text.to_owned()));
        }
        let path = !text.is_empty() && !text.contains(|c: char| c.is_control());
        path.then(|| CatalogSource::File(PathBuf::from(text)))
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            CatalogSource::File(path) => Some(path),
            CatalogSource::Url(_) => None,
        }
    }
}

impl fmt::Display for CatalogSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CatalogSource::File(path) => write!(f, "{}", path.display()),
            CatalogSource::Url(url) => f.write_str(url),
        }
    }
}

/// Whether a text is an `http` or `https` URL without user and password.
pub(crate) fn is_web_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
    })
}

/// What else is chosen for a catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CatalogOptions {
    /// What keeps a repeated request from being carried out twice.
    #[serde(rename = "idempotency_header")]
    pub idempotency: Idempotency,
}

impl CatalogOptions {
    fn is_empty(&self) -> bool {
        self.idempotency == Idempotency::Unsaid
    }
}

/// The header that keeps a repeated request from being carried out twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Idempotency {
    /// Nothing is chosen.
    #[default]
    Unsaid,
    /// It is sent under this name.
    Header(String),
    /// It is not sent.
    Off,
}

impl Serialize for Idempotency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Idempotency::Header(name) => serializer.serialize_str(name),
            Idempotency::Unsaid | Idempotency::Off => serializer.serialize_bool(false),
        }
    }
}

/// How a catalog authenticates: by profile, and there by security scheme of the document.
pub type AuthProfiles = BTreeMap<ProfileName, BTreeMap<String, CatalogCredential>>;

/// The name of a way to authenticate: `default`, `staging`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ProfileName(String);

impl ProfileName {
    /// What one looks like, for messages.
    pub const EXPECTED: &'static str =
        "a profile such as `default`: lowercase letters, digits, `-` and `_`, at most 64";

    pub fn parse(text: &str) -> Option<ProfileName> {
        // The same grammar as that of a step.
        let id = milepost_model::id::StepId::parse(text).ok()?;
        Some(ProfileName(id.as_str().to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ProfileName {
    fn default() -> ProfileName {
        ProfileName("default".to_owned())
    }
}

/// What one security scheme is satisfied with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CatalogCredential {
    /// Which secret is which part of it.
    #[serde(flatten)]
    pub secrets: BTreeMap<CredentialField, SecretName>,
    /// How a client shows itself to the token server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_auth: Option<ClientAuth>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// The token server that a person trusts, when it lies elsewhere than the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}

named_enum! {
    /// A part of a credential.
    #[derive(PartialOrd, Ord)]
    CredentialField {
        Key = "key",
        Token = "token",
        Username = "username",
        Password = "password",
        ClientId = "client_id",
        ClientSecret = "client_secret",
    }
}

named_enum! {
    /// How a client shows itself to the token server.
    ClientAuth {
        /// By the `Authorization` header.
        Basic = "basic",
        /// In the body.
        Post = "post",
    }
}

/// The key of an operation in the name map.
pub fn operation_key(method: Method, path: &str) -> String {
    format!("{} {path}", method.name())
}
