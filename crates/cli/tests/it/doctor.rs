//! `milepost doctor` with the real binary. Each fault is planted alone in a folder that has been
//! used for everything, and must be found, named and reported with its remedy.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};
use milepost_store::runs::{
    Durability, HeartbeatRow, HolderId, NewEvent, NewRunRow, OpenOptions, Pins, RunRecord,
    RunStatus, RunSummary, Runs,
};
use serde_json::Value;

use crate::catalog::SHOP;
use crate::{Place, Ran, SLIP, SOUND, finish};

/// A secret value that must never be shown.
const CANARY: &str = "Kanarien-vogel-0042";

const DATA: &str = "home/.local/share/milepost";
const CONFIG: &str = "home/.config/milepost";
const CACHE: &str = "home/.cache/milepost";

/// A folder in which every feature has been used.
fn used() -> Place {
    let place = Place::with(&[("shop.yaml", SHOP), ("sound.yaml", SOUND)]);
    place.say("catalog import shop.yaml").ends(0);
    place.say("catalog auth shop --token SHOP_TOKEN").ends(0);
    finish(place.command().args(["secret", "set", "SHOP_TOKEN"]), CANARY).ends(0);
    place.say("workflow save sound.yaml").ends(0);
    place.say("run sound").ends(5);
    place
}

impl Place {
    fn below(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Copies the folder, except for sockets, which cannot be copied.
    fn copy(&self) -> Place {
        let root = tempfile::tempdir().expect("makes a directory");
        copy(self.root.path(), root.path());
        Place { root }
    }

    fn doctor(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command();
        command.envs(variables.iter().copied());
        finish(command.arg("doctor").args(arguments), "")
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("reads").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            fs::create_dir(&target).expect("makes a folder");
            copy(&path, &target);
            let mode = fs::metadata(&path).expect("is there").permissions();
            fs::set_permissions(&target, mode).expect("sets");
        } else if path.is_file() {
            fs::copy(&path, &target).expect("copies");
        }
    }
}

/// The checks that did not pass.
fn found(report: &Value) -> Vec<&Value> {
    let checks = report["checks"].as_array().expect("a list");
    checks.iter().filter(|check| check["state"] != "ok").collect()
}

fn is(check: &Value, key: &str, part: &str) -> bool {
    check[key].as_str().is_some_and(|text| text.contains(part))
}

/// A planted fault and its expected report.
struct Planted {
    name: &'static str,
    plant: fn(&Place),
    variables: &'static [(&'static str, &'static str)],
    id: &'static str,
    state: &'static str,
    /// Part of the reported location.
    place: &'static str,
    /// Part of the reported remedy.
    fix: &'static str,
    /// Whether `--fix` repairs the fault.
    heals: bool,
}

const FAULT: &str = "fault";
const WARNING: &str = "warning";
const BASE: Planted = Planted {
    name: "",
    plant: |_| {},
    variables: &[],
    id: "",
    state: FAULT,
    place: "",
    fix: "",
    heals: false,
};

fn put(place: &Place, name: &str, text: &str) {
    let path = place.below(name);
    fs::create_dir_all(path.parent().expect("has a parent")).expect("makes the folder");
    fs::write(path, text).expect("writes");
}

fn remove(place: &Place, name: &str) {
    fs::remove_file(place.below(name)).expect("is there");
}

#[cfg(unix)]
fn open_to_all(place: &Place, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = place.below(name);
    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("sets");
}

fn folder_instead(place: &Place, name: &str) {
    remove(place, name);
    fs::create_dir(place.below(name)).expect("makes a folder");
}

/// Creates a link to itself, which not even an administrator can resolve.
#[cfg(unix)]
fn unreachable(place: &Place, name: &str) {
    remove(place, name);
    std::os::unix::fs::symlink(place.below(name), place.below(name)).expect("links");
}

/// Replaces a private file with a link to one of the user's files.
#[cfg(unix)]
fn link_to_victim(place: &Place, name: &str) {
    put(place, "victim.txt", "for all to read");
    open_to_all(place, "victim.txt");
    std::os::unix::fs::symlink(place.below("victim.txt"), place.below(name)).expect("links");
}

