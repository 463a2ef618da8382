//! Operations that wait: for a source, an API, a person. What one may do is what it is given: a
//! [`Reader`] looks, a [`Writer`] changes, and what cannot be taken back also needs a yes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use milepost_model::hint::Hint;
use milepost_model::problem::{Code, Problem};
use milepost_model::wording::Wording;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, Caller};
use crate::operation::{Door, Safety};
use crate::reader::Reader;
use crate::trace;
use crate::writer::Writer;

/// An operation with its types. Doors call it by [`Operations::run`](crate::Operations::run).
pub trait Later {
    /// What it is asked.
    type Request: DeserializeOwned + Serialize + JsonSchema + Send;
    /// What it answers.
    type Response: Serialize + JsonSchema + Send;
    /// What it is given to work with.
    type Hands: Hands;

    /// Its name, the same in logs and documentation.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// What it does, for people and models.
    const DESCRIPTION: &'static str;
    /// Where it is offered.
    const DOORS: &'static [Door];

    /// Does it.
    fn run(
        hands: &Self::Hands,
        call: &dyn Call,
        request: Self::Request,
    ) -> impl Future<Output = Result<Self::Response, Problem>> + Send;

    /// What would be lost, when it cannot be taken back: asked before it is done.
    fn loss(
        _hands: &Self::Hands,
        _request: &Self::Request,
    ) -> impl Future<Output = Result<Option<String>, Problem>> + Send {
        std::future::ready(Ok(None))
    }

    /// Whether whoever calls may ask for as much, before anything is looked at.
    fn admits(_call: &dyn Call, _request: &Self::Request) -> Result<(), Problem> {
        Ok(())
    }

    /// A request, for documentation.
    fn example() -> Self::Request;
}

/// What operations are given to work with.
pub trait Hands: sealed::Sealed + Sync {
    /// What whoever has these may do.
    const SAFETY: Safety;

    /// These, out of all there are.
    fn of(all: &All) -> &Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::reader::Reader {}
    impl Sealed for crate::writer::Writer {}
}

/// All hands of a process, and the words of the door that it answers.
pub struct All {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    pub(crate) wording: Arc<dyn Wording>,
}

impl std::fmt::Debug for All {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("All").field("writer", &self.writer).finish_non_exhaustive()
    }
}

impl Hands for Reader {
    const SAFETY: Safety = Safety::Safe;

    fn of(all: &All) -> &Reader {
        &all.reader
    }
}

impl Hands for Writer {
    const SAFETY: Safety = Safety::Standard;

    fn of(all: &All) -> &Writer {
        &all.writer
    }
}

/// Does an operation, after asking where it cannot be taken back.
pub(crate) async fn run<T: Later>(
    all: &All,
    call: &dyn Call,
    request: T::Request,
) -> Result<T::Response, Problem> {
    let hands = T::Hands::of(all);
    // Nobody pays for a log that nobody reads.
    let told = trace::is_wanted().then(|| serde_json::to_value(&request).unwrap_or_default());
    // Apart: whoever tells of it would hold it twice.
    let work: Waiting<'_, T::Response> = Box::pin(async {
        T::admits(call, &request)?;
        if let Some(loss) = T::loss(hands, &request).await? {
            confirmed(call, T::NAME, &loss)?;
        }
        T::run(hands, call, request).await
    });
    trace::operation(T::NAME, told.as_ref(), work).await
}

/// Asks the person behind a call; without a yes nothing is done.
fn confirmed(call: &dyn Call, name: &str, loss: &str) -> Result<(), Problem> {
    match call.ask(&format!("{loss} Go on?")) {
        Some(true) => Ok(()),
        Some(false) => {
            let hint = "run it again and answer `y` if you mean it";
            let message = "you did not say yes: nothing was changed";
            Err(Problem::new(Code::ConfirmationRequired, message, hint))
        }
        None if call.caller() == Caller::Person => {
            let hint = Hint::text("repeat it with ").given("yes", true).then(" if you mean it");
            Err(Problem::new(Code::ConfirmationRequired, sentence(loss), hint)
                .context("loss", loss))
        }
        None => {
            let message = format!("`{name}` needs a yes: {loss}");
            let hint = Hint::text("ask the person, then say it again with ").given("yes", true);
            Err(Problem::new(Code::ConfirmationRequired, message, hint).context("loss", loss))
        }
    }
}

/// A sentence as messages are written: without a capital and without a stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

/// An answer that is waited for.
pub(crate) type Waiting<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;
