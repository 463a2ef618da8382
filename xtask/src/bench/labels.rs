//! The quality and speed of search on the labelled queries. An example of the catalog crate runs
//! them; its output is parsed here.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::EXAMPLES;
use super::figure::{Figure, Limit};
use crate::tools::shout;
use crate::workspace::Workspace;

/// The documents other than GitHub's, by their names in the labels.
const DOCUMENTS: [(&str, &str); 2] = [
    ("stripe", "guru__stripe.com_2022-11-15_openapi.yaml"),
    ("kubernetes", "guru__kubernetes.io_v1.10.0_swagger.yaml"),
];

pub(crate) fn figures(workspace: &Workspace, github: &Path) -> Result<Vec<Figure>> {
    let corpus = env::var_os("MILEPOST_CORPUS")
        .map_or_else(|| workspace.root().join("../shared/corpus"), PathBuf::from);
    let folder = corpus.join("openapi");
    if !DOCUMENTS.iter().all(|(_, file)| folder.join(file).is_file()) {
        shout("the search queries are skipped: set MILEPOST_CORPUS to the document corpus");
        return Ok(Vec::new());
    }
    let program = workspace.build_binary("search_eval", &EXAMPLES)?;
    let named = |name: &str, path: &Path| {
        let mut argument = OsString::from(format!("{name}="));
        argument.push(path);
        argument
    };
    let others = DOCUMENTS.map(|(name, file)| named(name, &folder.join(file)));
    let output = Command::new(program)
        .arg(named("github", github))
        .args(others)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start search_eval")?;
    // The exit code reports missed targets, which the figures show as well.
    let said = String::from_utf8_lossy(&output.stdout);
    eprint!("{said}");
    let told = Told::read(&said).context("search_eval's output is incomplete")?;
    Ok(told.figures())
}

/// The totals over all documents.
#[derive(Debug, PartialEq)]
struct Told {
    /// For the half that the weights were tuned on, then for the held-out half: the percentage of
    /// queries with their answer first, and among the first five.
    halves: [(f64, f64); 2],
    nonsense: f64,
    /// The mean and the slowest time of all queries, over five thousand commands.
    query_ms: (f64, f64),
}

impl Told {
    fn read(said: &str) -> Option<Told> {
        let (documents, all) = said.split_once("\nall\n")?;
        let half = |name: &str| {
            let line = all.lines().find_map(|line| line.trim().strip_prefix(name))?;
            Some((between(line, "first ", " %")?, between(line, "among five ", " %")?))
        };
        let found = documents.lines().filter_map(|line| line.split_once("nonsense found: "));
        let found: Option<Vec<f64>> = found.map(|(_, count)| count.parse().ok()).collect();
        let large = documents.lines().find_map(|line| line.strip_prefix("large: 5000 "))?;
        let time = |from: &str| {
            let (_, rest) = large.split_once(from)?;
            milliseconds(rest.split(',').next()?)
        };
        Some(Told {
            halves: [half("tune:")?, half("held:")?],
            nonsense: found.filter(|found| !found.is_empty())?.iter().sum(),
            query_ms: (time("query ")?, time("slowest ")?),
        })
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, value, unit, limit| Figure { name, value, unit, limit };
        let [tuned, held] = self.halves;
        vec![
            figure("search_first_percent", tuned.0, "%", Limit::AtLeast(80)),
            figure("search_five_percent", tuned.1, "%", Limit::AtLeast(95)),
            figure("search_held_first_percent", held.0, "%", Limit::AtLeast(80)),
            figure("search_held_five_percent", held.1, "%", Limit::AtLeast(95)),
            figure("search_nonsense_found", self.nonsense, "", Limit::AtMost(0)),
            figure("search_5000_ms", self.query_ms.0, "ms", Limit::AtMost(2)),
            figure("search_5000_slowest_ms", self.query_ms.1, "ms", Limit::AtMost(2)),
        ]
    }
}

fn between(line: &str, before: &str, after: &str) -> Option<f64> {
    let (_, rest) = line.split_once(before)?;
    rest.split_once(after)?.0.parse().ok()
}

/// Parses a duration as Rust's `Debug` prints it.
fn milliseconds(time: &str) -> Option<f64> {
    let units = [("ms", 1.0), ("µs", 1e-3), ("ns", 1e-6), ("s", 1e3)];
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((time.trim().strip_suffix(name)?, unit)))?;
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
github: 1223 commands, index 30.5ms, query 181.0µs, slowest 1.1ms
  tune: 40 queries, first 90.0 %, among five 97.5 %
  tune nonsense found: 1
  held: 38 queries, first 84.2 %, among five 97.3 %
  held nonsense found: 2
large: 5000 commands, index 90.1ms, query 612.5µs, slowest 1.9ms
all
  tune: 90 queries, first 91.1 %, among five 98.8 %
  held: 84 queries, first 85.7 %, among five 96.4 %
";

    #[test]
    fn the_words_of_the_program_are_read() {
        let told = Told::read(SAID).unwrap();
        assert_eq!(told.halves, [(91.1, 98.8), (85.7, 96.4)]);
        assert!((told.nonsense - 3.0).abs() < 1e-9);
        assert!((told.query_ms.0 - 0.6125).abs() < 1e-9);
        assert!((told.query_ms.1 - 1.9).abs() < 1e-9);
    }

    #[test]
    fn a_line_that_is_not_there_is_no_figure() {
        for line in SAID.lines().filter(|line| !line.starts_with("github") && !line.is_empty()) {
            // Lines of a single document may be missing, because the figures come from the totals.
            if !line.contains("nonsense") && !line.contains("40") && !line.contains("38") {
                assert_eq!(Told::read(&SAID.replace(line, "")), None, "{line}");
            }
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(milliseconds("1.5s"), Some(1_500.0));
        assert_eq!(milliseconds("2.0ms"), Some(2.0));
        assert_eq!(milliseconds("7"), None);
    }
}
