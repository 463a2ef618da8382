//! `catalog.auth`: how a catalog authenticates, and with which secrets.

use std::collections::BTreeMap;

use milepost_catalog::command::SecurityScheme;
use milepost_model::suggest;
use milepost_store::catalogs::{
    CatalogCredential, CatalogRecord, ClientAuth, CredentialField, ProfileName,
};
use milepost_store::secrets::SecretName;

use crate::prelude::*;
use crate::trust;

/// What to show or change.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The catalog, by id or title.
    pub catalog_id: String,
    /// The profile; default `default`.
    pub profile: Option<String>,
    /// The security scheme to change; optional if there is only one. Nothing changes without
    /// `secrets` or `clear`.
    pub scheme: Option<String>,
    /// Maps each part (`key`, `token`, `username`, `password`, `client_id` or `client_secret`) to
    /// the name of a secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, String>,
    /// How the client authenticates to the token server: `basic` or `post`.
    pub client_auth: Option<String>,
    /// The scopes to request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The token's audience.
    pub audience: Option<String>,
    /// The token server to trust, if it is not on the API's host.
    pub authority: Option<String>,
    /// Removes the scheme's credentials.
    #[serde(default)]
    pub clear: bool,
}

/// How a catalog authenticates.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The catalog.
    pub catalog_id: String,
    /// The profile.
    pub profile: String,
    /// The schemes in its document, sorted by name.
    pub schemes: Vec<SchemeView>,
}

/// A scheme, and its credentials.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SchemeView {
    /// Its name in the document.
    pub scheme: String,
    /// A description of it.
    #[serde(rename = "kind")]
    pub described: String,
    /// The parts it accepts.
    pub takes: Vec<String>,
    /// The secret for each part.
    pub secrets: BTreeMap<String, String>,
    /// Named secrets that do not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

operation! {
    /// Shows or changes how a catalog authenticates.
    ConfigureAuth: "catalog.auth", "Show or set how a catalog authenticates",
        include_str!("auth.md");
    doors: [Door::Command("catalog auth")];
    run: configure_auth(Writer, Request) -> Response;
    example: {"catalog_id": "shop", "scheme": "bearer", "secrets": {"token": "SHOP_TOKEN"}};
}

async fn configure_auth(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    let was_clean = trust::folder::report(&writer.reader)?.is_clean();
    let shelf = &writer.reader.shelf;
    let mut record = shelf.record(&request.catalog_id)?;
    let schemes = shelf.load(&record)?.face()?.schemes();
    let profile = profile(request.profile.as_deref())?;
    if let Some(scheme) = chosen(&request, &schemes)? {
        let Some(known) = schemes.get(scheme) else {
            return Err(no_scheme(scheme, &schemes));
        };
        let credential = (!request.clear).then(|| credential(&request, known)).transpose()?;
        if let Some(said) = &credential {
            names_of_secrets(writer, said)?;
        }
        let saved = writer.catalogs.change_auth(&record.id, |auth| {
            let of_profile = auth.entry(profile.clone()).or_default();
            // New settings are added to the existing ones.
            let before = of_profile.remove(scheme);
            if let Some(said) = credential {
                let whole = match before {
                    Some(before) => added(before, said),
                    None => said,
                };
                of_profile.insert(scheme.to_owned(), whole);
            }
            auth.retain(|_, schemes| !schemes.is_empty());
        });
        saved.or_problem()?;
        record = shelf.record(record.id.as_str())?;
        trust::keep_trusted(writer, call, was_clean)?;
    }
    let kept = writer.vault()?.list().or_problem()?;
    let kept: Vec<&str> = kept.iter().map(|entry| entry.name.as_str()).collect();
    let items = schemes.iter().map(|(name, scheme)| item(name, scheme, &record, &profile, &kept));
    Ok(Response {
        catalog_id: record.id.to_string(),
        profile: profile.as_str().to_owned(),
        schemes: items.collect(),
    })
}

