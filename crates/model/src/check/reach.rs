//! Steps that can never run, and steps defined below those that read them.

use std::collections::HashSet;

use crate::check::Checker;
use crate::condition::{Comparison, Condition, Test, equal};
use crate::finding::{Finding, Mend, Rule};
use crate::step::{Action, Needs, Step, When};
use crate::workflow::Spelling;

impl Checker<'_> {
    pub(crate) fn reach(&mut self) {
        let mut dead: HashSet<&str> = HashSet::new();
        let steps = self.order.steps();
        for index in self.order.sequence() {
            let step = steps[index];
            let because = match &step.when {
                _ if step.when.as_ref().is_some_and(never) => {
                    Some("its condition never holds".to_owned())
                }
                _ if step.needs == Needs::Any || looks_at_status(step) => None,
                _ => self.order.waits(index).find_map(|other| {
                    let id = steps[other].id.value.as_str();
                    if dead.contains(id) {
                        return Some(format!("step `{id}`, which it waits for, never runs"));
                    }
                    always_fails(steps[other]).then(|| format!("step `{id}` ends the run before"))
                }),
            };
            if let Some(because) = because {
                dead.insert(step.id.value.as_str());
                let message = format!("step `{}` can never run: {because}", step.id.value);
                self.report.add(
                    Finding::warning(step.id.at, Rule::NeverRuns, message)
                        .suggest("correct its condition, or remove the step"),
                );
            }
        }
        if self.workflow.spelling == Spelling::Manifest {
            self.defined_later();
        }
    }

    /// Legal, since the order follows from who reads whom, and yet seldom meant.
    fn defined_later(&mut self) {
        let steps = self.order.steps();
        let in_rings: HashSet<&str> =
            self.order.rings().iter().flatten().map(|step| step.id.value.as_str()).collect();
        for (index, step) in steps.iter().enumerate() {
            let Some(later) = self.order.waits(index).find(|other| *other > index) else {
                continue;
            };
            let other = steps[later];
            let id = other.id.value.as_str();
            if in_rings.contains(id) || self.order.is_finally(later) {
                continue;
            }
            let place = self.order.edge_place(step, other).unwrap_or(step.id.at.into());
            let message = format!("step `{id}` is defined below and runs first");
            self.report.add(
                Finding::warning(place, Rule::DefinedLater, message)
                    .suggest(format!("move step `{id}` above `{}`", step.id.value))
                    .mend(Mend::MoveItem { item: other.at, before: step.at }),
            );
        }
    }
}

fn never(when: &When) -> bool {
    match when {
        When::Expr(bare) => bare.expr.source().trim() == "false",
        When::Condition(condition) => condition_never(condition),
    }
}

/// A step that reads how another one ended runs whatever that was.
fn looks_at_status(step: &Step) -> bool {
    let Some(When::Expr(bare)) = &step.when else { return false };
    bare.expr.references().iter().any(|reference| {
        reference.root == "steps"
            && matches!(
                reference.path.get(1).map(|segment| &segment.kind),
                Some(crate::expr::SegmentKind::Field(name)) if name == "status"
            )
    })
}

fn always_fails(step: &Step) -> bool {
    matches!(step.action, Action::Fail(_)) && step.when.is_none()
}

/// Certainly false, whatever the context: no context can make it hold.
fn condition_never(condition: &Condition) -> bool {
    let mut wanted: Vec<(&str, &serde_json::Value)> = Vec::new();
    let contradicts = |tests: &mut Vec<(&str, &serde_json::Value)>| {
        tests.iter().any(|(name, value)| {
            tests.iter().any(|(other, found)| other == name && !equal(found, value))
        })
    };
    let never = condition.tests.iter().any(|test| match test {
        Test::And(parts) => parts.iter().any(condition_never) || and_contradicts(parts),
        Test::Or(parts) => parts.iter().all(condition_never),
        Test::Not(part) => part.tests.is_empty(),
        Test::Compare(_, Comparison::In(values)) => values.is_empty(),
        _ => false,
    });
    for test in &condition.tests {
        if let Test::Compare(variable, Comparison::Equals(value)) = test {
            wanted.push((&variable.0, value));
        }
    }
    never || contradicts(&mut wanted)
}

/// `a` equals this and `a` equals that.
fn and_contradicts(parts: &[Condition]) -> bool {
    let equalities: Vec<(&str, &serde_json::Value)> = parts
        .iter()
        .flat_map(|part| &part.tests)
        .filter_map(|test| match test {
            Test::Compare(variable, Comparison::Equals(value)) => {
                Some((variable.0.as_str(), value))
            }
            _ => None,
        })
        .collect();
    equalities.iter().enumerate().any(|(index, (name, value))| {
        equalities[..index].iter().any(|(other, found)| other == name && !equal(found, value))
    })
}
