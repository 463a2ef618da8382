//! Tests the mock with an independent checker: schemathesis sends `milepost catalog mock` any
//! requests that real documents allow, and validates every response against them.
//!
//! The documents are not part of this project. Without them, or without Python, the stage reports
//! that and is skipped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use crate::install;
use crate::report::Verdict;
use crate::tools::shout;
use crate::workspace::Workspace;

/// The documents are in this folder, below any parent folder of the checkout.
const CORPUS: &str = "shared/corpus/openapi";
/// How many documents are checked concurrently.
const AT_ONCE: usize = 2;
const REPORT: &str = "report.json";

/// The checks of every response: the statuses, media types and schemas of the document, and that
/// created resources exist and deleted ones do not.
const CHECKS: &str = "status_code_conformance,content_type_conformance,\
    response_schema_conformance,ensure_resource_availability,use_after_free";

/// The phases that use examples from the document, boundary values of its schemas, and random
/// values.
const ALONE: &str = "examples,coverage,fuzzing";
/// The same phases plus chains, in which one response supplies the values of the next request,
/// because no other phase knows the id of an existing resource. Chains are used only for documents
/// on whose collections the mock and the checker agree; for others the result would depend on which
/// chains happen to be tried.
const IN_CHAINS: &str = "examples,coverage,fuzzing,stateful";

/// A document and how it is tested.
struct Subject {
    name: &'static str,
    document: &'static str,
    /// The path of the document's server, below which the mock responds as well.
    base: &'static str,
    phases: &'static str,
    /// Random requests per operation; few for documents with many operations.
    examples: u16,
    /// A regular expression for paths to skip.
    left_out: Option<&'static str>,
}

/// The slowest document comes first, so that the stage does not wait for it alone at the end.
const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "asana",
        document: "guru__asana.com_1.0_openapi.yaml",
        base: "/api/1.0",
        phases: ALONE,
        examples: 1,
        // The document declares a response body for status 204, which has none.
        left_out: Some("removeUser$"),
    },
    Subject {
        name: "netlify",
        document: "guru__netlify.com_2.16.0_swagger.yaml",
        base: "/api/v1",
        phases: ALONE,
        examples: 1,
        left_out: None,
    },
    Subject {
        name: "box",
        document: "box__openapi_openapi-v2025.0.json",
        base: "/2.0",
        phases: ALONE,
        examples: 2,
        left_out: None,
    },
    Subject {
        name: "petstore",
        document: "oai-example__v3.0_petstore.yaml",
        base: "/v1",
        phases: IN_CHAINS,
        examples: 20,
        left_out: None,
    },
    Subject {
        name: "uspto",
        document: "oai-example__v3.0_uspto.yaml",
        base: "/ds-api",
        phases: ALONE,
        examples: 20,
        left_out: None,
    },
];

/// `cargo xtask mock`: the stage alone.
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

/// Checks the mocks of all documents.
pub(crate) fn stage(workspace: &Workspace) -> Result<Verdict> {
    let Some(corpus) = corpus(workspace.root()) else {
        return Ok(skipped("there is no corpus of documents above the checkout"));
    };
    let python = match install::python_with(workspace, "schemathesis")? {
        Ok(python) => python,
        Err(why) => return Ok(skipped(why)),
    };
    // Use the build that all stages share, so that nothing is built again.
    let binary = workspace.build_binary("milepost", &["--workspace", "--all-targets"])?;
    let checked = Checker { binary, python, corpus }.all()?;
    Ok(verdict(&checked))
}

fn corpus(root: &Path) -> Option<PathBuf> {
    root.ancestors().map(|folder| folder.join(CORPUS)).find(|folder| folder.is_dir())
}

fn skipped(why: &str) -> Verdict {
    shout(&format!("the mock is not checked: {why}"));
    Verdict::Skipped { why: why.to_owned() }
}

/// The name of a document, and either the number of requests that its mock passed or the error.
type Checked = (&'static str, Result<u64>);

fn verdict(checked: &[Checked]) -> Verdict {
    let mut requests = 0;
    let mut faults = Vec::new();
    for (name, outcome) in checked {
        match outcome {
            Ok(stood) => requests += stood,
            Err(error) => faults.push(format!("{name}: {error:#}")),
        }
    }
    if faults.is_empty() {
        let note = format!("{requests} requests to the mocks of {} documents", checked.len());
        return Verdict::Passed { note };
    }
    Verdict::Failed { why: faults.join("; ") }
}

struct Checker {
    binary: PathBuf,
    python: PathBuf,
    corpus: PathBuf,
}

impl Checker {
    fn all(&self) -> Result<Vec<Checked>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mine = std::iter::from_fn(|| SUBJECTS.get(next.fetch_add(1, Ordering::Relaxed)));
            mine.map(|subject| (subject.name, self.check(subject))).collect::<Vec<_>>()
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
            let mut checked = Vec::new();
            for worker in workers {
                checked.extend(worker.join().map_err(|_| anyhow!("a check panicked"))?);
            }
            Ok(checked)
        })
    }

    /// Checks the mock of one document and returns how many requests passed.
    fn check(&self, subject: &Subject) -> Result<u64> {
        // The checker writes to its working directory, and the mock to its home.
        let folder = tempfile::tempdir().context("cannot create a folder")?;
        let document = self.corpus.join(subject.document);
        let mock = Mock::start(&self.binary, &document, folder.path())?;
        let output = Command::new(&self.python)
            .args(["-m", "schemathesis.cli", "run"])
            .arg(&document)
            .args(arguments(subject, &mock.url))
            .current_dir(folder.path())
            // Requests to this machine bypass any proxy.
            .envs([("NO_PROXY", "127.0.0.1"), ("no_proxy", "127.0.0.1"), ("PYTHONUTF8", "1")])
            .stdin(Stdio::null())
            .output()
            .context("cannot start schemathesis")?;
        let judged = judged(&output, &folder.path().join(REPORT));
        if judged.is_err() {
            let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            eprintln!("--- {}\n{}", subject.name, said.concat());
        }
        judged
    }
}