/// Parses a profile name.
pub(crate) fn profile(name: Option<&str>) -> Result<ProfileName> {
    let Some(name) = name else { return Ok(ProfileName::default()) };
    ProfileName::parse(name).ok_or_else(|| {
        let message = format!("`{}` is not a valid profile name", suggest::excerpt(name));
        Problem::new(Code::ParamsInvalid, message, "use lowercase letters, digits and `-`")
    })
}

/// The scheme that the request names or implies; `None` if it names none and changes nothing.
fn chosen<'r>(
    request: &'r Request,
    schemes: &'r BTreeMap<String, SecurityScheme>,
) -> Result<Option<&'r str>> {
    let changes = request.clear || !request.secrets.is_empty();
    let mut names = schemes.keys().map(String::as_str);
    match (&request.scheme, names.next(), names.next()) {
        (Some(scheme), ..) => Ok(Some(scheme)),
        (None, ..) if !changes => Ok(None),
        (None, Some(only), None) => Ok(Some(only)),
        (None, None, _) => {
            let hint = "the API needs no authentication";
            Err(Problem::new(
                Code::ParamsInvalid,
                "the document declares no security schemes",
                hint,
            ))
        }
        (None, Some(_), Some(_)) => {
            let names = suggest::list(schemes.keys().map(String::as_str));
            let hint = Hint::text("say which with ").argument("scheme").then(format!(": {names}"));
            Err(Problem::new(Code::ParamsInvalid, "the document has several schemes", hint))
        }
    }
}

/// Merges new credentials into the existing ones.
fn added(mut before: CatalogCredential, said: CatalogCredential) -> CatalogCredential {
    let ways: [&[CredentialField]; 2] = [
        &[CredentialField::Username, CredentialField::Password],
        &[CredentialField::ClientId, CredentialField::ClientSecret],
    ];
    // A different authentication method replaces the existing one.
    let same = |way: &&[CredentialField]| said.secrets.keys().all(|part| way.contains(part));
    match ways.iter().find(|way| same(way)) {
        Some(way) => before.secrets.retain(|part, _| way.contains(part)),
        None => before.secrets.clear(),
    }
    before.secrets.extend(said.secrets);
    CatalogCredential {
        secrets: before.secrets,
        client_auth: said.client_auth.or(before.client_auth),
        scopes: if said.scopes.is_empty() { before.scopes } else { said.scopes },
        audience: said.audience.or(before.audience),
        authority: said.authority.or(before.authority),
    }
}

/// Rejects a name that matches no secret and does not look like a name: it is probably the secret
/// itself.
fn names_of_secrets(writer: &Writer, said: &CatalogCredential) -> Result<()> {
    let kept = writer.vault()?.list().or_problem()?;
    for name in said.secrets.values().map(SecretName::as_str) {
        let known = kept.iter().any(|entry| entry.name.as_str() == name);
        let plain = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        if !known && (!plain || name.len() > 40) {
            let message = "no secret has this name, and the value does not look like a name";
            let hint = Hint::text(
                "give the NAME of a secret, such as SHOP_TOKEN, and set its value with ",
            )
            .call(Invocation::of("secret.set"))
            .then("; if this was the secret itself, rotate it");
            return Err(Problem::new(Code::SecretNotFound, message, hint));
        }
    }
    Ok(())
}

fn no_scheme(scheme: &str, schemes: &BTreeMap<String, SecurityScheme>) -> Problem {
    let names = schemes.keys().map(String::as_str);
    let hint = match suggest::closest(scheme, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if schemes.is_empty() => "the document declares none, so none is needed".to_owned(),
        None => format!("the document has {}", suggest::list(names)),
    };
    let message = format!("the document has no security scheme `{}`", suggest::excerpt(scheme));
    Problem::new(Code::ParamsInvalid, message, hint)
}

