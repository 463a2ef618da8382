//! Secrets: accessible by name, only for their origin, and stored in no file but their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use milepost_model::secret::Secret;
use milepost_store::secrets::{Environment, SecretError, SecretName, Vault};
use milepost_store::{FileError, Locations, SecretsBackend, limits};
use url::{Origin, Url};

use crate::{locations, names};

const CANARY: &str = "c4nary-7f3a9e";

fn name(text: &str) -> SecretName {
    SecretName::parse(text).expect("is a name")
}

fn origin(url: &str) -> Origin {
    Url::parse(url).expect("is a URL").origin()
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::from_variables(variables.iter().map(|(name, value)| (name.into(), value.into())))
}

fn vault_with(locations: &Locations, variables: &[(&str, &str)]) -> Vault {
    Vault::open(locations, SecretsBackend::File, environment(variables)).expect("opens")
}

fn vault(root: &Path) -> Vault {
    vault_with(&locations(root), &[])
}

fn value(vault: &Vault, of: &str) -> String {
    vault.get(&name(of)).expect("is there").reveal().to_owned()
}

fn set(vault: &Vault, of: &str, value: &str) {
    vault.set(&name(of), Secret::new(value), None).expect("sets");
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("reads").map(|entry| entry.expect("reads").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Asserts that neither the files below a directory nor a string contain the canary in plain text.
fn check_unseen(root: &Path, shown: &str) {
    assert!(!shown.contains(CANARY), "{shown}");
    for path in files(root) {
        let bytes = fs::read(&path).expect("reads");
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{} holds it", path.display());
    }
}

#[test]
fn a_secret_is_set_had_listed_and_removed() {
    let root = tempfile::tempdir().expect("makes a directory");
    let vault = vault(root.path());
    assert_eq!(vault.list().expect("lists"), []);
    set(&vault, "b.token", CANARY);
    set(&vault, "A", "multi\nline \u{1f511} \"quoted\"");
    assert_eq!(value(&vault, "b.token"), CANARY);
    assert_eq!(value(&vault, "A"), "multi\nline \u{1f511} \"quoted\"");
    // Another process sees the same secrets.
    let other = self::vault(root.path());
    assert_eq!(value(&other, "b.token"), CANARY);
    let listed = other.list().expect("lists");
    let shown: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.from.name())).collect();
    assert_eq!(shown, [("A", "file"), ("b.token", "file")]);
    set(&other, "b.token", "new");
    assert_eq!(value(&vault, "b.token"), "new");
    other.remove(&name("b.token")).expect("removes");
    for error in [
        vault.get(&name("b.token")).expect_err("is gone"),
        vault.remove(&name("b.token")).expect_err("is gone"),
    ] {
        assert_eq!(
            error.to_string(),
            "there is no secret `b.token`: set it, or set the variable `MILEPOST_SECRET_B_TOKEN`"
        );
    }
    assert_eq!(names(&locations(root.path()).data), ["secrets.age", "secrets.key"]);
}

#[test]
fn no_value_is_seen_anywhere() {
    let root = tempfile::tempdir().expect("makes a directory");
    let variables =
        [("MILEPOST_SECRET_E", CANARY), ("MILEPOST_SECRETS_PASSPHRASE", "c4nary-7f3a9e-phrase")];
    let vault = vault_with(&locations(root.path()), &variables[..1]);
    for number in 0..3 {
        set(&vault, &format!("s{number}"), CANARY);
    }
    let bound = origin("https://a.example");
    vault.set(&name("bound"), Secret::new(CANARY), Some(&bound)).expect("sets");
    value(&vault, "s1");
    let refused = vault.get(&name("bound")).expect_err("is bound");
    let missing = vault.get(&name("none")).expect_err("is not there");
    let long = Secret::new(CANARY.repeat(limits::SECRET_BYTES));
    let long = vault.set(&name("long"), long, None).expect_err("is too long");
    let list = vault.list().expect("lists");
    check_unseen(root.path(), &format!("{vault:?} {list:?} {refused} {missing:?} {long:?}"));
    check_unseen(root.path(), &format!("{:?}", environment(&variables)));
    fs::write(locations(root.path()).data.join("secrets.age"), CANARY).expect("writes");
    let damaged = vault.get(&name("s1")).expect_err("is damaged");
    assert!(!format!("{damaged} {damaged:?}").contains(CANARY));
}

#[test]
fn the_environment_wins() {
    let root = tempfile::tempdir().expect("makes a directory");
    let locations = locations(root.path());
    set(&vault_with(&locations, &[]), "shop.api-key", "from the file");
    let variables = [
        ("MILEPOST_SECRET_SHOP_API_KEY", "from the environment"),
        ("MILEPOST_SECRET_OTHER", "x"),
        ("MILEPOST_SECRET_EMPTY", ""),
        ("MILEPOST_SECRET_", "x"),
        ("HOME", "/h"),
    ];
    let vault = vault_with(&locations, &variables);
    assert_eq!(value(&vault, "shop.api-key"), "from the environment");
    assert_eq!(value(&vault, "Shop_Api_Key"), "from the environment");
    vault.get(&name("empty")).expect_err("is not set");
    let listed = vault.list().expect("lists");
    let shown: Vec<_> =
        listed.iter().map(|one| (one.name.as_str(), one.from.name(), one.shadowed)).collect();
    assert_eq!(shown, [("OTHER", "env", false), ("shop.api-key", "env", true)]);
    set(&vault, "shop.api-key", "new");
    assert_eq!(value(&vault, "shop.api-key"), "from the environment");
    assert_eq!(value(&vault_with(&locations, &[]), "shop.api-key"), "new");
}

