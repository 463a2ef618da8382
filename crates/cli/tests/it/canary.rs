//! Plants a canary secret and searches every output for it. Test servers echo the secret, redirect
//! with it and put it into errors; it must not appear in any output or file, in any encoding,
//! except in the encrypted store.

use std::collections::BTreeSet;
use std::fs;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::secret::files;
use crate::server::{self, Reply, Request, Server};
use crate::{Place, finish};

/// Contains characters that are escaped in URLs.
pub(crate) const CANARY: &str = "Kanarien/vogel+0042=&q!";
const USER: &str = "canary-user-7731";

/// One path per server behaviour.
const PATHS: &[&str] = &["echo", "redirect", "away", "fail", "denied", "slow", "broken", "text"];

fn document(server: &str) -> String {
    let schemes = ["query", "header", "cookie", "bearer", "basic", "client"];
    let paths: Vec<String> = schemes
        .iter()
        .flat_map(|scheme| PATHS.iter().map(move |path| (scheme, path)))
        .map(|(scheme, path)| {
            format!(
                "  /{scheme}/{path}:\n    get:\n      operationId: {scheme}_{path}\n      \
                 security: [{{{scheme}: []}}]\n      parameters: [{{name: said, in: query, \
                 schema: {{type: string}}}}]\n      responses: {{'200': {{description: A}}}}\n"
            )
        })
        .collect();
    let paths = paths.concat();
    format!(
        "openapi: 3.0.3
info: {{title: Canary, version: '1'}}
servers: [{{url: 'https://api.canary.test'}}]
paths:
{paths}components:
  securitySchemes:
    query: {{type: apiKey, in: query, name: api_key}}
    header: {{type: apiKey, in: header, name: X-Api-Key}}
    cookie: {{type: apiKey, in: cookie, name: session}}
    bearer: {{type: http, scheme: bearer}}
    basic: {{type: http, scheme: basic}}
    client:
      type: oauth2
      flows: {{clientCredentials: {{tokenUrl: '{server}/token', scopes: {{}}}}}}
"
    )
}

/// Echoes the request in the body and in headers.
fn echo(request: &Request, status: u16) -> Reply {
    let all = json!({
        "target": request.target,
        "headers": request.headers,
        "body": request.body,
        "decoded": percent_decoded(&request.target),
    });
    let kind = "application/json".to_owned();
    let auth = request.header("authorization").unwrap_or("none").to_owned();
    let link = format!("<{}>; rel=\"next\"", request.target);
    let headers = vec![
        ("content-type", kind),
        ("x-request-id", auth),
        ("link", link),
        ("location", request.target.clone()),
    ];
    Reply::Answer(status, headers, all.to_string().into_bytes())
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => decoded.push(byte),
            None => decoded.push(bytes[at]),
        }
        at += if bytes[at] == b'%' { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn answer(request: &Request) -> Reply {
    let path = request.path();
    if path == "/token" {
        // A token server that echoes the client secret, and whose token is a secret too.
        let said = json!({"access_token": CANARY, "token_type": "Bearer", "expires_in": 3600,
            "echo": request.body, "auth": request.header("authorization")});
        return server::json(200, &said);
    }
    match path.rsplit('/').next().unwrap_or_default() {
        "echo" => echo(request, 200),
        "fail" => echo(request, 500),
        "denied" => echo(request, 401),
        "redirect" => {
            let to = request.target.replace("/redirect", "/echo");
            Reply::Answer(302, vec![("location", to)], Vec::new())
        }
        "away" => {
            let to = format!("http://127.0.0.1:1{}", request.target);
            Reply::Answer(302, vec![("location", to)], Vec::new())
        }
        "slow" => Reply::Silence,
        "broken" => Reply::HangUp,
        _ => {
            let kind = vec![("content-type", "text/plain".to_owned())];
            let auth = request.header("authorization").unwrap_or_default();
            let said = format!("{} {auth} {}", request.target, percent_decoded(&request.target));
            Reply::Answer(200, kind, said.into_bytes())
        }
    }
}

/// Every encoding that would leak the value.
fn spellings(secret: &str) -> BTreeSet<String> {
    let strict: Vec<String> = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let strict = strict.concat();
    let usual: String = secret
        .bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect();
    let mut all = BTreeSet::from([secret.to_owned(), strict, usual.to_lowercase(), usual]);
    let in_json = json!(secret).to_string();
    all.insert(in_json.trim_matches('"').to_owned());
    for text in [secret.to_owned(), format!("{USER}:{secret}")] {
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
            all.insert(engine.encode(&text));
        }
    }
    all
}

