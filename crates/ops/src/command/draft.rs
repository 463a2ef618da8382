//! A request from arguments to what is shown of it: built once, whether it is sent or not.

use std::sync::Arc;

use milepost_catalog::command::ApiCommand;
use milepost_catalog::request::{self, Arguments, PreparedCommand};
use url::Url;

use super::run::{HeaderView, RequestView};
use crate::catalog_cache::LoadedCatalog;
use crate::catalog_client::{self, CatalogClient};
use crate::prelude::*;

/// A command, and all that its requests are made with.
pub(crate) struct CommandDraft {
    prepared: Arc<PreparedCommand>,
    pub(crate) sender: Arc<CatalogClient>,
    /// Where the command is reached: some are reached elsewhere than the rest of their API.
    base: Url,
}

/// A request as it is shown.
pub(crate) struct RequestPreview {
    pub(crate) shown: RequestView,
    /// The same as a `curl` command.
    pub(crate) curl: String,
    pub(crate) notes: Vec<String>,
}

impl CommandDraft {
    /// A command of a catalog and what sends it.
    pub(crate) fn of(
        loaded: &LoadedCatalog,
        row: usize,
        sender: Arc<CatalogClient>,
    ) -> Result<CommandDraft> {
        let prepared = loaded.prepared(row)?;
        let base = catalog_client::base_of(loaded, prepared.command())?;
        Ok(CommandDraft { prepared, sender, base })
    }

    /// The same for those who only look: there are no secrets behind it.
    pub(crate) fn unsent(
        reader: &Reader,
        loaded: &LoadedCatalog,
        row: usize,
    ) -> Result<CommandDraft> {
        let profile = crate::catalog::auth::profile(None)?;
        let sender = CatalogClient::unread(loaded, &reader.config()?, &profile)?;
        CommandDraft::of(loaded, row, Arc::new(sender))
    }

    pub(crate) fn command(&self) -> &ApiCommand {
        self.prepared.command()
    }

    /// The request, its files read.
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

    /// What is shown of a request: all of it, with marks in the place of secrets.
    pub(crate) fn drawn(&self, built: request::Request) -> Result<RequestPreview> {
        let shown = self.sender.preview(self.command(), &catalog_client::outgoing(&built))?;
        let notes = built.notes.iter().map(ToString::to_string).collect();
        let body = built.body.is_some().then(|| readable(&shown.body));
        // What is shown is what would be sent, marks and all: the `curl` line is made from it.
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
