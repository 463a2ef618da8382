//! Where secrets may be sent.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use milepost_engine::command::StepCall;
use milepost_model::secret::{Mask, Secret, known_secrets};
use milepost_outbound::{Outgoing, SecretGuard};
use milepost_store::catalogs::CredentialField;
use milepost_store::secrets::{KnownSecret, SecretName};
use milepost_store::{Config, Grant, GrantSubject, SecretGrant, SecretPlace};
use url::Origin;

use crate::prelude::*;
use crate::run::secret_placeholders::SecretPlaceholders;

/// A use of `secret()` in a request.
#[derive(Debug)]
pub(crate) struct WantedSecret<'u> {
    pub(crate) name: &'u SecretName,
    /// The command, as `group name`.
    pub(crate) command: &'u str,
    /// The origin of the request that is sent.
    pub(crate) origin: &'u Origin,
}

impl WantedSecret<'_> {
    /// Fails unless a person allowed the secret in every field of the request that contains it.
    pub(crate) fn check(
        &self,
        writer: &Writer,
        call: &StepCall,
        placeholders: &SecretPlaceholders,
    ) -> Result<()> {
        let vault = writer.vault()?;
        if vault.is_bound_to(self.name, self.origin).or_problem()? {
            return Ok(());
        }
        let (grants, config) =
            (writer.reader.grants.valid().or_problem()?, writer.reader.live_config()?);
        for field in placeholders.fields(call, self.name.as_str()) {
            let place = SecretPlace { command: self.command.to_owned(), field };
            if !self.is_granted(&grants, &config, &place) {
                return Err(self.not_granted(&place));
            }
        }
        Ok(())
    }

    fn is_granted(&self, grants: &[Grant], config: &Config, place: &SecretPlace) -> bool {
        let origin = self.origin.ascii_serialization();
        let allows = |grant: &SecretGrant| {
            folded(&grant.secret) == self.name.in_environment()
                && grant.origin == origin
                && grant.place.as_ref().is_none_or(|allowed| allowed == place)
        };
        of_secrets(grants, config).any(allows)
    }

    fn not_granted(&self, place: &SecretPlace) -> Problem {
        let (name, origin) = (self.name.as_str(), self.origin.ascii_serialization());
        let SecretPlace { command, field } = place;
        let message = format!(
            "the secret `{name}` may not be sent to {origin} in `{field}` of `{command}`: \
             nobody has allowed it"
        );
        let allow = Invocation::of("secret.allow")
            .with("name", name)
            .with("command", command.as_str())
            .with("field", field.as_str());
        let hint = Hint::text("allow it with ").person(allow).then(", then resume the run");
        Problem::new(Code::SecretNotAllowed, message, hint)
            .context("secret", name)
            .context("origin", origin)
    }
}

/// What a person allowed for secrets, including what a trusted folder asked for.
fn of_secrets<'g>(
    grants: &'g [Grant],
    config: &'g Config,
) -> impl Iterator<Item = &'g SecretGrant> {
    let given = grants.iter().filter_map(|grant| match &grant.subject {
        GrantSubject::Secret(secret) => Some(secret),
        GrantSubject::Folder(_) | GrantSubject::Reviewed(_) => None,
    });
    let asked = config.asks.secrets.iter().filter(|_| config.standing.may_act());
    given.chain(asked)
}

/// Every secret of the user, and the origins that each may be sent to. It searches each finished
/// request, so that a secret that got into one in any other way is not sent.
#[derive(Debug)]
pub(crate) struct KnownSecrets {
    masks: Vec<(String, Mask)>,
    /// Pairs of a secret and an origin that it may be sent to.
    allowed: BTreeSet<(String, String)>,
}

/// The secrets of the last request, which are rarely others for the next one.
#[derive(Debug, Default)]
pub(crate) struct KnownSecretsCache(Mutex<Option<(KnownSecretsKey, Arc<KnownSecrets>)>>);

/// What the known secrets were derived from.
#[derive(Debug, PartialEq)]
struct KnownSecretsKey {
    secrets: Vec<KnownSecret>,
    grants: Arc<Vec<Grant>>,
    config: Arc<Config>,
}

