//! Reads a document that the caller named: a file or a URL, and the files it refers to. The kind of
//! caller determines what may be read.

use milepost_catalog::bundle::{Bundle, Bundled, FetchedFile};
use milepost_catalog::document::ParsedDocument;
use milepost_catalog::finding::{DocumentFinding, DocumentRule};
use milepost_catalog::openapi::Api;
use milepost_outbound::{Client, Outgoing, Policy, SendOptions};
use milepost_store::catalogs::CatalogSource;
use milepost_store::{Config, LocalSource, ReferenceRoot, SourceError, Trust};
use url::Url;

use crate::prelude::*;

/// Where a document is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceType {
    /// A local file.
    Path,
    /// A URL.
    Url,
}

/// A document that the caller named, and how it may be read.
#[derive(Debug, Clone)]
pub(crate) struct DocumentSource<'a> {
    pub(crate) source: &'a str,
    pub(crate) source_type: Option<SourceType>,
    /// Hosts that references may point to.
    pub(crate) allow_refs: &'a [String],
    /// The folder that references must stay in; only a person can set it.
    pub(crate) refs_root: Option<&'a str>,
}

/// A document that has been read.
#[derive(Debug)]
pub(crate) struct SourceDocument {
    /// The document, with everything it refers to.
    pub(crate) bundled: Bundled,
    /// Where it came from, for the catalog's record.
    pub(crate) origin: CatalogSource,
    /// The URL that it was read from, if any.
    pub(crate) url: Option<Url>,
}

/// Why a document could not be used.
#[derive(Debug)]
pub(crate) enum SourceFailure {
    /// It cannot be read.
    Problem(Problem),
    /// It was read, but is not an OpenAPI document.
    NotADocument(DocumentFinding),
}

impl From<Problem> for SourceFailure {
    fn from(problem: Problem) -> SourceFailure {
        SourceFailure::Problem(problem)
    }
}

impl DocumentSource<'_> {
    /// Reads the document, and everything it refers to.
    pub(crate) async fn read(
        &self,
        reader: &Reader,
        call: &dyn Caller,
    ) -> Result<SourceDocument, SourceFailure> {
        call.progress(&format!("reading {}", self.source));
        let seen = || if self.source.contains("://") { SourceType::Url } else { SourceType::Path };
        match self.source_type.unwrap_or_else(seen) {
            SourceType::Url => self.read_url(reader, call).await,
            SourceType::Path => self.read_path(reader, call).await,
        }
    }

    async fn read_url(
        &self,
        reader: &Reader,
        call: &dyn Caller,
    ) -> Result<SourceDocument, SourceFailure> {
        let url = Url::parse(self.source).map_err(|_| {
            let message = format!("`{}` is not a URL", self.source);
            Problem::new(Code::SourceUnreadable, message, "give a path or an https:// URL")
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            let message = "the URL contains a user name or password";
            let hint = "download the document and give the file's path";
            return Err(Problem::new(Code::SourceUnreadable, message, hint).into());
        }
        let config = reader.config()?;
        let client = Client::new(policy(&config, call, Some(&url)));
        let bytes = fetch(&client, &url).await?;
        let origin = CatalogSource::Url(without_tokens(&url).to_string());
        let mut bundle = begin(bytes)?;
        while let Some(file) = bundle.wanted() {
            let fetched = self.follow(&client, &url, &file).await;
            bundle.add(&file, fetched);
        }
        finish(bundle, origin, Some(url))
    }

    /// Fetches a file that a document at a URL refers to.
    async fn follow(&self, client: &Client, from: &Url, file: &str) -> FetchedFile {
        let Ok(url) = from.join(file) else {
            return FetchedFile::Missing("it is not a URL".to_owned());
        };
        if !matches!(url.scheme(), "http" | "https") {
            return FetchedFile::Refused("only http and https URLs are supported".to_owned());
        }
        if url.origin() != from.origin() && !self.allows(&url) {
            return FetchedFile::Missing(not_allowed(&url));
        }
        fetched(client, &url).await
    }

    async fn read_path(
        &self,
        reader: &Reader,
        call: &dyn Caller,
    ) -> Result<SourceDocument, SourceFailure> {
        let config = reader.config()?;
        let locations = &reader.locations;
        let trust = match (call.kind(), self.refs_root) {
            (CallerKind::Person, root) => Trust::user(locations, root.map(AsRef::as_ref)),
            (CallerKind::Agent, _) => Trust::agent(locations, &config),
        };
        let opened = LocalSource::open(self.source.as_ref(), &trust).or_problem()?;
        let LocalSource { path, bytes, mut references } = opened;
        let client = Client::new(policy(&config, call, None));
        let mut bundle = begin(bytes)?;
        while let Some(file) = bundle.wanted() {
            let fetched = self.follow_file(&client, &mut references, &file).await;
            bundle.add(&file, fetched);
        }
        finish(bundle, CatalogSource::File(path), None)
    }

    /// Fetches a file that a local document refers to.
    async fn follow_file(
        &self,
        client: &Client,
        files: &mut ReferenceRoot,
        file: &str,
    ) -> FetchedFile {
        if let Ok(url) = Url::parse(file) {
            if !matches!(url.scheme(), "http" | "https") {
                let why = "it was not opened: only files near the document and URLs are read";
                return FetchedFile::Refused(why.to_owned());
            }
            if !self.allows(&url) {
                return FetchedFile::Missing(not_allowed(&url));
            }
            return fetched(client, &url).await;
        }
        match files.read(file) {
            Ok(bytes) => FetchedFile::Bytes(bytes.to_vec()),
            Err(error @ (SourceError::Reference { .. } | SourceError::NotOpen { .. })) => {
                FetchedFile::Refused(format!("it was not opened: {error}"))
            }
            Err(error) => FetchedFile::Missing(error.to_string()),
        }
    }

    fn allows(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        self.allow_refs.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
    }
}