#[cfg(unix)]
#[test]
fn the_target_of_a_link_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;

    let place = used();
    let mode = |name: &str| {
        fs::metadata(place.below(name)).expect("is there").permissions().mode() & 0o777
    };
    link_to_victim(&place, "home/.local/share/milepost/http-token");
    fs::create_dir(place.below("folder")).expect("makes a folder");
    open_to_all(&place, "folder");
    let blobs = place.below(DATA).join("blobs");
    drop(fs::remove_dir_all(&blobs));
    std::os::unix::fs::symlink(place.below("folder"), blobs).expect("links");
    let report = place.doctor(&["--fix", "--json"], &[]).ends(1).json();
    assert_eq!((mode("victim.txt"), mode("folder")), (0o644, 0o755));
    assert!(!report["mended"].to_string().contains("private"), "{report:#}");
    let links = found(&report).iter().filter(|check| is(check, "what", "it is a link")).count();
    assert_eq!(links, 2, "{report:#}");
}

/// Replaces the first occurrence of a string in a file.
fn change(place: &Place, name: &str, from: &[u8], to: &[u8]) {
    let path = place.below(name);
    let mut bytes = fs::read(&path).expect("reads");
    let at = bytes.windows(from.len()).position(|window| window == from).expect("says so");
    bytes[at..at + to.len()].copy_from_slice(to);
    fs::write(path, bytes).expect("writes");
}

fn overwrite(place: &Place, name: &str, at: usize, with: &[u8]) {
    let path = place.below(name);
    let mut bytes = fs::read(&path).expect("reads");
    bytes[at..at + with.len()].copy_from_slice(with);
    fs::write(path, bytes).expect("writes");
}

/// The only file in a folder with this suffix.
fn ending(place: &Place, folder: &str, end: &str) -> PathBuf {
    let entries = fs::read_dir(place.below(folder)).expect("reads").flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| path.to_string_lossy().ends_with(end)).expect("is there")
}

/// Leaves a run whose process died although it still had work to do.
fn left_behind(place: &Place) {
    let runs = Runs::open(&place.below(DATA), OpenOptions::default()).expect("opens");
    let holder = HolderId::from_bytes([7; 8]);
    let beat = HeartbeatRow { holder: holder.clone(), pid: 1, now_ms: 1_000, ttl_ms: 1 };
    runs.beat(beat, |beat| beat.expect("beats"));
    let record = RunRecord {
        id: RunId::from_bytes([7; 16]),
        workflow: WorkflowId::parse("sound").expect("is an id"),
        title: "Sound".to_owned(),
        text: Digest::of(SOUND.as_bytes()),
        actor: "ada".to_owned(),
        workspace: "/work".to_owned(),
        parent: None,
        durability: Durability::Full,
        created_ms: 1_000,
        standing: RunSummary {
            status: RunStatus::Running,
            waiting: None,
            wake_ms: None,
            ended_ms: None,
            updated_ms: 1_000,
        },
        last_seq: 0,
        quarantined: false,
    };
    let events = vec![NewEvent { at_ms: 1_000, kind: "noted".to_owned(), data: b"{}".to_vec() }];
    let new = NewRunRow { record, text: SOUND.to_owned(), events, pins: Pins::default() };
    runs.create(new, Some(holder), |created| drop(created.expect("creates")));
}

fn client(place: &Place, name: &str, text: &str) {
    put(place, name, &text.replace("CANARY", CANARY));
}

