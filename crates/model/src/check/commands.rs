//! Checks that every command run by a step exists and receives valid arguments.

use milepost_syntax::span::Span;
use milepost_syntax::tree::SyntaxNode;
use serde_json::{Map, Value};

use crate::check::outputs::kind_named;
use crate::check::{Checker, Unchecked};
use crate::commands::{CommandInfo, Lookup};
use crate::decode::{Entries, Spot};
use crate::expr::InferredKind;
use crate::finding::{Finding, Rule};
use crate::step::{Action, Step};
use crate::suggest;
use crate::target::Target;
use crate::templated::Dynamic;

/// A call as written in a step, in a `verify` check or in an input.
struct Call<'c> {
    /// The step or input that contains the call.
    owner: Span,
    target: &'c Spot<Target>,
    /// The key under which the arguments are written.
    key: &'static str,
    /// The arguments. An argument whose value comes from an input or step has no value here.
    given: Vec<(&'c Spot<String>, Option<&'c Dynamic>)>,
    body: Option<&'c Dynamic>,
}

impl Checker<'_> {
    pub(crate) fn targets(&mut self) {
        for step in self.workflow.all_steps() {
            for call in calls(step) {
                self.call(&call);
            }
        }
        for (_, input) in &self.workflow.inputs.0 {
            let Some(provider) = &input.provider else { continue };
            let command = Target::Command(provider.command.clone());
            let place = self.root.node_at(provider.at).and_then(|node| node.get("id"));
            let at = place.map_or(provider.at, |id| id.at);
            let args = input.provider_args.iter().flat_map(|args| &args.0);
            let given = args.map(|(key, value)| (key, Some(value)));
            let sources = input.depends_on.iter().flat_map(|sources| &sources.0);
            self.call(&Call {
                owner: input.at,
                target: &Spot { at, value: command },
                key: "provider_args",
                given: given.chain(sources.map(|(key, _)| (key, None))).collect(),
                body: None,
            });
        }
    }

    fn call(&mut self, call: &Call<'_>) {
        let given = call.given.iter().filter_map(|(_, value)| *value);
        for at in given.chain(call.body).flat_map(Dynamic::computed_files) {
            Finding::error(at, Rule::Argument, "`$file` cannot be an expression")
                .expected("a path that is written here")
                .suggest("write the path: values from inputs, steps and agents cannot name a file")
                .add_to(self.report);
        }
        if let Some(info) = self.known(call.target) {
            self.arguments(call, &info);
        }
    }

    /// Looks up a target. A target that cannot be checked is recorded, and one that does not exist
    /// is reported.
    fn known(&mut self, target: &Spot<Target>) -> Option<Box<CommandInfo>> {
        let lookup = match &target.value {
            Target::Command(command) => self.world.commands.command(command),
            Target::Workflow(id) => self.world.commands.workflow(id),
        };
        let name = target.value.to_string();
        let (candidates, message, shown): (Vec<String>, _, _) = match lookup {
            Lookup::Known(info) => return Some(info),
            Lookup::Unchecked => {
                self.unchecked.push(Unchecked { at: target.at, target: name });
                return None;
            }
            Lookup::NoCatalog(catalogs) => {
                let (group, rest) = name.split_once(' ').unwrap_or((&name, ""));
                let commands = catalogs.iter().map(|catalog| format!("{catalog} {rest}"));
                (commands.collect(), format!("there is no catalog `{group}`"), catalogs)
            }
            Lookup::NoCommand(commands) => {
                (commands.clone(), format!("there is no command `{name}`"), commands)
            }
        };
        let meant = suggest::nearest(&name, &candidates);
        let otherwise = "import the catalog, or use an existing command";
        Finding::error(target.at, Rule::Command, message)
            .expected(suggest::list(&shown))
            .did_you_mean(target.at, meant, otherwise)
            .add_to(self.report);
        None
    }

    fn arguments(&mut self, call: &Call<'_>, info: &CommandInfo) {
        let is_given = |name: &str| call.given.iter().any(|(key, _)| key.value == name);
        let mut missing: Vec<&str> = info
            .parameters
            .iter()
            .filter(|parameter| parameter.required && !is_given(&parameter.name))
            .map(|parameter| parameter.name.as_str())
            .collect();
        for (key, value) in &call.given {
            let known = info.parameters.iter().find(|parameter| parameter.name == key.value);
            if let Some(parameter) = known {
                if let Some(value) = value {
                    self.argument_type(&parameter.name, &parameter.schema, value);
                }
                continue;
            }
            let names = info.parameters.iter().map(|parameter| parameter.name.as_str());
            let free: Vec<&str> = names.filter(|name| !is_given(name)).collect();
            let meant = suggest::nearest(&key.value, &free);
            missing.retain(|name| Some(*name) != meant);
            let message = format!("`{}` takes no argument `{}`", call.target.value, key.value);
            self.not_taken(key.at, message, meant, &free);
        }
        // An argument that seems to be missing may be one that could not be read.
        missing.retain(|_| !self.may_have(call.owner, call.key));
        for name in missing {
            let message = format!("`{}` needs the argument `{name}`", call.target.value);
            Finding::error(call.target.at, Rule::Argument, message)
                .expected(format!("`{name}` under `{}`", call.key))
                .suggest(format!("add `{name}` under `{}`", call.key))
                .add_to(self.report);
        }
        self.body(call, info);
    }

    /// Reports a key that is neither a command argument nor a body field.
    fn not_taken(&mut self, key: Span, message: String, meant: Option<&str>, free: &[&str]) {
        let fault = Finding::error(key, Rule::Argument, message).expected(suggest::list(free));
        self.report.add(fault.did_you_mean_key(key, meant, "remove it"));
    }

    fn argument_type(&mut self, name: &str, schema: &Value, value: &Dynamic) {
        let found = self.found(value);
        let choices = schema.get("enum").and_then(Value::as_array);
        let missed = value.as_plain().zip(choices).filter(|(value, all)| !all.contains(value));
        let fraction = schema.get("type").is_some_and(|kind| kind == "integer")
            && value.as_plain().is_some_and(Value::is_f64);
        let fits = accepted(schema).is_none_or(|kinds| kinds.contains(&found)) && !fraction;
        if missed.is_none() && (fits || found == InferredKind::Unknown) {
            return;
        }
        let expected = match missed {
            Some((_, choices)) => one_of(choices),
            None => type_words(schema),
        };
        let text = value.as_plain().map(suggest::plain_text);
        let meant = text.and_then(|text| mended(&text, schema)).filter(|_| !fraction);
        let fault =
            Finding::error(value.at(), Rule::Argument, format!("`{name}` must be {expected}"))
                .expected(expected.clone())
                .actual(found.name());
        self.report.add(fault.write_instead(value.at(), meant, &format!("use {expected}")));
    }

    fn body(&mut self, call: &Call<'_>, info: &CommandInfo) {
        let target = &call.target.value;
        match (&info.body, call.body) {
            (None, Some(body)) => {
                let message = format!("`{target}` takes no body");
                Finding::error(body.at(), Rule::Argument, message)
                    .on_key()
                    .suggest("remove `body`, or use `with`")
                    .add_to(self.report);
            }
            (Some(wanted), None) if wanted.required && !self.may_have(call.owner, "body") => {
                let message = format!("`{target}` needs a body");
                Finding::error(call.target.at, Rule::Argument, message)
                    .suggest("add `body`")
                    .add_to(self.report);
            }
            (Some(wanted), Some(body)) => self.body_keys(&wanted.schema, body),
            _ => {}
        }
    }

    /// Checks the type and keys of a literal body against its schema.
    fn body_keys(&mut self, schema: &Value, body: &Dynamic) {
        let Some(entries) = self.root.node_at(body.at()).map(SyntaxNode::entries) else { return };
        let found = self.found(body);
        if found != InferredKind::Unknown
            && accepted(schema).is_some_and(|kinds| !kinds.contains(&found))
        {
            let expected = type_words(schema);
            Finding::error(body.at(), Rule::Argument, format!("the body must be {expected}"))
                .expected(expected.clone())
                .actual(found.name())
                .suggest(format!("use {expected}"))
                .add_to(self.report);
            return;
        }
        if found != InferredKind::Map || matches!(body, Dynamic::Text(_)) {
            return;
        }
        let has = |name: &str| entries.iter().any(|(key, _)| key.name == name);
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut missing: Vec<&str> =
            required.filter_map(Value::as_str).filter(|name| !has(name)).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        for (key, _) in entries {
            if properties.is_none_or(|properties| properties.contains_key(&key.name)) {
                continue;
            }
            let free = properties.into_iter().flat_map(Map::keys).map(String::as_str);
            let free: Vec<&str> = free.filter(|name| !has(name)).collect();
            let meant = suggest::nearest(&key.name, &free);
            let lost = meant.is_some_and(|meant| missing.contains(&meant));
            if closed || lost {
                missing.retain(|name| Some(*name) != meant);
                let message = format!("the body has no field `{}`", key.name);
                self.not_taken(key.at, message, meant, &free);
            }
        }
        for name in missing {
            Finding::error(body.at(), Rule::Argument, format!("the body requires `{name}`"))
                .expected(format!("`{name}`"))
                .suggest(format!("add `{name}`"))
                .add_to(self.report);
        }
    }

    /// The kind of value that an argument will have, if known.
    fn found(&self, value: &Dynamic) -> InferredKind {
        match value {
            // Braces without a dollar sign have already been reported, and the result is unknown.
            Dynamic::Plain(Spot { value: Value::String(text), .. }) if text.contains("{{") => {
                InferredKind::Unknown
            }
            Dynamic::Plain(plain) => InferredKind::of(&plain.value),
            Dynamic::Text(text) => match text.template.sole().map(|placed| &placed.expr) {
                Some(expr) if expr.hyphenated_names().is_empty() => {
                    expr.infer(&|reference| self.kind_of(reference, false))
                }
                Some(_) => InferredKind::Unknown,
                None => InferredKind::String,
            },
            Dynamic::List(_) => InferredKind::List,
            Dynamic::Map(_) => InferredKind::Map,
        }
    }
}

