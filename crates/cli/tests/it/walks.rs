//! Walks every real guide to its end through the real server, with clients that know nothing about
//! the guide.
//!
//! A client appends what it receives: the key of each step, or its bare id. Some walks set context
//! variables beforehand, others when the server requests them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::Place;
use crate::client::Client;

/// The form in which a client records a completed step.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Record {
    Key,
    BareId,
}

/// How a walk fills its context.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    /// Nothing is set before the server asks for it.
    Empty,
    /// Tests hold, where one value can satisfy all tests of a variable.
    Holds,
    /// Tests fail, where one value can fail all tests of a variable.
    Fails,
    /// Loops continue according to their conditions, and stop once their second pass has started.
    Flips,
    /// Tests hold for the first item of a list and fail for the second.
    Mixed,
}

/// A test of a variable as written in the guide: operator and operand.
type Test<'g> = (&'g str, &'g Value);

/// Facts for judging the server's answers; the client does not know them.
struct Guide<'g> {
    id: &'g str,
    steps: &'g [Value],
    /// Every variable that conditions read, with its tests.
    tests: BTreeMap<&'g str, Vec<Test<'g>>>,
    /// Loop conditions by loop, each with whether the loop continues while it holds.
    loops: BTreeMap<&'g str, (bool, &'g Value)>,
    /// Steps that a loop names as its body.
    bodies: BTreeSet<&'g str>,
    /// The lists that loops iterate over, each with the name of its item variable.
    lists: BTreeMap<&'g str, &'g str>,
    counts: BTreeSet<&'g str>,
    /// The maximum number of steps that can be offered, counting all passes.
    instances: usize,
}

impl<'g> Guide<'g> {
    fn of(document: &'g Value) -> Guide<'g> {
        let steps = document["steps"].as_array().expect("has steps");
        let mut guide = Guide {
            id: document["id"].as_str().expect("has an id"),
            steps,
            tests: BTreeMap::new(),
            loops: BTreeMap::new(),
            bodies: BTreeSet::new(),
            lists: BTreeMap::new(),
            counts: BTreeSet::new(),
            instances: 0,
        };
        guide.instances = guide.read(steps);
        guide
    }

    /// Returns how many instances of these steps there are.
    fn read(&mut self, steps: &'g [Value]) -> usize {
        steps.iter().map(|step| self.read_step(step)).sum()
    }

    fn read_step(&mut self, step: &'g Value) -> usize {
        self.read_condition(&step["runCondition"]);
        if step["type"] != "loop" {
            return 1;
        }
        let spec = &step["loop"];
        self.read_condition(&spec["condition"]);
        if spec["condition"].is_object() {
            let id = step["id"].as_str().expect("has an id");
            self.loops.insert(id, (spec["type"] == "while", &spec["condition"]));
        }
        if let Some(items) = spec["items"].as_str() {
            self.lists.insert(items, spec["itemVar"].as_str().unwrap_or_default());
        }
        self.counts.extend(spec["count"].as_str());
        self.bodies.extend(step["body"].as_str());
        let body = step["body"].as_array().map_or(1, |body| self.read(body));
        body * usize::try_from(spec["maxIterations"].as_u64().expect("is a number")).expect("fits")
    }

    fn read_condition(&mut self, condition: &'g Value) {
        for test in tests(condition) {
            self.tests.entry(test.0).or_default().push((test.1, test.2));
        }
    }

    /// The initial context of a walk.
    fn context(&self, mood: Mood) -> Map<String, Value> {
        let mut context = Map::new();
        if mood == Mood::Empty {
            return context;
        }
        for (name, tests) in &self.tests {
            set(&mut context, name, fitting(tests, mood != Mood::Fails));
        }
        for (keeps, condition) in self.loops.values() {
            turn(&mut context, condition, if mood == Mood::Flips { *keeps } else { continue });
        }
        for name in self.lists.keys().chain(&self.counts) {
            set(&mut context, name, self.value(name, mood));
        }
        context
    }

    /// A value for a variable: two items for a list, two passes for a count, otherwise one that
    /// gives a test the wanted result.
    fn value(&self, name: &str, mood: Mood) -> Value {
        let (first, second) = (mood != Mood::Fails, !matches!(mood, Mood::Fails | Mood::Mixed));
        match self.lists.get(name) {
            Some(item) => json!([self.item(item, first), self.item(item, second)]),
            None if self.counts.contains(name) => json!(2),
            None => fitting(&self.tests[name], first),
        }
    }

    /// An item with every field that conditions read.
    fn item(&self, name: &str, wanted: bool) -> Value {
        let mut item = Map::new();
        for (path, tests) in &self.tests {
            if let Some(rest) = path.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) {
                set(&mut item, rest, fitting(tests, wanted));
            }
        }
        json!(item)
    }
}

