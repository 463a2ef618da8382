//! Operations that wait, for a person who waits with them. The one place that blocks.

use milepost_model::problem::{Code, Problem};
use milepost_ops::{Call, Later, Operations, Reader, Writer};
use milepost_store::secrets::Environment;
use milepost_store::{Entry, Locations};
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;
use crate::limits;
use crate::person::Person;
use crate::target;
use crate::terminal::{Terminal, safe_json};
use crate::wording;

/// The operations of one command, and who called it.
pub(crate) struct Session {
    pub(crate) operations: Operations,
    pub(crate) person: Person,
    runtime: Runtime,
}

impl Session {
    /// Over the directories of this user and working directory.
    pub(crate) fn open(person: Person) -> Result<Session, Failure> {
        Session::over(person, target::operations()?, Builder::new_current_thread())
    }

    /// The same with one more workflow, which the user named by its file.
    pub(crate) fn open_with(person: Person, entry: Entry) -> Result<Session, Failure> {
        let operations = Operations::new(target::writer(Some(entry))?);
        Session::over(person, operations, Builder::new_current_thread())
    }

    /// Over other directories, for what a demo does beside what is shown.
    pub(crate) fn at(
        person: Person,
        locations: Locations,
        environment: Environment,
    ) -> Result<Session, Failure> {
        let writer = Writer::open(Reader::open(locations), environment);
        Session::over(person, Operations::new(writer), Builder::new_multi_thread())
    }

    /// The same over other directories.
    pub(crate) fn open_at(person: Person, locations: Locations) -> Result<Session, Failure> {
        let operations = Operations::new(target::writer_at(locations));
        Session::over(person, operations, Builder::new_current_thread())
    }

    /// The same for a server, which answers several at once.
    pub(crate) fn open_server(person: Person) -> Result<Session, Failure> {
        Session::over(person, target::operations()?, Builder::new_multi_thread())
    }

    fn over(
        person: Person,
        operations: Operations,
        mut builder: Builder,
    ) -> Result<Session, Failure> {
        Ok(Session { operations, person, runtime: runtime(&mut builder)? })
    }

    /// Does an operation and waits for its end.
    pub(crate) fn run<T: Later>(&self, request: T::Request) -> Result<T::Response, Failure> {
        self.run_as::<T>(&self.person, request)
    }

    /// The same for somebody else.
    pub(crate) fn run_as<T: Later>(
        &self,
        call: &dyn Call,
        request: T::Request,
    ) -> Result<T::Response, Failure> {
        Ok(self.wait(self.operations.run::<T>(call, request))?)
    }

    /// The same for somebody who may stop watching; nothing when they did.
    pub(crate) fn watch<T: Later>(
        &self,
        request: T::Request,
    ) -> Result<Option<T::Response>, Failure> {
        let watched = async {
            tokio::select! {
                done = self.operations.run::<T>(&self.person, request) => Some(done),
                () = interrupted() => None,
            }
        };
        Ok(self.wait(watched).transpose()?)
    }

    /// Lets go of all runs, for somebody who was interrupted: nothing new begins, and a request
    /// that may not be sent again is seen through, unless they interrupt it as well.
    pub(crate) fn let_go(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let let_go = async {
            let mut finished = std::pin::pin!(self.operations.finish_runs());
            if tokio::time::timeout(limits::LEAVE_DELAY, &mut finished).await.is_ok() {
                return;
            }
            terminal.remark("waiting for the request under way; Ctrl-C again leaves at once");
            tokio::select! {
                () = finished => {}
                () = interrupted() => {}
            }
        };
        self.runtime.block_on(let_go);
        Ok(self.runtime.block_on(self.operations.leave_runs())?)
    }

    /// Does something beside what is waited for.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Waits for anything.
    pub(crate) fn wait<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(self.person.wait(work))
    }
}

impl Drop for Session {
    /// A run that a command told something goes on, and so may the run above it: what is under way
    /// is not left halfway because the command itself has nothing more to say.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.runtime.block_on(async {
            tokio::select! {
                () = self.operations.rest_runs() => {}
                () = interrupted() => self.operations.finish_runs().await,
            }
        });
    }
}

/// Done when somebody wants the command to end: by Ctrl-C, by a signal, or by closing its terminal.
async fn interrupted() {
    match crate::serve::stopped() {
        Ok(stopped) => stopped.await,
        // Without a way to be told, it is ended from outside.
        Err(_) => std::future::pending().await,
    }
}

/// Waits for something that no session is needed for.
pub(crate) fn waiting_for<F: Future>(work: F) -> Result<F::Output, Failure> {
    Ok(runtime(&mut Builder::new_current_thread())?.block_on(work))
}

fn runtime(builder: &mut Builder) -> Result<Runtime, Failure> {
    Ok(builder.enable_all().build().map_err(|error| {
        let message = format!("cannot begin to wait: {error}");
        Problem::new(Code::Internal, message, "report this with your system's version")
    })?)
}

/// Prints a response as it is.
pub(crate) fn print(response: &impl Serialize, terminal: &mut Terminal) -> Result<(), Failure> {
    let json = wording::scoped(|| serde_json::to_string(response)).map_err(|error| {
        let message = format!("the answer cannot be written: {error}");
        Problem::new(Code::Internal, message, "report this with the command")
    })?;
    terminal.line(&safe_json(&json))?;
    Ok(())
}
