//! Imported catalogs: `milepost catalog list`, `show`, `enable`, `disable`, `remove` and `auth`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use milepost_ops::catalog::auth::{self, ConfigureAuth, SchemeView};
use milepost_ops::catalog::list::{self, CatalogItem, ListCatalogs};
use milepost_ops::catalog::remove::{self, RemoveCatalog};
use milepost_ops::catalog::set_enabled::{self, SetCatalogEnabled};
use milepost_ops::command::list::{self as commands, Detail, ListCommands};

use super::address;
use super::args::{AuthArgs, AuthSecretArgs, CatalogArgs, RemoveCatalogArgs};
use crate::command::show_commands;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::limits;
use crate::session::{CliSession, call};
use crate::terminal::{Terminal, count, safe};

pub(super) fn list(terminal: &mut Terminal) -> CliResult {
    let response = call::<ListCatalogs>(list::Request::default(), terminal)?;
    terminal.answer(&response, |terminal| {
        if response.catalogs.is_empty() {
            terminal.line("no catalogs yet");
            terminal.line("hint: import one with `milepost catalog import <file|url>`");
        } else {
            let headings = ["id", "state", "commands", "address", "title"];
            terminal.table(&headings, response.catalogs.iter().map(row));
        }
        for item in &response.catalogs {
            if let Some(problem) = &item.problem {
                terminal.remark(format!("warning: `{}`: {}", item.catalog_id, safe(problem)));
            }
        }
        for file in &response.unreadable {
            let (path, message) = (safe(&file.path), safe(&file.message));
            terminal.remark(format!("warning: skipped `{path}`: {message}"));
        }
    })
}

fn row(item: &CatalogItem) -> Vec<String> {
    vec![
        item.catalog_id.clone(),
        state(item).to_owned(),
        item.command_count.to_string(),
        address(item.base_url.as_deref()).to_owned(),
        item.title.clone(),
    ]
}

fn state(item: &CatalogItem) -> &'static str {
    match (&item.problem, item.enabled) {
        (Some(_), _) => "broken",
        (None, true) => "enabled",
        (None, false) => "disabled",
    }
}

pub(super) fn show(args: &CatalogArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let catalog_id = Some(args.catalog.clone());
    let response = session.run::<ListCatalogs>(list::Request { catalog_id })?;
    if terminal.is_json() {
        return terminal.answer(&response, |_| {});
    }
    response.catalogs.iter().try_for_each(|item| show_one(item, &session, terminal))?;
    Ok(Exit::DONE)
}

fn show_one(item: &CatalogItem, session: &CliSession, terminal: &mut Terminal) -> CliResult<()> {
    terminal.line(format!("{} — {}", item.catalog_id, safe(&item.title)));
    let vendor = item.vendor.as_deref().map(|vendor| format!(", by {}", safe(vendor)));
    let commands = count(item.command_count, "command");
    terminal.line(format!("{}, {commands}{}", state(item), vendor.unwrap_or_default()));
    terminal.line(format!("address   {}", safe(address(item.base_url.as_deref()))));
    terminal.line(format!("source    {}", safe(&item.source)));
    terminal.line(format!("record    {}", safe(&item.catalog_path)));
    terminal.line(format!("document  {}", safe(&item.manifest_path)));
    if let Some(problem) = &item.problem {
        terminal.remark(format!("warning: {}", safe(problem)));
        return Ok(());
    }
    let catalog_id = item.catalog_id.clone();
    let auth =
        session.run::<ConfigureAuth>(auth::Request { catalog_id, ..auth::Request::default() })?;
    if !auth.schemes.is_empty() {
        terminal.line("");
        show_schemes(&auth, terminal);
    }
    if !item.enabled {
        terminal.remark(format!("next: milepost catalog enable {}", item.catalog_id));
        return Ok(());
    }
    let first = session.run::<ListCommands>(commands::Request {
        catalog: Some(item.catalog_id.clone()),
        detail: Some(Detail::Summary),
        limit: Some(limits::CATALOG_COMMANDS),
        ..commands::Request::default()
    })?;
    if !first.commands.is_empty() {
        terminal.line("");
        show_commands(&first.commands, terminal);
    }
    if let Some(rest @ 1..) = first.total.checked_sub(first.commands.len()) {
        let id = &item.catalog_id;
        terminal.remark(format!("note: {rest} more: `milepost command search --catalog {id}`"));
    }
    Ok(())
}

