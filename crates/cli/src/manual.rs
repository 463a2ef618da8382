//! `milepost man`: the manual page, and those of all commands.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use milepost_store::{health, write_atomic};
use serde_json::json;

use crate::args::{Arguments, Manual};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Manual, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    // Every command is made for this, also those that are made only when they are given.
    command.build();
    let Some(folder) = &arguments.dir else {
        let text = page(&command)?;
        match arguments.json.json {
            true => print(&json!({"page": text}), terminal)?,
            false => terminal.exact(&text)?,
        }
        return Ok(Exit::Done);
    };
    health::make(folder, false)?;
    let mut pages = Vec::new();
    write(&command, folder, &mut pages)?;
    let shown = folder.display().to_string();
    if arguments.json.json {
        print(&json!({"dir": shown, "pages": pages}), terminal)?;
    } else {
        terminal.line(&format!("wrote {} to {}", count(pages.len(), "page"), safe(&shown)))?;
    }
    Ok(Exit::Done)
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    Man::new(command.clone()).render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes the page of a command and of all below it. What is there is of an earlier version.
fn write(command: &Command, folder: &Path, pages: &mut Vec<String>) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let file = format!("{name}.1");
    write_atomic(&folder.join(&file), page(command)?.as_bytes(), true)?;
    pages.push(file);
    let mut below = command.get_subcommands().filter(|below| below.get_name() != "help");
    below.try_for_each(|below| write(below, folder, pages))
}
