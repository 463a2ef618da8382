//! The arguments of an input's provider: written out, computed from other inputs, or taken from
//! them as `depends_on` says.

use milepost_model::expr::{Fuel, MapScope, Outcome};
use milepost_model::input::{ArgumentSource, FromDoc, Input, Missing};
use milepost_model::templated::Dynamic;

use crate::prelude::*;

/// The arguments of one call, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct ProviderArguments {
    /// As they are sent.
    pub(crate) with: Map<String, Value>,
    /// Arguments that are left out because their source has no value.
    pub(crate) left_out: Vec<String>,
    /// Sources without a value that a person is asked for, as they are written.
    pub(crate) prompts: Vec<String>,
    /// Sources without a value that keep the run from starting.
    pub(crate) fails: Vec<String>,
    /// Expressions that have no value whatever is given.
    pub(crate) broken: Vec<String>,
}

/// The arguments of an input's provider in a scope of inputs and variables.
pub(crate) fn arguments(input: &Input, roots: &Map<String, Value>) -> ProviderArguments {
    let scope = MapScope::new(roots.clone());
    let mut found = ProviderArguments::default();
    for (name, value) in input.provider_args.iter().flat_map(|args| &args.0) {
        found.add_value(&name.value, value, &scope);
    }
    for (name, source) in input.depends_on.iter().flat_map(|sources| &sources.0) {
        match source {
            ArgumentSource::Value(value) => found.add_value(&name.value, value, &scope),
            ArgumentSource::From(from) => found.add_source(&name.value, from, roots),
        }
    }
    found
}

impl ProviderArguments {
    fn add_value(&mut self, name: &str, value: &Dynamic, scope: &MapScope) {
        match value.render(scope, &mut Fuel::default()) {
            Ok(Outcome::Value(value)) => drop(self.with.insert(name.to_owned(), value)),
            Ok(Outcome::Omit) => self.left_out.push(name.to_owned()),
            Err(error) if error.kind.is_missing() => {
                let sources = value.exprs();
                self.prompts.extend(sources.iter().map(|one| one.expr.source().to_owned()));
            }
            Err(error) => self.broken.push(format!("`{name}`: {error}")),
        }
    }

    fn add_source(&mut self, name: &str, from: &FromDoc, roots: &Map<String, Value>) {
        // What `provider_args` says of the same argument agrees with this, and this says more.
        self.with.remove(name);
        let root = from.from_input.as_ref().map(|input| ("inputs", &input.value));
        let root = root.or(from.from_step.as_ref().map(|step| ("steps", &step.value)));
        let Some((root, key)) = root else { return };
        let path = from.path.as_deref().unwrap_or_default();
        // The output of a step is known once it ran, and inputs come before all steps.
        let value = roots.get(root).and_then(|values| values.get(key));
        if let Some(value) = value.and_then(|value| value.pointer(&pointer(path))) {
            self.with.insert(name.to_owned(), value.clone());
            return;
        }
        let path = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
        let source = format!("{root}.{key}{path}");
        self.prompts.retain(|prompt| *prompt != format!("{root}.{key}"));
        match on_missing(from) {
            Missing::Prompt => self.prompts.push(source),
            Missing::Skip => self.left_out.push(name.to_owned()),
            Missing::Fail => self.fails.push(source),
        }
    }
}

/// What happens without a value: what is said, else a person is asked for what is needed.
fn on_missing(from: &FromDoc) -> Missing {
    let unsaid = if from.required == Some(false) { Missing::Skip } else { Missing::Prompt };
    from.on_missing.unwrap_or(unsaid)
}

/// `a.b.0` and `/a/b/0` are the same place.
pub(crate) fn pointer(path: &str) -> String {
    match path {
        "" => String::new(),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("/{}", path.replace('.', "/")),
    }
}

#[cfg(test)]
mod tests {
    use super::pointer;

    #[test]
    fn both_ways_to_write_a_path_are_one() {
        for (path, expected) in [("", ""), ("a", "/a"), ("a.b.0", "/a/b/0"), ("/a/b", "/a/b")] {
            assert_eq!(pointer(path), expected);
        }
    }
}