pub(super) fn set_enabled(args: &CatalogArgs, enabled: bool, terminal: &mut Terminal) -> CliResult {
    let catalog_id = Some(args.catalog.clone());
    let request = set_enabled::Request { catalog_id, catalog_title: None, enabled };
    let response = call::<SetCatalogEnabled>(request, terminal)?;
    terminal.answer(&response, |terminal| {
        let state = if response.enabled { "enabled" } else { "disabled" };
        let all = count(response.command_count_after_toggle, "command");
        terminal.line(format!("{} is {state}; {all} available", response.catalog_id));
    })
}

pub(super) fn remove(args: &RemoveCatalogArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open_confirmed(args.yes, terminal)?;
    let response = session.run::<RemoveCatalog>(remove::Request {
        catalog_id: Some(args.catalog.clone()),
        catalog_title: None,
        remove_manifest: args.manifest,
    })?;
    terminal.answer(&response, |terminal| {
        let left = count(response.remaining_catalog_count, "catalog");
        terminal.line(format!("removed {}; {left} left", response.removed_catalog_id));
        if !response.manifest_removed {
            terminal
                .remark("note: its document is kept for the next import; `--manifest` removes it");
        }
    })
}

pub(super) fn auth(args: &AuthArgs, terminal: &mut Terminal) -> CliResult {
    let client_auth = args.client_style.and_then(|style| style.to_possible_value());
    let request = auth::Request {
        catalog_id: args.catalog.clone(),
        profile: args.profile.clone(),
        scheme: args.scheme.clone(),
        secrets: secrets(&args.secrets),
        client_auth: client_auth.map(|style| style.get_name().to_owned()),
        scopes: args.scopes.clone(),
        audience: args.audience.clone(),
        authority: args.authority.clone(),
        clear: args.clear,
    };
    let response = call::<ConfigureAuth>(request, terminal)?;
    terminal.answer(&response, |terminal| show_auth(&response, terminal))
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

fn show_auth(response: &auth::Response, terminal: &mut Terminal) {
    if response.schemes.is_empty() {
        return terminal
            .line("the document declares no security scheme: no authentication is needed");
    }
    show_schemes(response, terminal);
    let missing = || response.schemes.iter().flat_map(|scheme| &scheme.missing).map(|it| safe(it));
    for name in missing() {
        terminal.remark(format!("warning: there is no secret `{name}` yet"));
    }
    if let Some(name) = missing().next() {
        terminal.remark(format!("next: milepost secret set {name}"));
    }
    if response.schemes.iter().all(|scheme| scheme.secrets.is_empty())
        && let Some(scheme) = response.schemes.first()
    {
        // A credential part as a flag: `--client-id NAME`.
        let flag = |part: &String| format!(" --{} NAME", part.replace('_', "-"));
        let flags: String = scheme.takes.iter().map(flag).collect();
        let (id, name) = (&response.catalog_id, safe(&scheme.scheme));
        terminal.remark(format!("next: milepost catalog auth {id} --scheme {name}{flags}"));
    }
}

/// Shows the security schemes of a catalog and the secrets they use.
fn show_schemes(response: &auth::Response, terminal: &mut Terminal) {
    terminal.table(&["scheme", "secrets", "kind"], response.schemes.iter().map(scheme_row));
}

fn scheme_row(item: &SchemeView) -> Vec<String> {
    let secrets = item.secrets.iter().map(|(part, name)| {
        let missing = if item.missing.contains(name) { " (missing)" } else { "" };
        format!("{part}={name}{missing}")
    });
    let secrets: Vec<String> = secrets.collect();
    let secrets = if secrets.is_empty() { "none".to_owned() } else { secrets.join(", ") };
    vec![item.scheme.clone(), secrets, item.described.clone()]
}