const PLACES: &[Planted] = &[
    Planted {
        name: "a configuration that is not valid TOML",
        plant: |place| put(place, "home/.config/milepost/config.toml", "confirm = ["),
        id: "config.user",
        place: "milepost/config.toml",
        fix: "correct the file",
        ..BASE
    },
    Planted {
        name: "a key of the configuration that means nothing",
        plant: |place| put(place, "home/.config/milepost/config.toml", "env_alow = []\n"),
        id: "config.user",
        state: WARNING,
        place: "milepost/config.toml",
        fix: "`env_allow`",
        ..BASE
    },
    Planted {
        name: "a value of the project's configuration that does not fit",
        plant: |place| put(place, "work/.milepost/config.toml", "[policy]\nwrites = \"never\"\n"),
        id: "config.project",
        place: "work/.milepost/config.toml",
        fix: "correct the file",
        ..BASE
    },
    Planted {
        name: "a configuration that a variable names and that is not there",
        variables: &[("REGISTRY_CONFIG_PATH", "nowhere/config.toml")],
        id: "config.chosen",
        state: WARNING,
        place: "nowhere/config.toml",
        fix: "REGISTRY_CONFIG_PATH",
        ..BASE
    },
    Planted {
        name: "a file where the cache should be",
        plant: |place| {
            fs::remove_dir_all(place.below(CACHE)).expect("is there");
            fs::write(place.below(CACHE), "").expect("writes");
        },
        id: "directory.cache",
        place: ".cache/milepost",
        fix: "move",
        ..BASE
    },
    Planted {
        name: "a part of a file that nobody writes any more",
        plant: |place| {
            let path = place.below(CONFIG).join(".config.toml.4194999-0.tmp");
            let file = File::create(path).expect("makes a file");
            let then = SystemTime::now() - Duration::from_hours(24);
            file.set_modified(then).expect("sets");
        },
        id: "leftover",
        state: WARNING,
        place: ".config.toml.4194999-0.tmp",
        fix: "doctor --fix",
        heals: true,
        ..BASE
    },
    Planted {
        name: "hardly any room",
        variables: &[("MILEPOST_DISK", "100000000")],
        id: "disk",
        state: WARNING,
        place: DATA,
        fix: "runs purge",
        ..BASE
    },
    Planted {
        name: "no room",
        variables: &[("MILEPOST_DISK", "1000")],
        id: "disk",
        place: DATA,
        fix: "free some disk space",
        ..BASE
    },
];

#[cfg(unix)]
const MODES: &[Planted] = &[
    Planted {
        name: "data that others may look at",
        plant: |place| open_to_all(place, DATA),
        id: "mode",
        state: WARNING,
        place: DATA,
        fix: "chmod 700",
        heals: true,
        ..BASE
    },
    Planted {
        name: "the key of the secrets, readable by others",
        plant: |place| open_to_all(place, "home/.local/share/milepost/secrets.key"),
        id: "mode",
        place: "secrets.key",
        fix: "chmod 600",
        heals: true,
        ..BASE
    },
    Planted {
        name: "the key of the runs, readable by others",
        plant: |place| open_to_all(place, "home/.local/share/milepost/chain.key"),
        id: "journal.key",
        place: "chain.key",
        fix: "chmod 600",
        heals: true,
        ..BASE
    },
    Planted {
        name: "the token of the server, readable by others",
        plant: |place| {
            put(place, "home/.local/share/milepost/http-token", CANARY);
            open_to_all(place, "home/.local/share/milepost/http-token");
        },
        id: "mode",
        place: "http-token",
        fix: "doctor --fix",
        heals: true,
        ..BASE
    },
    Planted {
        name: "a link in the place of the server's token",
        plant: |place| link_to_victim(place, "home/.local/share/milepost/http-token"),
        id: "mode",
        place: "http-token",
        fix: "replace the link",
        ..BASE
    },
];
#[cfg(not(unix))]
const MODES: &[Planted] = &[];

