//! Which folders may act, and what their configuration can change.

use std::fs;
use std::path::{Path, PathBuf};

use milepost_engine::event::Presence;
use milepost_store::{
    AskingFolder, Config, ConfigError, Distrust, FolderStanding, Grant, GrantSubject, Grants,
    LeastPresence, Locations, UnsafeFolder,
};
use tempfile::TempDir;

use crate::put;

/// A user with a home directory and a project.
struct User {
    root: TempDir,
}

impl User {
    fn new(own: &str, project: &str) -> User {
        let user = User { root: tempfile::tempdir().expect("makes a directory") };
        put(&user.path("home/.config/milepost/config.toml"), own);
        put(&user.path("work/.milepost/config.toml"), project);
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).expect("exists").join(name)
    }

    fn locations(&self) -> Locations {
        self.locations_with(&[], "work")
    }

    fn locations_with(&self, variables: &[(&str, PathBuf)], working: &str) -> Locations {
        let home = ("HOME", self.path("home"));
        let variable = |name: &str| {
            let set = variables.iter().chain([&home]).find(|(set, _)| *set == name);
            set.map(|(_, value)| value.display().to_string())
        };
        Locations::resolve(&variable, &self.path(working))
    }

    fn read(&self) -> Result<Config, ConfigError> {
        read(&self.locations())
    }

    fn standing(&self) -> FolderStanding {
        self.read().expect("is read").standing
    }

    /// Accepts the project as it is.
    fn trust(&self) {
        let locations = self.locations();
        let asks = read(&locations).expect("is read").asks;
        let folder = AskingFolder::of(&locations, &asks).expect("asks").accepted(None);
        let subject = GrantSubject::Folder(Box::new(folder));
        let (principal, presence) = (String::new(), Presence::Terminal);
        let grant = Grant { subject, principal, presence, at_ms: 1, signature: None };
        Grants::of(&locations.data).add(grant).expect("is recorded");
    }
}

fn read(locations: &Locations) -> Result<Config, ConfigError> {
    Config::read(locations, &Grants::of(&locations.data))
}

fn unsafe_reason(standing: FolderStanding) -> UnsafeFolder {
    match standing {
        FolderStanding::Untrusted(Distrust::Unsafe(why)) => why,
        other => panic!("{other:?}"),
    }
}

const ASKS: &str = "[asks]\nvariables = ['REGION']\nprivate_hosts = ['10.0.0.7']\n\
    files = ['../data']\nsecrets = [{secret = 'TOKEN', origin = 'https://api.test/x'}]\n";

/// An empty file in a project switches nothing off.
#[test]
fn a_project_only_tightens_what_the_user_set() {
    let own = "allow_private = ['127.0.0.1']\nenv_allow = ['HOME']\n\
        [approvals]\npresence = 'terminal'\n[budget]\nwrites = 5\nattempts = 9\n";
    for (project, presence, writes, attempts) in [
        ("", LeastPresence::Terminal, Some(5), Some(9)),
        ("[approvals]\npresence = 'elicitation'\n", LeastPresence::Terminal, Some(5), Some(9)),
        ("[approvals]\npresence = 'pin'\n", LeastPresence::Pin, Some(5), Some(9)),
        ("[budget]\nwrites = 50\nattempts = 2\n", LeastPresence::Terminal, Some(5), Some(2)),
    ] {
        let user = User::new(own, project);
        user.trust();
        let config = user.read().expect("is read");
        assert_eq!(config.approvals.presence, presence, "{project}");
        assert_eq!((config.budget.writes, config.budget.attempts), (writes, attempts), "{project}");
        assert_eq!(config.env_allow, ["HOME"]);
        assert_eq!(config.allow_private.len(), 1);
    }
}

#[test]
fn what_loosens_something_is_no_key_of_a_project() {
    for text in [
        "env_allow = ['AWS_SECRET_ACCESS_KEY']",
        "allow_private = ['127.0.0.1']",
        "source_roots = ['~']",
        "[secrets]\nbackend = 'env'",
    ] {
        let user = User::new("", text);
        let told = user.read().expect_err(text).to_string();
        assert!(told.contains("counts only in your own configuration"), "{told}");
        assert!(told.contains("home/.config/milepost/config.toml"), "{told}");
    }
}