/// The variable, operator and operand of every test in a condition.
fn tests(condition: &Value) -> Vec<(&str, &str, &Value)> {
    let Some(object) = condition.as_object() else { return Vec::new() };
    let variable = condition["var"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    for (key, operand) in object {
        match key.as_str() {
            "var" if object.len() == 1 => found.push((variable, "truthy", operand)),
            "var" => {}
            "and" | "or" => found.extend(operand.as_array().into_iter().flatten().flat_map(tests)),
            "not" => found.extend(tests(operand)),
            operator => found.push((variable, operator, operand)),
        }
    }
    found
}

/// A value that gives the first test of a variable the wanted result.
fn fitting(tests: &[Test], wanted: bool) -> Value {
    let (operator, operand) = tests[0];
    let number = operand.as_f64().unwrap_or(0.0);
    match (operator, wanted) {
        ("equals", true) | ("not_equals", false) => operand.clone(),
        ("equals", false) | ("not_equals", true) => match operand {
            Value::Bool(flag) => json!(!flag),
            _ => json!("something else"),
        },
        ("gt" | "gte", true) | ("lt" | "lte", false) => json!(number + 1.0),
        ("gt" | "gte", false) | ("lt" | "lte", true) => json!(number - 1.0),
        ("truthy", wanted) => json!(wanted),
        (other, _) => panic!("no value is known for `{other}`"),
    }
}

/// Gives every test of a condition the wanted result.
fn turn(context: &mut Map<String, Value>, condition: &Value, wanted: bool) {
    for (name, operator, operand) in tests(condition) {
        set(context, name, fitting(&[(operator, operand)], wanted));
    }
}

/// Sets a variable by its dotted path.
fn set(context: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(context.insert(path.to_owned(), value)),
        Some((head, rest)) => {
            let inner = context.entry(head).or_insert_with(|| json!({}));
            if !inner.is_object() {
                *inner = json!({});
            }
            set(inner.as_object_mut().expect("is an object"), rest, value);
        }
    }
}

/// The result of a condition, computed independently of the server: `None` if it depends on a
/// variable that is absent.
fn truth(condition: &Value, context: &Map<String, Value>) -> Option<bool> {
    let Some(object) = condition.as_object() else { return Some(true) };
    let found = condition["var"].as_str().and_then(|path| lookup(context, path));
    let parts = object.iter().filter(|(key, _)| *key != "var" || object.len() == 1);
    every(parts.map(|(operator, operand)| match operator.as_str() {
        "and" => every(operand.as_array()?.iter().map(|part| truth(part, context))),
        "or" => {
            let parts = operand.as_array()?.iter();
            every(parts.map(|part| truth(part, context).map(|holds| !holds))).map(|none| !none)
        }
        "not" => truth(operand, context).map(|holds| !holds),
        "var" => found.map(|value| !matches!(value, Value::Null | Value::Bool(false))),
        "equals" => found.map(|value| value == operand),
        "not_equals" => found.map(|value| value != operand),
        "gt" => found.map(|value| value.as_f64() > operand.as_f64()),
        "gte" => found.map(|value| value.as_f64() >= operand.as_f64()),
        "lt" => found.map(|value| value.as_f64() < operand.as_f64()),
        "lte" => found.map(|value| value.as_f64() <= operand.as_f64()),
        other => panic!("`{other}` is not judged here"),
    }))
}

/// False if any is false, true if all are true.
fn every(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut open = false;
    for truth in truths {
        match truth {
            Some(false) => return Some(false),
            Some(true) => {}
            None => open = true,
        }
    }
    (!open).then_some(true)
}

fn lookup<'c>(context: &'c Map<String, Value>, path: &str) -> Option<&'c Value> {
    let (head, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = context.get(head)?;
    if rest.is_empty() { Some(value) } else { lookup(value.as_object()?, rest) }
}

struct Walk<'w, 'g> {
    guide: &'w Guide<'g>,
    mood: Mood,
    record: Record,
    context: Map<String, Value>,
    completed: Vec<String>,
    /// The keys of the steps that were offered.
    offered: Vec<String>,
    /// How many times the context had to be extended.
    repairs: usize,
}

impl Walk<'_, '_> {
    /// Walks to the end and returns the keys that were offered.
    fn run(mut self, client: &mut Client) -> Vec<String> {
        loop {
            let answer = client.ask("workflow_next", &self.request());
            if let Some(error) = answer.get("error") {
                self.mend(error);
                continue;
            }
            let result = &answer["result"];
            let blocked = result["guidance"]["blocked"].as_array().filter(|all| !all.is_empty());
            match (result["isComplete"].as_bool(), result["step"].is_null(), blocked) {
                (Some(false), false, None) => self.take(result),
                (Some(false), true, Some(blocked)) => self.unblock(blocked),
                (Some(true), true, None) => {
                    self.judge_end();
                    return self.offered;
                }
                _ => panic!("{}: contradicts itself: {result}", self.name()),
            }
        }
    }

