//! The configuration, the directories, and their permissions.

use std::path::Path;

use milepost_store::health::{self, DirectoryState, Exposed, Exposure, PrivatePathKind};
use milepost_store::{Config, ConfigError, ConfigLayer};

use super::{DoctorCheck, mended_or, or_ok};
use crate::prelude::*;

/// Checks every configuration file that may be used here.
pub(super) fn config(writer: &Writer) -> Vec<DoctorCheck> {
    let locations = &writer.reader.locations;
    let home = locations.home.as_deref();
    let project = locations.project.as_ref().map(|folder| folder.join(".milepost/config.toml"));
    let own = ConfigLayer::Project(&locations.user_config);
    let mut checks = one_config("config.user", &locations.user_config, home, ConfigLayer::User);
    if let Some(project) = &project {
        checks.extend(one_config("config.project", project, home, own));
    }
    let chosen = &locations.config;
    if *chosen != locations.user_config && project.as_ref() != Some(chosen) {
        checks.extend(one_config("config.chosen", chosen, home, own));
        if !chosen.is_file() {
            let fix = "create the file, or unset `REGISTRY_CONFIG_PATH`";
            let what = "`REGISTRY_CONFIG_PATH` names a file that does not exist";
            checks.push(DoctorCheck::warning("config.chosen", what, fix).at(chosen));
        }
    }
    checks
}

fn one_config(
    id: &'static str,
    path: &Path,
    home: Option<&Path>,
    layer: ConfigLayer<'_>,
) -> Vec<DoctorCheck> {
    let config = match Config::read_at(path, home, layer) {
        Ok(None) => return vec![DoctorCheck::ok(id, "no file; using defaults").at(path)],
        Ok(Some(config)) => config,
        Err(error) => return vec![bad_config(id, &error).at(path)],
    };
    let unknown = config.warnings.iter().map(|unknown| {
        let fix = match unknown.meant {
            Some(meant) => Hint::text(format!("write it as `{meant}`")),
            None => {
                Hint::text("remove it; ").call(Invocation::of("config.get")).then(" lists all keys")
            }
        };
        let what = format!("{}: unknown key `{}`", unknown.at, unknown.key);
        DoctorCheck::warning(id, what, fix).at(path)
    });
    or_ok(unknown.collect(), || DoctorCheck::ok(id, "valid; all keys are known").at(path))
}

fn bad_config(id: &'static str, error: &ConfigError) -> DoctorCheck {
    match error {
        ConfigError::Fault { fault, .. } => {
            let page = Invocation::of("docs").with("topic", "CONFIG_INVALID");
            let fix = Hint::text("correct the file (every key is optional); see ").call(page);
            DoctorCheck::fault(id, fault.to_string(), fix)
        }
        ConfigError::Grants(error) => {
            DoctorCheck::fault(id, error.to_string(), crate::trust::of_grants(error).hint)
        }
        ConfigError::File(error) => {
            let what = problems::of_file(error).message;
            DoctorCheck::fault(id, what, "give yourself read access to the file")
        }
    }
}

/// Checks the directories that Milepost writes to.
pub(super) fn directories(writer: &Writer) -> Vec<DoctorCheck> {
    let locations = &writer.reader.locations;
    let config = locations.config.parent().unwrap_or(Path::new("."));
    let all = [
        ("directory.config", config),
        ("directory.data", &*locations.data),
        ("directory.cache", &*locations.cache),
    ];
    all.into_iter().map(|(id, path)| directory(id, path)).collect()
}

fn directory(id: &'static str, path: &Path) -> DoctorCheck {
    let check = match health::directory(path) {
        DirectoryState::There => DoctorCheck::ok(id, "usable"),
        DirectoryState::ToBeMade => DoctorCheck::ok(id, "does not exist yet; created when needed"),
        DirectoryState::ReadOnly => {
            let fix = format!("give yourself write access: `chmod u+wx {}`", path.display());
            DoctorCheck::fault(id, "it is not writable", fix)
        }
        DirectoryState::Blocked { by, why, in_the_way } => {
            let by = by.display();
            let fix = match in_the_way {
                true => format!("move `{by}` away"),
                false => format!(
                    "give yourself access: `chmod u+rwx {by}`, or `sudo chown \"$USER\" {by}`"
                ),
            };
            DoctorCheck::fault(id, format!("it cannot be used because of `{by}`: {why}"), fix)
        }
    };
    check.at(path)
}

