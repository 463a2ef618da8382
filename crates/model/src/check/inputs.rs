//! Inputs: defaults and rules that fit their type, arguments that agree, inputs somebody reads.

use std::collections::HashSet;

use serde_json::Value;

use crate::check::{Checker, of_step, of_workflow};
use crate::condition::Condition;
use crate::decode::Spot;
use crate::expr::SegmentKind;
use crate::finding::{Finding, Mend, Rule};
use crate::guide::{Confirmation, Count};
use crate::id::WorkflowId;
use crate::input::{ArgumentSource, DefaultDoc, DefaultFrom, FromDoc, Input, InputType, Mode};
use crate::step::{Action, Step, When};
use crate::suggest;
use crate::tree::At;

impl<'c> Checker<'c> {
    pub(crate) fn inputs(&mut self) {
        for (name, input) in &self.workflow.inputs.0 {
            // Whether a value fits its input cannot be told while the input's type is in doubt.
            if !self.is_faulty(input.at) {
                self.rules(input);
                if let Some(default) = &input.default {
                    self.default(input, &default.0);
                }
                self.choices(input);
            }
            self.provider_arguments(name, input);
        }
        self.unused();
    }

    /// Rules that cannot hold, or that belong to another type.
    fn rules(&mut self, input: &Input) {
        let Some(rules) = &input.validate else { return };
        let kind = input.input_type();
        let length = rules.min_length.is_some() || rules.max_length.is_some();
        let text = length || rules.pattern.is_some() || rules.format.is_some();
        let number = rules.minimum.is_some() || rules.maximum.is_some();
        let items = rules.min_items.is_some() || rules.max_items.is_some();
        let multiple = input.mode == Some(Mode::Multiple);
        let misplaced = [
            (text && kind != InputType::String, "text", "string"),
            (
                number && !matches!(kind, InputType::Number | InputType::Integer),
                "numbers",
                "number",
            ),
            (items && kind != InputType::Array && !multiple, "lists", "array"),
        ];
        for (wrong, what, meant) in misplaced {
            if wrong {
                let message = format!("a rule for {what} on a {} input", kind.name());
                self.report.add(
                    Finding::error(rules.at, Rule::Combination, message)
                        .expected(format!("`type: {meant}`"))
                        .suggest(format!("set `type: {meant}`, or remove the rule")),
                );
            }
        }
        let above = |low: Option<i64>, high: Option<i64>| matches!((low, high), (Some(low), Some(high)) if low > high);
        let bound = |int: &Option<crate::decode::Int<0, { i64::MAX }>>| int.map(|int| int.0);
        let crossed = above(bound(&rules.min_length), bound(&rules.max_length))
            || above(bound(&rules.min_items), bound(&rules.max_items))
            || matches!((rules.minimum, rules.maximum), (Some(low), Some(high)) if low > high);
        if crossed {
            let fault = Finding::error(rules.at, Rule::Range, "the least is above the largest");
            self.report.add(fault.suggest("exchange the two"));
        }
    }

    fn default(&mut self, input: &Input, default: &DefaultDoc) {
        let (from, value) = (default.from, default.value.as_ref());
        match (from, value) {
            (DefaultFrom::History, _) => {}
            (_, None) => {
                self.report.add(
                    Finding::error(default.at, Rule::Required, "missing required key `value`")
                        .suggest("add `value`"),
                );
            }
            (DefaultFrom::Literal, Some(value)) => {
                self.fitting(input, value, "default");
                if input.is_secret() {
                    let fault = Finding::error(
                        value.at,
                        Rule::SecretExposed,
                        "a secret written into the workflow",
                    );
                    self.report.add(fault.suggest("use `from: env` with the name of a variable"));
                }
            }
            (DefaultFrom::Env, Some(value)) => {
                if !value.value.as_str().is_some_and(|name| !name.is_empty()) {
                    let fault =
                        Finding::error(value.at, Rule::Type, "the name of a variable is text");
                    self.report.add(fault.suggest("name an environment variable"));
                }
            }
            (DefaultFrom::WorkflowOutput, Some(value)) => {
                let id = value.value.as_str().map(WorkflowId::parse);
                if !matches!(id, Some(Ok(_))) {
                    let fault = Finding::error(value.at, Rule::Id, "this names no workflow");
                    self.report.add(fault.suggest("name the workflow whose output is taken"));
                }
            }
        }
    }

