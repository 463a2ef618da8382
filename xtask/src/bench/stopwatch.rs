//! Whole-process wall times of several commands, measured alternately so that noise affects them
//! alike.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

const WARM_UPS: usize = 2;
const RUNS: usize = 21;

/// A command that is run many times and must end the same way every time.
pub(crate) struct Subject {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The exit codes of a correct answer.
    pub(crate) codes: &'static [i32],
}

impl Subject {
    /// Runs the command once and returns its output, to check the answer before any timing.
    pub(crate) fn answer(&self) -> Result<Output> {
        let output = self.command().output().with_context(|| self.failure())?;
        ensure!(
            output.status.code().is_some_and(|code| self.codes.contains(&code)),
            "{} ({}): {}",
            self.failure(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim(),
        );
        Ok(output)
    }

    fn time(&self) -> Result<Duration> {
        let mut command = self.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status().with_context(|| self.failure())?;
        let elapsed = start.elapsed();
        let right = status.code().is_some_and(|code| self.codes.contains(&code));
        ensure!(right, "{} ({status})", self.failure());
        Ok(elapsed)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        command
    }

    fn failure(&self) -> String {
        let first = self.arguments.iter().take(3).map(|argument| argument.to_string_lossy());
        let first: Vec<_> = first.collect();
        format!("`{} {} …` gave an unexpected answer", self.program.display(), first.join(" "))
    }
}

/// The median wall time of each subject, in milliseconds.
pub(crate) fn medians_ms(subjects: &[&Subject]) -> Result<Vec<f64>> {
    let mut times = vec![Vec::with_capacity(RUNS); subjects.len()];
    for round in 0..WARM_UPS + RUNS {
        for (subject, times) in subjects.iter().zip(&mut times) {
            let elapsed = subject.time()?;
            if round >= WARM_UPS {
                times.push(elapsed);
            }
        }
    }
    Ok(times.iter_mut().map(|times| median_ms(times)).collect())
}

fn median_ms(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_time() {
        let mut times = [9, 1, 3].map(Duration::from_millis);
        assert!((median_ms(&mut times) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_wrong_exit_code_ends_the_bench() {
        let program = std::env::current_exe().unwrap();
        let arguments = vec![OsString::from("--list")];
        let right = Subject { program: program.clone(), arguments: arguments.clone(), codes: &[0] };
        assert!(medians_ms(&[&right]).is_ok());
        assert!(right.answer().is_ok());
        let wrong = Subject { program, arguments, codes: &[3] };
        assert!(medians_ms(&[&wrong]).is_err());
        assert!(wrong.answer().is_err());
    }
}
