//! Free disk space.

use std::path::Path;

/// Number of bytes the user may still write at an existing or future path; `None` if the system
/// does not report it.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let told = rustix::fs::statvfs(there(path)?).ok()?;
    Some(told.f_bavail.saturating_mul(told.f_frsize))
}

/// Whether two existing or future paths are on the same disk, if the system reports it.
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

/// Always `None`, because the standard library does not provide it.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Always true, so that the missing information is reported only once.
#[cfg(not(unix))]
pub fn same_disk(_: &Path, _: &Path) -> bool {
    true
}