#[test]
fn what_a_folder_asks_for_counts_once_it_was_accepted() {
    let user = User::new("env_allow = ['HOME']\nsource_roots = ['/srv']\n", ASKS);
    let config = user.read().expect("is read");
    assert_eq!(config.standing, FolderStanding::Untrusted(Distrust::New));
    assert!(config.env_allow.is_empty() && config.source_roots.is_empty());
    assert!(config.allow_private.is_empty());
    assert_eq!(config.known_variables(), ["REGION"], "it can be named, but is not read");
    user.trust();
    let config = user.read().expect("is read");
    assert!(config.standing.may_act());
    assert_eq!(config.env_allow, ["HOME", "REGION"]);
    assert_eq!(config.allow_private.len(), 1);
    assert_eq!(config.asks.secrets[0].origin, "https://api.test");
    let more = ASKS.replace("['REGION']", "['AWS_SECRET_ACCESS_KEY']");
    put(&user.path("work/.milepost/config.toml"), &more);
    let FolderStanding::Untrusted(Distrust::Changed { added, removed }) = user.standing() else {
        panic!("it asks for something else");
    };
    assert_eq!(added, ["read the variable AWS_SECRET_ACCESS_KEY"]);
    assert_eq!(removed, ["read the variable REGION"]);
}

/// A variable that a project sets for a client leads back to the same rules.
#[test]
fn no_variable_makes_a_folder_trusted() {
    let user = User::new("", "");
    let inside = user.path("work/conf/config.toml");
    put(&inside, ASKS);
    let named = user.locations_with(&[("REGISTRY_CONFIG_PATH", inside)], "work");
    let standing = read(&named).expect("is read").standing;
    assert_eq!(standing, FolderStanding::Untrusted(Distrust::New));
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        let own = user.locations_with(&[(name, user.path("work/fake"))], "work");
        let why = unsafe_reason(read(&own).expect("is read").standing);
        assert!(matches!(why, UnsafeFolder::UserDirectoryInside { .. }), "{name}: {why}");
    }
    // Nor does a clone without a configuration of its own.
    fs::create_dir_all(user.path("clone/.git")).expect("is made");
    let fake = [("HOME", user.path("clone/fake"))];
    let own = user.locations_with(&fake, "clone");
    let why = unsafe_reason(read(&own).expect("is read").standing);
    assert!(matches!(why, UnsafeFolder::UserDirectoryInside { .. }), "{why}");
    let none = Locations::resolve(&|_: &str| None, &user.path("work"));
    assert_eq!(unsafe_reason(read(&none).expect("is read").standing), UnsafeFolder::NoHome);
}

#[test]
#[cfg(unix)]
fn a_folder_that_others_control_cannot_be_trusted() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("is set");
    };
    let user = User::new("", "");
    user.trust();
    assert!(user.standing().may_act());
    let config = user.path("work/.milepost/config.toml");
    mode(&config, 0o666);
    let why = unsafe_reason(user.standing());
    assert!(matches!(why, UnsafeFolder::WritableByOthers { .. }), "{why}");
    mode(&config, 0o644);
    assert!(user.standing().may_act());
    put(&user.path("elsewhere/x.toml"), "");
    symlink(user.path("elsewhere"), user.path("work/.milepost/catalogs")).expect("is linked");
    let why = unsafe_reason(user.standing());
    assert!(matches!(why, UnsafeFolder::LinkOutside { .. }), "{why}");
    fs::remove_file(user.path("work/.milepost/catalogs")).expect("is removed");
    fs::remove_file(&config).expect("is removed");
    put(&user.path("outside.toml"), "");
    symlink(user.path("outside.toml"), &config).expect("is linked");
    let why = unsafe_reason(user.standing());
    assert!(matches!(why, UnsafeFolder::LinkOutside { .. }), "{why}");
}

/// A worktree of a trusted repository is trusted as long as it asks for the same; a folder that
/// merely claims to be one is not.
#[test]
fn a_worktree_is_trusted_like_its_repository() {
    let user = User::new("", ASKS);
    fs::create_dir_all(user.path("work/.git/worktrees/tree")).expect("is made");
    put(&user.path("tree/.milepost/config.toml"), ASKS);
    let git = user.path("work/.git/worktrees/tree");
    put(&user.path("tree/.git"), &format!("gitdir: {}\n", git.display()));
    let standing = || read(&user.locations_with(&[], "tree")).expect("is read").standing;
    user.trust();
    assert_eq!(standing(), FolderStanding::Untrusted(Distrust::New), "git does not know of it");
    put(&git.join("gitdir"), &format!("{}\n", user.path("tree/.git").display()));
    assert!(standing().may_act());
    put(&user.path("tree/.milepost/config.toml"), "[asks]\nvariables = ['OTHER']\n");
    assert_eq!(standing(), FolderStanding::Untrusted(Distrust::New));
}
