//! Checks whether secrets can be read, and whether those that catalogs refer to exist. Names are
//! shown, but values never are.

use std::collections::BTreeSet;

use milepost_store::FileError;
use milepost_store::secrets::{SecretError, SecretName, Vault};

use super::{DoctorCheck, access, count, mended_or, or_ok};
use crate::prelude::*;

pub(super) fn checks(writer: &Writer) -> Vec<DoctorCheck> {
    // An invalid configuration has already been reported.
    let Ok(vault) = writer.vault() else {
        let what = "the secret store is unknown";
        let fix = "fix the configuration first, or set `secrets.backend` to `file`";
        return vec![DoctorCheck::fault("secret.store", what, fix)];
    };
    let number = match vault.list() {
        Ok(entries) => entries.len(),
        Err(error) => return vec![closed(&error)],
    };
    let what = match number {
        0 => "no secrets stored".to_owned(),
        number => format!("{}, all readable", count(number, "secret")),
    };
    let mut checks = vec![DoctorCheck::ok("secret.store", what)];
    checks.extend(or_ok(missing(writer, &vault), || {
        DoctorCheck::ok("secret.missing", "every secret that a catalog names exists")
    }));
    checks
}

fn closed(error: &SecretError) -> DoctorCheck {
    if let SecretError::File(error) = error {
        return unreachable(error);
    }
    let fix = match error {
        SecretError::KeyExposed { .. } => mended_or(""),
        _ => problems::secret_hint(error),
    };
    match error {
        SecretError::NeedsPassphrase { .. } => {
            DoctorCheck::warning("secret.store", error.to_string(), fix)
        }
        _ => DoctorCheck::fault("secret.store", error.to_string(), fix),
    }
}

/// Secrets that cannot be read may be intact and must not be discarded.
fn unreachable(error: &FileError) -> DoctorCheck {
    let what = problems::of_file(error).message;
    match error {
        FileError::Io { path, .. } | FileError::NotRegular { path } => {
            DoctorCheck::fault("secret.store", what, access(path)).at(path)
        }
        FileError::Outside { path } => {
            let fix = "replace the link with the file itself, and remove nothing else";
            DoctorCheck::fault("secret.store", what, fix).at(path)
        }
        _ => DoctorCheck::fault("secret.store", what, "restore the secrets from a copy"),
    }
}

fn missing(writer: &Writer, vault: &Vault) -> Vec<DoctorCheck> {
    let listing = writer.catalogs.list().unwrap_or_default();
    let mut found = Vec::new();
    for record in listing.records.iter().filter(|record| record.enabled) {
        let credentials = record.auth.values().flat_map(|schemes| schemes.values());
        let names: BTreeSet<&SecretName> =
            credentials.flat_map(|credential| credential.secrets.values()).collect();
        for name in names {
            if let Err(SecretError::NotFound { .. }) = vault.get(name) {
                let (id, name) = (&record.id, name.as_str());
                let what =
                    format!("catalog `{id}` names the secret `{name}`, which does not exist");
                let set = Invocation::of("secret.set").with("name", name);
                let fix = Hint::text("store it with ").call(set);
                let path = writer.catalogs.record_path(id);
                found.push(DoctorCheck::fault("secret.missing", what, fix).at(&path));
            }
        }
    }
    found
}