    fn name(&self) -> String {
        let Walk { guide, mood, record, completed, context, .. } = self;
        let context = json!(context);
        format!("{} {mood:?} {record:?}, context {context}, after {completed:?}", guide.id)
    }

    fn request(&self) -> Value {
        let mut request = json!({"workflowId": self.guide.id, "completedSteps": self.completed});
        if !self.context.is_empty() {
            request["context"] = json!(self.context);
        }
        request
    }

    fn take(&mut self, result: &Value) {
        let key = result["completedStep"].as_str().expect("is text").to_owned();
        let id = result["step"]["id"].as_str().expect("is text");
        assert!(!self.offered.contains(&key), "{}: `{key}` again", self.name());
        let prompt = result["guidance"]["prompt"].as_str().unwrap_or_default();
        assert!(!prompt.is_empty(), "{}: nothing to do in `{key}`", self.name());
        self.completed.push(if self.record == Record::Key { key.clone() } else { id.to_owned() });
        if self.mood == Mood::Flips {
            for (id, (keeps, condition)) in &self.guide.loops {
                if key.starts_with(&format!("{id}@1::")) {
                    turn(&mut self.context, condition, !keeps);
                }
            }
        }
        self.offered.push(key);
        assert!(self.offered.len() <= self.guide.instances, "{}: no end", self.name());
    }

    /// Sets the variable that a loop needs, as named in the error.
    fn mend(&mut self, error: &Value) {
        assert_eq!(error["code"], -32005, "{}: {error}", self.name());
        let variable = error["data"]["variable"].as_str().expect("is named");
        self.repair(variable, self.guide.value(variable, self.mood));
    }

    fn unblock(&mut self, blocked: &[Value]) {
        let variable = blocked[0]["variable"].as_str().expect("is named");
        let value = match blocked[0]["expected"].as_array() {
            Some(expected) => expected[0].clone(),
            None => self.guide.value(variable, self.mood),
        };
        self.repair(variable, value);
    }

    fn repair(&mut self, variable: &str, value: Value) {
        let absent = lookup(&self.context, variable).is_none();
        assert!(absent, "{}: waits for `{variable}`, which is set", self.name());
        set(&mut self.context, variable, value);
        self.repairs += 1;
        let Guide { tests, lists, counts, .. } = self.guide;
        assert!(self.repairs <= tests.len() + lists.len() + counts.len(), "{}", self.name());
    }

    /// Asserts that no required step was left out.
    fn judge_end(&self) {
        for step in self.guide.steps {
            let id = step["id"].as_str().expect("has an id");
            if self.guide.bodies.contains(id) {
                continue;
            }
            let truth = truth(&step["runCondition"], &self.context);
            let begun = format!("{id}@0::");
            let done = self.offered.iter().any(|key| key == id || key.starts_with(&begun));
            let looped = step["type"] == "loop";
            let may_be_left_out = truth == Some(false) || truth.is_some() && looped;
            assert!(done || may_be_left_out, "{}: {truth:?} for `{id}`", self.name());
            if let (true, Some(passes)) = (truth == Some(true), self.passes(step)) {
                let body = first_of_every_pass(step);
                let done = (0..).take_while(|pass| {
                    let key = |body: &str| format!("{id}@{pass}::{body}");
                    body.is_none_or(|body| self.offered.contains(&key(body))) && *pass < passes
                });
                assert_eq!(done.count(), passes, "{}: passes of `{id}`", self.name());
            }
        }
    }

    /// The number of passes of a loop without a condition.
    fn passes(&self, step: &Value) -> Option<usize> {
        let spec = &step["loop"];
        let named = |value: &Value| lookup(&self.context, value.as_str()?).cloned();
        let wanted = match spec["type"].as_str()? {
            "for" => spec["count"].as_u64().or_else(|| named(&spec["count"])?.as_u64())?,
            "forEach" => named(&spec["items"])?.as_array()?.len() as u64,
            _ => return None,
        };
        usize::try_from(wanted.min(spec["maxIterations"].as_u64()?)).ok()
    }
}

/// A step in a loop's body that every pass includes.
fn first_of_every_pass(step: &Value) -> Option<&str> {
    let body = step["body"].as_array()?;
    let plain = |step: &&Value| step["runCondition"].is_null() && step["type"] != "loop";
    body.iter().find(plain)?["id"].as_str()
}

