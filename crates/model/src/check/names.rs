//! Every name in every expression: does it exist there, may it be read there, has it that type.

use std::collections::HashSet;

use crate::check::reads::Of;
use crate::check::uses::{self, Slot, Use};
use crate::check::{Checker, Verdict};
use crate::expr::{Kind, Reference, Segment, SegmentKind, Span};
use crate::finding::{Finding, Mend, Place, Rule};
use crate::input::{Input, InputType};
use crate::step::{Action, Step};
use crate::suggest;
use crate::template::Template;
use crate::templated::{Dynamic, Located};
use crate::tree::At;

/// What can be read of a step.
const OF_STEP: &[&str] = &["output", "status", "error", "attempts", "headers"];
/// What can be read of a step by itself.
const OF_SELF: &[&str] = &["output"];
/// What can be read of the run.
const OF_RUN: &[&str] = &["id", "workflow", "started_at"];

/// The names that exist in one place beside `inputs`, `steps`, `env` and `run`.
struct Around<'s> {
    step: Option<&'s Step>,
    extra: Vec<&'s str>,
    /// The name of the item cannot be used, so any unknown name may be meant for it.
    nameless_item: bool,
    /// A key that nobody knows stands in the step: it may be the one that makes a name.
    unsure: bool,
    /// The item of a list that a secret input yields.
    secret_item: Option<&'s str>,
}

impl<'c> Checker<'c> {
    pub(crate) fn expressions(&mut self) {
        let workflow = self.workflow;
        for usage in uses::of_workflow(workflow) {
            let around = Around {
                step: None,
                extra: Vec::new(),
                nameless_item: false,
                unsure: false,
                secret_item: None,
            };
            self.usage(usage, &around);
        }
        for step in workflow.steps.iter().chain(&workflow.finally) {
            self.step_expressions(step, &[], (false, false));
        }
    }

    /// Text that looks like a template where nothing fills templates in.
    pub(crate) fn plain_text(&mut self) {
        let steps = self.workflow.all_steps();
        let uses = uses::of_workflow(self.workflow).into_iter();
        let uses = uses.chain(steps.iter().flat_map(|step| uses::of_step(step)));
        let filled: HashSet<At> = uses.map(|usage| usage.located.at).collect();
        let mut open = vec![self.root];
        while let Some(node) = open.pop() {
            open.extend(node.items());
            open.extend(node.entries().iter().map(|(_, value)| value));
            let looks = node.text().is_some_and(|text| text.contains("${{"));
            if looks && !filled.contains(&node.at) && !self.report.has_error_in(node.at) {
                self.report.add(
                    Finding::warning(node.at, Rule::Expression, "`${{ }}` stays as it is here")
                        .suggest(
                            "move it to a place that is filled in, such as `prompt` or `with`",
                        ),
                );
            }
        }
    }

