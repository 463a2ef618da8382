//! What the caller says is done: instance keys, ids outside loops, and bare ids inside loops.

use std::collections::{HashMap, HashSet};

use super::WalkError;
use crate::step::{Action, Step};
use crate::suggest;
use crate::workflow::Workflow;

/// Where every step of a workflow stands.
pub(super) struct Places<'w>(HashMap<&'w str, Place<'w>>);

struct Place<'w> {
    step: &'w Step,
    /// The loops around it, outermost first.
    loops: Vec<&'w str>,
    /// For a step with a condition inside a loop: a step beside it that every pass runs.
    anchor: Option<Anchor<'w>>,
}

#[derive(Clone, Copy)]
struct Anchor<'w> {
    id: &'w str,
    /// Whether it comes before the step.
    before: bool,
}

impl<'w> Places<'w> {
    pub(super) fn of(workflow: &'w Workflow) -> Places<'w> {
        let mut places = Places(HashMap::new());
        places.add(&workflow.steps, &mut Vec::new());
        places.add(&workflow.finally, &mut Vec::new());
        places
    }

    fn add(&mut self, steps: &'w [Step], loops: &mut Vec<&'w str>) {
        let every = |step: &&Step| step.when.is_none() && !matches!(step.action, Action::Loop(_));
        let anchor = steps.iter().position(|step| every(&step)).filter(|_| !loops.is_empty());
        for (index, step) in steps.iter().enumerate() {
            let id = step.id.value.as_str();
            let anchor = anchor.filter(|_| step.when.is_some()).map(|anchor| Anchor {
                id: steps[anchor].id.value.as_str(),
                before: anchor < index,
            });
            self.0.insert(id, Place { step, loops: loops.clone(), anchor });
            if let Action::Loop(looped) = &step.action {
                loops.push(id);
                self.add(&looped.body, loops);
                loops.pop();
            }
        }
    }

    /// The step of an id or of an instance key.
    pub(super) fn step_of(&self, name: &str) -> Option<&'w Step> {
        let place = self.0.get(name).or_else(|| self.of_key(name))?;
        Some(place.step)
    }

    /// The place an instance key names: its loops must be those around the step.
    fn of_key(&self, key: &str) -> Option<&Place<'w>> {
        let mut parts: Vec<&str> = key.split("::").collect();
        let place = self.0.get(parts.pop()?)?;
        let names = |(part, id): (&&str, &&str)| {
            let number = part.strip_prefix(*id)?.strip_prefix('@')?;
            // One key for one pass: `@02` would be another.
            (number.parse::<usize>().ok()?.to_string() == number).then_some(())
        };
        let fits = parts.len() == place.loops.len()
            && parts.iter().zip(&place.loops).all(|pair| names(pair).is_some());
        fits.then_some(place)
    }

    pub(super) fn unknown(&self, name: &str) -> WalkError {
        let last = name.rsplit("::").next().unwrap_or(name);
        let last = last.split('@').next().unwrap_or(last);
        let near = match self.0.get_key_value(last) {
            Some((id, place)) if !place.loops.is_empty() => {
                let loops: Vec<String> = place.loops.iter().map(|id| format!("{id}@0::")).collect();
                Some(format!("{}{id}", loops.concat()))
            }
            Some((id, _)) => Some((*id).to_owned()),
            None => suggest::nearest(last, self.0.keys().copied()).map(str::to_owned),
        };
        WalkError::UnknownStep { id: name.to_owned(), near }
    }
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
    /// Every loop and step that is named in some way.
    touched: HashSet<&'w str>,
}

impl<'w, 'c> Done<'w, 'c> {
    pub(super) fn read(
        places: &Places<'w>,
        completed: &'c [String],
    ) -> Result<Done<'w, 'c>, WalkError> {
        let mut done = Done {
            keys: HashSet::with_capacity(completed.len()),
            begun: HashSet::new(),
            last: HashMap::new(),
            bare: HashMap::new(),
            placed: HashSet::new(),
            passes: HashMap::new(),
            touched: HashSet::new(),
        };
        for entry in completed {
            let bare = places.0.get(entry.as_str());
            let place = bare.or_else(|| places.of_key(entry));
            let Some(place) = place else { return Err(places.unknown(entry)) };
            done.touched.extend(place.loops.first().copied());
            done.touched.insert(place.step.id.value.as_str());
            if bare.is_none() || place.loops.is_empty() {
                done.add_key(entry);
            } else {
                done.add_bare(place);
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

    fn add_bare(&mut self, place: &Place<'w>) {
        let id = place.step.id.value.as_str();
        match place.anchor {
            Some(anchor) => {
                let passes = self.bare.get(anchor.id).copied().unwrap_or(0);
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

    pub(super) fn ordinal(&self, id: &str) -> usize {
        self.passes.get(id).copied().unwrap_or(0)
    }

    pub(super) fn passed(&mut self, id: &'w str) {
        *self.passes.entry(id).or_default() += 1;
    }

    pub(super) fn has_touched(&self, step: &Step) -> bool {
        self.touched.contains(step.id.value.as_str())
    }
}
