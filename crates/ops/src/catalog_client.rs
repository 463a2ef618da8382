//! A catalog's client, which sends commands with the catalog's credentials and previews requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use milepost_catalog::command::ApiCommand;
use milepost_catalog::import::usable;
use milepost_catalog::request::{Payload, Piece, Request};
use milepost_model::secret::Secret;
use milepost_outbound::{
    ApiCall as Outbound, ApiClient, ApiResponse, Authenticator, CallError, CallRetry, Client,
    ClientCredential, ClientStyle, Credential, CredentialValue, Outgoing, Policy, SecretSource,
    SecretSourceError, SendOptions,
};
use milepost_store::Config;
use milepost_store::catalogs::{
    CatalogRecord, CatalogSource, ClientAuth, CredentialField, GivenBy, ProfileName,
};
use milepost_store::secrets::{SecretError as StoreError, SecretName, Vault};
use url::{Origin, Url};

use crate::catalog_cache::LoadedCatalog;
use crate::prelude::*;

/// The client for one catalog's commands, with one profile.
pub(crate) struct CatalogClient {
    api: ApiClient,
    pub(crate) base: Url,
}

impl std::fmt::Debug for CatalogClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

/// The secrets for one origin; none without a vault, since previews show only their names.
struct Bound {
    vault: Option<Arc<Vault>>,
    origin: Origin,
}

impl Bound {
    fn read(
        &self,
        name: &str,
        read: fn(&Vault, &SecretName, &Origin) -> Result<Secret, StoreError>,
    ) -> Result<Secret, SecretSourceError> {
        let missing = || SecretSourceError::Missing { name: name.to_owned() };
        let parsed = SecretName::parse(name).map_err(|_| missing())?;
        let vault = self.vault.as_ref().ok_or_else(missing)?;
        read(vault, &parsed, &self.origin).map_err(|error| match error {
            StoreError::NotFound { .. } => missing(),
            other => {
                SecretSourceError::Unreadable { name: name.to_owned(), why: other.to_string() }
            }
        })
    }
}

impl SecretSource for Bound {
    fn secret(&self, name: &str) -> Result<Secret, SecretSourceError> {
        self.read(name, Vault::get_for)
    }

    fn identifier(&self, name: &str) -> Result<String, SecretSourceError> {
        Ok(self.read(name, Vault::identifier_for)?.reveal().to_owned())
    }
}

impl CatalogClient {
    /// The client for a catalog, or for a version that runs are pinned to. The private hosts that
    /// it may call are those of the current catalog in either case. Without a vault, it can preview
    /// requests, but has no secrets to send them with.
    pub(crate) fn open(
        loaded: &LoadedCatalog,
        live: &CatalogRecord,
        config: &Config,
        vault: Option<Arc<Vault>>,
        profile: &ProfileName,
    ) -> Result<CatalogClient> {
        let record = &loaded.record;
        let base = base(record)?;
        let mut policy = Policy::public();
        // What nobody accepted gets no credentials and reaches no private host of its own choice.
        // A preview shows the request as it would be if somebody did.
        let is_accepted =
            vault.is_none() || config.standing.accepts(record, loaded.document_hash()?);
        let asked = live.allow_private.iter().filter(|_| is_accepted);
        for host in config.allow_private.iter().chain(asked) {
            // Cannot fail: both lists were parsed when they were read.
            let _ = policy.allow_private(&host.to_string());
        }
        let is_typed = record.base_url.as_ref().is_some_and(|base| base.by == GivenBy::User);
        if is_accepted && is_typed {
            policy.allow_url(&base);
        }
        let given = record.auth.get(profile).filter(|_| is_accepted).into_iter().flatten();
        let credentials: BTreeMap<String, Credential> = given
            .filter_map(|(scheme, credential)| Some((scheme.clone(), of_record(credential)?)))
            .collect();
        let secrets = Arc::new(Bound { vault, origin: base.origin() });
        let schemes = loaded.face()?.schemes();
        let auth =
            Authenticator::new(record.id.clone(), base.clone(), schemes, credentials, secrets);
        Ok(CatalogClient { api: ApiClient { client: Client::new(policy), auth }, base })
    }

    /// Sends a request that was built for a command.
    pub(crate) async fn send(
        &self,
        command: &ApiCommand,
        request: &Outgoing,
        mut sending: SendOptions,
        retry: &CallRetry,
    ) -> Result<ApiResponse, CallError> {
        sending.route = Some(command.path.clone());
        let security = &command.security;
        self.api.call(Outbound { request, security, retry, sending }).await
    }

