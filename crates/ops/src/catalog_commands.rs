//! Answers the questions that validation asks about catalogs: whether a command exists, and which
//! arguments it accepts.

use std::sync::{Arc, Mutex, PoisonError};

use milepost_catalog::command::{ApiCommand, Content};
use milepost_catalog::schema::resolve;
use milepost_model::check::World;
use milepost_model::commands::{BodyInfo, CommandInfo, Commands, Effect, Lookup, Parameter};
use milepost_model::id::WorkflowId;
use milepost_model::suggest;
use milepost_model::target::CommandId;
use milepost_model::workflow::{Spelling, Workflow};
use milepost_store::catalogs::CatalogRecord;

use crate::catalog_cache::LoadedCatalog;
use crate::prelude::*;

/// The catalogs and workflows available to a process.
#[derive(Debug)]
pub struct CatalogCommands {
    reader: Reader,
    consulted: Mutex<ConsultedCatalogs>,
}

/// The catalogs that lookups have used.
#[derive(Debug, Default)]
struct ConsultedCatalogs {
    catalogs: Vec<Arc<LoadedCatalog>>,
    /// Whether a lookup used anything other than catalog commands.
    more: bool,
}

impl CatalogCommands {
    /// The catalogs and workflows that a reader sees.
    pub fn of(reader: Reader) -> CatalogCommands {
        CatalogCommands { reader, consulted: Mutex::default() }
    }

    /// The catalogs that all lookups used; `None` if any lookup used something else.
    pub(crate) fn consulted(self) -> Option<Vec<Arc<CatalogRecord>>> {
        let ConsultedCatalogs { catalogs, more } =
            self.consulted.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!more).then(|| catalogs.iter().map(|loaded| Arc::clone(&loaded.record)).collect())
    }

    /// What every document is checked against, regardless of the caller.
    pub fn world(&self) -> World<'_> {
        World { commands: self, env_allow: None }
    }

    /// A workflow may be written before its catalog is imported, so only a likely typo is reported.
    fn no_catalog(&self, id: &CommandId) -> Lookup {
        let Ok(listing) = self.reader.shelf.listing() else { return Lookup::Unchecked };
        let enabled = listing.records.iter().filter(|record| record.enabled);
        let names: Vec<String> = enabled.map(|record| record.id.to_string()).collect();
        let words = names.iter().map(String::as_str);
        match suggest::nearest(id.group().as_str(), words) {
            Some(_) => Lookup::NoCatalog(names),
            None => Lookup::Unchecked,
        }
    }

    /// A command's catalog, or the result of the lookup if there is no usable catalog. A catalog is
    /// looked up only once, so that the whole document is checked against the same state.
    fn catalog(&self, id: &CommandId) -> Result<Arc<LoadedCatalog>, Lookup> {
        // Built-in commands are reserved for orchestrations.
        if id.group().as_str() == crate::author::builtin_command::GROUP {
            return Err(Lookup::NoCatalog(Vec::new()));
        }
        let is_it = |loaded: &&Arc<LoadedCatalog>| loaded.record.id == *id.group();
        if let Some(loaded) = locked(&self.consulted).catalogs.iter().find(is_it) {
            return Ok(Arc::clone(loaded));
        }
        let catalogs = &self.reader.shelf;
        match catalogs.known(id.group()) {
            Ok(Some(record)) if record.enabled => {
                catalogs.load(&record).map_err(|_| Lookup::Unchecked)
            }
            Ok(_) => Err(self.no_catalog(id)),
            Err(_) => Err(Lookup::Unchecked),
        }
    }
}

impl Commands for CatalogCommands {
    fn command(&self, id: &CommandId) -> Lookup {
        let found = self.catalog(id);
        let lookup = match &found {
            Ok(loaded) => of_loaded(loaded, id),
            Err(lookup) => lookup.clone(),
        };
        let mut noted = locked(&self.consulted);
        match found {
            Ok(loaded) if matches!(lookup, Lookup::Known(_)) => {
                if !noted.catalogs.iter().any(|known| Arc::ptr_eq(known, &loaded)) {
                    noted.catalogs.push(loaded);
                }
            }
            _ => noted.more = true,
        }
        lookup
    }

