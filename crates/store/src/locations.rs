//! The directories that contain workflows, catalogs and other data, determined from the environment
//! and the working directory.

use std::path::{Path, PathBuf};

use milepost_model::serialized_enum;

serialized_enum! {
    /// A kind of workflow source.
    SourceKind {
        /// Ships with the program.
        BuiltIn = "built-in",
        /// The user's own directory.
        User = "user",
        /// An entry in `WORKFLOW_STORAGE_PATH`.
        Path = "path",
        /// The directory that new and changed workflows are written to.
        Runtime = "runtime",
    }
}

/// A location and what determined it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedLocation {
    pub name: &'static str,
    pub path: PathBuf,
    pub from: LocationOrigin,
}

/// What determined a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationOrigin {
    /// This environment variable.
    Environment(&'static str),
    /// The project that contains the working directory.
    Project,
    /// The user's own configuration, because there is no project.
    User,
    /// The default: nothing else was specified.
    Default,
}

impl LocationOrigin {
    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            LocationOrigin::Environment(_) => "environment",
            LocationOrigin::Project => "project",
            LocationOrigin::User => "user",
            LocationOrigin::Default => "default",
        }
    }

    /// The environment variable that determined the location, if any.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            LocationOrigin::Environment(name) => Some(name),
            LocationOrigin::Project | LocationOrigin::User | LocationOrigin::Default => None,
        }
    }
}

/// All directories. Workflow directories are in ascending order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    pub config: PathBuf,
    /// The user's configuration file, which may not be the active one.
    pub user_config: PathBuf,
    pub directories: Vec<(SourceKind, PathBuf)>,
    /// The user's data, which belongs to no project: secrets and runs.
    pub data: PathBuf,
    /// Data that can be rebuilt at any time.
    pub cache: PathBuf,
    pub working: PathBuf,
    /// The closest ancestor of the working directory that contains a `.milepost/config.toml`.
    pub project: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// Whether the user's configuration and data are in directories of their own. Without a home
    /// directory, they would be in the project.
    pub has_user_directories: bool,
}

impl Locations {
    /// Determines the directories. The environment is accessed only through `variable`.
    pub fn resolve(variable: &dyn Fn(&str) -> Option<String>, working: &Path) -> Locations {
        let resolver = Resolver { variable, working };
        let user_config = resolver.user_config();
        let project = project(working);
        let config = resolver
            .path("REGISTRY_CONFIG_PATH")
            .or_else(|| project.as_deref().map(project_config))
            .unwrap_or_else(|| user_config.clone());
        let runtime = resolver
            .path("REGISTRY_WORKFLOWS_PATH")
            .unwrap_or_else(|| sibling(&config, "workflows"));
        let user = sibling(&user_config, "workflows");
        let mut directories = Vec::new();
        if user != runtime {
            directories.push((SourceKind::User, user));
        }
        for path in resolver.paths("WORKFLOW_STORAGE_PATH") {
            if path != runtime && !directories.iter().any(|(_, other)| *other == path) {
                directories.push((SourceKind::Path, path));
            }
        }
        directories.push((SourceKind::Runtime, runtime));
        Locations {
            config,
            user_config,
            directories,
            data: resolver.of_user("XDG_DATA_HOME", ".local/share", "data"),
            cache: resolver.of_user("XDG_CACHE_HOME", ".cache", "cache"),
            working: working.to_owned(),
            project,
            home: resolver.home(),
            has_user_directories: resolver.has_user_directories(),
        }
    }

    /// The directories for a run that belongs to another folder, using the configuration file that
    /// the run specifies, if any. The user's own directories stay the same.
    #[must_use]
    pub fn of_workspace(&self, folder: &Path, config: Option<&Path>) -> Locations {
        let own = project_config(folder);
        let project = own.is_file().then(|| folder.to_owned());
        let own = if project.is_some() { own } else { self.user_config.clone() };
        let config = config.map_or(own, Path::to_owned);
        let runtime = sibling(&config, "workflows");
        let mut directories = self.directories.clone();
        directories.pop();
        directories.retain(|(_, path)| *path != runtime);
        let user = sibling(&self.user_config, "workflows");
        if user != runtime && !directories.iter().any(|(_, path)| *path == user) {
            directories.insert(0, (SourceKind::User, user));
        }
        directories.push((SourceKind::Runtime, runtime));
        Locations { config, directories, working: folder.to_owned(), project, ..self.clone() }
    }

    /// The folder whose configuration is in force, unless that is the user's own.
    pub fn asking_folder(&self) -> Option<&Path> {
        (self.config != self.user_config).then(|| self.config.parent()).flatten()
    }

    /// The folder that everything in [`asking_folder`](Self::asking_folder) must stay in: its
    /// project, if it has one.
    pub(crate) fn asking_root(&self) -> Option<&Path> {
        let folder = self.asking_folder()?;
        let project = self.project.as_deref().filter(|project| folder.starts_with(project));
        Some(project.unwrap_or(folder))
    }

