//! How much room there is.

use std::path::Path;

/// Bytes that the user may still write where a path is or would be; `None` where the system does
/// not tell.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|folder| folder.is_dir())?;
    let told = rustix::fs::statvfs(there).ok()?;
    Some(told.f_bavail.saturating_mul(told.f_frsize))
}

/// The standard library has no way to ask.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}
