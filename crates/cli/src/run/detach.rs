//! `milepost run --detach`: the run continues in a process of its own, which outlives this one and
//! the terminal. This command returns as soon as the run is on disk.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::process::{Command, Stdio};

use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};

use super::follow;
use crate::exit::Exit;
use crate::failure::CommandResult;
use crate::session::CliSession;
use crate::terminal::Terminal;

/// Starts this command line again in the background, and shows the run that it started.
pub(super) fn run(terminal: &mut Terminal) -> CommandResult {
    let mut command = Command::new(std::env::current_exe().map_err(|error| cannot_start(&error))?);
    // Only the process that starts the run may hold its secret inputs.
    command.args(std::env::args_os().skip(1).map(|word| match word.to_str() {
        Some("--detach") => "--detached".into(),
        _ => word,
    }));
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    command.stdin(if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() });
    // Ctrl-C at this terminal must not reach it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| cannot_start(&error))?;
    // The child must be the only writer: otherwise the pipe never ends.
    drop(command);
    for line in BufReader::new(reader).lines() {
        let line = line?;
        // The id is its first result; whatever it prints after that has no reader.
        if RunId::parse(&line).is_ok() {
            let view = follow::view(&CliSession::open(terminal)?, &line)?;
            return terminal.answer(&view, |terminal| follow::show_card(&view, terminal));
        }
        terminal.notice(&line);
    }
    Ok(Exit::of_process(child.wait()?.code()))
}

fn cannot_start(error: &io::Error) -> Problem {
    let message = format!("cannot start a process for the run: {error}");
    Problem::new(Code::Internal, message, "run it without `--detach`")
}
