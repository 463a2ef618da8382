//! A program with a shell of the same user that wants a yes without the person.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::server::{Server, json as answer};
use crate::{Place, Ran, finish};

const DEPOT: &str = "openapi: 3.1.0\ninfo: {title: Depot, version: 1.0.0}\n\
     servers: [{url: 'https://depot.example'}]\npaths:\n  /parts:\n    post:\n      \
     operationId: createPart\n      tags: [parts]\n      \
     responses: {'201': {description: ok}}\n";
const ASKED: &str = "workflow: asked\nsteps:\n  - {id: ok, approve: Make it?}\n  \
     - {id: make, run: depot parts:create, depends_on: [ok]}\n";
const PIN: &str = "tr0mbone-7";

/// Types an answer whenever a question has been asked, in a terminal of its own.
fn terminal(place: &Place, line: &str, answers: &[&str]) -> Ran {
    let mut command = Command::new("script");
    let binary = env!("CARGO_BIN_EXE_milepost");
    command
        .args(["-qec", &format!("{binary} {line}"), "/dev/null"])
        .current_dir(place.path(""))
        .env("HOME", place.root.path().join("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let mut typing = child.stdin.take().expect("is piped");
    let mut reading = child.stdout.take().expect("is piped");
    let (mut out, mut asked, mut left) = (Vec::new(), 0, answers.iter());
    let mut byte = [0];
    while reading.read(&mut byte).is_ok_and(|read| read > 0) {
        out.push(byte[0]);
        // A question ends with a colon or a choice, and a blank.
        let open = out.ends_with(b": ") || out.ends_with(b"] ");
        let about = String::from_utf8_lossy(&out[asked..]).into_owned();
        if open && (about.contains("PIN") || about.contains("again") || about.contains("[y/N]")) {
            asked = out.len();
            match left.next() {
                Some(answer) => drop(typing.write_all(format!("{answer}\n").as_bytes())),
                // The end of what is typed.
                None => drop(typing.write_all(b"\x04")),
            }
        }
    }
    let code = child.wait().expect("ends").code().expect("is not killed");
    Ran { code, out: String::from_utf8_lossy(&out).into_owned(), err: String::new() }
}

/// Without a terminal, as a program starts another.
fn bare(place: &Place, arguments: &[&str], typed: &str) -> Ran {
    let mut command = Command::new("setsid");
    command
        .arg("--wait")
        .arg(env!("CARGO_BIN_EXE_milepost"))
        .args(arguments)
        .current_dir(place.path(""))
        .env("HOME", place.root.path().join("home"))
        .env("MILEPOST_PIN", PIN)
        .env("PIN", PIN);
    finish(&mut command, typed)
}

fn python(place: &Place, program: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("python3");
    command.arg("-c").arg(program).args(arguments).current_dir(place.path(""));
    finish(&mut command, "")
}

struct Victim {
    place: Place,
    server: Server,
    run: String,
}

impl Victim {
    fn new() -> Victim {
        let server = Server::start(|_| answer(201, &json!({})));
        let place = Place::with(&[("depot.yaml", DEPOT), ("asked.yaml", ASKED)]);
        place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
        let set = terminal(&place, "person set-pin", &[PIN, PIN]);
        assert_eq!(set.code, 0, "{}{}", set.out, set.err);
        assert!(!set.out.contains(PIN), "a PIN is not shown");
        let run = start(&place);
        Victim { place, server, run }
    }

    fn data(&self) -> String {
        self.place.root.path().join("home/.local/share/milepost").display().to_string()
    }

    /// Nothing was decided, and nothing was sent.
    fn is_unharmed(&self, how: &str) {
        let shown = self.place.run(["show", &self.run, "--json"]).ends(0).json();
        assert_eq!(shown["status"], "waiting", "{how}");
        assert_eq!(self.server.seen().len(), 0, "{how}");
    }
}

fn start(place: &Place) -> String {
    let ran = place.run(["run", "asked.yaml", "--json"]).ends(4);
    let run: Value = serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON");
    run["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_program_does_not_get_its_yes() {
    let victim = Victim::new();
    let (place, run) = (&victim.place, victim.run.as_str());
    bare(place, &["approve", run], "").ends(8);
    victim.is_unharmed("without a terminal");
    bare(place, &["approve", run], &format!("{PIN}\ny\n")).ends(8);
    victim.is_unharmed("the PIN on standard input and in the environment");
    bare(place, &["approve", run, "--pin", PIN], "").ends(2);
    victim.is_unharmed("the PIN as an argument");
    let typed = terminal(place, &format!("approve {run}"), &["y", "y"]);
    assert_ne!(typed.code, 0, "{}", typed.out);
    victim.is_unharmed("a terminal of its own, without the PIN");
}

#[test]
fn a_row_written_into_the_journal_decides_nothing() {
    let victim = Victim::new();
    let (place, run) = (&victim.place, victim.run.as_str());
    // A decision that the person made in another run, to be replayed.
    let other = start(place);
    let said = terminal(place, &format!("approve {other}"), &[PIN]);
    assert_eq!(said.code, 0, "{}", said.out);
    let sent = victim.server.seen().len();
    let program = "import sqlite3, sys\n\
         db = sqlite3.connect(sys.argv[1] + '/runs.db')\n\
         keys = dict(db.execute('select id, key from runs'))\n\
         to, old = keys[sys.argv[2]], keys[sys.argv[3]]\n\
         rows = db.execute('select * from inbox where run = ?', (old,))\n\
         names = [d[0] for d in rows.description]\n\
         for row in list(rows):\n\
         \x20   row = dict(zip(names, row))\n\
         \x20   row['run'] = to\n\
         \x20   row['id'] = row['id'] + 'x'\n\
         \x20   old, new = sys.argv[3].encode(), sys.argv[2].encode()\n\
         \x20   row['data'] = bytes(row['data']).replace(old, new)\n\
         \x20   row.pop('answer', None)\n\
         \x20   row = {k: v for k, v in row.items() if k not in ('answered_ms', 'key')}\n\
         \x20   marks = ','.join('?' * len(row))\n\
         \x20   sql = f\"insert into inbox({','.join(row)}) values ({marks})\"\n\
         \x20   db.execute(sql, list(row.values()))\n\
         db.commit()\n\
         print(db.execute('select count(*) from inbox where run = ?', (to,)).fetchone()[0])\n";
    let forged = python(place, program, &[&victim.data(), run, &other]).ends(0);
    assert_ne!(forged.out.trim(), "0", "the rogue wrote something");
    place.run(["resume", run]);
    let shown = place.run(["show", run, "--json"]).ends(0).json();
    assert_eq!(shown["status"], "waiting");
    assert_eq!(victim.server.seen().len(), sent);
}

#[test]
fn a_copied_journal_with_a_decision_of_its_own_is_not_believed() {
    let victim = Victim::new();
    let run = victim.run.as_str();
    // The rogue copies everything, sets a PIN of its own there, and decides.
    let lair = Place::with(&[("depot.yaml", DEPOT)]);
    let theirs = lair.root.path().join("home/.local/share");
    std::fs::create_dir_all(&theirs).expect("made");
    let copied = Command::new("cp")
        .args(["-r", &victim.data(), theirs.to_str().expect("text")])
        .status()
        .expect("runs");
    assert!(copied.success());
    std::fs::remove_file(theirs.join("milepost/person.json")).expect("removed");
    let set = terminal(&lair, "person set-pin", &["rogue-pin", "rogue-pin"]);
    assert_eq!(set.code, 0, "{}", set.out);
    let said = terminal(&lair, &format!("approve {run}"), &["rogue-pin"]);
    assert_ne!(said.code, 0, "{}", said.out);
    let shown = lair.run(["show", run, "--json"]).ends(0).json();
    assert_eq!(shown["status"], "waiting");
    victim.is_unharmed("a copy");
}

#[test]
fn a_guessed_pin_is_locked() {
    let victim = Victim::new();
    let (place, run) = (&victim.place, victim.run.as_str());
    for guess in ["123456", "000000", "password", "qwertz", "letmein", "trombone"] {
        let said = terminal(place, &format!("approve {run}"), &[guess]);
        assert_ne!(said.code, 0, "{}", said.out);
    }
    // Even the right one comes too late.
    let said = terminal(place, &format!("approve {run}"), &[PIN]);
    assert_ne!(said.code, 0, "{}", said.out);
    victim.is_unharmed("guesses");
}
