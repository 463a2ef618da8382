//! All inputs of a run, or every reason why it cannot start.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::input::{DefaultFrom, ProviderError};
use milepost_model::problem::Argument;
use milepost_model::secret::{Mask, Secret, known_secrets, mark};
use milepost_model::workflow::Workflow;

use super::gather::{GatheredInputs, InputOrigin, gather};
use super::offer::{ProviderQuery, ProviderView};
use super::past_runs::PastRuns;
use super::violation;
use crate::prelude::*;

/// The inputs of a run.
#[derive(Debug)]
pub struct ResolvedInputs {
    /// What expressions read as `inputs`. Secrets are placeholders here; their values, needed to
    /// send a request, are in `secrets`.
    pub values: Map<String, Value>,
    /// The values of secret inputs, by name; a value that is not a string is kept as JSON.
    pub secrets: BTreeMap<String, Secret>,
    pub provenance: BTreeMap<String, InputOrigin>,
    pub warnings: Vec<String>,
}

/// Resolves the inputs of a workflow. Queries only those providers whose failure must keep the run
/// from starting.
///
/// # Errors
/// A single problem with every violation of every input.
pub async fn resolve(
    writer: &Writer,
    call: &dyn Caller,
    workflow: &Workflow,
    given: Map<String, Value>,
) -> Result<ResolvedInputs> {
    let past = PastRuns::of(&writer.reader, call, workflow).await;
    let gathered = gather(&writer.reader, workflow, &given, &past)?;
    let looked = look(writer, call, workflow, &gathered, ProviderScope::Strict).await?;
    let faults: Vec<Argument> = gathered.faults.iter().chain(&looked.faults).cloned().collect();
    if !faults.is_empty() {
        return Err(violation::problem(&workflow.id.value, faults));
    }
    let split = SplitInputs::of(workflow, &gathered);
    let origins = gathered.inputs.into_iter();
    let origins = origins.filter_map(|input| Some((input.name, input.origin?)));
    Ok(ResolvedInputs {
        values: split.shown,
        secrets: split.secrets,
        provenance: origins.collect(),
        warnings: gathered.warnings.into_iter().chain(looked.warnings).collect(),
    })
}

/// Values as expressions read them, with and without secrets.
#[derive(Default)]
pub(crate) struct SplitInputs {
    /// With placeholders instead of secrets.
    pub(crate) shown: Map<String, Value>,
    /// With the real values of secrets.
    pub(crate) real: Map<String, Value>,
    pub(crate) secrets: BTreeMap<String, Secret>,
}

impl SplitInputs {
    pub(crate) fn of(workflow: &Workflow, gathered: &GatheredInputs) -> SplitInputs {
        let mut split = SplitInputs::default();
        for (name, value) in &gathered.values {
            let input = workflow.inputs.get(name);
            let value = match input {
                Some(input) => input.joined(value.clone()),
                None => value.clone(),
            };
            let shown = match input.filter(|input| input.is_secret()) {
                Some(_) => {
                    let secret = Secret::new(plain_text(&value));
                    known_secrets::register(name, &secret);
                    split.secrets.insert(name.clone(), secret);
                    Value::String(mark(name))
                }
                None => value.clone(),
            };
            split.shown.insert(name.clone(), shown);
            split.real.insert(name.clone(), value);
        }
        split
    }

    /// The mask that hides these secrets in output.
    pub(crate) fn mask(&self) -> Mask {
        let mut mask = Mask::guard();
        self.secrets.iter().for_each(|(name, secret)| mask.add(name, secret));
        mask
    }
}

/// What expressions can read besides steps: inputs, and the variables that the configuration
/// allows.
pub(crate) fn roots(reader: &Reader, inputs: Map<String, Value>) -> Result<Map<String, Value>> {
    let allowed = reader.config()?.env_allow.into_iter();
    let variable = |name: String| {
        let value = reader.environment.variable(&name)?.reveal().to_owned();
        Some((name, Value::String(value)))
    };
    let env: Map<String, Value> = allowed.filter_map(variable).collect();
    let mut roots = Map::new();
    roots.insert("inputs".to_owned(), Value::Object(inputs));
    roots.insert("env".to_owned(), Value::Object(env));
    Ok(roots)
}

/// Like [`roots`], but with placeholders for secrets, so that results may be shown.
pub(crate) fn known_roots(
    reader: &Reader,
    workflow: &Workflow,
    gathered: &GatheredInputs,
) -> Result<Map<String, Value>> {
    let mut roots = roots(reader, SplitInputs::of(workflow, gathered).shown)?;
    let hidden = secret_variables(workflow);
    let env = roots.get_mut("env").and_then(Value::as_object_mut);
    for (name, value) in env.into_iter().flatten() {
        if hidden.contains(name.as_str()) {
            *value = mark(name).into();
        }
    }
    Ok(roots)
}

/// Environment variables that supply secret inputs by default, and so are secrets too.
pub(crate) fn secret_variables(workflow: &Workflow) -> BTreeSet<&str> {
    let secret = workflow.inputs.0.iter().filter(|(_, input)| input.is_secret());
    let defaults = secret.filter_map(|(_, input)| input.default.as_ref().map(|one| &one.0));
    let env = defaults.filter(|default| default.from == DefaultFrom::Env);
    env.filter_map(|default| default.value.as_ref()?.value.as_str()).collect()
}

/// The value of a secret input's default, evaluated in this process.
pub(crate) fn secret_default(reader: &Reader, workflow: &Workflow, name: &str) -> Option<Secret> {
    let gathered = gather(reader, workflow, &Map::new(), &PastRuns::default()).ok()?;
    SplitInputs::of(workflow, &gathered).secrets.remove(name)
}

/// Which providers to query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProviderScope {
    /// Those whose failure must keep the run from starting.
    Strict,
    /// The strict ones, and those of inputs that have no value yet.
    Open,
    All,
}

/// The results of all provider queries.
#[derive(Default)]
pub(crate) struct ProviderAnswers {
    pub(crate) providers: BTreeMap<String, ProviderView>,
    pub(crate) faults: Vec<Argument>,
    pub(crate) warnings: Vec<String>,
}

/// Queries the providers of a workflow's inputs.
pub(crate) async fn look(
    writer: &Writer,
    call: &dyn Caller,
    workflow: &Workflow,
    gathered: &GatheredInputs,
    asking: ProviderScope,
) -> Result<ProviderAnswers> {
    let split = SplitInputs::of(workflow, gathered);
    let mask = split.mask();
    let roots = roots(&writer.reader, split.real)?;
    let mut looked = ProviderAnswers::default();
    for (name, input) in &workflow.inputs.0 {
        let Some(provider) = &input.provider else { continue };
        let offer =
            ProviderQuery { name: &name.value, input, provider, roots: &roots, mask: &mask };
        let value = gathered.values.get(&name.value);
        let asked = match asking {
            ProviderScope::All => true,
            ProviderScope::Open if value.is_none() => true,
            ProviderScope::Open | ProviderScope::Strict => {
                input.on_error == Some(ProviderError::Fail)
            }
        };
        let answer = if asked { offer.ask(writer, call, value).await } else { offer.unasked().0 };
        looked.faults.extend(answer.faults);
        looked.warnings.extend(answer.warnings);
        looked.providers.insert(name.value.clone(), answer.provided);
    }
    Ok(looked)
}