/// The parts that a scheme's credentials consist of.
fn takes(scheme: &SecurityScheme) -> &'static [CredentialField] {
    match scheme {
        SecurityScheme::ApiKey { .. } => &[CredentialField::Key],
        SecurityScheme::Basic => &[CredentialField::Username, CredentialField::Password],
        SecurityScheme::Bearer | SecurityScheme::Other { .. } => &[CredentialField::Token],
        SecurityScheme::ClientCredentials { .. } | SecurityScheme::OpenIdConnect { .. } => {
            &[CredentialField::ClientId, CredentialField::ClientSecret]
        }
    }
}

fn described(scheme: &SecurityScheme) -> String {
    match scheme {
        SecurityScheme::ApiKey { name, location } => {
            format!("key in the {} `{name}`", location.name())
        }
        SecurityScheme::Basic => "user and password".to_owned(),
        SecurityScheme::Bearer => "bearer token".to_owned(),
        SecurityScheme::ClientCredentials { token_url, .. } => {
            format!("OAuth 2 client credentials from {token_url}")
        }
        SecurityScheme::OpenIdConnect { url } => format!("OpenID Connect as described at {url}"),
        SecurityScheme::Other { kind } => format!("{kind}: a token can be given"),
    }
}

fn credential(request: &Request, scheme: &SecurityScheme) -> Result<CatalogCredential> {
    let takes = takes(scheme);
    let parts = || {
        let parts = takes.iter().map(|part| (part.name().to_owned(), "SECRET".into()));
        Hint::text("give ").given("secrets", parts.collect::<Map<String, Value>>())
    };
    let mut secrets = BTreeMap::new();
    for (part, name) in &request.secrets {
        // A ready-made token can replace the token server.
        let token = takes.contains(&CredentialField::ClientId);
        let fits = |known: &&CredentialField| {
            known.name() == part
                && (takes.contains(known) || (token && **known == CredentialField::Token))
        };
        let Some(part) = CredentialField::ALL.iter().find(fits) else {
            let message = format!("the scheme has no `{}`", suggest::excerpt(part));
            return Err(Problem::new(Code::ParamsInvalid, message, parts()));
        };
        let name = SecretName::parse(name).map_err(|error| {
            let hint = Hint::text("name a secret, such as SHOP_TOKEN; its value is set with ")
                .call(Invocation::of("secret.set"));
            Problem::new(Code::ParamsInvalid, error.to_string(), hint)
        })?;
        secrets.insert(*part, name);
    }
    if secrets.is_empty() {
        return Err(Problem::new(Code::ParamsInvalid, "no secret was given", parts()));
    }
    let client_auth = match request.client_auth.as_deref() {
        None => None,
        Some("basic") => Some(ClientAuth::Basic),
        Some("post") => Some(ClientAuth::Post),
        Some(other) => {
            let other = suggest::excerpt(other);
            let message = format!("`{other}` is not a client authentication method");
            return Err(Problem::new(Code::ParamsInvalid, message, "use `basic` or `post`"));
        }
    };
    Ok(CatalogCredential {
        secrets,
        client_auth,
        scopes: request.scopes.clone(),
        audience: request.audience.clone(),
        authority: request.authority.clone(),
    })
}

fn item(
    name: &str,
    scheme: &SecurityScheme,
    record: &CatalogRecord,
    profile: &ProfileName,
    kept: &[&str],
) -> SchemeView {
    let given = record.auth.get(profile).and_then(|schemes| schemes.get(name));
    let secrets = given.into_iter().flat_map(|credential| &credential.secrets);
    let secrets = secrets.map(|(part, name)| (part.name().to_owned(), name.as_str().to_owned()));
    let secrets: BTreeMap<String, String> = secrets.collect();
    let missing = secrets.values().filter(|name| !kept.contains(&name.as_str())).cloned();
    SchemeView {
        scheme: name.to_owned(),
        described: described(scheme),
        takes: takes(scheme).iter().map(|part| part.name().to_owned()).collect(),
        missing: missing.collect(),
        secrets,
    }
}
