//! Warns about steps that can never run, and steps defined below the steps that read them.

use std::collections::{HashMap, HashSet};

use milepost_syntax::mend::Mend;
use serde_json::Value;

use crate::check::Checker;
use crate::condition::{Comparison, Condition, Test, equal};
use crate::finding::{Finding, Rule};
use crate::step::{Action, Needs, Step, When};
use crate::workflow::Spelling;

impl Checker<'_> {
    pub(crate) fn reach(&mut self) {
        let mut dead: HashSet<&str> = HashSet::new();
        let steps = &self.order.steps;
        for index in self.order.sequence() {
            let step = steps[index];
            let because = match &step.when {
                Some(when) if never(when) => Some("its condition never holds".to_owned()),
                _ if step.needs == Needs::Any || looks_at_status(step) => None,
                _ => self.order.waits(index).find_map(|other| {
                    let id = steps[other].name();
                    if dead.contains(id) {
                        return Some(format!("it waits for step `{id}`, which never runs"));
                    }
                    always_fails(steps[other]).then(|| format!("step `{id}` fails the run first"))
                }),
            };
            if let Some(because) = because {
                dead.insert(step.name());
                let message = format!("step `{}` can never run: {because}", step.id.value);
                Finding::warning(step.id.at, Rule::NeverRuns, message)
                    .suggest("fix its condition, or remove the step")
                    .add_to(self.report);
            }
        }
        if self.workflow.spelling == Spelling::Manifest {
            self.defined_later();
        }
    }

    /// Warns about steps that are read above their definition. This is allowed, since the order
    /// follows from the dependencies, but rarely intended.
    fn defined_later(&mut self) {
        let steps = &self.order.steps;
        let in_rings: HashSet<&str> =
            self.order.rings().iter().flatten().map(|step| step.name()).collect();
        for (index, step) in steps.iter().enumerate() {
            let Some(later) = self.order.waits(index).find(|other| *other > index) else {
                continue;
            };
            let other = steps[later];
            let id = other.name();
            if in_rings.contains(id) || self.order.is_finally(later) {
                continue;
            }
            let place = self.order.edge_place(step, other).unwrap_or(step.id.at.into());
            let message = format!("step `{id}` is defined below but runs first");
            Finding::warning(place, Rule::DefinedLater, message)
                .suggest(format!("move step `{id}` above `{}`", step.id.value))
                .mend(Mend::MoveItem { item: other.at, before: step.at })
                .add_to(self.report);
        }
    }
}

fn never(when: &When) -> bool {
    match when {
        When::Expr(bare) => bare.expr.source().trim() == "false",
        When::Condition(condition) => never_holds(condition),
    }
}

/// Whether a step reads another step's status and therefore runs regardless of how that step ended.
fn looks_at_status(step: &Step) -> bool {
    let Some(When::Expr(bare)) = &step.when else { return false };
    let mut references = bare.expr.references().iter();
    references.any(|one| one.root == "steps" && one.field(1) == Some("status"))
}

fn always_fails(step: &Step) -> bool {
    matches!(step.action, Action::Fail(_)) && step.when.is_none()
}

/// Whether a condition is false in every context.
fn never_holds(condition: &Condition) -> bool {
    let never = |test: &Test| match test {
        Test::And(parts) => {
            parts.iter().any(never_holds) || contradicts(parts.iter().flat_map(|part| &part.tests))
        }
        Test::Or(parts) => parts.iter().all(never_holds),
        Test::Not(part) => part.tests.is_empty(),
        Test::Compare(_, Comparison::In(values)) => values.is_empty(),
        _ => false,
    };
    condition.tests.iter().any(never) || contradicts(&condition.tests)
}

/// Whether tests that must all hold require one variable to have two values.
fn contradicts<'t>(tests: impl IntoIterator<Item = &'t Test>) -> bool {
    let mut wanted: HashMap<&str, &Value> = HashMap::new();
    tests.into_iter().any(|test| match test {
        Test::Compare(variable, Comparison::Equals(value)) => {
            wanted.insert(&variable.0, value).is_some_and(|other| !equal(other, value))
        }
        _ => false,
    })
}