    /// The names of the secrets that a command would be sent with.
    pub(crate) fn can_authenticate(&self, command: &ApiCommand) -> Result<Vec<String>> {
        let choice = self.api.auth.choose(&command.security).or_problem()?;
        Ok(self.api.auth.secrets_of(&choice))
    }

    /// The secrets that a command would be sent with, and where they are written; none if it cannot
    /// be authenticated.
    pub(crate) fn credential_uses(&self, command: &ApiCommand) -> Vec<(String, String)> {
        let choice = self.api.auth.choose(&command.security).unwrap_or_default();
        self.api.auth.places_of(&choice)
    }

    /// The secrets that a command is sent with, and the origin that they are sent to.
    pub(crate) fn credential_places(&self, command: &ApiCommand) -> Vec<(String, Origin)> {
        let names = self.can_authenticate(command).unwrap_or_default();
        names.into_iter().map(|name| (name, self.base.origin())).collect()
    }

    /// The request as it would be sent, with placeholders for secrets.
    pub(crate) fn preview(&self, command: &ApiCommand, request: &Outgoing) -> Result<Outgoing> {
        let auth = &self.api.auth;
        let choice = auth.choose(&command.security).unwrap_or_default();
        auth.preview(request, &choice).or_problem()
    }
}

/// The base URL of a catalog; nothing can be sent without one.
pub(crate) fn base(record: &CatalogRecord) -> Result<Url> {
    let url = record.base_url.as_ref().and_then(|base| Url::parse(&base.url).ok());
    url.ok_or_else(|| problems::no_base_url(&record.id))
}

/// The base URL of a command: one of its own servers, unless a person has set the API's URL.
pub(crate) fn base_of(loaded: &LoadedCatalog, command: &ApiCommand) -> Result<Url> {
    let base = base(&loaded.record)?;
    let said = loaded.record.base_url.as_ref();
    let api = loaded.face()?;
    if said.is_some_and(|said| said.by == GivenBy::User) || command.servers == api.servers() {
        return Ok(base);
    }
    let source = match &loaded.record.source {
        CatalogSource::Url(url) => Url::parse(url).ok(),
        CatalogSource::File(_) => None,
    };
    let mut own = command.servers.iter();
    let own = own.find_map(|server| usable(server, source.as_ref()).ok());
    Ok(own.unwrap_or(base))
}

fn of_record(credential: &milepost_store::catalogs::CatalogCredential) -> Option<Credential> {
    let name =
        |part: CredentialField| credential.secrets.get(&part).map(|name| name.as_str().to_owned());
    if let (Some(id), Some(secret)) =
        (name(CredentialField::ClientId), name(CredentialField::ClientSecret))
    {
        return Some(Credential::Client(ClientCredential {
            id: CredentialValue::Secret(id),
            secret,
            style: match credential.client_auth {
                Some(ClientAuth::Post) => ClientStyle::Post,
                Some(ClientAuth::Basic) | None => ClientStyle::Basic,
            },
            scopes: (!credential.scopes.is_empty()).then(|| credential.scopes.clone()),
            audience: credential.audience.clone(),
            authority: credential.authority.as_deref().and_then(|url| Url::parse(url).ok()),
        }));
    }
    if let Some(user) = name(CredentialField::Username) {
        return Some(Credential::Basic {
            user: CredentialValue::Secret(user),
            password: name(CredentialField::Password),
        });
    }
    let secret = name(CredentialField::Key).or_else(|| name(CredentialField::Token))?;
    Some(Credential::Key { secret })
}

/// Converts a request for the client; its files must already have been read.
pub(crate) fn outgoing(request: &Request) -> Outgoing {
    let headers = request.all_headers();
    Outgoing {
        method: request.method.name().to_owned(),
        url: request.url.clone(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.into_owned())).collect(),
        body: request.body.as_ref().map_or_else(Bytes::new, bytes),
    }
}

fn bytes(payload: &Payload) -> Bytes {
    let mut bytes = Vec::new();
    for piece in payload.pieces() {
        match piece {
            Piece::Bytes(part) => bytes.extend_from_slice(&part),
            // Files have been read by now; any that remain are shown as their paths.
            Piece::File(path) => bytes.extend_from_slice(format!("<the file {path}>").as_bytes()),
        }
    }
    bytes.into()
}
