//! `milepost catalog auth`.

use std::collections::BTreeMap;

use milepost_ops::catalog::auth::{ConfigureAuth, Request, Response, SchemeView};

use super::args::{AuthArgs, AuthSecretArgs, ClientAuthStyle};
use crate::failure::CommandResult;
use crate::session::call;
use crate::terminal::{Terminal, safe};

pub(super) fn run(args: &AuthArgs, terminal: &mut Terminal) -> CommandResult {
    let client_auth = args.client_style.map(|style| match style {
        ClientAuthStyle::Basic => "basic".to_owned(),
        ClientAuthStyle::Post => "post".to_owned(),
    });
    let request = Request {
        catalog_id: args.catalog.clone(),
        profile: args.profile.clone(),
        scheme: args.scheme.clone(),
        secrets: secrets(&args.secrets),
        client_auth,
        scopes: args.scopes.clone(),
        audience: args.audience.clone(),
        authority: args.authority.clone(),
        clear: args.clear,
    };
    let response = call::<ConfigureAuth>(request, terminal)?;
    terminal.answer(&response, |terminal| show(&response, terminal))
}

fn secrets(given: &AuthSecretArgs) -> BTreeMap<String, String> {
    let given = [
        ("token", &given.token),
        ("key", &given.key),
        ("username", &given.username),
        ("password", &given.password),
        ("client_id", &given.client_id),
        ("client_secret", &given.client_secret),
    ];
    given.into_iter().filter_map(|(part, name)| Some((part.to_owned(), name.clone()?))).collect()
}

fn show(response: &Response, terminal: &mut Terminal) {
    if response.schemes.is_empty() {
        return terminal.line("the document declares no security scheme: none is needed");
    }
    show_schemes(response, terminal);
    for name in response.schemes.iter().flat_map(|scheme| &scheme.missing) {
        let name = safe(name);
        terminal.remark(format!("warning: there is no secret `{name}` yet"));
        terminal.remark(format!("next: milepost secret set {name}"));
    }
    if response.schemes.iter().all(|scheme| scheme.secrets.is_empty())
        && let Some(scheme) = response.schemes.first()
    {
        // A part as it is typed: `--client-id NAME`.
        let flag = |part: &String| format!(" --{} NAME", part.replace('_', "-"));
        let flags: String = scheme.takes.iter().map(flag).collect();
        let (id, name) = (&response.catalog_id, safe(&scheme.scheme));
        terminal.remark(format!("next: milepost catalog auth {id} --scheme {name}{flags}"));
    }
}

/// The schemes of a catalog, and the secrets they use.
pub(super) fn show_schemes(response: &Response, terminal: &mut Terminal) {
    terminal.table(&["scheme", "secrets", "kind"], response.schemes.iter().map(row));
}

fn row(item: &SchemeView) -> Vec<String> {
    let secrets = item.secrets.iter().map(|(part, name)| {
        let missing = if item.missing.contains(name) { " (missing)" } else { "" };
        format!("{part}={name}{missing}")
    });
    let secrets: Vec<String> = secrets.collect();
    let secrets = if secrets.is_empty() { "none".to_owned() } else { secrets.join(", ") };
    vec![item.scheme.clone(), secrets, item.described.clone()]
}
