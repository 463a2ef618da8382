//! Checks call arguments, reporting every fault at once and what to do about it.

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use jsonschema::{JsonType, Validator};
use milepost_model::problem::Argument;
use milepost_model::suggest;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};

use crate::prelude::*;

/// The schema of a type as shown to clients: self-contained, without Rust type names.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut generator = generator();
    let schema = generator.root_schema_for::<T>();
    client_schema(schema)
}

// Both functions are separate because `schema_of` is compiled for every type.
fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator()
}

fn client_schema(schema: Schema) -> Value {
    let mut schema = schema.to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description");
        object.entry("properties").or_insert_with(|| json!({}));
        object.entry("required").or_insert_with(|| json!([]));
    }
    plain(&mut schema);
    schema
}

/// Removes details that matter only in Rust: number widths, and null as the default of optional
/// values.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|key, value| match key.as_str() {
                "format" => !value.as_str().is_some_and(|name| name.starts_with("uint")),
                "default" => !value.is_null(),
                _ => true,
            });
            map.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// The arguments with long lists and objects truncated. Otherwise, each of a million wrong elements
/// would be reported separately.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().take(limits::ARGUMENT_ITEMS).map(shortened).collect(),
        Value::Object(map) => {
            let pairs = map.iter().take(limits::ARGUMENT_ITEMS);
            Value::Object(pairs.map(|(name, value)| (name.clone(), shortened(value))).collect())
        }
        other => other.clone(),
    }
}

/// Groups of synonyms. An operation uses at most one name from each group.
const SPELLINGS: &[&[&str]] =
    &[&["manifest", "content", "manifest_content"], &["run_id", "operation_id"]];

/// The expected arguments of one operation.
#[derive(Debug)]
pub(crate) struct ArgumentChecker {
    names: Vec<String>,
    optional: Vec<String>,
    validator: Option<Validator>,
}

impl ArgumentChecker {
    pub(crate) fn of(schema: &Value) -> ArgumentChecker {
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = properties.map(|map| map.keys().cloned().collect::<Vec<_>>());
        let names = names.unwrap_or_default();
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name.as_str()));
        let optional = names.iter().filter(|name| !is_required(name)).cloned().collect();
        ArgumentChecker { names, optional, validator: jsonschema::validator_for(schema).ok() }
    }

    /// Checks arguments. Null for an optional argument counts as omitted.
    pub(crate) fn check(&self, arguments: &mut Value) -> Result<()> {
        self.spell(arguments);
        let Some(validator) = &self.validator else { return Ok(()) };
        if let Some(map) = arguments.as_object_mut() {
            map.retain(|name, value| !value.is_null() || !self.optional.contains(name));
        }
        if let Some(escape) = path_escape(arguments) {
            let id = suggest::excerpt(escape);
            let message = format!("`{id}` is not an id: it would escape the directory");
            let hint = "use the id of a workflow, or of one of its steps";
            return Err(Problem::new(Code::IdInvalid, message, hint));
        }
        if validator.is_valid(arguments) {
            return Ok(());
        }
        let mut faults = Vec::new();
        for error in validator.iter_errors(&shortened(arguments)).take(limits::ARGUMENT_FAULTS) {
            self.explain(&error, &mut faults);
        }
        if faults.is_empty() {
            // The fault is in the truncated part.
            faults.push(Argument {
                rule: "schema",
                message: "an element near the end of a long list is not valid".to_owned(),
                expected: "elements that match the schema".to_owned(),
                actual: "an element that does not match".to_owned(),
                ..Argument::default()
            });
        }
        faults.truncate(limits::ARGUMENT_FAULTS);
        // Missing arguments come first, because they matter most.
        faults.sort_by_key(|fault| fault.rule != "required");
        Err(problem(faults))
    }

    /// Renames synonyms to the name that the operation uses. An argument given under two names is
    /// reported instead of being renamed.
    fn spell(&self, arguments: &mut Value) {
        let Some(map) = arguments.as_object_mut() else { return };
        for spellings in SPELLINGS {
            let is_known = |name: &&&str| self.names.iter().any(|known| known == **name);
            let mut known = spellings.iter().filter(is_known);
            let (Some(known), None) = (known.next(), known.next()) else { continue };
            if map.contains_key(*known) {
                continue;
            }
            if let Some(value) = spellings.iter().find_map(|name| map.remove(*name)) {
                map.insert((*known).to_owned(), value);
            }
        }
    }

    fn explain(&self, error: &ValidationError<'_>, faults: &mut Vec<Argument>) {
        let path = error.instance_path().to_string();
        let name = shown(&path);
        let fault = |rule, message: String, expected: String| Argument {
            path: path.clone(),
            rule,
            message,
            expected,
            actual: shown_value(error.instance()),
            ..Argument::default()
        };
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let property = property.as_str().unwrap_or_default();
                faults.push(Argument {
                    path: format!("{path}/{property}"),
                    rule: "required",
                    message: format!("{property} is required"),
                    expected: format!("`{property}`"),
                    actual: "missing".to_owned(),
                    ..Argument::default()
                });
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                faults.extend(unexpected.iter().map(|key| self.unknown(&path, key)));
            }
            ValidationErrorKind::Type { kind } => {
                let wanted = wanted_type(kind);
                faults.push(fault("type", format!("{name} must be {wanted}"), wanted));
            }
            ValidationErrorKind::MinLength { limit } => {
                let wanted = format!("at least {limit} characters");
                let message = match *limit {
                    1 => format!("{name} must not be empty"),
                    _ => format!("{name} must have {wanted}"),
                };
                faults.push(fault("minLength", message, wanted));
            }
            ValidationErrorKind::MaxLength { limit } => {
                let wanted = format!("at most {limit} characters");
                faults.push(fault("maxLength", format!("{name} must have {wanted}"), wanted));
            }
            ValidationErrorKind::Pattern { pattern } => {
                let wanted = format!("text that matches {pattern}");
                faults.push(fault("pattern", format!("{name} must be {wanted}"), wanted));
            }
            kind => faults.push(match allowed(kind).join(", ").as_str() {
                "" => fault("schema", format!("{name}: {error}"), "another value".into()),
                it => fault("enum", format!("{name} must be one of {it}"), format!("one of {it}")),
            }),
        }
    }

    fn unknown(&self, path: &str, key: &str) -> Argument {
        let known = self.names.iter().map(String::as_str);
        let near = suggest::closest(key, known.clone());
        let hint = near.map(|near| format!(": did you mean {near}?")).unwrap_or_default();
        let expected = match self.names.is_empty() {
            true => "no parameters".to_owned(),
            false => suggest::list(known),
        };
        Argument {
            path: format!("{path}/{key}"),
            rule: "additionalProperties",
            message: format!("{} is not a parameter{hint}", suggest::excerpt(key)),
            expected,
            actual: format!("`{}`", suggest::excerpt(key)),
            ..Argument::default()
        }
    }
}

