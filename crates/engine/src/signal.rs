//! What others tell a run, and what it answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{Actor, Presence, Proof, Resumption, Settlement, SubmissionIssue};
use crate::{Failure, StepKey};

/// Something that somebody tells a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum Signal {
    /// An agent hands in what it did, or adds variables, or both.
    Submit(SubmissionSignal),
    /// A person decides on a question.
    Decide(DecisionSignal),
    /// A person says what became of a step.
    Settle {
        /// The step.
        key: StepKey,
        /// The event that left it open, so that a word that comes late or twice does not settle
        /// what became of the next try.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<u64>,
        /// Who.
        by: Actor,
        /// What.
        decision: Settlement,
        /// How they showed to be there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
    },
    /// Somebody wants it to end.
    Cancel {
        /// Who.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nothing new begins.
    Pause { by: Actor },
    /// It goes on.
    Unpause { by: Actor },
    /// It goes on from somewhere; worked out by whoever asked, on the state after `seq`.
    Resume { seq: u64, resumption: Box<Resumption> },
    /// A run that this one started has ended.
    ChildEnded {
        /// The step.
        key: StepKey,
        /// The run.
        run: String,
        /// How.
        outcome: crate::event::ChildOutcome,
        /// What it spent from its beginning on.
        #[serde(default, skip_serializing_if = "crate::BudgetUsage::is_nothing")]
        spent: crate::BudgetUsage,
    },
}

/// What an agent hands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubmissionSignal {
    /// The step; the one that is due unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Which try; the one that is open unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What was done; nothing when only variables are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Variables.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// Who.
    pub by: Actor,
}

/// A person's yes or no.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionSignal {
    /// The question.
    pub key: StepKey,
    /// The digest of what was shown.
    pub digest: String,
    /// Yes or no.
    pub approve: bool,
    /// Who.
    pub by: Actor,
    /// What they say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Their answer, when there is a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// How they showed to be there.
    pub presence: Presence,
    /// The signature over the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl DecisionSignal {
    /// What is signed: this decision on this question of this run, and on nothing else.
    pub fn signed_text(&self, run: &str) -> String {
        let word = if self.approve { "approve" } else { "reject" };
        let answer = self.answer.as_ref().map(ToString::to_string).unwrap_or_default();
        let comment = self.comment.as_deref().unwrap_or_default();
        let parts = [run, self.key.as_str(), &self.digest, word, comment, &answer];
        signed("decision", &parts)
    }
}

/// What is signed when a person says what became of a step: this word on this try of this run.
pub fn settled_text(run: &str, key: &StepKey, asked: Option<u64>, decision: &Settlement) -> String {
    let asked = asked.map(|seq| seq.to_string()).unwrap_or_default();
    let word = serde_json::to_string(decision).unwrap_or_default();
    signed("settlement", &[run, key.as_str(), &asked, &word])
}

/// What is signed when a person decides how a run goes on: this resumption of the run as it stands
/// after this event.
pub fn resumed_text(run: &str, seq: u64, resumption: &Resumption) -> String {
    let bare = Resumption { proof: None, ..resumption.clone() };
    let word = serde_json::to_string(&bare).unwrap_or_default();
    signed("resumption", &[run, &seq.to_string(), &word])
}

/// A text of parts none of which runs into the next.
fn signed(kind: &str, parts: &[&str]) -> String {
    let lengths: Vec<String> = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    format!("milepost {kind}\n{}", lengths.join("\n"))
}

/// What a run answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It was taken in.
    Done,
    /// What was submitted will do.
    Accepted { key: StepKey },
    /// What was submitted will not do.
    Rejected { key: StepKey, issues: Vec<SubmissionIssue>, attempts_left: u32 },
    /// Nothing new begins in the run itself; runs of its steps have not said the same yet.
    Pausing { runs: Vec<String> },
    /// It is not taken in.
    Refused { failure: Failure },
}