const JOURNAL: &[Planted] = &[
    Planted {
        name: "the key of the runs is gone",
        plant: |place| remove(place, "home/.local/share/milepost/chain.key"),
        id: "journal.key",
        place: "chain.key",
        fix: "milepost backup",
        ..BASE
    },
    Planted {
        name: "another key",
        plant: |place| overwrite(place, "home/.local/share/milepost/chain.key", 0, &[7; 32]),
        id: "journal.key",
        place: "chain.key",
        fix: "put `chain.key` back",
        ..BASE
    },
    Planted {
        name: "no database at all",
        plant: |place| overwrite(place, "home/.local/share/milepost/runs.db", 0, &[b'x'; 100]),
        id: "journal.database",
        place: "runs.db",
        fix: "milepost backup",
        ..BASE
    },
    Planted {
        name: "pages that are damaged",
        plant: |place| {
            let path = place.below(DATA).join("runs.db");
            let mut bytes = fs::read(&path).expect("reads");
            // Overwrites everything after the schema page, which is needed to locate the rest.
            bytes[3 * 4096..].iter_mut().for_each(|byte| *byte = 0x5a);
            fs::write(path, bytes).expect("writes");
        },
        id: "journal.database",
        place: "runs.db",
        fix: "milepost backup",
        ..BASE
    },
    Planted {
        name: "a database of a later version",
        plant: |place| {
            overwrite(place, "home/.local/share/milepost/runs.db", 60, &99_u32.to_be_bytes());
        },
        id: "journal.version",
        place: "runs.db",
        fix: "install",
        ..BASE
    },
    Planted {
        name: "an event that somebody changed",
        plant: |place| {
            let database = "home/.local/share/milepost/runs.db";
            change(place, database, b"\"event\":\"run_created\"", b"\"event\":\"run_creatXd\"");
        },
        id: "journal.runs",
        place: "run_",
        fix: "the other runs are not affected",
        ..BASE
    },
    Planted {
        name: "a run whose process is gone",
        plant: left_behind,
        id: "journal.leases",
        state: WARNING,
        place: "run_",
        fix: "milepost resume run_",
        heals: true,
        ..BASE
    },
    Planted {
        name: "a clock that was set back",
        variables: &[("MILEPOST_CLOCK", "-86400000")],
        id: "clock",
        state: WARNING,
        fix: "correct this machine's clock",
        ..BASE
    },
];

/// Healthy data that cannot be reached: no remedy may suggest discarding it.
const UNREACHABLE: &[Planted] = &[
    Planted {
        name: "a folder in the place of the runs",
        plant: |place| folder_instead(place, "home/.local/share/milepost/runs.db"),
        id: "journal.database",
        place: "runs.db",
        fix: "move it away",
        ..BASE
    },
    Planted {
        name: "a folder in the place of the key of the runs",
        plant: |place| folder_instead(place, "home/.local/share/milepost/chain.key"),
        id: "journal.key",
        place: "chain.key",
        fix: "move it away",
        ..BASE
    },
    Planted {
        name: "a folder in the place of the secrets",
        plant: |place| folder_instead(place, "home/.local/share/milepost/secrets.age"),
        id: "secret.store",
        place: "secrets.age",
        fix: "move it away",
        ..BASE
    },
    #[cfg(unix)]
    Planted {
        name: "runs that cannot be looked at",
        plant: |place| unreachable(place, "home/.local/share/milepost/runs.db"),
        id: "journal.database",
        place: "runs.db",
        fix: "chmod u+rw",
        ..BASE
    },
    #[cfg(unix)]
    Planted {
        name: "a key of the runs that cannot be looked at",
        plant: |place| unreachable(place, "home/.local/share/milepost/chain.key"),
        id: "journal.key",
        place: "chain.key",
        fix: "chmod u+rw",
        ..BASE
    },
    #[cfg(unix)]
    Planted {
        name: "secrets that cannot be looked at",
        plant: |place| unreachable(place, "home/.local/share/milepost/secrets.age"),
        id: "secret.store",
        place: "secrets.age",
        fix: "replace the link",
        ..BASE
    },
];

#[test]
fn unreachable_data_is_never_called_disposable() {
    let used = used();
    for planted in UNREACHABLE {
        let place = used.copy();
        (planted.plant)(&place);
        let report = place.doctor(&["--json"], &[]).ends(1).json();
        for check in found(&report) {
            let fix = check["fix"].as_str().expect("a fix");
            let loses = ["milepost backup", "remove `", "again, or"];
            assert!(!loses.iter().any(|word| fix.contains(word)), "{}: {fix}", planted.name);
        }
    }
}

/// Unreadable runs must not be reported as an absence of runs.
#[cfg(unix)]
#[test]
fn unreachable_runs_are_reported_as_such() {
    let used = used();
    for plant in [folder_instead, unreachable] {
        let place = used.copy();
        plant(&place, "home/.local/share/milepost/runs.db");
        for line in ["runs", "inbox"] {
            let ran = place.say(line).ends(75);
            assert!(ran.err.contains("runs.db"), "{}", ran.err);
            assert!(!ran.err.contains("no runs yet"), "{}", ran.err);
        }
    }
}

