//! Which inputs and steps a workflow reads and how many times, and which names are misspelled in
//! their declaration.

use std::collections::BTreeMap;

use milepost_syntax::mend::Mend;
use milepost_syntax::span::Span;

use crate::check::{Checker, of_step, of_workflow};
use crate::condition::Condition;
use crate::expr::Expr;
use crate::finding::{Finding, Rule};
use crate::guide::{Confirmation, Count};
use crate::input::ArgumentSource;
use crate::step::{Action, Step, When};
use crate::suggest;
use crate::workflow::Workflow;

/// The names that are read, each with the number of places that read it.
#[derive(Debug, Default)]
pub(crate) struct Reads<'w> {
    pub(crate) inputs: BTreeMap<&'w str, usize>,
    pub(crate) steps: BTreeMap<&'w str, usize>,
    /// Output fields, by step and field name.
    outputs: BTreeMap<(&'w str, &'w str), usize>,
    /// Whether `inputs` is read as a whole.
    pub(crate) all_inputs: bool,
}

/// What a name refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameKind<'n> {
    Input,
    Step,
    /// A field of this step's output.
    Output(&'n str),
}

impl NameKind<'_> {
    /// The noun for this kind of name.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            NameKind::Input => "input",
            NameKind::Step => "step",
            NameKind::Output(_) => "field",
        }
    }
}

impl<'w> Reads<'w> {
    /// The number of places that read a name.
    pub(crate) fn count(&self, of: NameKind<'_>, name: &str) -> usize {
        let found = match of {
            NameKind::Input => self.inputs.get(name),
            NameKind::Step => self.steps.get(name),
            NameKind::Output(step) => self.outputs.get(&(step, name)),
        };
        found.copied().unwrap_or(0)
    }

    pub(crate) fn of(workflow: &'w Workflow) -> Reads<'w> {
        let mut reads = Reads::default();
        for usage in of_workflow(workflow) {
            reads.expression(usage.located.expr);
        }
        for step in workflow.all_steps() {
            for usage in of_step(step) {
                reads.expression(usage.located.expr);
            }
            for id in &step.depends_on {
                reads.step(id.value.as_str());
            }
            reads.conditions(step);
        }
        let sources = workflow.inputs.0.iter().flat_map(|(_, input)| &input.depends_on);
        for (_, source) in sources.flat_map(|sources| &sources.0) {
            if let ArgumentSource::From(from) = source {
                from.from_input.iter().for_each(|name| reads.input(&name.value));
                from.from_step.iter().for_each(|name| reads.step(&name.value));
            }
        }
        reads
    }

    fn input(&mut self, name: &'w str) {
        *self.inputs.entry(name).or_default() += 1;
    }

    fn step(&mut self, name: &'w str) {
        *self.steps.entry(name).or_default() += 1;
    }

    fn expression(&mut self, expr: &'w Expr) {
        for reference in expr.references() {
            match (reference.root.as_str(), reference.field(0)) {
                ("inputs", Some(name)) => self.input(name),
                ("inputs", None) => self.all_inputs = true,
                ("steps", Some(name)) => {
                    self.step(name);
                    let is_output = reference.field(1) == Some("output");
                    if let Some(field) = reference.field(2).filter(|_| is_output) {
                        *self.outputs.entry((name, field)).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
    }

    fn condition(&mut self, condition: &'w Condition) {
        let variables = condition.variables().into_iter();
        variables.filter_map(|name| name.split('.').next()).for_each(|root| self.input(root));
    }

    /// Counts the inputs that guide-style conditions and loops read as context variables.
    fn conditions(&mut self, step: &'w Step) {
        if let Some(When::Condition(condition)) = &step.when {
            self.condition(condition);
        }
        match &step.action {
            Action::Prompt(prompt) => {
                if let Confirmation::When(condition) = &prompt.confirmation {
                    self.condition(condition);
                }
            }
            Action::Approve(approve) => {
                approve.on_reject.iter().for_each(|back| self.step(back.to.value.as_str()));
            }
            Action::Loop(looped) => {
                looped.spec.condition.iter().for_each(|condition| self.condition(condition));
                looped.spec.items.iter().for_each(|items| self.input(&items.0));
                if let Some(Count::Variable(name)) = &looped.spec.count {
                    self.input(name);
                }
            }
            _ => {}
        }
    }
}

impl<'c> Checker<'c> {
    /// Reports declarations that are probably misspelled: several places read an undeclared name,
    /// and nothing reads a similar declared one.
    pub(crate) fn misspelt(&mut self) {
        let workflow = self.workflow;
        let inputs: Vec<(&'c str, Span)> =
            workflow.inputs.0.iter().map(|(name, _)| (name.value.as_str(), name.at)).collect();
        for (wrong, right) in pairs(&inputs, &self.reads.inputs) {
            let at = wrong.1;
            let mend = Mend::RenameKey { key: at, to: right.to_owned() };
            self.declared_as("input", wrong, right, mend);
            self.unread_inputs.push(right.to_owned());
        }
        let steps = workflow.all_steps();
        let steps: Vec<(&'c str, Span)> =
            steps.iter().map(|step| (step.name(), step.id.at)).collect();
        for (wrong, right) in pairs(&steps, &self.reads.steps) {
            let at = wrong.1;
            let mend = Mend::Replace { at, value: right.into() };
            self.declared_as("step", wrong, right, mend);
            self.unread_steps.insert(right.to_owned(), at);
        }
    }

    fn declared_as(&mut self, what: &str, (wrong, at): (&str, Span), right: &str, mend: Mend) {
        let message = format!("{what} `{wrong}` is always referred to as `{right}`");
        Finding::error(at, Rule::UnknownName, message)
            .expected(format!("`{right}`"))
            .suggest(format!("did you mean `{right}`?"))
            .mend(mend)
            .add_to(self.report);
    }
}

/// Pairs each declared name that is never read with the unknown name that is read in its place.
fn pairs<'w>(
    declared: &[(&'w str, Span)],
    reads: &BTreeMap<&'w str, usize>,
) -> Vec<((&'w str, Span), &'w str)> {
    let names = || declared.iter().map(|(name, _)| *name);
    let unknown =
        reads.iter().filter(|(name, count)| **count > 1 && names().all(|one| one != **name));
    let found = unknown.filter_map(|(name, _)| {
        let near = suggest::nearest(name, names()).filter(|near| !reads.contains_key(near))?;
        let declaration = declared.iter().find(|(one, _)| *one == near)?;
        Some((*declaration, *name))
    });
    found.collect()
}
