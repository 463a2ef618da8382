//! The configuration file. Both the file and everything in it are optional.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use milepost_model::serialized_enum;

use crate::asks::FolderAsks;
use crate::file::{self, FileError};
use crate::grants::{GrantError, Grants};
use crate::settings::{self, TomlError, TomlField, TomlTable, UnknownKey};
use crate::stamp::{FileStamp, ObservedStamp};
use crate::standing::FolderStanding;
use crate::{Locations, PrivateHost, WritePolicy, limits};

/// The settings in force: the user's, tightened by those of the project.
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
    /// The budget for runs whose workflow sets none.
    pub budget: Budgets,
    /// What writes need before they are sent.
    pub policy: WritePolicy,
    /// What the folder in force asks for.
    pub asks: FolderAsks,
    /// Whether the folder in force may act.
    pub standing: FolderStanding,
    pub warnings: Vec<UnknownKey>,
}

/// Whose configuration a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigLayer<'p> {
    /// The user's own, which may allow things.
    User,
    /// A project's, which may only tighten limits and ask for things. The path is that of the
    /// user's own file, for messages.
    Project(&'p Path),
}

/// The keys that allow something, which only the user's own file may contain.
const USER_KEYS: [&str; 4] = ["allow_private", "confirm", "env_allow", "source_roots"];

/// Settings for approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
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
    /// What the person allowed cannot be read.
    #[error(transparent)]
    Grants(#[from] GrantError),
}

/// The setting that let an agent pass on a confirmation.
const CONFIRM: &str = "removed: an agent's writes and removals always ask you; see `policy.writes`";
/// The setting that let a workflow run alone by its name, whatever its text.
const UNATTENDED: &str = "removed: run `milepost workflow review --alone <id>` for each of them";
const PRESENCE: &str = "`elicitation`, `terminal` or `pin`";
const BACKEND: &str = "`file`, `keyring` or `env`";

/// The configuration for a long-running process, which reads it often: the files are read again
/// only after one of them has been touched.
#[derive(Debug)]
pub struct LiveConfig {
    grants: Arc<Grants>,
    known: Mutex<Option<KnownConfig>>,
}

#[derive(Debug)]
struct KnownConfig {
    /// Everything that was read, and its stamp; `None` if it did not exist.
    seen: Vec<(PathBuf, Option<ObservedStamp>)>,
    config: Arc<Config>,
}

impl KnownConfig {
    fn is_current(&self) -> bool {
        self.seen.iter().all(|(path, seen)| match (seen, stamp(path)) {
            (Some(seen), Some(now)) => seen.is_still(now),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        })
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    std::fs::metadata(path).ok().map(FileStamp::of_file)
}

impl LiveConfig {
    /// The configuration of a process whose grants are these.
    pub fn new(grants: Arc<Grants>) -> LiveConfig {
        LiveConfig { grants, known: Mutex::default() }
    }

    /// The current configuration.
    pub fn read(&self, locations: &Locations) -> Result<Arc<Config>, ConfigError> {
        let clock = SystemTime::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.is_current()) {
            return Ok(Arc::clone(&known.config));
        }
        let paths = [locations.user_config.clone(), locations.config.clone()];
        let paths = paths.into_iter().chain(self.grants.paths());
        let seen = paths.map(|path| {
            let seen = stamp(&path).map(|stamp| stamp.seen(clock));
            (path, seen)
        });
        let seen = seen.collect();
        let read = Config::read(locations, &self.grants)?;
        // If the contents are equal, the old `Arc` is kept, so anything built from it stays valid.
        let same = known.take().map(|known| known.config).filter(|config| **config == read);
        let config = same.unwrap_or_else(|| Arc::new(read));
        *known = Some(KnownConfig { seen, config: Arc::clone(&config) });
        Ok(config)
    }
}

impl Config {
    /// Reads the configuration; a missing file means all defaults. A project's settings never
    /// loosen the user's.
    pub fn read(locations: &Locations, grants: &Grants) -> Result<Config, ConfigError> {
        let (user, home) = (&locations.user_config, locations.home.as_deref());
        let config = Config::read_at(user, home, ConfigLayer::User)?.unwrap_or_default();
        let project = match locations.asking_folder() {
            Some(_) => Config::read_at(&locations.config, home, ConfigLayer::Project(user))?,
            None => None,
        };
        let project = project.unwrap_or_default();
        let standing = FolderStanding::of(locations, &project.asks, grants)?;
        Ok(config.tightened(project, standing))
    }

    /// Reads one configuration file; `None` if it does not exist.
    pub fn read_at(
        path: &Path,
        home: Option<&Path>,
        layer: ConfigLayer<'_>,
    ) -> Result<Option<Config>, ConfigError> {
        let bytes = file::if_present(file::read_document(path, limits::CONFIG_BYTES))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let folder = path.parent().unwrap_or(Path::new("."));
        let config = Config::parse(&bytes, folder, home, layer);
        config.map(Some).map_err(|fault| ConfigError::Fault { path: path.to_owned(), fault })
    }

