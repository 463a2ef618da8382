//! What can be said about demos.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::args::Json;

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// One alone; otherwise the first three
    #[arg(value_enum, conflicts_with = "command")]
    pub(crate) name: Option<Name>,
    /// Say yes where somebody is asked, for scripts
    #[arg(long, conflicts_with = "command")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: Json,
    /// Run a command among the runs of the last demo
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Reads, a loop and a condition
    OrderHealth,
    /// A write that waits for a person
    RefundWithApproval,
    /// A failure, and what resuming repeats
    FlakySync,
    /// Steps for an agent, hidden until they are due
    TriageBug,
    /// What an agent cannot get away with
    RogueAgent,
}

impl Name {
    /// The file of its workflow, and what that says.
    pub(super) fn workflow(self) -> (&'static str, &'static str) {
        macro_rules! file {
            ($name:literal) => {
                ($name, include_str!(concat!("../../../../examples/demo/", $name)))
            };
        }
        match self {
            Name::OrderHealth => file!("order-health.yaml"),
            Name::RefundWithApproval => file!("refund-with-approval.yaml"),
            Name::FlakySync => file!("flaky-sync.yaml"),
            Name::TriageBug => file!("triage-bug.yaml"),
            Name::RogueAgent => file!("rogue-agent.yaml"),
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Name::OrderHealth => "How are the latest orders?",
            Name::RefundWithApproval => "A refund, if somebody agrees",
            Name::FlakySync => "An API that fails in the middle",
            Name::TriageBug => "Steps for an agent",
            Name::RogueAgent => "What an agent cannot get away with",
        }
    }

    /// What to look at.
    pub(super) fn point(self) -> &'static str {
        match self {
            Name::OrderHealth => {
                "Four steps: a list, a loop over it, a sum, and a reminder only if one is unpaid."
            }
            Name::RefundWithApproval => {
                "The write comes behind an approval, which shows exactly what will be sent."
            }
            Name::FlakySync => "The last request is answered with 503. Nothing before it is lost.",
            Name::TriageBug => {
                "The second step cannot be seen before the first is done, and both are checked."
            }
            Name::RogueAgent => {
                "A script plays an agent that skips, talks and makes things up. Each try is \
                 refused with the reason; the engine looks itself."
            }
        }
    }
}
