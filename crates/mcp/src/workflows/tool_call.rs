//! The single code path from a call to its effect, for every client. Missing inputs are asked for
//! first; what a person has to agree to is a question of the run that the call starts.

use std::sync::{Arc, Mutex, PoisonError};

use milepost_model::wording::Wording;
use milepost_ops::{Caller, Code, OperationSpec, Problem, Response};
use rmcp::model::{
    InputRequests, InputRequiredResult, InputResponses, JsonObject, ProgressNotificationParam,
    ProgressToken,
};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;

use super::approvals::{APPROVAL, PendingApproval};
use super::client::McpClient;
use super::elicitation::{self, FormResult, INPUTS};
use super::suggested_call::Tools;
use super::{ToolStyle, WorkflowServer, call_tokens};
use crate::limits;
use crate::lock::lock;

/// The argument that sets how long a call waits.
const WAIT: &str = "wait_s";

/// A call as it was received.
pub(super) struct ToolCall<'c> {
    pub(super) operation: &'static OperationSpec,
    pub(super) arguments: JsonObject,
    /// Answers to the questions of the previous round.
    pub(super) answers: Option<&'c InputResponses>,
    /// The state token that the client got in the previous round.
    pub(super) state: Option<&'c str>,
    pub(super) client: McpClient<'c>,
    /// Whether the call is answered with a task, without waiting for it.
    pub(super) is_task: bool,
}

pub(super) enum CallOutcome {
    /// It was executed with these arguments, or failed.
    Done(JsonObject, Result<Response, Problem>),
    /// The client has to answer something first.
    Later(Box<InputRequiredResult>),
}

/// The state of a stateless call from earlier rounds. An answer counts only if its question was
/// asked in an earlier round of this same call.
#[derive(Debug, Default)]
pub(super) struct RoundState {
    /// Inputs that were filled in.
    given: JsonObject,
    asked: Question,
}

/// The question of the previous round.
#[derive(Debug, Default)]
enum Question {
    #[default]
    Nothing,
    Inputs,
    Approval(Box<PendingApproval>),
}

impl WorkflowServer {
    /// Executes a call once everybody who has to be asked has agreed.
    pub(super) async fn act(&self, mut calling: ToolCall<'_>) -> CallOutcome {
        let needs_name = calling.state.is_some() || calling.client.has_forms();
        // The string identifies the call when a question is answered; most calls involve no
        // question and do not need it.
        let call = match needs_name {
            true => call_tokens::call(calling.operation.name, &calling.arguments),
            false => String::new(),
        };
        let before = calling.state.and_then(|state| self.shared.rounds.take(state, &call));
        let round = before.unwrap_or_default();
        if let Question::Approval(pending) = round.asked {
            let answer = calling.answers.and_then(|answers| answers.get(APPROVAL));
            let went_on = self.decided(*pending, answer, calling.client).await;
            return self.approved(&calling, call, went_on).await;
        }
        if calling.is_task {
            calling.arguments.remove(WAIT);
        }
        if !round.given.is_empty() {
            calling.arguments = elicitation::with_inputs(&calling.arguments, round.given.clone());
        }
        self.attempted(calling, call, round).await
    }

    /// Executes a call, and asks for anything that turns out to be missing.
    async fn attempted(
        &self,
        mut calling: ToolCall<'_>,
        call: String,
        mut round: RoundState,
    ) -> CallOutcome {
        let mut done = self.once(&calling).await;
        if let Err(problem) = &done {
            match self.filled(problem, &calling, &round).await {
                FormResult::Given(given) => {
                    calling.arguments = elicitation::with_inputs(&calling.arguments, given.clone());
                    round.given.extend(given);
                    done = self.once(&calling).await;
                }
                FormResult::Later(requests) => {
                    round.asked = Question::Inputs;
                    return self.later(requests, call, round);
                }
                FormResult::Declined | FormResult::Nobody => {}
                FormResult::Gone => return CallOutcome::Done(calling.arguments, Err(gone())),
            }
        }
        match done {
            Ok(result) if !calling.is_task => self.approved(&calling, call, Ok(result)).await,
            done => CallOutcome::Done(calling.arguments, done),
        }
    }

    /// Asks for the inputs that are missing according to a problem.
    async fn filled(
        &self,
        problem: &Problem,
        calling: &ToolCall<'_>,
        round: &RoundState,
    ) -> FormResult {
        let form = elicitation::missing_inputs(
            self.operations(),
            &calling.client.agent(),
            problem,
            &calling.arguments,
        )
        .await;
        let Some(form) = form else { return FormResult::Nobody };
        let message = format!("The run is missing inputs: {}.", problem.message);
        let asked = matches!(round.asked, Question::Inputs);
        let answer = calling.answers.filter(|_| asked).and_then(|all| all.get(INPUTS));
        elicitation::form(calling.client, answer, INPUTS, &message, form).await
    }

