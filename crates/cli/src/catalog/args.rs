//! What can be said of catalogs.

use clap::{Args, Subcommand, ValueEnum};

use crate::args::Json;

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Check an OpenAPI document: everything that is wrong, and everything that is odd
    #[command(after_help = "Example: milepost catalog validate openapi.yaml\n\
        Exit codes: 0 it can be imported, 2 it cannot, 6 there is no such file, 9 a URL fails")]
    Validate(Validate),
    /// Show what an import would do, and write nothing
    #[command(after_help = "Example: milepost catalog preview openapi.yaml --commands\n\
        Exit codes: 0 done, 2 it cannot be imported, 6 there is no such file, 9 a URL fails")]
    Preview(Preview),
    /// Import an OpenAPI document: its operations become commands
    #[command(after_help = "Example: milepost catalog import openapi.yaml --vendor shop\n\
        Exit codes: 0 done, 2 it cannot be imported, 6 there is no such file, \
        7 it is there already, 9 a URL fails")]
    Import(Import),
    /// List the catalogs
    #[command(after_help = "Example: milepost catalog list\nExit codes: 0 done")]
    List(Json),
    /// Show a catalog: where it is reached, how it authenticates, its first commands
    #[command(after_help = "Example: milepost catalog show shop\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Show(Named),
    /// Put the commands of a catalog into use
    #[command(after_help = "Example: milepost catalog enable shop\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Enable(Named),
    /// Take the commands of a catalog out of use
    #[command(after_help = "Example: milepost catalog disable shop\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Disable(Named),
    /// Remove a catalog; its document stays unless you say so
    #[command(after_help = "Example: milepost catalog remove shop --yes\n\
        Exit codes: 0 done, 6 there is no such catalog, 7 nobody said yes")]
    Remove(Remove),
    /// Show how a catalog authenticates, or say which secrets it uses
    #[command(after_help = "Example: milepost catalog auth shop --key SHOP_TOKEN\n\
        The value of a secret is set with `milepost secret set SHOP_TOKEN`.\n\
        Exit codes: 0 done, 2 it does not fit, 6 there is no such catalog")]
    Auth(Auth),
    /// Compare a catalog with a newer document
    #[command(after_help = "Example: milepost catalog diff shop openapi.yaml\n\
        Exit codes: 0 whatever changes, breaking or not; 2 the document is not valid, \
        6 not found, 9 a URL fails")]
    Diff(Diff),
    /// Serve a catalog or a document on this machine: answers are made up, and remembered
    #[command(after_help = "Example: milepost catalog mock shop --port 4010\n\
        The first line printed is the address. It serves until Ctrl-C or SIGTERM.\n\
        Exit codes: 0 it was stopped, 2 the document is not valid, 6 not found, \
        75 the port is taken")]
    Mock(Mock),
}

impl CatalogCommand {
    pub(crate) fn json(&self) -> bool {
        match self {
            CatalogCommand::Validate(command) => command.source.json.json,
            CatalogCommand::Preview(command) => command.source.json.json,
            CatalogCommand::Import(command) => command.source.json.json,
            CatalogCommand::List(json) => json.json,
            CatalogCommand::Show(command)
            | CatalogCommand::Enable(command)
            | CatalogCommand::Disable(command) => command.json.json,
            CatalogCommand::Remove(command) => command.named.json.json,
            CatalogCommand::Auth(command) => command.named.json.json,
            CatalogCommand::Diff(command) => command.named.json.json,
            CatalogCommand::Mock(command) => command.json.json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Source {
    /// A file or a URL
    #[arg(value_name = "SOURCE")]
    pub(crate) named: String,
    #[command(flatten)]
    pub(crate) references: References,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct References {
    /// A host that references in the document may lead to; may be given several times
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_refs: Vec<String>,
    /// The folder below which references to files stay; the one above the document's otherwise
    #[arg(long, value_name = "DIR")]
    pub(crate) refs_root: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Naming {
    /// What people call the API; its own title otherwise
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Who offers it: the first word of its commands, `shop` in `shop orders:list`
    #[arg(long)]
    pub(crate) vendor: Option<String>,
    /// Where the API is reached, instead of what the document says
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Debug, Args)]
pub(crate) struct Preview {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) naming: Naming,
    /// Show the first commands, too
    #[arg(long)]
    pub(crate) commands: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) naming: Naming,
    /// Replace a catalog of the same id; names of commands and credentials are kept
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Leave its commands out of use for now
    #[arg(long)]
    pub(crate) disabled: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The id or the title of the catalog, or the beginning of its id
    pub(crate) catalog: String,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Remove its document, too
    #[arg(long)]
    pub(crate) manifest: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Auth {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The profile; `default` otherwise
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// The security scheme of the document; the only one otherwise
    #[arg(long)]
    pub(crate) scheme: Option<String>,
    #[command(flatten)]
    pub(crate) parts: AuthParts,
    /// How the client shows itself to the token server
    #[arg(long = "client-auth", value_enum)]
    pub(crate) client_style: Option<ClientAuth>,
    /// A scope to ask for; may be given several times
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Whom the token is for
    #[arg(long)]
    pub(crate) audience: Option<String>,
    /// The token server to trust, when it lies elsewhere than the API
    #[arg(long, value_name = "URL")]
    pub(crate) authority: Option<String>,
    /// Forget what was said of the scheme
    #[arg(long)]
    pub(crate) clear: bool,
}

/// Names of secrets, never their values.
#[derive(Debug, Args)]
pub(crate) struct AuthParts {
    /// The name of the secret that is the token
    #[arg(long, value_name = "NAME")]
    pub(crate) token: Option<String>,
    /// The name of the secret that is the key
    #[arg(long, value_name = "NAME")]
    pub(crate) key: Option<String>,
    /// The name of the secret that is the user
    #[arg(long, value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// The name of the secret that is the password
    #[arg(long, value_name = "NAME")]
    pub(crate) password: Option<String>,
    /// The name of the secret that is the client's id
    #[arg(long, value_name = "NAME")]
    pub(crate) client_id: Option<String>,
    /// The name of the secret that is the client's own secret
    #[arg(long, value_name = "NAME")]
    pub(crate) client_secret: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ClientAuth {
    /// In the `Authorization` header
    Basic,
    /// In the body
    Post,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The newer document, a file or a URL; where the catalog came from otherwise
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) references: References,
}

#[derive(Debug, Args)]
pub(crate) struct Mock {
    /// The id or the title of a catalog, the beginning of its id, a file, or a URL
    pub(crate) target: String,
    /// The port to listen on; 0 takes any that is free
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// What everything made up depends on
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Milliseconds that every answer waits
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) latency_ms: u64,
    /// The share of requests that fail with 503, from 0 to 1
    #[arg(long, value_name = "F", default_value_t = 0.0, value_parser = share)]
    pub(crate) error_rate: f64,
    /// Refuse requests without the credentials that the document asks for
    #[arg(long)]
    pub(crate) strict_auth: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a number from 0 to 1".to_owned())
}
