//! Checks the names in expressions: whether each one exists, may be read in its place, and has the
//! type that the place accepts.

use std::collections::HashSet;

use milepost_syntax::mend::{Mend, SourceLocation};
use milepost_syntax::span::Span;

use crate::check::outputs::{PathCheck, kind_named};
use crate::check::reads::NameKind;
use crate::check::uses::{self, ExprPlace, ExprUse};
use crate::check::{Checker, is_identifier};
use crate::expr::{InferredKind, Reference, Segment, SegmentKind};
use crate::finding::{Finding, Rule};
use crate::input::{Input, InputType};
use crate::step::{Action, Step};
use crate::suggest;
use crate::templated::{Dynamic, Located};

/// The fields of a step that expressions can read.
const STEP_FIELDS: &[&str] = &["output", "status", "error", "attempts", "headers"];
/// The fields of `steps.self` that a step can read.
const SELF_FIELDS: &[&str] = &["output"];
/// The fields of the run that expressions can read.
const RUN_FIELDS: &[&str] = &["id", "workflow", "started_at"];

const ONLY_IN_REQUESTS: &str = "use it only in the `with`, `body` or `headers` of a `run` step";

/// An expression, and the names that exist there in addition to `inputs`, `steps`, `env` and `run`.
#[derive(Clone, Copy)]
struct Site<'s, 'n> {
    located: Located<'s>,
    place: ExprPlace,
    names: &'n LocalNames<'s>,
}

#[derive(Default)]
struct LocalNames<'s> {
    step: Option<&'s Step>,
    extra: Vec<&'s str>,
    /// Whether the item's name is invalid, in which case any unknown name may refer to the item.
    nameless_item: bool,
    /// Whether the step has an unknown key, which may be a misspelling of one that defines a name.
    unsure: bool,
    /// The item variable of a loop over a secret input.
    secret_item: Option<&'s str>,
}

impl<'c> Checker<'c> {
    pub(crate) fn expressions(&mut self) {
        let workflow = self.workflow;
        for usage in uses::of_workflow(workflow) {
            self.usage(usage, &LocalNames::default());
        }
        for step in workflow.steps.iter().chain(&workflow.finally) {
            self.step_expressions(step, &[], (false, false));
        }
    }

    /// Warns about text that looks like a template in places where templates are not filled in.
    pub(crate) fn unfilled_templates(&mut self) {
        let steps = self.workflow.all_steps();
        let uses = uses::of_workflow(self.workflow).into_iter();
        let uses = uses.chain(steps.iter().flat_map(|step| uses::of_step(step)));
        let filled: HashSet<Span> = uses.map(|usage| usage.located.at).collect();
        let mut open = vec![self.root];
        while let Some(node) = open.pop() {
            open.extend(node.items());
            open.extend(node.entries().iter().map(|(_, value)| value));
            let looks = node.text().is_some_and(|text| text.contains("${{"));
            if looks && !filled.contains(&node.at) && !self.report.has_error_in(node.at) {
                let message = "`${{ }}` is not filled in here";
                let then = "move it to a key that is filled in, such as `prompt` or `with`";
                let finding = Finding::warning(node.at, Rule::Expression, message);
                self.report.add(finding.suggest(then));
            }
        }
    }

