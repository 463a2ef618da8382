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
    typed(&mut at_terminal(place, line), answers)
}

/// A terminal in which a command runs.
fn at_terminal(place: &Place, line: &str) -> Command {
    let mut command = crate::program("script");
    command.env("MILEPOST_ARRIVES_MS", "0").env("MILEPOST_PIN_DELAY_MS", "0");
    let binary = env!("CARGO_BIN_EXE_milepost");
    command
        .args(["-qec", &format!("{binary} {line}"), "/dev/null"])
        .current_dir(place.path(""))
        .env("HOME", place.root.path().join("home"));
    command
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
    let mut command = crate::program("setsid");
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

/// Starts a run of the saved and reviewed workflow.
fn start(place: &Place, code: i32) -> String {
    start_of(place, "asked", code)
}

/// Starts a run of a workflow with this id, or of the text in this file.
fn start_of(place: &Place, workflow: &str, code: i32) -> String {
    let ran = place.run(["run", workflow, "--json"]).ends(code);
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

/// Wrong PINs cost growing time, which neither a new process nor an edited file shortens, and the
/// person is never locked out.
#[test]
fn a_guessed_pin_costs_time() {
    let victim = Victim::new();
    let (place, run) = (&victim.place, victim.run.as_str());
    let approve = |delay: &str, pin: &str| {
        let mut command = at_terminal(place, &format!("approve {run}"));
        typed(command.env("MILEPOST_PIN_DELAY_MS", delay), &[pin])
    };
    for guess in ["123456", "000000", "password", "qwertz"] {
        let said = approve("600000", guess);
        assert_ne!(said.code, 0, "{}", said.out);
        assert!(said.out.contains("wrong PIN"), "{}", said.out);
    }
    // Too soon, even the right PIN is not asked for.
    let said = approve("600000", PIN);
    assert_ne!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("the next one is accepted in "), "{}", said.out);
    victim.is_unharmed("guesses");
    // The rogue can neither reset the count nor end the wait.
    let file = std::path::Path::new(&victim.data()).join("person.json");
    let kept = std::fs::read_to_string(&file).expect("reads");
    let wait = kept.lines().find(|line| line.contains("not_before_ms")).expect("a wait");
    for reset in [kept.replace("\"wrong\": 4", "\"wrong\": 0"), kept.replace(wait, "")] {
        assert_ne!(kept, reset, "the rogue changed something");
        std::fs::write(&file, reset).expect("writes");
        let said = approve("0", PIN);
        assert_ne!(said.code, 0, "{}", said.out);
        victim.is_unharmed("an edited file");
    }
    std::fs::write(&file, kept).expect("writes");
    // A shorter delay has the effect of a clock that was set back: the wait begins again.
    assert_ne!(approve("1", PIN).code, 0);
    std::thread::sleep(std::time::Duration::from_millis(2));
    let said = approve("1", PIN);
    assert_eq!(said.code, 0, "{}", said.out);
    assert_eq!(victim.server.seen().len(), 1);
}

/// Whoever can delete `person.json` can set a PIN of their own. It does not decide in open runs,
/// and it shows.
#[test]
fn a_replaced_pin_is_shown_and_decides_nothing_that_is_open() {
    const ROGUE: &str = "rogue-pin";
    let victim = Victim::new();
    let (place, run) = (&victim.place, victim.run.as_str());
    let told = |words: &str| {
        let doctor = place.run(["doctor"]).out;
        assert!(doctor.contains(words), "{doctor}");
        for command in [&["inbox"][..], &["inbox", "--quiet"], &[]] {
            let shown = place.run(command);
            assert!(shown.err.contains(words), "{command:?}: {}", shown.err);
        }
        for command in [&["inbox", "--json"][..], &["--json"]] {
            let shown = place.run(command).json();
            assert!(shown["pin"].as_str().is_some_and(|pin| pin.contains(words)), "{shown}");
        }
    };
    std::fs::remove_file(format!("{}/person.json", victim.data())).expect("removed");
    told("`person.json` is missing");
    let set = terminal(place, "person set-pin", &[ROGUE, ROGUE]);
    assert_eq!(set.code, 0, "{}", set.out);
    told("without the old one");
    let said = terminal(place, &format!("approve {run}"), &[ROGUE]);
    assert_ne!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("without the old one"), "{}", said.out);
    victim.is_unharmed("a PIN of the rogue's own");
    // Without the record of PINs, the keys of earlier runs tell.
    std::fs::remove_file(format!("{}/pins.json", victim.data())).expect("removed");
    told("without the old one");
    // It does decide later runs, and every question says what happened.
    let other = start(place, 4);
    let said = terminal(place, &format!("approve {other} --quiet"), &[ROGUE]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("without the old one"), "{}", said.out);
}