    fn workflow(&self, id: &WorkflowId) -> Lookup {
        locked(&self.consulted).more = true;
        let Ok(listing) = self.reader.listing() else { return Lookup::Unchecked };
        if listing.items.iter().any(|item| item.id == id.as_str()) {
            let entry = self.reader.workflow(id.as_str()).ok();
            let workflow = entry.as_ref().and_then(|entry| entry.document.workflow.as_ref());
            // A guide accepts any values as its context.
            let manifest = workflow.filter(|one| one.spelling == Spelling::Manifest);
            return manifest
                .map_or(Lookup::Unchecked, |one| Lookup::Known(Box::new(of_inputs(one))));
        }
        let names: Vec<String> =
            listing.items.iter().map(|item| format!("workflow {}", item.id)).collect();
        let words = names.iter().map(String::as_str);
        match suggest::nearest(&format!("workflow {id}"), words) {
            Some(_) => Lookup::NoCommand(names),
            // The workflow may be saved later, or elsewhere.
            None => Lookup::Unchecked,
        }
    }
}

fn of_loaded(loaded: &LoadedCatalog, id: &CommandId) -> Lookup {
    let Some(index) = loaded.find(id.name()) else {
        let all: Vec<String> =
            (0..loaded.table.rows.len()).map(|row| loaded.spelling(row)).collect();
        let near = suggest::closest(&id.to_string(), all.iter().map(String::as_str));
        let prefix = id.name().split(':').next().unwrap_or_default();
        let prefix = format!("{} {prefix}", id.group());
        let like = all.iter().map(String::as_str).filter(|name| name.starts_with(&prefix));
        let names = near.into_iter().chain(like).take(limits::SUGGESTED_COMMANDS);
        let names = names.map(str::to_owned).collect();
        return Lookup::NoCommand(names);
    };
    match loaded.prepared(index) {
        Ok(prepared) => Lookup::Known(Box::new(info(prepared.command()))),
        Err(_) => Lookup::Unchecked,
    }
}

/// A workflow that runs as a step takes its inputs as arguments.
fn of_inputs(workflow: &Workflow) -> CommandInfo {
    let parameters = workflow.inputs.0.iter().map(|(name, input)| {
        let kind = if input.takes_several() { "array" } else { input.input_type().name() };
        let mut schema = json!({"type": kind});
        if let Some(choices) = input.listed_choices().filter(|_| !input.takes_several()) {
            schema["enum"] = choices.iter().cloned().collect();
        }
        Parameter { name: name.value.clone(), required: input.is_required(), schema }
    });
    CommandInfo {
        parameters: parameters.collect(),
        body: None,
        response: None,
        // The effects of its steps are checked where they occur.
        effect: Effect::Read,
        may_repeat: true,
    }
}

fn info(command: &ApiCommand) -> CommandInfo {
    let twice = |name: &str| command.parameters.iter().filter(|one| one.name == name).count() > 1;
    let parameters = command.parameters.iter().map(|parameter| Parameter {
        // A name that occurs in several locations is prefixed with its location.
        name: match twice(&parameter.name) {
            true => format!("{}.{}", parameter.location.name(), parameter.name),
            false => parameter.name.clone(),
        },
        required: parameter.required,
        schema: at_hand(&parameter.schema, &command.defs),
    });
    let body = command.body.as_ref().map(|body| BodyInfo {
        required: body.required,
        schema: plainest(&body.contents)
            .map_or(Value::Bool(true), |content| at_hand(&content.schema, &command.defs)),
    });
    let success = command.responses.iter().find(|response| response.status.starts_with('2'));
    let response = success.and_then(|response| plainest(&response.contents)).map(|content| {
        let mut schema = content.schema.clone();
        if let (Value::Object(map), false) = (&mut schema, command.defs.is_empty()) {
            map.insert("$defs".to_owned(), Value::Object((*command.defs).clone()));
        }
        schema
    });
    CommandInfo {
        parameters: parameters.collect(),
        body,
        response,
        effect: command.effect,
        may_repeat: command.may_repeat,
    }
}

fn plainest(contents: &[Content]) -> Option<&Content> {
    let json = contents.iter().find(|content| content.media_type.contains("json"));
    json.or(contents.first())
}

/// A schema with its immediate references resolved, so that its type is visible.
fn at_hand(schema: &Value, defs: &Map<String, Value>) -> Value {
    let mut schema = resolve(schema, defs).clone();
    if let Value::Object(map) = &mut schema
        && let Some(Value::Object(properties)) = map.get_mut("properties")
    {
        for property in properties.values_mut() {
            *property = resolve(property, defs).clone();
        }
    }
    schema
}
