//! The server under input that no client should send, in quantities that no client would.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Place;
use crate::client::{self, Client, GUIDES};

/// Set by the full test run: tests that benefit from more time then use it.
const FULL: &str = "MILEPOST_TEST_FULL";

fn step(id: &str) -> Value {
    json!({"id": id, "title": id, "prompt": "Do it."})
}

fn guide(id: &str, name: &str, steps: &[Value]) -> String {
    let guide = json!({
        "id": id,
        "name": name,
        "description": "For tests.",
        "version": "1.0.0",
        "steps": steps,
    });
    guide.to_string()
}

/// A folder with `sound`, a guide of two steps.
fn place() -> Place {
    Place::with(&[("guides/sound.json", &guide("sound", "Sound", &[step("one"), step("two")]))])
}

/// Pseudo-random bytes, the same in every run (xorshift64*).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_be_bytes()[0]).collect()
    }
}

/// A line and its expected answer: the `id` and the error code, if any. `None` if the line gets no
/// answer.
type Exchange = (String, Option<(Value, Option<i64>)>);

fn exchange(kind: usize, id: usize) -> Exchange {
    let request = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let next = json!({"workflowId": "sound", "completedSteps": ["one"]});
    let fails = |code: i64| Some((json!(id), Some(code)));
    let works = Some((json!(id), None));
    match kind {
        0 => (request("ping", json!({})), works),
        1 => (request("tools/list", json!({})), works),
        2 => (request("workflow_next", next), works),
        3 => (request("tools/call", json!({"name": "workflow_next", "arguments": next})), works),
        4 => (request("workflow_list", Value::Null), works),
        5 => (request("workflow_get", json!({"id": "absent"})), fails(-32001)),
        6 => (request("workflow_next", json!({})), fails(-32602)),
        7 => (request("no_such_method", json!({})), fails(-32601)),
        8 => ("{\"jsonrpc\": \"2.0\", ".to_owned(), Some((Value::Null, Some(-32700)))),
        9 => ("{\"id\": {}, \"method\": 1}".to_owned(), Some((Value::Null, Some(-32600)))),
        10 => ("[]".to_owned(), Some((Value::Null, Some(-32600)))),
        11 => (json!({"jsonrpc": "2.0", "method": "no_such_note"}).to_string(), None),
        12 => (String::new(), None),
        _ => {
            let id = format!("ид {id} 😀");
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
            (format!("{ping}\r"), Some((json!(id), None)))
        }
    }
}

#[test]
fn ten_thousand_mixed_lines_are_answered_once_and_in_order() {
    let place = place();
    let mut client = Client::connect(&place);
    let mut noise = Noise(3);
    let exchanges: Vec<Exchange> =
        (0..10_000).map(|id| exchange(noise.below(14), id + 100)).collect();
    let lines: Vec<&str> = exchanges.iter().map(|(line, _)| line.as_str()).collect();
    client.write((lines.join("\n") + "\n").as_bytes());
    for (line, expected) in &exchanges {
        let Some((id, code)) = expected else { continue };
        let answer = client.hear();
        assert_eq!(&answer["id"], id, "{line}\n{answer}");
        assert_eq!(answer["error"]["code"].as_i64(), *code, "{line}\n{answer}");
        assert_eq!(answer.get("result").is_some(), code.is_none(), "{line}\n{answer}");
    }
    client.ping();
    assert_eq!(client.close().code, Some(0));
    assert_eq!(client.heard(), None);
}

/// Characters that are significant in JSON.
const MARKS: &[u8] = b" \"{}[]:,0\\u\n";

/// Noise, noise in lines, or a correct message with some bytes replaced.
fn nonsense(noise: &mut Noise) -> Vec<u8> {
    match noise.below(4) {
        0 => {
            let count = noise.below(4_096);
            noise.bytes(count)
        }
        1 => {
            let count = noise.below(200);
            let mut line = noise.bytes(count);
            line.iter_mut().for_each(|byte| *byte = MARKS[usize::from(*byte) % MARKS.len()]);
            line
        }
        _ => {
            let kind = noise.below(14);
            let mut line = exchange(kind, noise.below(1_000)).0.into_bytes();
            line.push(b'\n');
            for _ in 0..noise.below(4) {
                let at = noise.below(line.len());
                line[at] = noise.bytes(1)[0];
            }
            line
        }
    }
}

#[test]
fn noise_is_survived() {
    let seconds = if std::env::var_os(FULL).is_some() { 10 } else { 1 };
    let place = place();
    let mut client = Client::connect(&place);
    let (mut noise, start) = (Noise(4), Instant::now());
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..64 {
            client.write(&nonsense(&mut noise));
        }
        while client.heard().is_some() {}
    }
    client.write(b"\n");
    client.say(&json!({"jsonrpc": "2.0", "id": "still there", "method": "ping"}));
    let last = json!({"jsonrpc": "2.0", "id": "still there", "result": {}});
    while client.hear() != last {}
    assert_eq!(client.close().code, Some(0));
}

/// The peak memory of a process in bytes, where the system reports it.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1_024)
}