fn judged(output: &Output, report: &Path) -> Result<u64> {
    let report = fs::read_to_string(report).context("schemathesis wrote no report")?;
    let requests = judge(&serde_json::from_str(&report).context("the report is not JSON")?)?;
    ensure!(output.status.success(), "schemathesis failed ({})", output.status);
    Ok(requests)
}

fn arguments(subject: &Subject, url: &str) -> Vec<String> {
    let fixed = "--mode positive --seed 1 --workers 1 --suppress-health-check all --no-color \
        --report json --report-json-path";
    let mut arguments: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
    arguments.push(REPORT.to_owned());
    let mut option = |name: &str, value: &str| arguments.extend([name, value].map(str::to_owned));
    option("--url", &format!("{url}{}", subject.base));
    option("--checks", CHECKS);
    option("--phases", subject.phases);
    option("--max-examples", &subject.examples.to_string());
    if let Some(paths) = subject.left_out {
        option("--exclude-path-regex", paths);
    }
    arguments
}

/// Reads the report. A run that did not cover every operation proves nothing, even if it passed.
fn judge(report: &Value) -> Result<u64> {
    let number = |pointer: &str| {
        report.pointer(pointer).and_then(Value::as_u64).with_context(|| {
            format!("the report has no number at `{pointer}`: is it of another version?")
        })
    };
    let failures = number("/test_cases/unique_failures")?;
    ensure!(failures == 0, "{failures} violations");
    let errors = number("/operations/errored")?;
    ensure!(errors == 0, "{errors} operations cannot be checked");
    let (tested, selected) = (number("/operations/tested")?, number("/operations/selected")?);
    ensure!(tested == selected && tested > 0, "{tested} of {selected} operations were checked");
    let requests = number("/test_cases/generated")?;
    ensure!(requests >= tested, "{requests} requests for {tested} operations");
    Ok(requests)
}

/// A running mock, stopped on drop.
struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    fn start(binary: &Path, document: &Path, home: &Path) -> Result<Mock> {
        let child = Command::new(binary)
            .args(["catalog", "mock", "--port", "0", "--json"])
            .arg(document)
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the mock")?;
        let mut mock = Mock { child, url: String::new() };
        let output = mock.child.stdout.take().context("stdout is not piped")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("the mock cannot be read")?;
        let told: Value = serde_json::from_str(&line).context("the mock did not start")?;
        told["url"].as_str().context("the mock printed no URL")?.clone_into(&mut mock.url);
        Ok(mock)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // If the mock has already exited, the checker has reported that.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The parts of a schemathesis report that are read.
    fn report(tested: u64, requests: u64, failures: u64) -> Value {
        json!({
            "operations": {"selected": 3, "tested": tested, "errored": 0},
            "test_cases": {"generated": requests, "unique_failures": failures},
        })
    }

    #[track_caller]
    fn check_judge(report: &Value, expected: Result<u64, &str>) {
        let judged = judge(report).map_err(|error| error.to_string());
        assert_eq!(judged, expected.map_err(str::to_owned));
    }

    #[test]
    fn only_a_run_that_asked_for_everything_counts() {
        check_judge(&report(3, 71, 0), Ok(71));
        check_judge(&report(3, 71, 2), Err("2 violations"));
        check_judge(&report(2, 71, 0), Err("2 of 3 operations were checked"));
        check_judge(&report(3, 0, 0), Err("0 requests for 3 operations"));
        let mut erred = report(3, 71, 0);
        erred["operations"]["errored"] = json!(1);
        check_judge(&erred, Err("1 operations cannot be checked"));
        let missing = "the report has no number at `/test_cases/unique_failures`: \
            is it of another version?";
        check_judge(&json!({}), Err(missing));
    }

    #[test]
    fn one_document_that_fails_fails_the_stage() {
        let stood = || ("box", Ok(5));
        let note = "10 requests to the mocks of 2 documents".to_owned();
        assert_eq!(verdict(&[stood(), stood()]), Verdict::Passed { note });
        let failed = ("petstore", Err(anyhow!("2 violations")));
        let why = "petstore: 2 violations".to_owned();
        assert_eq!(verdict(&[stood(), failed]), Verdict::Failed { why });
    }

    #[test]
    fn the_paths_to_leave_out_are_named_only_where_there_are_some() {
        let [asana, .., uspto] = &SUBJECTS;
        let told = arguments(asana, "http://127.0.0.1:1").join(" ");
        assert!(told.contains("--url http://127.0.0.1:1/api/1.0 "), "{told}");
        assert!(told.ends_with("--max-examples 1 --exclude-path-regex removeUser$"), "{told}");
        assert!(arguments(uspto, "").join(" ").ends_with("--max-examples 20"));
    }
}
