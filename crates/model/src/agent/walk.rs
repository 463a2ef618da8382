//! Walking a guide: finds the next step from what the caller reports as done.
//!
//! The walk is stateless: the caller keeps all state. A step inside a loop is identified by its
//! instance key, `loop@2::step`. A caller that reports the key of each step it was given walks
//! every loop correctly; if a caller reports bare ids, their occurrences are counted instead.

use std::fmt::Write as _;

use foldhash::{HashSet, HashSetExt};
use serde_json::Value;

use crate::agent_prompt;
use crate::condition::{MissingVariable, Truth};
use crate::guide::LoopDoc;
use crate::limits;
use crate::order::Order;
use crate::step::{Action, Loop, Step, When};
use crate::workflow::{Spelling, Workflow};

mod completed_steps;
mod declared;
mod passes;
mod run_variables;
mod scope;

use completed_steps::CompletedSteps;
pub(crate) use completed_steps::StepPaths;
pub use completed_steps::find;
pub use declared::DeclaredVariables;
pub(crate) use declared::names as declared_names;
use passes::Passes;
pub use run_variables::{Pass, RunVariables, StepOutput, extended, passes_of, root};
pub use scope::WalkScope;

#[derive(Debug)]
pub enum WalkPosition<'w, 'c> {
    /// This step is due.
    Due(Box<DueStep<'w, 'c>>),
    /// No step is due, and at least one remaining condition is waiting for a variable.
    Blocked(Vec<BlockedStep>),
    /// Every step is done, or skipped because its condition did not hold.
    Complete { skipped: Vec<&'w str> },
}

#[derive(Debug)]
pub struct DueStep<'w, 'c> {
    pub step: &'w Step,
    /// The key that the caller reports when the step is done.
    pub key: String,
    /// The enclosing loops, outermost first.
    pub loops: Vec<LoopPass<'w, 'c>>,
    /// The caller's context, extended with the loop variables.
    pub scope: WalkScope<'w, 'c>,
}

#[derive(Debug, Clone)]
pub struct LoopPass<'w, 'c> {
    /// The loop's id.
    pub id: &'w str,
    /// How the loop repeats.
    pub spec: &'w LoopDoc,
    /// The zero-based number of the pass.
    pub iteration: usize,
    /// The total number of passes, if known.
    pub total: Option<usize>,
    /// The current item of a `forEach`.
    pub item: Option<&'c Value>,
}

/// A condition that cannot be decided yet.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockedStep {
    /// The step that has the condition, or the loop that the condition controls.
    pub step: String,
    /// The variable that the condition is waiting for.
    pub wanted: MissingVariable,
}

/// Why a walk cannot continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The workflow has no step with this id; `near` is the id that was probably meant.
    #[error("there is no step `{id}`")]
    UnknownStep { id: String, near: Option<String> },
    /// The loops expand to more steps than the limit allows.
    #[error("the loops expand to more than {} steps", limits::WALK_STEPS)]
    TooLong,
    /// A loop's variable does not have the type that the loop needs.
    #[error("the variable `{variable}` must be {expected}: it is {actual}")]
    Variable { variable: String, expected: &'static str, actual: String },
}

/// The result of a walk: its position, and warnings for the caller.
#[derive(Debug)]
pub struct GuideWalk<'w, 'c> {
    pub position: WalkPosition<'w, 'c>,
    pub warnings: Vec<String>,
}

/// The next step of a workflow that consists only of agent steps.
pub fn next<'w, 'c>(
    workflow: &'w Workflow,
    completed: &'c [String],
    context: &'c Value,
) -> Result<GuideWalk<'w, 'c>, WalkError> {
    walk(Walker::new(workflow, completed, context)?, &sequence(workflow))
}

/// The next step of a guide in a durable run. Unlike [`next()`], it never goes past a condition or
/// a loop that is undecided.
pub fn next_in_run<'w, 'c>(
    workflow: &'w Workflow,
    completed: &'c [String],
    variables: &'c RunVariables<'c>,
) -> Result<GuideWalk<'w, 'c>, WalkError> {
    let mut walker = Walker::new(workflow, completed, variables.said)?;
    walker.scope = WalkScope::of_run(variables);
    walker.halts = true;
    walk(walker, &sequence(workflow))
}

/// The next step in one loop of a manifest that runs. The steps may be of any kind. Conditions that
/// are expressions are treated as true: the caller evaluates them, because it knows the results of
/// earlier steps.
pub fn within<'w, 'c>(
    workflow: &'w Workflow,
    looped: &'w Step,
    completed: &'c [String],
    variables: &'c RunVariables<'c>,
) -> Result<GuideWalk<'w, 'c>, WalkError> {
    let mut walker = Walker::new(workflow, completed, variables.said)?;
    walker.scope = WalkScope::of_run(variables);
    walker.halts = true;
    walker.leaves_expressions = true;
    walk(walker, &[looped])
}

