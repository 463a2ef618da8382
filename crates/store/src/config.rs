//! The configuration file. Both the file and everything in it are optional.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use milepost_model::id::WorkflowId;
use milepost_model::serialized_enum;

use crate::file::{self, FileError};
use crate::settings::{self, TomlError, TomlField, TomlTable, UnknownKey};
use crate::stamp::{FileStamp, ObservedStamp};
use crate::{Locations, PrivateHost, limits};

/// The contents of the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub allow_private: Vec<PrivateHost>,
    /// Directories from which a model may read documents, in addition to the project and the
    /// working directory.
    pub source_roots: Vec<PathBuf>,
    pub env_allow: Vec<String>,
    pub secrets: SecretsBackend,
    /// Number of days to keep a run's secret inputs, encrypted; with 0 they are not kept at all.
    pub secret_inputs_days: Option<u64>,
    pub approvals: Approvals,
    /// Which calls by agents need confirmation, and who may confirm them.
    pub confirm: Confirm,
    /// The budget for runs whose workflow sets none.
    pub budget: Budgets,
    pub warnings: Vec<UnknownKey>,
}

serialized_enum! {
    /// Which calls by an agent need confirmation when its client cannot ask the person.
    #[derive(Default)]
    Confirm {
        /// Destructive calls; the agent may pass on the person's confirmation.
        #[default]
        Token = "token",
        /// Destructive calls and all other writes.
        Writes = "writes",
        /// Destructive calls; only the person can make them, on the command line.
        Person = "person",
    }
}

/// Settings for approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    /// Workflows whose approvals are granted automatically when nobody is present.
    pub unattended: Vec<WorkflowId>,
    /// The weakest proof of presence that is accepted for a decision.
    pub presence: LeastPresence,
}

serialized_enum! {
    /// The weakest proof of presence that is accepted when a person decides.
    #[derive(Default)]
    LeastPresence {
        /// Answering in the client that asks, or typing at a terminal.
        #[default]
        Elicitation = "elicitation",
        /// Typing at a terminal.
        Terminal = "terminal",
        /// Entering the PIN.
        Pin = "pin",
    }
}

/// Limits on what a run may use; `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budgets {
    pub http_calls: Option<u64>,
    pub writes: Option<u64>,
    pub attempts: Option<u64>,
}

serialized_enum! {
    /// Where secrets are stored. The environment is always consulted first.
    #[derive(Default)]
    SecretsBackend {
        /// An encrypted file.
        #[default]
        File = "file",
        /// The operating system's keyring.
        Keyring = "keyring",
        /// Nowhere: secrets come from the environment only.
        Env = "env",
    }
}

/// Why the configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is malformed or contains an invalid value.
    #[error("`{}`: {fault}", path.display())]
    Fault { path: PathBuf, fault: TomlError },
}

const CONFIRM: &str = "`token`, `writes` or `person`";
const PRESENCE: &str = "`elicitation`, `terminal` or `pin`";
const BACKEND: &str = "`file`, `keyring` or `env`";

/// The configuration for a long-running process, which reads it often: the file is read again only
/// after it has been touched.
#[derive(Debug, Default)]
pub struct LiveConfig {
    known: Mutex<Option<(Option<ObservedStamp>, Arc<Config>)>>,
}

impl LiveConfig {
    /// The current configuration.
    pub fn read(&self, locations: &Locations) -> Result<Arc<Config>, ConfigError> {
        let clock = SystemTime::now();
        let stamp = std::fs::metadata(&locations.config).ok().map(FileStamp::of_file);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((Some(seen), config)) = known.as_ref()
            && stamp.is_some_and(|stamp| seen.is_still(stamp))
        {
            return Ok(Arc::clone(config));
        }
        let read = Config::read(locations)?;
        // If the contents are equal, the old `Arc` is kept, so anything built from it stays valid.
        let same = known.take().map(|(_, config)| config).filter(|config| **config == read);
        let config = same.unwrap_or_else(|| Arc::new(read));
        *known = Some((stamp.map(|stamp| stamp.seen(clock)), Arc::clone(&config)));
        Ok(config)
    }
}

impl Config {
    /// Reads the configuration; a missing file means all defaults.
    pub fn read(locations: &Locations) -> Result<Config, ConfigError> {
        let config = Config::read_at(&locations.config, locations.home.as_deref())?;
        Ok(config.unwrap_or_default())
    }

    /// Reads a configuration file, which need not be the active one; `None` if it does not exist.
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
        let root = |text: &str| source_root(text, folder, home);
        config.allow_private =
            top.parsed_list("allow_private", PrivateHost::EXPECTED, PrivateHost::parse)?;
        config.source_roots = top.parsed_list("source_roots", "a directory", root)?;
        config.env_allow = top.parsed_list("env_allow", "the name of a variable", variable)?;
        if let Some(mut table) = top.take_as("secrets", TomlField::table)? {
            let backend = table.parsed("backend", BACKEND, SecretsBackend::named)?;
            config.secrets = backend.unwrap_or_default();
            config.secret_inputs_days = table.take_as("inputs_days", TomlField::count)?;
            table.unknown(&mut config.warnings);
        }
        if let Some(mut table) = top.take_as("approvals", TomlField::table)? {
            let id = |text: &str| WorkflowId::parse(text).ok();
            let unattended = table.parsed_list("unattended", "the id of a workflow", id)?;
            let presence = table.parsed("presence", PRESENCE, LeastPresence::named)?;
            config.approvals = Approvals { unattended, presence: presence.unwrap_or_default() };
            table.unknown(&mut config.warnings);
        }
        config.confirm = top.parsed("confirm", CONFIRM, Confirm::named)?.unwrap_or_default();
        if let Some(mut table) = top.take_as("budget", TomlField::table)? {
            let mut count = |name| table.take_as(name, TomlField::count);
            let (http_calls, writes) = (count("http_calls")?, count("writes")?);
            config.budget = Budgets { http_calls, writes, attempts: count("attempts")? };
            table.unknown(&mut config.warnings);
        }
        top.unknown(&mut config.warnings);
        Ok(config)
    }
}

/// A valid environment variable name. Milepost's own credentials are not available to workflows.
fn variable(text: &str) -> Option<String> {
    let plain = !text.is_empty() && !text.contains(['=', '\0', ' ']);
    (plain && !text.starts_with("MILEPOST_SECRET")).then(|| text.to_owned())
}

/// `~` is the home directory; a relative path is relative to the configuration file.
fn source_root(text: &str, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match text.strip_prefix('~') {
        _ if text.is_empty() => None,
        Some("") => home.map(Path::to_owned),
        Some(below) if below.starts_with('/') => Some(home?.join(&below[1..])),
        _ => Some(folder.join(text)),
    }
}
