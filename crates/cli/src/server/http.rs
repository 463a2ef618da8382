//! `milepost serve`: the server for agents, over HTTP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use milepost_mcp::LazyRuntime;
use milepost_mcp::http::{
    self, Guard, HttpAccess, HttpLimits, HttpSettings, KeySource, ResourceServer,
};
use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;
use milepost_store::read_document;
use milepost_store::token::{self, HttpToken, TokenError};
use serde_json::json;
use tokio::net::TcpListener;
use url::Url;

use super::args::ServeArgs;
use super::stdio;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::Terminal;
use crate::{environment, limits};

/// The environment variable that may contain the token.
const TOKEN: &str = "MILEPOST_TOKEN";
/// The port to use if the address has none.
const PORT: u16 = 6453;

pub(crate) fn run(args: &ServeArgs, terminal: &mut Terminal) -> CliResult {
    let options = stdio::options(&args.shown)?;
    let address = address(args)?;
    let threads = LazyRuntime::default();
    let runtime = threads.get().map_err(|error| no_threads(&error))?;
    let style = stdio::style(&args.shown, options.surface);
    let server = stdio::server(style)?;
    let proof = proof(args)?;
    runtime.block_on(async {
        // Registered before the address is printed.
        let stop = stopped()?;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| cannot_listen(address, &error))?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}{}", http::PATH);
        let access = access(args, &proof, &url)?;
        let guard = guard(args, address, access.clone())?;
        tell(&url, &proof, terminal)?;
        if !address.ip().is_loopback() {
            terminal.remark("warning: traffic is not encrypted: put the server behind a TLS proxy");
        }
        if let HttpAccess::OAuth(server) = access
            && let Err(error) = server.ready().await
        {
            // The issuer may respond later; until then nobody is admitted.
            let error = with_sources(&error);
            terminal.notice(format!("warning: cannot check tokens yet: {error}"));
        }
        let tended = server.clone();
        tokio::spawn(async move { tended.operations().tend_runs().await });
        let limits = HttpLimits::default();
        let settings = HttpSettings { guard, options, server: Some(server.clone()), limits };
        let shared = server.clone();
        http::serve(listener, settings, move || shared.clone(), stop).await;
        // A second signal ends the wait.
        let again = stopped()?;
        tokio::select! {
            () = server.operations().finish_runs() => {}
            () = again => {}
        }
        Ok(Exit::DONE)
    })
}

fn no_threads(error: &io::Error) -> Problem {
    let message = format!("cannot start the server's threads: {error}");
    Problem::new(Code::Internal, message, "check this user's thread limit")
}

/// What clients authenticate with.
enum Proof<'a> {
    Token(HttpToken),
    /// Tokens from this issuer.
    Issuer(&'a str),
}

fn proof(args: &ServeArgs) -> CliResult<Proof<'_>> {
    match &args.oauth_issuer {
        Some(issuer) => Ok(Proof::Issuer(issuer)),
        None => token(args).map(Proof::Token),
    }
}

fn access(args: &ServeArgs, proof: &Proof<'_>, url: &str) -> CliResult<HttpAccess> {
    let issuer = match proof {
        Proof::Token(token) => return Ok(HttpAccess::Token(token.secret.clone())),
        Proof::Issuer(issuer) => issuer,
    };
    let source = match &args.oauth_jwks {
        None => KeySource::Issuer,
        Some(text) => match Url::parse(text).ok().filter(Url::has_host) {
            Some(url) => KeySource::Url(url),
            None => KeySource::Given(read_document(Path::new(text), limits::JWKS_FILE_BYTES)?),
        },
    };
    let resource = args.oauth_resource.as_deref().unwrap_or(url);
    let server = ResourceServer::new(issuer, resource, source).map_err(|error| wrong(&error))?;
    Ok(HttpAccess::OAuth(Arc::new(server)))
}