pub(crate) fn look(what: &str, bytes: &[u8]) {
    for spelling in &spellings(CANARY) {
        let spelling = spelling.as_bytes();
        let found = bytes.windows(spelling.len()).any(|window| window == spelling);
        let (text, spelling) = (String::from_utf8_lossy(bytes), String::from_utf8_lossy(spelling));
        assert!(!found, "{what} gives `{spelling}` away: {text}");
    }
}

#[derive(Clone, Copy)]
enum Origin {
    Store,
    Environment,
}

fn run(place: &Place, from: Origin, arguments: &[&str]) -> i32 {
    let mut command = place.command();
    command.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
    if matches!(from, Origin::Environment) {
        command.env("MILEPOST_SECRET_CANARY", CANARY).env("MILEPOST_SECRET_USER", USER);
    }
    let ran = finish(command.args(arguments), "");
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    look(&format!("standard output of {arguments:?}"), ran.out.as_bytes());
    look(&format!("standard error of {arguments:?}"), ran.err.as_bytes());
    ran.code
}

fn walk(from: Origin) {
    let server = Server::start(answer);
    let place = Place::with(&[("canary.yaml", &document(&server.url))]);
    if matches!(from, Origin::Store) {
        for (name, value) in [("CANARY", CANARY), ("USER", USER)] {
            let ran = finish(place.command().args(["secret", "set", name]), value).ends(0);
            look("secret set", format!("{}{}", ran.out, ran.err).as_bytes());
        }
    }
    let import = ["catalog", "import", "canary.yaml", "--base-url", &server.url];
    assert_eq!(run(&place, from, &import), 0);
    for auth in [
        "--scheme query --key CANARY",
        "--scheme header --key CANARY",
        "--scheme cookie --key CANARY",
        "--scheme bearer --token CANARY",
        "--scheme basic --username USER --password CANARY",
        "--scheme client --client-id USER --client-secret CANARY",
    ] {
        let words = ["catalog", "auth", "canary"].into_iter().chain(auth.split(' '));
        assert_eq!(run(&place, from, &words.collect::<Vec<_>>()), 0, "{auth}");
    }
    let sent = calls(&place, from);
    let seen = server.seen();
    assert!(seen.len() >= sent, "{} requests, {sent} expected", seen.len());
    // The secret must have reached its destination: a test that never sends it proves nothing.
    for scheme in ["query", "header", "cookie", "bearer", "basic", "client"] {
        let arrived = seen.iter().filter(|one| one.path() == format!("/{scheme}/echo"));
        let arrived: Vec<String> = arrived.map(|one| format!("{one:?}")).collect();
        let spelled = |text: &String| spellings(CANARY).iter().any(|one| text.contains(one));
        assert!(arrived.iter().any(spelled), "{scheme}: {arrived:?}");
    }
    for arguments in ["secret list", "secret list --json", "catalog show canary", "catalog list"] {
        run(&place, from, &arguments.split(' ').collect::<Vec<_>>());
    }
    let files = files(place.root.path());
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        look(&file.display().to_string(), &fs::read(&file).expect("reads"));
    }
}

/// Makes every call in every mode, and returns the minimum number of requests that must reach the
/// server.
fn calls(place: &Place, from: Origin) -> usize {
    let mut reached = 0;
    for scheme in ["query", "header", "cookie", "bearer", "basic", "client"] {
        for path in PATHS {
            let name = format!("{scheme}_{path}");
            let call = ["command", "run", "canary", &name, "--timeout", "1"];
            let with = |more: &[&'static str]| {
                let all: Vec<&str> = call.iter().copied().chain(more.iter().copied()).collect();
                run(place, from, &all)
            };
            let code = with(&[]);
            match *path {
                "echo" | "redirect" | "text" => assert_eq!(code, 0, "{name}"),
                "slow" => assert_eq!(code, 10, "{name}"),
                "away" => assert_eq!(code, 8, "{name}"),
                _ => assert_eq!(code, 9, "{name}"),
            }
            reached += 1;
            if !matches!(*path, "slow" | "broken") {
                with(&["--json"]);
                reached += 1;
            }
            if *path != "echo" {
                continue;
            }
            with(&["--dry-run"]);
            with(&["--dry-run", "--json"]);
            with(&["-p", "nothing=1"]);
            with(&["--output", "answer.txt"]);
            reached += 1;
        }
    }
    reached
}

#[test]
fn a_stored_secret_appears_in_no_output() {
    walk(Origin::Store);
}

#[test]
fn a_secret_from_the_environment_appears_in_no_output() {
    walk(Origin::Environment);
}
