//! The record of a catalog: what is known of it beside its document. Names of secrets stand here,
//! never secrets.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use milepost_catalog::command::Method;
use milepost_model::id::CatalogId;
use milepost_model::source::Format;
use url::Url;

use super::text;
use crate::hosts::PrivateHost;
use crate::secrets::SecretName;
use crate::settings::UnknownKey;
use milepost_model::digest::Digest;

/// What is known of a catalog beside its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id, which is also the group of its commands and the name of its files.
    pub id: CatalogId,
    /// The name people see.
    pub title: String,
    /// Whose API it is.
    pub vendor: Option<String>,
    /// Where the API is reached, instead of where its document says.
    pub base_url: Option<BaseUrl>,
    /// Whether its commands can be used.
    pub enabled: bool,
    /// Where the document came from.
    pub source: Source,
    /// The hash of the document as it was imported.
    pub source_sha256: Digest,
    /// How the document is written.
    pub format: Format,
    /// Private hosts that this catalog may call.
    pub allow_private: Vec<PrivateHost>,
    /// What else is chosen for it.
    pub options: Options,
    /// How it authenticates, by profile and by security scheme.
    pub auth: Auth,
    /// The name of each command by its operation: `GET /orders`. It keeps names as they are when
    /// the document changes.
    pub names: BTreeMap<String, String>,
    /// Keys of the file that mean nothing.
    pub warnings: Vec<UnknownKey>,
}

impl Record {
    /// A record that says no more than it must.
    pub fn new(id: CatalogId, title: String, source: Source, format: Format) -> Record {
        Record {
            id,
            title,
            vendor: None,
            base_url: None,
            enabled: true,
            source,
            source_sha256: Digest::of(b""),
            format,
            allow_private: Vec::new(),
            options: Options::default(),
            auth: Auth::new(),
            names: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// The text that a run pins: all that a request is made with, and nothing that is read live.
    pub fn pinned_text(&self) -> String {
        text::render(&Record { enabled: true, warnings: Vec::new(), ..self.clone() })
    }

    /// The record of a text that a run has pinned.
    pub fn of_pinned(text: &str) -> Option<Record> {
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

fn folded(title: &str) -> String {
    let words: Vec<String> = title.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Where an API is reached, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// The URL.
    pub url: String,
    /// Who gave it.
    pub by: GivenBy,
}

/// Who gave a base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenBy {
    /// The user, who may mean a private host.
    User,
    /// The document, which may not.
    Document,
}

impl GivenBy {
    /// The word in the file.
    pub fn name(self) -> &'static str {
        match self {
            GivenBy::User => "user",
            GivenBy::Document => "document",
        }
    }
}

/// Where a document came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A URL.
    Url(String),
}

impl Source {
    /// Reads a path or a URL. A URL with a user or a password in it is none: they would be
    /// written down.
    pub fn parse(text: &str) -> Option<Source> {
        if text.starts_with("http://") || text.starts_with("https://") {
            return is_web_url(text).then(|| Source::Url(text.to_owned()));
        }
        let path = !text.is_empty() && !text.contains(|c: char| c.is_control());
        path.then(|| Source::File(PathBuf::from(text)))
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Source::File(path) => Some(path),
            Source::Url(_) => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Url(url) => f.write_str(url),
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// What keeps a repeated request from being carried out twice.
    pub idempotency: Idempotency,
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

/// How a catalog authenticates: by profile, and there by security scheme of the document.
pub type Auth = BTreeMap<ProfileName, BTreeMap<String, Credential>>;

/// The name of a way to authenticate: `default`, `staging`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileName(String);

impl ProfileName {
    /// What one looks like, for messages.
    pub const EXPECTED: &'static str =
        "a profile such as `default`: lowercase letters, digits, `-` and `_`, at most 64";

    /// Checks a text.
    pub fn parse(text: &str) -> Option<ProfileName> {
        // The same grammar as that of a step.
        let id = milepost_model::id::StepId::parse(text).ok()?;
        Some(ProfileName(id.as_str().to_owned()))
    }

    /// The text.
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credential {
    /// Which secret is which part of it.
    pub secrets: BTreeMap<Part, SecretName>,
    /// How a client shows itself to the token server.
    pub client_auth: Option<ClientAuth>,
    /// The scopes to ask for.
    pub scopes: Vec<String>,
    /// Whom the token is for.
    pub audience: Option<String>,
    /// The token server that a person trusts, when it lies elsewhere than the API.
    pub authority: Option<String>,
}

/// A part of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the words of HTTP and OAuth 2")]
pub enum Part {
    Key,
    Token,
    Username,
    Password,
    ClientId,
    ClientSecret,
}

impl Part {
    /// Every part.
    pub const ALL: &'static [Part] = &[
        Part::Key,
        Part::Token,
        Part::Username,
        Part::Password,
        Part::ClientId,
        Part::ClientSecret,
    ];

    /// The word in the file.
    pub fn name(self) -> &'static str {
        match self {
            Part::Key => "key",
            Part::Token => "token",
            Part::Username => "username",
            Part::Password => "password",
            Part::ClientId => "client_id",
            Part::ClientSecret => "client_secret",
        }
    }
}

/// How a client shows itself to the token server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// By the `Authorization` header.
    Basic,
    /// In the body.
    Post,
}

impl ClientAuth {
    /// The word in the file.
    pub fn name(self) -> &'static str {
        match self {
            ClientAuth::Basic => "basic",
            ClientAuth::Post => "post",
        }
    }
}

/// The key of an operation in the name map.
pub fn operation_key(method: Method, path: &str) -> String {
    format!("{} {path}", method.name())
}