    /// A value the document itself brings must be of the type and among the choices.
    fn fitting(&mut self, input: &Input, value: &Spot<Value>, what: &str) {
        let kind = input.input_type();
        let multiple = input.mode == Some(Mode::Multiple);
        let fits = match (&value.value, multiple) {
            (Value::Array(items), true) => items.iter().all(|item| kind.accepts(item)),
            (other, _) => kind.accepts(other),
        };
        if !fits {
            let message = format!("the {what} is no {}", kind.name());
            let fault = Finding::error(value.at, Rule::Type, message)
                .expected(kind.name())
                .actual(value.value.to_string());
            self.report.add(match converted(&value.value, kind) {
                Some(meant) => fault
                    .suggest(format!("write `{meant}`"))
                    .mend(Mend::Replace { at: value.at, value: meant }),
                None => fault.suggest(format!("use a value of type {}", kind.name())),
            });
            return;
        }
        let choices = input.choices.as_ref();
        let choices = choices.or_else(|| input.validate.as_ref()?.choices.as_ref());
        if let Some(choices) = choices.filter(|choices| !choices.contains(&value.value))
            && !multiple
        {
            let words: Vec<String> = choices.iter().map(plain_text).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = plain_text(&value.value);
            let message = format!("the {what} `{found}` is none of the choices");
            let fault = Finding::error(value.at, Rule::Choice, message)
                .expected(suggest::list(words.iter().copied()));
            self.report.add(match suggest::nearest(&found, words.iter().copied()) {
                Some(meant) => fault
                    .suggest(format!("did you mean `{meant}`?"))
                    .mend(Mend::Replace { at: value.at, value: meant.into() }),
                None => fault.suggest("use one of the choices"),
            });
        }
    }

    fn choices(&mut self, input: &Input) {
        let kind = input.input_type();
        let lists = [&input.choices].into_iter().chain(input.validate.as_ref().map(|r| &r.choices));
        for choices in lists.flatten() {
            if choices.is_empty() {
                let fault = Finding::error(input.at, Rule::Range, "a choice of nothing");
                self.report.add(fault.suggest("list the values it takes"));
            }
            if let Some(odd) = choices.iter().find(|choice| !kind.accepts(choice)) {
                let message = format!("the choice `{}` is no {}", plain_text(odd), kind.name());
                self.report.add(
                    Finding::error(input.at, Rule::Type, message)
                        .expected(kind.name())
                        .suggest(format!("make it a {}, or change `type`", kind.name())),
                );
            }
        }
    }

    /// `depends_on` names inputs and steps that exist and agrees with the arguments.
    fn provider_arguments(&mut self, name: &Spot<String>, input: &Input) {
        if let (None, Some(at), false) = (&input.provider, orphan(input), self.is_faulty(input.at))
        {
            self.report.add(
                Finding::error(at, Rule::Combination, "this needs `provider`")
                    .suggest("add `provider` with the command that yields the choices"),
            );
        }
        for (argument, source) in input.depends_on.iter().flat_map(|sources| &sources.0) {
            if let ArgumentSource::From(from) = source {
                self.argument_source(name, from);
            }
            let authored = input.provider_args.as_ref().and_then(|args| args.get(&argument.value));
            if let (Some(authored), ArgumentSource::Value(value)) = (authored, source)
                && !same(authored, value)
            {
                let message = format!("`{}` is given twice and differs", argument.value);
                self.report.add(
                    Finding::error(argument.at, Rule::Combination, message)
                        .suggest("keep one of `provider_args` and `depends_on`"),
                );
            }
        }
    }

    fn argument_source(&mut self, name: &Spot<String>, from: &FromDoc) {
        match (&from.from_input, &from.from_step) {
            (Some(_), Some(step)) => {
                let fault = Finding::error(step.at, Rule::Combination, "one source, not two");
                self.report.add(fault.suggest("keep `from_input` or `from_step`"));
            }
            (Some(other), None) => {
                let exists = self.workflow.inputs.get(&other.value).is_some()
                    || self.unread_inputs.contains(&other.value);
                if other.value == name.value || !exists {
                    let names: Vec<&str> =
                        self.workflow.inputs.names().filter(|one| *one != name.value).collect();
                    self.unknown_source("input", other, &names);
                }
            }
            (None, Some(step)) => {
                if !self.is_step(&step.value) {
                    let names: Vec<String> =
                        self.step_names().into_iter().map(str::to_owned).collect();
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    self.unknown_source("step", step, &names);
                }
            }
            (None, None) => {}
        }
    }

