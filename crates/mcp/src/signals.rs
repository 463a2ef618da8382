//! A signal ends the input: everything that arrived before it is answered first.
//!
//! The input waits for its pipe and for a signal at the same time. After a signal it still returns
//! what is in the pipe, and ends when the pipe is empty. Nothing sent before the signal is lost,
//! and the loop that reads need not know about signals.

use std::io::{self, Read, Write};

/// The standard input of this process, which SIGTERM, SIGINT and SIGHUP end.
///
/// Must be called only once. If the process is still running
/// [`limits::GRACE`](crate::limits::GRACE) after the signal (nobody is reading its answers, or a
/// call is hanging), it exits with a failure code.
pub fn stdin_until_signal() -> io::Result<impl Read + Send + 'static> {
    #[cfg(unix)]
    return unix::stdin_until_signal();
    // On other systems, clients stop the server by closing the pipe, and Ctrl+C ends the process.
    #[cfg(not(unix))]
    return Ok(io::stdin().lock());
}

/// The standard output of this process as a separate, unbuffered file, so that locks on the usual
/// handle do not affect it.
pub fn raw_stdout() -> io::Result<impl Write + Send + 'static> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        Ok(std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?))
    }
    #[cfg(not(unix))]
    Ok(io::stdout())
}

#[cfg(unix)]
pub use unix::UntilStopped;

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, PipeReader, Read};
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};
    use std::{process, thread};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    use crate::limits;

    pub(super) fn stdin_until_signal() -> io::Result<UntilStopped<File>> {
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let (stop, stopper) = io::pipe()?;
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if signals.forever().next().is_some() {
                drop(stopper);
                thread::sleep(limits::GRACE);
                process::exit(1);
            }
        })?;
        // Not `Stdin`, because `poll` cannot see what is already in its buffer.
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(UntilStopped::new(input, stop, limits::LAST_INPUT))
    }

    /// An input that ends once it has been stopped and is empty.
    #[derive(Debug)]
    pub struct UntilStopped<R> {
        input: R,
        /// Becomes readable, or hangs up, when the input should end.
        stop: PipeReader,
        /// How long the input may continue after it was stopped, if it does not become quiet.
        patience: Duration,
        /// When that time runs out; set when the input is stopped.
        deadline: Option<Instant>,
    }

    impl<R: Read + AsFd> UntilStopped<R> {
        /// Closing the other end of `stop` stops the input; an input that never becomes quiet ends
        /// `patience` later.
        pub fn new(input: R, stop: PipeReader, patience: Duration) -> UntilStopped<R> {
            UntilStopped { input, stop, patience, deadline: None }
        }

        /// Waits for bytes or the end of the input; `false` means that it was stopped and is empty.
        fn is_ready(&mut self) -> io::Result<bool> {
            let quiet = Timespec::try_from(limits::QUIET).map_err(io::Error::other)?;
            loop {
                let mut polled = [
                    PollFd::new(&self.input, PollFlags::IN),
                    PollFd::new(&self.stop, PollFlags::IN),
                ];
                let (waited_for, timeout) = match self.deadline {
                    None => (&mut polled[..], None),
                    Some(_) => (&mut polled[..1], Some(&quiet)),
                };
                match poll(waited_for, timeout) {
                    Ok(0) => return Ok(false),
                    Ok(_) => {}
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                }
                let [input, stop] = polled.map(|fd| !fd.revents().is_empty());
                if self.deadline.is_none() && stop {
                    self.deadline = Some(Instant::now() + self.patience);
                }
                if input {
                    return Ok(self.deadline.is_none_or(|deadline| Instant::now() < deadline));
                }
            }
        }
    }

    impl<R: Read + AsFd> Read for UntilStopped<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.is_ready()? { self.input.read(buffer) } else { Ok(0) }
        }
    }
}
