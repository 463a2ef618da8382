//! A catalog's record: everything known about it besides its document. A record contains the names
//! of secrets, never their values.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use milepost_catalog::command::Method;
use milepost_model::id::CatalogId;
use milepost_model::serialized_enum;
use milepost_syntax::source::Format;
use serde::{Serialize, Serializer};
use url::Url;

use super::text;
use crate::secrets::SecretName;
use crate::settings::UnknownKey;
use crate::{Digest, PrivateHost};

/// Everything known about a catalog besides its document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogRecord {
    /// The id, which is also the group of its commands and the name of its files.
    #[serde(serialize_with = "as_text")]
    pub id: CatalogId,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Overrides the base URL in the document.
    #[serde(flatten)]
    pub base_url: Option<BaseUrl>,
    pub enabled: bool,
    /// Whether an agent imported it and no person has accepted it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_agent: bool,
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
    /// Credentials by profile and security scheme.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub auth: AuthProfiles,
    /// The name of each command by operation, such as `GET /orders`. Keeps names stable when the
    /// document changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// Unknown keys in the file.
    #[serde(skip)]
    pub warnings: Vec<UnknownKey>,
}

impl CatalogRecord {
    /// A record with only the required values.
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
            by_agent: false,
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

    /// The canonical string that a run pins: everything that affects a request, except what is
    /// looked up when the request is sent.
    pub fn pinned_text(&self) -> String {
        text::render(&CatalogRecord {
            enabled: true,
            by_agent: false,
            warnings: Vec::new(),
            ..self.clone()
        })
    }

    /// Parses the string that a run pinned.
    pub fn of_pinned(text: &str) -> Option<CatalogRecord> {
        text::parse(text.as_bytes()).ok()
    }

    /// The names of the secrets that a profile uses.
    pub fn credentials(&self, profile: &ProfileName) -> impl Iterator<Item = &SecretName> {
        let schemes = self.auth.get(profile).into_iter().flat_map(BTreeMap::values);
        schemes.flat_map(|credential| credential.secrets.values())
    }

    /// Whether a title refers to this catalog, ignoring case and spacing.
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

/// The base URL of an API, and who set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BaseUrl {
    #[serde(rename = "base_url")]
    pub url: String,
    #[serde(rename = "base_url_by")]
    pub by: GivenBy,
}

serialized_enum! {
    /// Who set a base URL.
    GivenBy {
        /// The user, who may point to a private host.
        User = "user",
        /// The document, which may not point to a private host.
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
    /// Parses a path or a URL. A URL with a user name or password is rejected, because it would be
    /// stored.
    pub fn parse(text: &str) -> Option<CatalogSource> {
        if text.starts_with("http://") || text.starts_with("https://") {
            return is_web_url(text).then(|| CatalogSource::Url(text.to_owned()));
        }
        let path = !text.is_empty() && !text.contains(|c: char| c.is_control());
        path.then(|| CatalogSource::File(PathBuf::from(text)))
    }

    /// The path, if the source is a file.
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

/// The origin that a string names, such as `https://api.example.com`.
pub(crate) fn origin(text: &str) -> Option<String> {
    is_web_url(text).then(|| Url::parse(text).ok())?.map(|url| url.origin().ascii_serialization())
}

/// Whether a string is an `http` or `https` URL without a user name or password.
pub(crate) fn is_web_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.username().is_empty()
            && url.password().is_none()
    })
}

/// Optional catalog settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CatalogOptions {
    /// How repeated requests are kept from taking effect twice.
    #[serde(rename = "idempotency_header")]
    pub idempotency: Idempotency,
}

impl CatalogOptions {
    fn is_empty(&self) -> bool {
        self.idempotency == Idempotency::Unsaid
    }
}

/// The header that keeps a repeated request from taking effect twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Idempotency {
    /// Not configured.
    #[default]
    Unsaid,
    /// The name of the header to send.
    Header(String),
    /// Never sent.
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

/// Credentials by profile, then by security scheme in the document.
pub type AuthProfiles = BTreeMap<ProfileName, BTreeMap<String, CatalogCredential>>;

/// The name of an authentication profile, such as `default` or `staging`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ProfileName(String);

impl ProfileName {
    /// The expected form, for messages.
    pub const EXPECTED: &'static str = "a profile such as `default`: \
        lowercase letters, digits, `-` and `_`, at most 64 characters";

    pub fn parse(text: &str) -> Option<ProfileName> {
        // Profile names have the same grammar as step ids.
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

/// The credential for one security scheme.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CatalogCredential {
    /// The secret for each part of the credential.
    #[serde(flatten)]
    pub secrets: BTreeMap<CredentialField, SecretName>,
    /// How the client authenticates to the token server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_auth: Option<ClientAuth>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// The trusted token server, if its origin differs from the API's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}

serialized_enum! {
    /// A part of a credential.
    CredentialField {
        Key = "key",
        Token = "token",
        Username = "username",
        Password = "password",
        ClientId = "client_id",
        ClientSecret = "client_secret",
    }
}

serialized_enum! {
    /// How a client authenticates to the token server.
    ClientAuth {
        /// In the `Authorization` header.
        Basic = "basic",
        /// In the request body.
        Post = "post",
    }
}

/// An operation's key in the map of names.
pub fn operation_key(method: Method, path: &str) -> String {
    format!("{} {path}", method.name())
}