    /// The stricter of each limit, and what a project asks for if that was accepted.
    fn tightened(mut self, project: Config, standing: FolderStanding) -> Config {
        let least = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let (own, theirs) = (self.budget, project.budget);
        self.budget = Budgets {
            http_calls: least(own.http_calls, theirs.http_calls),
            writes: least(own.writes, theirs.writes),
            attempts: least(own.attempts, theirs.attempts),
        };
        self.secret_inputs_days = least(self.secret_inputs_days, project.secret_inputs_days);
        self.approvals.presence = self.approvals.presence.max(project.approvals.presence);
        self.policy = self.policy.tightened(project.policy);
        self.warnings.extend(project.warnings);
        self.asks = project.asks;
        match &standing {
            FolderStanding::Own => {}
            FolderStanding::Trusted(_) => {
                self.allow_private.extend(self.asks.private_hosts.iter().cloned());
                self.env_allow.extend(self.asks.variables.iter().cloned());
                self.source_roots.extend(self.asks.files.iter().map(|(_, path)| path.clone()));
            }
            FolderStanding::Untrusted(_) => {
                self.env_allow.clear();
                self.source_roots.clear();
            }
        }
        self.standing = standing;
        self
    }

    /// The variables that workflows can name without a finding. Those that a folder only asks for
    /// are among them, although nothing reads them yet.
    pub fn known_variables(&self) -> Vec<String> {
        let asked = self.asks.variables.iter().filter(|name| !self.env_allow.contains(name));
        self.env_allow.iter().chain(asked).cloned().collect()
    }

    pub(crate) fn parse(
        bytes: &[u8],
        folder: &Path,
        home: Option<&Path>,
        layer: ConfigLayer<'_>,
    ) -> Result<Config, TomlError> {
        let mut top = TomlTable::read(settings::decoded(bytes)?)?;
        let mut config = Config::default();
        match layer {
            ConfigLayer::User => config.read_user_keys(&mut top, folder, home)?,
            ConfigLayer::Project(own) => config.read_asks(&mut top, folder, home, own)?,
        }
        if let Some(mut table) = top.take_as("secrets", TomlField::table)? {
            match layer {
                ConfigLayer::User => {
                    let backend = table.parsed("backend", BACKEND, SecretsBackend::named)?;
                    config.secrets = backend.unwrap_or_default();
                }
                ConfigLayer::Project(own) => {
                    table.not_for_projects("backend", &own.display().to_string())?;
                }
            }
            config.secret_inputs_days = table.take_as("inputs_days", TomlField::count)?;
            table.unknown(&mut config.warnings);
        }
        if let Some(mut table) = top.take_as("approvals", TomlField::table)? {
            if let Some(field) = table.take("unattended") {
                return Err(field.wrong_value(UNATTENDED));
            }
            let presence = table.parsed("presence", PRESENCE, LeastPresence::named)?;
            config.approvals = Approvals { presence: presence.unwrap_or_default() };
            table.unknown(&mut config.warnings);
        }
        if let Some(mut table) = top.take_as("budget", TomlField::table)? {
            let mut count = |name| table.take_as(name, TomlField::count);
            let (http_calls, writes) = (count("http_calls")?, count("writes")?);
            config.budget = Budgets { http_calls, writes, attempts: count("attempts")? };
            table.unknown(&mut config.warnings);
        }
        if let Some(table) = top.take_as("policy", TomlField::table)? {
            config.policy = WritePolicy::read(table, &mut config.warnings)?;
        }
        top.unknown(&mut config.warnings);
        Ok(config)
    }

    fn read_user_keys(
        &mut self,
        top: &mut TomlTable<'_>,
        folder: &Path,
        home: Option<&Path>,
    ) -> Result<(), TomlError> {
        let root = |text: &str| source_root(text, folder, home);
        self.allow_private =
            top.parsed_list("allow_private", PrivateHost::EXPECTED, PrivateHost::parse)?;
        self.source_roots = top.parsed_list("source_roots", "a directory", root)?;
        self.env_allow = top.parsed_list("env_allow", "the name of a variable", variable)?;
        if let Some(field) = top.take("confirm") {
            return Err(field.wrong_value(CONFIRM));
        }
        Ok(())
    }

    fn read_asks(
        &mut self,
        top: &mut TomlTable<'_>,
        folder: &Path,
        home: Option<&Path>,
        own: &Path,
    ) -> Result<(), TomlError> {
        for key in USER_KEYS {
            top.not_for_projects(key, &own.display().to_string())?;
        }
        if let Some(table) = top.take_as("asks", TomlField::table)? {
            self.asks = FolderAsks::read(table, folder, home, &mut self.warnings)?;
        }
        Ok(())
    }
}

/// A valid environment variable name. Milepost's own credentials are not available to workflows.
pub(crate) fn variable(text: &str) -> Option<String> {
    let plain = !text.is_empty() && !text.contains(['=', '\0', ' ']);
    (plain && !text.starts_with("MILEPOST_SECRET")).then(|| text.to_owned())
}

/// `~` is the home directory; a relative path is relative to the configuration file.
pub(crate) fn source_root(text: &str, folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match text.strip_prefix('~') {
        _ if text.is_empty() => None,
        Some("") => home.map(Path::to_owned),
        Some(below) if below.starts_with('/') => Some(home?.join(&below[1..])),
        _ => Some(folder.join(text)),
    }
}
