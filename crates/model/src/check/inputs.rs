//! Checks inputs: defaults and rules must match the type, provider arguments must be consistent,
//! and every input must be used.

use milepost_syntax::span::Span;
use milepost_syntax::tree::SyntaxKind;
use serde_json::Value;

use crate::check::Checker;
use crate::decode::{Entries, Int, Spot};
use crate::expr::Reference;
use crate::finding::{Finding, Rule};
use crate::id::WorkflowId;
use crate::input::{ArgumentSource, DefaultDoc, DefaultFrom, FromDoc, Input, InputType, Mode};
use crate::limits;
use crate::suggest;
use crate::templated::Dynamic;

impl Checker<'_> {
    pub(crate) fn inputs(&mut self) {
        for (name, input) in &self.workflow.inputs.0 {
            self.rules(input);
            self.choices(input);
            // A default is only checked against rules and choices that are themselves valid.
            if let Some(default) = &input.default
                && !self.report.has_error_in(input.at)
            {
                self.default(input, &default.0);
            }
            self.provider_arguments(name, input);
        }
        self.input_rings();
    }

    /// Reports rules that can never hold or that apply only to a different type.
    fn rules(&mut self, input: &Input) {
        let Some(rules) = &input.validate else { return };
        let kind = input.input_type();
        let multiple = input.mode == Some(Mode::Multiple);
        let number = matches!(kind, InputType::Number | InputType::Integer);
        let text: &[&str] = &["pattern", "min_length", "max_length", "format"];
        let misplaced: [(bool, &[&str], &str, &str); 3] = [
            (kind != InputType::String, text, "text", "string"),
            (!number, &["minimum", "maximum"], "numbers", "number"),
            (kind != InputType::Array && !multiple, &["min_items", "max_items"], "lists", "array"),
        ];
        for (_, keys, what, meant) in misplaced.into_iter().filter(|(applies, ..)| *applies) {
            if let Some(key) = keys.iter().find_map(|key| self.root.node_at(rules.at)?.entry(key)) {
                let message =
                    format!("a rule for {what} on {} input", suggest::with_article(kind.name()));
                Finding::error(key.0.at, Rule::Combination, message)
                    .expected(format!("`type: {meant}`"))
                    .suggest(format!("set `type: {meant}`, or remove the rule"))
                    .add_to(self.report);
            }
        }
        let above = |low: Option<Int<0, { i64::MAX }>>, high: Option<Int<0, { i64::MAX }>>| {
            low.zip(high).is_some_and(|(low, high)| low.0 > high.0)
        };
        let crossed = above(rules.min_length, rules.max_length)
            || above(rules.min_items, rules.max_items)
            || rules.minimum.zip(rules.maximum).is_some_and(|(low, high)| low > high);
        if crossed {
            let fault = Finding::error(rules.at, Rule::Range, "the minimum is above the maximum");
            self.report.add(fault.suggest("swap the two"));
        }
    }

    fn default(&mut self, input: &Input, default: &DefaultDoc) {
        let (from, value) = (default.from, default.value.as_ref());
        match (from, value) {
            (DefaultFrom::History, _) => {}
            (_, None) if self.is_damaged(default.at) => {}
            (_, None) => {
                self.report.add(Finding::required(default.at, "value", "add `value`"));
            }
            (DefaultFrom::Literal, Some(value)) => {
                self.fitting(input, value, "default");
                if input.is_secret() {
                    let message = "the workflow contains the secret itself";
                    Finding::error(value.at, Rule::SecretExposed, message)
                        .suggest("use `from: env` with the name of an environment variable")
                        .add_to(self.report);
                }
            }
            (DefaultFrom::Env, Some(value)) => {
                if value.value.as_str().is_none_or(str::is_empty) {
                    let message = "the name of an environment variable must be a string";
                    let fault = Finding::error(value.at, Rule::Type, message);
                    self.report.add(fault.suggest("name an environment variable"));
                }
            }
            (DefaultFrom::WorkflowOutput, Some(value)) => {
                let id = value.value.as_str().map(WorkflowId::parse);
                if !matches!(id, Some(Ok(_))) {
                    let fault = Finding::error(value.at, Rule::Id, "this is not a workflow id");
                    self.report.add(fault.suggest("name the workflow whose output to use"));
                }
            }
        }
    }

    /// Checks that a value in the document has the input's type and is one of its choices.
    fn fitting(&mut self, input: &Input, value: &Spot<Value>, what: &str) {
        let kind = input.input_type();
        if !input.accepts(&value.value) {
            let name = kind.name();
            let (wanted, expected) = match input.takes_several() {
                true => ("a list".to_owned(), format!("a list of {name}s")),
                false => (suggest::with_article(name), name.to_owned()),
            };
            let message = format!("the {what} is not {wanted}");
            let fault = Finding::error(value.at, Rule::Type, message)
                .expected(expected)
                .actual(value.value.to_string());
            self.report.add(fault.write_instead(
                value.at,
                meant(input, &value.value),
                &format!("use a value of type {}", kind.name()),
            ));
            return;
        }
        let missed = |choices: &&Vec<Value>| {
            !choices.is_empty() && !choices.contains(&value.value) && !input.takes_several()
        };
        if let Some(choices) = input.listed_choices().filter(missed) {
            let words: Vec<String> = choices.iter().map(suggest::plain_text).collect();
            let found = suggest::plain_text(&value.value);
            let message = format!("the {what} `{found}` is not one of the choices");
            let fault =
                Finding::error(value.at, Rule::Choice, message).expected(suggest::list(&words));
            self.report.add(fault.did_you_mean(
                value.at,
                suggest::nearest(&found, &words),
                "use one of the choices",
            ));
            return;
        }
        self.within(input, value, what);
    }

    /// Checks that a value in the document satisfies the input's rules.
    fn within(&mut self, input: &Input, value: &Spot<Value>, what: &str) {
        if let Some(objection) = input.judge(what, &value.value).into_iter().next() {
            let message = format!("the {what} violates one of its input's rules");
            Finding::error(value.at, objection.rule, message)
                .expected(objection.expected.clone())
                .suggest(format!("use {}", objection.expected))
                .add_to(self.report);
        }
    }

    fn choices(&mut self, input: &Input) {
        let kind = input.input_type();
        let node = self.root.node_at(input.at);
        let lists = [node, node.and_then(|node| node.get("validate"))];
        for list in lists.into_iter().flatten().filter_map(|owner| owner.get("enum")) {
            if list.items().is_empty() && !self.is_damaged(list.at) {
                let fault = Finding::error(list.at, Rule::Range, "`enum` lists no values");
                self.report.add(fault.suggest("list the values that are allowed"));
            }
            let odd = list.items().iter().find(|choice| !kind.accepts(&choice.to_value()));
            if let Some(choice) = odd.filter(|choice| choice.kind != SyntaxKind::Bad) {
                let (name, value) = (kind.name(), choice.to_value());
                let wanted = suggest::with_article(name);
                let message =
                    format!("the choice `{}` is not {wanted}", suggest::plain_text(&value));
                let fault = Finding::error(choice.at, Rule::Type, message).expected(name);
                let otherwise = format!("make it {wanted}, or change `type`");
                let meant = converted(&value, kind);
                self.report.add(fault.write_instead(choice.at, meant, &otherwise));
            }
        }
    }

    /// Reports inputs whose choices depend on each other, each cycle once.
    fn input_rings(&mut self) {
        let inputs = &self.workflow.inputs;
        // Having too many inputs has already been reported as an error, and checking them all would
        // be slow.
        if inputs.0.len() > limits::INPUTS {
            return;
        }
        let mut told: Vec<&str> = Vec::new();
        for (name, _) in &inputs.0 {
            let mut path = vec![name.value.as_str()];
            let mut open: Vec<(&str, usize)> =
                waits_for(inputs, &name.value).into_iter().map(|next| (next, 1)).collect();
            let mut seen: Vec<&str> = Vec::new();
            while let Some((next, depth)) = open.pop() {
                path.truncate(depth);
                path.push(next);
                if next == name.value {
                    break;
                }
                if !seen.contains(&next) {
                    seen.push(next);
                    let further = waits_for(inputs, next).into_iter();
                    open.extend(further.map(|next| (next, depth + 1)));
                }
            }
            let ring = path.len() > 1 && path.last() == Some(&name.value.as_str());
            if ring && !told.contains(&name.value.as_str()) {
                let shown = path.join(" → ");
                let message = format!("these inputs depend on each other: {shown}");
                let fault = Finding::error(name.at, Rule::Cycle, message);
                self.report.add(fault.suggest("remove one of these references"));
                told.extend(path);
            }
        }
    }

    /// Checks that `depends_on` refers to existing inputs and steps and is consistent with the
    /// arguments.
    fn provider_arguments(&mut self, name: &Spot<String>, input: &Input) {
        if let (None, Some(at)) = (&input.provider, orphan(input))
            && !self.may_have(input.at, "provider")
        {
            Finding::error(at, Rule::Combination, "this key needs `provider`")
                .suggest("add `provider` with the command that lists the choices")
                .add_to(self.report);
        }
        for (argument, source) in input.depends_on.iter().flat_map(|sources| &sources.0) {
            if let ArgumentSource::From(from) = source {
                self.argument_source(name, from);
            }
            let authored = input.provider_args.as_ref().and_then(|args| args.get(&argument.value));
            let differs = match (authored, source) {
                (Some(authored), ArgumentSource::Value(value)) => !same(authored, value),
                (Some(authored), ArgumentSource::From(from)) => !reads(authored, from),
                (None, _) => false,
            };
            if differs {
                let message = format!("`{}` has two different values", argument.value);
                Finding::error(argument.at, Rule::Combination, message)
                    .suggest("keep either `provider_args` or `depends_on`")
                    .add_to(self.report);
            }
        }
    }

    fn argument_source(&mut self, name: &Spot<String>, from: &FromDoc) {
        match (&from.from_input, &from.from_step) {
            (Some(_), Some(step)) => {
                let message = "an argument can only have one source";
                let fault = Finding::error(step.at, Rule::Combination, message);
                self.report.add(fault.suggest("keep `from_input` or `from_step`"));
            }
            (Some(other), None) => {
                let exists = self.is_input(&other.value);
                if other.value == name.value || !exists {
                    let names: Vec<&str> =
                        self.workflow.inputs.names().filter(|one| *one != name.value).collect();
                    self.unknown_source("input", other, &names);
                }
            }
            (None, Some(step)) => {
                if !self.may_be_step(&step.value) {
                    let names = self.step_names();
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    self.unknown_source("step", step, &names);
                }
            }
            (None, None) => {}
        }
    }

    fn unknown_source(&mut self, what: &str, found: &Spot<String>, names: &[&str]) {
        let message = format!("there is no {what} `{}` to take the value from", found.value);
        let fault = Finding::error(found.at, Rule::UnknownName, message);
        let meant = suggest::nearest(&found.value, names);
        let fault = fault.did_you_mean(found.at, meant, &format!("name another {what}"));
        self.report.add(match meant {
            Some(_) => fault,
            None => fault.expected(suggest::list(names)),
        });
    }

    /// Warns about unused inputs, but only if the whole document could be read.
    pub(crate) fn unused(&mut self) {
        if self.report.has_errors() || self.reads.all_inputs {
            return;
        }
        for (name, _) in &self.workflow.inputs.0 {
            if !self.reads.inputs.contains_key(name.value.as_str()) {
                let message = format!("no step uses input `{}`", name.value);
                Finding::warning(name.at, Rule::UnusedInput, message)
                    .suggest("use it in a step, or remove it")
                    .add_to(self.report);
            }
        }
    }
}

