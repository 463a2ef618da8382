//! The contract for writing and running workflows, behind `rmcp`.
//!
//! ```text
//! bytes -> edge (pipe, HTTP) -> rmcp (eras, peers, cancellation) -> Face -> ops
//! ```
//!
//! [`Face`] is one server for every client of a process: it holds no connection. What a tool, a
//! resource or a prompt is comes from the table of operations; nothing here knows one by name but
//! where the contract gives it a meaning of its own.

mod ask;
mod call;
mod changes;
mod confirm;
mod fulfil;
mod handler;
mod inline;
mod missing;
mod names;
mod next;
mod older;
mod payload;
mod prompts;
mod quick;
mod repeats;
mod resources;
mod tasks;
mod tools;

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use milepost_ops::{Operations, Profile};
use serde_json::Value;
use tokio::sync::watch;

pub use self::names::Spelling;
use crate::contract::Contract;
use crate::guide::Guides;
use crate::version::Surface;
use changes::Subscriptions;
use confirm::Confirmations;
use repeats::Repeats;

/// How a failed call is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Errors {
    /// As a result that says it is an error: models read results.
    #[default]
    Result,
    /// As a JSON-RPC error with the same object as its data.
    JsonRpc,
}

/// How the contract shows itself.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Which tools are listed, and what three names mean.
    pub surface: Surface,
    /// How many of the tools there are.
    pub profile: Profile,
    /// How they are spelled.
    pub spelling: Spelling,
    /// How failures are told.
    pub errors: Errors,
}

impl Default for Look {
    fn default() -> Look {
        Look {
            surface: Surface::Workflows,
            profile: Profile::Full,
            spelling: Spelling::default(),
            errors: Errors::default(),
        }
    }
}

/// The server for every client of a process.
#[derive(Clone)]
pub struct Face {
    shared: Arc<Shared>,
}

struct Shared {
    guides: Guides,
    look: Look,
    tools: OnceLock<Vec<Value>>,
    confirmations: Confirmations,
    subscriptions: Subscriptions,
    repeats: Repeats,
    /// Whether nobody is left to listen.
    ended: watch::Sender<bool>,
    log: Mutex<Box<dyn Write + Send>>,
}

impl std::fmt::Debug for Face {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Face").field("look", &self.shared.look).finish_non_exhaustive()
    }
}

impl Face {
    /// Over these operations; what people who run the server should know goes to `log`.
    pub fn new(operations: Operations, look: Look, log: Box<dyn Write + Send>) -> Face {
        operations.scattered();
        Face {
            shared: Arc::new(Shared {
                guides: Guides::new(operations),
                look,
                tools: OnceLock::new(),
                confirmations: Confirmations::default(),
                subscriptions: Subscriptions::default(),
                repeats: Repeats::default(),
                ended: watch::Sender::new(false),
                log: Mutex::new(log),
            }),
        }
    }

    /// How to use the tools, for the model.
    pub fn instructions(&self) -> &'static str {
        match self.shared.look.surface {
            Surface::Workflowlookup => self.shared.guides.instructions(),
            Surface::Auto | Surface::Workflows | Surface::All => {
                include_str!("instructions.md").trim_end()
            }
        }
    }

    /// The guide contract over the same operations.
    pub fn guides(&self) -> &Guides {
        &self.shared.guides
    }

    /// The tools as `tools/list` shows them.
    pub fn tools(&self) -> &[Value] {
        let look = self.shared.look;
        self.shared.tools.get_or_init(|| {
            let ours = || tools::list(look.profile, look.spelling);
            match look.surface {
                Surface::Workflowlookup => self.shared.guides.listed(),
                Surface::All => [ours(), self.shared.guides.listed()].concat(),
                Surface::Auto | Surface::Workflows => ours(),
            }
        })
    }

    /// The input has ended: whoever listens hears the last of it, so that nothing is left to wait
    /// for.
    pub(crate) fn end_listening(&self) {
        self.shared.ended.send_replace(true);
    }

    /// Takes up runs that nobody drives, for as long as the process lives.
    pub async fn tend_runs(&self) {
        self.operations().tend_runs().await;
    }

    fn operations(&self) -> &Operations {
        self.shared.guides.operations()
    }

    /// Whether the client is one that is only to work.
    pub(crate) fn only_works(&self) -> bool {
        self.shared.look.profile == Profile::Work
    }

    /// Lines for the people who run the server.
    pub(crate) fn log_lines(&self, lines: &str) {
        lines.lines().for_each(|line| self.log(line));
    }

    /// One line for the people who run the server.
    fn log(&self, line: &str) {
        let mut log = self.shared.log.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written must not keep a client from its answer.
        let _ = log.write_all(format!("{}\n", line.replace(['\n', '\r'], " ")).as_bytes());
    }
}