fn walk(client: &mut Client, guide: &Guide, mood: Mood, record: Record) -> Vec<String> {
    let walk = Walk {
        guide,
        mood,
        record,
        context: guide.context(mood),
        completed: Vec::new(),
        offered: Vec::new(),
        repairs: 0,
    };
    walk.run(client)
}

/// Walks a guide in every mood; both clients are offered the same steps.
fn check(client: &mut Client, document: &Value) -> Vec<Vec<String>> {
    let guide = Guide::of(document);
    // Bare ids cannot distinguish a skipped pass from a finished one, so a client that sends them
    // may be offered a step again where items differ. This walk therefore uses keys only.
    walk(client, &guide, Mood::Mixed, Record::Key);
    let moods = [Mood::Empty, Mood::Holds, Mood::Fails, Mood::Flips];
    let walks = moods.map(|mood| {
        let by_key = walk(client, &guide, mood, Record::Key);
        let by_id = walk(client, &guide, mood, Record::BareId);
        assert_eq!(by_key, by_id, "{} {mood:?}", guide.id);
        by_key
    });
    walks.into()
}

fn check_file(path: &Path) {
    let text = fs::read_to_string(path).expect("is there");
    let place = Place::with(&[("guides/walked.json", &text)]);
    let mut client = Client::connect(&place);
    check(&mut client, &serde_json::from_str(&text).expect("is JSON"));
    assert_eq!(client.close().code, Some(0), "{}", path.display());
}

/// The folder of real guides, named by the environment or next to the checkout.
fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("MILEPOST_CORPUS").map(PathBuf::from);
    let beside = || {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        above.map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir())
    };
    let found = named.or_else(beside).map(|folder| folder.join("guides"));
    found.filter(|folder| folder.join("MANIFEST.json").is_file())
}

#[test]
fn every_guide_of_the_corpus_is_walked_to_its_end() {
    let Some(folder) = corpus() else {
        let words = "\nSKIPPED: no corpus of guides; name its folder with MILEPOST_CORPUS\n";
        return std::io::stderr().write_all(words.as_bytes()).expect("writes");
    };
    let list = fs::read(folder.join("MANIFEST.json")).expect("is there");
    let list: Vec<Value> = serde_json::from_slice(&list).expect("is a list");
    let valid: Vec<&Value> = list.iter().filter(|row| row["valid"] == true).collect();
    assert_eq!(valid.len(), 56);
    for row in valid {
        check_file(&folder.join(row["file"].as_str().expect("is text")));
    }
}

#[test]
fn every_example_is_walked_to_its_end() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/guides");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("is there") {
        check_file(&entry.expect("is readable").path());
        count += 1;
    }
    assert_eq!(count, 4);
}

fn step(id: &str) -> Value {
    json!({"id": id, "title": id, "prompt": "Do it."})
}

fn repeat(id: &str, spec: &Value, body: &Value) -> Value {
    json!({"id": id, "title": id, "type": "loop", "loop": spec, "body": body})
}

#[test]
fn loops_of_every_kind_are_walked_inside_each_other() {
    let counted = json!({"type": "for", "count": 2, "maxIterations": 5});
    let listed = json!({"type": "forEach", "items": "files", "maxIterations": 5});
    let asked =
        json!({"type": "while", "condition": {"var": "more", "equals": true}, "maxIterations": 3});
    let until =
        json!({"type": "until", "condition": {"var": "green", "equals": true}, "maxIterations": 3});
    let inner = repeat("inner", &listed, &json!([step("edit"), step("test")]));
    let steps = json!([
        step("begin"),
        repeat("outer", &counted, &json!([step("plan"), inner, step("check")])),
        repeat("asked", &asked, &json!([step("look")])),
        repeat("until", &until, &json!("try")),
        step("try"),
        step("end"),
    ]);
    let guide = json!({
        "id": "nested",
        "name": "Nested",
        "description": "For tests.",
        "version": "1.0.0",
        "steps": steps,
    });
    let place = Place::with(&[("guides/nested.json", &guide.to_string())]);
    let walks = check(&mut Client::connect(&place), &guide);
    let outer = |pass: u8| {
        let file = |n: u8| ["edit", "test"].map(|id| format!("outer@{pass}::inner@{n}::{id}"));
        let plain = |id: &str| vec![format!("outer@{pass}::{id}")];
        [plain("plan"), file(0).into(), file(1).into(), plain("check")].concat()
    };
    let flipped = [
        vec!["begin".to_owned()],
        outer(0),
        outer(1),
        ["asked@0::look", "asked@1::look", "until@0::try", "until@1::try", "end"]
            .map(str::to_owned)
            .into(),
    ];
    assert_eq!(walks[3], flipped.concat());
}
