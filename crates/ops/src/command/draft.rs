//! A request from arguments to what is shown of it: built once, whether it is sent or not.

use std::sync::Arc;

use milepost_catalog::command::Command;
use milepost_catalog::request::{self, Arguments, Prepared};
use milepost_model::problem::Problem;
use url::Url;

use super::run::{Header, Shown};
use crate::call::Call;
use crate::problems;
use crate::reader::Reader;
use crate::send::{self, Sender};
use crate::shelf::Loaded;

/// A command, and all that its requests are made with.
pub(crate) struct Draft {
    prepared: Arc<Prepared>,
    pub(crate) sender: Arc<Sender>,
    /// Where the command is reached: some are reached elsewhere than the rest of their API.
    base: Url,
}

/// A request as it is shown.
pub(crate) struct Drawn {
    pub(crate) shown: Shown,
    /// The same as a `curl` command.
    pub(crate) curl: String,
    pub(crate) notes: Vec<String>,
}

impl Draft {
    /// A command of a catalog and what sends it.
    pub(crate) fn of(loaded: &Loaded, row: usize, sender: Arc<Sender>) -> Result<Draft, Problem> {
        let prepared = loaded.prepared(row)?;
        let base = send::base_of(loaded, prepared.command(), &sender.base)?;
        Ok(Draft { prepared, sender, base })
    }

    /// The same for those who only look: there are no secrets behind it.
    pub(crate) fn unsent(reader: &Reader, loaded: &Loaded, row: usize) -> Result<Draft, Problem> {
        let profile = crate::catalog::auth::profile(None)?;
        let sender = Sender::unread(loaded, &reader.config()?, &profile)?;
        Draft::of(loaded, row, Arc::new(sender))
    }

    pub(crate) fn command(&self) -> &Command {
        self.prepared.command()
    }

    /// The request, its files read.
    pub(crate) fn build(
        &self,
        reader: &Reader,
        call: &dyn Call,
        arguments: &Arguments,
    ) -> Result<request::Request, Problem> {
        let built = self.prepared.build(&self.base, arguments);
        let mut built = built.map_err(|faults| problems::of_misuse(self.command(), &faults))?;
        if let Some(payload) = built.body.take() {
            built.body = Some(payload.with_files(|path| reader.file(path, call))?);
        }
        Ok(built)
    }

    /// What is shown of a request: all of it, with marks in the place of secrets.
    pub(crate) fn drawn(&self, built: request::Request) -> Result<Drawn, Problem> {
        let shown = self.sender.preview(self.command(), &send::outgoing(&built))?;
        let notes = built.notes.iter().map(ToString::to_string).collect();
        let body = built.body.is_some().then(|| readable(&shown.body));
        // What is shown is what would be sent, marks and all: the `curl` line is made from it.
        let mut as_shown = built;
        as_shown.url = shown.url.clone();
        as_shown.headers = shown
            .headers
            .iter()
            .filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"))
            .cloned()
            .collect();
        let curl = request::curl(&as_shown, &[]);
        let headers = shown.headers.into_iter().map(|(name, value)| Header { name, value });
        let shown = Shown {
            method: shown.method,
            url: shown.url.to_string(),
            headers: headers.collect(),
            body,
        };
        Ok(Drawn { shown, curl, notes })
    }
}

fn readable(body: &[u8]) -> String {
    match std::str::from_utf8(body) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("<{} bytes>", body.len()),
    }
}
