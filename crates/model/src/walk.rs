//! Walking a guide: which step comes next, from what the caller says is done.
//!
//! Stateless: the caller carries all state. A step inside a loop is known by its instance key,
//! `loop@2::step`; a caller that appends the key of each step it was given walks every loop
//! correctly, and one that appends bare ids is understood by counting them.

use std::collections::HashSet;
use std::fmt::Write;

use serde_json::Value;

use crate::brief;
use crate::condition::{Truth, Wanted};
use crate::guide::LoopDoc;
use crate::order::Order;
use crate::step::{Action, Loop, Step, When};
use crate::workflow::{Spelling, Workflow};

mod done;
mod passes;
mod scope;

use done::Done;
pub(crate) use done::Places;
use passes::Passes;
pub use scope::Scope;

/// Where a walk stands.
#[derive(Debug)]
pub enum Position<'w, 'c> {
    /// This step is due.
    Due(Box<Due<'w, 'c>>),
    /// Nothing is due, and a remaining condition waits for a variable.
    Blocked(Vec<Blocked>),
    /// Every step is done or skipped.
    Complete {
        /// The steps whose conditions did not hold.
        skipped: Vec<&'w str>,
    },
}

/// A step that is due.
#[derive(Debug)]
pub struct Due<'w, 'c> {
    /// The step.
    pub step: &'w Step,
    /// What the caller appends when it is done.
    pub key: String,
    /// The loops around it, outermost first.
    pub loops: Vec<Pass<'w, 'c>>,
    /// The caller's context with the variables of the loops.
    pub scope: Scope<'w, 'c>,
}

/// One pass of a loop.
#[derive(Debug, Clone)]
pub struct Pass<'w, 'c> {
    /// The loop's id.
    pub id: &'w str,
    /// How it repeats.
    pub spec: &'w LoopDoc,
    /// Which pass, from 0.
    pub iteration: usize,
    /// How many passes there will be, when that is known.
    pub total: Option<usize>,
    /// The item of a `forEach`.
    pub item: Option<&'c Value>,
}

/// A condition that cannot be decided yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    /// The step it guards, or the loop it repeats.
    pub step: String,
    /// What it waits for.
    pub wanted: Wanted,
}

/// Why a walk cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// A step that the workflow does not have.
    #[error("there is no step `{id}`")]
    UnknownStep {
        /// What was named.
        id: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// A variable of a loop is not what the loop needs.
    #[error("the variable `{variable}` must be {expected}: it is {actual}")]
    Variable {
        /// Its name.
        variable: String,
        /// What the loop needs.
        expected: &'static str,
        /// What is there.
        actual: String,
    },
}

/// A walk's answer: where it stands, and remarks for the caller.
#[derive(Debug)]
pub struct Walk<'w, 'c> {
    /// Where it stands.
    pub position: Position<'w, 'c>,
    /// Remarks.
    pub warnings: Vec<String>,
}

/// The next step of a workflow whose steps are all for agents.
pub fn next<'w, 'c>(
    workflow: &'w Workflow,
    completed: &'c [String],
    context: &'c Value,
) -> Result<Walk<'w, 'c>, WalkError> {
    let mut walker = Walker {
        done: Done::read(workflow, completed)?,
        key: String::new(),
        scope: Scope::of(context),
        loops: Vec::new(),
        closed: false,
        seen: HashSet::new(),
        blocked: Vec::new(),
        skipped: Vec::new(),
        warnings: Vec::new(),
    };
    let steps = sequence(workflow);
    for (index, step) in steps.iter().enumerate() {
        if let Some(due) = walker.step(step)? {
            walker.remark_on_later(step, &steps[index + 1..]);
            walker.remark_on_waiting();
            let position = Position::Due(Box::new(due));
            return Ok(Walk { position, warnings: walker.warnings });
        }
    }
    let position = match walker.blocked.is_empty() {
        true => Position::Complete { skipped: walker.never_done() },
        false => Position::Blocked(walker.blocked),
    };
    Ok(Walk { position, warnings: walker.warnings })
}

/// The steps of the top level as they come: those of a guide in the order of the text, those of a
/// manifest as its expressions need them.
fn sequence(workflow: &Workflow) -> Vec<&Step> {
    match workflow.spelling {
        Spelling::Guide => workflow.steps.iter().collect(),
        Spelling::Manifest => {
            let order = Order::of(workflow);
            order.sequence().into_iter().map(|index| order.steps()[index]).collect()
        }
    }
}

