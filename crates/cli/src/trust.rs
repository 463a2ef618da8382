//! `milepost trust`, `untrust` and `grants`: what the folder here asks for, and what you allowed.

use clap::{Args, Subcommand};
use milepost_model::hint::{Hint, Invocation};
use milepost_model::problem::{Code, Problem};
use milepost_ops::Caller;
use milepost_ops::trust::folder::{self, FolderReport};
use milepost_ops::trust::grants::{self, GrantKind, GrantView};
use serde_json::json;

use crate::environment;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::{Terminal, count, safe};
use crate::terminal_user::TerminalUser;

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct TrustArgs {
    /// Print only the digest of what the folder asks for
    #[arg(long)]
    pub(crate) digest: bool,
    /// Trust the folder if this is its digest; needs no terminal
    #[arg(long, value_name = "DIGEST")]
    pub(crate) accept: Option<String>,
    /// Exit with 1 if something changed since you trusted the folder
    #[arg(long)]
    pub(crate) check: bool,
    /// List the folders that you trust
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<GrantsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// Take back something that you allowed
    #[command(after_help = "Example: milepost grants revoke 4f1c09\n\
        Exit codes: 0 done, 2 there is no such grant")]
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The id of the grant, or its beginning
    pub(crate) id: String,
}

pub(crate) fn run(args: &TrustArgs, terminal: &mut Terminal) -> CliResult {
    let writer = environment::writer(None)?;
    if args.list {
        let all =
            grants::list(&writer)?.into_iter().filter(|grant| grant.kind == GrantKind::Folder);
        return show_grants(&all.collect::<Vec<_>>(), "no folder is trusted", terminal);
    }
    let report = folder::report(writer.reader())?;
    if args.digest {
        let digest = json!({"digest": report.digest});
        return terminal.answer(&digest, |terminal| terminal.line(&report.digest));
    }
    if args.check {
        terminal.answer(&report, |terminal| show(&report, terminal))?;
        return Ok(if report.is_trusted() { Exit::DONE } else { Exit::FAILED });
    }
    let user = TerminalUser::new(false, terminal.is_json());
    if let Some(digest) = &args.accept {
        folder::accept_digest(&writer, &user, digest)?;
        return trusted(&folder::report(writer.reader())?, terminal);
    }
    if report.is_trusted() {
        return terminal.answer(&report, |terminal| show(&report, terminal));
    }
    terminal.notice(lines(&report).join("\n"));
    if let Some(fault) = &report.fault {
        let message = format!("this folder cannot be trusted: {fault}");
        return Err(Problem::new(Code::ProjectUntrusted, message, "mend this first").into());
    }
    match user.ask_in_person("do you trust this folder?") {
        Some(true) => {
            folder::accept(&writer, &user, &report)?;
            trusted(&folder::report(writer.reader())?, terminal)
        }
        Some(false) => {
            let hint = "nothing was changed; nothing in this folder acts";
            Err(Problem::new(Code::ProjectUntrusted, "you do not trust this folder", hint).into())
        }
        None => {
            let message = "a person must trust this folder at a terminal, and there is none";
            let accept = Invocation::of("trust").with("accept", report.digest.as_str());
            let hint = Hint::text("if you have read what it asks for, run ").person(accept);
            Err(Problem::new(Code::ProjectUntrusted, message, hint).into())
        }
    }
}

fn trusted(report: &FolderReport, terminal: &mut Terminal) -> CliResult {
    terminal.answer(report, |terminal| {
        let folder = report.folder.as_deref().map(|folder| folder.display().to_string());
        let what = folder.unwrap_or_else(|| "your own catalogs".to_owned());
        terminal.line(format!("you trust {}", safe(&what)));
    })
}

fn show(report: &FolderReport, terminal: &mut Terminal) {
    lines(report).into_iter().for_each(|line| terminal.line(line));
}

/// What the folder asks for, and whether that was accepted.
fn lines(report: &FolderReport) -> Vec<String> {
    let folder = report.folder.as_deref().map(|folder| safe(&folder.display().to_string()));
    let what = folder.unwrap_or_else(|| "your own configuration".to_owned());
    let standing = match report.standing {
        "own" if report.is_trusted() => "needs no trust",
        "own" => "has catalogs that an agent imported",
        "trusted" if report.is_trusted() => "is trusted",
        "new" => "is not trusted",
        "unsafe" => "cannot be trusted",
        _ => "is not as you accepted it",
    };
    let mut lines = vec![format!("{what} {standing}")];
    lines.extend(report.lines().iter().map(|line| format!("  {}", safe(line).replace('\n', " "))));
    if !report.workflows.is_empty() {
        let ids = report.workflows.iter().map(|one| safe(&one.workflow_id));
        lines.push(format!("  workflows: {}", ids.collect::<Vec<_>>().join(", ")));
    }
    lines
}

pub(crate) fn forget(terminal: &mut Terminal) -> CliResult {
    let was_trusted = folder::forget(&environment::writer(None)?)?;
    terminal.answer(&json!({"was_trusted": was_trusted}), |terminal| {
        terminal.line(match was_trusted {
            true => "you no longer trust this folder",
            false => "this folder was not trusted",
        });
    })
}

pub(crate) fn grants(args: &GrantsArgs, terminal: &mut Terminal) -> CliResult {
    let writer = environment::writer(None)?;
    let Some(GrantsCommand::Revoke(revoke)) = &args.command else {
        return show_grants(&grants::list(&writer)?, "you have allowed nothing yet", terminal);
    };
    let revoked = grants::revoke(&writer, &revoke.id)?;
    terminal.answer(&json!({"revoked": revoked}), |terminal| {
        terminal.line(format!("{} revoked", count(revoked.len(), "grant")));
    })
}

fn show_grants(grants: &[GrantView], none: &str, terminal: &mut Terminal) -> CliResult {
    terminal.answer(&json!({"grants": grants}), |terminal| {
        if grants.is_empty() {
            terminal.line(none);
            return;
        }
        let row = |one: &GrantView| {
            let presence = serde_json::to_value(one.presence).unwrap_or_default();
            let presence = presence.as_str().unwrap_or_default().to_owned();
            vec![one.id.clone(), one.allows.clone(), presence, one.at.clone()]
        };
        terminal.table(&["id", "you allowed to", "proof", "at"], grants.iter().map(row));
    })
}
