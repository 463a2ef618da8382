//! Provokes every problem code: a way to cause it, the report, and the page it refers to. A code
//! without a row, or a row without a code, fails the test.

mod apis;
mod documents;
mod protocol;
mod runs;

use std::panic::catch_unwind;
use std::sync::Mutex;

use milepost_model::problem::Code;
use serde_json::Value;

use crate::docs::read;
use crate::{Place, Ran};

/// How a problem is reported.
enum Told {
    /// As text, by a command.
    Words(Ran),
    /// As an object with `error_code`, by a server.
    Data(Value),
    /// By a JSON-RPC error number alone.
    Number(Value),
    /// In the journal of a run that continues.
    Event(Ran),
}

type Scenario = fn() -> Told;

const SCENARIOS: &[(Code, Scenario)] = &[
    (Code::AccessDenied, protocol::no_token),
    (Code::ApprovalRejected, runs::a_no),
    (Code::ArgumentsInvalid, apis::an_unknown_argument),
    (Code::AuthFailed, apis::no_credentials),
    (Code::BaseUrlMissing, apis::no_address),
    (Code::CatalogDisabled, apis::out_of_use),
    (Code::CatalogExists, apis::imported_twice),
    (Code::CatalogInvalid, apis::no_operations),
    (Code::CatalogNotFound, || say(&[], "catalog show nobody")),
    (Code::ClaimRefuted, runs::a_false_claim),
    (Code::ClientConfigConflict, documents::another_server),
    (Code::ClientConfigRefused, documents::no_json),
    (Code::CommandNotFound, apis::no_command),
    (Code::ConfigInvalid, documents::half_a_list),
    (Code::ConfirmationRequired, documents::no_yes),
    (Code::CriteriaInvalid, documents::half_a_pattern),
    (Code::ExpressionFailed, runs::no_first_item),
    (Code::FailedByAuthor, runs::an_author_who_fails_it),
    (Code::FileNotFound, || say(&[], "workflow validate nobody.yaml")),
    (Code::FileRefused, || say(&[], "catalog validate .")),
    (Code::IdInvalid, || say(&[], "workflow new Not!")),
    (Code::InputInvalid, runs::no_input),
    (Code::Internal, protocol::no_more_files),
    (Code::MaskedValue, || say(&[("mask.yaml", MASK)], "workflow save mask.yaml")),
    (Code::MethodNotFound, protocol::no_method),
    (Code::OutcomeUnknown, runs::killed_while_it_wrote),
    (Code::OutputInvalid, runs::less_than_promised),
    (Code::ParamsInvalid, || say(&[], "docs no-such-page")),
    (Code::ParseError, protocol::no_json),
    (Code::PresenceRequired, runs::nobody_there),
    (Code::ProjectUntrusted, || {
        let files = [(".milepost/config.toml", ""), (".milepost/workflows/a.yaml", crate::SOUND)];
        say(&files, "run sound")
    }),
    (Code::ProviderNotFound, apis::no_choices),
    (Code::RepeatExhausted, runs::never_ready),
    (Code::RequestInvalid, protocol::no_request),
    (Code::RequestRefused, apis::a_private_address),
    (Code::ResumeRefused, runs::nothing_to_resume),
    (Code::RunCanceled, runs::a_child_that_is_canceled),
    (Code::RunConflict, runs::nothing_to_decide),
    (Code::RunNotFound, || say(&[], "show run_nobody")),
    (Code::RunTimeout, runs::too_slow),
    (Code::RunWorldMissing, runs::a_folder_that_is_gone),
    (Code::SecretNotAllowed, apis::a_secret_that_nobody_allowed),
    (Code::SecretNotFound, || say(&[], "secret remove NOBODY")),
    (Code::SecretsUnusable, documents::a_damaged_store),
    (Code::ServerError, protocol::no_handshake),
    (Code::SourceUnreadable, apis::a_failing_source),
    (Code::StateInvalid, documents::no_list_to_walk),
    (Code::StepNotDue, runs::ahead_of_its_time),
    (Code::StepNotFound, runs::a_step_that_is_not_there),
    (Code::StorageFailed, runs::a_disk_that_fails),
    (Code::SubmissionsExhausted, runs::no_tries_left),
    (Code::TaskCapabilityRequired, protocol::no_tasks),
    (Code::UpstreamFailed, apis::nobody_listens),
    (Code::UpstreamRejected, runs::a_refusal),
    (Code::UpstreamTimeout, apis::silence),
    (Code::WorkflowExists, documents::written_twice),
    (Code::WorkflowInvalid, || say(&[("slip.yaml", crate::SLIP)], "run slip.yaml")),
    (Code::WorkflowNotFound, || say(&[], "workflow show nobody")),
    (Code::WorkflowReadOnly, || say(&[], "workflow delete bug-investigation --yes")),
    (Code::WorkflowVersionConflict, documents::another_version),
    (Code::WorkflowVersionNotFound, documents::no_version),
];

