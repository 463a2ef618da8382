//! `milepost serve`: the server for agents, over HTTP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

use milepost_mcp::http::{self, Access, Guard, Limits, NoPlace, Settings};
use milepost_mcp::workflows::Face;
use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;
use milepost_store::token::{self, Token, TokenError};
use serde_json::json;

use crate::args::Serve;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{mcp, target};

/// The variable that a token may be in.
const TOKEN: &str = "MILEPOST_TOKEN";
/// The port of a server whose address has none.
const PORT: u16 = 6453;

pub(crate) fn run(arguments: &Serve, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let options = mcp::options(&arguments.shown)?;
    let address = address(arguments)?;
    let runtime = mcp::runtime()?;
    let look = mcp::look(&arguments.shown, options.surface);
    let face = Face::new(target::operations()?, look, Box::new(io::stderr()));
    let token = token(arguments)?;
    runtime.block_on(async {
        // Taken before anybody is told that there is a server.
        let stop = stopped()?;
        let bound = http::bind(address).await.map_err(|error| unheard(address, &error))?;
        let guard = guard(arguments, bound.address(), token.secret.clone())?;
        tell(arguments, bound.address(), &token, terminal)?;
        let tended = face.clone();
        tokio::spawn(async move { tended.tend_runs().await });
        let limits = Limits::default();
        let settings = Settings { guard, options, has_older_tasks: true, limits };
        bound.serve(settings, move || face.clone(), stop).await;
        Ok(Exit::Done)
    })
}

/// Where to listen. Other machines are let in only by a word of their own.
fn address(arguments: &Serve) -> Result<SocketAddr, Problem> {
    let address = match &arguments.listen {
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port)),
        Some(text) => parsed(text).ok_or_else(|| {
            let message = format!("`{text}` is no address to listen on");
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

fn guard(arguments: &Serve, address: SocketAddr, token: Secret) -> Result<Guard, Problem> {
    let mut guard = Guard::new(address, Access::Token(token));
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

/// What clients have to show: from a file, the environment, or the data directory.
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
    address: SocketAddr,
    token: &Token,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let url = format!("http://{address}{}", http::PATH);
    match arguments.json.json {
        true => terminal.line(&json!({"url": url, "token_file": token.path}).to_string())?,
        false => terminal.line(&url)?,
    }
    if token.is_new {
        terminal.complain(&format!("token: {}", token.secret.reveal()));
        let path = token.path.display();
        terminal.complain(&format!("it is shown this once, and kept in {path}"));
    } else {
        terminal.complain(&format!("token: as in {}", token.path.display()));
    }
    Ok(())
}

fn unheard(address: SocketAddr, error: &io::Error) -> Problem {
    let message = format!("cannot listen on {address}: {error}");
    Problem::new(Code::StorageFailed, message, "name another port, or 0 for any that is free")
}

/// Done when somebody ends the server.
#[cfg(unix)]
fn stopped() -> Result<impl Future<Output = ()>, Failure> {
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
fn stopped() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        // Without a way to be told, it is ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