/// The first key that has no meaning without a provider.
fn orphan(input: &Input) -> Option<Span> {
    let select = input.select.as_ref().map(|select| select.at);
    let args = input.provider_args.as_ref().and_then(|args| Some(args.0.first()?.0.at));
    let sources = input.depends_on.as_ref().and_then(|sources| Some(sources.0.first()?.0.at));
    select.or(args).or(sources)
}

/// The inputs that an input's choices depend on.
fn waits_for<'w>(inputs: &'w Entries<Input>, name: &str) -> Vec<&'w str> {
    let Some(input) = inputs.get(name) else { return Vec::new() };
    let args = input.provider_args.iter().flat_map(|args| &args.0).map(|(_, value)| value);
    let sources = input.depends_on.iter().flat_map(|sources| &sources.0);
    let mut found = Vec::new();
    for located in args.flat_map(Dynamic::exprs) {
        let inputs = located.expr.references().iter().filter(|one| one.root == "inputs");
        found.extend(inputs.filter_map(|one| one.field(0)));
    }
    for (_, source) in sources {
        if let ArgumentSource::From(from) = source {
            found.extend(from.from_input.iter().map(|name| name.value.as_str()));
        }
    }
    found.retain(|name| inputs.get(name).is_some());
    found
}

/// Whether an argument reads the input or step declared as its source.
fn reads(authored: &Dynamic, from: &FromDoc) -> bool {
    let source = from.from_input.as_ref().map(|name| ("inputs", &name.value));
    let source = source.or(from.from_step.as_ref().map(|name| ("steps", &name.value)));
    let Some((root, name)) = source else { return true };
    let is_source = |one: &Reference| one.root == root && one.field(0) == Some(name);
    authored.exprs().iter().any(|located| located.expr.references().iter().any(is_source))
}