/// A workflow with a mask where a value should be.
const MASK: &str = "workflow: mask\nsteps: [{id: a, set: {x: '[secret:K]'}}]\n";

/// Runs a command in a folder with these files.
fn say(files: &[(&str, &str)], command: &str) -> Told {
    Told::Words(Place::with(files).say(command))
}

/// How many problems are provoked in parallel.
const AT_ONCE: usize = 4;

#[test]
fn every_code_can_be_provoked_and_has_its_page() {
    let mut listed: Vec<&str> = SCENARIOS.iter().map(|(code, _)| code.name()).collect();
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    listed.sort_unstable();
    codes.sort_unstable();
    assert_eq!(listed, codes, "every code has a scenario");
    let (open, faults) = (Mutex::new(SCENARIOS.iter()), Mutex::new(Vec::new()));
    let next = || open.lock().expect("nobody panics").next();
    let overview = read("docs/errors/README.md");
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((code, scenario)) = next() {
                    let fault = match catch_unwind(scenario) {
                        Ok(told) => leads(*code, &told, &overview).err(),
                        Err(_) => Some("it could not be provoked".to_owned()),
                    };
                    let fault = fault.map(|fault| format!("{}: {fault}", code.name()));
                    faults.lock().expect("nobody panics").extend(fault);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("nobody panics");
    assert!(faults.is_empty(), "{} of {}\n{}", faults.len(), codes.len(), faults.join("\n\n"));
}

/// Checks that the report names the code, and that the code has a page.
fn leads(code: Code, told: &Told, overview: &str) -> Result<(), String> {
    let name = code.name();
    match told {
        Told::Words(Ran { code, out, err }) => {
            let said = format!("{out}{err}");
            let parts = [
                format!("error[{name}]: "),
                "hint: ".to_owned(),
                format!("more: milepost docs {name}"),
            ];
            if let Some(part) = parts.iter().find(|part| !said.contains(*part)) {
                return Err(format!("no `{part}`: exit code {code}\n{said}"));
            }
        }
        Told::Data(data) if data["error_code"] == name => {}
        Told::Event(ran) if ran.out.contains(&format!("\"code\":\"{name}\"")) => {}
        Told::Number(message) => {
            let row = format!("| [{name}]({name}.md) | {} |", message["error"]["code"]);
            if !overview.contains(&row) {
                return Err(format!("docs/errors/README.md has no row for {message}"));
            }
        }
        Told::Data(data) => return Err(data.to_string()),
        Told::Event(ran) => return Err(format!("{}{}", ran.out, ran.err)),
    }
    if !overview.contains(&format!("| [{name}]({name}.md) | ")) {
        return Err("docs/errors/README.md has no row".to_owned());
    }
    let page = Place::new().run(["docs", name]).ends(0).out;
    let whole = page.starts_with(&format!("# {name}\n")) && page.contains("## What to do");
    if whole { Ok(()) } else { Err(format!("its page: {page}")) }
}
