//! Whether a step's output can have a path, based on its contract, its schema, or the values it
//! sets.

use serde_json::Value;

use crate::check::Checker;
use crate::commands::Lookup;
use crate::expr::{InferredKind, Segment, SegmentKind};
use crate::step::{Action, FieldType, OutputContract, Step};
use crate::target::Target;

/// The result of following a path.
pub(crate) enum PathCheck {
    Possible,
    /// The segment at `index` is not one of the declared `names`. If `certain`, it cannot exist at
    /// all; otherwise the schema allows it.
    Missing {
        index: usize,
        names: Vec<String>,
        certain: bool,
    },
}

impl PathCheck {
    fn ruled_out(index: usize, names: Vec<String>) -> PathCheck {
        PathCheck::Missing { index, names, certain: true }
    }
}

impl Checker<'_> {
    /// Follows a path through a step's output; `None` if nothing is known about the output.
    pub(crate) fn output_path(&self, step: &Step, path: &[Segment]) -> Option<PathCheck> {
        // A step with `for_each` yields a list of outputs, so the path starts with an index.
        let start = usize::from(step.for_each.is_some());
        if start == 1 && path.first()?.field().is_some() {
            return Some(PathCheck::ruled_out(0, vec![]));
        }
        let first = path.get(start)?;
        if let Some(contract) = &step.output_contract {
            return Some(by_contract(contract, path, start));
        }
        if let Action::Set(values) = &step.action {
            let known = first.field().is_some_and(|name| values.get(name).is_some());
            let names = || values.names().map(str::to_owned).collect();
            return Some(match known {
                true => PathCheck::Possible,
                false => PathCheck::ruled_out(start, names()),
            });
        }
        let schema = self.output_schema(step)?;
        Some(walk(&schema, &schema, path, start))
    }

    /// The kind of a field in a step's output, according to its contract or schema.
    pub(crate) fn output_kind(&self, step: &Step, field: Option<&str>) -> InferredKind {
        let Some(field) = field.filter(|_| step.for_each.is_none()) else {
            return InferredKind::Unknown;
        };
        if let Some(contract) = &step.output_contract {
            let found = contract.fields.iter().find(|one| one.name.value == field);
            let kind = found.and_then(|field| field.kind);
            return kind.map_or(InferredKind::Unknown, |kind| kind_named(kind.name()));
        }
        let schema = self.output_schema(step);
        let property = schema.as_ref().and_then(|schema| {
            let properties = resolve(schema, schema).get("properties")?;
            Some(resolve(properties.get(field)?, schema))
        });
        let name = property.and_then(|property| property.get("type")).and_then(Value::as_str);
        name.map_or(InferredKind::Unknown, kind_named)
    }

    /// The schema of a step's output, from its prompt or its command.
    fn output_schema(&self, step: &Step) -> Option<Value> {
        match &step.action {
            Action::Prompt(prompt) => Some(prompt.output_schema.as_ref()?.value.clone()),
            Action::Run(run) => match &run.target.value {
                Target::Command(command) => match self.world.commands.command(command) {
                    Lookup::Known(info) => info.response,
                    _ => None,
                },
                Target::Workflow(_) => None,
            },
            _ => None,
        }
    }
}

/// The kind of value that a schema's type name denotes.
pub(crate) fn kind_named(name: &str) -> InferredKind {
    match name {
        "string" => InferredKind::String,
        "number" | "integer" => InferredKind::Number,
        "boolean" => InferredKind::Bool,
        "array" => InferredKind::List,
        "object" => InferredKind::Map,
        "null" => InferredKind::Null,
        _ => InferredKind::Unknown,
    }
}

fn by_contract(contract: &OutputContract, path: &[Segment], index: usize) -> PathCheck {
    let name = path[index].field();
    let found = contract.fields.iter().find(|field| Some(field.name.value.as_str()) == name);
    let Some(field) = found else {
        let names = contract.fields.iter().map(|field| field.name.value.clone()).collect();
        return PathCheck::ruled_out(index, names);
    };
    let scalar = matches!(
        field.kind,
        Some(FieldType::String | FieldType::Number | FieldType::Integer | FieldType::Boolean)
    );
    if scalar && path.len() > index + 1 {
        return PathCheck::ruled_out(index + 1, vec![]);
    }
    PathCheck::Possible
}

/// Follows a path through a JSON Schema.
pub(crate) fn walk(schema: &Value, root: &Value, path: &[Segment], index: usize) -> PathCheck {
    let Some(segment) = path.get(index) else { return PathCheck::Possible };
    let schema = resolve(schema, root);
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(branches) = schema.get(key).and_then(Value::as_array) {
            return best(branches.iter().map(|branch| walk(branch, root, path, index)));
        }
    }
    match &segment.kind {
        SegmentKind::Dynamic => PathCheck::Possible,
        SegmentKind::Index(_) => {
            if !allows(schema, "array") {
                return PathCheck::ruled_out(index, vec![]);
            }
            match schema.get("items") {
                Some(items) => walk(items, root, path, index + 1),
                None => PathCheck::Possible,
            }
        }
        SegmentKind::Field(name) => field(schema, root, name, path, index),
    }
}

fn field(schema: &Value, root: &Value, name: &str, path: &[Segment], index: usize) -> PathCheck {
    if !allows(schema, "object") {
        return PathCheck::ruled_out(index, vec![]);
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return PathCheck::Possible;
    };
    if let Some(inner) = properties.get(name) {
        return walk(inner, root, path, index + 1);
    }
    let names: Vec<String> = properties.keys().cloned().collect();
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => PathCheck::ruled_out(index, names),
        Some(inner @ Value::Object(_)) => walk(inner, root, path, index + 1),
        _ => PathCheck::Missing { index, names, certain: false },
    }
}

/// The most permissive result of several branches, since any of them may apply.
fn best(checks: impl Iterator<Item = PathCheck>) -> PathCheck {
    checks
        .min_by_key(|check| match check {
            PathCheck::Possible => 0,
            PathCheck::Missing { certain, .. } => 1 + u8::from(*certain),
        })
        .unwrap_or(PathCheck::Possible)
}

fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => true,
    }
}

/// Follows local references, a bounded number of times.
fn resolve<'v>(schema: &'v Value, root: &'v Value) -> &'v Value {
    let mut schema = schema;
    for _ in 0..64 {
        let target = schema.get("$ref").and_then(Value::as_str);
        match target.and_then(|target| target.strip_prefix('#')).and_then(|p| root.pointer(p)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}
