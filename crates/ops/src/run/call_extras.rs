//! What is added to a run's requests when they are sent: credentials, other secrets and files. A
//! person who approves a request is shown it, and it is compared again before the request is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milepost_catalog::request::{Payload, Piece};
use milepost_engine::command::StepCall;
use milepost_engine::event::{CallExtras, UsedFile, UsedSecret};
use milepost_engine::ports::RunContext;
use milepost_model::document::hex;
use milepost_model::secret::Secret;
use milepost_model::step::Action;
use milepost_model::target::Target;
use milepost_store::catalogs::ProfileName;
use milepost_store::secrets::{SecretCodes, SecretName};
use sha2::{Digest, Sha256};
use url::Origin;

use super::request_sender::{CatalogSender, DraftedRequest};
use super::secret_placeholders::SecretPlaceholders;
use crate::author::builtin_command::BuiltinCommand;
use crate::catalog_cache::LoadedCatalog;
use crate::catalog_client;
use crate::command;
use crate::prelude::*;

/// The files of a request, in the order in which they are read.
#[derive(Debug, Default)]
pub(crate) struct UsedFiles(Vec<UsedFile>);

impl UsedFiles {
    /// Records a file, with its contents if they could be read.
    pub(super) fn add(&mut self, path: &str, contents: Option<&[u8]>) {
        self.0.push(UsedFile {
            path: path.to_owned(),
            bytes: contents.map_or(0, |contents| contents.len() as u64),
            sha256: contents.map(|contents| hex(&Sha256::digest(contents))),
        });
    }
}

impl CatalogSender {
    /// What would be added to a step's request now.
    pub(super) fn extras_now(&self, context: &RunContext, call: &StepCall) -> CallExtras {
        if BuiltinCommand::of(&call.command).is_some() {
            return CallExtras::default();
        }
        // A request that cannot be built is not shown, and not sent.
        let Ok(drafted) = self.draft(call) else { return CallExtras::default() };
        let mut files = UsedFiles::default();
        for piece in drafted.built.body.as_ref().map_or_else(Vec::new, Payload::pieces) {
            if let Piece::File(path) = piece {
                let contents = self.writer().reader.file(path, &SilentCaller).ok();
                files.add(path, contents.as_deref());
            }
        }
        self.extras_with(context, call, &drafted, files)
    }

    /// What is added to a request whose files have been read.
    pub(super) fn extras_with(
        &self,
        context: &RunContext,
        call: &StepCall,
        drafted: &DraftedRequest,
        files: UsedFiles,
    ) -> CallExtras {
        let loaded = &drafted.loaded;
        let mut secrets = Vec::new();
        for (place, value) in places(call) {
            for name in SecretPlaceholders(context.nonce.clone()).names(value) {
                secrets.push((name, place.clone()));
            }
        }
        // A mock is sent no credentials.
        if !context.mock {
            secrets.extend(self.credentials(loaded, drafted.prepared.command()));
        }
        let origin = drafted.built.url.origin();
        let secrets = self.coded(context, secrets.into_iter().map(|used| (used, origin.clone())));
        profiled(CallExtras { secrets, files: files.0, ..CallExtras::default() })
    }

    /// The secrets that a catalog's credentials consist of, and where they are written.
    fn credentials(
        &self,
        loaded: &Arc<LoadedCatalog>,
        command: &milepost_catalog::command::ApiCommand,
    ) -> Vec<(String, String)> {
        // Without usable credentials, sending reports the problem.
        let sender = command::run::sender(self.writer(), loaded, None);
        sender.map(|sender| sender.credential_uses(command)).unwrap_or_default()
    }

    /// Adds the codes of the values to secrets, each with the origin that it goes to.
    fn coded(
        &self,
        context: &RunContext,
        secrets: impl Iterator<Item = ((String, String), Origin)>,
    ) -> Vec<UsedSecret> {
        let mut secrets = secrets.peekable();
        // A mock is sent no value.
        let is_needed = secrets.peek().is_some() && !context.mock;
        let codes = is_needed.then(|| SecretCodes::open(&self.writer().reader.locations.data));
        let codes = codes.and_then(|opened| {
            let failed = |error: &_| tracing::warn!(%error, "secrets are compared by name only");
            opened.inspect_err(failed).ok()
        });
        let used = secrets.map(|((name, place), origin)| {
            let value = || self.value_now(context, &name, &origin);
            let code = codes.as_ref().and_then(|codes| Some(codes.of(&value()?)));
            UsedSecret { name, place, code }
        });
        used.collect()
    }

    /// The current value of a secret, whether or not it may be sent.
    fn value_now(&self, context: &RunContext, name: &str, origin: &Origin) -> Option<Secret> {
        if let Some(own) = self.own(context, name) {
            return own.ok();
        }
        self.writer().vault().ok()?.get_for(&SecretName::parse(name).ok()?, origin).ok()
    }

    /// The requests that a workflow, and every workflow it runs, may send, with the credentials
    /// that they would be sent with.
    pub(super) fn child_extras_now(&self, context: &RunContext, workflow: &str) -> CallExtras {
        let (mut targets, mut secrets) = (BTreeSet::new(), BTreeMap::new());
        let mut add = |target: &Target| {
            let Target::Command(command) = target else { return };
            let Ok((loaded, row)) = self.command(&command.to_string()) else { return };
            let Ok(prepared) = loaded.prepared(row) else { return };
            let command = prepared.command();
            let base = catalog_client::base_of(&loaded, command);
            let base = base.map(|base| base.as_str().trim_end_matches('/').to_owned());
            let base = base.unwrap_or_default();
            targets.insert(format!("{} {base}{}", command.method.name(), command.path));
            let origin = catalog_client::base(&loaded.record).map(|base| base.origin());
            if let Ok(origin) = origin {
                secrets.extend(self.credentials(&loaded, command).into_iter().map(|used| {
                    let key = (used.clone(), origin.ascii_serialization());
                    (key, (used, origin.clone()))
                }));
            }
        };
        for compiled in self.place.workflows_below(workflow) {
            for step in compiled.workflow.all_steps() {
                match &step.action {
                    Action::Run(run) => add(&run.target.value),
                    Action::Prompt(prompt) => {
                        prompt.verify.iter().for_each(|verify| add(&verify.run.value));
                    }
                    Action::Approve(_)
                    | Action::Wait(_)
                    | Action::Set(_)
                    | Action::Fail(_)
                    | Action::Loop(_) => {}
                }
            }
        }
        let secrets = secrets.into_values().filter(|_| !context.mock);
        let (secrets, targets) = (self.coded(context, secrets), targets.into_iter().collect());
        profiled(CallExtras { secrets, targets, ..CallExtras::default() })
    }
}

/// The arguments of a call, with where each is written.
fn places(call: &StepCall) -> impl Iterator<Item = (String, &Value)> {
    let with = call.with.iter().map(|(name, value)| (format!("argument {name}"), value));
    let body = call.body.iter().map(|value| ("body".to_owned(), value));
    let headers = call.headers.iter().map(|(name, value)| (format!("header {name}"), value));
    with.chain(body).chain(headers)
}

/// Names the profile of the credentials, if there are any.
fn profiled(extras: CallExtras) -> CallExtras {
    let profile = match extras.secrets.is_empty() {
        true => String::new(),
        false => ProfileName::default().as_str().to_owned(),
    };
    CallExtras { profile, ..extras }
}
