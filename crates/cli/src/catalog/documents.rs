//! OpenAPI documents: `milepost catalog validate`, `preview`, `import` and `diff`.

use milepost_ops::catalog::DocumentRemark;
use milepost_ops::catalog::diff::{self, DiffCatalog};
use milepost_ops::catalog::import::{self, ImportOpenApi};
use milepost_ops::catalog::preview::{self, ImportPreview, PlanImport};
use milepost_ops::catalog::validate::{self, ValidateOpenApi};

use super::address;
use super::args::{CatalogDiffArgs, ImportArgs, PreviewArgs, SourceArgs};
use crate::command::show_commands;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::limits;
use crate::session::call;
use crate::terminal::{Terminal, count, safe, shell_quoted};

pub(super) fn validate(args: &SourceArgs, terminal: &mut Terminal) -> CliResult {
    let request = validate::Request {
        source: args.source.clone(),
        source_type: None,
        allow_refs: args.references.allow_refs.clone(),
        refs_root: args.references.refs_root.clone(),
    };
    let response = call::<ValidateOpenApi>(request, terminal)?;
    terminal.answer(&response, |terminal| show_validation(&args.source, &response, terminal))?;
    Ok(if response.valid { Exit::DONE } else { Exit::USAGE })
}

fn show_validation(source: &str, response: &validate::Response, terminal: &mut Terminal) {
    // For this command, the findings are the result.
    for violation in &response.violations {
        terminal.line(remark_line("error", violation));
    }
    for line in warning_lines(&response.warnings) {
        terminal.line(line);
    }
    let source = safe(source);
    let kind = match &response.version {
        Some(version) => format!("OpenAPI {}", safe(version)),
        None => "not an OpenAPI document".to_owned(),
    };
    let operations = count(response.operation_count, "operation");
    let commands = count(response.command_count, "command");
    let warnings = count(response.warnings.len(), "warning");
    if response.valid {
        terminal.line(format!("{source}: valid, {kind}, {operations}, {commands}, {warnings}"));
        terminal.remark(next_import());
    } else {
        let errors = count(response.violations.len(), "error");
        terminal.line(format!("{source}: not valid, {kind}, {errors}, {warnings}"));
    }
}

/// The command that imports the document just validated or previewed, with the same options.
fn next_import() -> String {
    let typed = std::env::args_os().skip(1).filter(|word| word != "--commands");
    let words = typed.map(|word| match word.to_string_lossy().as_ref() {
        "preview" | "validate" => "import".to_owned(),
        word => safe(&shell_quoted(word)),
    });
    format!("next: milepost {}", words.collect::<Vec<_>>().join(" "))
}

pub(super) fn preview(args: &PreviewArgs, terminal: &mut Terminal) -> CliResult {
    let PreviewArgs { source, naming, commands } = args;
    let request = preview::Request {
        source: source.source.clone(),
        source_type: None,
        catalog_title: naming.title.clone(),
        vendor: naming.vendor.clone(),
        base_url: naming.base_url.clone(),
        include_command_preview: *commands,
        allow_refs: source.references.allow_refs.clone(),
        refs_root: source.references.refs_root.clone(),
    };
    let response = call::<PlanImport>(request, terminal)?;
    if !terminal.is_json() {
        show_preview(&response, terminal);
        return Ok(Exit::DONE);
    }
    terminal.answer(&ImportPreview::of(response), |_| {})
}

fn show_preview(response: &preview::Response, terminal: &mut Terminal) {
    show_warnings(&response.warnings, terminal);
    let catalog = &response.catalog;
    terminal.line(format!("{} — {}", catalog.catalog_id, safe(&catalog.title)));
    terminal.line(safe(address(catalog.base_url.as_deref())));
    let operations = count(response.operation_count, "operation");
    let commands = count(response.projected_command_count, "command");
    let providers = count(response.provider_contract_count, "provider");
    terminal.line(format!("{operations}, {commands}, {providers}"));
    if let Some(commands) = &response.command_preview {
        terminal.line("");
        show_commands(commands, terminal);
        let rest = response.projected_command_count.saturating_sub(commands.len());
        if rest > 0 {
            terminal.remark(format!("note: {}", count(rest, "more command")));
        }
    }
    let overwrite = if response.exists { " --overwrite" } else { "" };
    if response.exists {
        terminal.remark(format!("note: catalog `{}` already exists", catalog.catalog_id));
    }
    terminal.remark(format!("{}{overwrite}", next_import()));
}