fn calls<'s>(step: &'s Step) -> Vec<Call<'s>> {
    let call = |owner, target, with: Option<&'s Entries<Dynamic>>, body| Call {
        owner,
        target,
        key: "with",
        given: with
            .into_iter()
            .flat_map(|with| &with.0)
            .map(|(key, value)| (key, Some(value)))
            .collect(),
        body,
    };
    match &step.action {
        Action::Run(run) => vec![call(step.at, &run.target, Some(&run.with), run.body.as_ref())],
        Action::Prompt(prompt) => {
            let checks = prompt.verify.iter();
            checks.map(|one| call(one.at, &one.run, one.with.as_ref(), one.body.as_ref())).collect()
        }
        _ => Vec::new(),
    }
}

/// The kinds of values that a schema accepts, if it restricts them.
fn accepted(schema: &Value) -> Option<Vec<InferredKind>> {
    let kind = |name: &Value| {
        let kind = kind_named(name.as_str()?);
        (kind != InferredKind::Unknown).then_some(kind)
    };
    match schema.get("type")? {
        Value::Array(names) => Some(names.iter().filter_map(kind).collect()),
        name => Some(vec![kind(name)?]),
    }
}

/// A schema's types in words: `an integer`, `a string or null`.
fn type_words(schema: &Value) -> String {
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(name) => name.as_str().into_iter().collect(),
        None => vec!["value of another type"],
    };
    suggest::with_article(&names.join(" or "))
}

fn one_of(choices: &[Value]) -> String {
    suggest::list(choices.iter().map(suggest::plain_text))
}

fn mended(text: &str, schema: &Value) -> Option<Value> {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let words = choices.iter().filter_map(Value::as_str);
        return suggest::nearest(text, words).map(Value::from);
    }
    match accepted(schema)?.as_slice() {
        [InferredKind::String] => Some(text.into()),
        [InferredKind::Number] => serde_json::from_str(text).ok().filter(Value::is_number),
        [InferredKind::Bool] => serde_json::from_str(text).ok().filter(Value::is_boolean),
        _ => None,
    }
}
