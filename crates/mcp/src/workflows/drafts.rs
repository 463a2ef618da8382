//! Workflows that a model writes block by block: the inputs, the steps with their output schemas,
//! then the provider arguments. Each block is validated before the next one is requested. Drafts
//! are not saved, so after a restart the first block is requested again.
#![expect(deprecated, reason = "asking clients on revision 2025-11-25 needs deprecated requests")]

use std::collections::HashMap;
use std::sync::Mutex;

use milepost_ops::run::view::DueView;
use milepost_ops::workflow::validate::{Request as ValidateRequest, ValidateWorkflow};
use milepost_ops::{AgentCaller, Operations, Problem, prompts};
use rmcp::model::SamplingMessage;

use crate::limits;
use crate::lock::lock;

/// A placeholder step for a workflow that has none yet.
const LATER: &str = "steps:\n  - {id: later, set: {}}\n";

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Block {
    #[default]
    Inputs,
    Steps,
    Providers,
}

impl Block {
    fn wish(self) -> &'static str {
        match self {
            Block::Inputs => {
                "Write it block by block. First answer with only `workflow`, `title`, \
                 `description` and `inputs`; the steps come next."
            }
            Block::Steps => {
                "Now answer with only `steps` and `final_output`; every `prompt` needs an \
                 `output_schema`."
            }
            Block::Providers => {
                "Some inputs have a `provider`. Complete their `provider_args`, `depends_on` and \
                 `select`, and answer with the whole workflow."
            }
        }
    }
}

/// The current state of a draft.
#[derive(Debug, Default, Clone)]
struct Draft {
    /// The caller whose run it belongs to.
    owner: Option<String>,
    block: Block,
    /// The finished blocks.
    text: String,
    /// The last answer and its issues, if it was rejected.
    refused: Option<(String, Vec<String>)>,
    tries: u32,
    /// The number of questions asked so far.
    asked: u32,
}

/// The drafts of this process, by run.
#[derive(Debug, Default)]
pub(super) struct ManifestDrafts {
    all: Mutex<HashMap<String, Draft>>,
}

impl ManifestDrafts {
    /// Returns the next question for the model, and how many were asked before it; `None` if the
    /// whole workflow is requested at once, for a correction or another attempt.
    pub(super) fn question(&self, run: &str, due: &DueView) -> Option<(Vec<SamplingMessage>, u32)> {
        let prompt = due.prompt.as_str();
        if due.attempt != 1 || !prompts::writes(prompt) {
            return None;
        }
        let all = lock(&self.all);
        let Some(draft) = all.get(run) else {
            let first = format!("{prompt}\n\n{}", Block::Inputs.wish());
            return Some((vec![SamplingMessage::user_text(first)], 0));
        };
        let mut messages = vec![SamplingMessage::user_text(prompt)];
        if !draft.text.is_empty() {
            messages.push(SamplingMessage::assistant_text(draft.text.clone()));
        }
        let mut wish = draft.block.wish().to_owned();
        if let Some((last, issues)) = &draft.refused {
            messages.push(SamplingMessage::user_text(wish));
            messages.push(SamplingMessage::assistant_text(last.clone()));
            wish = format!("The last answer was rejected:\n{}", issues.join("\n"));
        }
        messages.push(SamplingMessage::user_text(wish));
        Some((messages, draft.asked))
    }

    /// Processes an answer; returns the whole workflow once all blocks are complete.
    pub(super) async fn take(
        &self,
        operations: &Operations,
        caller: &AgentCaller,
        run: &str,
        answer: String,
    ) -> Result<Option<String>, Problem> {
        // Models whose draft is lost are asked for the first block again.
        let draft = lock(&self.all).get(run).cloned().unwrap_or_default();
        let owner = caller.principal.clone();
        let whole = match draft.block {
            Block::Inputs if has(&answer, "steps") => {
                self.forget(run);
                return Ok(Some(answer));
            }
            Block::Inputs => answer.clone(),
            _ if has(&answer, "workflow") => answer.clone(),
            Block::Steps => format!("{}\n{answer}", draft.text.trim_end()),
            Block::Providers => draft.text.clone(),
        };
        let issues = issues(operations, caller, draft.block, &whole).await?;
        let (asked, tries) = (draft.asked + 1, draft.tries + 1);
        if !issues.is_empty() && tries < limits::BLOCK_TRIES {
            let refused = Some((answer, issues));
            self.keep(run, Draft { owner, refused, tries, asked, ..draft });
            return Ok(None);
        }
        let block = match draft.block {
            Block::Inputs => Block::Steps,
            Block::Steps if issues.is_empty() && has_providers(&whole) => Block::Providers,
            Block::Steps | Block::Providers => {
                self.forget(run);
                return Ok(Some(whole));
            }
        };
        self.keep(run, Draft { owner, block, text: whole, asked, ..Draft::default() });
        Ok(None)
    }

    fn keep(&self, run: &str, draft: Draft) {
        let mut all = lock(&self.all);
        // Models whose draft is lost are asked for the first block again. A caller with many drafts
        // loses its own, and nobody else's.
        if all.len() >= limits::DRAFTS && !all.contains_key(run) {
            let of = |owner: &Option<String>| all.values().filter(|it| it.owner == *owner).count();
            let most = all.iter().max_by_key(|(_, one)| of(&one.owner)).map(|(run, _)| run.clone());
            most.iter().for_each(|run| drop(all.remove(run)));
        }
        all.insert(run.to_owned(), draft);
    }

    fn forget(&self, run: &str) {
        lock(&self.all).remove(run);
    }
}

/// Whether a draft has a top-level key.
fn has(text: &str, key: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
}

fn has_providers(text: &str) -> bool {
    let head = text.split("\nsteps:").next().unwrap_or_default();
    head.lines().any(|line| line.contains("provider:"))
}

/// The issues with the blocks so far.
async fn issues(
    operations: &Operations,
    caller: &AgentCaller,
    block: Block,
    text: &str,
) -> Result<Vec<String>, Problem> {
    let manifest = match block {
        Block::Inputs => format!("{}\n{LATER}", text.trim_end()),
        Block::Steps | Block::Providers => text.to_owned(),
    };
    let request = ValidateRequest { manifest: Some(manifest), ..Default::default() };
    let seen = operations.run::<ValidateWorkflow>(caller, request).await?;
    let told = seen.violations.iter().map(|one| {
        format!("{}: {} {}", one.path, one.message, one.suggestion.as_deref().unwrap_or_default())
    });
    Ok(told.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_at_the_top_are_told_from_others() {
        assert!(has("workflow: a\nsteps:\n  - {id: b}\n", "steps"));
        assert!(!has("workflow: a\ninputs:\n  steps: {type: string}\n", "steps"));
        assert!(has_providers("inputs:\n  a: {type: string, provider: x y}\nsteps: []\n"));
        assert!(!has_providers("inputs: {}\nsteps:\n  - {id: a, set: {provider: 1}}\n"));
    }
}
