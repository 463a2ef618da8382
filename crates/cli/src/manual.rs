//! `milepost man` writes the manual page, or one page per command; `milepost completions` writes
//! completion scripts for shells. Both build every command, including its deferred arguments.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use milepost_model::problem::{Code, Problem};
use milepost_store::{health, write_atomic};
use serde_json::json;

use crate::args::{CliArgs, CompletionsArgs, ManArgs};
use crate::failure::CliResult;
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(args: &ManArgs, terminal: &mut Terminal) -> CliResult {
    let mut command = CliArgs::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.dir else {
        let text = page(&command)?;
        return terminal.answer(&json!({"page": text}), |terminal| {
            terminal.raw(text.as_bytes());
        });
    };
    if folder.is_file() {
        let message = format!("`{}` is a file, not a folder", folder.display());
        return Err(Problem::new(Code::FileRefused, message, "give a folder with `--dir`").into());
    }
    health::make(folder, false)?;
    let mut pages = Vec::new();
    write(&command, folder, &mut pages)?;
    let dir = folder.display().to_string();
    terminal.answer(&json!({"dir": dir, "pages": pages}), |terminal| {
        terminal.line(format!("wrote {} to {}", count(pages.len(), "page"), safe(&dir)));
    })
}

fn page(command: &Command) -> CliResult<String> {
    let mut bytes = Vec::new();
    Man::new(command.clone()).render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes the pages for a command and all its subcommands, overwriting any earlier versions.
fn write(command: &Command, folder: &Path, pages: &mut Vec<String>) -> CliResult<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let file = format!("{name}.1");
    write_atomic(&folder.join(&file), page(command)?.as_bytes(), true)?;
    pages.push(file);
    let mut below = command.get_subcommands().filter(|below| below.get_name() != "help");
    below.try_for_each(|below| write(below, folder, pages))
}

pub(crate) fn completions(args: &CompletionsArgs, terminal: &mut Terminal) -> CliResult {
    let mut bytes = Vec::new();
    clap_complete::generate(args.shell, &mut CliArgs::command(), "milepost", &mut bytes);
    let script = String::from_utf8_lossy(&bytes);
    let response = json!({"shell": args.shell.to_string(), "script": script});
    terminal.answer(&response, |terminal| terminal.raw(&bytes))
}