#[test]
fn a_changed_pin_is_not_reported_as_replaced() {
    const NEW: &str = "tr0mbone-8";
    let victim = Victim::new();
    let place = &victim.place;
    let set = terminal(place, "person set-pin", &[PIN, NEW, NEW]);
    assert_eq!(set.code, 0, "{}", set.out);
    start(place, 4);
    let doctor = place.run(["doctor"]).out;
    assert!(doctor.contains("not replaced without the old one"), "{doctor}");
    assert_eq!(place.run(["inbox", "--json"]).ends(0).json()["pin"], Value::Null);
    // Open runs still need the old PIN.
    let said = terminal(place, &format!("approve {}", victim.run), &[NEW]);
    assert_ne!(said.code, 0, "{}", said.out);
    victim.is_unharmed("the new PIN");
}

/// A text without its line breaks.
fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A tool that runs commands for a model says so in a variable. Such a command reads and starts
/// what an agent may, and otherwise names what the person has to type.
#[test]
fn an_agent_that_says_so_is_told_to_stop() {
    let place =
        Place::with(&[("asked.yaml", "workflow: asked\nsteps: [{id: ok, approve: Go on?}]\n")]);
    let run = start_of(&place, "asked.yaml", 4);
    let approve = format!("approve {run}");
    for variable in ["CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "CURSOR_AGENT", "AI_AGENT"] {
        let mut command = at_terminal(&place, &approve);
        let said = typed(command.env(variable, "1"), &["y"]).ends(8);
        let because = format!("`{variable}` is set");
        assert!(words_of(&said.out).contains(&because), "{}", said.out);
        let line = format!("`milepost {approve}` in a terminal of their own");
        assert!(words_of(&said.out).contains(&line), "{}", said.out);
    }
    let agent = |words: &[&str]| finish(place.command().args(words).env("CLAUDECODE", "1"), "");
    agent(&["workflow", "save", "asked.yaml"]).ends(0);
    for words in [
        &["decide", &run, "--outcome", "give-up"][..],
        &["reject", &run],
        &["person", "set-pin"],
        &["config", "set", "policy.writes", "allow"],
        &["config", "set", "approvals.presence"],
        &["config", "set", "allow_private", "127.0.0.1"],
        &["config", "set", "budget.writes", "100"],
        &["workflow", "delete", "asked", "--yes"],
        &["runs", "purge", "--yes"],
    ] {
        let said = agent(words);
        if words[0] == "runs" {
            // Nothing has ended, so there is nothing to lose.
            said.ends(0);
            continue;
        }
        let said = said.ends(8);
        assert!(said.err.contains("PRESENCE_REQUIRED"), "{words:?}: {}", said.err);
        let line = format!("`milepost {}`", words.join(" "));
        assert!(words_of(&said.err).contains(&line), "{words:?}: {}", said.err);
    }
    assert!(!place.root.path().join("home/.config/milepost/config.toml").exists());
    for words in [&["show", &run][..], &["inbox"], &["runs"], &["workflow", "list"], &["doctor"]] {
        agent(words).ends(0);
    }
    // A person in the same terminal is not concerned.
    finish(place.command().args(["config", "set", "budget.writes", "9"]), "").ends(0);
}

/// With a PIN, whoever has no terminal is not the person.
#[test]
fn with_a_pin_the_configuration_needs_it() {
    let victim = Victim::new();
    let place = &victim.place;
    for (key, value) in [
        ("approvals.presence", "elicitation"),
        ("allow_private", "127.0.0.1"),
        ("budget.writes", "9"),
    ] {
        is_refused(place, &["config", "set", key, value]);
        is_refused(place, &["config", "set", key]);
    }
    assert!(!place.root.path().join("home/.config/milepost/config.toml").exists());
    let said = terminal(place, "config set budget.writes 9", &[PIN]);
    assert_eq!(said.code, 0, "{}", said.out);
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