const CATALOGS: &[Planted] = &[
    Planted {
        name: "a record that is none",
        plant: |place| put(place, "home/.config/milepost/catalogs/shop.toml", "id = 3\n"),
        id: "catalog.record",
        place: "shop.toml",
        fix: "milepost catalog remove shop",
        ..BASE
    },
    Planted {
        name: "a document that is gone",
        plant: |place| remove(place, "home/.config/milepost/catalogs/shop.source.yaml"),
        id: "catalog.document",
        place: "shop.source.yaml",
        fix: "milepost catalog import",
        ..BASE
    },
    Planted {
        name: "a document that somebody changed",
        plant: |place| {
            put(place, "home/.config/milepost/catalogs/shop.source.yaml", &format!("{SHOP}\n"));
        },
        id: "catalog.document",
        state: WARNING,
        place: "shop.source.yaml",
        fix: "--overwrite",
        ..BASE
    },
    Planted {
        name: "an import that died",
        plant: |place| {
            let folder = "home/.config/milepost/catalogs";
            put(place, &format!("{folder}/.shop.source.yaml.next"), SHOP);
            put(place, &format!("{folder}/shop.source.yaml"), "openapi: 3.0.3\n");
        },
        id: "catalog.document",
        state: WARNING,
        place: "shop.source.yaml",
        fix: "doctor --fix",
        heals: true,
        ..BASE
    },
    Planted {
        name: "derived data that is damaged",
        plant: |place| {
            let path = ending(place, "home/.cache/milepost/derived", ".bin");
            fs::write(path, "garbage").expect("writes");
        },
        id: "catalog.derived",
        state: WARNING,
        place: "derived/shop-",
        fix: "doctor --fix",
        heals: true,
        ..BASE
    },
    Planted {
        name: "a secret that is not there",
        plant: |place| drop(place.say("secret remove SHOP_TOKEN").ends(0)),
        id: "secret.missing",
        place: "shop.toml",
        fix: "milepost secret set SHOP_TOKEN",
        ..BASE
    },
    Planted {
        name: "secrets that are damaged",
        plant: |place| put(place, "home/.local/share/milepost/secrets.age", "garbage"),
        id: "secret.store",
        fix: "set the secrets again",
        ..BASE
    },
    Planted {
        name: "the key of the secrets is gone",
        plant: |place| remove(place, "home/.local/share/milepost/secrets.key"),
        id: "secret.store",
        fix: "put `secrets.key` back",
        ..BASE
    },
];

