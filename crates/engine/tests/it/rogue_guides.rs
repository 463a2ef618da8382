//! Guides at random, worked through by agents that lie in every way a context allows. They are
//! offered the steps that the accepted outputs decide, and no others.

use milepost_engine::signal::{Reply, Signal};
use milepost_engine::view;
use serde_json::{Map, Value, json};

use crate::rendering;
use crate::rig::{Chance, Rig, add, submit};

/// Boolean variables that the first step declares, so that all passes share them.
const SHARED: [&str; 3] = ["p", "q", "r"];
/// Most steps that a walk may have.
const STEPS: usize = 200;

struct Writer {
    chance: Chance,
    count: usize,
}

impl Writer {
    /// A guide whose first step declares the shared variables and two lists.
    fn guide(seed: u64) -> Value {
        let mut writer = Writer { chance: Chance(seed), count: 0 };
        let mut first = json!({"xs": {"type": "array"}, "ys": {"type": "array"}});
        for name in SHARED {
            first[name] = json!({"type": "boolean"});
        }
        let mut steps = vec![declaring("first", &first)];
        for _ in 0..=writer.chance.below(5) {
            let block = writer.block(&mut Vec::new(), 0);
            steps.push(block);
        }
        json!({
            "id": "random", "name": "Random", "description": "For tests.", "version": "1.0.0",
            "steps": steps,
        })
    }

    fn id(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}{}", self.count)
    }

    /// A step or a loop; `local` are the variables that this pass has set for certain.
    fn block(&mut self, local: &mut Vec<String>, depth: usize) -> Value {
        let condition = self.chance.one_in(2).then(|| self.condition(local, 0));
        let mut step = match self.chance.below(if depth < 3 { 5 } else { 2 }) {
            0 | 1 => self.step(local, condition.is_none()),
            2 => self.each(local, depth),
            _ => self.until(local, depth),
        };
        if let Some(condition) = condition {
            step["runCondition"] = condition;
        }
        step
    }

    fn step(&mut self, local: &mut Vec<String>, sure: bool) -> Value {
        let id = self.id("s");
        let mut declared = json!({});
        if self.chance.one_in(3) {
            declared[*self.chance.pick(&SHARED)] = json!({"type": "boolean"});
        }
        if self.chance.one_in(2) {
            let own = format!("v_{id}");
            declared[own.as_str()] = json!({"type": "boolean"});
            if sure {
                local.push(own);
            }
        }
        declaring(&id, &declared)
    }

    fn each(&mut self, local: &[String], depth: usize) -> Value {
        let (id, items) = (self.id("each"), *self.chance.pick(&["xs", "ys"]));
        let mut inner = local.to_vec();
        let body: Vec<Value> =
            (0..=self.chance.below(2)).map(|_| self.block(&mut inner, depth + 1)).collect();
        let spec = json!({"type": "forEach", "items": items, "itemVar": id, "maxIterations": 4});
        json!({"id": id, "title": "T", "type": "loop", "loop": spec, "body": body})
    }

    /// A loop that ends once its own step says so.
    fn until(&mut self, local: &[String], depth: usize) -> Value {
        let id = self.id("until");
        let own = format!("v_{id}");
        let mut inner = local.to_vec();
        let ends = declaring(&format!("e-{id}"), &json!({ own.as_str(): {"type": "boolean"} }));
        let mut body = vec![ends];
        inner.push(own.clone());
        if self.chance.one_in(2) {
            body.push(self.block(&mut inner, depth + 1));
        }
        let condition = json!({"var": own, "equals": true});
        let spec = json!({"type": "until", "condition": condition, "maxIterations": 3});
        json!({"id": id, "title": "T", "type": "loop", "loop": spec, "body": body})
    }

    fn condition(&mut self, local: &[String], depth: usize) -> Value {
        let mut names: Vec<String> = SHARED.map(str::to_owned).to_vec();
        names.extend(local.iter().cloned());
        let name = self.chance.pick(&names).clone();
        let value = self.chance.one_in(2);
        match self.chance.below(if depth < 2 { 6 } else { 3 }) {
            0 => json!({ "var": name }),
            1 => json!({"var": name, "not_equals": value}),
            2 => json!({"var": name, "equals": value}),
            3 => json!({"not": self.condition(local, depth + 1)}),
            4 => {
                json!({"and": [self.condition(local, depth + 1), self.condition(local, depth + 1)]})
            }
            _ => {
                json!({"or": [self.condition(local, depth + 1), self.condition(local, depth + 1)]})
            }
        }
    }
}

fn declaring(id: &str, properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let schema = json!({"type": "object", "required": required, "properties": properties});
    let rule = json!({"type": "schema", "schema": schema, "message": "the object"});
    json!({"id": id, "title": "T", "prompt": "Do it.", "validationCriteria": [rule]})
}