fn same(one: &Dynamic, other: &Dynamic) -> bool {
    match (one, other) {
        (Dynamic::Plain(one), Dynamic::Plain(other)) => one == other,
        (Dynamic::Text(one), Dynamic::Text(other)) => one == other,
        _ => false,
    }
}

/// The intended value, if it can be converted without loss. A single value may become a list.
fn meant(input: &Input, value: &Value) -> Option<Value> {
    if !input.takes_several() {
        return converted(value, input.input_type());
    }
    let list = Value::Array(vec![value.clone()]);
    input.accepts(&list).then_some(list)
}

/// The value converted to another type, if nothing is lost.
fn converted(value: &Value, kind: InputType) -> Option<Value> {
    let meant = match (value, kind) {
        (Value::String(text), InputType::Boolean) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" => Value::Bool(true),
            "false" | "no" => Value::Bool(false),
            _ => return None,
        },
        (Value::String(text), InputType::Number | InputType::Integer) => {
            serde_json::from_str(text.trim()).ok()?
        }
        (Value::Number(_) | Value::Bool(_), InputType::String) => value.to_string().into(),
        (Value::Array(_) | Value::Null, _) => return None,
        (other, InputType::Array) => Value::Array(vec![other.clone()]),
        _ => return None,
    };
    kind.accepts(&meant).then_some(meant)
}
