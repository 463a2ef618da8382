//! A value that is typed and not shown.

use std::io::{self, Write};

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;

use crate::failure::Failure;

/// Asks at the terminal; what is typed does not appear.
pub(super) fn hidden(question: &str) -> Result<Secret, Failure> {
    let line = silently(question).map_err(|error| {
        drop(writeln!(io::stderr()));
        if error.kind() == io::ErrorKind::Interrupted {
            let hint = "nothing was kept; say it again when you have the value";
            return Problem::new(Code::ConfirmationRequired, "it was interrupted", hint);
        }
        let message = format!("cannot ask for the value: {error}");
        Problem::new(Code::StorageFailed, message, "pipe it into standard input instead")
    })?;
    drop(writeln!(io::stderr()));
    Ok(Secret::new(line.trim_end_matches(['\n', '\r'])))
}

#[cfg(unix)]
fn silently(question: &str) -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut silent = before.clone();
    // Letter by letter, and without the signal of Ctrl-C: it would leave the terminal silent.
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    // Before the question: who is quick must not be seen either.
    tcsetattr(&stdin, OptionalActions::Flush, &silent)?;
    drop(write!(io::stderr(), "{question}"));
    let read = line();
    // Whatever was read, the terminal shows again what is typed.
    tcsetattr(&stdin, OptionalActions::Flush, &before)?;
    read
}

#[cfg(not(unix))]
fn silently(_question: &str) -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(unix)]
fn line() -> io::Result<String> {
    use std::io::Read;
    let mut line = Vec::new();
    for byte in io::stdin().lock().bytes() {
        match byte? {
            // Ctrl-C, and Ctrl-D before anything was typed.
            3 => return Err(io::ErrorKind::Interrupted.into()),
            4 if line.is_empty() => return Err(io::ErrorKind::Interrupted.into()),
            b'\n' | b'\r' | 4 => break,
            // Backspace takes a whole letter.
            8 | 127 => while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {},
            // Ctrl-U begins again.
            21 => line.clear(),
            other => line.push(other),
        }
    }
    String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
}