/// The output of an execution: always the same for the same key.
fn output(step: &Value, key: &str, seed: u64) -> Map<String, Value> {
    let digest = key
        .bytes()
        .fold(seed, |sum, byte| sum.wrapping_mul(0x0100_0000_01B3).wrapping_add(u64::from(byte)));
    let mut chance = Chance(digest);
    let properties = &step["validationCriteria"][0]["schema"]["properties"];
    let names = properties.as_object().into_iter().flatten();
    let value = |(name, kind): (&String, &Value)| match kind["type"].as_str() {
        Some("array") => {
            let items: Vec<usize> = (0..chance.below(3)).collect();
            (name.clone(), json!(items))
        }
        _ => (name.clone(), json!(chance.one_in(2))),
    };
    names.map(value).collect()
}

/// A loop, and the number of a pass.
type Pass<'g> = (&'g str, usize);

/// What the outputs alone decide, computed without the engine.
struct Oracle<'g> {
    seed: u64,
    /// Each variable that an output set: its passes, its name, its value, and the number of passes
    /// that a place has to share to see it.
    set: Vec<(Vec<Pass<'g>>, String, Value, usize)>,
    offered: Vec<String>,
}

impl<'g> Oracle<'g> {
    /// Walks from the start after every step, since a step that was left out may be due later.
    fn walk(&mut self, steps: &'g [Value]) {
        while let Some((step, at)) = self.next(steps, &mut Vec::new()) {
            let id = step["id"].as_str().expect("an id");
            let key = format!("{}{id}", prefix(&at));
            for (name, value) in output(step, &key, self.seed) {
                let is_shared = SHARED.contains(&name.as_str()) || id == "first";
                // The passes of an `until` loop share what they set, those of a list do not.
                let last = at.last().is_some_and(|(id, _)| id.starts_with("until"));
                let own = if is_shared { 0 } else { at.len() - usize::from(last) };
                self.set.push((at.clone(), name, value, own));
            }
            self.offered.push(key);
        }
    }

    fn next(
        &self,
        steps: &'g [Value],
        at: &mut Vec<Pass<'g>>,
    ) -> Option<(&'g Value, Vec<Pass<'g>>)> {
        steps.iter().find_map(|step| self.due(step, at))
    }

    fn due(&self, step: &'g Value, at: &mut Vec<Pass<'g>>) -> Option<(&'g Value, Vec<Pass<'g>>)> {
        let id = step["id"].as_str().expect("an id");
        let key = format!("{}{id}", prefix(at));
        if self.offered.contains(&key) || !self.holds(&step["runCondition"], at) {
            return None;
        }
        if step["type"] != "loop" {
            return Some((step, at.clone()));
        }
        let items = step["loop"]["items"].as_str();
        let passes = items.map_or(3, |items| self.get(items, at).as_array().expect("a list").len());
        for pass in 0..passes {
            let begun = format!("{key}@{pass}::");
            let begun = self.offered.iter().any(|key| key.starts_with(&begun));
            at.push((id, pass));
            let ended = items.is_none() && !begun && self.has_ended(step, at);
            let found = if ended { None } else { self.next(step["body"].as_array()?, at) };
            at.pop();
            if ended || found.is_some() {
                return found;
            }
        }
        None
    }