/// The address to listen on. Other machines are admitted only with `--allow-remote`.
fn address(args: &ServeArgs) -> Result<SocketAddr, Problem> {
    let address = match &args.listen {
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)),
        Some(text) => parsed(text).ok_or_else(|| {
            let message = format!("`{text}` is not an address to listen on");
            Problem::new(Code::ParamsInvalid, message, "write it as 127.0.0.1:6453 or [::1]:6453")
        })?,
    };
    if !address.ip().is_loopback() && !args.allow_remote {
        let message = format!("other machines could reach `{address}`");
        let hint = "add `--allow-remote` to allow that, or leave out `--listen`";
        return Err(Problem::new(Code::ParamsInvalid, message, hint));
    }
    Ok(address)
}

fn parsed(text: &str) -> Option<SocketAddr> {
    let alone = || IpAddr::from_str(text).ok().map(|ip| SocketAddr::new(ip, PORT));
    SocketAddr::from_str(text).ok().or_else(alone)
}

fn wrong(error: &dyn std::error::Error) -> Problem {
    Problem::new(Code::ParamsInvalid, error.to_string(), "see `milepost serve --help`")
}

fn guard(args: &ServeArgs, address: SocketAddr, access: HttpAccess) -> Result<Guard, Problem> {
    let mut guard = Guard::new(address, access);
    for host in &args.allow_host {
        guard.allow_host(host).map_err(|error| wrong(&error))?;
    }
    for origin in &args.allow_origin {
        guard.allow_origin(origin).map_err(|error| wrong(&error))?;
    }
    Ok(guard)
}

/// The token: from a file, the environment, or the data directory.
fn token(args: &ServeArgs) -> CliResult<HttpToken> {
    let found = match (&args.token_file, std::env::var(TOKEN)) {
        (Some(path), _) => HttpToken::read(path),
        (None, Ok(text)) => {
            let path = Path::new(TOKEN);
            token::check(&text, path).map(|()| HttpToken {
                secret: Secret::new(text),
                path: path.to_owned(),
                is_new: false,
            })
        }
        (None, Err(_)) => HttpToken::of(&environment::locations()?.data),
    };
    found.map_err(|error| match error {
        TokenError::File(error) => error.into(),
        TokenError::NoRandomness => {
            let hint = "provide a token with `--token-file`";
            Problem::new(Code::Internal, error.to_string(), hint).into()
        }
        TokenError::TooShort { .. } | TokenError::NoHeader { .. } => {
            let hint =
                "create one with `openssl rand -hex 32`, or delete the file to have one created";
            Problem::new(Code::ParamsInvalid, error.to_string(), hint).into()
        }
    })
}

/// Prints the address of the server and, once, a new token.
fn tell(url: &str, proof: &Proof<'_>, terminal: &mut Terminal) -> CliResult<()> {
    let (key, from) = match proof {
        Proof::Token(token) => ("token_file", token.path.display().to_string()),
        Proof::Issuer(issuer) => ("issuer", (*issuer).to_owned()),
    };
    terminal.answer(&json!({"url": url, key: from}), |terminal| terminal.line(url))?;
    match proof {
        Proof::Token(token) if token.is_new => {
            terminal.remark(format!("token: {}", token.secret.reveal()));
            terminal.remark(format!("shown only once; stored in {from}"));
        }
        Proof::Token(_) => terminal.remark(format!("token: see {from}")),
        Proof::Issuer(_) => terminal.remark(format!("tokens: issued by {from}")),
    }
    terminal.check_output()
}

/// An error with its causes.
fn with_sources(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", with_sources(source)),
        None => error.to_string(),
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> Problem {
    let message = format!("cannot listen on {address}: {error}");
    Problem::new(Code::StorageFailed, message, "choose another port, or 0 for a free one")
}

/// Completes when a signal asks the process to stop.
#[cfg(unix)]
pub(crate) fn stopped() -> CliResult<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
            _ = hung_up.recv() => {}
        }
    })
}

#[cfg(not(unix))]
pub(crate) fn stopped() -> CliResult<impl Future<Output = ()>> {
    Ok(async {
        // Without signal handling, only the system can end the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