impl KnownSecrets {
    /// The guard for a request that carries these secrets to these origins: the credentials of its
    /// catalog, and what its author wrote. `None` if there are no secrets.
    pub(crate) fn guard(
        writer: &Writer,
        own: Vec<(String, Origin)>,
    ) -> Result<Option<Arc<dyn SecretGuard>>> {
        // A store that cannot be opened yields no secret that could be sent.
        let mut secrets = writer.vault()?.known().unwrap_or_default();
        secrets.retain(|(_, secret, _)| is_sought(secret));
        if secrets.is_empty() {
            return Ok(None);
        }
        let key = KnownSecretsKey {
            secrets,
            grants: writer.reader.grants.valid().or_problem()?,
            config: writer.reader.live_config()?,
        };
        let mut cache = locked(&writer.known_secrets.0);
        let known = match cache.as_ref().filter(|(known, _)| *known == key) {
            Some((_, known)) => Arc::clone(known),
            None => {
                let public = public_parts(&writer.reader)?;
                let fresh = Arc::new(KnownSecrets::of(&key, &public));
                *cache = Some((key, Arc::clone(&fresh)));
                fresh
            }
        };
        let own = own.into_iter().map(|(name, to)| (folded(&name), to.ascii_serialization()));
        Ok(Some(Arc::new(RequestSecrets { known, own: own.collect() })))
    }

    fn of(key: &KnownSecretsKey, public: &BTreeSet<String>) -> KnownSecrets {
        let granted = of_secrets(&key.grants, &key.config);
        let granted = granted.map(|grant| (folded(&grant.secret), grant.origin.clone()));
        let bound = key.secrets.iter();
        let bound = bound.filter_map(|(name, _, to)| Some((folded(name.as_str()), to.clone()?)));
        let sought =
            key.secrets.iter().filter(|(name, ..)| !public.contains(&folded(name.as_str())));
        let masks = sought.map(|(name, secret, _)| {
            // An API may return any of them, whichever one it was given.
            known_secrets::register(name.as_str(), secret);
            let mut mask = Mask::guard();
            mask.add(name.as_str(), secret);
            (name.as_str().to_owned(), mask)
        });
        KnownSecrets { masks: masks.collect(), allowed: granted.chain(bound).collect() }
    }
}

/// The spelling of a secret's name that all of its spellings have in common.
fn folded(name: &str) -> String {
    SecretName::parse(name).map_or_else(|_| name.to_owned(), |name| name.in_environment())
}

/// The secrets that are only used as user names or client ids, which are no secrets: they may occur
/// anywhere.
fn public_parts(reader: &Reader) -> Result<BTreeSet<String>> {
    let (mut public, mut private) = (BTreeSet::new(), BTreeSet::new());
    for record in reader.shelf.listing()?.records {
        let credentials = record.auth.values().flat_map(|schemes| schemes.values());
        for (part, name) in credentials.flat_map(|credential| &credential.secrets) {
            let is_public = matches!(part, CredentialField::Username | CredentialField::ClientId);
            let names = if is_public { &mut public } else { &mut private };
            names.insert(folded(name.as_str()));
        }
    }
    Ok(public.difference(&private).cloned().collect())
}

/// Short values occur in requests by accident.
fn is_sought(secret: &Secret) -> bool {
    secret.reveal().trim().len() >= limits::GUARDED_SECRET_BYTES_MIN
}

#[derive(Debug)]
struct RequestSecrets {
    known: Arc<KnownSecrets>,
    own: BTreeSet<(String, String)>,
}

impl SecretGuard for RequestSecrets {
    fn refuses(&self, request: &Outgoing) -> Option<String> {
        let origin = request.url.origin().ascii_serialization();
        let contains = |mask: &Mask| {
            mask.finds(request.url.as_str())
                || request.headers.iter().any(|(_, value)| mask.finds(value))
                || mask.finds_bytes(&request.body)
        };
        let found = self.known.masks.iter().find(|(name, mask)| {
            let pair = (folded(name), origin.clone());
            !self.own.contains(&pair) && !self.known.allowed.contains(&pair) && contains(mask)
        });
        found.map(|(name, _)| name.clone())
    }
}