fn not_allowed(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    format!("references to {host} are not followed unless `allow_refs` names it")
}

/// Where documents may be read from. A URL that a person typed may point anywhere.
fn policy(config: &Config, call: &dyn Caller, url: Option<&Url>) -> Policy {
    let mut policy = Policy::public();
    for host in &config.allow_private {
        // Cannot fail: it was parsed when the configuration was read.
        let _ = policy.allow_private(&host.to_string());
    }
    if let (CallerKind::Person, Some(url)) = (call.kind(), url) {
        policy.allow_url(url);
    }
    policy
}

/// A URL as it is stored: without parameters that look like credentials.
fn without_tokens(url: &Url) -> Url {
    let words = ["token", "key", "secret", "sig", "auth", "password", "credential"];
    let is_secret = |name: &str| words.iter().any(|word| name.to_ascii_lowercase().contains(word));
    let kept: Vec<_> = url.query_pairs().filter(|(name, _)| !is_secret(name)).collect();
    let mut shown = url.clone();
    shown.set_query(None);
    if !kept.is_empty() {
        shown.query_pairs_mut().extend_pairs(kept);
    }
    shown
}

async fn fetched(client: &Client, url: &Url) -> FetchedFile {
    let fetched = fetch(client, url).await.map(FetchedFile::Bytes);
    fetched.unwrap_or_else(|problem| FetchedFile::Missing(problem.message))
}

async fn fetch(client: &Client, url: &Url) -> Result<Vec<u8>> {
    let request = Outgoing::get(url.clone())
        .header("Accept", "application/json, application/yaml, */*;q=0.5");
    let body_bytes = milepost_catalog::limits::DOCUMENT_BYTES;
    let sending = SendOptions { body_bytes, ..SendOptions::default() };
    let response = client.send(&request, &sending).await.or_problem()?;
    if !(200..300).contains(&response.status) {
        let message = format!("`{url}` returned status {}", response.status);
        let hint = "check the URL, or download the document and give the file's path";
        let problem = Problem::new(Code::SourceUnreadable, message, hint);
        return Err(problem.context("status", response.status));
    }
    Ok(response.body.to_vec())
}

fn begin(bytes: Vec<u8>) -> Result<Bundle, SourceFailure> {
    let reading = ParsedDocument::read_owned(bytes).map_err(|error| not_a_document(&error))?;
    Ok(Bundle::new(reading))
}

fn not_a_document(error: &milepost_catalog::document::Unreadable) -> SourceFailure {
    SourceFailure::NotADocument(of_whole(DocumentRule("unreadable"), error))
}

/// A finding about a document as a whole.
fn of_whole(rule: DocumentRule, error: &impl ToString) -> DocumentFinding {
    DocumentFinding { path: String::new(), rule, message: error.to_string() }
}

fn finish(
    bundle: Bundle,
    origin: CatalogSource,
    url: Option<Url>,
) -> Result<SourceDocument, SourceFailure> {
    let bundled = bundle.finish().map_err(|error| not_a_document(&error))?;
    Ok(SourceDocument { bundled, origin, url })
}

/// The API described by a document, with its findings.
pub(crate) fn api(
    bundled: Bundled,
) -> Result<(Api, Vec<DocumentFinding>, Vec<DocumentFinding>), DocumentFinding> {
    let (warnings, violations) = (bundled.warnings, bundled.violations);
    let api = Api::new(bundled.reading);
    let api = api.map_err(|error| of_whole(DocumentRule::VERSION, &error))?;
    Ok((api, warnings, violations))
}
