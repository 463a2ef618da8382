//! What steps run: commands that exist, with the arguments they take.

use serde_json::Value;

use crate::check::{Checker, Unchecked};
use crate::commands::{CommandInfo, Lookup};
use crate::decode::{Entries, Spot};
use crate::expr::Kind;
use crate::finding::{Finding, Mend, Rule};
use crate::step::{Action, Step};
use crate::suggest;
use crate::target::Target;
use crate::templated::Dynamic;

/// A call as it is written, in a step or in a check of one.
struct Call<'c> {
    target: &'c Spot<Target>,
    with: Option<&'c Entries<Dynamic>>,
    body: Option<&'c Dynamic>,
}

impl<'c> Checker<'c> {
    pub(crate) fn targets(&mut self) {
        for step in self.workflow.all_steps() {
            for call in calls(step) {
                if let Some(info) = self.known(call.target) {
                    self.arguments(&call, &info);
                }
            }
        }
        for (_, input) in &self.workflow.inputs.0 {
            if let Some(provider) = &input.provider {
                let target = Target::Command(provider.command.clone());
                self.known(&Spot { at: provider.at, value: target });
            }
        }
    }

    /// What is known of a target; what is not known is noted, what does not exist is reported.
    fn known(&mut self, target: &Spot<Target>) -> Option<Box<CommandInfo>> {
        let lookup = match &target.value {
            Target::Command(command) => self.world.commands.command(command),
            Target::Workflow(id) => self.world.commands.workflow(id),
        };
        let (words, what) = match lookup {
            Lookup::Known(info) => return Some(info),
            Lookup::Unchecked => {
                let unchecked = Unchecked { at: target.at, target: target.value.to_string() };
                self.unchecked.push(unchecked);
                return None;
            }
            Lookup::NoCatalog(names) => {
                let name = target.value.to_string();
                let (group, rest) = name.split_once(' ').unwrap_or((&name, ""));
                let words = names.iter().map(|name| format!("{name} {rest}")).collect();
                self.unknown_target(
                    target,
                    words,
                    &format!("there is no catalog `{group}`"),
                    names,
                );
                return None;
            }
            Lookup::NoCommand(names) => (names, format!("there is no command `{}`", target.value)),
        };
        self.unknown_target(target, words.clone(), &what, words);
        None
    }

    fn unknown_target(
        &mut self,
        target: &Spot<Target>,
        words: Vec<String>,
        message: &str,
        shown: Vec<String>,
    ) {
        let written = target.value.to_string();
        let fault = Finding::error(target.at, Rule::Command, message)
            .expected(suggest::list(shown.iter().map(String::as_str)));
        self.report.add(match suggest::nearest(&written, words.iter().map(String::as_str)) {
            Some(meant) => fault
                .suggest(format!("did you mean `{meant}`?"))
                .mend(Mend::Replace { at: target.at, value: meant.into() }),
            None => fault.suggest("import the catalog, or name a command that is there"),
        });
    }

    fn arguments(&mut self, call: &Call<'_>, info: &CommandInfo) {
        let given: Vec<(&Spot<String>, &Dynamic)> =
            call.with.iter().flat_map(|with| &with.0).map(|(key, value)| (key, value)).collect();
        let is_given = |name: &str| given.iter().any(|(key, _)| key.value == name);
        let mut missing: Vec<&str> = info
            .parameters
            .iter()
            .filter(|parameter| parameter.required && !is_given(&parameter.name))
            .map(|parameter| parameter.name.as_str())
            .collect();
        for (key, value) in &given {
            let known = info.parameters.iter().find(|parameter| parameter.name == key.value);
            if let Some(parameter) = known {
                self.argument_type(&parameter.name, &parameter.schema, value);
                continue;
            }
            let names = info.parameters.iter().map(|parameter| parameter.name.as_str());
            let free: Vec<&str> = names.filter(|name| !is_given(name)).collect();
            let meant = suggest::nearest(&key.value, free.iter().copied());
            missing.retain(|name| Some(*name) != meant);
            self.unknown_argument(key, call.target, meant, &free);
        }
        for name in missing {
            let message = format!("`{}` needs the argument `{name}`", call.target.value);
            self.report.add(
                Finding::error(call.target.at, Rule::Argument, message)
                    .expected(format!("`{name}` under `with`"))
                    .suggest(format!("add `with: {{{name}: …}}`")),
            );
        }
        self.body(call, info);
    }

    fn unknown_argument(
        &mut self,
        key: &Spot<String>,
        target: &Spot<Target>,
        meant: Option<&str>,
        free: &[&str],
    ) {
        let message = format!("`{}` takes no argument `{}`", target.value, key.value);
        let fault = Finding::error(key.at, Rule::Argument, message)
            .expected(suggest::list(free.iter().copied()));
        self.report.add(match meant {
            Some(meant) => fault
                .suggest(format!("did you mean `{meant}`?"))
                .mend(Mend::RenameKey { key: key.at, to: meant.to_owned() }),
            None => fault.suggest("remove it"),
        });
    }

