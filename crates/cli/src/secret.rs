//! `milepost secret …`: shows names, never values.

use std::io::{self, IsTerminal};

use clap::{Args, Subcommand};
use milepost_model::limits::MASKED_CHARS_MIN;
use milepost_model::secret::{Mask, Secret};
use milepost_ops::secret::{self, SecretItem};
use milepost_store::limits::SECRET_BYTES;
use serde_json::json;

use crate::argument_values::stdin_text;
use crate::environment;
use crate::failure::CliResult;
use crate::terminal::{Terminal, safe};
use crate::terminal_user::TerminalUser;
use crate::tty;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a secret; its value is asked for, or read from standard input
    #[command(
        after_help = "Example: milepost secret set SHOP_TOKEN --origin https://api.shop.test\n\
        Example: pass show shop | milepost secret set SHOP_TOKEN\n\
        Exit codes: 0 done, 2 no value, 8 the store cannot be opened, 75 it cannot be written"
    )]
    Set(SetSecretArgs),
    /// Allow a secret to be sent in a field of a command's requests
    #[command(after_help = "Example: milepost secret allow SHOP_TOKEN \\\n  \
        --command 'shop orders:create' --field body.token\n\
        Exit codes: 0 done, 6 no such command, 8 the store cannot be opened")]
    Allow(AllowSecretArgs),
    /// List secrets by name; values are never shown
    #[command(after_help = "Example: milepost secret list\n\
        Exit codes: 0 done, 8 the store cannot be opened")]
    List,
    /// Remove a secret
    #[command(after_help = "Example: milepost secret remove SHOP_TOKEN\n\
        Exit codes: 0 done, 6 there is no such secret, 8 the store cannot be opened")]
    Remove(RemoveSecretArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SetSecretArgs {
    /// The name of the secret
    pub(crate) name: String,
    /// The only origin the secret may be sent to
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AllowSecretArgs {
    /// The name of the secret
    pub(crate) name: String,
    /// The command whose requests may contain it
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: String,
    /// Where it may be, such as `body.token`, `with.key` or `headers.X-Key`
    #[arg(long, value_name = "FIELD")]
    pub(crate) field: String,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveSecretArgs {
    /// The name of the secret
    pub(crate) name: String,
}

pub(crate) fn run(command: &SecretCommand, terminal: &mut Terminal) -> CliResult {
    match command {
        SecretCommand::Set(args) => set(args, terminal),
        SecretCommand::Allow(args) => allow(args, terminal),
        SecretCommand::List => list(terminal),
        SecretCommand::Remove(args) => remove(args, terminal),
    }
}

fn set(args: &SetSecretArgs, terminal: &mut Terminal) -> CliResult {
    let writer = environment::writer(None)?;
    // An invalid name is rejected before the user types a value.
    secret::check(&args.name, args.origin.as_deref())?;
    let value = value(&args.name)?;
    let is_recognized = Mask::recognizes(&value);
    secret::set(&writer, &args.name, value, args.origin.as_deref())?;
    let stored = secret::list(&writer)?.into_iter().find(|item| item.name == args.name);
    terminal.answer(&stored, |terminal| {
        let name = safe(&args.name);
        let origin = stored.as_ref().and_then(|item| item.origin.as_deref());
        terminal.line(match origin {
            Some(origin) => format!("saved secret {name}, for {} only", safe(origin)),
            None => format!("saved secret {name}"),
        });
        if !is_recognized {
            terminal.remark(format!(
                "warning: it has fewer than {MASKED_CHARS_MIN} characters, so it is not recognized \
                 in what an API returns, and not masked there"
            ));
        }
        if stored.as_ref().is_some_and(|item| item.shadowed) {
            terminal.remark("warning: an environment variable takes precedence over it");
        }
    })
}

fn allow(args: &AllowSecretArgs, terminal: &mut Terminal) -> CliResult {
    let user = TerminalUser::new(false, terminal.is_json());
    let writer = environment::writer(None)?;
    let allowed = secret::allow(&writer, &user, &args.name, &args.command, &args.field)?;
    terminal.answer(&json!({"allows": allowed}), |terminal| {
        terminal.line(format!("you allowed to {}", safe(&allowed)));
    })
}

/// The value, typed or piped in, without its trailing line break.
fn value(name: &str) -> CliResult<Secret> {
    if io::stdin().is_terminal() {
        return tty::secret(&format!("value of {}: ", safe(name)));
    }
    let text = stdin_text(SECRET_BYTES + 2)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Secret::new(line.strip_suffix('\r').unwrap_or(line)))
}

fn list(terminal: &mut Terminal) -> CliResult {
    let items = secret::list(&environment::writer(None)?)?;
    terminal.answer(&json!({"secrets": items}), |terminal| {
        if items.is_empty() {
            terminal.line("no secrets yet\nhint: store one with `milepost secret set <NAME>`");
        } else {
            terminal.table(&["name", "from", "for"], items.iter().map(row));
        }
    })
}

fn row(item: &SecretItem) -> Vec<String> {
    let shadowed = if item.shadowed { " (overrides the stored one)" } else { "" };
    let origin = item.origin.clone().unwrap_or_else(|| "any catalog".to_owned());
    vec![item.name.clone(), format!("{}{shadowed}", item.from), origin]
}

fn remove(args: &RemoveSecretArgs, terminal: &mut Terminal) -> CliResult {
    secret::remove(&environment::writer(None)?, &args.name)?;
    terminal.answer(&json!({"removed": args.name}), |terminal| {
        terminal.line(format!("removed secret {}", safe(&args.name)));
    })
}