const OTHERS: &[Planted] = &[
    Planted {
        name: "a workflow that is none",
        plant: |place| put(place, "home/.config/milepost/workflows/slip.yaml", SLIP),
        id: "workflow.invalid",
        place: "workflows/slip.yaml",
        fix: "milepost workflow validate",
        ..BASE
    },
    Planted {
        name: "a workflow that another one hides",
        plant: |place| put(place, "work/more/sound.yaml", SOUND),
        variables: &[("WORKFLOW_STORAGE_PATH", "more")],
        id: "workflow.shadowed",
        state: WARNING,
        place: "work/more",
        fix: "another id",
        ..BASE
    },
    Planted {
        name: "Claude Code starts what is not there",
        plant: |place| {
            let text = r#"{"token": "CANARY", "projects": {"/work": {"mcpServers": {"milepost":
                {"command": "/nowhere/milepost", "args": ["mcp"], "env": {"A": "CANARY"}}}}}}"#;
            client(place, "home/.claude.json", text);
        },
        id: "client",
        place: ".claude.json",
        fix: "the full path of this program",
        ..BASE
    },
    Planted {
        name: "Cursor starts what is not there",
        plant: |place| {
            let text = r#"{ // "CANARY"
                "mcpServers": {"tasks": {"command": "~/bin/milepost", }, "x": {"url": "CANARY"}},
            }"#;
            client(place, "home/.cursor/mcp.json", text);
        },
        id: "client",
        place: ".cursor/mcp.json",
        fix: "the full path of this program",
        ..BASE
    },
    Planted {
        name: "VS Code starts what is not there",
        plant: |place| {
            let text = r#"{"servers": {"milepost": {"command": "no-such-program"}}}"#;
            client(place, "work/.vscode/mcp.json", text);
        },
        id: "client",
        place: ".vscode/mcp.json",
        fix: "the full path of this program",
        ..BASE
    },
    Planted {
        name: "Codex starts what is not there",
        plant: |place| {
            let text = "key = 'CANARY'\n[mcp_servers.milepost]\ncommand = 'milepost-gone'\n";
            client(place, "home/.codex/config.toml", text);
        },
        id: "client",
        place: ".codex/config.toml",
        fix: "the full path of this program",
        ..BASE
    },
    Planted {
        name: "goose starts what is not there",
        plant: |place| {
            let text = "GOOSE_MODE: CANARY # ours\nextensions:\n  milepost:\n    type: stdio\n    \
                        cmd: /nowhere/milepost\n    args: [mcp]\n    envs: {A: CANARY}\n";
            client(place, "home/.config/goose/config.yaml", text);
        },
        id: "client",
        place: "goose/config.yaml",
        fix: "the full path of this program",
        ..BASE
    },
    Planted {
        name: "Claude Desktop starts what is not there",
        plant: |place| {
            let text = r#"{"theme": "CANARY", "mcpServers": {"milepost":
                {"command": "/nowhere/milepost", "args": ["mcp"]}}}"#;
            client(place, "home/.config/Claude/claude_desktop_config.json", text);
        },
        id: "client",
        place: "Claude/claude_desktop_config.json",
        fix: "the full path of this program",
        ..BASE
    },
    Planted {
        name: "Codex in a project starts what is not there",
        plant: |place| {
            let text = "[mcp_servers.milepost]\ncommand = '/nowhere/milepost'\n";
            client(place, "work/.codex/config.toml", text);
        },
        id: "client",
        place: "work/.codex/config.toml",
        fix: "the full path of this program",
        ..BASE
    },
    Planted {
        name: "a client's file that cannot be read",
        plant: |place| client(place, "home/.cursor/mcp.json", "{\"CANARY\""),
        id: "client",
        state: WARNING,
        place: ".cursor/mcp.json",
        fix: "Cursor",
        ..BASE
    },
];

#[test]
fn every_planted_fault_is_found_and_named_with_its_fix() {
    let used = used();
    let all: Vec<&Planted> =
        [PLACES, MODES, JOURNAL, UNREACHABLE, CATALOGS, OTHERS].into_iter().flatten().collect();
    assert!(all.len() >= 30, "{} faults are too few", all.len());
    for planted in all {
        let (name, variables) = (planted.name, planted.variables);
        let place = used.copy();
        (planted.plant)(&place);
        let ran = place.doctor(&["--json"], variables);
        let report = ran.json();
        let found = found(&report);
        let told = found.iter().find(|check| {
            let fits = check["id"] == planted.id && check["state"] == planted.state;
            fits && is(check, "fix", planted.fix)
                && (planted.place.is_empty() || is(check, "where", planted.place))
        });
        assert!(told.is_some(), "{name}: {found:#?}");
        let faults = found.iter().filter(|check| check["state"] == FAULT).count();
        assert_eq!(report["faults"], faults, "{name}");
        assert_eq!(ran.code, i32::from(faults > 0), "{name}");
        assert!(found.iter().all(|check| check["fix"].is_string()), "{name}: {found:#?}");
        let plain = place.doctor(&[], variables).ends(ran.code);
        assert!(plain.out.contains(planted.id) && plain.out.contains(planted.fix), "{name}");
        let offers = plain.err.contains("`milepost doctor --fix` fixes");
        assert!(offers == planted.heals || found.len() > 1, "{name}: {}", plain.err);
        if planted.heals {
            let healed = place.doctor(&["--fix", "--json"], variables).ends(0).json();
            assert_eq!(self::found(&healed), Vec::<&Value>::new(), "{name}");
            assert!(!healed["mended"].as_array().expect("a list").is_empty(), "{name}");
            assert_eq!(healed["not_mended"], Value::Array(Vec::new()), "{name}");
            place.doctor(&["--json"], variables).ends(0);
        } else {
            let still = place.doctor(&["--fix", "--json"], variables).ends(ran.code).json();
            let same = |check: &&&Value| check["id"] == planted.id;
            assert!(self::found(&still).iter().any(|check| same(&check)), "{name}");
        }
        for text in [&ran.out, &ran.err, &plain.out, &plain.err] {
            assert!(!text.contains(CANARY), "{name}: {text}");
        }
    }
}