fn walk<'w, 'c>(
    mut walker: Walker<'w, 'c>,
    steps: &[&'w Step],
) -> Result<GuideWalk<'w, 'c>, WalkError> {
    for (index, step) in steps.iter().enumerate() {
        match walker.step(step) {
            Ok(None) => {}
            Ok(Some(due)) => {
                walker.remark_on_later(index, steps);
                walker.remark_on_waiting();
                let position = WalkPosition::Due(Box::new(due));
                return Ok(GuideWalk { position, warnings: walker.remarks.told() });
            }
            Err(Halt::Undecided) => break,
            Err(Halt::Error(error)) => return Err(error),
        }
    }
    let position = match walker.blocked.is_empty() {
        true => WalkPosition::Complete { skipped: walker.never_done() },
        false => WalkPosition::Blocked(walker.blocked),
    };
    Ok(GuideWalk { position, warnings: walker.remarks.told() })
}

/// The top-level steps in walking order: document order for a guide, dependency order for a
/// manifest.
fn sequence(workflow: &Workflow) -> Vec<&Step> {
    match workflow.spelling {
        Spelling::Guide => workflow.steps.iter().collect(),
        Spelling::Manifest => {
            let order = Order::of(workflow);
            order.sequence().into_iter().map(|index| order.steps[index]).collect()
        }
    }
}

struct Walker<'w, 'c> {
    done: CompletedSteps<'w, 'c>,
    /// The key of the step being visited; it grows and shrinks as loops are entered and left.
    key: String,
    scope: WalkScope<'w, 'c>,
    loops: Vec<LoopPass<'w, 'c>>,
    /// Whether a later pass of an enclosing loop has started. If so, an inner loop that has run
    /// gets no more passes.
    closed: bool,
    /// The number of steps and loops visited.
    visits: usize,
    /// The ids of steps inside loops with at least one completed instance, and of loops that were
    /// entered.
    seen: HashSet<&'w str>,
    blocked: Vec<BlockedStep>,
    skipped: Vec<&'w str>,
    /// The entries of `blocked` and `skipped`, to avoid duplicates.
    noted: HashSet<(&'w str, String)>,
    remarks: Remarks,
    /// Whether conditions that are expressions count as true.
    leaves_expressions: bool,
    /// Whether the walk ends at the first condition that is undecided.
    halts: bool,
}

/// Why the walk ends without a step.
enum Halt {
    Error(WalkError),
    /// A condition cannot be decided, and the walk must not go past it.
    Undecided,
}

impl From<WalkError> for Halt {
    fn from(error: WalkError) -> Halt {
        Halt::Error(error)
    }
}

type Found<'w, 'c> = Result<Option<DueStep<'w, 'c>>, Halt>;

impl<'w, 'c> Walker<'w, 'c> {
    fn new(
        workflow: &'w Workflow,
        completed: &'c [String],
        context: &'c Value,
    ) -> Result<Self, WalkError> {
        Ok(Walker {
            done: CompletedSteps::read(workflow, completed)?,
            key: String::with_capacity(limits::WALK_KEY_CAPACITY_BYTES),
            scope: WalkScope::of(context),
            loops: Vec::new(),
            closed: false,
            visits: 0,
            seen: HashSet::new(),
            blocked: Vec::new(),
            skipped: Vec::new(),
            noted: HashSet::new(),
            remarks: Remarks::default(),
            leaves_expressions: false,
            halts: false,
        })
    }

    fn step(&mut self, step: &'w Step) -> Found<'w, 'c> {
        self.visits += 1;
        if self.visits > limits::WALK_STEPS {
            return Err(WalkError::TooLong.into());
        }
        let length = self.key.len();
        self.key.push_str(step.name());
        let found = match &step.action {
            Action::Loop(looped) => self.looped(step, looped),
            _ => self.single(step),
        };
        self.key.truncate(length);
        found
    }

    fn single(&mut self, step: &'w Step) -> Found<'w, 'c> {
        if self.is_done(step)? {
            return Ok(None);
        }
        let (key, loops, scope) = (self.key.clone(), self.loops.clone(), self.scope.clone());
        Ok(Some(DueStep { step, key, loops, scope }))
    }

    /// Whether a step is done or skipped. Bare ids count only for instances that run, so the n-th
    /// occurrence of an id completes the n-th such instance.
    fn is_done(&mut self, step: &'w Step) -> Result<bool, Halt> {
        let id = step.name();
        if self.done.keys.contains(self.key.as_str()) {
            self.see(id);
            return Ok(true);
        }
        if !self.holds(step)? {
            return Ok(true);
        }
        let outer = self.outer(1);
        let taken = self.done.take(id, outer);
        if taken {
            self.see(id);
        }
        Ok(taken)
    }

    /// The number of completed passes of the loop around the `inner` innermost loops; 0 if there is
    /// no such loop.
    fn outer(&self, inner: usize) -> usize {
        let around = self.loops.len().checked_sub(inner + 1).and_then(|at| self.loops.get(at));
        around.map_or(0, |pass| self.done.passes_done(pass.id))
    }

    /// Records a completed step inside a loop. This is not needed outside loops, where each step
    /// has a single instance and a completed step is never skipped.
    fn see(&mut self, id: &'w str) {
        if !self.loops.is_empty() {
            self.seen.insert(id);
        }
    }

    /// Whether a step's condition holds. If not, the step is recorded as skipped or blocked.
    fn holds(&mut self, step: &'w Step) -> Result<bool, Halt> {
        let truth = match &step.when {
            None => return Ok(true),
            Some(When::Expr(_)) if self.leaves_expressions => return Ok(true),
            Some(When::Condition(condition)) if condition.holds(&self.scope) => return Ok(true),
            Some(When::Condition(condition)) => match condition.decide(&self.scope) {
                Truth::Undecided(_) if self.halts => {
                    let known = self.scope.known();
                    if condition.holds(&known) {
                        return Ok(true);
                    }
                    condition.decide(&known)
                }
                truth => truth,
            },
            Some(When::Expr(bare)) => match agent_prompt::expression_holds(&bare.expr, &self.scope)
            {
                Ok(true) => return Ok(true),
                Ok(false) => Truth::Fails,
                Err(_) => {
                    let variable = bare.expr.source().trim().to_owned();
                    Truth::Undecided(vec![MissingVariable { variable, expected: None }])
                }
            },
        };
        self.note(step.name(), truth).map(|()| false)
    }

    fn note(&mut self, id: &'w str, truth: Truth) -> Result<(), Halt> {
        let Truth::Undecided(wanted) = truth else {
            if self.noted.insert((id, String::new())) {
                self.skipped.push(id);
            }
            return Ok(());
        };
        for MissingVariable { variable, expected } in wanted {
            let variable = self.scope.path_of(&variable);
            let new = self.noted.insert((id, variable.clone()));
            if new && self.blocked.len() < limits::BLOCKED {
                let wanted = MissingVariable { variable, expected };
                self.blocked.push(BlockedStep { step: id.to_owned(), wanted });
            }
        }
        if self.halts { Err(Halt::Undecided) } else { Ok(()) }
    }

    fn looped(&mut self, step: &'w Step, looped: &'w Loop) -> Found<'w, 'c> {
        if self.is_done(step)? {
            return Ok(None);
        }
        let (id, spec) = (step.name(), &looped.spec);
        let limit = usize::try_from(spec.max_iterations.0).unwrap_or(usize::MAX);
        let passes = Passes::of(spec, &self.scope)?;
        let last = self.done.last.get(self.key.as_str()).copied();
        for iteration in 0..=limit {
            let (item, total) = (passes.item(iteration), passes.total(limit));
            let pass = LoopPass { id, spec, iteration, total, item };
            let (length, depth) = (self.key.len(), self.scope.depth());
            let _ = write!(self.key, "@{iteration}::");
            // A loop's condition may read the number of the pass that it is evaluated for.
            self.scope.enter(&pass);
            let begun = self.has_begun(looped);
            let enters = match begun && passes.is_conditional() {
                true => Ok(true),
                false => self.enters(&passes, &pass),
            };
            let later = begun && last.is_some_and(|last| last > iteration);
            let found = match &enters {
                Ok(true) if iteration < limit => self.pass(pass, looped, later),
                _ => Ok(None),
            };
            self.scope.leave(depth);
            self.key.truncate(length);
            let enters = enters?;
            if let Some(due) = found? {
                self.remark_on_later_passes(&due.key, iteration, last);
                return Ok(Some(due));
            }
            if !enters {
                self.remark_on_end(iteration, last);
                return Ok(None);
            }
        }
        self.remarks.add(format!("loop `{}` reached its pass limit ({limit})", self.key));
        Ok(None)
    }

    /// Whether any step of a pass is done; if so, the pass must be completed even if its condition
    /// no longer holds. For an outermost loop, a bare id is enough. For a nested loop, a bare id
    /// may belong to a later pass of the outer loop, unless steps next to the inner loop determine
    /// the pass, or only some steps of the body are reported as done.
    fn has_begun(&self, looped: &'w Loop) -> bool {
        if self.done.begun.contains(self.key.as_str()) {
            return true;
        }
        let runs = |step: &Step| match &step.when {
            None => true,
            Some(When::Condition(condition)) => condition.holds(&self.scope),
            Some(When::Expr(_)) => false,
        };
        let named = self.done.bare_of(&looped.body, self.outer(0), &runs);
        named.surely || named.some && (named.others || self.loops.is_empty())
    }

    fn enters(&mut self, passes: &Passes<'w, 'c>, pass: &LoopPass<'w, 'c>) -> Result<bool, Halt> {
        // A conditional loop that has run is finished once the caller has moved on to the next pass
        // of the enclosing loop, because that pass may have changed the variable. In a run, what
        // steps declare does not change in this way.
        let changes = !passes.reads_only(&|name| self.scope.is_declared(name));
        if self.closed && changes && passes.is_conditional() && pass.iteration > 0 {
            return Ok(false);
        }
        let decided = passes.goes_on(pass.iteration, &self.scope);
        let known = || passes.goes_on(pass.iteration, &self.scope.known()).filter(|_| self.halts);
        match decided.or_else(known) {
            Some(true) => return Ok(true),
            Some(false) if pass.iteration == 0 => self.note(pass.id, Truth::Fails)?,
            Some(false) => {}
            None => {
                let wanted = match self.halts {
                    true => passes.wanted(&self.scope.known()),
                    false => passes.wanted(&self.scope),
                };
                self.note(pass.id, Truth::Undecided(wanted))?;
            }
        }
        Ok(false)
    }

    fn pass(&mut self, pass: LoopPass<'w, 'c>, looped: &'w Loop, later: bool) -> Found<'w, 'c> {
        let (id, was_closed) = (pass.id, self.closed);
        self.seen.insert(id);
        self.closed |= later || self.done.is_passed(&looped.body, self.outer(0));
        self.loops.push(pass);
        let mut found = Ok(None);
        for (index, step) in looped.body.iter().enumerate() {
            found = self.step(step);
            if let Ok(Some(due)) = &found {
                self.remark_on_siblings(&due.key, &looped.body[index + 1..]);
            }
            if !matches!(found, Ok(None)) {
                break;
            }
        }
        self.loops.pop();
        self.closed = was_closed;
        *self.done.passes.entry(id).or_default() += 1;
        found
    }

    /// Warns if a later step was done before the one that is due. This is allowed.
    fn remark_on_later(&mut self, due: usize, steps: &[&'w Step]) {
        // Most callers proceed step by step, so nothing after the due step is done.
        let so_far = steps[..=due].iter().filter(|step| self.done.has_touched(step)).count();
        if so_far == self.done.touched.len() {
            return;
        }
        let ahead = steps[due + 1..].iter().find(|step| self.done.has_touched(step));
        if let Some(ahead) = ahead {
            self.remarks.early(ahead.name(), steps[due].name());
        }
    }

    fn remark_on_siblings(&mut self, due: &str, later: &'w [Step]) {
        let key = |step: &Step| format!("{}{}", self.key, step.name());
        let ahead = later.iter().map(key).find(|key| self.done.keys.contains(key.as_str()));
        if let Some(ahead) = ahead {
            self.remarks.early(&ahead, due);
        }
    }

    fn remark_on_later_passes(&mut self, due: &str, iteration: usize, last: Option<usize>) {
        if let Some(last) = last.filter(|last| *last > iteration) {
            self.remarks.early(&format!("{}@{last}", self.key), due);
        }
    }

    /// Warns if a pass that no longer exists was reported as done.
    fn remark_on_end(&mut self, ended: usize, last: Option<usize>) {
        if let Some(last) = last.filter(|last| *last >= ended) {
            let key = &self.key;
            self.remarks.add(format!(
                "`{key}@{last}` is done, but loop `{key}` now ends before it: did its list shrink?"
            ));
        }
    }

    /// Warns about steps that are skipped while their condition is waiting for a variable, because
    /// their order may matter.
    fn remark_on_waiting(&mut self) {
        for BlockedStep { step, wanted } in &self.blocked {
            let variable = &wanted.variable;
            self.remarks.add(format!("`{step}` is skipped until `{variable}` is set"));
        }
    }

    fn never_done(&self) -> Vec<&'w str> {
        self.skipped.iter().filter(|id| !self.seen.contains(*id)).copied().collect()
    }
}

/// Warnings for the caller, up to a limit.
#[derive(Default)]
struct Remarks {
    told: Vec<String>,
    more: usize,
}

impl Remarks {
    fn add(&mut self, text: String) {
        if self.told.len() < limits::REMARKS { self.told.push(text) } else { self.more += 1 }
    }

    fn early(&mut self, ahead: &str, due: &str) {
        self.add(format!("`{ahead}` is done although `{due}` comes before it"));
    }

    fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("further warnings not shown: {}", self.more));
        }
        self.told
    }
}
