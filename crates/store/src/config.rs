//! The configuration file. Everything in it is optional, and so is the file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use milepost_engine::named_enum;
use milepost_model::id::WorkflowId;

use crate::file::{self, FileError};
use crate::settings::{self, TomlError, TomlField, TomlTable, UnknownKey};
use crate::stamp::{FileStamp, ObservedStamp};
use crate::{Locations, PrivateHost, limits};

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

named_enum! {
    /// What is confirmed when an agent calls, where its client cannot ask the person.
    #[derive(Default)]
    Confirm {
        /// What destroys; the agent may carry the person's yes.
        #[default]
        Token = "token",
        /// What changes something as well.
        Writes = "writes",
        /// What destroys; only the person can do it, with the command line.
        Person = "person",
    }
}

/// How runs are approved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    /// Workflows whose questions are answered with yes while nobody is there.
    pub unattended: Vec<WorkflowId>,
    /// What a person has to do at least to decide.
    pub presence: LeastPresence,
}

named_enum! {
    /// What a person has to do at least to decide.
    #[derive(Default)]
    LeastPresence {
        /// Answer in the client that asks them, or type it on a terminal.
        #[default]
        Elicitation = "elicitation",
        /// Type it on a terminal.
        Terminal = "terminal",
        /// Give the PIN.
        Pin = "pin",
    }
}

/// What a run may spend; no bound where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budgets {
    pub http_calls: Option<u64>,
    pub writes: Option<u64>,
    pub attempts: Option<u64>,
}

named_enum! {
    /// Where secrets are kept. The environment is asked first whatever is chosen here.
    #[derive(Default)]
    SecretsBackend {
        /// In an encrypted file.
        #[default]
        File = "file",
        /// With the operating system.
        Keyring = "keyring",
        /// Nowhere: the environment is all there is.
        Env = "env",
    }
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

const CONFIRM: &str = "`token`, `writes` or `person`";
const PRESENCE: &str = "`elicitation`, `terminal` or `pin`";
const BACKEND: &str = "`file`, `keyring` or `env`";

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
        let hosts =
            |field: TomlField<'_>| field.parsed_list(PrivateHost::EXPECTED, PrivateHost::parse);
        config.allow_private = top.take_as("allow_private", hosts)?.unwrap_or_default();
        let roots = |field: TomlField<'_>| {
            field.parsed_list("a directory", |text| source_root(text, folder, home))
        };
        config.source_roots = top.take_as("source_roots", roots)?.unwrap_or_default();
        let variables =
            |field: TomlField<'_>| field.parsed_list("the name of a variable", variable);
        config.env_allow = top.take_as("env_allow", variables)?.unwrap_or_default();
        if let Some(mut secrets) = top.take_as("secrets", TomlField::table)? {
            let backend = |field: TomlField<'_>| field.parsed(BACKEND, SecretsBackend::parse);
            config.secrets = secrets.take_as("backend", backend)?.unwrap_or_default();
            config.secret_inputs_days = secrets.take_as("inputs_days", TomlField::count)?;
            secrets.unknown(&mut config.warnings);
        }
        if let Some(table) = top.take_as("approvals", TomlField::table)? {
            config.approvals = Approvals::read(table, &mut config.warnings)?;
        }
        let confirm = |field: TomlField<'_>| field.parsed(CONFIRM, Confirm::parse);
        config.confirm = top.take_as("confirm", confirm)?.unwrap_or_default();
        if let Some(table) = top.take_as("budget", TomlField::table)? {
            config.budget = Budgets::read(table, &mut config.warnings)?;
        }
        top.unknown(&mut config.warnings);
        Ok(config)
    }
}

impl Approvals {
    fn read(
        mut table: TomlTable<'_>,
        warnings: &mut Vec<UnknownKey>,
    ) -> Result<Approvals, TomlError> {
        let workflows = |field: TomlField<'_>| {
            field.parsed_list("the id of a workflow", |text| WorkflowId::parse(text).ok())
        };
        let presence = |field: TomlField<'_>| field.parsed(PRESENCE, LeastPresence::parse);
        let approvals = Approvals {
            unattended: table.take_as("unattended", workflows)?.unwrap_or_default(),
            presence: table.take_as("presence", presence)?.unwrap_or_default(),
        };
        table.unknown(warnings);
        Ok(approvals)
    }
}

impl Budgets {
    fn read(
        mut table: TomlTable<'_>,
        warnings: &mut Vec<UnknownKey>,
    ) -> Result<Budgets, TomlError> {
        let mut count = |name| table.take_as(name, TomlField::count);
        let (http_calls, writes) = (count("http_calls")?, count("writes")?);
        let budgets = Budgets { http_calls, writes, attempts: count("attempts")? };
        table.unknown(warnings);
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