/// Checks that private files are private.
pub(super) fn modes(writer: &Writer) -> Vec<DoctorCheck> {
    let exposed = health::exposed(&writer.reader.locations);
    let found = exposed.iter().map(mode);
    or_ok(found.collect(), || {
        DoctorCheck::ok("mode", "private files are readable only by their owner")
    })
}

fn mode(exposed: &Exposed) -> DoctorCheck {
    let path = exposed.path.display();
    let (what, fix) = match exposed.exposure {
        Exposure::Foreign => {
            let fix = format!("take ownership: `sudo chown \"$USER\" {path}`");
            return DoctorCheck::fault("mode", "it belongs to another user", fix).at(&exposed.path);
        }
        Exposure::Link => (
            "it is a link, and its target may be readable by others".to_owned(),
            "replace the link with the file or folder itself; the target of the link is not \
             changed"
                .into(),
        ),
        Exposure::Open(mode) => {
            let by_hand = match exposed.kept {
                PrivatePathKind::File => format!("`chmod 600 {path}`"),
                PrivatePathKind::Directory => format!("`chmod 700 {path}`"),
            };
            let fix = match exposed.closable {
                true => mended_or(&format!(", or {by_hand}")),
                false => format!("it is a link: check its target, then {by_hand}").into(),
            };
            (format!("other users can access it (mode {mode:03o})"), fix)
        }
    };
    let check = match exposed.kept {
        PrivatePathKind::File => DoctorCheck::fault("mode", what, fix),
        // The files in the directory have their own modes.
        PrivatePathKind::Directory => DoctorCheck::warning("mode", what, fix),
    };
    check.at(&exposed.path)
}

/// Checks the free disk space.
pub(super) fn disk(writer: &Writer) -> Vec<DoctorCheck> {
    let locations = &writer.reader.locations;
    let mut all = vec![&*locations.data];
    if !health::same_disk(&locations.cache, &locations.data) {
        all.push(&*locations.cache);
    }
    let looked = |path: &&Path| free(path).map(|bytes| room(bytes).at(path));
    all.iter().filter_map(looked).collect()
}

fn free(path: &Path) -> Option<u64> {
    // Tests set the free space with this variable; release builds ignore it.
    #[cfg(debug_assertions)]
    if let Some(bytes) = std::env::var("MILEPOST_DISK").ok().and_then(|text| text.parse().ok()) {
        return Some(bytes);
    }
    health::free_bytes(path)
}

fn room(bytes: u64) -> DoctorCheck {
    let what = format!("{} MiB free", bytes >> 20);
    let fix = Hint::text("free some disk space; ")
        .call(Invocation::of("runs.purge"))
        .then(" removes ended runs");
    match bytes {
        ..limits::DISK_FULL_BYTES => DoctorCheck::fault("disk", what, fix),
        limits::DISK_FULL_BYTES..limits::DISK_LOW_BYTES => DoctorCheck::warning("disk", what, fix),
        _ => DoctorCheck::ok("disk", what),
    }
}

/// Checks for files left by dead processes, and for held locks.
pub(super) fn leftovers(writer: &Writer) -> Vec<DoctorCheck> {
    let locations = &writer.reader.locations;
    let left = health::leftovers(locations);
    let left = left.iter().map(|path| {
        let what = "a process died while writing this file";
        DoctorCheck::warning("leftover", what, mended_or(", or remove it")).at(path)
    });
    let held = health::held_locks(locations);
    let held = held.iter().map(|path| {
        let fix = "wait; if the lock is not released, stop the process that holds it";
        DoctorCheck::warning("lock", "a process currently holds this lock", fix).at(path)
    });
    or_ok(left.chain(held).collect(), || {
        DoctorCheck::ok("leftover", "no leftover files, no locks held")
    })
}
