//! How much room there is.

use std::path::Path;

/// Bytes that the user may still write where a path is or would be; `None` where the system does
/// not tell.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let told = rustix::fs::statvfs(there(path)?).ok()?;
    Some(told.f_bavail.saturating_mul(told.f_frsize))
}

/// Whether two paths are or would be on the same disk, as far as the system tells.
#[cfg(unix)]
pub fn same_disk(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let disk = |path: &Path| Some(std::fs::metadata(there(path)?).ok()?.dev());
    disk(one) == disk(other)
}

#[cfg(unix)]
fn there(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.is_dir())
}

/// The standard library has no way to ask.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// What is not told is not told twice.
#[cfg(not(unix))]
pub fn same_disk(_: &Path, _: &Path) -> bool {
    true
}
