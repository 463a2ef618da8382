//! A value that is typed and not shown.

use std::io::{self, Write};

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;

use crate::failure::Failure;

/// Asks at the terminal; what is typed does not appear.
pub(super) fn hidden(question: &str) -> Result<Secret, Failure> {
    drop(write!(io::stderr(), "{question}"));
    let line = silently().map_err(|error| {
        let message = format!("cannot ask for the value: {error}");
        Problem::new(Code::StorageFailed, message, "pipe it into standard input instead")
    })?;
    drop(writeln!(io::stderr()));
    Ok(Secret::new(line.trim_end_matches(['\n', '\r'])))
}

#[cfg(unix)]
fn silently() -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
    let read = line();
    // Whatever was read, the terminal shows again what is typed.
    tcsetattr(&stdin, OptionalActions::Flush, &before)?;
    read
}

#[cfg(not(unix))]
fn silently() -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(unix)]
fn line() -> io::Result<String> {
    use std::io::BufRead;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}
