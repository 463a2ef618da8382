//! Wakes other processes that drive runs, so that they handle messages at once.
//!
//! A wake-up only means "check for work": it may be lost, duplicated or forged without harm. The
//! work itself is in the database, which every driving process also checks periodically.

use std::path::Path;
use std::time::Duration;

use milepost_engine::ports::HolderId;

use crate::file::FileError;

#[cfg(unix)]
pub use self::sockets::WakeListener;
#[cfg(unix)]
pub(super) use self::sockets::wake_all;

#[cfg(unix)]
mod sockets {
    use std::fs;
    use std::io::ErrorKind;
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixDatagram;
    use std::path::PathBuf;
    use std::thread;

    use super::{Duration, FileError, HolderId, Path};
    use crate::file::{self, FileMode};
    use crate::limits;

    fn folder(directory: &Path) -> PathBuf {
        directory.join("wake")
    }

    /// Receives wake-ups.
    #[derive(Debug)]
    pub struct WakeListener {
        /// `None` if the path would be too long for a socket, in which case periodic checks have to
        /// suffice.
        socket: Option<(UnixDatagram, PathBuf)>,
    }

    impl WakeListener {
        /// Listens on behalf of a holder.
        pub fn bind(directory: &Path, holder: &HolderId) -> Result<WakeListener, FileError> {
            let folder = folder(directory);
            file::make_directory(&folder, FileMode::Owner)?;
            let path = folder.join(format!("{holder}.sock"));
            if path.as_os_str().len() > limits::SOCKET_PATH_BYTES {
                return Ok(WakeListener { socket: None });
            }
            let fail = |error| FileError::of(&path, error);
            let socket = UnixDatagram::bind(&path).map_err(fail)?;
            Ok(WakeListener { socket: Some((socket, path)) })
        }

        /// Waits for a wake-up until the timeout, and returns whether there was one. Wake-ups that
        /// arrive together count as one.
        pub fn recv(&self, timeout: Duration) -> bool {
            let Some((socket, _)) = &self.socket else {
                thread::sleep(timeout);
                return false;
            };
            // To the system, zero means no timeout.
            let timeout = timeout.max(Duration::from_millis(1));
            let mut byte = [0];
            let woken = socket.set_nonblocking(false).is_ok()
                && socket.set_read_timeout(Some(timeout)).is_ok()
                && socket.recv(&mut byte).is_ok();
            if woken && socket.set_nonblocking(true).is_ok() {
                while socket.recv(&mut byte).is_ok() {}
            }
            woken
        }
    }

    impl Drop for WakeListener {
        fn drop(&mut self) {
            if let Some((_, path)) = &self.socket {
                // A socket that is left behind is removed by the next process that finds nobody
                // listening.
                drop(fs::remove_file(path));
            }
        }
    }

    /// Wakes every process that is listening, and returns how many there are. Removes sockets left
    /// by dead processes.
    pub(crate) fn wake_all(directory: &Path) -> Result<usize, FileError> {
        let folder = folder(directory);
        let fail = |error| FileError::of(&folder, error);
        let entries = file::if_present(fs::read_dir(&folder).map_err(fail))?;
        let Some(entries) = entries else { return Ok(0) };
        let socket = UnixDatagram::unbound().map_err(fail)?;
        // A listener whose queue is full has already been woken.
        socket.set_nonblocking(true).map_err(fail)?;
        let mut woken = 0;
        for entry in entries.take(limits::LISTENERS) {
            let entry = entry.map_err(fail)?;
            // Other files would refuse the connection like a dead process's socket, but must not be
            // removed.
            if !entry.file_type().is_ok_and(|kind| kind.is_socket()) {
                continue;
            }
            let path = entry.path();
            match socket.send_to(&[1], &path) {
                Ok(_) => woken += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => woken += 1,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    // Another process may have removed it already.
                    drop(fs::remove_file(&path));
                }
                // The socket is not accessible, so there is nobody to wake.
                Err(_) => {}
            }
        }
        Ok(woken)
    }
}

/// Receives nothing: there are no such sockets on this system, and periodic checks have to suffice.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct WakeListener;

#[cfg(not(unix))]
impl WakeListener {
    /// Listens on behalf of a holder.
    pub fn bind(_: &Path, _: &HolderId) -> Result<WakeListener, FileError> {
        Ok(WakeListener)
    }

    /// Sleeps until the timeout.
    pub fn recv(&self, timeout: Duration) -> bool {
        std::thread::sleep(timeout);
        false
    }
}

/// Does nothing.
#[cfg(not(unix))]
pub(super) fn wake_all(_: &Path) -> Result<usize, FileError> {
    Ok(0)
}
