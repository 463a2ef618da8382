//! The arguments for an input's provider: literal values, values computed from other inputs, or
//! values taken from them through `depends_on`.

use milepost_model::expr::{Fuel, MapScope, Outcome};
use milepost_model::input::{ArgumentSource, FromDoc, Input, Missing};
use milepost_model::templated::Dynamic;

use crate::prelude::*;

/// The arguments for one provider call, including those that could not be determined.
#[derive(Debug, Default)]
pub(crate) struct ProviderArguments {
    /// The arguments to send.
    pub(crate) with: Map<String, Value>,
    /// Arguments that are omitted because their source has no value.
    pub(crate) left_out: Vec<String>,
    /// Sources, as written, for which a person must supply a value first.
    pub(crate) prompts: Vec<String>,
    /// Sources whose missing value keeps the run from starting.
    pub(crate) fails: Vec<String>,
    /// Errors in expressions that no further input could fix.
    pub(crate) broken: Vec<String>,
}

/// Evaluates the arguments for an input's provider against the known inputs and variables.
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
        // `depends_on` takes precedence over `provider_args` for the same argument: it is more
        // specific.
        self.with.remove(name);
        let root = from.from_input.as_ref().map(|input| ("inputs", &input.value));
        let root = root.or(from.from_step.as_ref().map(|step| ("steps", &step.value)));
        let Some((root, key)) = root else { return };
        let path = from.path.as_deref().unwrap_or_default();
        // Inputs are resolved before any step has run, so step outputs are still unknown.
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

/// What to do when the source has no value: `on_missing` if set; otherwise an optional argument is
/// skipped and a required one is prompted for.
fn on_missing(from: &FromDoc) -> Missing {
    let unsaid = if from.required == Some(false) { Missing::Skip } else { Missing::Prompt };
    from.on_missing.unwrap_or(unsaid)
}

/// Converts a dotted path to a JSON pointer: `a.b.0` and `/a/b/0` mean the same.
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
