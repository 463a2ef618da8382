//! The official conformance suite, over HTTP: against its own fixtures, served by an example on the
//! product's stack, and against the product itself.
//!
//! Against the fixtures, every check must pass. Against the product, checks that need a fixture may
//! fail; they are listed, and the list must match the failures exactly.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;

use crate::install::{self, FOLDER};
use crate::report::Verdict;
use crate::tools::shout;
use crate::workspace::Workspace;

/// The folder of the suite, the lists and the token script, below the clients.
const HERE: &str = "conformance";
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const TOKEN: &str = "MILEPOST_TOKEN";
/// An arbitrary string of the length that the server requires.
const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A revision, and the number of its checks that must pass against the fixtures. A lower number
/// means that some checks did not run.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 83), ("2026-07-28", 197)];

/// The length of the timestamp at the end of a folder name, after the scenario.
const MOMENT: usize = "-2026-01-31T00-00-00-000Z".len();

/// `cargo xtask conformance`: the stage alone.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    Ok(match stage(workspace)? {
        Verdict::Failed { why } => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
        Verdict::Passed { note } => {
            eprintln!("{note}");
            ExitCode::SUCCESS
        }
        Verdict::Skipped { .. } => ExitCode::SUCCESS,
    })
}

/// Checks both servers against both revisions.
pub(crate) fn stage(workspace: &Workspace) -> Result<Verdict> {
    let found = (install::newer_node(workspace)?, install::node_modules(workspace, HERE)?);
    let (node, modules) = match found {
        (Ok(node), Ok(modules)) => (node, modules),
        (Err(why), _) | (_, Err(why)) => {
            shout(&format!("conformance is not checked: {why}"));
            return Ok(Verdict::Skipped { why: why.to_owned() });
        }
    };
    // Use the build that all stages share, so that nothing is built again.
    let built = |name: &str| workspace.build_binary(name, &["--workspace", "--all-targets"]);
    let folder = workspace.root().join(FOLDER).join(HERE);
    let suite = Suite { node, modules, folder };
    let home = tempfile::tempdir().context("cannot create a folder")?;
    let fixtures = Server::fixtures(&built(HERE)?)?;
    let product = Server::product(&built("milepost")?, home.path())?;
    let checked = thread::scope(|scope| {
        let runs: Vec<_> = REVISIONS
            .iter()
            .flat_map(|revision| [(revision, &fixtures), (revision, &product)])
            .map(|(revision, server)| scope.spawn(|| suite.check(server, revision)))
            .collect();
        runs.into_iter().map(|run| run.join().map_err(|_| anyhow!("a check panicked"))?).collect()
    });
    let notes: Vec<String> = match checked {
        Err(error) => return Ok(Verdict::Failed { why: format!("{error:#}") }),
        Ok(notes) => notes,
    };
    Ok(Verdict::Passed { note: notes.join("; ") })
}

struct Suite {
    node: PathBuf,
    modules: PathBuf,
    folder: PathBuf,
}

impl Suite {
    /// Runs the checks of a revision against a server and returns how many passed.
    fn check(&self, server: &Server, (revision, count): &(&str, usize)) -> Result<String> {
        let results = tempfile::tempdir().context("cannot create a folder")?;
        let mut command = Command::new(&self.node);
        if server.has_token {
            // Modules are imported by URL, which also works on systems with drive letters.
            let script = self.folder.join("token.mjs");
            command.env(TOKEN, SECRET).arg("--import").arg(format!("file://{}", script.display()));
        }
        command.current_dir(&self.modules).arg(SUITE).args(["server", "--url", &server.url]);
        command.args(["--requirements", revision, "-o"]).arg(results.path());
        let output = command.stdin(Stdio::null()).output().context("cannot start the suite")?;
        let what = format!("{} at {revision}", server.name);
        let judged = Judged::of(results.path()).and_then(|judged| {
            self.judge(server, revision, *count, &judged).with_context(|| what.clone())?;
            Ok(judged.passed)
        });
        if judged.is_err() {
            let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            eprintln!("--- {what}\n{}", said.concat());
        }
        Ok(format!("{what}: {} checks", judged?))
    }

    fn judge(&self, server: &Server, revision: &str, count: usize, judged: &Judged) -> Result<()> {
        let mut missing = BTreeSet::new();
        if server.has_token {
            let list = self.folder.join(format!("missing-{revision}.txt"));
            let list = fs::read_to_string(&list)
                .with_context(|| format!("cannot read {}", list.display()))?;
            missing =
                list.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        }
        compare(&missing, &judged.missed)?;
        let passed = judged.passed;
        ensure!(server.has_token || passed >= count, "{passed} checks passed instead of {count}");
        Ok(())
    }
}

/// The failures must be exactly the expected ones.
fn compare(expected: &BTreeSet<String>, missed: &BTreeSet<String>) -> Result<()> {
    let list =
        |all: Vec<&String>| all.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let new = list(missed.difference(expected).collect());
    let stale = list(expected.difference(missed).collect());
    match (new.is_empty(), stale.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => bail!("these checks failed: {new}"),
        (true, false) => bail!("these checks pass but are listed as expected failures: {stale}"),
    }
}

