//! `milepost serve`: the server for agents, over HTTP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use milepost_mcp::http::{
    self, Access, Guard, KeySource, Limits, NoPlace, ResourceServer, Settings,
};
use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;
use milepost_store::read_document;
use milepost_store::token::{self, Token, TokenError};
use serde_json::json;
use url::Url;

use crate::args::Serve;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{limits, mcp, target};

/// The variable that a token may be in.
const TOKEN: &str = "MILEPOST_TOKEN";
/// The port of a server whose address has none.
const PORT: u16 = 6453;

pub(crate) fn run(arguments: &Serve, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let options = mcp::options(&arguments.shown)?;
    let address = address(arguments)?;
    let threads = mcp::runtime()?;
    let runtime = threads.get()?;
    let look = mcp::look(&arguments.shown, options.surface);
    let server = mcp::server(look)?;
    let proof = proof(arguments)?;
    runtime.block_on(async {
        // Taken before anybody is told that there is a server.
        let stop = stopped()?;
        let bound = http::bind(address).await.map_err(|error| unheard(address, &error))?;
        let url = format!("http://{}{}", bound.address(), http::PATH);
        let access = access(arguments, &proof, &url)?;
        let guard = guard(arguments, bound.address(), access.clone())?;
        tell(arguments, &url, &proof, terminal)?;
        if !bound.address().ip().is_loopback() {
            terminal.remark("warning: what is sent is not encrypted: put TLS before it");
        }
        if let Access::OAuth(server) = access
            && let Err(error) = server.ready().await
        {
            // It may be there later; until then nobody is let in.
            terminal.complain(&format!("warning: no token can be checked: {}", whole(&error)));
        }
        let tended = server.clone();
        tokio::spawn(async move { tended.tend_runs().await });
        let limits = Limits::default();
        let settings = Settings { guard, options, server: Some(server.clone()), limits };
        let shared = server.clone();
        bound.serve(settings, move || shared.clone(), stop).await;
        // Whoever says it once more does not want to wait.
        let again = stopped()?;
        tokio::select! {
            () = server.finish_runs() => {}
            () = again => {}
        }
        Ok(Exit::Done)
    })
}

/// What clients have to show.
enum Proof<'a> {
    Token(Token),
    /// Tokens of this issuer.
    Issuer(&'a str),
}

fn proof(arguments: &Serve) -> Result<Proof<'_>, Failure> {
    match &arguments.oauth_issuer {
        Some(issuer) => Ok(Proof::Issuer(issuer)),
        None => token(arguments).map(Proof::Token),
    }
}

fn access(arguments: &Serve, proof: &Proof<'_>, url: &str) -> Result<Access, Failure> {
    let issuer = match proof {
        Proof::Token(token) => return Ok(Access::Token(token.secret.clone())),
        Proof::Issuer(issuer) => issuer,
    };
    let source = match &arguments.oauth_jwks {
        None => KeySource::Issuer,
        Some(text) => match Url::parse(text).ok().filter(Url::has_host) {
            Some(url) => KeySource::Url(url),
            None => KeySource::Given(read_document(Path::new(text), limits::JWKS_FILE_BYTES)?),
        },
    };
    let resource = arguments.oauth_resource.as_deref().unwrap_or(url);
    let server = ResourceServer::new(issuer, resource, source).map_err(|error| {
        let hint = "see `milepost serve --help`";
        Problem::new(Code::InputInvalid, error.to_string(), hint)
    })?;
    Ok(Access::OAuth(Arc::new(server)))
}

/// Where to listen. Other machines are let in only by a word of their own.
fn address(arguments: &Serve) -> Result<SocketAddr, Problem> {
    let address = match &arguments.listen {
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port)),
        Some(text) => parsed(text).ok_or_else(|| {
            let message = format!("`{text}` is not an address to listen on");
            Problem::new(Code::InputInvalid, message, "write it as 127.0.0.1:6453 or [::1]:6453")
        })?,
    };
    if !address.ip().is_loopback() && !arguments.allow_remote {
        let message = format!("other machines could reach `{address}`");
        let hint = "add --allow-remote if they are meant to, or leave out --listen";
        return Err(Problem::new(Code::InputInvalid, message, hint));
    }
    Ok(address)
}

fn parsed(text: &str) -> Option<SocketAddr> {
    let alone = || IpAddr::from_str(text).ok().map(|ip| SocketAddr::new(ip, PORT));
    SocketAddr::from_str(text).ok().or_else(alone)
}

fn guard(arguments: &Serve, address: SocketAddr, access: Access) -> Result<Guard, Problem> {
    let mut guard = Guard::new(address, access);
    let wrong = |error: NoPlace| {
        let hint = "see `milepost serve --help`";
        Problem::new(Code::InputInvalid, error.to_string(), hint)
    };
    for host in &arguments.allow_host {
        guard.allow_host(host).map_err(wrong)?;
    }
    for origin in &arguments.allow_origin {
        guard.allow_origin(origin).map_err(wrong)?;
    }
    Ok(guard)
}

/// The token: from a file, the environment, or the data directory.
fn token(arguments: &Serve) -> Result<Token, Failure> {
    let found = match (&arguments.token_file, std::env::var(TOKEN)) {
        (Some(path), _) => Token::read(path),
        (None, Ok(text)) => {
            let path = Path::new(TOKEN);
            token::check(&text, path).map(|()| Token {
                secret: Secret::new(text),
                path: path.to_owned(),
                is_new: false,
            })
        }
        (None, Err(_)) => Token::of(&target::locations()?.data),
    };
    found.map_err(|error| match error {
        TokenError::File(error) => error.into(),
        TokenError::NoRandomness => {
            let hint = "give the token yourself with --token-file";
            Problem::new(Code::Internal, error.to_string(), hint).into()
        }
        TokenError::TooShort { .. } | TokenError::NoHeader { .. } => {
            let hint = "make one with `openssl rand -hex 32`, or delete the file to have one made";
            Problem::new(Code::InputInvalid, error.to_string(), hint).into()
        }
    })
}

/// Tells where the server is, and the token to whoever starts it for the first time.
fn tell(
    arguments: &Serve,
    url: &str,
    proof: &Proof<'_>,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let (key, kept) = match proof {
        Proof::Token(token) => ("token_file", token.path.display().to_string()),
        Proof::Issuer(issuer) => ("issuer", (*issuer).to_owned()),
    };
    match arguments.json.json {
        true => terminal.line(&json!({"url": url, key: kept}).to_string())?,
        false => terminal.line(url)?,
    }
    match proof {
        Proof::Token(token) if token.is_new => {
            terminal.remark(&format!("token: {}", token.secret.reveal()));
            terminal.remark(&format!("it is shown this once, and kept in {kept}"));
        }
        Proof::Token(_) => terminal.remark(&format!("token: as in {kept}")),
        Proof::Issuer(_) => terminal.remark(&format!("tokens: those of {kept}")),
    }
    Ok(())
}

/// An error with what caused it.
fn whole(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", whole(source)),
        None => error.to_string(),
    }
}

fn unheard(address: SocketAddr, error: &io::Error) -> Problem {
    let message = format!("cannot listen on {address}: {error}");
    Problem::new(Code::StorageFailed, message, "name another port, or 0 for any that is free")
}

/// Done when somebody ends the server.
#[cfg(unix)]
pub(crate) fn stopped() -> Result<impl Future<Output = ()>, Failure> {
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
pub(crate) fn stopped() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        // Without a way to be told, it is ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
