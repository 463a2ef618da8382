//! The configuration file. Everything in it is optional, and so is the file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use milepost_model::id::WorkflowId;

use crate::file::{self, FileError};
use crate::hosts::PrivateHost;
use crate::limits;
use crate::locations::Locations;
use crate::settings::{self, TomlError, TomlField, TomlTable, UnknownKey};
use crate::stamp::{FileStamp, ObservedStamp};

/// What the configuration says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub allow_private: Vec<PrivateHost>,
    /// Directories that a model may name documents in, beside the project and the working
    /// directory.
    pub source_roots: Vec<PathBuf>,
    pub env_allow: Vec<String>,
    pub secrets: SecretsBackend,
    /// Days that the secret inputs of a run are kept for, sealed; none at all when 0.
    pub secret_inputs_days: Option<u64>,
    pub approvals: Approvals,
    /// What agents are asked to confirm, and who may carry the yes.
    pub confirm: Confirm,
    /// What a run may spend whose workflow does not say.
    pub budget: Budgets,
    pub warnings: Vec<UnknownKey>,
}

/// What is confirmed when an agent calls, where its client cannot ask the person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confirm {
    /// What destroys; the agent may carry the person's yes.
    #[default]
    Token,
    /// What changes something as well.
    Writes,
    /// What destroys; only the person can do it, with the command line.
    Person,
}

/// How runs are approved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    /// Workflows whose questions are answered with yes while nobody is there.
    pub unattended: Vec<WorkflowId>,
    /// What a person has to do at least to decide.
    pub presence: LeastPresence,
}

/// What a person has to do at least to decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeastPresence {
    /// Answer in the client that asks them, or type it on a terminal.
    #[default]
    Elicitation,
    /// Type it on a terminal.
    Terminal,
    /// Give the PIN.
    Pin,
}

/// What a run may spend; no bound where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budgets {
    pub http_calls: Option<u64>,
    pub writes: Option<u64>,
    pub attempts: Option<u64>,
}

/// Where secrets are kept. The environment is asked first whatever is chosen here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretsBackend {
    /// In an encrypted file.
    #[default]
    File,
    /// With the operating system.
    Keyring,
    /// Nowhere: the environment is all there is.
    Env,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] FileError),
    /// The file says what it must not.
    #[error("`{}`: {fault}", path.display())]
    Fault { path: PathBuf, fault: TomlError },
}

const KEYS: &[&str] =
    &["allow_private", "source_roots", "env_allow", "secrets", "approvals", "confirm", "budget"];
const CONFIRM: &str = "`token`, `writes` or `person`";
const APPROVALS_KEYS: &[&str] = &["unattended", "presence"];
const PRESENCE: &str = "`elicitation`, `terminal` or `pin`";
const BUDGET_KEYS: &[&str] = &["http_calls", "writes", "attempts"];
const SECRETS_KEYS: &[&str] = &["backend", "inputs_days"];
const BACKEND: &str = "`file`, `keyring` or `env`";

impl SecretsBackend {
    /// The word in the file.
    pub fn name(self) -> &'static str {
        match self {
            SecretsBackend::File => "file",
            SecretsBackend::Keyring => "keyring",
            SecretsBackend::Env => "env",
        }
    }

    fn parse(text: &str) -> Option<SecretsBackend> {
        let all = [SecretsBackend::File, SecretsBackend::Keyring, SecretsBackend::Env];
        all.into_iter().find(|backend| backend.name() == text)
    }
}

/// The configuration of a process that asks for it again and again: read only if somebody touched
/// the file.
#[derive(Debug, Default)]
pub struct LiveConfig {
    known: Mutex<Option<(ObservedStamp, Arc<Config>)>>,
}

impl LiveConfig {
    /// What the configuration says now.
    pub fn read(&self, locations: &Locations) -> Result<Arc<Config>, ConfigError> {
        let clock = SystemTime::now();
        let stamp = std::fs::metadata(&locations.config).ok().map(FileStamp::of_file);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, config)) = known.as_ref()
            && stamp.is_some_and(|stamp| seen.is_still(stamp))
        {
            return Ok(Arc::clone(config));
        }
        let read = Config::read(locations)?;
        // What says the same is the same: what was made with it stays.
        let same = known.take().map(|(_, config)| config).filter(|config| **config == read);
        let config = same.unwrap_or_else(|| Arc::new(read));
        let seen = stamp.unwrap_or_else(FileStamp::nothing).seen(clock);
        *known = Some((seen, Arc::clone(&config)));
        Ok(config)
    }
}