/// The values that would have been accepted, if there is a list of them.
fn allowed(kind: &ValidationErrorKind) -> Vec<String> {
    match kind {
        ValidationErrorKind::Constant { expected_value } => vec![expected_value.to_string()],
        ValidationErrorKind::Enum { options } => {
            options.as_array().into_iter().flatten().map(ToString::to_string).collect()
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            context.iter().flatten().flat_map(|error| allowed(error.kind())).collect()
        }
        _ => Vec::new(),
    }
}

fn problem(faults: Vec<Argument>) -> Problem {
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let mut problem =
        Problem::new(Code::ParamsInvalid, messages.join("; "), "correct the parameters");
    problem.arguments = faults;
    problem
}

/// An id that tries to escape the directory.
fn path_escape(arguments: &Value) -> Option<&str> {
    let ids = ["id", "workflowId", "stepId", "currentStep"];
    let ids = ids.iter().filter_map(|name| arguments.get(name)?.as_str());
    let completed = arguments.get("completedSteps").and_then(Value::as_array);
    let completed = completed.into_iter().flatten().filter_map(Value::as_str);
    ids.chain(completed).find(|id| id.contains(['/', '\\', '\0']) || id.contains(".."))
}

fn shown(path: &str) -> String {
    match path.strip_prefix('/') {
        Some(path) => path.replace('/', "."),
        None => "params".to_owned(),
    }
}

fn wanted_type(kind: &TypeKind) -> String {
    let types: Vec<JsonType> = match kind {
        TypeKind::Single(one) => vec![*one],
        TypeKind::Multiple(set) => set.iter().collect(),
    };
    let article = |kind: JsonType| match kind {
        JsonType::Null => "null".to_owned(),
        JsonType::Array | JsonType::Object | JsonType::Integer => format!("an {kind}"),
        _ => format!("a {kind}"),
    };
    types.into_iter().map(article).collect::<Vec<_>>().join(" or ")
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::Object(map) if map.len() > 3 => "an object".to_owned(),
        other => suggest::excerpt(&other.to_string()),
    }
}