#[test]
fn the_environment_alone_is_read_only() {
    let root = tempfile::tempdir().expect("makes a directory");
    let environment = environment(&[("MILEPOST_SECRET_A", "x")]);
    let vault =
        Vault::open(&locations(root.path()), SecretsBackend::Env, environment).expect("opens");
    assert_eq!(value(&vault, "a"), "x");
    for error in [
        vault.set(&name("b"), Secret::new("x"), None).expect_err("is read only"),
        vault.remove(&name("a")).expect_err("is read only"),
    ] {
        assert!(matches!(error, SecretError::ReadOnly), "{error:?}");
    }
    assert!(!locations(root.path()).data.try_exists().expect("looks"));
}

#[cfg(not(feature = "keyring"))]
#[test]
fn a_keyring_that_is_not_built_in_is_told() {
    let root = tempfile::tempdir().expect("makes a directory");
    let locations = locations(root.path());
    let error = Vault::open(&locations, SecretsBackend::Keyring, Environment::default());
    assert!(matches!(error, Err(SecretError::NoKeyring)), "{error:?}");
}

#[test]
fn a_bound_secret_is_for_its_origin_alone() {
    let root = tempfile::tempdir().expect("makes a directory");
    let vault = vault(root.path());
    let own = origin("https://api.example/v1");
    vault.set(&name("bound"), Secret::new("x"), Some(&own)).expect("sets");
    set(&vault, "free", "y");
    for same in ["https://api.example", "https://API.example:443/other?x=1"] {
        let secret = vault.get_for(&name("bound"), &origin(same)).expect("is for it");
        assert_eq!(secret.reveal(), "x");
        assert_eq!(vault.get_for(&name("free"), &origin(same)).expect("is free").reveal(), "y");
    }
    for other in [
        "http://api.example",
        "https://api.example:8443",
        "https://api.example.evil.example",
        "https://sub.api.example",
        "data:text/plain,x",
    ] {
        let error = vault.get_for(&name("bound"), &origin(other)).expect_err(other);
        assert_eq!(error.to_string(), "secret `bound` may only be sent to `https://api.example`");
    }
    vault.get(&name("bound")).expect_err("is asked for without an origin");
    let listed = vault.list().expect("lists");
    assert_eq!(listed[0].origin.as_deref(), Some("https://api.example"));
    let error = vault.set(&name("x"), Secret::new("x"), Some(&origin("data:x")));
    assert!(matches!(error, Err(SecretError::NoOrigin)), "{error:?}");
}

#[test]
fn what_is_no_secret() {
    let root = tempfile::tempdir().expect("makes a directory");
    let vault = vault(root.path());
    let set = |length: usize| vault.set(&name("a"), Secret::new("x".repeat(length)), None);
    assert!(matches!(set(0), Err(SecretError::Empty)));
    set(limits::SECRET_BYTES).expect("fits");
    assert!(matches!(set(limits::SECRET_BYTES + 1), Err(SecretError::TooLarge)));
    assert_eq!(value(&vault, "a").len(), limits::SECRET_BYTES);
}

#[test]
fn writers_at_once_lose_nothing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let locations = locations(root.path());
    thread::scope(|scope| {
        for writer in 0..4 {
            let locations = &locations;
            scope.spawn(move || {
                let vault = vault_with(locations, &[]);
                for round in 0..5 {
                    set(&vault, &format!("s{writer}-{round}"), "x");
                }
            });
        }
    });
    assert_eq!(vault_with(&locations, &[]).list().expect("lists").len(), 20);
    assert_eq!(names(&locations.data), ["secrets.age", "secrets.key"]);
}