    fn step_expressions(
        &mut self,
        step: &'c Step,
        outer: &[&'c str],
        (nameless, unsure): (bool, bool),
    ) {
        let unsure = unsure || self.has_stray(step.at);
        let mut extra = outer.to_vec();
        let mut nameless_item = nameless;
        if let Some(each) = &step.for_each {
            extra.push(each.name.as_ref().map_or("item", |name| name.value.as_str()));
            extra.push("index");
            nameless_item |= !self.item_name(step);
        } else if self.is_damaged(step.at) {
            // A `for_each` that could not be read leaves its `as` behind.
            nameless_item |=
                self.root.node_at(step.at).is_some_and(|node| node.get("as").is_some());
        }
        let secret_item = self.secret_item(step);
        for usage in uses::of_step(step) {
            let names = if usage.slot == Slot::Items { outer.to_vec() } else { extra.clone() };
            let around =
                Around { step: Some(step), extra: names, nameless_item, unsure, secret_item };
            self.usage(usage, &around);
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

    /// The name of an item that comes from a secret input.
    fn secret_item(&self, step: &'c Step) -> Option<&'c str> {
        let each = step.for_each.as_ref()?;
        let secret = |reference: &Reference| {
            let name = reference.path.first().map(|segment| &segment.kind);
            let input = match name {
                Some(SegmentKind::Field(name)) => self.workflow.inputs.get(name),
                _ => None,
            };
            reference.root == "inputs" && input.is_some_and(Input::is_secret)
        };
        let exprs = each.items.exprs();
        let found = exprs.iter().any(|located| located.expr.references().iter().any(secret));
        found.then(|| each.name.as_ref().map_or("item", |name| name.value.as_str()))
    }

    /// `as` must be a name an expression can write, and no name that means something else.
    fn item_name(&mut self, step: &Step) -> bool {
        let Some(name) = step.for_each.as_ref().and_then(|each| each.name.as_ref()) else {
            return !self.is_damaged(step.at);
        };
        let text = name.value.as_str();
        let word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let taken = ["inputs", "steps", "env", "run", "index", "output", "status_code"];
        if word && !taken.contains(&text) {
            return true;
        }
        self.report.add(
            Finding::error(name.at, Rule::Id, format!("`{text}` cannot name an item"))
                .expected("letters, digits and `_`, and no name that means something else")
                .suggest("use a name such as `order`"),
        );
        false
    }

    fn usage(&mut self, usage: Use<'c>, around: &Around<'c>) {
        let located = usage.located;
        let slips = self.hyphens(located);
        for reference in located.expr.references() {
            let start = reference.span.start;
            if !slips.iter().any(|slip| (slip.start..slip.end).contains(&start)) {
                self.reference(reference, usage, around);
            }
        }
        self.secrets(usage);
        if slips.is_empty() {
            self.result_type(usage, around);
        }
    }

    /// `steps.my-step` is a subtraction to the language and a name to its author.
    fn hyphens(&mut self, located: Located<'_>) -> Vec<Span> {
        let mut found = Vec::new();
        for slip in located.expr.hyphen_slips() {
            let known = match slip.replacement.starts_with("steps") {
                true => self.is_step(&slip.name),
                false => self.is_input(&slip.name),
            };
            let left = slip.name.split('-').next().unwrap_or("");
            let subtraction = match slip.replacement.starts_with("steps") {
                true => self.is_step(left),
                false => self.is_input(left),
            };
            if !known && subtraction {
                continue;
            }
            let place = located.place(slip.span.start, slip.span.end);
            let written = &located.expr.source()[slip.span.start as usize..slip.span.end as usize];
            self.report.add(
                Finding::error(place, Rule::UnknownName, format!("`{written}` is a subtraction"))
                    .expected(format!("`{}`", slip.replacement))
                    .suggest(format!("write `{}`", slip.replacement))
                    .mend(Mend::ReplaceText { place, text: slip.replacement.clone() }),
            );
            found.push(slip.span);
        }
        found
    }

    pub(crate) fn is_input(&self, name: &str) -> bool {
        self.workflow.inputs.get(name).is_some()
            || self.unread_inputs.iter().any(|unread| unread == name)
    }

    fn reference(&mut self, reference: &Reference, usage: Use<'c>, around: &Around<'c>) {
        match reference.root.as_str() {
            "inputs" => self.input_reference(reference, usage),
            name if around.secret_item == Some(name) && usage.slot.is_shown() => {
                let place = usage.located.place(reference.span.start, reference.span.end);
                let words = usage.slot.words();
                let message = format!("`{name}` comes from a secret input and {words} is shown");
                self.report.add(
                    Finding::error(place, Rule::SecretExposed, message)
                        .suggest("use it in `with`, `body` or `headers` of a `run` step only"),
                );
            }
            "steps" => self.step_reference(reference, usage, around),
            "env" => self.env_reference(reference, usage.located),
            "run" => self.field_of("run", OF_RUN, reference.path.first(), usage.located),
            "output" | "status_code" if usage.slot.has_answer() => {}
            name if around.extra.contains(&name) || around.nameless_item => {}
            name => self.unknown_root(name, reference, usage, around),
        }
    }

    fn unknown_root(
        &mut self,
        name: &str,
        reference: &Reference,
        usage: Use<'_>,
        around: &Around<'_>,
    ) {
        let located = usage.located;
        // A reference in parentheses begins with them.
        let start = reference.span.start;
        let source = located.expr.source().get(start as usize..).unwrap_or("");
        let start = start + source.find(name).unwrap_or(0) as u32;
        let place = located.place(start, start + name.len() as u32);
        let mut roots = vec!["inputs", "steps", "env", "run"];
        roots.extend(&around.extra);
        if usage.slot.has_answer() {
            roots.extend(["output", "status_code"]);
        }
        if around.unsure {
            return;
        }
        let fault = Finding::error(place, Rule::UnknownName, format!("unknown name `{name}`"));
        // A bare name of an input or step lacks its root only.
        let rooted = match (self.is_input(name), self.is_step(name)) {
            (true, false) => Some(format!("inputs.{name}")),
            (false, true) => Some(format!("steps.{name}.output")),
            _ if name == "item" => item_of(around.step).map(str::to_owned),
            _ => None,
        };
        let meant =
            rooted.or_else(|| suggest::nearest(name, roots.iter().copied()).map(str::to_owned));
        self.report.add(match meant {
            Some(meant) => fault
                .expected(format!("`{meant}`"))
                .suggest(format!("did you mean `{meant}`?"))
                .mend(Mend::ReplaceText { place, text: meant }),
            None => fault
                .expected(suggest::list(roots))
                .suggest("name an input, a step, or something else that exists here"),
        });
    }

    fn input_reference(&mut self, reference: &Reference, usage: Use<'_>) {
        let located = usage.located;
        let Some((segment, SegmentKind::Field(name))) =
            reference.path.first().map(|segment| (segment, &segment.kind))
        else {
            // All of them, or any: a secret one may be among them.
            return self.all_inputs(reference, usage);
        };
        // Inputs that could not be read, one or all of them, are there all the same.
        let all_unread = self.workflow.inputs.0.is_empty() && self.may_have(self.root.at, "inputs");
        if all_unread || self.unread_inputs.iter().any(|unread| unread == name) {
            return;
        }
        let Some(input) = self.workflow.inputs.get(name) else {
            let names: Vec<&str> = self.workflow.inputs.names().collect();
            self.unknown_field(Of::Inputs, &names, segment, located);
            return;
        };
        if input.is_secret() && usage.slot.is_shown() {
            let place = located.place(reference.span.start, reference.span.end);
            let message = format!("input `{name}` is secret and {} is shown", usage.slot.words());
            self.report.add(
                Finding::error(place, Rule::SecretExposed, message)
                    .suggest("use it in `with`, `body` or `headers` of a `run` step only"),
            );
        } else if input.is_secret()
            && usage.slot == Slot::Request
            && !reference.guarded
            && !located.expr.passes_on(reference)
        {
            // What stands in its place is put back where it is sent, and nothing else can be done
            // with it.
            let place = located.place(reference.span.start, reference.span.end);
            let message = format!("input `{name}` is secret and inside an expression");
            self.report.add(
                Finding::error(place, Rule::SecretExposed, message)
                    .expected("a secret input alone, or joined with `+`")
                    .suggest(format!("put it alone: `${{{{ inputs.{name} }}}}`")),
            );
        }
        // What is read inside a text or a number cannot exist.
        let inside = reference.path.get(1).filter(|_| !reference.guarded);
        let kind = input.input_type();
        let several = input.takes_several() && input.join.is_none();
        let scalar = !several && !matches!(kind, InputType::Array | InputType::Object);
        if let Some(inside) = inside.filter(|_| scalar) {
            let place = located.place(inside.span.start, inside.span.end);
            let message = format!("input `{name}` is a {} and has no parts", kind.name());
            self.report.add(
                Finding::error(place, Rule::UnknownPath, message).suggest("read the input itself"),
            );
        }
    }

    /// `inputs` as a whole is as secret as the most secret of them.
    fn all_inputs(&mut self, reference: &Reference, usage: Use<'_>) {
        let secret = self.workflow.inputs.0.iter().find(|(_, input)| input.is_secret());
        let Some((name, _)) = secret.filter(|_| usage.slot.is_shown()) else { return };
        let place = usage.located.place(reference.span.start, reference.span.end);
        let words = usage.slot.words();
        let message = format!("input `{}` is secret and {words} is shown", name.value);
        self.report.add(
            Finding::error(place, Rule::SecretExposed, message)
                .suggest("read the inputs that are meant, one by one"),
        );
    }

    fn unknown_field(
        &mut self,
        of: Of<'_>,
        names: &[&str],
        segment: &Segment,
        located: Located<'_>,
    ) {
        let what = of.noun();
        let SegmentKind::Field(name) = &segment.kind else { return };
        let place = located.place(segment.span.start, segment.span.end);
        let fault =
            Finding::error(place, Rule::UnknownName, format!("there is no {what} `{name}`"));
        let meant = suggest::nearest(name, names.iter().copied());
        self.report.add(match meant.filter(|meant| self.is_slip(of, name, meant)) {
            Some(meant) => {
                let (place, text) = rewritten(meant, segment, located);
                fault
                    .expected(format!("`{meant}`"))
                    .suggest(format!("did you mean `{text}`?"))
                    .mend(Mend::ReplaceText { place, text })
            }
            None => fault
                .expected(suggest::list(names.iter().copied()))
                .suggest(format!("name an existing {what}, or add this one")),
        });
    }

    fn step_reference(&mut self, reference: &Reference, usage: Use<'c>, around: &Around<'c>) {
        let located = usage.located;
        let Some(segment) = reference.path.first() else {
            let place = located.place(reference.span.start, reference.span.end);
            self.report.add(
                Finding::error(place, Rule::UnknownName, "all steps at once")
                    .expected("the id of a step")
                    .suggest("name the step: the order of steps is known before a run"),
            );
            return;
        };
        let place = located.place(segment.span.start, segment.span.end);
        let SegmentKind::Field(name) = &segment.kind else {
            self.report.add(
                Finding::error(place, Rule::UnknownName, "a step chosen at run time")
                    .expected("the id of a step")
                    .suggest("write the step's id: the order of steps is known before a run"),
            );
            return;
        };
        let name = name.as_str();
        let this = around.step.map(|step| step.id.value.as_str());
        if name == "self" && !self.is_step("self") {
            return self.own_reference(reference, usage, around, place);
        }
        if Some(name) == this {
            let fault = Finding::error(place, Rule::Cycle, format!("step `{name}` reads itself"));
            let meant = match () {
                () if around.step.is_some_and(repeats) => "the pass before",
                () if is_claimed(usage, around) => "what was handed in",
                () => {
                    self.report.add(fault.suggest("read another step"));
                    return;
                }
            };
            let fault = fault.suggest(format!("write `steps.self` for {meant}"));
            self.report.add(fault.mend(Mend::ReplaceText { place, text: "self".into() }));
            return;
        }
        if !self.may_be_step(name) {
            let names = self.step_names();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            self.unknown_field(Of::Steps, &names, segment, located);
            return;
        }
        if let Some(meant) = self.refused_id(name) {
            let (place, text) = rewritten(&meant, segment, located);
            self.mend_with_id(name, Mend::ReplaceText { place, text });
        }
        self.finally_reference(name, around, place);
        self.field_of("a step", OF_STEP, reference.path.get(1), located);
        self.output_reference(name, reference, located);
    }

    /// `steps.self` is the pass before where a step repeats, and the claim where it is verified.
    fn own_reference(
        &mut self,
        reference: &Reference,
        usage: Use<'c>,
        around: &Around<'_>,
        place: Place,
    ) {
        if is_claimed(usage, around) || around.step.is_some_and(repeats) {
            self.field_of("the step itself", OF_SELF, reference.path.get(1), usage.located);
            return;
        }
        let message = "`steps.self` is for `repeat` and `verify`";
        self.report.add(
            Finding::error(place, Rule::UnknownName, message).suggest("name the step you mean"),
        );
    }

    /// Steps of `finally` run last: nothing else can read them.
    fn finally_reference(&mut self, name: &str, around: &Around<'_>, place: Place) {
        let is_finally =
            |name: &str| self.workflow.finally.iter().any(|step| step.id.value.as_str() == name);
        let from_finally = around.step.is_some_and(|step| is_finally(step.id.value.as_str()));
        if is_finally(name) && around.step.is_some() && !from_finally {
            self.report.add(
                Finding::error(place, Rule::Cycle, format!("step `{name}` runs at the very end"))
                    .suggest("move it from `finally` to `steps`"),
            );
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
        let SegmentKind::Field(name) = &segment.kind else { return };
        if fields.contains(&name.as_str()) {
            return;
        }
        let place = located.place(segment.span.start, segment.span.end);
        let fault = Finding::error(place, Rule::UnknownPath, format!("{owner} has no `{name}`"))
            .expected(suggest::list(fields.iter().copied()));
        // `state` or `result` may be fields of the output as well as words for what is here.
        let vague = matches!(name.as_str(), "state" | "result");
        let meant = suggest::nearest(name, fields.iter().copied()).filter(|_| !vague);
        self.report.add(match meant {
            Some(meant) => fault
                .suggest(format!("did you mean `{meant}`?"))
                .mend(Mend::ReplaceText { place, text: meant.to_owned() }),
            // `steps.lookup.total` lacks only the `output` in between.
            None if fields == OF_STEP && !vague => fault
                .suggest(format!("write `output.{name}`"))
                .mend(Mend::ReplaceText { place, text: format!("output.{name}") }),
            None => fault.suggest("read one of these"),
        });
    }

    fn env_reference(&mut self, reference: &Reference, located: Located<'_>) {
        let Some(allowed) = self.world.env_allow else { return };
        let Some(segment) = reference.path.first() else { return };
        let SegmentKind::Field(name) = &segment.kind else { return };
        if !allowed.contains(name) {
            let place = located.place(segment.span.start, segment.span.end);
            self.report.add(
                Finding::error(place, Rule::UnknownName, format!("`env.{name}` may not be read"))
                    .expected(suggest::list(allowed.iter().map(String::as_str)))
                    .suggest("add it to `env_allow` in the config, or make it an input"),
            );
        }
    }

    /// `secret()` only where a request is made, alone or joined with `+`.
    fn secrets(&mut self, usage: Use<'_>) {
        for secret in usage.located.expr.secrets() {
            let place = usage.located.place(secret.span.start, secret.span.end);
            if usage.slot != Slot::Request {
                let message = format!("`secret()` in {}", usage.slot.words());
                self.report.add(
                    Finding::error(place, Rule::SecretExposed, message)
                        .expected("`secret()` in `with`, `body` or `headers`")
                        .suggest("move it into the request it is for"),
                );
            } else if !secret.legal {
                self.report.add(
                    Finding::error(place, Rule::SecretExposed, "`secret()` inside an expression")
                        .expected("`secret()` alone, or joined with `+`")
                        .suggest("put it alone: `${{ secret('name') }}`"),
                );
            }
        }
    }

    /// Conditions yield true or false, lists are lists.
    fn result_type(&mut self, usage: Use<'c>, around: &Around<'c>) {
        let located = usage.located;
        let indexed = around.extra.contains(&"index");
        let kind = located.expr.infer(&|reference| self.kind_of(reference, indexed));
        let length = located.expr.source().len() as u32;
        let place = located.place(0, length);
        if usage.slot.wants_boolean() && !matches!(kind, Kind::Bool | Kind::Unknown) {
            let source = located.expr.source().trim();
            let example = match kind {
                Kind::Number => format!("{source} > 0"),
                Kind::List | Kind::Map => format!("size({source}) > 0"),
                Kind::String => format!("{source} != ''"),
                _ => format!("{source} == true"),
            };
            self.report.add(
                Finding::error(
                    place,
                    Rule::ExpressionType,
                    format!("{} takes true or false", usage.slot.words()),
                )
                .expected("a boolean")
                .actual(noun(kind))
                .suggest(format!("compare it, for example `{example}`")),
            );
        }
        let no_list =
            matches!(kind, Kind::Bool | Kind::Number | Kind::String | Kind::Null | Kind::Map);
        let sole = around.step.and_then(|step| step.for_each.as_ref()).is_some_and(|each| {
            matches!(&each.items, Dynamic::Text(text)
                if matches!(text.template, Template::Sole(_)))
        });
        if usage.slot == Slot::Items && no_list && sole {
            self.report.add(
                Finding::error(place, Rule::ExpressionType, "`for_each` takes a list")
                    .expected("a list")
                    .actual(noun(kind))
                    .suggest("read a list here"),
            );
        }
    }

    /// What a reference yields, as far as it is known before a run.
    pub(crate) fn kind_of(&self, reference: &Reference, indexed: bool) -> Kind {
        let field = |index: usize| match reference.path.get(index).map(|segment| &segment.kind) {
            Some(SegmentKind::Field(name)) => Some(name.as_str()),
            _ => None,
        };
        match (reference.root.as_str(), reference.path.len()) {
            ("inputs", 1) => field(0)
                .and_then(|name| self.workflow.inputs.get(name))
                .filter(|input| !self.report.has_error_in(input.at))
                .map_or(Kind::Unknown, kind_of_input),
            ("steps", 2) if field(1) == Some("status") => Kind::String,
            ("steps", 2) if field(1) == Some("attempts") => Kind::Number,
            ("steps", 3) if field(1) == Some("output") => {
                let step = field(0).and_then(|id| self.step(id));
                step.map_or(Kind::Unknown, |step| self.output_kind(step, field(2)))
            }
            ("run", 1) => Kind::String,
            ("index", 0) if indexed => Kind::Number,
            ("status_code", 0) => Kind::Number,
            _ => Kind::Unknown,
        }
    }

    /// Whether the output a reference reads can have that path.
    fn output_reference(&mut self, name: &str, reference: &Reference, located: Located<'_>) {
        let is_output = matches!(
            reference.path.get(1).map(|segment| &segment.kind),
            Some(SegmentKind::Field(field)) if field == "output"
        );
        let Some(step) = self.step(name).filter(|_| is_output && reference.path.len() > 2) else {
            return;
        };
        let Some(verdict) = self.output_path(step, &reference.path[2..]) else { return };
        let (index, names, certain) = match verdict {
            Verdict::RuledOut { index, names } => (index, names, true),
            Verdict::Unmentioned { index, names } => (index, names, false),
            Verdict::Fine => return,
        };
        if reference.guarded {
            return;
        }
        let segment = &reference.path[2 + index];
        let place = located.place(segment.span.start, segment.span.end);
        let field = match &segment.kind {
            SegmentKind::Field(field) => field.clone(),
            SegmentKind::Index(number) => format!("[{number}]"),
            SegmentKind::Dynamic => return,
        };
        let known = suggest::list(names.iter().map(String::as_str));
        let meant = suggest::nearest(&field, names.iter().map(String::as_str))
            .filter(|meant| is_plain(meant) && self.is_slip(Of::Output(name), &field, meant));
        let finding = match certain {
            true => Finding::error(
                place,
                Rule::UnknownPath,
                format!("the output of `{name}` has no `{field}`"),
            ),
            false => Finding::warning(
                place,
                Rule::UnmentionedPath,
                format!("nothing says that the output of `{name}` has `{field}`"),
            ),
        };
        let finding = if names.is_empty() { finding } else { finding.expected(known) };
        if index == 0 && step.for_each.is_some() {
            let then = format!("the output is a list: read `output[0].{field}`");
            self.report.add(finding.suggest(then));
            return;
        }
        self.report.add(match meant {
            Some(meant) => finding
                .suggest(format!("did you mean `{meant}`?"))
                .mend(Mend::ReplaceText { place, text: meant.to_owned() }),
            None => finding.suggest("read a field that is there, or say `?` for maybe"),
        });
    }
}

/// Whether a place can read what an agent hands in: the requests and checks of `verify`.
fn is_claimed(usage: Use<'_>, around: &Around<'_>) -> bool {
    let prompts = around.step.is_some_and(|step| matches!(step.action, Action::Prompt(_)));
    prompts && matches!(usage.slot, Slot::Check | Slot::Request)
}

fn repeats(step: &Step) -> bool {
    matches!(&step.action, Action::Run(run) if run.repeat.is_some())
}

/// The name an item has here instead of `item`.
fn item_of(step: Option<&Step>) -> Option<&str> {
    Some(step?.for_each.as_ref()?.name.as_ref()?.value.as_str())
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Another name in place of a segment. `.my-step` cannot be written with a dot: the dot goes,
/// brackets come.
fn rewritten(name: &str, segment: &Segment, located: Located<'_>) -> (Place, String) {
    let (start, end) = (segment.span.start, segment.span.end);
    if is_plain(name) || in_quotes(located, segment) {
        return (located.place(start, end), name.to_owned());
    }
    (located.place(start - 1, end), format!("['{name}']"))
}

/// Whether a segment is written `['name']`, where any name may stand.
fn in_quotes(located: Located<'_>, segment: &Segment) -> bool {
    let before = located.expr.source()[..segment.span.start as usize].chars().next_back();
    matches!(before, Some('\'' | '"' | '`'))
}

pub(crate) fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "a boolean",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::List => "a list",
        Kind::Map => "a map",
        Kind::Unknown => "something else",
    }
}

fn kind_of_input(input: &Input) -> Kind {
    let several = input.takes_several();
    if input.join.is_some() && (several || input.input_type() == InputType::Array) {
        return Kind::String;
    }
    match input.input_type() {
        _ if several => Kind::List,
        InputType::String => Kind::String,
        InputType::Number | InputType::Integer => Kind::Number,
        InputType::Boolean => Kind::Bool,
        InputType::Array => Kind::List,
        InputType::Object => Kind::Map,
    }
}
