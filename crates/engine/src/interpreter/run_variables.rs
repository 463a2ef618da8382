//! The variables of a run: what its steps' accepted outputs hold, and what callers said.

use milepost_model::step::{Action, Prompt};
use milepost_model::walk::{self, DeclaredVariables, RunVariables, StepOutput};
use serde_json::{Map, Value};

use crate::event::ActorKind;
use crate::state::{Phase, State};
use crate::{Flow, StepKey};

/// The names in a manifest's run that always keep their own meaning.
const RESERVED: &[&str] = &["inputs", "steps"];

/// What callers said in a run: its inputs and the context, and for a manifest the results of its
/// steps.
pub(crate) struct SaidVariables<'s> {
    flow: &'s Flow,
    state: &'s State,
    said: Value,
}

impl<'s> SaidVariables<'s> {
    pub(crate) fn of(flow: &'s Flow, state: &'s State) -> SaidVariables<'s> {
        let mut said = state.head.inputs.clone();
        let own = |name: &str| state.names().get(name).cloned().unwrap_or_default();
        let reserved: Map<String, Value> = match flow.is_walked() {
            true => Map::new(),
            false => RESERVED.iter().map(|name| ((*name).to_owned(), own(name))).collect(),
        };
        let reserved = Value::Object(reserved);
        // A dotted name must not hide a result.
        let hides =
            |name: &str| milepost_model::condition::Variables::get(&reserved, name).is_some();
        let free = state.context.iter().filter(|(name, _)| !hides(name));
        said.extend(free.map(|(name, value)| (name.clone(), value.clone())));
        if let Value::Object(reserved) = reserved {
            said.extend(reserved);
        }
        SaidVariables { flow, state, said: Value::Object(said) }
    }

    /// These variables together with the outputs of the steps that have ended.
    pub(crate) fn with_outputs(&self) -> RunVariables<'_> {
        let outputs = self.state.steps.iter().filter_map(|(key, step)| {
            let values = step.output.as_ref()?.as_object()?;
            let done = step.phase == Phase::Succeeded && !key.is_item();
            let def = self.flow.of_key(key).filter(|_| done)?;
            matches!(def.action, Action::Prompt(_)).then(|| StepOutput {
                step: def.name(),
                passes: walk::passes_of(key.as_str()),
                seq: step.ended_seq,
                values,
            })
        });
        RunVariables {
            said: &self.said,
            said_at: &self.state.context_seq,
            outputs: self.given().into_iter().chain(outputs).collect(),
            declared: DeclaredVariables::of(self.flow.workflow()),
            reserved: if self.flow.is_walked() { &[] } else { RESERVED },
        }
    }

    /// The inputs, if an agent must not change them: those of a manifest, and those that a person
    /// gave to a guide.
    fn given(&self) -> Option<StepOutput<'_>> {
        let head = &self.state.head;
        let fixed = !self.flow.is_walked() || head.actor.kind == ActorKind::Person;
        let values = &head.inputs;
        fixed.then(|| StepOutput { step: "", passes: Vec::new(), seq: 1, values })
    }
}

/// An output as an object. In a guide, and where a schema asks for JSON, it may be text.
pub(crate) fn object(flow: &Flow, prompt: &Prompt, output: &Value) -> Option<Map<String, Value>> {
    match output {
        Value::Object(values) => Some(values.clone()),
        Value::String(text) if flow.is_walked() || prompt.output_schema.is_some() => {
            let opens = text.trim_start().starts_with('{');
            opens.then(|| serde_json::from_str(text).ok()).flatten()
        }
        _ => None,
    }
}

/// The properties of an output that are variables. Another step's variable is not one of them, and
/// neither is the variable of a loop, unless the step declares it.
pub(crate) fn variables_in(
    flow: &Flow,
    key: &StepKey,
    output: Map<String, Value>,
) -> Map<String, Value> {
    let declared = DeclaredVariables::of(flow.workflow());
    let reserved = |name: &str| !flow.is_walked() && RESERVED.contains(&name);
    let counts = |name: &str| {
        declared.is_of(key.step(), name) || !declared.has(name) && !is_loop_variable(flow, name)
    };
    output.into_iter().filter(|(name, _)| !reserved(name) && counts(name)).collect()
}

fn is_loop_variable(flow: &Flow, name: &str) -> bool {
    flow.workflow().all_steps().iter().any(|step| match &step.action {
        Action::Loop(looped) => {
            let spec = &looped.spec;
            let names = [&spec.item_var, &spec.index_var, &spec.iteration_var];
            names.into_iter().flatten().any(|own| own == name)
        }
        _ => false,
    })
}

/// Overlays variables with those of an output: an object is extended, anything else is replaced.
pub(crate) fn overlay(all: &mut Map<String, Value>, own: &Map<String, Value>) {
    for (name, value) in own {
        match (all.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new.clone()),
            _ => drop(all.insert(name.clone(), value.clone())),
        }
    }
}
