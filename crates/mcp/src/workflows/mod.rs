//! The contract for writing and running workflows, behind `rmcp`.
//!
//! ```text
//! bytes -> framing (pipe, HTTP) -> rmcp (eras, peers, cancellation) -> WorkflowServer -> ops
//! ```
//!
//! [`WorkflowServer`] is one server for every client of a process: it holds no connection. What a
//! tool, a resource or a prompt is comes from the table of operations; nothing here knows one by
//! name but where the contract gives it a meaning of its own.

mod act;
mod approve;
mod ask;
mod at_once;
mod blocks;
mod call;
mod changes;
mod client;
mod confirm;
mod follow_task;
mod handler;
mod input_form;
mod instructions;
mod names;
mod next;
mod payload;
mod prompts;
mod repeats;
mod resources;
mod shorten;
mod tasks;
mod tasks_2025_11;
mod tools;

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use milepost_metrics::Journal;
use milepost_model::wording::{Neutral, Wording};
use milepost_ops::{Operations, Profile, Tool};
use serde_json::Value;
use tokio::sync::watch;

pub(crate) use self::at_once::AtOnce;
pub use self::names::Spelling;
use crate::contract::Contract;
use crate::guide::Guides;
use crate::version::Surface;
use act::Round;
use approve::Questions;
use blocks::Drafts;
use changes::Subscriptions;
use confirm::Tokens;
use follow_task::Followed;
use next::Tools;
use repeats::Repeats;

/// The argument that shows steps before they are due: not for whoever is only to work.
const DRY_RUN: &str = "dry_run";
/// The arguments that are the text of a workflow, in every spelling.
const MANIFESTS: [&str; 3] = ["manifest", "content", "manifest_content"];

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
    /// How a person types what there is no tool for.
    pub typed: &'static dyn Wording,
}

impl Look {
    /// Whether a tool can be called, listed or not. Whoever is only to work calls nothing that
    /// shows the text of a workflow.
    fn has(self, tool: Tool) -> bool {
        self.profile > Profile::Work || tool.profile == Profile::Work
    }
}

impl Default for Look {
    fn default() -> Look {
        Look {
            surface: Surface::Workflows,
            profile: Profile::Full,
            spelling: Spelling::default(),
            errors: Errors::default(),
            typed: &Neutral,
        }
    }
}

/// The server for every client of a process: two tables over one set of operations, the guides and
/// the workflows. Clones are the same server.
#[derive(Clone)]
pub struct WorkflowServer {
    shared: Arc<Shared>,
    shown: Arc<Shown>,
}

/// How the server shows itself to a client.
struct Shown {
    look: Look,
    tools: OnceLock<Vec<Value>>,
    instructions: OnceLock<String>,
}

impl Shown {
    fn new(look: Look) -> Arc<Shown> {
        Arc::new(Shown { look, tools: OnceLock::new(), instructions: OnceLock::new() })
    }
}

struct Shared {
    guides: Guides,
    /// Yeses that a model may carry, each with its question.
    confirmations: Tokens<String>,
    /// Calls that are asked something in the place of an answer.
    rounds: Tokens<Round>,
    questions: Questions,
    followed: Followed,
    subscriptions: Subscriptions,
    repeats: Repeats,
    drafts: Drafts,
    /// Whether nobody is left to listen.
    ended: watch::Sender<bool>,
    log: Mutex<Box<dyn Write + Send>>,
}

impl std::fmt::Debug for WorkflowServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkflowServer").field("look", &self.shown.look).finish_non_exhaustive()
    }
}

impl WorkflowServer {
    /// Over these operations; what people who run the server should know goes to `log`.
    pub fn new(operations: Operations, look: Look, log: Box<dyn Write + Send>) -> WorkflowServer {
        operations.scattered();
        let operations = operations.worded(Arc::new(Tools(look)));
        WorkflowServer {
            shown: Shown::new(look),
            shared: Arc::new(Shared {
                guides: Guides::new(operations),
                confirmations: Tokens::default(),
                rounds: Tokens::default(),
                questions: Questions::default(),
                followed: Followed::default(),
                subscriptions: Subscriptions::default(),
                repeats: Repeats::default(),
                drafts: Drafts::default(),
                ended: watch::Sender::new(false),
                log: Mutex::new(log),
            }),
        }
    }

    /// The same server for a client of the guides: names that both tables have are theirs.
    pub(crate) fn beside_guides(&self) -> WorkflowServer {
        let look = Look { surface: Surface::Workflowlookup, ..self.look() };
        WorkflowServer { shared: Arc::clone(&self.shared), shown: Shown::new(look) }
    }

    fn look(&self) -> Look {
        self.shown.look
    }

    /// Calls come in elsewhere than at the guides from here on, or runs go on by themselves.
    pub(crate) fn opens(&self) {
        self.shared.guides.open_other_doors();
    }

    /// How to use the tools, for the model: those that it has, under the names that it sees.
    pub fn instructions(&self) -> &str {
        let look = self.look();
        match look.surface {
            Surface::Workflowlookup => self.shared.guides.instructions(),
            Surface::Auto | Surface::Workflows | Surface::All => {
                self.shown.instructions.get_or_init(|| instructions::of(look))
            }
        }
    }

    /// The guide contract over the same operations.
    pub fn guides(&self) -> &Guides {
        &self.shared.guides
    }

    /// The tools as `tools/list` shows them.
    pub fn tools(&self) -> &[Value] {
        let look = self.look();
        self.shown.tools.get_or_init(|| {
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

    /// Whether runs can be read.
    pub(crate) async fn is_healthy(&self) -> bool {
        self.operations().is_healthy().await
    }

    /// How all runs stand, unless they cannot be read.
    pub(crate) async fn standing(&self) -> Option<Journal> {
        self.operations().standing().await.ok()
    }

    /// Whether there have ever been runs. Looking creates nothing.
    pub fn has_runs(&self) -> bool {
        self.operations().has_runs()
    }

    /// Takes up runs that nobody drives, for as long as the process lives.
    pub async fn tend_runs(&self) {
        self.opens();
        self.operations().tend_runs().await;
    }

    /// Lets go of the runs that this process drives, before it ends.
    pub async fn finish_runs(&self) {
        self.operations().finish_runs().await;
    }

    fn operations(&self) -> &Operations {
        self.shared.guides.operations()
    }

    /// Whether the client is one that is only to work.
    pub(crate) fn only_works(&self) -> bool {
        self.look().profile == Profile::Work
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
