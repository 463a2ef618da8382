//! The arguments of `milepost secret …`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a secret; its value is asked for, or read from standard input
    #[command(
        after_help = "Example: milepost secret set SHOP_TOKEN --origin https://api.shop.test\n\
        Example: pass show shop | milepost secret set SHOP_TOKEN\n\
        Exit codes: 0 done, 2 no value, 8 the store cannot be opened, 75 it cannot be written"
    )]
    Set(SetSecretArgs),
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
    /// The only origin it may be sent to
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveSecretArgs {
    /// The name of the secret
    pub(crate) name: String,
}
