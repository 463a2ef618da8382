//! Messages to a run, and its replies.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{Actor, Presence, Proof, Resumption, Settlement, SubmissionIssue};
use crate::{Failure, StepKey};

/// A message to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum Signal {
    /// An agent submits its output, adds variables, or both.
    Submit(SubmissionSignal),
    /// A person answers an approval request.
    Decide(DecisionSignal),
    /// A person decides the outcome of a step.
    Settle {
        key: StepKey,
        /// The sequence number of the event that left the outcome open, so that a late or repeated
        /// message does not settle the next attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<u64>,
        by: Actor,
        decision: Settlement,
        /// How the person proved their presence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
    },
    /// Cancels the run.
    Cancel {
        by: Actor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Stops the run from starting new work.
    Pause { by: Actor },
    /// Ends a pause.
    Unpause { by: Actor },
    /// Resumes the run; the sender planned the resumption based on the state after `seq`.
    Resume { seq: u64, resumption: Box<Resumption> },
    /// A child run has ended.
    ChildEnded {
        key: StepKey,
        run: String,
        outcome: crate::event::ChildOutcome,
        /// What the child has spent in total.
        #[serde(default, skip_serializing_if = "crate::BudgetUsage::is_nothing")]
        spent: crate::BudgetUsage,
        /// The writes in its bound that the child has made in total.
        #[serde(default, skip_serializing_if = "crate::effect_bound::WriteCounts::is_empty")]
        wrote: crate::effect_bound::WriteCounts,
    },
}

/// What an agent submits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubmissionSignal {
    /// The step; if absent, the one that is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The attempt number; if absent, the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The agent's output; absent if only variables are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Variables to add to the context.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    pub by: Actor,
}

/// A person's answer to an approval request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionSignal {
    pub key: StepKey,
    /// The digest of what was shown.
    pub digest: String,
    /// Whether the person approves.
    pub approve: bool,
    pub by: Actor,
    /// The person's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The person's answer, if there is a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// How the person proved their presence.
    pub presence: Presence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl DecisionSignal {
    /// The string to sign, which is valid only for this decision on this question in this run.
    pub fn signed_text(&self, run: &str) -> String {
        let word = if self.approve { "approve" } else { "reject" };
        let answer = self.answer.as_ref().map(ToString::to_string).unwrap_or_default();
        let comment = self.comment.as_deref().unwrap_or_default();
        let parts = [run, self.key.as_str(), &self.digest, word, comment, &answer];
        signed("decision", &parts)
    }
}

/// The string to sign when a person decides the outcome of a step. It is valid only for this
/// decision on this attempt in this run.
pub fn settled_text(run: &str, key: &StepKey, asked: Option<u64>, decision: &Settlement) -> String {
    let asked = asked.map(|seq| seq.to_string()).unwrap_or_default();
    let word = serde_json::to_string(decision).unwrap_or_default();
    signed("settlement", &[run, key.as_str(), &asked, &word])
}

/// The string to sign when a person decides how a run resumes. It is valid only for this resumption
/// of the run in its state after event `seq`.
pub fn resumed_text(run: &str, seq: u64, resumption: &Resumption) -> String {
    let bare = Resumption { proof: None, ..resumption.clone() };
    let word = serde_json::to_string(&bare).unwrap_or_default();
    signed("resumption", &[run, &seq.to_string(), &word])
}

/// Joins the parts unambiguously, so that no part can run into the next.
fn signed(kind: &str, parts: &[&str]) -> String {
    let lengths: Vec<String> = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    format!("milepost {kind}\n{}", lengths.join("\n"))
}

/// A run's reply to a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The message was accepted.
    Done,
    /// The submission was accepted.
    Accepted { key: StepKey },
    /// The submission was rejected.
    Rejected { key: StepKey, issues: Vec<SubmissionIssue>, attempts_left: u32 },
    /// The run itself starts no new work, but some of its child runs have not confirmed yet.
    Pausing { runs: Vec<String> },
    /// The message was refused and changed nothing.
    Refused { failure: Failure },
}
