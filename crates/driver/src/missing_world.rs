//! Runs whose world is missing: they can be canceled or moved to another world, but send no
//! requests.

use std::sync::Arc;

use milepost_engine::command::StepCall;
use milepost_engine::event::RunCreated;
use milepost_engine::interpreter::{AttemptOutcome, PreparedCall, WorldView};
use milepost_engine::ports::{
    BoxFuture, ChildRun, OpenWorld, OutgoingRequest, PreparedRun, RequestSender, WorldResult,
};
use milepost_engine::{Failure, FailureKind};
use milepost_model::id::RunId;

/// Sends nothing: every request fails with the reason why the world is missing.
#[derive(Debug)]
pub(crate) struct MissingWorldSender {
    pub(crate) failure: Failure,
    pub(crate) sender: Arc<dyn RequestSender>,
}

impl WorldView for MissingWorldSender {
    fn prepare(&self, _: &StepCall, _: bool) -> Result<PreparedCall, Failure> {
        Err(self.failure.clone())
    }

    fn text_of(&self, _: &str) -> Option<String> {
        None
    }

    fn is_signed(&self, person: &str, text: &str, signature: &str) -> bool {
        self.sender.is_signed(person, text, signature)
    }
}

impl RequestSender for MissingWorldSender {
    fn send(&self, _: OutgoingRequest) -> BoxFuture<'_, AttemptOutcome> {
        let outcome = AttemptOutcome::failed(self.failure.clone(), FailureKind::Unsendable, true);
        Box::pin(std::future::ready(outcome))
    }

    fn prepare_child(&self, _: ChildRun) -> BoxFuture<'_, Result<PreparedRun, Failure>> {
        Box::pin(std::future::ready(Err(self.failure.clone())))
    }

    fn open(self: Arc<Self>, _: &RunCreated) -> BoxFuture<'_, WorldResult> {
        Box::pin(std::future::ready(Ok(OpenWorld { sender: self, pin: None })))
    }

    fn forget(&self, run: &RunId) {
        self.sender.forget(run);
    }
}