#[test]
fn damage_is_told_and_nothing_is_overwritten() {
    let root = tempfile::tempdir().expect("makes a directory");
    let data = locations(root.path()).data;
    let vault = vault(root.path());
    set(&vault, "a", CANARY);
    let (file, key) = (data.join("secrets.age"), data.join("secrets.key"));
    let whole = fs::read(&file).expect("reads");
    let check = |what: &str| {
        let before = fs::read(&file).expect("reads");
        let fresh = self::vault(root.path());
        let errors = [
            fresh.get(&name("a")).expect_err(what),
            fresh.list().map(drop).expect_err(what),
            fresh.set(&name("b"), Secret::new("x"), None).expect_err(what),
        ];
        assert_eq!(fs::read(&file).expect("reads"), before, "{what}");
        errors.map(|error| format!("{error:?}").split_once(' ').map(|(kind, _)| kind.to_owned()))
    };
    let all = |kind: &str| [(); 3].map(|()| Some(kind.to_owned()));
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&file, damaged).expect("writes");
        let found = check("flipped");
        assert!(found == all("Damaged") || found == all("WrongKey"), "byte {at}: {found:?}");
    }
    fs::write(&file, &whole[..whole.len() - 1]).expect("writes");
    assert_eq!(check("cut"), all("Damaged"));
    fs::write(&file, b"").expect("writes");
    assert_eq!(check("empty"), all("Damaged"));
    fs::write(&file, &whole).expect("writes");

    let kept = fs::read(&key).expect("reads");
    fs::remove_file(&key).expect("removes");
    assert_eq!(check("no key"), all("KeyMissing"));
    write_key(&key, b"AGE-SECRET-KEY-1NONSENSE");
    assert_eq!(check("no key in it"), all("WrongKey"));
    let elsewhere = tempfile::tempdir().expect("makes a directory");
    set(&self::vault(elsewhere.path()), "a", "x");
    write_key(
        &key,
        &fs::read(locations(elsewhere.path()).data.join("secrets.key")).expect("reads"),
    );
    assert_eq!(check("another key"), all("WrongKey"));
    write_key(&key, &kept);
    assert_eq!(value(&self::vault(root.path()), "a"), CANARY);
}

/// Writes a key that only its owner can read.
fn write_key(path: &Path, bytes: &[u8]) {
    drop(fs::remove_file(path));
    fs::write(path, b"").expect("writes");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("sets");
    }
    fs::write(path, bytes).expect("writes");
}

#[test]
fn a_passphrase_takes_the_place_of_the_key() {
    let root = tempfile::tempdir().expect("makes a directory");
    let locations = locations(root.path());
    set(&vault_with(&locations, &[]), "a", CANARY);
    let phrase = [("MILEPOST_SECRETS_PASSPHRASE", "correct horse")];
    // Secrets encrypted with the key can still be read, and are written with the passphrase from
    // now on.
    let vault = vault_with(&locations, &phrase);
    assert_eq!(value(&vault, "a"), CANARY);
    set(&vault, "b", CANARY);
    assert_eq!(value(&vault_with(&locations, &phrase), "a"), CANARY);
    let error = vault_with(&locations, &[]).get(&name("a")).expect_err("needs it");
    assert!(matches!(error, SecretError::NeedsPassphrase { .. }), "{error:?}");
    let wrong = [("MILEPOST_SECRETS_PASSPHRASE", "wrong")];
    let error = vault_with(&locations, &wrong).get(&name("a")).expect_err("is wrong");
    assert!(matches!(error, SecretError::WrongPassphrase { .. }), "{error:?}");
    check_unseen(root.path(), &format!("{error} {vault:?}"));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("is there").permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("sets");
    }

    #[test]
    fn only_the_owner_may_read() {
        let root = tempfile::tempdir().expect("makes a directory");
        let data = locations(root.path()).data;
        let vault = vault(root.path());
        set(&vault, "a", "x");
        assert_eq!(mode(&data), 0o700);
        for file in ["secrets.age", "secrets.key"] {
            assert_eq!(mode(&data.join(file)), 0o600, "{file}");
        }
        set_mode(&data.join("secrets.age"), 0o644);
        set(&vault, "b", "x");
        assert_eq!(mode(&data.join("secrets.age")), 0o600, "is taken back");
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let root = tempfile::tempdir().expect("makes a directory");
        set(&vault(root.path()), "a", "x");
        let key = locations(root.path()).data.join("secrets.key");
        for exposed in [0o640, 0o604, 0o660, 0o644] {
            set_mode(&key, exposed);
            let fresh = vault(root.path());
            for error in [
                fresh.get(&name("a")).expect_err("is refused"),
                fresh.set(&name("b"), Secret::new("x"), None).expect_err("is refused"),
            ] {
                let expected = format!(
                    "`{}` is accessible to other users (mode {exposed:03o})",
                    key.display()
                );
                assert_eq!(error.to_string(), expected);
            }
        }
        set_mode(&key, 0o400);
        assert_eq!(value(&vault(root.path()), "a"), "x");
    }

    #[test]
    fn links_out_of_the_directory_are_refused() {
        let root = tempfile::tempdir().expect("makes a directory");
        let data = locations(root.path()).data;
        set(&vault(root.path()), "a", "x");
        for file in ["secrets.age", "secrets.key"] {
            let (path, outside) = (data.join(file), root.path().join("outside"));
            fs::rename(&path, &outside).expect("moves");
            symlink(&outside, &path).expect("links");
            let before = fs::read(&outside).expect("reads");
            let fresh = vault(root.path());
            for error in [
                fresh.get(&name("a")).expect_err("is refused"),
                fresh.set(&name("b"), Secret::new("x"), None).expect_err("is refused"),
            ] {
                let SecretError::File(FileError::Outside { .. }) = error else {
                    panic!("{error:?}")
                };
            }
            assert_eq!(fs::read(&outside).expect("reads"), before);
            fs::rename(&outside, &path).expect("moves back");
        }
    }
}
