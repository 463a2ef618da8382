//! `milepost init`: a project with a sample that validates and runs.

use std::path::{Path, PathBuf};

use milepost_ops::Code;
use milepost_ops::catalog::import::{ImportOpenApi, Request};
use milepost_ops::trust::folder;
use milepost_store::{FileError, Locations, health, write_atomic};
use serde::Serialize;

use crate::args::InitArgs;
use crate::environment;
use crate::failure::CliResult;
use crate::session::CliSession;
use crate::terminal::{Terminal, safe, shell_quoted};

/// The workflow of a new project.
const WORKFLOW: &str = "order-report";
/// The catalog that the sample workflow calls.
const CATALOG: &str = "shop-api";
/// The folder of a project's files, within the project.
const FOLDER: &str = ".milepost";
/// The catalog's OpenAPI document, within that folder.
const DOCUMENT: &str = "shop.yaml";

/// The files of a project, in the order in which they are written.
const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("init/README.md")),
    (".gitignore", include_str!("init/gitignore")),
    (DOCUMENT, include_str!("../../../examples/shop.yaml")),
    ("workflows/order-report.yaml", include_str!("../../../examples/order-report.yaml")),
    ("config.toml", include_str!("init/config.toml")),
];

/// The result, as `--json` shows it.
#[derive(Debug, Serialize)]
struct NewProject {
    /// The folder of the project.
    project: String,
    /// New files.
    made: Vec<String>,
    /// Files that already existed and were left unchanged.
    kept: Vec<String>,
    /// The command to type next.
    next: String,
}

pub(crate) fn run(args: &InitArgs, terminal: &mut Terminal) -> CliResult {
    let working = environment::locations()?.working;
    let folder = args.dir.as_ref().map_or_else(|| working.clone(), |dir| working.join(dir));
    let is_new = !folder.join(FOLDER).exists();
    let (mut made, mut kept) = write_files(&folder)?;
    let record = folder.join(FOLDER).join("catalogs").join(format!("{CATALOG}.toml"));
    if record.exists() {
        kept.push(record);
    } else {
        made.push(import_sample(&folder, is_new)?);
    }
    let is_trusted =
        folder::report(session_at(&folder)?.operations.writer().reader())?.is_trusted();
    let run = format!("milepost run {WORKFLOW} --mock");
    let next = match &args.dir {
        Some(dir) => format!("cd {} && {run}", shell_quoted(&dir.display().to_string())),
        None => run,
    };
    let project = folder.display().to_string();
    let project = NewProject { project, made: names(&made), kept: names(&kept), next };
    terminal.answer(&project, |terminal| {
        project.made.iter().for_each(|path| terminal.line(format!("created {}", safe(path))));
        project.kept.iter().for_each(|path| terminal.line(format!("kept {}", safe(path))));
        warn_of_overrides(terminal);
        if !is_trusted {
            terminal.remark("warning: nothing here acts until you trust it with `milepost trust`");
        }
        terminal.remark(format!("next: {}", safe(&project.next)));
    })
}

/// Writes the files that do not exist yet. The configuration comes last, because a folder without
/// it is not a project. Returns the new paths and the kept ones.
fn write_files(folder: &Path) -> CliResult<(Vec<PathBuf>, Vec<PathBuf>)> {
    let root = folder.join(FOLDER);
    let (mut made, mut kept) = (Vec::new(), Vec::new());
    for (name, text) in FILES {
        let path = root.join(name);
        health::make(path.parent().unwrap_or(&root), false)?;
        match write_atomic(&path, text.as_bytes(), false) {
            Ok(()) => made.push(path),
            Err(FileError::Exists { .. }) => kept.push(path),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((made, kept))
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// Imports the sample's API into the project and returns the path of its record. Everything in a
/// new project comes from this program, so it is trusted.
fn import_sample(folder: &Path, is_new: bool) -> CliResult<PathBuf> {
    let session = session_at(folder)?;
    let source = folder.join(FOLDER).join(DOCUMENT).display().to_string();
    let imported = session.run::<ImportOpenApi>(Request {
        source,
        source_type: None,
        catalog_title: None,
        vendor: None,
        base_url: None,
        overwrite: false,
        enabled: true,
        allow_refs: Vec::new(),
        refs_root: None,
    })?;
    if is_new {
        trust_new(&session)?;
    }
    Ok(PathBuf::from(imported.catalog_path))
}

/// A session in the project, even if environment variables point elsewhere.
fn session_at(folder: &Path) -> CliResult<CliSession> {
    let variable = |name: &str| match name.starts_with("REGISTRY_") {
        true => None,
        false => environment::variable(name),
    };
    let locations = Locations::resolve(&variable, folder);
    CliSession::open_at(locations, environment::variables())
}

/// Trusts the new project. If that needs a PIN and there is no terminal, it is asked for later.
fn trust_new(session: &CliSession) -> CliResult<()> {
    let writer = session.operations.writer();
    let report = folder::report(writer.reader())?;
    match folder::accept(writer, &session.user, &report) {
        Err(problem) if problem.code == Code::PresenceRequired => Ok(()),
        done => Ok(done.map(drop)?),
    }
}

/// Warns about environment variables that override the project.
fn warn_of_overrides(terminal: &mut Terminal) {
    for name in ["REGISTRY_CONFIG_PATH", "REGISTRY_WORKFLOWS_PATH"] {
        if environment::variable(name).is_some_and(|value| !value.is_empty()) {
            terminal.remark(format!("warning: `{name}` is set and overrides the project"));
        }
    }
}
