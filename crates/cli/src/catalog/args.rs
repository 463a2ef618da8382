//! The arguments of `milepost catalog …`.

use clap::{Args, Subcommand, ValueEnum};

use crate::argument_values::number;

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Check an OpenAPI document and list all errors and warnings
    #[command(after_help = "Example: milepost catalog validate openapi.yaml\n\
        Exit codes: 0 it can be imported, 2 it cannot, 6 there is no such file, 9 a URL fails")]
    Validate(SourceArgs),
    /// Show what an import would do, without writing anything
    #[command(after_help = "Example: milepost catalog preview openapi.yaml --commands\n\
        Exit codes: 0 done, 2 it cannot be imported, 6 there is no such file, 9 a URL fails")]
    Preview(PreviewArgs),
    /// Import an OpenAPI document: its operations become commands
    #[command(after_help = "Example: milepost catalog import openapi.yaml --vendor shop\n\
        Exit codes: 0 done, 2 it cannot be imported, 6 there is no such file, \
        7 it already exists, 9 a URL fails")]
    Import(ImportArgs),
    /// List the catalogs
    #[command(after_help = "Example: milepost catalog list\nExit codes: 0 done")]
    List,
    /// Show a catalog: its address, authentication and first commands
    #[command(after_help = "Example: milepost catalog show shop\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Show(CatalogArgs),
    /// Enable the commands of a catalog
    #[command(after_help = "Example: milepost catalog enable shop\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Enable(CatalogArgs),
    /// Disable the commands of a catalog
    #[command(after_help = "Example: milepost catalog disable shop\n\
        Exit codes: 0 done, 6 there is no such catalog")]
    Disable(CatalogArgs),
    /// Remove a catalog; its document is kept unless `--manifest` is given
    #[command(after_help = "Example: milepost catalog remove shop --yes\n\
        Exit codes: 0 done, 6 there is no such catalog, 7 not confirmed")]
    Remove(RemoveCatalogArgs),
    /// Show how a catalog authenticates, or choose the secrets it uses
    #[command(after_help = "Example: milepost catalog auth shop --key SHOP_TOKEN\n\
        Set the value of a secret with `milepost secret set SHOP_TOKEN`.\n\
        Exit codes: 0 done, 2 the settings do not match the scheme, 6 there is no such catalog")]
    Auth(AuthArgs),
    /// Compare a catalog with a newer document
    #[command(after_help = "Example: milepost catalog diff shop openapi.yaml\n\
        Exit codes: 0 done, breaking or not; 2 the document is not valid, \
        6 not found, 9 a URL fails")]
    Diff(CatalogDiffArgs),
    /// Serve a catalog or a document on this machine, with made-up but consistent responses
    #[command(after_help = "Example: milepost catalog mock shop --port 4010\n\
        The first line printed is the address. The server runs until Ctrl-C or SIGTERM.\n\
        Exit codes: 0 it was stopped, 2 the document is not valid, 6 not found, \
        75 the port is in use")]
    Mock(MockArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// A file or a URL
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) references: ReferenceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReferenceArgs {
    /// A host that references in the document may point to; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_refs: Vec<String>,
    /// The folder that file references must stay within [default: the parent of the document's
    /// folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) refs_root: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct NamingArgs {
    /// The title of the API [default: the title in the document]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// The first word of the API's commands, `shop` in `shop orders:list`
    #[arg(long)]
    pub(crate) vendor: Option<String>,
    /// The address of the API, instead of the one in the document
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) naming: NamingArgs,
    /// Also show the first commands
    #[arg(long)]
    pub(crate) commands: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) naming: NamingArgs,
    /// Replace a catalog with the same id; command names and credentials are kept
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Leave the commands disabled for now
    #[arg(long)]
    pub(crate) disabled: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    /// The id or title of the catalog, or the beginning of its id
    pub(crate) catalog: String,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveCatalogArgs {
    /// The id or title of the catalog, or the beginning of its id
    pub(crate) catalog: String,
    /// Also remove its document
    #[arg(long)]
    pub(crate) manifest: bool,
    /// Remove without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuthArgs {
    /// The id or title of the catalog, or the beginning of its id
    pub(crate) catalog: String,
    /// The profile [default: default]
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// The security scheme in the document; optional if there is only one
    #[arg(long)]
    pub(crate) scheme: Option<String>,
    #[command(flatten)]
    pub(crate) secrets: AuthSecretArgs,
    /// How the client authenticates to the token server
    #[arg(long = "client-auth", value_enum, value_name = "STYLE")]
    pub(crate) client_style: Option<ClientAuthStyle>,
    /// A scope to request; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// The audience of the token
    #[arg(long)]
    pub(crate) audience: Option<String>,
    /// The token server to trust, if it is not on the API's origin
    #[arg(long, value_name = "URL")]
    pub(crate) authority: Option<String>,
    /// Remove this scheme's settings
    #[arg(long)]
    pub(crate) clear: bool,
}

/// Names of secrets, never their values.
#[derive(Debug, Args)]
pub(crate) struct AuthSecretArgs {
    /// The name of the secret that holds the token
    #[arg(long, value_name = "NAME")]
    pub(crate) token: Option<String>,
    /// The name of the secret that holds the key
    #[arg(long, value_name = "NAME")]
    pub(crate) key: Option<String>,
    /// The name of the secret that holds the user name
    #[arg(long, value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// The name of the secret that holds the password
    #[arg(long, value_name = "NAME")]
    pub(crate) password: Option<String>,
    /// The name of the secret that holds the client id
    #[arg(long, value_name = "NAME")]
    pub(crate) client_id: Option<String>,
    /// The name of the secret that holds the client secret
    #[arg(long, value_name = "NAME")]
    pub(crate) client_secret: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ClientAuthStyle {
    /// In the `Authorization` header
    Basic,
    /// In the body
    Post,
}

#[derive(Debug, Args)]
pub(crate) struct CatalogDiffArgs {
    /// The id or title of the catalog, or the beginning of its id
    pub(crate) catalog: String,
    /// The newer document, a file or a URL [default: where the catalog was imported from]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) references: ReferenceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MockArgs {
    /// The id or title of a catalog, the beginning of its id, a file, or a URL
    pub(crate) target: String,
    /// The port to listen on; 0 picks a free one
    #[arg(long, value_parser = number::<u16>, default_value_t = 0)]
    pub(crate) port: u16,
    /// The seed for the made-up data
    #[arg(long, value_parser = number::<u64>, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Milliseconds to delay every response
    #[arg(long, value_name = "N", value_parser = number::<u64>, default_value_t = 0)]
    pub(crate) latency_ms: u64,
    /// The share of requests that fail with 503, from 0 to 1
    #[arg(long, value_name = "F", default_value_t = 0.0, value_parser = share)]
    pub(crate) error_rate: f64,
    /// Refuse requests without the credentials that the document requires
    #[arg(long)]
    pub(crate) strict_auth: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}