    fn unknown_source(&mut self, what: &str, found: &Spot<String>, names: &[&str]) {
        let message = format!("there is no {what} `{}` to take it from", found.value);
        let fault = Finding::error(found.at, Rule::UnknownName, message);
        self.report.add(match suggest::nearest(&found.value, names.iter().copied()) {
            Some(meant) => fault
                .suggest(format!("did you mean `{meant}`?"))
                .mend(Mend::Replace { at: found.at, value: meant.into() }),
            None => fault
                .expected(suggest::list(names.iter().copied()))
                .suggest(format!("name another {what}")),
        });
    }

    fn unused(&mut self) {
        let mut read = HashSet::new();
        for usage in of_workflow(self.workflow) {
            note(usage.located.expr, &mut read);
        }
        for step in self.workflow.all_steps() {
            for usage in of_step(step) {
                note(usage.located.expr, &mut read);
            }
            by_condition(step, &mut read);
        }
        let sources = self.workflow.inputs.0.iter().flat_map(|(_, input)| &input.depends_on);
        for (_, source) in sources.flat_map(|sources| &sources.0) {
            if let ArgumentSource::From(from) = source
                && let Some(other) = &from.from_input
            {
                read.insert(other.value.as_str());
            }
        }
        // An unreadable step may be the one that reads it, and `inputs` whole reads all.
        if !self.unread_steps.is_empty() || read.contains("*") {
            return;
        }
        for (name, _) in &self.workflow.inputs.0 {
            if !read.contains(name.value.as_str()) {
                let message = format!("no step reads input `{}`", name.value);
                self.report.add(
                    Finding::warning(name.at, Rule::UnusedInput, message)
                        .suggest("use it in a step, or remove it"),
                );
            }
        }
    }
}

fn note<'e>(expr: &'e crate::expr::Expr, read: &mut HashSet<&'e str>) {
    for reference in expr.references().iter().filter(|reference| reference.root == "inputs") {
        match reference.path.first().map(|segment| &segment.kind) {
            Some(SegmentKind::Field(name)) => read.insert(name.as_str()),
            _ => read.insert("*"),
        };
    }
}

/// Conditions and loops of the guide spelling read inputs as variables of the context.
fn by_condition<'s>(step: &'s Step, read: &mut HashSet<&'s str>) {
    let mut variables = |condition: &'s Condition| {
        let roots = condition.variables().into_iter().filter_map(|name| name.split('.').next());
        read.extend(roots);
    };
    if let Some(When::Condition(condition)) = &step.when {
        variables(condition);
    }
    match &step.action {
        Action::Prompt(prompt) => {
            if let Confirmation::When(condition) = &prompt.confirmation {
                variables(condition);
            }
        }
        Action::Loop(looped) => {
            if let Some(condition) = &looped.spec.condition {
                variables(condition);
            }
            read.extend(looped.spec.items.as_ref().map(|items| items.0.as_str()));
            if let Some(Count::Variable(name)) = &looped.spec.count {
                read.insert(name.as_str());
            }
        }
        _ => {}
    }
}

/// The first key that means nothing without a provider.
fn orphan(input: &Input) -> Option<At> {
    let select = input.select.as_ref().map(|select| select.at);
    let args = input.provider_args.as_ref().and_then(|args| Some(args.0.first()?.0.at));
    let sources = input.depends_on.as_ref().and_then(|sources| Some(sources.0.first()?.0.at));
    select.or(args).or(sources)
}

fn same(one: &crate::templated::Dynamic, other: &crate::templated::Dynamic) -> bool {
    use crate::templated::Dynamic;
    match (one, other) {
        (Dynamic::Plain(_, one), Dynamic::Plain(_, other)) => one == other,
        (Dynamic::Text(one), Dynamic::Text(other)) => one.template == other.template,
        _ => false,
    }
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The same value in another type, where that loses nothing.
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