    /// The catalog directory, next to the configuration file.
    pub fn catalogs(&self) -> PathBuf {
        sibling(&self.config, "catalogs")
    }

    /// Every location and what determined it. `variable` must read the same environment that the
    /// locations were resolved with.
    pub fn explained(&self, variable: &dyn Fn(&str) -> Option<String>) -> Vec<ExplainedLocation> {
        let set = |name: &'static str| {
            let there = variable(name).is_some_and(|value| !value.is_empty());
            there.then_some(LocationOrigin::Environment(name))
        };
        let whose =
            if self.project.is_some() { LocationOrigin::Project } else { LocationOrigin::User };
        let config = set("REGISTRY_CONFIG_PATH").unwrap_or(whose);
        let by_default = |name| set(name).unwrap_or(LocationOrigin::Default);
        let catalogs = self.catalogs();
        let all = [
            ("config", Some(&*self.config), config),
            ("user config", Some(&*self.user_config), by_default("XDG_CONFIG_HOME")),
            ("workflows", Some(self.runtime()), set("REGISTRY_WORKFLOWS_PATH").unwrap_or(config)),
            ("catalogs", Some(&*catalogs), config),
            ("data", Some(&*self.data), by_default("XDG_DATA_HOME")),
            ("cache", Some(&*self.cache), by_default("XDG_CACHE_HOME")),
            ("project", self.project.as_deref(), LocationOrigin::Project),
        ];
        let there = all.into_iter().filter_map(|(name, path, from)| {
            Some(ExplainedLocation { name, path: path?.to_owned(), from })
        });
        there.collect()
    }

    /// The directory that workflows are written to.
    pub fn runtime(&self) -> &Path {
        self.directories.last().map_or(Path::new("."), |(_, path)| path)
    }
}

fn sibling(config: &Path, name: &str) -> PathBuf {
    config.parent().unwrap_or(Path::new(".")).join(name)
}

/// The closest ancestor that contains a project configuration.
fn project(working: &Path) -> Option<PathBuf> {
    let mut folders = working.ancestors();
    folders.find(|folder| project_config(folder).is_file()).map(Path::to_owned)
}

fn project_config(folder: &Path) -> PathBuf {
    folder.join(".milepost").join("config.toml")
}

struct Resolver<'e> {
    variable: &'e dyn Fn(&str) -> Option<String>,
    working: &'e Path,
}

impl Resolver<'_> {
    fn value(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn user_config(&self) -> PathBuf {
        let base = match self.value("XDG_CONFIG_HOME") {
            Some(home) => self.expand(&home),
            None => match self.home() {
                Some(home) => home.join(".config"),
                // Without a home directory there is no user configuration, so the project's is
                // used.
                None => return project_config(self.working),
            },
        };
        base.join("milepost").join("config.toml")
    }

    /// One of the user's directories: below the path in the variable, or else below the home
    /// directory, or else in the project.
    fn of_user(&self, variable: &str, below_home: &str, in_project: &str) -> PathBuf {
        match (self.path(variable), self.home()) {
            (Some(base), _) => base.join("milepost"),
            (None, Some(home)) => home.join(below_home).join("milepost"),
            (None, None) => self.working.join(".milepost").join(in_project),
        }
    }

    fn has_user_directories(&self) -> bool {
        let is_set = |name| self.home().is_some() || self.value(name).is_some();
        is_set("XDG_CONFIG_HOME") && is_set("XDG_DATA_HOME")
    }

    fn home(&self) -> Option<PathBuf> {
        self.value("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(|text| self.expand(&text))
    }

    fn paths(&self, name: &str) -> Vec<PathBuf> {
        let Some(text) = self.value(name) else { return Vec::new() };
        let separator = if cfg!(windows) { ';' } else { ':' };
        text.split(separator)
            .filter(|part| !part.is_empty())
            .map(|part| self.expand(part))
            .collect()
    }

    /// Expands `~` and `$VAR`; a relative path is resolved against the working directory.
    fn expand(&self, text: &str) -> PathBuf {
        let mut path = String::new();
        let mut rest = text;
        if let Some(below) = text.strip_prefix('~')
            && (below.is_empty() || below.starts_with('/'))
        {
            path = self.home().unwrap_or_default().display().to_string();
            rest = below;
        }
        while let Some(dollar) = rest.find('$') {
            path.push_str(&rest[..dollar]);
            let after = &rest[dollar + 1..];
            let (name, length) = variable_name(after);
            match self.value(name).filter(|_| !name.is_empty()) {
                Some(value) => path.push_str(&value),
                // An unset variable is left in place, so that the path in an error message shows
                // the cause.
                None => path.push_str(&rest[dollar..=dollar + length]),
            }
            rest = &after[length..];
        }
        path.push_str(rest);
        self.working.join(path)
    }
}

/// The variable name after a `$`, with or without braces, and its length including them.
fn variable_name(text: &str) -> (&str, usize) {
    if let Some(inner) = text.strip_prefix('{')
        && let Some(end) = inner.find('}')
    {
        return (&inner[..end], end + 2);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    (&text[..end], end)
}