#[test]
fn a_healthy_folder_passes_every_check() {
    let place = used();
    let report = place.doctor(&["--json"], &[]).ends(0).quiet().json();
    assert_eq!(found(&report), Vec::<&Value>::new());
    assert_eq!((&report["faults"], &report["warnings"]), (&0.into(), &0.into()));
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["mended"], Value::Array(Vec::new()));
    let checks = report["checks"].as_array().expect("a list");
    for check in checks {
        let keys: BTreeSet<&str> =
            check.as_object().expect("a map").keys().map(String::as_str).collect();
        let all = BTreeSet::from(["id", "state", "what", "where"]);
        assert!(keys.is_subset(&all) && check["what"].is_string(), "{check}");
    }
    let ids: BTreeSet<&str> = checks.iter().filter_map(|check| check["id"].as_str()).collect();
    let expected = [
        "catalog.derived",
        "catalog.document",
        "catalog.record",
        "client",
        "clock",
        "config.user",
        "directory.cache",
        "directory.config",
        "directory.data",
        "disk",
        "journal.database",
        "journal.key",
        "journal.leases",
        "journal.log",
        "journal.runs",
        "leftover",
        "mode",
        "program",
        "secret.missing",
        "secret.store",
        "workflow.invalid",
        "workflow.shadowed",
    ];
    assert_eq!(ids.into_iter().collect::<Vec<_>>(), expected);
    let plain = place.doctor(&[], &[]).ends(0).quiet();
    assert!(plain.out.ends_with("0 faults, 0 warnings\n"), "{}", plain.out);
    assert!(!plain.out.contains(CANARY) && plain.out.contains("milepost 0."));
}

#[test]
fn a_new_folder_is_healthy_and_stays_empty() {
    let place = Place::new();
    let before = crate::secret::files(place.root.path());
    let report = place.doctor(&["--json"], &[]).ends(0).quiet().json();
    assert_eq!(found(&report), Vec::<&Value>::new());
    assert_eq!(crate::secret::files(place.root.path()), before);
    assert!(!place.below("home").exists());
    let mended = place.doctor(&["--fix", "--json"], &[]).ends(0).json();
    assert_eq!(mended["mended"].as_array().map(Vec::len), Some(3));
    for folder in [CONFIG, DATA, CACHE] {
        assert!(place.below(folder).is_dir(), "{folder}");
    }
    let again = place.doctor(&["--fix", "--json"], &[]).ends(0).json();
    assert_eq!(again["mended"], Value::Array(Vec::new()));
}

#[test]
fn a_held_lock_is_reported() {
    let place = used();
    let held = File::open(place.below(DATA).join(".lock")).expect("is there");
    held.lock().expect("locks");
    let report = place.doctor(&["--json"], &[]).ends(0).json();
    let found = found(&report);
    assert_eq!((found.len(), &found[0]["id"]), (1, &"lock".into()), "{found:#?}");
    drop(held);
    place.doctor(&[], &[]).ends(0).quiet();
}

#[test]
fn a_client_with_a_working_command_is_healthy() {
    let place = Place::new();
    let text = r#"{"mcpServers": {"milepost": {"command": "PROGRAM", "args": ["mcp"]}}}"#;
    put(&place, "home/.claude.json", &text.replace("PROGRAM", env!("CARGO_BIN_EXE_milepost")));
    // Entries for other programs are ignored.
    let text = r#"{"mcpServers": {"files": {"command": "/nowhere/files"}}}"#;
    put(&place, "home/.cursor/mcp.json", text);
    let report = place.doctor(&["--json"], &[]).ends(0).json();
    assert_eq!(found(&report), Vec::<&Value>::new());
    let folder = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().expect("is in a folder");
    let text = r#"{"mcpServers": {"milepost": {"command": "milepost"}}}"#;
    put(&place, "home/.claude.json", text);
    place.doctor(&[], &[]).ends(1);
    place.doctor(&[], &[("PATH", &folder.display().to_string())]).ends(0);
}
