//! The contract for writing and running workflows, behind `rmcp`.
//!
//! ```text
//! bytes -> framing (pipe, HTTP) -> rmcp (revisions, peers, cancellation) -> WorkflowServer -> ops
//! ```
//!
//! One [`WorkflowServer`] serves all clients of a process; it holds no per-connection state. Tools,
//! resources and prompts come from the table of operations. Nothing here knows an operation by
//! name, unless the contract gives it a special meaning.

mod approvals;
mod call_tokens;
mod client;
mod drafts;
mod elicitation;
mod failure_counts;
mod follow_task;
mod handler;
mod problem_payload;
mod prompts;
mod resources;
mod shorten;
mod subscriptions;
mod suggested_call;
mod tasks;
mod tasks_2025_11;
mod tool_call;
mod tool_names;
mod tools;

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use milepost_model::wording::{Neutral, Wording};
use milepost_ops::{Operations, Profile, Tool};
use serde_json::Value;
use tokio::sync::watch;

pub(crate) use self::client::AtOnce;
pub use self::tool_names::ToolNaming;
use crate::guide::{Contract, Guides};
use crate::lock::lock;
use crate::version::Surface;
use approvals::Questions;
use call_tokens::CallTokens;
use drafts::ManifestDrafts;
use failure_counts::FailureCounts;
use follow_task::FollowedTasks;
use subscriptions::Subscriptions;
use suggested_call::Tools;
use tool_call::RoundState;

/// The argument that shows steps before they are due. It is not available in the `work` profile.
const DRY_RUN: &str = "dry_run";
/// All names of the argument that contains the source of a workflow.
const MANIFESTS: [&str; 3] = ["manifest", "content", "manifest_content"];

/// How a failed call is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorStyle {
    /// As a result marked as an error, because models read results.
    #[default]
    Result,
    /// As a JSON-RPC error with the same object as its data.
    JsonRpc,
}

/// How the contract is presented to clients.
#[derive(Debug, Clone, Copy)]
pub struct ToolStyle {
    /// Which tools are listed, and which contract the three shared names refer to.
    pub surface: Surface,
    /// Which set of tools is available to clients.
    pub profile: Profile,
    /// How tool names are written.
    pub spelling: ToolNaming,
    /// How failed calls are reported.
    pub errors: ErrorStyle,
    /// The wording of commands that a person types, for actions that no tool performs.
    pub typed: &'static dyn Wording,
}

impl ToolStyle {
    /// Whether a tool can be called, listed or not. The `work` profile has no tools that show the
    /// source of a workflow.
    fn has(self, tool: Tool) -> bool {
        self.profile > Profile::Work || tool.profile == Profile::Work
    }
}

impl Default for ToolStyle {
    fn default() -> ToolStyle {
        ToolStyle {
            surface: Surface::Workflows,
            profile: Profile::Full,
            spelling: ToolNaming::default(),
            errors: ErrorStyle::default(),
            typed: &Neutral,
        }
    }
}

/// The server for every client of a process: two contracts over one set of operations, the guides
/// and the workflows. Clones share the server.
#[derive(Clone)]
pub struct WorkflowServer {
    shared: Arc<Shared>,
    shown: Arc<Shown>,
}

/// How the server is presented to a client.
struct Shown {
    style: ToolStyle,
    tools: OnceLock<Vec<Value>>,
    instructions: OnceLock<String>,
}

impl Shown {
    fn new(style: ToolStyle) -> Arc<Shown> {
        Arc::new(Shown { style, tools: OnceLock::new(), instructions: OnceLock::new() })
    }
}

struct Shared {
    guides: Guides,
    /// Calls that were answered with a question, with the state of their rounds.
    rounds: CallTokens<RoundState>,
    questions: Questions,
    followed: FollowedTasks,
    subscriptions: Subscriptions,
    repeats: FailureCounts,
    drafts: ManifestDrafts,
    /// Whether the input has ended, in which case listeners stop.
    ended: watch::Sender<bool>,
    log: Mutex<Box<dyn Write + Send>>,
}

impl WorkflowServer {
    /// Creates a server for these operations; messages for the operator go to `log`.
    pub fn new(
        operations: Operations,
        style: ToolStyle,
        log: Box<dyn Write + Send>,
    ) -> WorkflowServer {
        let operations = operations.worded(Arc::new(Tools(style)));
        WorkflowServer {
            shown: Shown::new(style),
            shared: Arc::new(Shared {
                guides: Guides::new(operations),
                rounds: CallTokens::default(),
                questions: Questions::default(),
                followed: FollowedTasks::default(),
                subscriptions: Subscriptions::default(),
                repeats: FailureCounts::default(),
                drafts: ManifestDrafts::default(),
                ended: watch::Sender::new(false),
                log: Mutex::new(log),
            }),
        }
    }

    /// The same server for a client on the guide contract: names that exist in both contracts refer
    /// to the guides.
    pub(crate) fn beside_guides(&self) -> WorkflowServer {
        let style = ToolStyle { surface: Surface::Workflowlookup, ..self.style() };
        WorkflowServer { shared: Arc::clone(&self.shared), shown: Shown::new(style) }
    }

    fn style(&self) -> ToolStyle {
        self.shown.style
    }

    /// Instructions for the model on how to use the tools it has, with the names it sees.
    pub fn instructions(&self) -> &str {
        let style = self.style();
        match style.surface {
            Surface::Workflowlookup => self.shared.guides.instructions(),
            Surface::Auto | Surface::Workflows | Surface::All => {
                self.shown.instructions.get_or_init(|| tools::instructions(style))
            }
        }
    }

    /// The guide contract over the same operations.
    pub fn guides(&self) -> &Guides {
        &self.shared.guides
    }

    /// The tools as listed by `tools/list`.
    pub fn tools(&self) -> &[Value] {
        let style = self.style();
        self.shown.tools.get_or_init(|| {
            let ours = || tools::list(style.profile, style.spelling);
            match style.surface {
                Surface::Workflowlookup => self.shared.guides.listed(),
                Surface::All => [ours(), self.shared.guides.listed()].concat(),
                Surface::Auto | Surface::Workflows => ours(),
            }
        })
    }

    /// Stops all listeners when the input has ended, so that the server need not wait for them.
    pub(crate) fn end_listening(&self) {
        self.shared.ended.send_replace(true);
    }

    /// The operations that the tools call.
    pub fn operations(&self) -> &Operations {
        self.shared.guides.operations()
    }

    /// Whether the client has the `work` profile: it may only work on runs.
    pub(crate) fn only_works(&self) -> bool {
        self.style().profile == Profile::Work
    }

    /// Logs several lines for the operator.
    pub(crate) fn log_lines(&self, lines: &str) {
        lines.lines().for_each(|line| self.log(line));
    }

    /// Logs one line for the operator.
    fn log(&self, line: &str) {
        let mut log = lock(&self.shared.log);
        // A log that cannot be written must not prevent a client from getting its answer.
        let _ = log.write_all(format!("{}\n", line.replace(['\n', '\r'], " ")).as_bytes());
    }
}
