//! Turns arguments into a request, and a request into its preview. A request is built in the same
//! way whether it is sent or not.

use std::sync::Arc;

use milepost_catalog::command::ApiCommand;
use milepost_catalog::request::{self, Arguments, PreparedCommand};
use url::Url;

use super::run::{HeaderView, RequestView};
use crate::catalog_cache::LoadedCatalog;
use crate::catalog_client::{self, CatalogClient};
use crate::prelude::*;

/// A command, and everything its requests are built from.
pub(crate) struct CommandDraft {
    prepared: Arc<PreparedCommand>,
    pub(crate) sender: Arc<CatalogClient>,
    /// The command's base URL, which may differ from that of the rest of its API.
    base: Url,
}

/// A request as shown to the caller.
pub(crate) struct RequestPreview {
    pub(crate) shown: RequestView,
    /// The request as a `curl` command.
    pub(crate) curl: String,
    pub(crate) notes: Vec<String>,
}

impl CommandDraft {
    /// A draft for a command, with the client that sends it.
    pub(crate) fn of(
        loaded: &LoadedCatalog,
        row: usize,
        sender: Arc<CatalogClient>,
    ) -> Result<CommandDraft> {
        let prepared = loaded.prepared(row)?;
        let base = catalog_client::base_of(loaded, prepared.command())?;
        Ok(CommandDraft { prepared, sender, base })
    }

    /// Like [`CommandDraft::of`], for previews only: the client has no secrets.
    pub(crate) fn unsent(
        reader: &Reader,
        loaded: &LoadedCatalog,
        row: usize,
        profile: Option<&str>,
    ) -> Result<CommandDraft> {
        let profile = crate::catalog::auth::profile(profile)?;
        let (live, config) = (&loaded.record, reader.config()?);
        let sender = CatalogClient::open(loaded, live, &config, None, &profile)?;
        CommandDraft::of(loaded, row, Arc::new(sender))
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    pub(crate) fn command(&self) -> &ApiCommand {
        self.prepared.command()
    }

    /// Builds the request and reads its files.
    pub(crate) fn build(
        &self,
        reader: &Reader,
        call: &dyn Caller,
        arguments: &Arguments,
    ) -> Result<request::Request> {
        let built = self.prepared.build(&self.base, arguments);
        let mut built = built.map_err(|faults| problems::of_misuse(self.command(), &faults))?;
        if let Some(payload) = built.body.take() {
            built.body = Some(payload.with_files(|path| reader.file(path, call))?);
        }
        Ok(built)
    }

    /// The preview of a request: complete, with placeholders for secrets.
    pub(crate) fn drawn(&self, built: request::Request) -> Result<RequestPreview> {
        let shown = self.sender.preview(self.command(), &catalog_client::outgoing(&built))?;
        let notes = built.notes.iter().map(ToString::to_string).collect();
        let body = built.body.is_some().then(|| readable(&shown.body));
        // The `curl` command is built from what is shown, including the placeholders.
        let mut as_shown = built;
        as_shown.url = shown.url.clone();
        as_shown.headers.clone_from(&shown.headers);
        as_shown.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        let curl = request::curl(&as_shown, &[]);
        let headers = shown.headers.into_iter().map(|(name, value)| HeaderView { name, value });
        let shown = RequestView {
            method: shown.method,
            url: shown.url.to_string(),
            headers: headers.collect(),
            body,
        };
        Ok(RequestPreview { shown, curl, notes })
    }
}

fn readable(body: &[u8]) -> String {
    match std::str::from_utf8(body) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("<{} bytes>", body.len()),
    }
}
