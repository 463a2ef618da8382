//! What the caller says is done: instance keys, ids outside loops, and bare ids inside loops.

use std::collections::{HashMap, HashSet};

use super::WalkError;
use crate::step::{Action, Step};
use crate::suggest;
use crate::workflow::Workflow;

/// Where every step of a workflow stands. Worked out once for each workflow: every call asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places(HashMap<String, Place>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// Which step of the workflow, then which step of each loop's body.
    path: Vec<usize>,
    /// The loops around it, outermost first.
    loops: Vec<String>,
}

impl Places {
    fn of(workflow: &Workflow) -> Places {
        let mut places = Places(HashMap::new());
        let steps = workflow.steps.iter().chain(&workflow.finally);
        places.add(&steps.collect::<Vec<_>>(), &mut Vec::new(), &mut Vec::new());
        places
    }

    fn add(&mut self, steps: &[&Step], path: &mut Vec<usize>, loops: &mut Vec<String>) {
        for (index, step) in steps.iter().enumerate() {
            let id = step.id.value.as_str();
            path.push(index);
            let place = Place { path: path.clone(), loops: loops.clone() };
            self.0.insert(id.to_owned(), place);
            if let Action::Loop(looped) = &step.action {
                loops.push(id.to_owned());
                self.add(&looped.body.iter().collect::<Vec<_>>(), path, loops);
                loops.pop();
            }
            path.pop();
        }
    }

    /// The id and the place of what an id or an instance key names.
    fn find(&self, name: &str) -> Option<(&str, &Place)> {
        let found = self.0.get_key_value(name).or_else(|| self.of_key(name));
        found.map(|(id, place)| (id.as_str(), place))
    }

    /// The place an instance key names: its loops must be those around the step.
    fn of_key(&self, key: &str) -> Option<(&String, &Place)> {
        let (loops, id) = key.rsplit_once("::")?;
        let (id, place) = self.0.get_key_value(id)?;
        let names = |part: &str, id: &str| {
            let number = part.strip_prefix(id)?.strip_prefix('@')?;
            // One key for one pass: `@02` would be another.
            (number.parse::<usize>().ok()?.to_string() == number).then_some(())
        };
        let mut parts = loops.split("::");
        let mut known = place.loops.iter();
        loop {
            match (parts.next(), known.next()) {
                (None, None) => return Some((id, place)),
                (Some(part), Some(id)) => names(part, id)?,
                _ => return None,
            }
        }
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

/// The places of a workflow's steps.
fn places(workflow: &Workflow) -> &Places {
    workflow.places.get_or_init(|| Places::of(workflow))
}

/// The step of an id or of an instance key.
pub(super) fn find<'w>(workflow: &'w Workflow, name: &str) -> Result<&'w Step, WalkError> {
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

/// What is done.
pub(super) struct Done<'w, 'c> {
    /// Instance keys, and ids of steps outside loops.
    keys: HashSet<&'c str>,
    /// Beginnings of keys, each with its number of the pass: `a@0::b@1::`.
    begun: HashSet<&'c str>,
    /// The last pass of a loop that a key names, by the loop's own key: `a@0::b`.
    last: HashMap<&'c str, usize>,
    /// Bare ids of steps inside loops: each occurrence completes one more instance.
    bare: HashMap<&'w str, usize>,
    /// Every outermost loop of which anything is named.
    loops: HashSet<&'w str>,
}

impl<'w, 'c> Done<'w, 'c> {
    pub(super) fn read(
        workflow: &'w Workflow,
        completed: &'c [String],
    ) -> Result<Done<'w, 'c>, WalkError> {
        let places = places(workflow);
        let mut done = Done {
            keys: HashSet::with_capacity(completed.len()),
            begun: HashSet::new(),
            last: HashMap::new(),
            bare: HashMap::new(),
            loops: HashSet::new(),
        };
        for entry in completed {
            let Some((id, place)) = places.find(entry) else { return Err(places.unknown(entry)) };
            let Some(outermost) = place.loops.first() else {
                done.keys.insert(entry);
                continue;
            };
            done.loops.insert(outermost);
            if id == entry {
                *done.bare.entry(id).or_default() += 1;
            } else {
                done.add_key(entry);
            }
        }
        Ok(done)
    }

    fn add_key(&mut self, key: &'c str) {
        self.keys.insert(key);
        for (end, _) in key.match_indices("::") {
            self.begun.insert(&key[..end + 2]);
            if let Some((owner, number)) = key[..end].rsplit_once('@') {
                let number = number.parse().unwrap_or(0);
                let last = self.last.entry(owner).or_default();
                *last = number.max(*last);
            }
        }
    }

    pub(super) fn has_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Uses up one occurrence of a bare id.
    pub(super) fn take(&mut self, id: &str) -> bool {
        match self.bare.get_mut(id) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    pub(super) fn last_pass(&self, owner: &str) -> Option<usize> {
        self.last.get(owner).copied()
    }

    /// Whether a key names anything of a pass.
    pub(super) fn has_key_below(&self, prefix: &str) -> bool {
        self.begun.contains(prefix)
    }

    /// Whether steps of a body that run are named by a bare id that is not used up, and whether
    /// others are not.
    pub(super) fn bare_of(&self, body: &[Step], runs: &dyn Fn(&Step) -> bool) -> (bool, bool) {
        let (mut named, mut unnamed) = (false, false);
        if self.bare.is_empty() {
            return (false, false);
        }
        for step in body.iter().filter(|step| runs(step)) {
            match &step.action {
                Action::Loop(looped) => named |= self.bare_of(&looped.body, runs).0,
                _ if self.left(step) > 0 => named = true,
                _ => unnamed = true,
            }
        }
        (named, unnamed)
    }

    /// Whether bare ids tell of a later pass than the one that is being entered.
    pub(super) fn is_passed(&self, body: &[Step]) -> bool {
        !self.bare.is_empty() && body.iter().any(|step| step.when.is_none() && self.left(step) > 1)
    }

    fn left(&self, step: &Step) -> usize {
        self.bare.get(step.id.value.as_str()).copied().unwrap_or(0)
    }

    /// Whether a step of the top level, or anything inside it, is done.
    pub(super) fn has_touched(&self, step: &Step) -> bool {
        let id = step.id.value.as_str();
        self.keys.contains(id) || self.loops.contains(id)
    }
}
