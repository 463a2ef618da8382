//! `milepost init`: a project with a sample that validates and runs.

use std::path::{Path, PathBuf};

use milepost_ops::catalog::import::{Import, Request};
use milepost_ops::init::{self, CATALOG, DOCUMENT, FOLDER, WORKFLOW};
use milepost_store::Locations;
use serde::Serialize;

use crate::args::Init;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::target;
use crate::terminal::{Terminal, safe, shell_quoted};

/// The files of a project, in the order in which they are written.
const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("init/README.md")),
    (".gitignore", include_str!("init/gitignore")),
    (DOCUMENT, include_str!("../../../examples/shop.yaml")),
    ("workflows/order-report.yaml", include_str!("../../../examples/order-report.yaml")),
    ("config.toml", include_str!("init/config.toml")),
];

/// What was made.
#[derive(Debug, Serialize)]
struct Begun {
    /// The folder of the project.
    project: String,
    /// Files that are new.
    made: Vec<String>,
    /// Files that were there, and are as they were.
    kept: Vec<String>,
    /// What to type next.
    next: String,
}

pub(crate) fn run(arguments: &Init, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let working = target::locations()?.working;
    let folder = arguments.dir.as_ref().map_or_else(|| working.clone(), |dir| working.join(dir));
    let laid = init::lay(&folder, FILES)?;
    let (mut made, mut kept) = (laid.made, laid.kept);
    let record = folder.join(FOLDER).join("catalogs").join(format!("{CATALOG}.toml"));
    if record.exists() {
        kept.push(record);
    } else {
        made.push(imported(&folder, json)?);
    }
    let run = format!("milepost run {WORKFLOW} --mock");
    let next = match &arguments.dir {
        Some(dir) => format!("cd {} && {run}", shell_quoted(&dir.display().to_string())),
        None => run,
    };
    let project = folder.display().to_string();
    let begun = Begun { project, made: names(&made), kept: names(&kept), next };
    if json {
        print(&begun, terminal)?;
    } else {
        begun.made.iter().try_for_each(|path| terminal.line(&format!("made {}", safe(path))))?;
        begun.kept.iter().try_for_each(|path| terminal.line(&format!("kept {}", safe(path))))?;
        elsewhere(terminal);
        terminal.remark(&format!("next: {}", safe(&begun.next)));
    }
    Ok(Exit::Done)
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// Imports the API of the sample into the project, and says where its record is.
fn imported(folder: &Path, json: bool) -> Result<PathBuf, Failure> {
    // The project is meant, whatever variables point elsewhere.
    let variable = |name: &str| match name.starts_with("REGISTRY_") {
        true => None,
        false => target::variable(name),
    };
    let session =
        Session::open_at(Person::new(false, json), Locations::resolve(&variable, folder))?;
    let source = folder.join(FOLDER).join(DOCUMENT).display().to_string();
    let imported = session.run::<Import>(Request {
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
    Ok(PathBuf::from(imported.catalog_path))
}

/// Says so when the project would not be found.
fn elsewhere(terminal: &mut Terminal) {
    for name in ["REGISTRY_CONFIG_PATH", "REGISTRY_WORKFLOWS_PATH"] {
        if target::variable(name).is_some_and(|value| !value.is_empty()) {
            terminal.remark(&format!("warning: `{name}` is set, and stands before the project"));
        }
    }
}
