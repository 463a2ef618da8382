//! Runs operations for the user who typed the command, and blocks until they are done.

use milepost_model::problem::{Code, Problem};
use milepost_ops::{Caller, Operation, Operations, Reader, Writer};
use milepost_store::secrets::Environment;
use milepost_store::{LibraryEntry, Locations};
use tokio::runtime::{Builder, Runtime};

use crate::environment;
use crate::failure::CliResult;
use crate::limits;
use crate::terminal::Terminal;
use crate::terminal_user::TerminalUser;

/// The operations for one command, and the user who ran it.
pub(crate) struct CliSession {
    pub(crate) operations: Operations,
    pub(crate) user: TerminalUser,
    runtime: Runtime,
}

/// Runs a single operation that asks no questions and drives no runs.
pub(crate) fn call<T: Operation>(
    request: T::Request,
    terminal: &Terminal,
) -> CliResult<T::Response> {
    CliSession::open(terminal)?.run::<T>(request)
}

impl CliSession {
    /// Opens a session for this user and working directory.
    pub(crate) fn open(terminal: &Terminal) -> CliResult<CliSession> {
        CliSession::open_confirmed(false, terminal)
    }

    /// Like [`open`](Self::open); with `yes`, every question is answered with yes.
    pub(crate) fn open_confirmed(yes: bool, terminal: &Terminal) -> CliResult<CliSession> {
        let user = TerminalUser::new(yes, terminal.is_json());
        CliSession::new(user, environment::operations()?, Builder::new_current_thread())
    }

    /// Like [`open`](Self::open), plus a workflow that the user named by its file.
    pub(crate) fn open_with(entry: LibraryEntry, terminal: &Terminal) -> CliResult<CliSession> {
        let user = TerminalUser::new(false, terminal.is_json());
        let operations = Operations::new(environment::writer(Some(entry))?);
        CliSession::new(user, operations, Builder::new_current_thread())
    }

    /// Opens a session for other directories, with threads for a server.
    pub(crate) fn open_at(locations: Locations, environment: Environment) -> CliResult<CliSession> {
        let writer = Writer::open(Reader::open(locations), environment);
        let user = TerminalUser::new(false, true);
        CliSession::new(user, Operations::new(writer), Builder::new_multi_thread())
    }

    /// Opens a session for a server, which handles several requests at once.
    pub(crate) fn open_server(terminal: &Terminal) -> CliResult<CliSession> {
        let user = TerminalUser::new(false, terminal.is_json());
        CliSession::new(user, environment::operations()?, Builder::new_multi_thread())
    }

    fn new(
        user: TerminalUser,
        operations: Operations,
        mut builder: Builder,
    ) -> CliResult<CliSession> {
        Ok(CliSession { operations, user, runtime: runtime(&mut builder)? })
    }

    /// Runs an operation to completion.
    pub(crate) fn run<T: Operation>(&self, request: T::Request) -> CliResult<T::Response> {
        self.run_as::<T>(&self.user, request)
    }

    /// Like [`run`](Self::run), for another caller.
    pub(crate) fn run_as<T: Operation>(
        &self,
        call: &dyn Caller,
        request: T::Request,
    ) -> CliResult<T::Response> {
        Ok(self.wait(self.operations.run::<T>(call, request))?)
    }

    /// Like [`run`](Self::run), but the user may interrupt it; `None` if they did.
    pub(crate) fn watch<T: Operation>(
        &self,
        request: T::Request,
    ) -> CliResult<Option<T::Response>> {
        let watched = async {
            tokio::select! {
                done = self.operations.run::<T>(&self.user, request) => Some(done),
                () = interrupted() => None,
            }
        };
        Ok(self.wait(watched).transpose()?)
    }

    /// Releases all runs after an interrupt. No new work is started. Waits for any request that
    /// must not be repeated, unless the user interrupts again.
    pub(crate) fn release_runs(&self, terminal: &mut Terminal) -> CliResult<()> {
        let released = async {
            let mut finished = std::pin::pin!(self.operations.finish_runs());
            if tokio::time::timeout(limits::LEAVE_DELAY, &mut finished).await.is_ok() {
                return;
            }
            terminal.remark("waiting for the request in flight; press Ctrl-C again to exit now");
            tokio::select! {
                () = finished => {}
                () = interrupted() => {}
            }
        };
        self.runtime.block_on(released);
        Ok(self.runtime.block_on(self.operations.leave_runs())?)
    }

    /// Runs a task in the background.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    pub(crate) fn wait<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(self.user.wait(work))
    }
}

impl Drop for CliSession {
    /// Lets the run that received a message from this command continue, and its parent run as well,
    /// so that they are not left incomplete when the command is done.
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

/// Completes when the user ends the command with Ctrl-C, with a signal, or by closing the terminal.
async fn interrupted() {
    match crate::server::http::stopped() {
        Ok(stopped) => stopped.await,
        // Without signal handling, only the system can end the process.
        Err(_) => std::future::pending().await,
    }
}

/// Blocks on a future that needs no session.
pub(crate) fn block_on<F: Future>(work: F) -> CliResult<F::Output> {
    Ok(runtime(&mut Builder::new_current_thread())?.block_on(work))
}

fn runtime(builder: &mut Builder) -> CliResult<Runtime> {
    Ok(builder.enable_all().build().map_err(|error| {
        let message = format!("cannot start the runtime: {error}");
        Problem::new(Code::Internal, message, "report this with your system's version")
    })?)
}
