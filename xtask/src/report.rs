//! Runs stages with a heading, a duration and a verdict, and prints the summary table of a test
//! run.

use std::time::{Duration, Instant};

use anyhow::Result;

/// How a stage ended, with details for the reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed { note: String },
    Failed { why: String },
    Skipped { why: String },
}

impl Verdict {
    pub(crate) fn passed() -> Verdict {
        Verdict::Passed { note: String::new() }
    }

    fn word(&self) -> &'static str {
        match self {
            Verdict::Passed { .. } => "ok",
            Verdict::Failed { .. } => "FAILED",
            Verdict::Skipped { .. } => "SKIPPED",
        }
    }

    fn detail(&self) -> &str {
        match self {
            Verdict::Passed { note } => note,
            Verdict::Failed { why } | Verdict::Skipped { why } => why,
        }
    }
}

struct Row {
    stage: &'static str,
    verdict: Verdict,
    elapsed: Duration,
}

/// The stages that have run so far.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

impl Report {
    /// Runs one stage and returns whether it passed. A failure is recorded, not propagated, so that
    /// the next stages still run.
    pub(crate) fn stage(
        &mut self,
        stage: &'static str,
        work: impl FnOnce() -> Result<Verdict>,
    ) -> bool {
        eprintln!("\n==> {stage}");
        let start = Instant::now();
        let verdict = work().unwrap_or_else(|error| Verdict::Failed { why: format!("{error:#}") });
        let elapsed = start.elapsed();
        let row = Row { stage, verdict, elapsed };
        eprintln!("<== {}", line(&row));
        let passed = matches!(row.verdict, Verdict::Passed { .. });
        self.rows.push(row);
        passed
    }

    /// Records a stage that another stage's failure made pointless.
    pub(crate) fn skip(&mut self, stage: &'static str, why: &str) {
        let verdict = Verdict::Skipped { why: why.to_owned() };
        self.rows.push(Row { stage, verdict, elapsed: Duration::ZERO });
    }

    pub(crate) fn failed(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.verdict, Verdict::Failed { .. }))
    }

    pub(crate) fn table(&self) -> String {
        let total: Duration = self.rows.iter().map(|row| row.elapsed).sum();
        let verdict = if self.failed() { "FAILED" } else { "ok" };
        let mut lines = vec![String::new(), "summary".to_owned()];
        lines.extend(self.rows.iter().map(|row| format!("  {}", line(row))));
        lines.push(format!("  {:<17} {:>7.1} s  {verdict}", "total", total.as_secs_f64()));
        lines.join("\n")
    }
}

fn line(row: &Row) -> String {
    let detail = row.verdict.detail();
    let separator = if detail.is_empty() { "" } else { ": " };
    let (seconds, word) = (row.elapsed.as_secs_f64(), row.verdict.word());
    format!("{:<17} {seconds:>7.1} s  {word}{separator}{detail}", row.stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_runs_and_one_failure_fails_the_whole() {
        let mut report = Report::default();
        assert!(report.stage("fmt", || Ok(Verdict::passed())));
        assert!(!report.stage("tidy", || anyhow::bail!("2 findings")));
        report.skip("doc", "the build failed");
        assert!(report.failed());
        let table = report.table();
        let words: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(words[2], ["fmt", "0.0", "s", "ok"]);
        assert_eq!(words[3], ["tidy", "0.0", "s", "FAILED:", "2", "findings"]);
        assert_eq!(words[4], ["doc", "0.0", "s", "SKIPPED:", "the", "build", "failed"]);
        assert_eq!(words[5], ["total", "0.0", "s", "FAILED"]);
    }

    #[test]
    fn a_skipped_stage_fails_nothing() {
        let mut report = Report::default();
        report.skip("deny advisories", "the advisory database cannot be fetched");
        assert!(!report.failed());
    }
}