#[test]
fn a_line_of_64_mib_is_refused_and_not_kept() {
    let place = place();
    let mut client = Client::connect(&place);
    // Excludes the memory of the program itself: a test build maps about 32 MiB.
    let before = peak_memory(client.pid()).unwrap_or_default();
    client.write(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"params\": {\"a\": \"");
    let piece = vec![b'a'; 64 * 1_024];
    for _ in 0..1_024 {
        client.write(&piece);
    }
    client.write(b"\"}}\n");
    let answer = client.hear();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert_eq!(answer["id"], Value::Null, "{answer}");
    assert!(answer["error"]["data"].to_string().contains("4194304"), "{answer}");
    client.ping();
    if let Some(bytes) = peak_memory(client.pid()) {
        // Enough for one message of the maximum size and the growth of its buffer.
        assert!(bytes - before < 16 << 20, "{bytes} bytes after {before}");
    }
}

#[test]
fn a_message_may_arrive_in_pieces_cut_anywhere() {
    let place = place();
    let mut client = Client::connect(&place);
    let id = "é漢😀";
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string() + "\n";
    let message = message.as_bytes();
    for cut in 0..=message.len() {
        // One write contains a complete message and the first piece of another. Once the former is
        // answered, the first piece has been read, and the second piece arrives alone.
        let mut first = json!({"jsonrpc": "2.0", "id": cut, "method": "ping"}).to_string();
        first.push('\n');
        client.write(&[first.as_bytes(), &message[..cut]].concat());
        assert_eq!(client.hear()["id"], cut);
        client.write(&message[cut..]);
        assert_eq!(client.hear(), json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
    for byte in message {
        client.write(&[*byte]);
    }
    assert_eq!(client.hear()["id"], id);
}

#[test]
fn a_server_whose_output_is_closed_ends() {
    use std::io::Write as _;

    let place = place();
    let mut child = client::server(&place).spawn().expect("starts");
    let errors = client::errors(&mut child);
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("is piped");
    input.write_all(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\n").expect("is open");
    // Input stays open, so only the closed output can be the reason.
    let exit = client::exit(&mut child, &errors, Duration::from_secs(5));
    let exit = exit.unwrap_or_else(|| {
        drop(child.kill());
        panic!("goes on although nobody listens")
    });
    assert!(exit.code.is_some(), "{}", exit.errors);
}

#[cfg(unix)]
mod signals {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Sends `SIGTERM` right after `work`, from a shell that is already running.
    fn signal_after(pid: u32, work: impl FnOnce()) {
        let script = format!("read go; kill -TERM {pid}");
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", &script]).stdin(Stdio::piped()).spawn().expect("starts");
        let mut go = shell.stdin.take().expect("is piped");
        work();
        go.write_all(b"\n").expect("is open");
        assert!(shell.wait().expect("ends").success());
    }

    #[test]
    fn an_idle_server_ends_well_when_told_to() {
        let place = place();
        let mut client = Client::connect(&place);
        client.ping();
        signal_after(client.pid(), || ());
        assert_eq!(client.ended().code, Some(0));
    }

    #[test]
    fn a_server_that_was_not_greeted_ends_well_when_told_to() {
        let place = place();
        let mut client = Client::start(&place);
        client.ping();
        signal_after(client.pid(), || ());
        assert_eq!(client.ended().code, Some(0));
    }

    #[test]
    fn requests_before_a_signal_are_answered() {
        let text = guide("sound", "Sound", &[judged("one", "(?=(a+)+$)b")]);
        let place = Place::with(&[("guides/sound.json", &text)]);
        let output = "a".repeat(300) + "!";
        for round in 0..50 {
            let mut client = Client::connect(&place);
            // A quick request, or one that is still being answered when the signal arrives.
            let (method, params) = match round % 2 {
                0 => ("workflow_list", Value::Null),
                _ => (
                    "workflow_validate",
                    json!({"workflowId": "sound", "stepId": "one", "output": output}),
                ),
            };
            let pid = client.pid();
            signal_after(pid, || {
                client.say(&json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}));
            });
            assert_eq!(client.hear()["id"], 9, "round {round}");
            assert_eq!(client.ended().code, Some(0), "round {round}");
            assert_eq!(client.heard(), None, "round {round}");
        }
    }
}

#[test]
fn one_broken_file_in_ten_is_reported_and_hides_no_other() {
    let empty = Place::new();
    let mut without = Client::connect(&empty);
    let own = without.call("workflow_list", &Value::Null);
    let own = own["workflows"].as_array().expect("is a list").len();

    let place = Place::new();
    for number in 0..1_000 {
        let id = format!("guide-{number:04}");
        let sound = guide(&id, "Sound", &[step("one")]);
        let text = match number % 50 {
            0 => sound[..sound.len() / 2].to_owned(),
            10 => String::new(),
            20 => guide(&id, "Without steps", &[]),
            30 => sound.replace("\"prompt\"", "\"promt\""),
            40 => sound.replace("\"title\":", "\"runCondition\":{\"var\":\"a\",\"like\":1},\"x\":"),
            _ => sound,
        };
        place.put(&format!("{GUIDES}/{:02}/{id}.json", number % 7), &text);
    }
    let mut client = Client::connect(&place);
    let list = client.call("workflow_list", &Value::Null);
    let ids: Vec<&str> =
        list["workflows"].as_array().expect("is a list").iter().map(text_of("id")).collect();
    assert_eq!(ids.len(), 900 + own);
    assert!(ids.is_sorted());
    let mut paths: Vec<&str> =
        list["invalid"].as_array().expect("is a list").iter().map(text_of("path")).collect();
    paths.dedup();
    assert_eq!(paths.len(), 100);
    assert!(list["invalid"].as_array().is_some_and(|all| {
        all.iter().all(|one| one["reason"].as_str().is_some_and(|reason| !reason.is_empty()))
    }));
    assert_eq!(client.fault("workflow_get", &json!({"id": "guide-0000"})), -32002);
    client.call("workflow_get", &json!({"id": "guide-0001"}));
    assert_eq!(client.close().code, Some(0));
}

fn text_of(key: &str) -> impl Fn(&Value) -> &str {
    move |value| value[key].as_str().expect("is text")
}

/// A step whose output must match a pattern.
fn judged(id: &str, pattern: &str) -> Value {
    let mut step = step(id);
    let rule = json!({"type": "regex", "pattern": pattern, "message": "Must match."});
    step["validationCriteria"] = json!([rule]);
    step
}

#[test]
fn exponential_patterns_finish() {
    let patterns = [
        "(a+)+$",
        "(?=(a+)+$)b",
        "(?<!x)(a+)+$",
        "^(?!.*x)(a|a)*$",
        "(?=a)(a|aa)+$",
        "^(a+)+\\1$",
        "(?<=(a))(.*)*b\\2",
        "(?=((a*)*)*b)",
        "((a{1,100}){1,100}){1,100}(?=b)",
    ];
    let steps: Vec<Value> =
        patterns.iter().enumerate().map(|(n, pattern)| judged(&format!("s{n}"), pattern)).collect();
    let place = Place::with(&[("guides/evil.json", &guide("evil", "Evil", &steps))]);
    let mut client = Client::connect(&place);
    for (number, pattern) in patterns.iter().enumerate() {
        for output in ["a".repeat(100_000) + "!", "a!".repeat(50_000)] {
            let step = format!("s{number}");
            let params = json!({"workflowId": "evil", "stepId": step, "output": output});
            let answer = client.ask("workflow_validate", &params);
            let judged = answer["result"]["valid"].is_boolean();
            assert!(judged || answer["error"]["code"] == -32004, "{pattern}: {answer}");
        }
    }
    client.ping();
}

fn name_of(client: &mut Client, id: &str) -> String {
    let got = client.call("workflow_get", &json!({"id": id, "mode": "metadata"}));
    got["name"].as_str().expect("is text").to_owned()
}

#[test]
fn an_edit_is_served_by_the_very_next_call() {
    let place = place();
    let mut client = Client::connect(&place);
    assert_eq!(name_of(&mut client, "sound"), "Sound");
    // All versions have the same size, and are written faster than the file system's clock ticks.
    for number in 100..300 {
        let name = format!("Edit {number}");
        let text = guide("sound", &name, &[step("one")]);
        if number % 2 == 0 {
            place.put("guides/sound.json", &text);
        } else {
            place.put("guides/sound.json.new", &text);
            fs::rename(place.path("guides/sound.json.new"), place.path("guides/sound.json"))
                .expect("renames");
        }
        assert_eq!(name_of(&mut client, "sound"), name);
    }
}

#[test]
fn files_come_and_go_while_the_server_runs() {
    let place = place();
    let mut client = Client::connect(&place);
    let sound = json!({"id": "sound"});
    client.call("workflow_get", &sound);
    fs::remove_file(place.path("guides/sound.json")).expect("removes");
    assert_eq!(client.fault("workflow_get", &sound), -32001);

    let added = guide("added", "Added", &[step("one")]);
    place.put("guides/added.json", &added);
    assert_eq!(name_of(&mut client, "added"), "Added");
    place.put("guides/deep/er/sound.json", &guide("sound", "Deep", &[step("one")]));
    assert_eq!(name_of(&mut client, "sound"), "Deep");
    fs::remove_dir_all(place.path("guides/deep")).expect("removes");
    assert_eq!(client.fault("workflow_get", &sound), -32001);

    place.put("guides/added.json", &added[..added.len() / 2]);
    assert_eq!(client.fault("workflow_get", &json!({"id": "added"})), -32002);
    place.put("guides/added.json", &added);
    assert_eq!(name_of(&mut client, "added"), "Added");
    fs::rename(place.path("guides/added.json"), place.path("guides/moved.json")).expect("renames");
    assert_eq!(name_of(&mut client, "added"), "Added");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn a_folder_that_is_made_later_is_read() {
    let place = Place::new();
    let mut client = Client::connect(&place);
    assert_eq!(client.fault("workflow_get", &json!({"id": "late"})), -32001);
    place.put("guides/late.json", &guide("late", "Late", &[step("one")]));
    assert_eq!(name_of(&mut client, "late"), "Late");
}
