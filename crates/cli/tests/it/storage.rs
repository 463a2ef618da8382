//! Data that is kept, removed or detected as missing: purge, backup and restore, and damaged logs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::crash::THINGS;
use crate::runs::in_terminal;
use crate::server::{Reply, Server, json as answer};
use crate::{Place, finish};

fn things(server: &Server) -> Place {
    let place = Place::with(&[("things.yaml", THINGS)]);
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    place
}

fn data(place: &Place) -> PathBuf {
    place.root.path().join("home/.local/share/milepost")
}

/// Reports prominently that nothing was tested.
fn skipped(why: &str) {
    drop(writeln!(std::io::stderr(), "SKIPPED: {why}"));
}

/// Runs a command in another folder of the same user.
fn beside(place: &Place, folder: &str, words: &[&str]) -> crate::Ran {
    let mut command = place.command();
    finish(command.current_dir(place.root.path().join(folder)).args(words), "")
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn a_purge_stays_in_its_project_and_leaves_nothing_behind() {
    let reply = |id: &str| {
        let kind = vec![("content-type", "application/octet-stream".to_owned())];
        Reply::Answer(200, kind, [b"\xff\xfe".as_slice(), id.as_bytes()].concat())
    };
    let server = Server::start(move |request| match request.path() {
        "/things/bytes" => reply("canary-bytes"),
        _ => answer(200, &json!({"id": "canary-answer"})),
    });
    let place = things(&server);
    let text = "workflow: marked\nsteps:\n  - {id: canary-step, run: things things:get, with: \
                {id: a}}\n  - {id: b, run: things things:get, with: {id: bytes}}\n";
    place.put("marked.yaml", text);
    place.run(["run", "marked.yaml"]).ends(0);
    let other = place.root.path().join("other");
    fs::create_dir(&other).expect("makes a folder");
    fs::write(other.join("plain.yaml"), "workflow: plain\nsteps: [{id: a, wait: 1ms}]\n")
        .expect("writes");
    beside(&place, "other", &["run", "plain.yaml"]).ends(0);

    // The other project does not list the runs of this one, so it removes none of them.
    let there = |words: &[&str]| beside(&place, "other", words).ends(0).json();
    assert_eq!(there(&["runs", "purge", "--dry-run", "--json"])["runs"], 1);
    let all = there(&["runs", "purge", "--all", "--dry-run", "--json"]);
    assert_eq!((&all["runs"], &all["projects"]), (&json!(2), &json!(2)));
    let asked = in_terminal(&place, "runs purge --all", "n\n");
    assert!(asked.out.contains("2 runs in 2 folders"), "{}", asked.out);
    let purged = place.run(["runs", "purge", "--yes", "--json"]).ends(0).json();
    assert_eq!((&purged["runs"], &purged["projects"]), (&json!(1), &json!(1)), "{purged}");
    assert_eq!(purged["blobs"], 1, "{purged}");
    assert!(purged["bytes_freed"].as_u64() > Some(0), "{purged}");
    assert_eq!(beside(&place, "other", &["runs", "--json"]).json()["runs"][0]["workflow"], "plain");

    let mut left = Vec::new();
    files(&data(&place), &mut left);
    for file in left {
        let bytes = fs::read(&file).unwrap_or_default();
        let found = bytes.windows(7).any(|window| window == b"canary-");
        assert!(!found, "{} still tells of it", file.display());
    }
}

/// A parent run whose child sent a request and then failed.
fn outer(place: &Place) -> String {
    place.put(
        "inside.yaml",
        "workflow: inside\nsteps:\n  - {id: post, run: things things:create, body: {}}\n  - {id: \
         no, fail: not yet}\n",
    );
    place.put("outside.yaml", "workflow: outside\nsteps: [{id: k, run: workflow inside}]\n");
    place.workflow("save inside.yaml").ends(0);
    let ran = place.run(["run", "outside.yaml", "--json"]).ends(1);
    let last: serde_json::Value =
        serde_json::from_str(ran.out.lines().last().expect("a line")).expect("is JSON");
    last["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn an_inner_run_goes_with_its_outer_run_and_not_before() {
    let server = Server::start(|_| answer(200, &json!({"id": "t1"})));
    let place = things(&server);
    let run = outer(&place);
    assert_eq!(server.seen().len(), 1);
    let purged = place.run(["runs", "purge", "--workflow", "inside", "--yes", "--json"]);
    assert_eq!(purged.ends(0).json()["runs"], 0);
    // Steps that succeeded in the child run are kept, as before.
    place.run(["resume", &run]).ends(1);
    assert_eq!(server.seen().len(), 1, "nothing is sent again");
    let purged = place.run(["runs", "purge", "--workflow", "outside", "--yes", "--json"]);
    assert_eq!(purged.ends(0).json()["runs"], 2, "both go");
}

#[test]
fn a_missing_inner_run_is_a_question() {
    let server = Server::start(|_| answer(200, &json!({"id": "t1"})));
    let place = things(&server);
    let run = outer(&place);
    // Any program that can write to the database can remove a whole run.
    let script = "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\n\
                  db.execute('PRAGMA foreign_keys = ON')\n\
                  db.execute(\"DELETE FROM runs WHERE workflow = 'inside'\")\ndb.commit()\n";
    let mut python = Command::new("python3");
    python.args(["-c", script]).arg(data(&place).join("runs.db"));
    if !python.output().is_ok_and(|ended| ended.status.success()) {
        skipped("there is no python3 with sqlite3");
        return;
    }
    let ran = place.run(["resume", &run]).ends(4);
    assert_eq!(server.seen().len(), 1, "nothing is sent again: {}", ran.err);
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    assert_eq!(view["waiting"][0]["kind"], "decision", "{view}");
    let told = "decide RUN --outcome happened --output '{}'".replace("RUN", &run);
    in_terminal(&place, &told, "y\n").ends(0);
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    assert_eq!(view["status"], "succeeded", "{view}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_backup_is_restored_on_an_empty_machine() {
    let server = Server::start(|request| match request.path() {
        "/things/bytes" => {
            let kind = vec![("content-type", "application/octet-stream".to_owned())];
            Reply::Answer(200, kind, b"\xff\xfebytes".to_vec())
        }
        _ => answer(200, &json!({"id": "t1"})),
    });
    let place = things(&server);
    place.put(
        "asks.yaml",
        "workflow: asks\nsteps:\n  - {id: a, run: things things:get, with: {id: bytes}}\n  - {id: \
         ok, approve: Go on?}\n  - {id: b, run: things things:create, body: {}}\n",
    );
    place.run(["run", "asks.yaml"]).ends(4);
    let before = place.run(["runs", "--json"]).ends(0).json();
    let run = before["runs"][0]["run_id"].as_str().expect("an id").to_owned();
    let logs = place.run(["logs", &run, "--json"]).ends(0).out;
    place.run(["backup", "copy"]).ends(0);
    let refused = place.run(["restore", "copy"]);
    assert!(refused.err.contains("runs already exist"), "{} {}", refused.code, refused.err);

    // Switches to a new home with the same project.
    fs::rename(place.root.path().join("home"), place.root.path().join("lost")).expect("moves");
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    let restored = place.run(["restore", "copy", "--json"]).ends(0).json();
    // The files are the response and the catalog's document.
    assert_eq!((&restored["runs"], &restored["files"]), (&json!(1), &json!(2)), "{restored}");
    assert_eq!(place.run(["runs", "--json"]).ends(0).json(), before);
    assert_eq!(place.run(["logs", &run, "--json"]).ends(0).out, logs);
    let names = |home: &str| {
        let folder = place.root.path().join(home).join(".local/share/milepost/blobs");
        fs::read_dir(folder).expect("reads").flatten().map(|one| one.file_name()).next()
    };
    assert_eq!(names("home"), names("lost"));
    in_terminal(&place, &format!("approve {run}"), "y\n").ends(0);
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    assert_eq!(view["status"], "succeeded", "{view}");
    let doctor = place.run(["doctor", "--json"]).json();
    assert!(doctor.to_string().contains("no run is damaged"), "{doctor}");
}

#[test]
fn a_modified_backup_is_not_restored() {
    let place = Place::with(&[("plain.yaml", "workflow: plain\nsteps: [{id: a, wait: 1ms}]\n")]);
    place.run(["run", "plain.yaml"]).ends(0);
    place.run(["backup", "copy"]).ends(0);
    let path = place.path("copy/runs.db");
    let mut bytes = fs::read(&path).expect("reads");
    let at = bytes.windows(9).rposition(|window| window == b"timer_set").expect("an event");
    bytes[at] = b'T';
    fs::write(&path, &bytes).expect("writes");
    fs::rename(place.root.path().join("home"), place.root.path().join("lost")).expect("moves");
    let refused = place.run(["restore", "copy"]);
    assert_ne!(refused.code, 0, "{}", refused.out);
    assert!(!data(&place).join("runs.db").exists(), "nothing is put in place");
    assert!(place.run(["restore", "nowhere"]).code != 0);
}

type Damage = fn(&Path);

/// Kills a run midway, damages its log, and checks the outcome.
#[test]
fn a_damaged_log_is_named_and_nothing_is_sent_again() {
    let server = Server::start(|request| match request.path() {
        "/things/slow" => Reply::Silence,
        _ => answer(200, &json!({"id": "t1"})),
    });
    let steps: Vec<String> = (0..8)
        .map(|at| format!("  - {{id: p{at}, run: things things:create, body: {{}}}}\n"))
        .collect();
    let slow = "  - {id: slow, run: things things:get, with: {id: slow}}\n";
    let text = format!("workflow: line\nsteps:\n{}{slow}", steps.concat());
    let damages: [(&str, Damage); 3] = [
        ("removed", |log| fs::remove_file(log).expect("removes")),
        ("cut", |log| {
            let bytes = fs::read(log).expect("reads");
            fs::write(log, &bytes[..bytes.len() * 3 / 4]).expect("cuts");
        }),
        ("flipped", |log| {
            let mut bytes = fs::read(log).expect("reads");
            let at = bytes.len() * 3 / 4;
            bytes[at] ^= 1;
            fs::write(log, &bytes).expect("writes");
        }),
    ];
    for (how, damage) in damages {
        let place = things(&server);
        place.put("line.yaml", &text);
        // A run that is not affected by the damage.
        place.put("plain.yaml", "workflow: plain\nsteps: [{id: a, wait: 1ms}]\n");
        place.run(["run", "plain.yaml"]).ends(0);
        let before = server.seen().len();
        let mut command = place.command();
        command.args(["run", "line.yaml"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs");
        let until = Instant::now() + Duration::from_secs(20);
        while server.seen().len() < before + 9 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("is killed");
        child.wait().expect("ends");
        let listed = place.run(["runs", "--json"]).ends(0).json();
        let run = listed["runs"][0]["run_id"].as_str().expect("an id").to_owned();
        damage(&data(&place).join("runs.db-wal"));
        for when in ["before anybody writes", "after"] {
            let doctor = place.run(["doctor", "--json"]).json().to_string();
            assert!(doctor.contains(&run) && doctor.contains("-wal"), "{how} {when}: {doctor}");
            let resumed = place.run(["resume", &run]);
            assert_ne!(resumed.code, 0, "{how} {when}: {}", resumed.out);
        }
        assert_eq!(server.seen().len(), before + 9, "{how}: nothing is sent again");
        place.run(["run", "plain.yaml"]).ends(0);
    }
}

/// A small separate file system, if this user is allowed to mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(path: &Path) -> Option<SmallDisk> {
        fs::create_dir_all(path).expect("makes a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs"]).arg(path);
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|ended| ended.success());
        mounted.then(|| SmallDisk(path.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// Fills a disk to its last byte.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).expect("makes a file");
    for part in [64 * 1024, 4096, 1] {
        while file.write_all(&vec![0; part]).is_ok() {}
    }
}

/// Responses that arrive while the disk is full are recorded, and nobody is asked about them.
#[test]
fn answers_that_arrive_on_a_full_disk_are_kept() {
    keeps_answers(Duration::ZERO);
}

/// Responses are kept even if they arrive after the last heartbeat has expired and no other can be
/// written.
#[test]
fn answers_that_arrive_late_on_a_full_disk_are_kept() {
    keeps_answers(Duration::from_secs(1));
}

fn keeps_answers(after: Duration) {
    let full: Arc<Mutex<Option<PathBuf>>> = Arc::default();
    let (posts, filler) = (Arc::new(Barrier::new(4)), Arc::clone(&full));
    let server = Server::start(move |request| {
        // All four requests are in flight before the disk fills up, and are answered afterwards.
        if request.body.contains("first") {
            if posts.wait().is_leader() {
                fill(filler.lock().expect("nobody panics").as_ref().expect("is told"));
                std::thread::sleep(after);
            }
            posts.wait();
        }
        answer(201, &json!({"id": "t1"}))
    });
    let place = things(&server);
    let Some(_disk) = SmallDisk::at(&data(&place)) else {
        skipped("a file system of its own cannot be mounted here");
        return;
    };
    let path = data(&place).join("filler");
    *full.lock().expect("nobody panics") = Some(path.clone());
    place.put(
        "four.yaml",
        "workflow: four\nconcurrency: 4\nsteps:\n  - {id: each, for_each: '${{ [1, 2, 3, 4] }}', \
         as: n, concurrency: 4, run: things things:create, body: {first: '${{ n }}'}}\n  - {id: \
         last, run: things things:create, body: {of: '${{ steps.each.output }}'}}\n",
    );
    let mut command = place.command();
    command.env("MILEPOST_LEASE_MS", "600").args(["run", "four.yaml"]);
    let ran = finish(&mut command, "").ends(75);
    assert!(ran.err.contains("free some disk space"), "{}", ran.err);
    assert_eq!(server.seen().len(), 4, "nothing new begins");
    fs::remove_file(&path).expect("makes room");
    let listed = place.run(["runs", "--json"]).ends(0).json();
    let run = listed["runs"][0]["run_id"].as_str().expect("an id").to_owned();
    let ran = place.run(["resume", &run]);
    assert_eq!(ran.code, 0, "nobody is asked: {} {}", ran.out, ran.err);
    assert_eq!(server.seen().len(), 5, "each is sent once");
    assert!(data(&place).join("runs.reserve").exists(), "the reserve is there again");
}
