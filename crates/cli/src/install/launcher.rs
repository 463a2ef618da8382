//! The command that starts this program.

use std::env;
use std::path::{Path, PathBuf};

use milepost_model::problem::{Code, Problem};

/// `milepost` if the `PATH` leads here, else the path; always the path with `whole_path`.
pub(super) fn command(whole_path: bool) -> Result<String, Problem> {
    let this = env::current_exe().map_err(|error| {
        let message = format!("cannot tell where this program is: {error}");
        Problem::new(Code::StorageFailed, message, "start it by its full path")
    })?;
    let found = env::var_os("PATH").and_then(|path| first_in(&path));
    let path = match found.filter(|found| is_same(found, &this)) {
        Some(_) if !whole_path => return Ok("milepost".to_owned()),
        // The name on the `PATH` survives an update that moves the program.
        Some(found) => found,
        None => this,
    };
    path.into_os_string().into_string().map_err(|path| {
        let message = format!("the path of this program is not text: {}", path.to_string_lossy());
        Problem::new(Code::InputInvalid, message, "put the program into another directory")
    })
}

fn first_in(path: &std::ffi::OsStr) -> Option<PathBuf> {
    let name = format!("milepost{}", env::consts::EXE_SUFFIX);
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&name)).find(|file| is_program(file))
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}