    fn has_ended(&self, step: &Value, at: &[Pass<'_>]) -> bool {
        let name = step["loop"]["condition"]["var"].as_str().expect("a variable");
        self.find(name, at) == Some(&json!(true))
    }

    fn get(&self, name: &str, at: &[Pass<'_>]) -> &Value {
        self.find(name, at).unwrap_or_else(|| panic!("{name} is not set at {at:?}"))
    }

    /// The value with which a place shares the most passes, and the latest of those.
    fn find(&self, name: &str, at: &[Pass<'_>]) -> Option<&Value> {
        let shared =
            |passes: &[Pass<'_>]| passes.iter().zip(at).take_while(|(a, b)| a == b).count();
        let seen = self
            .set
            .iter()
            .filter(|(passes, own, _, least)| own == name && shared(passes) >= *least);
        seen.max_by_key(|(passes, ..)| shared(passes)).map(|(_, _, value, _)| value)
    }

    fn holds(&self, condition: &Value, at: &[Pass<'_>]) -> bool {
        let Some(parts) = condition.as_object() else { return true };
        let holds = |part: &Value| self.holds(part, at);
        let value = condition["var"].as_str().map(|name| self.get(name, at));
        parts.iter().all(|(operator, operand)| match (operator.as_str(), value) {
            ("and", _) => operand.as_array().into_iter().flatten().all(holds),
            ("or", _) => operand.as_array().into_iter().flatten().any(holds),
            ("not", _) => !holds(operand),
            ("var", Some(value)) => parts.len() > 1 || *value == json!(true),
            ("equals", Some(value)) => value == operand,
            ("not_equals", Some(value)) => value != operand,
            other => panic!("{other:?}"),
        })
    }
}

fn prefix(at: &[Pass<'_>]) -> String {
    let passes: Vec<String> = at.iter().map(|(id, pass)| format!("{id}@{pass}::")).collect();
    passes.concat()
}

/// An agent that submits true outputs, and lies around them.
struct Rogue {
    chance: Chance,
    names: Vec<String>,
    /// Every key that was due so far, to submit it again and out of order.
    seen: Vec<String>,
}

impl Rogue {
    fn lie(&mut self) -> Map<String, Value> {
        let mut context = Map::new();
        for _ in 0..self.chance.below(4) {
            let name = self.chance.pick(&self.names).clone();
            let name = if self.chance.one_in(6) { format!("{name}.0") } else { name };
            let values = [
                json!(true),
                json!(false),
                json!(null),
                json!([]),
                json!([9, 9, 9]),
                json!("yes"),
                json!({"x": 1}),
                json!(0),
            ];
            context.insert(name, self.chance.pick(&values).clone());
        }
        context
    }

    /// Submits an output, with lies around it, until it is accepted.
    fn submit(&mut self, rig: &mut Rig, key: &str, mut output: Map<String, Value>) {
        if self.chance.one_in(3) {
            rig.tell(add(&Value::Object(self.lie())));
        }
        if let Some(other) = self.chance.one_in(4).then(|| self.chance.pick(&self.seen).clone()) {
            // Another step, or one that is done, with made-up results.
            if other != key {
                rig.tell(with(&other, json!({"p": true, "xs": []}), self.lie()));
            }
        }
        // Results of other steps beside one's own.
        if self.chance.one_in(2) {
            for (name, value) in self.lie() {
                output.entry(name).or_insert(value);
            }
        }
        let text = self.chance.one_in(2);
        let output = Value::Object(output);
        let output = if text { json!(output.to_string()) } else { output };
        for attempt in 0..4 {
            let context = if attempt < 3 { self.lie() } else { Map::new() };
            match rig.tell(with(key, output.clone(), context)) {
                Reply::Accepted { .. } => return,
                Reply::Refused { .. } => {}
                reply => panic!("{key}: {reply:?}"),
            }
        }
        panic!("{key} was never accepted");
    }
}

fn with(key: &str, output: Value, context: Map<String, Value>) -> Signal {
    let Signal::Submit(mut submitted) = submit(key, None, output) else { unreachable!() };
    submitted.context = context;
    Signal::Submit(submitted)
}

fn steps_of(steps: &[Value]) -> Vec<&Value> {
    let mut all = Vec::new();
    for step in steps {
        all.push(step);
        all.extend(step["body"].as_array().into_iter().flat_map(|body| steps_of(body)));
    }
    all
}

fn check(seed: u64) {
    let guide = Writer::guide(seed);
    let steps = guide["steps"].as_array().expect("steps");
    let mut oracle = Oracle { seed, set: Vec::new(), offered: Vec::new() };
    oracle.walk(steps);
    let all = steps_of(steps);
    let names = all.iter().flat_map(|step| {
        let properties = step["validationCriteria"][0]["schema"]["properties"].as_object();
        properties.into_iter().flat_map(Map::keys).cloned()
    });
    let names: Vec<String> = names.chain(["first".to_owned(), "nobody".to_owned()]).collect();
    let mut rogue = Rogue { chance: Chance(seed ^ 0xBAD), names, seen: vec!["first".to_owned()] };
    let inputs = Value::Object(rogue.lie());
    let mut rig = Rig::with(&guide.to_string(), &inputs, |_| {});
    rig.start();
    let mut offered = Vec::new();
    while let Some(brief) = view::briefs(&rig.flow, rig.state()).first() {
        let key = brief.key.to_string();
        let id = brief.key.step().to_owned();
        let step = all.iter().find(|step| step["id"] == id.as_str()).expect("a step");
        rogue.submit(&mut rig, &key, output(step, &key, seed));
        if rogue.chance.one_in(8) {
            rig.die();
        }
        rogue.seen.push(key.clone());
        offered.push(key);
        assert!(offered.len() < STEPS, "{seed}: no end");
    }
    assert_eq!(offered, oracle.offered, "{seed}: {guide:#}");
    assert_eq!(rendering::stands(&rig), "succeeded", "{seed}: {guide:#}");
}

#[test]
fn no_context_changes_which_steps_are_offered() {
    let soak = std::env::var("MILEPOST_SOAK").is_ok();
    (1..=if soak { 20_000 } else { 300 }).for_each(check);
}