impl Config {
    /// Reads the configuration; without a file everything is as it is by default.
    pub fn read(locations: &Locations) -> Result<Config, ConfigError> {
        let config = Config::read_at(&locations.config, locations.home.as_deref())?;
        Ok(config.unwrap_or_default())
    }

    /// Reads a file, which need not be the one that counts; `None` when there is none.
    pub fn read_at(path: &Path, home: Option<&Path>) -> Result<Option<Config>, ConfigError> {
        let bytes = file::if_present(file::read_document(path, limits::CONFIG_BYTES))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let folder = path.parent().unwrap_or(Path::new("."));
        let config = Config::parse(&bytes, folder, home);
        config.map(Some).map_err(|fault| ConfigError::Fault { path: path.to_owned(), fault })
    }

    pub(crate) fn parse(
        bytes: &[u8],
        folder: &Path,
        home: Option<&Path>,
    ) -> Result<Config, TomlError> {
        let mut top = TomlTable::read(settings::decoded(bytes)?)?;
        let mut config = Config::default();
        if let Some(field) = top.take("allow_private") {
            config.allow_private = field.parsed_list(PrivateHost::EXPECTED, PrivateHost::parse)?;
        }
        if let Some(field) = top.take("source_roots") {
            config.source_roots =
                field.parsed_list("a directory", |text| source_root(text, folder, home))?;
        }
        if let Some(field) = top.take("env_allow") {
            config.env_allow = field.parsed_list("the name of a variable", variable)?;
        }
        if let Some(field) = top.take("secrets") {
            let mut secrets = field.table()?;
            let backend = secrets.take("backend");
            let backend =
                backend.map(|field: TomlField| field.parsed(BACKEND, SecretsBackend::parse));
            config.secrets = backend.transpose()?.unwrap_or_default();
            config.secret_inputs_days =
                secrets.take("inputs_days").map(TomlField::count).transpose()?;
            secrets.unknown(SECRETS_KEYS, &mut config.warnings);
        }
        if let Some(field) = top.take("approvals") {
            config.approvals = Approvals::read(field.table()?, &mut config.warnings)?;
        }
        if let Some(field) = top.take("confirm") {
            config.confirm = field.parsed(CONFIRM, |text| match text {
                "token" => Some(Confirm::Token),
                "writes" => Some(Confirm::Writes),
                "person" => Some(Confirm::Person),
                _ => None,
            })?;
        }
        if let Some(field) = top.take("budget") {
            config.budget = Budgets::read(field.table()?, &mut config.warnings)?;
        }
        top.unknown(KEYS, &mut config.warnings);
        Ok(config)
    }
}

impl Approvals {
    fn read(
        mut table: TomlTable<'_>,
        warnings: &mut Vec<UnknownKey>,
    ) -> Result<Approvals, TomlError> {
        let mut approvals = Approvals::default();
        if let Some(field) = table.take("unattended") {
            let parse = |text: &str| WorkflowId::parse(text).ok();
            approvals.unattended = field.parsed_list("the id of a workflow", parse)?;
        }
        if let Some(field) = table.take("presence") {
            approvals.presence = field.parsed(PRESENCE, |text| match text {
                "elicitation" => Some(LeastPresence::Elicitation),
                "terminal" => Some(LeastPresence::Terminal),
                "pin" => Some(LeastPresence::Pin),
                _ => None,
            })?;
        }
        table.unknown(APPROVALS_KEYS, warnings);
        Ok(approvals)
    }
}

impl Budgets {
    fn read(
        mut table: TomlTable<'_>,
        warnings: &mut Vec<UnknownKey>,
    ) -> Result<Budgets, TomlError> {
        let mut count = |name: &str| table.take(name).map(TomlField::count).transpose();
        let budgets = Budgets {
            http_calls: count("http_calls")?,
            writes: count("writes")?,
            attempts: count("attempts")?,
        };
        table.unknown(BUDGET_KEYS, warnings);
        Ok(budgets)
    }
}

/// A name that a variable of the environment can have. The credentials of the program itself are
/// for no workflow.
fn variable(text: &str) -> Option<String> {
    let plain = !text.is_empty() && !text.contains(['=', '\0', ' ']);
    (plain && !text.starts_with("MILEPOST_SECRET")).then(|| text.to_owned())
}

/// `~` is the home; a relative directory lies beside the configuration.
fn source_root(text: &str, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match text.strip_prefix('~') {
        _ if text.is_empty() => None,
        Some("") => home.map(Path::to_owned),
        Some(below) if below.starts_with('/') => Some(home?.join(&below[1..])),
        _ => Some(folder.join(text)),
    }
}
