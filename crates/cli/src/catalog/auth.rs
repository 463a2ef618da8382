//! `milepost catalog auth`.

use std::collections::BTreeMap;

use milepost_ops::catalog::auth::{Auth as Operation, Item, Request, Response};

use super::args::{Auth, AuthParts, ClientAuth};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::table;
use crate::terminal::{Terminal, safe};

pub(crate) fn run(arguments: &Auth, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.named.json.json;
    let session = Session::open(Person::new(false, json))?;
    let client_auth = arguments.client_style.map(|style| match style {
        ClientAuth::Basic => "basic",
        ClientAuth::Post => "post",
    });
    let response = session.run::<Operation>(Request {
        catalog_id: arguments.named.catalog.clone(),
        profile: arguments.profile.clone(),
        scheme: arguments.scheme.clone(),
        secrets: secrets(&arguments.parts),
        client_auth: client_auth.map(str::to_owned),
        scopes: arguments.scopes.clone(),
        audience: arguments.audience.clone(),
        authority: arguments.authority.clone(),
        clear: arguments.clear,
    })?;
    if json {
        print(&response, terminal)?;
    } else {
        show(&response, terminal)?;
    }
    Ok(Exit::Done)
}

fn secrets(parts: &AuthParts) -> BTreeMap<String, String> {
    let given = [
        ("token", &parts.token),
        ("key", &parts.key),
        ("username", &parts.username),
        ("password", &parts.password),
        ("client_id", &parts.client_id),
        ("client_secret", &parts.client_secret),
    ];
    let given = given.into_iter().filter_map(|(part, name)| Some((part, name.as_ref()?)));
    given.map(|(part, name)| (part.to_owned(), name.clone())).collect()
}

fn show(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    if response.schemes.is_empty() {
        terminal.line("the document names no security scheme: nothing is needed")?;
        return Ok(());
    }
    terminal.line(&schemes_table(response, terminal.width()))?;
    for scheme in &response.schemes {
        for name in &scheme.missing {
            let name = safe(name);
            terminal.remark(&format!("warning: there is no secret `{name}` yet"));
            terminal.remark(&format!("next: milepost secret set {name}"));
        }
    }
    if response.schemes.iter().all(|scheme| scheme.secrets.is_empty())
        && let Some(scheme) = response.schemes.first()
    {
        let flags: Vec<String> = scheme.takes.iter().map(|part| flag(part)).collect();
        let name = safe(&scheme.scheme);
        let (id, flags) = (&response.catalog_id, flags.join(" "));
        terminal.remark(&format!("next: milepost catalog auth {id} --scheme {name} {flags}"));
    }
    Ok(())
}

/// A part as it is typed: `--client-id NAME`.
fn flag(part: &str) -> String {
    format!("--{} NAME", part.replace('_', "-"))
}

/// The schemes of a catalog, and which secrets they use.
pub(super) fn schemes_table(response: &Response, width: usize) -> String {
    let rows: Vec<Vec<String>> = response.schemes.iter().map(row).collect();
    table::render(&["scheme", "secrets", "kind"], &rows, width)
}

fn row(item: &Item) -> Vec<String> {
    let secrets = item.secrets.iter().map(|(part, name)| {
        let missing = if item.missing.contains(name) { " (missing)" } else { "" };
        format!("{part}={name}{missing}")
    });
    let secrets: Vec<String> = secrets.collect();
    let secrets = if secrets.is_empty() { "none".to_owned() } else { secrets.join(", ") };
    vec![item.scheme.clone(), secrets, item.described.clone()]
}
