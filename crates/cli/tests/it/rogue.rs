//! A program with a shell of the same user that tries to get an approval without the person.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::server::{Reply, Server, json as answer};
use crate::{Place, Ran, finish};

const DEPOT: &str = "openapi: 3.1.0\ninfo: {title: Depot, version: 1.0.0}\n\
     servers: [{url: 'https://depot.example'}]\npaths:\n  /parts:\n    post:\n      \
     operationId: createPart\n      tags: [parts]\n      \
     responses: {'201': {description: ok}}\n";
const ASKED: &str = "workflow: asked\nsteps:\n  - {id: ok, approve: Make it?}\n  \
     - {id: make, run: depot parts:create, depends_on: [ok]}\n";
const PIN: &str = "tr0mbone-7";

/// Runs a command in its own terminal and types an answer at each question.
pub(crate) fn terminal(place: &Place, line: &str, answers: &[&str]) -> Ran {
    let mut command = Command::new("script");
    command.env("MILEPOST_ARRIVES_MS", "0");
    let binary = env!("CARGO_BIN_EXE_milepost");
    command
        .args(["-qec", &format!("{binary} {line}"), "/dev/null"])
        .current_dir(place.path(""))
        .env("HOME", place.root.path().join("home"));
    typed(&mut command, answers)
}

/// Types answers into the program that `script` runs, one per question.
pub(crate) fn typed(command: &mut Command, answers: &[&str]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let mut typing = child.stdin.take().expect("is piped");
    let mut reading = child.stdout.take().expect("is piped");
    let (mut out, mut asked, mut left) = (Vec::new(), 0, answers.iter());
    let mut byte = [0];
    while reading.read(&mut byte).is_ok_and(|read| read > 0) {
        out.push(byte[0]);
        // A question ends with a colon or a choice, followed by a space.
        let open = out.ends_with(b": ") || out.ends_with(b"] ");
        let about = String::from_utf8_lossy(&out[asked..]).into_owned();
        let asks = ["PIN", "again", "[y/N]", "value of", "what was", "result as JSON"];
        if open && asks.iter().any(|word| about.contains(word)) {
            asked = out.len();
            match left.next() {
                // Control keys are typed without a line ending.
                Some(answer) if answer.starts_with(char::is_control) => {
                    drop(typing.write_all(answer.as_bytes()));
                }
                Some(answer) => drop(typing.write_all(format!("{answer}\n").as_bytes())),
                // End of input.
                None => drop(typing.write_all(b"\x04")),
            }
        }
    }
    let code = child.wait().expect("ends").code().expect("is not killed");
    Ran { code, out: String::from_utf8_lossy(&out).into_owned(), err: String::new() }
}

/// Runs a command without a terminal, as one program starts another.
pub(crate) fn bare(place: &Place, arguments: &[&str], typed: &str) -> Ran {
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
        Victim::of(ASKED, 4, || answer(201, &json!({})))
    }

    /// Starts a run of this workflow; the run is then waiting.
    fn of(text: &str, code: i32, said: impl Fn() -> Reply + Send + Sync + 'static) -> Victim {
        let server = Server::start(move |_| said());
        let place = Place::with(&[("depot.yaml", DEPOT), ("asked.yaml", text)]);
        place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
        let set = terminal(&place, "person set-pin", &[PIN, PIN]);
        assert_eq!(set.code, 0, "{}{}", set.out, set.err);
        assert!(!set.out.contains(PIN), "a PIN is not shown");
        // Otherwise each run asks before its first write.
        place.run(["workflow", "save", "asked.yaml"]).ends(0);
        let said = terminal(&place, "workflow review asked", &["y", PIN]);
        assert_eq!(said.code, 0, "{}", said.out);
        let run = start(&place, code);
        Victim { place, server, run }
    }

    fn data(&self) -> String {
        self.place.root.path().join("home/.local/share/milepost").display().to_string()
    }

    /// Asserts that nothing was decided and nothing was sent.
    fn is_unharmed(&self, how: &str) {
        let shown = self.place.run(["show", &self.run, "--json"]).ends(0).json();
        assert_eq!(shown["status"], "waiting", "{how}");
        assert_eq!(self.server.seen().len(), 0, "{how}");
    }
}