    /// Asks for the approvals that the run in a call's result is waiting for.
    async fn approved(
        &self,
        calling: &ToolCall<'_>,
        call: String,
        result: Result<Response, Problem>,
    ) -> CallOutcome {
        let asked = match result {
            Ok(result) => self.approvals(calling, result).await,
            Err(problem) => Err(problem),
        };
        match asked {
            Ok((result, None)) => CallOutcome::Done(calling.arguments.clone(), Ok(result)),
            Ok((_, Some((requests, pending)))) => {
                let asked = Question::Approval(Box::new(pending));
                self.later(requests, call, RoundState { asked, ..RoundState::default() })
            }
            Err(problem) => CallOutcome::Done(calling.arguments.clone(), Err(problem)),
        }
    }

    /// Executes a call unless it was canceled, and reports progress while it runs.
    async fn once(&self, calling: &ToolCall<'_>) -> Result<Response, Problem> {
        if calling.client.is_gone() {
            return Err(gone());
        }
        // A task's progress is reported by `follow_task`.
        let (told, teller) = ToolCaller::new(calling.client, self.style(), !calling.is_task);
        // Spawned as a separate task, because work that never awaits would otherwise block the
        // notifications.
        let teller = teller.map(|teller| tokio::spawn(teller.tell()));
        let arguments = Value::Object(calling.arguments.clone());
        let done = self.operations().call_and_wait(calling.operation.name, &told, arguments).await;
        let ToolCaller { warnings, progress, .. } = told;
        for warning in warnings.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.log(&format!("warning: {warning}"));
        }
        // The notification task ends once nothing can send to it.
        drop(progress);
        if let Some(teller) = teller {
            // All progress is reported before the answer; a failure to do so is ignored.
            let _ = teller.await;
        }
        done
    }

    /// An answer with questions, and the token that links their answers to this call.
    fn later(&self, requests: InputRequests, call: String, round: RoundState) -> CallOutcome {
        let state = self.shared.rounds.give(call, round);
        CallOutcome::Later(Box::new(InputRequiredResult::new(Some(requests), Some(state))))
    }
}

/// The problem for a call that was canceled, so that nothing is executed.
fn gone() -> Problem {
    let hint = "nothing was changed; call again if it is still needed";
    Problem::new(Code::ConfirmationRequired, "the call was canceled", hint)
}

/// The client behind a call.
struct ToolCaller<'c> {
    client: McpClient<'c>,
    style: ToolStyle,
    principal: Option<String>,
    /// The warnings for the operator.
    warnings: Mutex<Vec<String>>,
    progress: Option<mpsc::Sender<String>>,
}

impl<'c> ToolCaller<'c> {
    /// Creates a caller and, if the client asked for progress, the task that sends it.
    fn new(
        client: McpClient<'c>,
        style: ToolStyle,
        wants_notes: bool,
    ) -> (ToolCaller<'c>, Option<ProgressSender>) {
        let context = client.context().filter(|_| wants_notes);
        let token = context.and_then(|context| Some((context, context.meta.get_progress_token()?)));
        let channel = token.map(|(context, token)| {
            let (progress, steps) = mpsc::channel(limits::NOTES);
            (progress, ProgressSender { peer: context.peer.clone(), token, steps })
        });
        let (progress, teller) = channel.unzip();
        let principal = client.principal();
        (ToolCaller { client, style, principal, warnings: Mutex::default(), progress }, teller)
    }
}

impl Caller for ToolCaller<'_> {
    fn wording(&self) -> Option<Arc<dyn Wording>> {
        Some(Arc::new(Tools(self.style)))
    }

    fn progress(&self, message: &str) {
        if let Some(progress) = &self.progress {
            // If the queue is full, the notification is dropped, because the next one is more
            // recent.
            let _ = progress.try_send(message.to_owned());
        }
    }

    fn warn(&self, message: &str) {
        lock(&self.warnings).push(message.replace(['\n', '\r'], " "));
    }

    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    fn cancelled(&self) -> bool {
        self.client.is_gone()
    }
}

/// Sends progress notifications while the work itself runs elsewhere.
struct ProgressSender {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    steps: mpsc::Receiver<String>,
}

impl ProgressSender {
    /// Sends until the caller is dropped and the queue is empty.
    async fn tell(mut self) {
        let mut count = 0.0;
        while let Some(message) = self.steps.recv().await {
            count += 1.0;
            let note = ProgressNotificationParam::new(self.token.clone(), count);
            // A client that cannot be notified cannot be answered either.
            let _ = self.peer.notify_progress(note.with_message(message)).await;
        }
    }
}
