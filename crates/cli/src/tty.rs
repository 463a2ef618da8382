//! Reads lines from a terminal, with or without echo. Ctrl-C is read like any other key, so that
//! the terminal can be restored and the user informed that nothing changed.

use std::io::{self, Read, Write};
use std::sync::OnceLock;

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;

use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::Terminal;

/// The command that asks the same question again, if a decision is pending.
static RETRY_COMMAND: OnceLock<String> = OnceLock::new();

/// Sets the command that asks the same question again.
pub(crate) fn set_retry_command(command: String) {
    // A command asks for only one decision.
    drop(RETRY_COMMAND.set(command));
}

/// Asks for a secret on standard input.
pub(crate) fn secret(question: &str) -> CliResult<Secret> {
    let line = read_line(io::stdin(), io::stdin().lock(), io::stderr(), question, Echo::Off);
    let line = line.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => interrupted(),
        io::ErrorKind::UnexpectedEof => {
            let hint = "run the command again when you have the value";
            Problem::new(Code::ConfirmationRequired, "no value given: nothing was saved", hint)
        }
        _ => {
            let message = format!("cannot ask for the value: {error}");
            Problem::new(Code::StorageFailed, message, "pipe it into standard input instead")
        }
    })?;
    Ok(Secret::new(line))
}

/// Exits as Ctrl-C does elsewhere; here it was read as a character.
pub(crate) fn interrupted() -> ! {
    let message = match RETRY_COMMAND.get() {
        Some(command) => format!("nothing was decided\nnext: {command}"),
        None => "nothing was changed; run the same command to be asked again".to_owned(),
    };
    Terminal::new(false).notice(format!("interrupted: {message}"));
    std::process::exit(i32::from(Exit::INTERRUPTED.code()))
}

/// Whether the typed text is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// The terminal itself handles backspace.
    On,
    Off,
}

/// Ctrl-C, if the terminal does not turn it into a signal.
#[cfg(unix)]
const CTRL_C: u8 = 0x03;

/// Reads a line, and restores the terminal even if reading fails.
#[cfg(unix)]
pub(crate) fn read_line(
    terminal: impl std::os::fd::AsFd,
    reader: impl Read,
    mut writer: impl Write,
    question: &str,
    echo: Echo,
) -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let before = tcgetattr(&terminal)?;
    let mut own = before.clone();
    let (interrupt, when) = match echo {
        // Ctrl-C ends the line instead of the process, so that it can be reported.
        Echo::On => {
            let keys = &mut own.special_codes;
            keys[SpecialCodeIndex::VEOL] = keys[SpecialCodeIndex::VINTR];
            (std::mem::take(&mut keys[SpecialCodeIndex::VINTR]), OptionalActions::Now)
        }
        // Keys are read one at a time, and Ctrl-C raises no signal, because a signal would leave
        // the terminal without echo.
        Echo::Off => {
            own.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
            (CTRL_C, OptionalActions::Flush)
        }
    };
    // Done before the question is shown, so that keys typed early are hidden as well.
    tcsetattr(&terminal, when, &own)?;
    drop(writer.write_all(question.as_bytes()).and_then(|()| writer.flush()));
    let read = read_keys(reader, interrupt);
    tcsetattr(&terminal, when, &before)?;
    if echo == Echo::Off || read.is_err() {
        // The next message starts on a line of its own.
        drop(writer.write_all(b"\n"));
    }
    read
}

#[cfg(not(unix))]
pub(crate) fn read_line<T>(
    _: T,
    mut reader: impl io::BufRead,
    mut writer: impl Write,
    question: &str,
    echo: Echo,
) -> io::Result<String> {
    if echo == Echo::Off {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    drop(writer.write_all(question.as_bytes()).and_then(|()| writer.flush()));
    let mut line = String::new();
    match reader.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

#[cfg(unix)]
fn read_keys(reader: impl Read, interrupt: u8) -> io::Result<String> {
    let mut line = Vec::new();
    let mut ended = false;
    for byte in io::BufReader::new(reader).bytes() {
        match byte? {
            key if key == interrupt => return Err(io::ErrorKind::Interrupted.into()),
            // Ctrl-D on an empty line.
            4 if line.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            b'\n' | b'\r' | 4 => {
                ended = true;
                break;
            }
            // Backspace removes a whole character.
            8 | 127 => while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {},
            // Ctrl-U clears the line.
            21 => line.clear(),
            other => line.push(other),
        }
    }
    if !ended && line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn control_keys_work_as_usual() {
        let typed = |keys: &str| read_keys(keys.as_bytes(), CTRL_C);
        assert_eq!(typed("1234\r5").expect("is read"), "1234");
        assert_eq!(typed("12\u{15}34\n").expect("is read"), "34");
        assert_eq!(typed("a\u{fc}\u{7f}b\n").expect("is read"), "ab");
        let error_kind = |keys: &str| typed(keys).expect_err("must fail").kind();
        assert_eq!(error_kind("12\u{3}34\n"), io::ErrorKind::Interrupted);
        assert_eq!(error_kind("\u{4}"), io::ErrorKind::UnexpectedEof);
        assert_eq!(error_kind(""), io::ErrorKind::UnexpectedEof);
        assert_eq!(typed("\n").expect("is read"), "");
    }
}
