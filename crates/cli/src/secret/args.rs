//! What can be said of secrets.

use clap::{Args, Subcommand};

use crate::args::Json;

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Keep a secret; its value is asked for, or read from standard input
    #[command(
        after_help = "Example: milepost secret set SHOP_TOKEN --origin https://api.shop.test\n\
        Example: pass show shop | milepost secret set SHOP_TOKEN\n\
        Exit codes: 0 done, 2 no value, 8 the store cannot be opened, 75 it cannot be written"
    )]
    Set(Set),
    /// List secrets by name; values are never shown
    #[command(after_help = "Example: milepost secret list\n\
        Exit codes: 0 done, 8 the store cannot be opened")]
    List(Json),
    /// Let go of a secret
    #[command(after_help = "Example: milepost secret remove SHOP_TOKEN\n\
        Exit codes: 0 done, 6 there is no such secret, 8 the store cannot be opened")]
    Remove(Remove),
}

impl SecretCommand {
    pub(crate) fn json(&self) -> bool {
        match self {
            SecretCommand::Set(command) => command.json.json,
            SecretCommand::List(json) => json.json,
            SecretCommand::Remove(command) => command.json.json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Its name
    pub(crate) name: String,
    /// The only origin it may be sent to
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) json: Json,
}
