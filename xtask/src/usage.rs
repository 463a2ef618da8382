//! `cargo xtask usage <program> …`: runs a program and reports its resource usage, as one line of
//! JSON at the end of stderr.
//!
//! Each program is measured by a separate process, because the system records a single memory peak
//! for all children of a process.

use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// The resource usage of a program, including the processes that it started and waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Usage {
    pub(crate) wall_ms: f64,
    /// User and system time of all threads.
    pub(crate) cpu_ms: f64,
    /// The peak memory of the largest single process.
    pub(crate) peak_mb: f64,
}

pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<ExitCode> {
    let start = Instant::now();
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    let (cpu_ms, peak_mb) = of_children()?;
    eprintln!("\n{}", json!({"wall_ms": wall_ms, "cpu_ms": cpu_ms, "peak_mb": peak_mb}));
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A command that reports its usage; arguments, environment and directory are still to be set.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
    let own = std::env::current_exe().context("cannot determine the path of this program")?;
    let mut command = Command::new(own);
    command.arg("usage").arg(program);
    Ok(command)
}

/// Runs a command from [`command`], which must succeed.
pub(crate) fn measure(command: &mut Command) -> Result<(Usage, Output)> {
    let output = command.stdin(Stdio::null()).output().context("cannot start the program")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
    let usage = told(&said).with_context(|| format!("{command:?} reported no usage: {said}"))?;
    Ok((usage, output))
}

fn told(said: &str) -> Option<Usage> {
    let line: Value = serde_json::from_str(said.trim_end().lines().next_back()?).ok()?;
    let number = |name: &str| line[name].as_f64();
    Some(Usage {
        wall_ms: number("wall_ms")?,
        cpu_ms: number("cpu_ms")?,
        peak_mb: number("peak_mb")?,
    })
}

#[cfg(unix)]
fn of_children() -> Result<(f64, f64)> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let microseconds = usage.user_time() + usage.system_time();
    // Apple reports bytes, all others KiB.
    let unit = if cfg!(target_vendor = "apple") { 1.0 } else { 1_024.0 };
    #[expect(clippy::cast_precision_loss, reason = "both values are far below 2^52")]
    let (cpu_us, peak) = (microseconds.num_microseconds() as f64, usage.max_rss() as f64);
    ensure!(peak > 0.0, "the system does not report peak memory");
    Ok((cpu_us / 1e3, peak * unit / 1e6))
}

#[cfg(not(unix))]
fn of_children() -> Result<(f64, f64)> {
    anyhow::bail!("this system does not report resource usage")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_tells_the_use() {
        let said = "warning: odd\n\n{\"wall_ms\":9.5,\"cpu_ms\":8,\"peak_mb\":7.25}\n";
        assert_eq!(told(said), Some(Usage { wall_ms: 9.5, cpu_ms: 8.0, peak_mb: 7.25 }));
        assert_eq!(told("{\"wall_ms\":9.5}"), None);
        assert_eq!(told(""), None);
    }
}