pub(super) fn import(args: &ImportArgs, terminal: &mut Terminal) -> CliResult {
    let ImportArgs { source, naming, overwrite, disabled } = args;
    let request = import::Request {
        source: source.source.clone(),
        source_type: None,
        catalog_title: naming.title.clone(),
        vendor: naming.vendor.clone(),
        base_url: naming.base_url.clone(),
        overwrite: *overwrite,
        enabled: !disabled,
        allow_refs: source.references.allow_refs.clone(),
        refs_root: source.references.refs_root.clone(),
    };
    let response = call::<ImportOpenApi>(request, terminal)?;
    terminal.answer(&response, |terminal| {
        show_warnings(&response.warnings, terminal);
        let id = &response.catalog_id;
        let verb = if response.replaced { "replaced" } else { "imported" };
        let operations = count(response.operation_count, "operation");
        let commands = count(response.command_count, "command");
        let providers = count(response.provider_contract_count, "provider");
        terminal.line(format!("{verb} {id}: {operations}, {commands}, {providers}"));
        terminal.line(safe(address(response.base_url.as_deref())));
        terminal.line(safe(&response.catalog_path));
        let next = if *disabled { "enable" } else { "show" };
        terminal.remark(format!("next: milepost catalog {next} {id}"));
    })
}

pub(super) fn diff(args: &CatalogDiffArgs, terminal: &mut Terminal) -> CliResult {
    let request = diff::Request {
        catalog_id: args.catalog.clone(),
        source: args.source.clone(),
        source_type: None,
        allow_refs: args.references.allow_refs.clone(),
        refs_root: args.references.refs_root.clone(),
    };
    let response = call::<DiffCatalog>(request, terminal)?;
    terminal.answer(&response, |terminal| show_diff(&response, terminal))
}

fn show_diff(response: &diff::Response, terminal: &mut Terminal) {
    show_warnings(&response.warnings, terminal);
    for (mark, entries) in [("+", &response.added), ("-", &response.removed)] {
        for entry in entries {
            let (command, path) = (safe(&entry.command), safe(&entry.path));
            terminal.line(format!("{mark} {command}  {} {path}", entry.method));
        }
    }
    for change in &response.changed {
        let breaking = if change.breaking { "  (breaking)" } else { "" };
        terminal.line(format!("~ {}{breaking}", safe(&change.command)));
        for detail in &change.details {
            terminal.line(format!("    {}", safe(detail)));
        }
    }
    let id = &response.catalog_id;
    if !response.changes {
        return terminal.line(format!("{id}: no changes"));
    }
    let breaking = if response.breaking { "breaking: existing calls may fail" } else { "safe" };
    let added = count(response.added.len(), "command");
    let (removed, changed) = (response.removed.len(), response.changed.len());
    terminal.line(format!("{id}: {added} added, {removed} removed, {changed} changed; {breaking}"));
}

/// `error[rule] path: message`.
fn remark_line(severity: &str, remark: &DocumentRemark) -> String {
    let (rule, message) = (&remark.rule, safe(&remark.message).replace('\n', " "));
    match remark.path.as_str() {
        "" => format!("{severity}[{rule}]: {message}"),
        path => format!("{severity}[{rule}] {}: {message}", safe(path)),
    }
}

/// The first few warnings, and the number of remaining ones.
fn warning_lines(remarks: &[DocumentRemark]) -> Vec<String> {
    let first = remarks.iter().take(limits::REMARKS);
    let mut lines: Vec<String> = first.map(|remark| remark_line("warning", remark)).collect();
    if let Some(rest @ 1..) = remarks.len().checked_sub(limits::REMARKS) {
        lines.push(format!("warning: {rest} more; `--json` lists them all"));
    }
    lines
}

fn show_warnings(remarks: &[DocumentRemark], terminal: &mut Terminal) {
    warning_lines(remarks).iter().for_each(|line| terminal.remark(line));
}