fn start(place: &Place, code: i32) -> String {
    let ran = place.run(["run", "asked.yaml", "--json"]).ends(code);
    let run: Value = serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON");
    run["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_program_cannot_approve() {
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
    // A decision by the person in another run, for the rogue to replay.
    let other = start(place, 4);
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
fn a_decision_in_a_copied_journal_does_not_count() {
    let victim = Victim::new();
    let run = victim.run.as_str();
    // The rogue copies everything, sets its own PIN in the copy, and decides.
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

/// Asserts that the command is refused in every way that does not involve the person.
fn is_refused(place: &Place, words: &[&str]) {
    bare(place, words, "y\n").ends(8);
    bare(place, words, &format!("{PIN}\ny\n")).ends(8);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let typed = terminal(place, &quoted.join(" "), &["y", "y"]);
    assert_ne!(typed.code, 0, "{words:?}: {}", typed.out);
}

const PROMPTED: &str = "workflow: asked\nsteps:\n  \
     - {id: a, prompt: Do it, max_attempts: 1, output_schema: {type: object}}\n  \
     - {id: make, run: depot parts:create, depends_on: [a]}\n";

#[test]
fn an_output_cannot_be_made_up_after_failed_attempts() {
    let victim = Victim::of(PROMPTED, 5, || answer(201, &json!({})));
    let (place, run) = (&victim.place, victim.run.as_str());
    place.put("bad.txt", "no object");
    place.run(["submit", run, "a", "bad.txt"]).ends(1);
    is_refused(place, &["decide", run, "--outcome", "happened", "--output", "{}"]);
    is_refused(place, &["decide", run, "--outcome", "did-not-happen"]);
    victim.is_unharmed("a decision");
    place.run(["cancel", run, "--yes"]).ends(0);
    is_refused(place, &["resume", run, "--set", "a={}", "--reason", "x", "--yes"]);
    let shown = place.run(["show", run, "--json"]).ends(0).json();
    assert_eq!(shown["status"], "canceled");
    assert_eq!(victim.server.seen().len(), 0);
    // The person is allowed to.
    let line = format!("resume {run} --set 'a={{}}' --reason x --yes");
    let said = terminal(place, &line, &[PIN]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert_eq!(victim.server.seen().len(), 1);
}

const WRITES: &str = "workflow: asked\nsteps:\n  - {id: make, run: depot parts:create}\n";

#[test]
fn the_outcome_of_a_write_cannot_be_made_up() {
    let victim = Victim::of(WRITES, 4, || Reply::HangUp);
    let (place, run) = (&victim.place, victim.run.as_str());
    for outcome in ["did-not-happen", "give-up"] {
        is_refused(place, &["decide", run, "--outcome", outcome]);
    }
    is_refused(place, &["decide", run, "--outcome", "happened", "--output", "1"]);
    let sent = victim.server.seen().len();
    let said = terminal(place, &format!("decide {run} --outcome did-not-happen"), &[PIN]);
    assert_eq!(said.code, 4, "{}", said.out);
    assert_eq!(victim.server.seen().len(), sent + 1);
    // Replays the person's own answer, which was about the first attempt.
    let program = "import sqlite3, sys\n\
         db = sqlite3.connect(sys.argv[1] + '/runs.db')\n\
         rows = db.execute(\"select * from inbox where data like '%did_not%'\")\n\
         names = [d[0] for d in rows.description]\n\
         for row in list(rows):\n\
         \x20   row = dict(zip(names, row))\n\
         \x20   row['id'] = row['id'] + 'x'\n\
         \x20   kept = ('answer', 'answered_ms', 'key')\n\
         \x20   row = {k: v for k, v in row.items() if k not in kept}\n\
         \x20   marks = ','.join('?' * len(row))\n\
         \x20   sql = f\"insert into inbox({','.join(row)}) values ({marks})\"\n\
         \x20   db.execute(sql, list(row.values()))\n\
         db.commit()\n\
         print(db.execute('select count(*) from inbox').fetchone()[0])\n";
    let forged = python(place, program, &[&victim.data()]).ends(0);
    assert_ne!(forged.out.trim(), "0", "the rogue wrote something");
    place.run(["resume", run]);
    let shown = place.run(["show", run, "--json"]).ends(0).json();
    assert_eq!(shown["waiting"][0]["kind"], "decision", "{shown}");
    assert_eq!(victim.server.seen().len(), sent + 1);
}

/// The command that a run suggests next can be typed as printed.
#[test]
fn a_person_is_asked_for_the_outcome_of_a_write() {
    let victim = Victim::of(WRITES, 4, || Reply::HangUp);
    let (place, run) = (&victim.place, victim.run.as_str());
    let shown = place.run(["show", run, "--json"]).ends(0).json();
    assert_eq!(shown["next"], format!("milepost decide {run}"));
    // Without a terminal, the whole command is printed.
    let told = bare(place, &["decide", run], "").ends(2);
    let line = format!("`milepost decide {run} --outcome did-not-happen`");
    assert!(told.err.contains(&line), "{}", told.err);
    let other = terminal(place, &format!("decide {run}"), &["maybe"]);
    assert_eq!(other.code, 2, "{}", other.out);
    let said = terminal(place, &format!("decide {run}"), &["h", "{\"id\": 1}", PIN]);
    assert_eq!(said.code, 0, "{}", said.out);
    let shown = place.run(["show", run, "--json"]).ends(0).json();
    assert_eq!(shown["steps"][0]["output"], json!({"id": 1}), "{shown}");
}

const SPENDS: &str = "workflow: asked\nbudget: {writes: 1}\nsteps:\n  \
     - {id: make, run: depot parts:create}\n  \
     - {id: more, run: depot parts:create, depends_on: [make]}\n";

#[test]
fn nobody_can_raise_their_own_budget() {
    let victim = Victim::of(SPENDS, 4, || answer(201, &json!({})));
    let (place, run) = (&victim.place, victim.run.as_str());
    is_refused(place, &["resume", run, "--budget", "writes=2"]);
    is_refused(place, &["resume", run, "--budget", "writes=2", "--yes"]);
    let shown = place.run(["show", run, "--json"]).ends(0).json();
    assert_eq!(shown["waiting"][0]["kind"], "budget");
    assert_eq!(shown["waiting"][0]["message"], "the budget `writes` is used up: 1 of 1 spent");
    assert_eq!(shown["next"], format!("milepost resume {run} --budget writes=2"));
    assert_eq!(victim.server.seen().len(), 1);
    let said = terminal(place, &format!("resume {run} --budget writes=2"), &[PIN]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert_eq!(victim.server.seen().len(), 2);
}

/// Tries routes of `milepost serve` that would approve something if they existed.
#[test]
fn the_server_has_no_way_to_approve() {
    let victim = Victim::new();
    let (place, run) = (&victim.place, victim.run.as_str());
    let mut serving = place.command();
    serving.args(["serve", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut serving = serving.spawn().expect("starts");
    let mut line = String::new();
    let mut out = std::io::BufReader::new(serving.stdout.take().expect("is piped"));
    std::io::BufRead::read_line(&mut out, &mut line).expect("reads");
    let url = line.trim().strip_suffix("/mcp").expect("an address").to_owned();
    let token = std::fs::read_to_string(format!("{}/http-token", victim.data())).expect("reads");
    let curl = |path: &str, body: &Value| {
        let mut command = Command::new("curl");
        command
            .args(["-s", "-X", "POST", "-H"])
            .arg(format!("Authorization: Bearer {}", token.trim()));
        command.args(["-H", "Content-Type: application/json"]);
        command.args(["-H", "Accept: application/json, text/event-stream"]);
        command.args(["-d", &body.to_string(), "-w", "\n%{http_code}"]).arg(format!("{url}{path}"));
        finish(&mut command, "").ends(0).out
    };
    let said = json!({"run_id": run, "approve": true, "pin": PIN});
    for path in ["approve", "runs/RUN/approve", "api/approve", "inbox/RUN", "decide", ""] {
        let told = curl(&format!("/{}", path.replace("RUN", run)), &said);
        let code = told.lines().last().unwrap_or_default().to_owned();
        assert!(["401", "403", "404", "405"].contains(&&*code), "{path}: {told}");
    }
    let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "rogue", "version": "1"}}});
    assert!(curl("/mcp", &greeting).contains("protocolVersion"), "the door is open otherwise");
    for tool in ["workflow_approve", "workflow_decide", "workflow_resume"] {
        let arguments = json!({"run_id": run, "overrides": {"ok": {}}, "reason": "x"});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        curl("/mcp", &call);
    }
    victim.is_unharmed("over HTTP");
    serving.kill().expect("ends");
    serving.wait().expect("ends");
}

#[test]
fn a_guessed_pin_is_locked() {
    let victim = Victim::new();
    let (place, run) = (&victim.place, victim.run.as_str());
    for guess in ["123456", "000000", "password", "qwertz", "letmein", "trombone"] {
        let said = terminal(place, &format!("approve {run}"), &[guess]);
        assert_ne!(said.code, 0, "{}", said.out);
    }
    // Even the correct PIN comes too late.
    let said = terminal(place, &format!("approve {run}"), &[PIN]);
    assert_ne!(said.code, 0, "{}", said.out);
    victim.is_unharmed("guesses");
    // The rogue cannot reset the count of wrong guesses.
    let file = std::path::Path::new(&victim.data()).join("person.json");
    let kept = std::fs::read_to_string(&file).expect("reads");
    let reset = kept.replace("\"wrong\": 5", "\"wrong\": 0");
    assert_ne!(kept, reset, "the rogue changed something");
    std::fs::write(&file, reset).expect("writes");
    let said = terminal(place, &format!("approve {run}"), &[PIN]);
    assert_ne!(said.code, 0, "{}", said.out);
    victim.is_unharmed("a count that was set back");
}

/// If the file with the public key is missing, no run starts that would need a person's decision.
#[test]
fn a_missing_pin_file_stops_new_runs() {
    let victim = Victim::new();
    let place = &victim.place;
    std::fs::remove_file(format!("{}/person.json", victim.data())).expect("removed");
    let ran = place.run(["run", "asked.yaml"]).ends(8);
    assert!(ran.err.contains("PRESENCE_REQUIRED"), "{}", ran.err);
    let typed = terminal(place, &format!("approve {}", victim.run), &["y", "y"]);
    assert_ne!(typed.code, 0, "{}", typed.out);
    victim.is_unharmed("a removed file");
}

/// A configuration that approves automatically is a decision too.
#[test]
fn a_program_cannot_write_its_own_policy() {
    let victim = Victim::new();
    let place = &victim.place;
    is_refused(place, &["workflow", "review", "--alone", "asked"]);
    let folder = place.root.path().join("home/.config/milepost");
    std::fs::create_dir_all(&folder).expect("made");
    let text = "[approvals]\nunattended = [\"asked\"]\n";
    std::fs::write(folder.join("config.toml"), text).expect("written");
    // A name says nothing about a text, so this setting is an error.
    let ran = place.run(["run", "asked.yaml"]);
    assert!(ran.code != 0 && ran.err.contains("workflow review --alone"), "{}", ran.err);
    std::fs::remove_file(folder.join("config.toml")).expect("removed");
    let said = terminal(place, "workflow review --alone asked", &["y", PIN]);
    assert_eq!(said.code, 0, "{}", said.out);
    place.run(["run", "asked"]).ends(0);
    assert_eq!(victim.server.seen().len(), 1);
}
