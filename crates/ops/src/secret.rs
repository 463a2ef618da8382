//! Operations on secrets. Names are shown, but values never are. None of the operations is
//! available to models.

use milepost_model::secret::Secret;
use milepost_model::suggest;
use milepost_store::secrets::{SecretEntry, SecretError, SecretName};
use milepost_store::{GrantSubject, SecretGrant, SecretPlace};
use url::{Origin, Url};

use crate::catalog_client;
use crate::masked_values;
use crate::prelude::*;
use crate::trust;

/// A secret, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretItem {
    /// Its name.
    pub name: String,
    /// Where it is stored: `file`, `keyring` or `env`.
    pub from: String,
    /// Whether an environment variable hides a stored secret.
    pub shadowed: bool,
    /// The only origin that it is sent to, if it is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// Lists every secret by name.
pub fn list(writer: &Writer) -> Result<Vec<SecretItem>> {
    let entries = writer.vault()?.list().or_problem()?;
    let item = |entry: SecretEntry| SecretItem {
        name: entry.name.as_str().to_owned(),
        from: entry.from.name().to_owned(),
        shadowed: entry.shadowed,
        origin: entry.origin,
    };
    Ok(entries.into_iter().map(item).collect())
}

/// Checks a name and an origin before the value is read.
pub fn check(name: &str, origin: Option<&str>) -> Result<()> {
    parsed(name)?;
    origin.map(origin_of).transpose().map(drop)
}

/// Stores a secret, bound to an origin if one is given.
pub fn set(writer: &Writer, name: &str, value: Secret, origin: Option<&str>) -> Result<()> {
    let name = parsed(name)?;
    let origin = origin.map(origin_of).transpose()?;
    masked_values::refuse_in_text("value", value.reveal())?;
    writer.vault()?.set(&name, value, origin.as_ref()).or_problem()
}

/// Allows a secret to be sent in a field of a command's requests, to where the command goes now.
/// Returns what is allowed.
pub fn allow(
    writer: &Writer,
    call: &dyn Caller,
    name: &str,
    command: &str,
    field: &str,
) -> Result<String> {
    let secret = parsed(name)?.as_str().to_owned();
    let (loaded, row) = writer.reader.shelf.command(command)?;
    let prepared = loaded.prepared(row)?;
    let origin = catalog_client::base_of(&loaded, prepared.command())?.origin();
    let place = SecretPlace { command: prepared.command().id.to_string(), field: field.to_owned() };
    let grant = SecretGrant { secret, origin: origin.ascii_serialization(), place: Some(place) };
    let line = grant.line();
    trust::grants::give(writer, call, GrantSubject::Secret(grant), &line)?;
    Ok(line)
}

/// Removes a secret.
pub fn remove(writer: &Writer, name: &str) -> Result<()> {
    let removed = writer.vault()?.remove(&parsed(name)?);
    removed.map_err(|error| match error {
        SecretError::NotFound { .. } => none_to_remove(writer, name, &error),
        error => problems::of_secret(&error),
    })
}

/// The problem when the secret to remove does not exist. Unlike elsewhere, the hint must not
/// suggest setting it.
fn none_to_remove(writer: &Writer, name: &str, error: &SecretError) -> Problem {
    let all = list(writer).unwrap_or_default();
    let meant = suggest::closest(name, all.iter().map(|item| item.name.as_str()));
    let all = Hint::text("list them with ").call(Invocation::of("secret.list"));
    let hint = meant.map_or(all, problems::meant);
    let message = format!("there is no secret `{name}`");
    Problem { message, hint, ..problems::of_secret(error) }
}

fn origin_of(text: &str) -> Result<Origin> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.map(|url| url.origin()).ok_or_else(|| {
        let message = format!("`{}` is not an http or https URL", suggest::excerpt(text));
        Problem::new(Code::ParamsInvalid, message, "write it as https://api.example.com")
    })
}

fn parsed(name: &str) -> Result<SecretName> {
    SecretName::parse(name).map_err(|error| {
        let hint = "use letters, digits, `_`, `-` and `.`, such as SHOP_TOKEN";
        Problem::new(Code::ParamsInvalid, error.to_string(), hint)
    })
}