/// The results that the suite recorded.
struct Judged {
    passed: usize,
    /// Scenario and name of every failed check and warning.
    missed: BTreeSet<String>,
}

impl Judged {
    fn of(results: &Path) -> Result<Judged> {
        let mut judged = Judged { passed: 0, missed: BTreeSet::new() };
        for folder in fs::read_dir(results).context("the suite wrote nothing")? {
            let folder = folder.context("the results cannot be listed")?;
            let name = folder.file_name().to_string_lossy().into_owned();
            let checks = fs::read_to_string(folder.path().join("checks.json"))
                .with_context(|| format!("{name} has no checks"))?;
            let checks =
                serde_json::from_str(&checks).with_context(|| format!("{name}: no JSON"))?;
            judged.take(scenario(&name)?, &checks)?;
        }
        ensure!(judged.passed > 0, "the suite checked nothing");
        Ok(judged)
    }

    fn take(&mut self, scenario: &str, checks: &Value) -> Result<()> {
        for check in checks.as_array().context("the checks are not an array")? {
            let id = check["id"].as_str().context("a check has no id")?;
            match check["status"].as_str() {
                Some("SUCCESS") => self.passed += 1,
                Some("FAILURE" | "WARNING") => {
                    self.missed.insert(format!("{scenario} {id}"));
                }
                Some("INFO" | "SKIPPED") => {}
                other => bail!("{id} ended as {other:?}: is it a suite of another version?"),
            }
        }
        Ok(())
    }
}

/// The scenario whose results a folder contains.
fn scenario(folder: &str) -> Result<&str> {
    let name = folder.strip_prefix("server-");
    let name = name.and_then(|name| name.get(..name.len().checked_sub(MOMENT)?));
    name.with_context(|| format!("`{folder}` is not a result folder of the suite"))
}

/// A running server, stopped on drop.
struct Server {
    name: &'static str,
    url: String,
    has_token: bool,
    child: Child,
}

impl Server {
    /// Starts the example, which serves until its input ends.
    fn fixtures(program: &Path) -> Result<Server> {
        Server::start("fixtures", false, Command::new(program).stdin(Stdio::piped()))
    }

    fn product(program: &Path, home: &Path) -> Result<Server> {
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0"]).current_dir(home).env_clear();
        command.env("HOME", home);
        // The suite makes mistakes on purpose, and these need not be logged.
        command.env(TOKEN, SECRET).stdin(Stdio::null()).stderr(Stdio::null());
        Server::start("milepost serve", true, &mut command)
    }

    fn start(name: &'static str, has_token: bool, command: &mut Command) -> Result<Server> {
        let child = command.stdout(Stdio::piped()).spawn();
        let child = child.with_context(|| format!("cannot start {name}"))?;
        let mut server = Server { name, url: String::new(), has_token, child };
        let output = server.child.stdout.take().context("stdout is not piped")?;
        BufReader::new(output).read_line(&mut server.url).context("the server cannot be read")?;
        server.url.truncate(server.url.trim_end().len());
        ensure!(server.url.starts_with("http://"), "{name} says no URL: `{}`", server.url);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // If the server has already exited, the suite has reported that.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[track_caller]
    fn check_compare(expected: &[&str], missed: &[&str], why: Option<&str>) {
        let compared = compare(&set(expected), &set(missed));
        assert_eq!(compared.err().map(|error| error.to_string()).as_deref(), why);
    }

    #[test]
    fn a_list_names_neither_too_much_nor_too_little() {
        check_compare(&[], &[], None);
        check_compare(&["a b"], &["a b"], None);
        check_compare(&["a b"], &["a b", "a c"], Some("these checks failed: a c"));
        let stale = "these checks pass but are listed as expected failures: a b";
        check_compare(&["a b"], &[], Some(stale));
    }

    #[test]
    fn warnings_count_as_failures_and_unknown_ends_as_errors() {
        let mut judged = Judged { passed: 0, missed: BTreeSet::new() };
        let checks = json!([
            {"id": "a", "status": "SUCCESS"},
            {"id": "b", "status": "WARNING"},
            {"id": "c", "status": "FAILURE"},
            {"id": "d", "status": "INFO"},
        ]);
        judged.take("ping", &checks).expect("is read");
        assert_eq!((judged.passed, judged.missed.clone()), (1, set(&["ping b", "ping c"])));
        assert!(judged.take("ping", &json!([{"id": "e", "status": "ODD"}])).is_err());
    }

    #[test]
    fn a_folder_is_named_after_its_scenario() {
        let folder = "server-tools-list-2026-11-16T12-25-44-465Z";
        assert_eq!(scenario(folder).expect("a scenario"), "tools-list");
        assert!(scenario("server-x").is_err());
        assert!(scenario("client-tools-list-2026-11-16T12-25-44-465Z").is_err());
    }
}
