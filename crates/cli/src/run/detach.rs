//! `milepost run --detach`: the run goes on in a process of its own, which outlives this one and
//! the terminal. Whoever asked comes back as soon as the run is on disk.

use std::io::{self, BufRead, BufReader, IsTerminal};
use std::process::{Command, Stdio};

use milepost_model::id::RunId;
use milepost_model::problem::{Code, Problem};

use super::follow;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::Session;
use crate::terminal::Terminal;

/// Says the same to another process, and shows the run that it started.
pub(super) fn run(json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| unstarted(&error))?);
    // Secret inputs are in nobody's memory but that of the process which starts the run.
    command.args(std::env::args_os().skip(1).map(|word| match word.to_str() {
        Some("--detach") => "--detached".into(),
        _ => word,
    }));
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    command.stdin(if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() });
    // Ctrl-C at this terminal is not meant for it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| unstarted(&error))?;
    // The ends for writing are the child's alone: else there is no end.
    drop(command);
    for line in BufReader::new(reader).lines() {
        let line = line?;
        // Its first result; what it says after that is for nobody.
        if RunId::parse(&line).is_ok() {
            let session = Session::open(Person::new(false, json))?;
            let view = follow::view(&session, &line)?;
            return follow::finish(&view, json, terminal).map(|_| Exit::Done);
        }
        terminal.complain(&line);
    }
    Ok(Exit::passed(child.wait()?.code().unwrap_or(1)))
}

fn unstarted(error: &io::Error) -> Problem {
    let message = format!("cannot start a process for the run: {error}");
    Problem::new(Code::Internal, message, "run it without `--detach`")
}
