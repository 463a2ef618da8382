//! The steps that the caller reports as done: instance keys, ids outside loops, and bare ids inside
//! loops.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use super::WalkError;
use crate::step::{Action, Step};
use crate::suggest;
use crate::workflow::Workflow;

/// The position of every step of a workflow. Computed once per workflow, since every call needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepPaths(HashMap<String, StepPath>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct StepPath {
    /// The index of the top-level step, then the index within each loop's body.
    path: Vec<usize>,
    /// The enclosing loops, outermost first.
    loops: Vec<String>,
    /// For a step in a nested loop: a step next to the inner loop that runs in every pass of the
    /// outer loop. It determines which of those passes a bare id belongs to.
    anchor: Option<Anchor>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Anchor {
    id: String,
    /// Whether the anchor comes before the inner loop.
    before: bool,
}

/// The position of the list that is being indexed, and the loops around it.
#[derive(Default)]
struct Around {
    path: Vec<usize>,
    loops: Vec<String>,
}

impl StepPaths {
    fn of(workflow: &Workflow) -> StepPaths {
        let mut places = StepPaths(HashMap::new());
        let steps = workflow.steps.iter().chain(&workflow.finally);
        places.add(&steps.collect::<Vec<_>>(), &mut Around::default(), None);
        places
    }

    fn add(&mut self, steps: &[&Step], around: &mut Around, anchor: Option<&Anchor>) {
        let every = |step: &&Step| step.when.is_none() && !matches!(step.action, Action::Loop(_));
        let sure = steps.iter().position(every).filter(|_| !around.loops.is_empty());
        for (index, step) in steps.iter().enumerate() {
            let id = step.name();
            around.path.push(index);
            let (path, loops) = (around.path.clone(), around.loops.clone());
            self.0.insert(id.to_owned(), StepPath { path, loops, anchor: anchor.cloned() });
            if let Action::Loop(looped) = &step.action {
                let anchor = sure.map(|sure| Anchor {
                    id: steps[sure].id.value.to_string(),
                    before: sure < index,
                });
                around.loops.push(id.to_owned());
                self.add(&looped.body.iter().collect::<Vec<_>>(), around, anchor.as_ref());
                around.loops.pop();
            }
            around.path.pop();
        }
    }

    /// The id and position of the step that an id or an instance key refers to.
    fn find(&self, name: &str) -> Option<(&str, &StepPath)> {
        let found = self.0.get_key_value(name).or_else(|| self.of_key(name));
        found.map(|(id, place)| (id.as_str(), place))
    }

    /// The step that an instance key refers to; the key's loops must be those that enclose the
    /// step.
    fn of_key(&self, key: &str) -> Option<(&String, &StepPath)> {
        let last = separators(key).last()?;
        let (id, place) = self.0.get_key_value(&key[last + SEPARATOR.len()..])?;
        let mut known = place.loops.iter();
        let mut start = 0;
        for end in separators(key) {
            let number = key.get(start..end)?.strip_prefix(known.next()?.as_str())?;
            let number = number.strip_prefix('@')?;
            pass_number(number)?;
            start = end + SEPARATOR.len();
        }
        known.next().is_none().then_some((id, place))
    }

    fn unknown(&self, name: &str) -> WalkError {
        let last = name.rsplit("::").next().unwrap_or(name);
        let last = last.split('@').next().unwrap_or(last);
        let near = if let Some((id, place)) = self.0.get_key_value(last) {
            let loops: Vec<String> = place.loops.iter().map(|id| format!("{id}@0::")).collect();
            Some(format!("{}{id}", loops.concat()))
        } else {
            suggest::closest(last, self.0.keys().map(String::as_str)).map(str::to_owned)
        };
        WalkError::UnknownStep { id: name.to_owned(), near }
    }
}

/// Separates the loops and the step in an instance key.
const SEPARATOR: &[u8; 2] = b"::";

/// The offsets of the separators in an instance key.
fn separators(key: &str) -> impl Iterator<Item = usize> {
    let pairs = key.as_bytes().windows(SEPARATOR.len()).enumerate();
    pairs.filter(|(_, pair)| pair == SEPARATOR).map(|(at, _)| at)
}

/// Parses a pass number. Each pass has exactly one key, so `02` is rejected.
fn pass_number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number: &usize| number.to_string() == text)
}

/// What bare ids reveal about a loop's body.
#[derive(Default)]
pub(super) struct BareIds {
    /// At least one step is done in this pass of the enclosing loop.
    pub(super) surely: bool,
    /// At least one step is done in some pass.
    pub(super) some: bool,
    /// At least one step is not done.
    pub(super) others: bool,
}

/// The index of a workflow's steps.
fn places(workflow: &Workflow) -> &StepPaths {
    workflow.step_index.get_or_init(|| StepPaths::of(workflow))
}

/// Finds a step by its id or by an instance key.
pub fn find<'w>(workflow: &'w Workflow, name: &str) -> Result<&'w Step, WalkError> {
    let places = places(workflow);
    let (_, place) = places.find(name).ok_or_else(|| places.unknown(name))?;
    let mut path = place.path.iter();
    let mut step = path.next().and_then(|index| {
        workflow.steps.get(*index).or_else(|| workflow.finally.get(index - workflow.steps.len()))
    });
    for index in path {
        step = match step.map(|step| &step.action) {
            Some(Action::Loop(looped)) => looped.body.get(*index),
            _ => None,
        };
    }
    step.ok_or_else(|| places.unknown(name))
}