/// A step by its id or by the key of one of its instances.
pub fn find<'w>(workflow: &'w Workflow, name: &str) -> Result<&'w Step, WalkError> {
    done::find(workflow, name)
}

struct Walker<'w, 'c> {
    done: Done<'w, 'c>,
    /// The key of what is looked at; grows and shrinks with the loops.
    key: String,
    scope: Scope<'w, 'c>,
    loops: Vec<Pass<'w, 'c>>,
    /// A later pass of a loop around has begun: what a condition left out stays out.
    closed: bool,
    /// Ids of steps inside loops of which an instance is done, and of loops that were entered.
    seen: HashSet<&'w str>,
    blocked: Vec<Blocked>,
    skipped: Vec<&'w str>,
    warnings: Vec<String>,
}

type Found<'w, 'c> = Result<Option<Due<'w, 'c>>, WalkError>;

impl<'w, 'c> Walker<'w, 'c> {
    fn step(&mut self, step: &'w Step) -> Found<'w, 'c> {
        let length = self.key.len();
        self.key.push_str(step.id.value.as_str());
        let found = match &step.action {
            Action::Loop(looped) => self.looped(step, looped),
            _ => Ok(self.single(step)),
        };
        self.key.truncate(length);
        found
    }

    fn single(&mut self, step: &'w Step) -> Option<Due<'w, 'c>> {
        if self.is_done(step) || !self.holds(step) {
            return None;
        }
        if self.done.take(step.id.value.as_str()) {
            self.seen.insert(step.id.value.as_str());
            return None;
        }
        let (key, loops, scope) = (self.key.clone(), self.loops.clone(), self.scope.clone());
        Some(Due { step, key, loops, scope })
    }

    fn is_done(&mut self, step: &'w Step) -> bool {
        let id = step.id.value.as_str();
        let done = self.done.has_key(&self.key) || self.done.has_taken(id, self.ordinal());
        if done && !self.loops.is_empty() {
            self.seen.insert(id);
        }
        done
    }

    /// How many passes of the innermost loop the walk has entered before this one.
    fn ordinal(&self) -> usize {
        self.loops.last().map_or(0, |pass| self.done.ordinal(pass.id))
    }

    /// Whether a step's condition holds; what it waits for is noted.
    fn holds(&mut self, step: &'w Step) -> bool {
        let id = step.id.value.as_str();
        let truth = match &step.when {
            None => return true,
            Some(_) if self.closed => return false,
            Some(When::Condition(condition)) if condition.holds(&self.scope) => return true,
            Some(When::Condition(condition)) => condition.decide(&self.scope),
            Some(When::Expr(bare)) => match brief::expression_holds(&bare.expr, &self.scope) {
                Ok(true) => return true,
                Ok(false) => Truth::Fails,
                Err(_) => {
                    let variable = bare.expr.source().trim().to_owned();
                    Truth::Undecided(vec![Wanted { variable, expected: None }])
                }
            },
        };
        self.note(id, truth);
        false
    }

    fn note(&mut self, id: &'w str, truth: Truth) {
        match truth {
            Truth::Undecided(wanted) => {
                for Wanted { variable, expected } in wanted {
                    let variable = self.scope.path_of(&variable);
                    let wanted = Wanted { variable, expected };
                    let blocked = Blocked { step: id.to_owned(), wanted };
                    if !self.blocked.contains(&blocked) {
                        self.blocked.push(blocked);
                    }
                }
            }
            Truth::Holds | Truth::Fails => self.skipped.push(id),
        }
    }

