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
    /// For a step with a condition inside a loop: a step beside it that every pass runs.
    anchor: Option<Anchor>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Anchor {
    id: String,
    /// Whether it comes before the step.
    before: bool,
}

impl Places {
    fn of(workflow: &Workflow) -> Places {
        let mut places = Places(HashMap::new());
        let steps = workflow.steps.iter().chain(&workflow.finally);
        places.add(&steps.collect::<Vec<_>>(), &mut Vec::new(), &mut Vec::new());
        places
    }

    fn add(&mut self, steps: &[&Step], path: &mut Vec<usize>, loops: &mut Vec<String>) {
        let every = |step: &&Step| step.when.is_none() && !matches!(step.action, Action::Loop(_));
        let anchor = steps.iter().position(every).filter(|_| !loops.is_empty());
        for (index, step) in steps.iter().enumerate() {
            let id = step.id.value.as_str();
            let anchor = anchor.filter(|_| step.when.is_some()).map(|anchor| Anchor {
                id: steps[anchor].id.value.to_string(),
                before: anchor < index,
            });
            path.push(index);
            let place = Place { path: path.clone(), loops: loops.clone(), anchor };
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
            suggest::nearest(last, self.0.keys().map(String::as_str)).map(str::to_owned)
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
    /// Bare ids of steps with a condition, and which pass of their loop they were done in, as told
    /// by the step beside them that every pass runs.
    placed: HashSet<(&'w str, usize)>,
    /// How many passes of a loop the walk has been through.
    passes: HashMap<&'w str, usize>,
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
            placed: HashSet::new(),
            passes: HashMap::new(),
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
                done.add_bare(id, place);
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

    fn add_bare(&mut self, id: &'w str, place: &'w Place) {
        match &place.anchor {
            Some(anchor) => {
                let passes = self.bare.get(anchor.id.as_str()).copied().unwrap_or(0);
                self.placed.insert((id, passes.saturating_sub(usize::from(anchor.before))));
            }
            None => *self.bare.entry(id).or_default() += 1,
        }
    }

    pub(super) fn has_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    pub(super) fn has_taken(&self, id: &str, ordinal: usize) -> bool {
        !self.placed.is_empty() && self.placed.contains(&(id, ordinal))
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

    /// Whether a key names anything of a pass: then it goes on, whatever its condition says now.
    pub(super) fn has_begun(&self, prefix: &str) -> bool {
        self.begun.contains(prefix)
    }

    /// Whether a step that every pass runs is named so often, by its bare id, beyond the passes
    /// gone through: once, and the next pass has begun; twice, and it is over.
    pub(super) fn has_bare(&self, body: &[Step], times: usize) -> bool {
        !self.bare.is_empty()
            && body.iter().filter(|step| step.when.is_none()).any(|step| match &step.action {
                Action::Loop(looped) => times == 1 && self.has_bare(&looped.body, 1),
                _ => self.bare.get(step.id.value.as_str()).is_some_and(|left| *left >= times),
            })
    }

    /// Whether a step with a condition is named, by its bare id, as done in this pass.
    pub(super) fn has_placed(&self, body: &[Step], ordinal: usize) -> bool {
        !self.placed.is_empty()
            && body.iter().any(|step| self.has_taken(step.id.value.as_str(), ordinal))
    }

    pub(super) fn ordinal(&self, id: &str) -> usize {
        self.passes.get(id).copied().unwrap_or(0)
    }

    pub(super) fn passed(&mut self, id: &'w str) {
        *self.passes.entry(id).or_default() += 1;
    }

    /// Whether a step of the top level, or anything inside it, is done.
    pub(super) fn has_touched(&self, step: &Step) -> bool {
        let id = step.id.value.as_str();
        self.keys.contains(id) || self.loops.contains(id)
    }
}
