//! What a person granted: shown, given and revoked.

use milepost_driver::clock::now_ms;
use milepost_engine::event::Presence;
use milepost_model::serialized_enum;
use milepost_store::{Grant, GrantError, GrantSubject};

use crate::prelude::*;
use crate::run::person;

serialized_enum! {
    GrantKind {
        /// A folder may act.
        Folder = "folder",
        /// A secret may be sent somewhere.
        Secret = "secret",
        /// A workflow was reviewed.
        Reviewed = "reviewed",
    }
}

/// A grant, as shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrantView {
    /// Its short name, for revoking it.
    pub id: String,
    pub kind: GrantKind,
    /// What it allows, as a sentence without a subject.
    pub allows: String,
    /// How the person proved their presence: `terminal`, `elicitation` or `pin`.
    pub presence: Presence,
    pub at: String,
}

impl GrantView {
    fn of(grant: &Grant) -> GrantView {
        let (kind, allows) = match &grant.subject {
            GrantSubject::Folder(folder) => {
                (GrantKind::Folder, format!("trust this folder: {}", folder.folder.display()))
            }
            GrantSubject::Secret(secret) => (GrantKind::Secret, secret.line()),
            GrantSubject::Reviewed(reviewed) => {
                let alone = if reviewed.alone { "; it may run alone" } else { "" };
                (
                    GrantKind::Reviewed,
                    format!("run {} as it was reviewed{alone}", reviewed.workflow),
                )
            }
        };
        let at = milepost_engine::time::rfc3339(grant.at_ms);
        GrantView { id: grant.id(), kind, allows, presence: grant.presence, at }
    }
}

/// Every grant that counts.
pub fn list(writer: &Writer) -> Result<Vec<GrantView>> {
    let valid = writer.reader.grants.valid().or_problem()?;
    Ok(valid.iter().map(GrantView::of).collect())
}

/// Revokes the grants whose short names start like this, and returns them. Anybody may revoke.
pub fn revoke(writer: &Writer, id: &str) -> Result<Vec<GrantView>> {
    let meant = |grant: &Grant| !id.is_empty() && grant.id().starts_with(id);
    let removed = writer.reader.grants.revoke(meant).or_problem()?;
    if removed.is_empty() {
        let message = format!("there is no grant `{id}`");
        let hint = Hint::text("list them with ").call(Invocation::of("grants"));
        return Err(Problem::new(Code::ParamsInvalid, message, hint));
    }
    Ok(removed.iter().map(GrantView::of).collect())
}

/// Records what a person allows. If a PIN is set, they sign it: `deed` completes "PIN to …".
pub(crate) fn give(
    writer: &Writer,
    call: &dyn Caller,
    subject: GrantSubject,
    deed: &str,
) -> Result<Grant> {
    person::only_a_person(call, "only a person can allow this", Invocation::of("grants"))?;
    let of_person = person::of(writer);
    let mut grant = Grant {
        subject,
        principal: call.principal().unwrap_or_default().to_owned(),
        presence: Presence::Terminal,
        at_ms: now_ms(),
        signature: None,
    };
    if of_person.key().or_problem()?.is_some() {
        let signature = person::signed(&of_person, call, deed, &grant.signed_text())?;
        grant.signature = Some(signature);
        grant.presence = Presence::Pin;
    }
    writer.reader.grants.add(grant.clone()).or_problem()?;
    Ok(grant)
}

/// Converts an error about grants.
pub(crate) fn of_grants(error: &GrantError) -> Problem {
    let message = error.to_string();
    match error {
        GrantError::File(error) => problems::of_file(error),
        GrantError::Person(error) => person::of_person(error),
        GrantError::Chain(error) => crate::run::errors::of_journal(error),
        GrantError::Damaged { .. } => {
            let hint = "remove the file, then allow again what you want to allow";
            Problem::new(Code::StorageFailed, message, hint)
        }
        GrantError::PersonMissing => {
            let hint = Hint::text("restore it from a backup, or set a PIN with ")
                .call(Invocation::of("person.set_pin"))
                .then(" and allow again what you want to allow");
            Problem::new(Code::PresenceRequired, message, hint)
        }
        GrantError::TooMany => {
            let hint = Hint::text("revoke some with ").call(Invocation::of("grants"));
            Problem::new(Code::StorageFailed, message, hint)
        }
    }
}
