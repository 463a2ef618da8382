//! A value that is typed and not shown.

use std::io::{self, Read, Write};

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;

use crate::exit::Exit;
use crate::failure::Failure;

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
    drop(io::stderr().write_all(b"interrupted: nothing was changed\n"));
    std::process::exit(i32::from(Exit::Interrupted.code()))
}

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
    let read = line(reader);
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
fn line(reader: impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    for byte in io::BufReader::new(reader).bytes() {
        match byte? {
            // Ctrl-C; and Ctrl-D before anything was typed.
            3 => return Err(io::ErrorKind::Interrupted.into()),
            4 if line.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn keys_do_what_they_do_elsewhere() {
        let typed = |keys: &str| line(keys.as_bytes());
        assert_eq!(typed("1234\r5").expect("is read"), "1234");
        assert_eq!(typed("12\u{15}34\n").expect("is read"), "34");
        assert_eq!(typed("a\u{fc}\u{7f}b\n").expect("is read"), "ab");
        let given_up = |keys: &str| typed(keys).expect_err("is given up").kind();
        assert_eq!(given_up("12\u{3}34\n"), io::ErrorKind::Interrupted);
        assert_eq!(given_up("\u{4}"), io::ErrorKind::UnexpectedEof);
    }
}
