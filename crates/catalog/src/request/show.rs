//! Shows a request to people as an equivalent `curl` command.

use std::fmt::Write;

use super::{Piece, Request};
use crate::command::Method;

/// Replaces secret values.
const MASK: &str = "***";

/// The request as a command for a POSIX shell; the values of headers listed in `masked` are hidden.
pub fn curl(request: &Request, masked: &[&str]) -> String {
    let mut command = String::from("curl");
    match request.method {
        Method::Get if request.body.is_none() => {}
        Method::Head => command.push_str(" --head"),
        method => _ = write!(command, " --request {}", method.name()),
    }
    let mut url = request.url.clone();
    if url.password().is_some() {
        // A URL with a password has a host, so this cannot fail.
        let _ = url.set_password(Some(MASK));
    }
    let _ = write!(command, " {}", quoted(url.as_str()));
    for (name, value) in request.all_headers() {
        let hidden = masked.iter().any(|masked| masked.eq_ignore_ascii_case(name));
        let value = if hidden { MASK } else { &*value };
        // `curl` drops a header that ends with a colon; a semicolon denotes an empty value.
        let line = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        let _ = write!(command, " --header {}", quoted(&line));
    }
    let Some(body) = &request.body else { return command };
    let pieces = body.pieces();
    if let Some(text) = one_text(&pieces) {
        // Unlike `--data`, `--data-raw` does not interpret a leading `@`.
        let _ = write!(command, " --data-raw {}", quoted(text));
        return command;
    }
    let commands: Vec<String> = pieces.iter().map(printed).collect();
    format!("{{ {}; }} | {command} --data-binary @-", commands.join("; "))
}

/// The body, if it is a single string that can be passed as a shell argument.
fn one_text<'p>(pieces: &'p [Piece<'_>]) -> Option<&'p str> {
    match pieces {
        [Piece::Bytes(bytes)] => {
            std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
        }
        _ => None,
    }
}

/// A shell command that prints a piece of the body.
fn printed(piece: &Piece<'_>) -> String {
    match piece {
        Piece::File(path) => format!("cat -- {}", quoted(path)),
        Piece::Bytes(bytes) => {
            let mut format = String::new();
            for byte in bytes.iter() {
                match byte {
                    b'\r' => format.push_str("\\r"),
                    b'\n' => format.push_str("\\n"),
                    b'%' => format.push_str("%%"),
                    b'\\' | b'\'' | 0..=31 | 127..=255 => _ = write!(format, "\\{byte:03o}"),
                    byte => format.push(char::from(*byte)),
                }
            }
            format!("printf -- '{format}'")
        }
    }
}

/// Quotes a string so that the shell treats it as one word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