    fn argument_type(&mut self, name: &str, schema: &Value, value: &Dynamic) {
        let found = match value {
            Dynamic::Plain(_, value) => kind_of(value),
            Dynamic::Text(text) => match &text.template {
                crate::template::Template::Sole(placed) => placed.expr.infer(&|_| Kind::Unknown),
                _ => Kind::String,
            },
            Dynamic::List(..) => Kind::List,
            Dynamic::Map(..) => Kind::Map,
        };
        let fits =
            found == Kind::Unknown || accepted(schema).is_none_or(|kinds| kinds.contains(&found));
        let choice = match (value.as_plain(), schema.get("enum").and_then(Value::as_array)) {
            (Some(value), Some(choices)) => choices.contains(value),
            _ => true,
        };
        if fits && choice {
            return;
        }
        let expected = match (choice, schema.get("enum"), schema.get("type")) {
            (false, Some(choices), _) => format!("one of {choices}"),
            (_, _, Some(kind)) => format!("type {kind}"),
            _ => "another value".to_owned(),
        };
        let text = value.as_plain().map(scalar);
        let meant = text.and_then(|text| mended(&text, schema));
        let fault =
            Finding::error(value.at(), Rule::Argument, format!("`{name}` takes another value"))
                .expected(expected.clone())
                .suggest(format!("use {expected}"));
        self.report.add(match meant {
            Some(meant) => fault
                .suggest(format!("write `{meant}`"))
                .mend(Mend::Replace { at: value.at(), value: meant }),
            None => fault,
        });
    }

    fn body(&mut self, call: &Call<'_>, info: &CommandInfo) {
        let target = &call.target.value;
        match (&info.body, call.body) {
            (None, Some(body)) => {
                let message = format!("`{target}` takes no body");
                self.report.add(
                    Finding::error(body.at(), Rule::Argument, message)
                        .suggest("remove `body`, or use `with`"),
                );
            }
            (Some(wanted), None) if wanted.required => {
                let message = format!("`{target}` needs a body");
                self.report.add(
                    Finding::error(call.target.at, Rule::Argument, message).suggest("add `body`"),
                );
            }
            (Some(wanted), Some(body)) => self.body_keys(&wanted.schema, body),
            _ => {}
        }
    }

    /// Required keys of a body that is written out as a map.
    fn body_keys(&mut self, schema: &Value, body: &Dynamic) {
        let keys: Vec<&str> = match body {
            Dynamic::Plain(_, Value::Object(map)) => map.keys().map(String::as_str).collect(),
            Dynamic::Map(_, entries) => entries.iter().map(|(key, _)| key.as_str()).collect(),
            _ => return,
        };
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !keys.contains(&name) {
                self.report.add(
                    Finding::error(body.at(), Rule::Argument, format!("the body needs `{name}`"))
                        .expected(format!("`{name}`"))
                        .suggest(format!("add `{name}`")),
                );
            }
        }
    }
}

fn calls(step: &Step) -> Vec<Call<'_>> {
    match &step.action {
        Action::Run(run) => {
            vec![Call { target: &run.target, with: Some(&run.with), body: run.body.as_ref() }]
        }
        Action::Prompt(prompt) => prompt
            .verify
            .iter()
            .map(|verify| Call {
                target: &verify.run,
                with: verify.with.as_ref(),
                body: verify.body.as_ref(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::List,
        Value::Object(_) => Kind::Map,
    }
}

/// The kinds a schema accepts, when it says.
fn accepted(schema: &Value) -> Option<Vec<Kind>> {
    let kind = |name: &Value| {
        Some(match name.as_str()? {
            "string" => Kind::String,
            "number" | "integer" => Kind::Number,
            "boolean" => Kind::Bool,
            "array" => Kind::List,
            "object" => Kind::Map,
            "null" => Kind::Null,
            _ => return None,
        })
    };
    match schema.get("type")? {
        Value::Array(names) => Some(names.iter().filter_map(kind).collect()),
        name => Some(vec![kind(name)?]),
    }
}

fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn mended(text: &str, schema: &Value) -> Option<Value> {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let words = choices.iter().filter_map(Value::as_str);
        return suggest::nearest(text, words).map(Value::from);
    }
    match accepted(schema)?.as_slice() {
        [Kind::String] => Some(text.into()),
        [Kind::Number] => serde_json::from_str(text).ok().filter(Value::is_number),
        [Kind::Bool] => serde_json::from_str(text).ok().filter(Value::is_boolean),
        _ => None,
    }
}
