//! Whether what a caller submits agrees with what accepted outputs hold, and can decide what it has
//! to decide.

use milepost_model::condition::{self, Truth};
use milepost_model::criteria::Criteria;
use milepost_model::guide::{Count, LoopDoc};
use milepost_model::problem::Code;
use milepost_model::step::{Action, Prompt};
use milepost_model::suggest;
use milepost_model::walk::{self, Pass};
use serde_json::{Map, Value, json};

use crate::event::SubmissionIssue;
use crate::interpreter::run_variables::SaidVariables;
use crate::state::State;
use crate::{Failure, Flow, StepKey, mask_secrets};

/// Where a value comes from that a context must not contradict.
enum Source {
    /// The output in the same submission.
    Own,
    /// The accepted output of this step.
    Step(String),
    /// The run's inputs.
    Inputs,
}

/// The variables to record: those that are new, and those that add to what an output holds. `own`
/// is what the output in the same submission holds.
///
/// # Errors
/// A variable contradicts an output.
pub(crate) fn agreed(
    flow: &Flow,
    state: &State,
    keys: &[StepKey],
    own: &Map<String, Value>,
    sent: Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    if sent.is_empty() {
        return Ok(sent);
    }
    let said = SaidVariables::of(flow, state);
    let variables = said.with_outputs();
    let top = Vec::new();
    let mut places: Vec<Vec<Pass<'_>>> =
        keys.iter().map(|key| walk::passes_of(key.as_str())).collect();
    places.push(top);
    let mut kept = Map::new();
    for (name, value) in sent {
        let root = walk::root(&name);
        let mut held: Vec<(Source, &Value)> = Vec::new();
        held.extend(own.get(root).map(|value| (Source::Own, value)));
        for place in &places {
            // Outside the loop, a value from a pass is only the latest one.
            let found = variables.held(root, place).filter(|_| held.is_empty());
            held.extend(found.map(|(output, value)| match output.step {
                "" => (Source::Inputs, value),
                step => (Source::Step(step.to_owned()), value),
            }));
        }
        let mut rest = Some(value);
        for (source, held) in held {
            let Some(value) = rest.take() else { break };
            rest = added(held, &name, value)
                .map_err(|differ| contradicts(state, &source, &differ.0, &differ.1, &differ.2))?;
        }
        kept.extend(rest.map(|value| (name, value)));
    }
    Ok(kept)
}

/// The path at which two values differ, and both values.
type Difference = Box<(String, Value, Value)>;

/// What a variable adds to a value that is held; `None` if it adds nothing.
fn added(held: &Value, name: &str, sent: Value) -> Result<Option<Value>, Difference> {
    let below = name.split_once('.').map(|(_, rest)| rest);
    let held = match below {
        None => held,
        Some(rest) => match condition::descend(held, rest) {
            Some(held) => held,
            None => return Ok(Some(sent)),
        },
    };
    match walk::extended(held, &sent) {
        Ok(all) if all == *held => Ok(None),
        Ok(all) => Ok(Some(all)),
        Err(path) => {
            let at = |value: &Value| {
                let inner = path.strip_prefix('.').and_then(|path| condition::descend(value, path));
                inner.unwrap_or(value).clone()
            };
            Err(Box::new((format!("{name}{path}"), at(held), at(&sent))))
        }
    }
}

fn contradicts(state: &State, source: &Source, path: &str, held: &Value, sent: &Value) -> Failure {
    let masked = |value: &Value| mask_secrets(&state.head.nonce, value);
    let (held, sent) = (masked(held), masked(sent));
    let shown = |value: &Value| suggest::excerpt(&value.to_string());
    let place = match source {
        Source::Own => "this output".to_owned(),
        Source::Step(step) => format!("the accepted output of `{step}`"),
        Source::Inputs => "the inputs of this run".to_owned(),
    };
    let message =
        format!("`{path}` is `{}` in {place}, but `{}` in `context`", shown(&held), shown(&sent));
    let name = walk::root(path);
    let hint = match source {
        Source::Own => format!("leave `{name}` out of `context`, or correct the output"),
        Source::Step(_) | Source::Inputs => {
            format!("leave `{name}` out of `context`: what was accepted before decides")
        }
    };
    let failure = Failure::new(Code::StateInvalid, message, hint);
    failure.with("variable", path).with("held", held).with("sent", sent)
}

/// Checks that every rule's condition is decided. Otherwise, leaving out a variable would switch
/// off the rule.
pub(crate) fn decides_rules(prompt: &Prompt, variables: &Value) -> Result<(), Failure> {
    let mut wanted = Vec::new();
    if let Some(criteria) = &prompt.criteria {
        undecided(criteria, variables, &mut wanted);
    }
    let Some((variable, rule)) = wanted.into_iter().next() else { return Ok(()) };
    let message = format!("`{variable}` is not set, and it decides whether a rule applies: {rule}");
    let hint = format!("submit again with `{variable}` in `context`");
    Err(Failure::new(Code::StateInvalid, message, hint).with("variable", variable))
}

fn undecided(criteria: &Criteria, variables: &Value, wanted: &mut Vec<(String, String)>) {
    match criteria {
        Criteria::All(parts) | Criteria::Any(parts) => {
            parts.iter().for_each(|part| undecided(part, variables, wanted));
        }
        Criteria::Not(part) => undecided(part, variables, wanted),
        Criteria::Check(check) => {
            let open = check.condition.as_ref().filter(|when| !when.holds(variables));
            if let Some(Truth::Undecided(missing)) = open.map(|when| when.decide(variables)) {
                let names = missing.into_iter().map(|one| (one.variable, check.message.clone()));
                wanted.extend(names);
            }
        }
    }
}

/// What keeps a loop from running over a variable of this output.
pub(crate) fn loop_issues(flow: &Flow, own: &Map<String, Value>) -> Vec<SubmissionIssue> {
    let all = json!(own);
    let steps = flow.workflow().all_steps();
    let loops = steps.iter().filter_map(|step| match &step.action {
        Action::Loop(looped) => Some(&looped.spec),
        _ => None,
    });
    let wrong = |spec: &LoopDoc| {
        let (name, what) = match (&spec.items, &spec.count) {
            (Some(items), _) => (items.0.as_str(), "an array"),
            (None, Some(Count::Variable(name))) => (name.as_str(), "a number"),
            (None, _) => return None,
        };
        let value = condition::Variables::get(&all, name)?;
        let items = value.as_array().map(Vec::len);
        let (message, suggestion) = match (what, items) {
            ("an array", Some(found)) => {
                let most = usize::try_from(spec.max_iterations.0).unwrap_or(usize::MAX);
                let message =
                    format!("`{name}` has {found} items, but its loop runs at most {most} times");
                (found > most).then(|| (message, format!("Send at most {most} items in `{name}`.")))
            }
            ("an array", None) => Some((
                format!("`{name}` must be an array: a loop runs over it"),
                format!("Send `{name}` as an array."),
            )),
            _ => (!is_count(value)).then(|| {
                (
                    format!("`{name}` must be a number: a loop counts by it"),
                    format!("Send `{name}` as a whole number."),
                )
            }),
        }?;
        Some(SubmissionIssue { message, suggestion: suggestion.into() })
    };
    loops.filter_map(wrong).collect()
}

fn is_count(value: &Value) -> bool {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}
