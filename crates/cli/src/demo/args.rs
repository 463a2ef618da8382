//! The arguments of `milepost demo`, and the content of each demo.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Show only this demo [default: the first three]
    #[arg(value_enum, conflicts_with = "command")]
    pub(crate) name: Option<DemoName>,
    /// Answer yes to every question, for scripts
    #[arg(short, long, conflicts_with = "command")]
    pub(crate) yes: bool,
    /// Run a command in the last demo's folder
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoName {
    /// Reads, a loop and a condition
    OrderHealth,
    /// A write that waits for approval
    RefundWithApproval,
    /// A failure, and what a resume repeats
    FlakySync,
    /// Steps for an agent, hidden until they are next
    TriageBug,
    /// What an agent cannot get away with
    RogueAgent,
}

/// What a demo shows.
pub(super) struct DemoText {
    /// The file name and the source of the demo's workflow.
    pub(super) workflow: (&'static str, &'static str),
    pub(super) title: &'static str,
    pub(super) point: &'static str,
}

impl DemoName {
    pub(super) fn text(self) -> DemoText {
        macro_rules! file {
            ($name:literal) => {
                ($name, include_str!(concat!("../../../../examples/demo/", $name)))
            };
        }
        let (workflow, title, point) = match self {
            DemoName::OrderHealth => (
                file!("order-health.yaml"),
                "How do the latest orders look?",
                "Four steps: a list, a loop over it, a sum, and a reminder if an order is unpaid.",
            ),
            DemoName::RefundWithApproval => (
                file!("refund-with-approval.yaml"),
                "A refund that needs approval",
                "The write waits for an approval, which shows exactly what will be sent.",
            ),
            DemoName::FlakySync => (
                file!("flaky-sync.yaml"),
                "An API that fails midway",
                "The last request gets a 503. Everything done before it is kept.",
            ),
            DemoName::TriageBug => (
                file!("triage-bug.yaml"),
                "Steps for an agent",
                "The second step stays hidden until the first is done, and both are checked.",
            ),
            DemoName::RogueAgent => (
                file!("rogue-agent.yaml"),
                "What an agent cannot get away with",
                "A script plays an agent that skips steps, claims to be done and makes things up. \
                 Each attempt is refused with a reason; the engine checks for itself.",
            ),
        };
        DemoText { workflow, title, point }
    }
}
