//! An operation, declared once with its types. Its access determines what it can do: a [`Reader`]
//! only reads, a [`Writer`] changes things, and anything irreversible is confirmed first.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use milepost_model::wording::Wording;
use serde::de::DeserializeOwned;

use super::response::Response;
use super::table::Safety;
use super::trace;
use crate::prelude::*;
use crate::run::stored_operation;

/// An operation with its types. Interfaces run it through
/// [`Operations::run`](crate::Operations::run).
pub trait Operation {
    type Request: DeserializeOwned + Serialize + JsonSchema + Send;
    type Response: Respond + JsonSchema + Send;
    type Access: Access;

    /// Its name in logs and documentation.
    const NAME: &'static str;
    const TITLE: &'static str;
    /// What it does, for people and models.
    const DESCRIPTION: &'static str;
    /// The interfaces that offer it.
    const DOORS: &'static [Door];

    /// Boxed, so that it is compiled here and not again in every crate that calls it.
    fn run<'a>(
        access: &'a Self::Access,
        caller: &'a dyn Caller,
        request: Self::Request,
    ) -> OperationFuture<'a, Self::Response>;

    /// What would be lost for good; must be confirmed before the operation runs.
    fn loss<'a>(
        _access: &'a Self::Access,
        _caller: &'a dyn Caller,
        _request: &'a Self::Request,
    ) -> OperationFuture<'a, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Checks whether this caller may make the request at all.
    fn admits(_caller: &dyn Caller, _request: &Self::Request) -> Result<()> {
        Ok(())
    }

    /// An example request, for documentation.
    fn example() -> Value;
}

/// Declares an operation: its name, title, description and interfaces, the function with its
/// access, request and response types, and an example request.
macro_rules! operation {
    ($(#[$meta:meta])* $name:ident: $id:expr, $title:expr, $description:expr;
     doors: $doors:expr;
     run: $run:ident($access:ty, $request:ty) -> $response:ty;
     $(loss: $loss:ident;)? $(admits: $admits:ident;)?
     example: $example:tt;) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name;

        impl Operation for $name {
            type Request = $request;
            type Response = $response;
            type Access = $access;

            const NAME: &'static str = $id;
            const TITLE: &'static str = $title;
            const DESCRIPTION: &'static str = $description;
            const DOORS: &'static [Door] = &$doors;

            fn run<'a>(
                access: &'a $access,
                caller: &'a dyn Caller,
                request: $request,
            ) -> OperationFuture<'a, $response> {
                Box::pin($run(access, caller, request))
            }

            $(fn loss<'a>(
                access: &'a $access,
                caller: &'a dyn Caller,
                request: &'a $request,
            ) -> OperationFuture<'a, Option<String>> {
                Box::pin($loss(access, caller, request))
            })?

            $(fn admits(caller: &dyn Caller, request: &$request) -> Result<()> {
                $admits(caller, request)
            })?

            fn example() -> Value {
                json!($example)
            }
        }
    };
}
pub(crate) use operation;

/// What an operation has access to.
pub trait Access: sealed::Sealed + Sync {
    /// What this access permits.
    const SAFETY: Safety;

    fn of(services: &Services) -> &Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::reader::Reader {}
    impl Sealed for crate::writer::Writer {}
}

/// Everything that operations in this process work with, and the interface's wording.
#[derive(Debug)]
pub struct Services {
    pub(crate) writer: Writer,
    pub(crate) wording: Arc<dyn Wording>,
}

impl Access for Reader {
    const SAFETY: Safety = Safety::Safe;

    fn of(services: &Services) -> &Reader {
        &services.writer.reader
    }
}

impl Access for Writer {
    const SAFETY: Safety = Safety::Standard;

    fn of(services: &Services) -> &Writer {
        &services.writer
    }
}

/// A response that can be written as JSON.
pub trait Respond: Sync {
    fn write(&self, out: &mut Response) -> serde_json::Result<()>;
}

impl<T: Serialize + Sync> Respond for T {
    fn write(&self, out: &mut Response) -> serde_json::Result<()> {
        out.serialize(self)
    }
}

pub(crate) type OperationFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Runs an operation with its own types, and logs it.
pub(super) async fn run<T: Operation>(
    services: &Services,
    caller: &dyn Caller,
    request: T::Request,
) -> Result<T::Response> {
    // Skips serialization if nobody reads the log.
    let logged = trace::is_wanted().then(|| serde_json::to_value(&request).unwrap_or_default());
    let mut response = None;
    let work = Box::pin(async {
        response = Some(confirmed_run::<T>(services, caller, request).await?);
        Ok(())
    });
    trace::operation(T::NAME, logged, work).await?;
    response.ok_or_else(|| internal("the operation returned no response"))
}

/// Runs an operation on JSON. Little is instantiated per operation: the response is encoded through
/// `dyn`.
pub(super) fn run_json<'a, T: Operation>(
    services: &'a Services,
    caller: &'a dyn Caller,
    arguments: Value,
) -> OperationFuture<'a, Response> {
    Box::pin(async move {
        // The schema has already been checked, so a failure here is a bug.
        let stored = arguments.clone();
        let request: T::Request =
            serde_json::from_value(arguments).map_err(|error| internal(&error))?;
        let access = T::Access::of(services);
        T::admits(caller, &request)?;
        if caller.kind() == CallerKind::Agent
            && let Some(loss) = T::loss(access, caller, &request).await?
        {
            let writer = &services.writer;
            let asked = stored_operation::ask(writer, caller, T::NAME, &stored, &loss).await?;
            return encoded(services, caller, &asked);
        }
        let response = confirmed_run::<T>(services, caller, request).await?;
        encoded(services, caller, &response)
    })
}

async fn confirmed_run<T: Operation>(
    services: &Services,
    caller: &dyn Caller,
    request: T::Request,
) -> Result<T::Response> {
    let access = T::Access::of(services);
    T::admits(caller, &request)?;
    if let Some(loss) = T::loss(access, caller, &request).await? {
        confirm(caller, &loss)?;
    }
    T::run(access, caller, request).await
}

fn encoded(services: &Services, caller: &dyn Caller, response: &dyn Respond) -> Result<Response> {
    let mut json = Response::new();
    let own = caller.wording();
    let wording = own.as_ref().unwrap_or(&services.wording);
    let written = milepost_model::wording::scoped(wording, || response.write(&mut json));
    written.map_err(|error| internal(&error))?;
    Ok(json)
}

fn internal(error: &(impl ToString + ?Sized)) -> Problem {
    Problem::new(Code::Internal, error.to_string(), "report this with the request that caused it")
}

/// Asks the person behind a call for confirmation; without it, nothing is done.
fn confirm(caller: &dyn Caller, loss: &str) -> Result<()> {
    let (message, hint) = match caller.ask(&format!("{loss}; continue?")) {
        Some(true) => return Ok(()),
        Some(false) => {
            let hint = "run the command again and answer `y` if you mean it";
            let message = "not confirmed: nothing was changed";
            return Err(Problem::new(Code::ConfirmationRequired, message, hint));
        }
        None if caller.agent_command().is_some() => {
            let message = format!("only a person can confirm this: {loss}");
            let refusal = crate::run::person::for_a_person(caller, &message, Hint::default());
            return Err(refusal.context("loss", loss));
        }
        None if caller.kind() == CallerKind::Person => (
            loss.to_owned(),
            Hint::text("repeat the command with ").given("yes", true).then(" if you mean it"),
        ),
        None => (format!("a person has to agree: {loss}"), "ask the person to do this".into()),
    };
    Err(Problem::new(Code::ConfirmationRequired, message, hint).context("loss", loss))
}
