//! What a project folder asks for. Asking gives it nothing: a person accepts it when they trust the
//! folder.

use std::path::{Path, PathBuf};

use crate::config::{source_root, variable};
use crate::grants::{SecretGrant, SecretPlace};
use crate::secrets::SecretName;
use crate::settings::{TomlError, TomlField, TomlTable, UnknownKey};
use crate::{PrivateHost, catalogs};

/// The `[asks]` of a project's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderAsks {
    pub private_hosts: Vec<PrivateHost>,
    pub variables: Vec<String>,
    /// Directories: as they are written, which is the same in every copy of the folder, and where
    /// they are.
    pub files: Vec<(String, PathBuf)>,
    pub secrets: Vec<SecretGrant>,
}

impl FolderAsks {
    pub(crate) fn read(
        mut table: TomlTable<'_>,
        folder: &Path,
        home: Option<&Path>,
        warnings: &mut Vec<UnknownKey>,
    ) -> Result<FolderAsks, TomlError> {
        let root = |text: &str| Some((text.to_owned(), source_root(text, folder, home)?));
        let private_hosts =
            table.parsed_list("private_hosts", PrivateHost::EXPECTED, PrivateHost::parse)?;
        let variables = table.parsed_list("variables", "the name of a variable", variable)?;
        let files = table.parsed_list("files", "a directory", root)?;
        let mut secrets = Vec::new();
        for field in table.take_as("secrets", TomlField::list)?.unwrap_or_default() {
            secrets.push(secret(field.table()?, warnings)?);
        }
        table.unknown(warnings);
        Ok(FolderAsks { private_hosts, variables, files, secrets })
    }

    /// Each of them as a sentence without a subject.
    pub fn lines(&self) -> Vec<String> {
        let hosts = self.private_hosts.iter().map(|host| format!("call the private host {host}"));
        let variables = self.variables.iter().map(|name| format!("read the variable {name}"));
        let files = self.files.iter().map(|(written, _)| format!("read files in {written}"));
        let secrets = self.secrets.iter().map(SecretGrant::line);
        hosts.chain(variables).chain(files).chain(secrets).collect()
    }
}

impl SecretGrant {
    /// What it allows, as a sentence without a subject.
    pub fn line(&self) -> String {
        let SecretGrant { secret, origin, place } = self;
        let place = place.as_ref().map(|place| format!(" in {} of {}", place.field, place.command));
        format!("send the secret {secret} to {origin}{}", place.unwrap_or_default())
    }
}

fn secret(
    mut table: TomlTable<'_>,
    warnings: &mut Vec<UnknownKey>,
) -> Result<SecretGrant, TomlError> {
    const ORIGIN: &str = "an origin such as `https://api.example.com`";
    let name = |text: &str| SecretName::parse(text).ok().map(|name| name.as_str().to_owned());
    let secret = table.need("secret")?.parsed(SecretName::EXPECTED, name)?;
    let origin = table.need("origin")?.parsed(ORIGIN, catalogs::origin)?;
    let command = table.parsed("command", "`group name`", filled)?;
    let field = table.parsed("field", "a field such as `body.key`", filled)?;
    let place = match (command, field) {
        (Some(command), Some(field)) => Some(SecretPlace { command, field }),
        (None, None) => None,
        (Some(_), None) => return Err(table.missing("field")),
        (None, Some(_)) => return Err(table.missing("command")),
    };
    table.unknown(warnings);
    Ok(SecretGrant { secret, origin, place })
}

fn filled(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}