    fn step_expressions(
        &mut self,
        step: &'c Step,
        outer: &[&'c str],
        (nameless, unsure): (bool, bool),
    ) {
        let unsure = unsure || self.has_unknown_key(step.at);
        let mut extra = outer.to_vec();
        let mut nameless_item = nameless;
        if let Some(each) = &step.for_each {
            extra.extend([each.item_name(), "index"]);
            nameless_item |= !self.item_name(step);
        } else if self.is_damaged(step.at) {
            // If `for_each` could not be read, only its `as` is left.
            nameless_item |=
                self.root.node_at(step.at).is_some_and(|node| node.get("as").is_some());
        }
        let secret_item = self.secret_item(step);
        for usage in uses::of_step(step) {
            let items = usage.place == ExprPlace::Items;
            let extra = if items { outer.to_vec() } else { extra.clone() };
            let step = Some(step);
            self.usage(usage, &LocalNames { step, extra, nameless_item, unsure, secret_item });
        }
        if let Action::Loop(looped) = &step.action {
            let spec = &looped.spec;
            extra.extend(["item", "index"]);
            let authored = [&spec.item_var, &spec.index_var, &spec.iteration_var];
            extra.extend(authored.into_iter().flatten().map(String::as_str));
            let nameless = nameless_item || self.is_damaged(spec.at);
            for inner in &looped.body {
                self.step_expressions(inner, &extra, (nameless, unsure));
            }
        }
    }

    /// The item variable of a step that loops over a secret input.
    fn secret_item(&self, step: &'c Step) -> Option<&'c str> {
        let each = step.for_each.as_ref()?;
        let secret = |reference: &Reference| {
            let input = reference.field(0).and_then(|name| self.workflow.inputs.get(name));
            reference.root == "inputs" && input.is_some_and(Input::is_secret)
        };
        let exprs = each.items.exprs();
        let found = exprs.iter().any(|located| located.expr.references().iter().any(secret));
        found.then(|| each.item_name())
    }

    /// Checks that `as` is an identifier that has no other meaning in expressions.
    fn item_name(&mut self, step: &Step) -> bool {
        let Some(name) = step.for_each.as_ref().and_then(|each| each.name.as_ref()) else {
            return !self.is_damaged(step.at);
        };
        let text = name.value.as_str();
        let taken = ["inputs", "steps", "env", "run", "index", "output", "status_code"];
        if is_identifier(text) && !taken.contains(&text) {
            return true;
        }
        Finding::error(name.at, Rule::Id, format!("`{text}` cannot name an item"))
            .expected("letters, digits and `_`, not starting with a digit, and not a reserved name")
            .suggest("use a name such as `order`")
            .add_to(self.report);
        false
    }

    fn usage(&mut self, ExprUse { located, place }: ExprUse<'c>, names: &LocalNames<'c>) {
        let site = Site { located, place, names };
        let hyphenated = self.hyphenated(located);
        for reference in located.expr.references() {
            let start = reference.span.start;
            if !hyphenated.iter().any(|span| (span.start..span.end).contains(&start)) {
                self.reference(reference, site);
            }
        }
        self.secrets(site);
        if hyphenated.is_empty() {
            self.result_type(site);
        }
    }

    /// Reports `steps.my-step`, which is a subtraction in the language but a name to its author.
    fn hyphenated(&mut self, located: Located<'_>) -> Vec<Span> {
        let mut found = Vec::new();
        for hyphenated in located.expr.hyphenated_names() {
            let is_known = |name: &str| match hyphenated.replacement.starts_with("steps") {
                true => self.is_step(name),
                false => self.is_input(name),
            };
            let left = hyphenated.name.split('-').next().unwrap_or("");
            if !is_known(&hyphenated.name) && is_known(left) {
                continue;
            }
            let place = located.place(hyphenated.span);
            let written = &located.expr.source()[hyphenated.span.range()];
            let message = format!("`{written}` is a subtraction");
            let text = hyphenated.replacement.clone();
            Finding::error(place, Rule::UnknownName, message)
                .expected(format!("`{text}`"))
                .suggest(format!("write `{text}`"))
                .mend(Mend::ReplaceText { place, text })
                .add_to(self.report);
            found.push(hyphenated.span);
        }
        found
    }

    pub(crate) fn is_input(&self, name: &str) -> bool {
        self.workflow.inputs.get(name).is_some()
            || self.unread_inputs.iter().any(|unread| unread == name)
    }

    fn reference(&mut self, reference: &Reference, site: Site<'c, '_>) {
        let names = site.names;
        match reference.root.as_str() {
            "inputs" => self.input_reference(reference, site),
            name if names.secret_item == Some(name) && site.place.is_shown() => {
                let what = format!("`{name}` comes from a secret input");
                self.exposed(&what, reference, site, ONLY_IN_REQUESTS);
            }
            "steps" => self.step_reference(reference, site),
            "env" => self.env_reference(reference, site.located),
            "run" => self.field_of("run", RUN_FIELDS, reference.path.first(), site.located),
            "output" | "status_code" if site.place.has_response() => {}
            name if names.extra.contains(&name) || names.nameless_item => {}
            name => self.unknown_root(name, reference, site),
        }
    }

    fn exposed(&mut self, what: &str, reference: &Reference, site: Site<'_, '_>, then: &str) {
        let place = site.located.place(reference.span);
        let message = format!("{what}, but {} would reveal it", site.place.name());
        self.report.add(Finding::error(place, Rule::SecretExposed, message).suggest(then));
    }

    fn unknown_root(&mut self, name: &str, reference: &Reference, site: Site<'_, '_>) {
        let Site { located, names, .. } = site;
        if names.unsure {
            return;
        }
        // The span of a parenthesized reference includes the parentheses.
        let start = reference.span.range().start;
        let source = located.expr.source().get(start..).unwrap_or("");
        let start = start + source.find(name).unwrap_or(0);
        let place = located.place(Span::new(start, start + name.len()));
        let mut roots = vec!["inputs", "steps", "env", "run"];
        roots.extend(&names.extra);
        if site.place.has_response() {
            roots.extend(["output", "status_code"]);
        }
        // A bare input or step name lacks only its root.
        let rooted = match (self.is_input(name), self.is_step(name)) {
            (true, false) => Some(format!("inputs.{name}")),
            (false, true) => Some(format!("steps.{name}.output")),
            _ if name == "item" => {
                let each = names.step.and_then(|step| step.for_each.as_ref());
                each.and_then(|each| Some(each.name.as_ref()?.value.clone()))
            }
            _ => None,
        };
        let meant = rooted.or_else(|| suggest::nearest(name, &roots).map(str::to_owned));
        let expected = meant.as_deref().map_or_else(|| suggest::list(roots), quoted);
        let otherwise = "name an input, a step, or something else that exists here";
        Finding::error(place, Rule::UnknownName, format!("unknown name `{name}`"))
            .expected(expected)
            .did_you_mean(place, meant.as_deref(), otherwise)
            .add_to(self.report);
    }

    fn input_reference(&mut self, reference: &Reference, site: Site<'_, '_>) {
        let located = site.located;
        let (Some(segment), Some(name)) = (reference.path.first(), reference.field(0)) else {
            return self.all_inputs(reference, site);
        };
        // Inputs that could not be read still exist.
        let all_unread = self.workflow.inputs.0.is_empty() && self.may_have(self.root.at, "inputs");
        if all_unread || self.unread_inputs.iter().any(|unread| unread == name) {
            return;
        }
        let Some(input) = self.workflow.inputs.get(name) else {
            return self.unknown_field(NameKind::Input, segment, located);
        };
        let embedded = site.place == ExprPlace::Request
            && !reference.guarded
            && !located.expr.passes_on(reference);
        if input.is_secret() && site.place.is_shown() {
            let what = format!("input `{name}` is secret");
            self.exposed(&what, reference, site, ONLY_IN_REQUESTS);
        } else if input.is_secret() && embedded {
            // The expression sees only a placeholder, which is replaced by the secret when the
            // request is sent.
            let message = format!("secret input `{name}` inside an expression");
            Finding::error(located.place(reference.span), Rule::SecretExposed, message)
                .expected("a secret input alone, or joined with `+`")
                .suggest(format!("use it alone: `${{{{ inputs.{name} }}}}`"))
                .add_to(self.report);
        }
        // Strings and numbers have no fields.
        let inside = reference.path.get(1).filter(|_| !reference.guarded);
        let kind = input.input_type();
        let several = input.takes_several() && input.join.is_none();
        let scalar = !several && !matches!(kind, InputType::Array | InputType::Object);
        if let Some(inside) = inside.filter(|_| scalar) {
            let article = suggest::with_article(kind.name());
            let message = format!("input `{name}` is {article} and has no fields");
            let finding = Finding::error(located.place(inside.span), Rule::UnknownPath, message);
            self.report.add(finding.suggest("read the input itself"));
        }
    }

    /// Checks a read of `inputs` as a whole, which exposes every secret input.
    fn all_inputs(&mut self, reference: &Reference, site: Site<'_, '_>) {
        let secret = self.workflow.inputs.0.iter().find(|(_, input)| input.is_secret());
        if let Some((name, _)) = secret.filter(|_| site.place.is_shown()) {
            let what = format!("input `{}` is secret", name.value);
            self.exposed(&what, reference, site, "read the inputs you need one by one");
        }
    }

    fn unknown_field(&mut self, of: NameKind<'_>, segment: &Segment, located: Located<'_>) {
        let steps = self.step_names();
        let names: Vec<&str> = match of {
            NameKind::Input => self.workflow.inputs.names().collect(),
            _ => steps.iter().map(String::as_str).collect(),
        };
        let what = of.noun();
        let Some(name) = segment.field() else { return };
        let place = located.place(segment.span);
        let fault =
            Finding::error(place, Rule::UnknownName, format!("there is no {what} `{name}`"));
        let meant = suggest::nearest(name, &names);
        self.report.add(match meant.filter(|meant| self.is_misspelling(of, name, meant)) {
            Some(meant) => {
                let (place, text) = rewritten(meant, segment, located);
                fault.expected(quoted(meant)).did_you_mean(place, Some(&text), "")
            }
            None => fault
                .expected(suggest::list(names))
                .suggest(format!("name an existing {what}, or add this one")),
        });
    }

    fn step_reference(&mut self, reference: &Reference, site: Site<'c, '_>) {
        let Site { located, names, .. } = site;
        let (Some(segment), Some(name)) = (reference.path.first(), reference.field(0)) else {
            let (span, message) = match reference.path.first() {
                None => (reference.span, "an expression cannot read all steps at once"),
                Some(segment) => (segment.span, "a step cannot be chosen at run time"),
            };
            Finding::error(located.place(span), Rule::UnknownName, message)
                .expected("the id of a step")
                .suggest("write the id of the step: the order of steps is fixed before a run")
                .add_to(self.report);
            return;
        };
        let place = located.place(segment.span);
        if name == "self" && !self.is_step("self") {
            return self.own_reference(reference, site, place);
        }
        if names.step.is_some_and(|step| step.name() == name) {
            let fault = Finding::error(place, Rule::Cycle, format!("step `{name}` reads itself"));
            let meant = match () {
                () if names.step.is_some_and(repeats) => "the previous pass",
                () if reads_submission(site) => "what was submitted",
                () => return self.report.add(fault.suggest("read another step")),
            };
            let fault = fault.suggest(format!("write `steps.self` for {meant}"));
            self.report.add(fault.mend(Mend::ReplaceText { place, text: "self".into() }));
            return;
        }
        if !self.may_be_step(name) {
            return self.unknown_field(NameKind::Step, segment, located);
        }
        if let Some(meant) = self.refused_id(name) {
            let (place, text) = rewritten(&meant, segment, located);
            self.mend_with_id(name, Mend::ReplaceText { place, text });
        }
        self.finally_reference(name, names, place);
        self.field_of("a step", STEP_FIELDS, reference.path.get(1), located);
        self.output_reference(name, reference, located);
    }

    /// Checks `steps.self`, which refers to the previous pass in a step that repeats and to the
    /// submission in a step that is verified.
    fn own_reference(&mut self, reference: &Reference, site: Site<'_, '_>, place: SourceLocation) {
        if reads_submission(site) || site.names.step.is_some_and(repeats) {
            self.field_of("the step itself", SELF_FIELDS, reference.path.get(1), site.located);
            return;
        }
        let message = "`steps.self` exists only in `repeat` and `verify`";
        let finding = Finding::error(place, Rule::UnknownName, message);
        self.report.add(finding.suggest("name the step you mean"));
    }

    /// Checks that `finally` steps, which run last, are not read from outside `finally`.
    fn finally_reference(&mut self, name: &str, names: &LocalNames<'_>, place: SourceLocation) {
        let is_finally = |name: &str| self.workflow.finally.iter().any(|step| step.name() == name);
        let reader = names.step.map(Step::name);
        if is_finally(name) && reader.is_some_and(|reader| !is_finally(reader)) {
            self.report.add(runs_last(name, place));
        }
    }

    fn field_of(
        &mut self,
        owner: &str,
        fields: &[&str],
        segment: Option<&Segment>,
        located: Located<'_>,
    ) {
        let Some(segment) = segment else { return };
        let Some(name) = segment.field().filter(|name| !fields.contains(name)) else { return };
        let place = located.place(segment.span);
        // `state` and `result` may be output fields as well as alternative names for a step's own
        // fields.
        let vague = matches!(name, "state" | "result");
        let meant = suggest::nearest(name, fields).filter(|_| !vague);
        let fault = Finding::error(place, Rule::UnknownPath, format!("{owner} has no `{name}`"))
            .expected(suggest::list(fields))
            .did_you_mean(place, meant, "use one of these");
        self.report.add(match meant {
            // `steps.lookup.total` lacks only the `output` in between.
            None if fields == STEP_FIELDS && !vague => fault
                .suggest(format!("write `output.{name}`"))
                .mend(Mend::ReplaceText { place, text: format!("output.{name}") }),
            _ => fault,
        });
    }

    fn env_reference(&mut self, reference: &Reference, located: Located<'_>) {
        let (Some(allowed), Some(name)) = (self.world.env_allow, reference.field(0)) else {
            return;
        };
        if !allowed.iter().any(|one| one == name) {
            let place = located.place(reference.path[0].span);
            Finding::error(place, Rule::UnknownName, format!("`env.{name}` may not be read"))
                .expected(suggest::list(allowed))
                .suggest("add it to `env_allow` in the config, or make it an input")
                .add_to(self.report);
        }
    }

    /// Checks that `secret()` is used only in requests, alone or joined with `+`.
    fn secrets(&mut self, site: Site<'_, '_>) {
        for secret in site.located.expr.secrets() {
            let (message, expected, then) = if site.place != ExprPlace::Request {
                let message = format!("`secret()` in {}", site.place.name());
                let expected = "`secret()` in `with`, `body` or `headers`";
                (message, expected, "move it into the request that needs it")
            } else if !secret.legal {
                let expected = "`secret()` alone, or joined with `+`";
                let then = "use it alone: `${{ secret('name') }}`";
                ("`secret()` inside an expression".to_owned(), expected, then)
            } else {
                continue;
            };
            let place = site.located.place(secret.span);
            let finding = Finding::error(place, Rule::SecretExposed, message);
            self.report.add(finding.expected(expected).suggest(then));
        }
    }

    /// Checks that conditions yield a boolean and that `for_each` yields a list.
    fn result_type(&mut self, site: Site<'_, '_>) {
        let Site { located, names, .. } = site;
        let source = located.expr.source();
        let indexed = names.extra.contains(&"index");
        let kind = located.expr.infer(&|reference| self.kind_of(reference, indexed));
        let each = names.step.and_then(|step| step.for_each.as_ref());
        let is_whole = each.is_some_and(
            |each| matches!(&each.items, Dynamic::Text(text) if text.template.sole().is_some()),
        );
        let (message, expected, then) = if site.place.wants_boolean() && kind != InferredKind::Bool
        {
            let source = source.trim();
            let example = match kind {
                InferredKind::Number => format!("{source} > 0"),
                InferredKind::List | InferredKind::Map => format!("size({source}) > 0"),
                InferredKind::String => format!("{source} != ''"),
                _ => format!("{source} == true"),
            };
            let message = format!("{} must be true or false", site.place.name());
            (message, "a boolean", format!("compare it, for example `{example}`"))
        } else if site.place == ExprPlace::Items && kind != InferredKind::List && is_whole {
            ("`for_each` needs a list".to_owned(), "a list", "read a list here".to_owned())
        } else {
            return;
        };
        if kind != InferredKind::Unknown {
            let place = located.place(Span::new(0, source.len()));
            let finding = Finding::error(place, Rule::ExpressionType, message).expected(expected);
            self.report.add(finding.actual(kind.name()).suggest(then));
        }
    }

    /// The kind of value that a reference yields, if it is known before a run.
    pub(crate) fn kind_of(&self, reference: &Reference, indexed: bool) -> InferredKind {
        match (reference.root.as_str(), reference.path.len()) {
            ("inputs", 1) => reference
                .field(0)
                .and_then(|name| self.workflow.inputs.get(name))
                .filter(|input| !self.report.has_error_in(input.at))
                .map_or(InferredKind::Unknown, kind_of_input),
            ("steps", 2) if reference.field(1) == Some("status") => InferredKind::String,
            ("steps", 2) if reference.field(1) == Some("attempts") => InferredKind::Number,
            ("steps", 3) if reference.field(1) == Some("output") => {
                let step = reference.field(0).and_then(|id| self.step(id));
                step.map_or(InferredKind::Unknown, |step| {
                    self.output_kind(step, reference.field(2))
                })
            }
            ("run", 1) => InferredKind::String,
            ("index", 0) if indexed => InferredKind::Number,
            ("status_code", 0) => InferredKind::Number,
            _ => InferredKind::Unknown,
        }
    }

    /// Checks whether a step's output can have the path that a reference reads.
    fn output_reference(&mut self, name: &str, reference: &Reference, located: Located<'_>) {
        let is_output = reference.field(1) == Some("output") && reference.path.len() > 2;
        let Some(step) = self.step(name).filter(|_| is_output && !reference.guarded) else {
            return;
        };
        let Some(PathCheck::Missing { index, names, certain }) =
            self.output_path(step, &reference.path[2..])
        else {
            return;
        };
        let segment = &reference.path[2 + index];
        let place = located.place(segment.span);
        let field = match &segment.kind {
            SegmentKind::Field(field) => field.clone(),
            SegmentKind::Index(number) => format!("[{number}]"),
            SegmentKind::Dynamic => return,
        };
        let finding = if certain {
            let message = format!("the output of `{name}` has no `{field}`");
            Finding::error(place, Rule::UnknownPath, message)
        } else {
            let message = format!("the output schema of `{name}` does not declare `{field}`");
            Finding::warning(place, Rule::UnmentionedPath, message)
        };
        let finding = match names.is_empty() {
            true => finding,
            false => finding.expected(suggest::list(&names)),
        };
        if index == 0 && step.for_each.is_some() {
            let then = format!("the output is a list: read `output[0].{field}`");
            self.report.add(finding.suggest(then));
            return;
        }
        let of = NameKind::Output(name);
        let meant = suggest::nearest(&field, &names)
            .filter(|meant| is_identifier(meant) && self.is_misspelling(of, &field, meant));
        let otherwise = "read an existing field, or write `.?` if it may be missing";
        self.report.add(finding.did_you_mean(place, meant, otherwise));
    }
}

/// Whether a place can read an agent's submission: the requests and checks in `verify`.
fn reads_submission(site: Site<'_, '_>) -> bool {
    let prompts = site.names.step.is_some_and(|step| matches!(step.action, Action::Prompt(_)));
    prompts && matches!(site.place, ExprPlace::Check | ExprPlace::Request)
}

fn repeats(step: &Step) -> bool {
    matches!(&step.action, Action::Run(run) if run.repeat.is_some())
}

pub(super) fn runs_last(name: &str, place: impl Into<SourceLocation>) -> Finding {
    let message = format!("step `{name}` belongs to `finally` and runs last");
    Finding::error(place, Rule::Cycle, message).suggest("move it from `finally` to `steps`")
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// The position and replacement text for changing a segment to another name. A name that is not an
/// identifier cannot follow a dot, so it is written in brackets.
fn rewritten(name: &str, segment: &Segment, located: Located<'_>) -> (SourceLocation, String) {
    let Span { start, end } = segment.span;
    let before = located.expr.source()[..start as usize].chars().next_back();
    if is_identifier(name) || matches!(before, Some('\'' | '"' | '`')) {
        return (located.place(segment.span), name.to_owned());
    }
    (located.place(Span { start: start - 1, end }), format!("['{name}']"))
}

fn kind_of_input(input: &Input) -> InferredKind {
    let kind = input.input_type();
    let is_list = input.takes_several() || kind == InputType::Array;
    match is_list {
        true if input.join.is_some() => InferredKind::String,
        true => InferredKind::List,
        false => kind_named(kind.name()),
    }
}