/// A caller's list of completed steps, indexed by step and by pass of a loop.
pub(super) struct CompletedSteps<'w, 'c> {
    /// Instance keys, and ids of steps outside loops.
    pub(super) keys: HashSet<&'c str>,
    /// Prefixes of instance keys, up to and including a separator: `a@0::b@1::`.
    pub(super) begun: HashSet<&'c str>,
    /// The highest pass of each loop that appears in a key, by the loop's own key: `a@0::b`.
    pub(super) last: HashMap<&'c str, usize>,
    /// How many bare ids of steps inside loops are unused; each occurrence completes one instance.
    /// For a nested loop, the pass of the outer loop is part of the map's key if it can be
    /// determined.
    bare: HashMap<(&'w str, Option<usize>), usize>,
    /// The same counts, regardless of the pass.
    named: HashMap<&'w str, usize>,
    /// The number of passes that the walk has completed in each loop.
    pub(super) passes: HashMap<&'w str, usize>,
    /// Top-level steps that are done or contain a completed step.
    pub(super) touched: HashSet<&'w str>,
}

impl<'w, 'c> CompletedSteps<'w, 'c> {
    pub(super) fn read(
        workflow: &'w Workflow,
        completed: &'c [String],
    ) -> Result<CompletedSteps<'w, 'c>, WalkError> {
        let places = places(workflow);
        let mut done = CompletedSteps {
            keys: HashSet::with_capacity(completed.len()),
            begun: HashSet::new(),
            last: HashMap::new(),
            bare: HashMap::new(),
            named: HashMap::new(),
            passes: HashMap::new(),
            touched: HashSet::with_capacity(completed.len().min(workflow.steps.len())),
        };
        for entry in completed {
            let Some((id, place)) = places.find(entry) else { return Err(places.unknown(entry)) };
            let Some(outermost) = place.loops.first() else {
                done.touched.insert(id);
                done.keys.insert(entry);
                continue;
            };
            done.touched.insert(outermost);
            if id == entry {
                done.add_bare(id, place);
            } else {
                done.add_key(entry);
            }
        }
        Ok(done)
    }

    fn add_key(&mut self, key: &'c str) {
        self.keys.insert(key);
        for end in separators(key) {
            self.begun.insert(&key[..end + SEPARATOR.len()]);
            let at = key.as_bytes()[..end].iter().rposition(|byte| *byte == b'@');
            if let Some(at) = at {
                let number = key[at + 1..end].parse().unwrap_or(0);
                let last = self.last.entry(&key[..at]).or_default();
                *last = number.max(*last);
            }
        }
    }

    fn add_bare(&mut self, id: &'w str, place: &'w StepPath) {
        let outer = place.anchor.as_ref().map(|anchor| {
            let passes = self.named.get(anchor.id.as_str()).copied().unwrap_or(0);
            passes.saturating_sub(usize::from(anchor.before))
        });
        *self.named.entry(id).or_default() += 1;
        *self.bare.entry((id, outer)).or_default() += 1;
    }

    /// Uses up one occurrence of a bare id in this pass of the outer loop.
    pub(super) fn take(&mut self, id: &'w str, outer: usize) -> bool {
        for pass in [Some(outer), None] {
            if let Some(left) = self.bare.get_mut(&(id, pass)).filter(|left| **left > 0) {
                *left -= 1;
                if let Some(left) = self.named.get_mut(id) {
                    *left -= 1;
                }
                return true;
            }
        }
        false
    }

    /// Whether any of the steps that run in a body have unused bare ids, and whether any have none.
    pub(super) fn bare_of(
        &self,
        body: &'w [Step],
        outer: usize,
        runs: &dyn Fn(&Step) -> bool,
    ) -> BareIds {
        let mut named = BareIds::default();
        if self.bare.is_empty() {
            return named;
        }
        for step in body.iter().filter(|step| runs(step)) {
            let id = step.name();
            match &step.action {
                Action::Loop(looped) => named.some |= self.any_bare(&looped.body),
                _ if self.left(id, Some(outer)) > 0 => named.surely = true,
                _ if self.left(id, None) > 0 => named.some = true,
                _ => named.others = true,
            }
        }
        named
    }

    fn any_bare(&self, body: &[Step]) -> bool {
        body.iter().any(|step| {
            if let Action::Loop(looped) = &step.action {
                return self.any_bare(&looped.body);
            }
            self.named.get(step.name()).is_some_and(|left| *left > 0)
        })
    }

    /// Whether bare ids belong to a later pass than the one being entered.
    pub(super) fn is_passed(&self, body: &'w [Step], outer: usize) -> bool {
        let again = |id| self.left(id, Some(outer)) + self.left(id, None) > 1;
        !self.bare.is_empty() && body.iter().any(|step| step.when.is_none() && again(step.name()))
    }

    fn left(&self, id: &'w str, outer: Option<usize>) -> usize {
        self.bare.get(&(id, outer)).copied().unwrap_or(0)
    }

    /// The number of completed passes of a loop.
    pub(super) fn passes_done(&self, id: &str) -> usize {
        self.passes.get(id).copied().unwrap_or(0)
    }

    /// Whether a top-level step, or anything inside it, is done.
    pub(super) fn has_touched(&self, step: &Step) -> bool {
        self.touched.contains(step.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_reads_as_it_is_written() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, usize::MAX] {
            assert_eq!(pass_number(&number.to_string()), Some(number));
        }
        for text in ["", "02", "00", "+1", "-1", " 1", "1 ", "1a", "99999999999999999999"] {
            assert_eq!(pass_number(text), None, "{text}");
        }
    }
}