    fn looped(&mut self, step: &'w Step, looped: &'w Loop) -> Found<'w, 'c> {
        let id = step.id.value.as_str();
        if self.is_done(step) || self.done.take(id) || !self.holds(step) {
            return Ok(None);
        }
        let spec = &looped.spec;
        let limit = usize::try_from(spec.max_iterations.0).unwrap_or(usize::MAX);
        let passes = Passes::of(spec, &self.scope)?;
        let last = self.done.last_pass(&self.key);
        let pass = |iteration| {
            let (item, total) = (passes.item(iteration), passes.total(limit));
            Pass { id, spec, iteration, total, item }
        };
        for iteration in 0..limit {
            let length = self.key.len();
            let _ = write!(self.key, "@{iteration}::");
            let begun = self.done.has_begun(&self.key)
                || self.done.has_bare(&looped.body, 1)
                || self.done.has_placed(&looped.body, self.done.ordinal(id));
            // A list that has become shorter has no entry for a pass that began before.
            let goes_on = begun && passes.is_conditional();
            let enters = goes_on || self.enters(&passes, &pass(iteration));
            // A pass without a trace was not left behind: it was jumped over, and is still due.
            let later = begun && last.is_some_and(|last| last > iteration);
            let found = match enters {
                true => self.pass(pass(iteration), looped, later),
                false => Ok(None),
            };
            self.key.truncate(length);
            if let Some(due) = found? {
                return Ok(Some(due));
            }
            if !enters {
                self.remark_on_end(iteration, last);
                return Ok(None);
            }
        }
        if self.goes_on(&passes, &pass(limit)) != Some(false) {
            let key = &self.key;
            self.warnings.push(format!("loop `{key}` ended at its limit of {limit} passes"));
        }
        Ok(None)
    }

    /// A pass that is done and no longer there: the list has become shorter, or was never so long.
    fn remark_on_end(&mut self, ended: usize, last: Option<usize>) {
        let Some(last) = last.filter(|last| *last >= ended) else { return };
        let key = &self.key;
        self.warnings.push(format!(
            "`{key}@{last}` is done, but loop `{key}` now ends before it: did its list shrink?"
        ));
    }

    /// Whether a loop has this pass, by its count, its list or its condition. The condition may
    /// read the number of the pass it decides on.
    fn goes_on(&mut self, passes: &Passes<'w, 'c>, pass: &Pass<'w, 'c>) -> Option<bool> {
        let depth = self.scope.depth();
        self.scope.enter(pass);
        let goes_on = passes.goes_on(pass.iteration, &self.scope);
        self.scope.leave(depth);
        goes_on
    }

    fn enters(&mut self, passes: &Passes<'w, 'c>, pass: &Pass<'w, 'c>) -> bool {
        if self.closed && passes.is_conditional() {
            return false;
        }
        match self.goes_on(passes, pass) {
            Some(true) => return true,
            Some(false) if pass.iteration == 0 => self.note(pass.id, Truth::Fails),
            Some(false) => {}
            None => self.note(pass.id, Truth::Undecided(passes.wanted(&self.scope))),
        }
        false
    }

    fn pass(&mut self, pass: Pass<'w, 'c>, looped: &'w Loop, later: bool) -> Found<'w, 'c> {
        let (id, was_closed, variables) = (pass.id, self.closed, self.scope.depth());
        self.seen.insert(id);
        let after = self.done.ordinal(id) + 1;
        self.closed |= later || self.done.has_bare(&looped.body, 2);
        self.closed |= self.done.has_placed(&looped.body, after);
        self.scope.enter(&pass);
        self.loops.push(pass);
        let mut found = Ok(None);
        for step in &looped.body {
            found = self.step(step);
            if !matches!(found, Ok(None)) {
                break;
            }
        }
        self.loops.pop();
        self.scope.leave(variables);
        self.closed = was_closed;
        self.done.passed(id);
        found
    }

    /// A step that was done before one that comes first is allowed, and worth a remark.
    fn remark_on_later(&mut self, due: &'w Step, later: &[&'w Step]) {
        let ahead = later.iter().find(|step| self.done.has_touched(step));
        if let Some(ahead) = ahead {
            let (due, ahead) = (due.id.value.as_str(), ahead.id.value.as_str());
            self.warnings.push(format!("`{ahead}` is done although `{due}` comes before it"));
        }
    }

    /// A step whose condition waits for a variable is passed over; its place may matter.
    fn remark_on_waiting(&mut self) {
        for Blocked { step, wanted } in &self.blocked {
            let variable = &wanted.variable;
            self.warnings.push(format!("`{step}` is passed over until `{variable}` is set"));
        }
    }

    fn never_done(&self) -> Vec<&'w str> {
        let mut never = Vec::new();
        for id in &self.skipped {
            if !self.seen.contains(id) && !never.contains(id) {
                never.push(*id);
            }
        }
        never
    }
}
