//! Lines that are typed on a terminal, shown or not. Ctrl-C is read like every other key: whoever
//! leaves a question is told that nothing came of it, and finds the terminal as it was.

use std::io::{self, Read, Write};
use std::sync::OnceLock;

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The command that asks the same question again, where a decision is asked for.
static AGAIN: OnceLock<String> = OnceLock::new();

/// Says which command asks the same question again.
pub(crate) fn asks_again(command: String) {
    // A command asks for one decision.
    drop(AGAIN.set(command));
}

/// Asks on standard input; what is typed does not appear.
pub(crate) fn value(question: &str) -> Result<Secret, Failure> {
    let line = line_of(io::stdin(), io::stdin().lock(), io::stderr(), question);
    let line = line.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => interrupted(),
        io::ErrorKind::UnexpectedEof => {
            let hint = "run it again when you have the value";
            Problem::new(Code::ConfirmationRequired, "no value was typed: nothing was kept", hint)
        }
        _ => {
            let message = format!("cannot ask for the value: {error}");
            Problem::new(Code::StorageFailed, message, "pipe it into standard input instead")
        }
    })?;
    Ok(Secret::new(line))
}

/// Ends the process as Ctrl-C does anywhere else: here it is a letter, read like every other.
pub(crate) fn interrupted() -> ! {
    let told = match AGAIN.get() {
        Some(command) => format!("nothing was decided; come back with: {command}"),
        None => "nothing was changed; run the same command to be asked again".to_owned(),
    };
    Terminal::new().complain(&format!("interrupted: {told}"));
    std::process::exit(i32::from(Exit::Interrupted.code()))
}

/// A line that is typed on a terminal and shown. The terminal itself takes letters back.
#[cfg(unix)]
pub(crate) fn shown_line_of(
    terminal: impl std::os::fd::AsFd,
    reader: impl Read,
    mut writer: impl Write,
    question: &str,
) -> io::Result<String> {
    use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let before = tcgetattr(&terminal)?;
    let mut own = before.clone();
    // Ctrl-C ends the line instead of the process: it comes at once, and it can be told.
    let keys = &mut own.special_codes;
    keys[SpecialCodeIndex::VEOL] = keys[SpecialCodeIndex::VINTR];
    let interrupt = std::mem::take(&mut keys[SpecialCodeIndex::VINTR]);
    tcsetattr(&terminal, OptionalActions::Now, &own)?;
    drop(writer.write_all(question.as_bytes()).and_then(|()| writer.flush()));
    let read = line(reader, interrupt);
    tcsetattr(&terminal, OptionalActions::Now, &before)?;
    if read.is_err() {
        // What is said next begins in a line of its own.
        drop(writer.write_all(b"\n"));
    }
    read
}

#[cfg(not(unix))]
pub(crate) fn shown_line_of<T>(
    _: T,
    mut reader: impl io::BufRead,
    mut writer: impl Write,
    question: &str,
) -> io::Result<String> {
    drop(writer.write_all(question.as_bytes()).and_then(|()| writer.flush()));
    let mut line = String::new();
    match reader.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

/// Ctrl-C, where a terminal leaves it as it is.
#[cfg(unix)]
const CTRL_C: u8 = 0x03;

/// A line that is typed on a terminal and not shown.
#[cfg(unix)]
pub(crate) fn line_of(
    terminal: impl std::os::fd::AsFd,
    reader: impl Read,
    mut writer: impl Write,
    question: &str,
) -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    // Letter by letter, and without the signal of Ctrl-C: it would leave the terminal silent.
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    // Before the question: who is quick must not be seen either.
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    drop(writer.write_all(question.as_bytes()).and_then(|()| writer.flush()));
    let read = line(reader, CTRL_C);
    // Whatever was read, the terminal shows again what is typed.
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    drop(writer.write_all(b"\n"));
    read
}

#[cfg(not(unix))]
pub(crate) fn line_of<T>(_: T, _: impl Read, _: impl Write, _: &str) -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(unix)]
fn line(reader: impl Read, interrupt: u8) -> io::Result<String> {
    let mut line = Vec::new();
    let mut ended = false;
    for byte in io::BufReader::new(reader).bytes() {
        match byte? {
            key if key == interrupt => return Err(io::ErrorKind::Interrupted.into()),
            // Ctrl-D before anything was typed.
            4 if line.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            b'\n' | b'\r' | 4 => {
                ended = true;
                break;
            }
            // Backspace takes a whole letter.
            8 | 127 => while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {},
            // Ctrl-U begins again.
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
    fn keys_do_what_they_do_elsewhere() {
        let typed = |keys: &str| line(keys.as_bytes(), CTRL_C);
        assert_eq!(typed("1234\r5").expect("is read"), "1234");
        assert_eq!(typed("12\u{15}34\n").expect("is read"), "34");
        assert_eq!(typed("a\u{fc}\u{7f}b\n").expect("is read"), "ab");
        let given_up = |keys: &str| typed(keys).expect_err("is given up").kind();
        assert_eq!(given_up("12\u{3}34\n"), io::ErrorKind::Interrupted);
        assert_eq!(given_up("\u{4}"), io::ErrorKind::UnexpectedEof);
        assert_eq!(given_up(""), io::ErrorKind::UnexpectedEof);
        assert_eq!(typed("\n").expect("is read"), "");
    }
}
