//! Converts errors from lower crates into problems.

use milepost_catalog::command::ApiCommand;
use milepost_catalog::request::Misuse;
use milepost_driver::RunError;
use milepost_engine::ports::JournalError;
use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_model::id::CatalogId;
use milepost_model::output_check::Undecidable;
use milepost_model::problem::Argument;
use milepost_model::suggest;
use milepost_model::violation::Violation;
use milepost_model::walk::WalkError;
use milepost_outbound::{
    AuthError, CallError, SecretSourceError as SecretPortError, SendError, SendFault,
};
use milepost_store::catalogs::{CatalogConflict, CatalogError, SaveError};
use milepost_store::person::PersonError;
use milepost_store::secrets::SecretError;
use milepost_store::{
    ConfigError, FileError, GrantError, InvalidCause, InvalidFile, KeyError, SourceError,
};

use crate::config;
use crate::prelude::*;
use crate::run::{errors as run_errors, person};

/// Converts an error from a lower crate into the problem that the caller sees.
pub(crate) trait ToProblem {
    fn to_problem(&self) -> Problem;
}

/// Converts the error of a result into a problem.
pub(crate) trait OrProblem<T> {
    fn or_problem(self) -> Result<T>;
}

impl<T, E: ToProblem> OrProblem<T> for Result<T, E> {
    fn or_problem(self) -> Result<T> {
        self.map_err(|error| error.to_problem())
    }
}

macro_rules! to_problem {
    ($($error:ty => $problem:path,)*) => {
        $(impl ToProblem for $error {
            fn to_problem(&self) -> Problem {
                $problem(self)
            }
        })*
    };
}

to_problem! {
    FileError => of_file,
    ConfigError => of_config,
    SourceError => of_source,
    GrantError => crate::trust::of_grants,
    CatalogError => of_catalog,
    SaveError => of_save,
    SecretError => of_secret,
    SendError => of_send,
    AuthError => of_auth,
    JournalError => run_errors::of_journal,
    RunError => run_errors::of_run,
    WalkError => of_walk,
    Undecidable => undecidable,
    CallError => of_call,
    KeyError => config::of_key,
    PersonError => person::of_person,
}

/// Converts an error about a file.
pub fn of_file(error: &FileError) -> Problem {
    let (code, hint, path) = match error {
        FileError::NotFound { path } => (Code::FileNotFound, "check the path", path),
        FileError::NotRegular { path } => (Code::FileRefused, "name a regular file", path),
        FileError::Outside { path } => {
            (Code::FileRefused, "replace the link with the file itself", path)
        }
        FileError::TooLarge { path, .. } => (Code::WorkflowInvalid, "split the document", path),
        FileError::Exists { path } => (Code::WorkflowExists, "use another id or file", path),
        FileError::NotFolder { path } => (Code::StorageFailed, "move the file away", path),
        FileError::Io { path, .. } => {
            (Code::StorageFailed, "check that the path is readable and writable", path)
        }
    };
    Problem::new(code, error.told(), hint).context("path", path.display().to_string())
}

pub(crate) fn no_workflow(id: &str, broken: usize, near: Option<&str>) -> Problem {
    let see = || Hint::text("see ").call(Invocation::of("workflow.list"));
    let hint = match (near, broken) {
        (Some(near), _) => meant(near),
        (None, 0) => see(),
        (None, _) => see().then(format!("; number of invalid files: {broken}")),
    };
    let message = format!("there is no workflow `{id}`");
    suggesting(Problem::new(Code::WorkflowNotFound, message, hint).context("workflow_id", id), near)
}

/// The problem when the only file with the requested id is invalid.
pub fn of_invalid(id: &str, invalid: &InvalidFile) -> Problem {
    let (path, reason) = (invalid.path.display(), invalid.reason.clone());
    let mut problem = match invalid.cause {
        InvalidCause::Text => {
            let validate = Invocation::of("workflow.validate");
            let hint = Hint::text("correct the file; ").call(validate).then(" shows every fault");
            Problem::new(Code::WorkflowInvalid, format!("`{path}`: {reason}"), hint)
        }
        InvalidCause::Place => {
            Problem::new(Code::FileRefused, reason, "put a regular file inside the directory")
        }
        InvalidCause::System => {
            Problem::new(Code::StorageFailed, reason, "make the file readable, then try again")
        }
    };
    problem.violations = invalid.document.as_deref().map(errors).unwrap_or_default();
    problem.context("workflow_id", id).context("path", path.to_string())
}

/// The violations that keep a document from being used.
pub(crate) fn errors(document: &Document) -> Vec<Violation> {
    let errors = document.violations.iter().filter(|one| one.severity == Severity::Error);
    errors.cloned().collect()
}

pub(crate) fn of_walk(error: &WalkError) -> Problem {
    match error {
        WalkError::UnknownStep { id, near } => no_step(id, near.as_deref()),
        WalkError::TooLong => {
            let hint = "lower `maxIterations`, or split the workflow";
            Problem::new(Code::StateInvalid, error.to_string(), hint)
        }
        WalkError::Variable { variable, expected, actual } => {
            let hint = format!("set `{variable}` in the context to {expected}");
            Problem::new(Code::StateInvalid, error.to_string(), hint)
                .context("variable", variable.as_str())
                .context("expected", *expected)
                .context("actual", actual.as_str())
        }
    }
}

pub(crate) fn no_step(id: &str, near: Option<&str>) -> Problem {
    let unknown = || "use the id of one of its steps".into();
    let hint = near.map_or_else(unknown, meant);
    let message = format!("there is no step `{id}`");
    suggesting(Problem::new(Code::StepNotFound, message, hint).context("step_id", id), near)
}

pub(crate) fn undecidable(error: &Undecidable) -> Problem {
    let hint = "ask the workflow's author for a simpler pattern";
    Problem::new(Code::CriteriaInvalid, error.to_string(), hint)
}

pub(crate) fn no_operation(name: &str, names: impl Iterator<Item = &'static str>) -> Problem {
    let near = suggest::nearest(name, names);
    let hint = near.map_or_else(|| "see the list of operations".into(), meant);
    Problem::new(Code::MethodNotFound, format!("there is no operation `{name}`"), hint)
}

/// Converts an error about the configuration.
pub(crate) fn of_config(error: &ConfigError) -> Problem {
    match error {
        ConfigError::Grants(error) => crate::trust::of_grants(error),
        ConfigError::File(error) => of_file(error),
        ConfigError::Fault { path, .. } => {
            let hint = "correct the file; every key in it is optional";
            Problem::new(Code::ConfigInvalid, error.to_string(), hint)
                .context("path", path.display().to_string())
        }
    }
}

/// Converts an error about reading a document that the caller named.
pub(crate) fn of_source(error: &SourceError) -> Problem {
    match error {
        SourceError::File(FileError::TooLarge { path, .. }) => {
            let hint = "a document may be at most 32 MiB: split it or omit what is not needed";
            Problem::new(Code::SourceUnreadable, error.to_string(), hint)
                .context("path", path.display().to_string())
        }
        SourceError::File(error) => of_file(error),
        SourceError::NotOpen { path } => {
            let hint = "move the file into the project, or add its folder to `source_roots`";
            Problem::new(Code::FileRefused, error.to_string(), hint)
                .context("path", path.display().to_string())
        }
        SourceError::NotBelowRoot { .. } | SourceError::Reference { .. } => {
            let hint = "choose a root that contains the document and everything it refers to";
            Problem::new(Code::FileRefused, error.to_string(), hint)
        }
        SourceError::TooManyFiles | SourceError::TooManyBytes => {
            let hint = "bundle the document into one file first";
            Problem::new(Code::SourceUnreadable, error.to_string(), hint)
        }
    }
}

/// Converts an error about loading a catalog.
pub(crate) fn of_catalog(error: &CatalogError) -> Problem {
    match error {
        CatalogError::NotFound { id } => no_catalog(id.as_str(), None),
        CatalogError::Unreadable(unreadable) => {
            let hint = "correct the file, or remove the catalog and import it again";
            Problem::new(Code::CatalogInvalid, error.to_string(), hint)
                .context("path", unreadable.path.display().to_string())
        }
        CatalogError::File(error) => of_file(error),
    }
}

/// Converts an error about saving a catalog.
pub(crate) fn of_save(error: &SaveError) -> Problem {
    match error {
        SaveError::Exists { id, title, by } => {
            let title = title.as_deref().unwrap_or("unreadable");
            let (message, hint) = match by {
                CatalogConflict::Id => {
                    (format!("catalog `{id}` ({title}) already exists"), replace_or_rename())
                }
                CatalogConflict::Title => (
                    format!("the title `{title}` already belongs to catalog `{id}`"),
                    Hint::text("give another ")
                        .argument("catalog_title")
                        .then(", or remove the other catalog first"),
                ),
            };
            Problem::new(Code::CatalogExists, message, hint).context("catalog_id", id.as_str())
        }
        SaveError::Unfit { .. } => {
            let hint = "give a plain title, vendor and base URL";
            Problem::new(Code::CatalogInvalid, error.to_string(), hint)
        }
        SaveError::Catalog(error) => of_catalog(error),
    }
}

fn replace_or_rename() -> Hint {
    Hint::text("use ")
        .given("overwrite", true)
        .then(" to replace it, or give another ")
        .argument("vendor")
        .then(" and ")
        .argument("catalog_title")
}

/// Adds a suggested name to a problem.
pub(crate) fn suggesting(problem: Problem, near: Option<&str>) -> Problem {
    match near {
        Some(near) => problem.context("suggestion", near),
        None => problem,
    }
}

/// A hint that suggests a similar name.
pub(crate) fn meant(near: &str) -> Hint {
    Hint::text(format!("did you mean `{near}`?"))
}

pub(crate) fn no_catalog(text: &str, near: Option<&str>) -> Problem {
    let all = Hint::text("see ").call(Invocation::of("catalog.list")).then(", or import it with ");
    let hint = near.map_or_else(|| all.call(Invocation::of("catalog.import_openapi")), meant);
    let message = format!("there is no catalog `{}`", suggest::excerpt(text));
    suggesting(Problem::new(Code::CatalogNotFound, message, hint).context("catalog_id", text), near)
}

/// The problem for a prefix that several ids share.
pub(crate) fn ambiguous_catalog(text: &str, ids: &[&CatalogId]) -> Problem {
    let some: Vec<String> =
        ids.iter().take(limits::CATALOGS_OFFERED).map(|id| format!("`{id}`")).collect();
    let more = if ids.len() > limits::CATALOGS_OFFERED { ", …" } else { "" };
    let message = format!("several catalog ids start with `{}`", suggest::excerpt(text));
    let hint = format!("give a longer prefix: {}{more}", some.join(", "));
    Problem::new(Code::CatalogNotFound, message, hint).context("catalog_id", text)
}

pub(crate) fn catalog_disabled(id: &CatalogId) -> Problem {
    let message = format!("catalog `{id}` is disabled");
    let enable = Invocation::of("catalog.set_enabled").with("catalog_id", id.as_str());
    let hint = Hint::text("enable it with ").call(enable.with("enabled", true));
    Problem::new(Code::CatalogDisabled, message, hint).context("catalog_id", id.as_str())
}

pub(crate) fn no_command(text: &str, near: Option<&str>) -> Problem {
    let hint = near
        .map_or_else(|| Hint::text("find it with ").call(Invocation::of("command.list")), meant);
    let message = format!("there is no command `{}`", suggest::excerpt(text));
    suggesting(Problem::new(Code::CommandNotFound, message, hint).context("command", text), near)
}

pub(crate) fn ambiguous_command(text: &str, spellings: &[String]) -> Problem {
    let message = format!("several commands are called `{}`", suggest::excerpt(text));
    let hint = format!("write {}", suggest::list(spellings.iter().map(String::as_str)));
    Problem::new(Code::CommandNotFound, message, hint).context("command", text)
}

pub(crate) fn no_base_url(id: &CatalogId) -> Problem {
    let message = format!("catalog `{id}` has no base URL");
    let again = json!({"overwrite": true, "base_url": "https://…"});
    let again = again.as_object().cloned().unwrap_or_default();
    let hint = Hint::text("import its document again with ").arguments(again);
    Problem::new(Code::BaseUrlMissing, message, hint).context("catalog_id", id.as_str())
}

/// The problem with a command's arguments, including every fault.
pub(crate) fn of_misuse(command: &ApiCommand, faults: &[Misuse]) -> Problem {
    let first = faults.first();
    let message = first.map(ToString::to_string).unwrap_or_default();
    let hint = first.map(Misuse::hint).unwrap_or_default();
    let message = format!("{message}{}", and_more(faults.len()));
    let mut problem = Problem::new(Code::ArgumentsInvalid, message, hint)
        .context("command", command.id.to_string());
    let arguments = faults.iter().map(|fault| Argument {
        path: fault.path(),
        rule: fault.rule(),
        message: fault.to_string(),
        suggestion: fault.hint(),
        ..Argument::default()
    });
    problem.arguments = arguments.collect();
    problem
}

/// The suffix for a message that describes only the first of several faults.
pub(crate) fn and_more(count: usize) -> String {
    if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() }
}

/// Converts an error from a call that got no response.
pub(crate) fn of_call(error: &CallError) -> Problem {
    match error {
        CallError::Auth(error) => of_auth(error),
        CallError::Send(error) => of_send(error),
    }
}

pub(crate) fn of_auth(error: &AuthError) -> Problem {
    match error {
        AuthError::Unreachable { source, .. } => {
            let mut problem = of_send(source);
            problem.message = error.to_string();
            problem
        }
        AuthError::Secret(SecretPortError::Missing { name }) => {
            Problem::new(Code::SecretNotFound, error.to_string(), set_secret(name))
                .context("secret", name.as_str())
        }
        AuthError::Secret(SecretPortError::Unreadable { .. }) => {
            let hint = Hint::text("see ").call(Invocation::of("secret.list"));
            Problem::new(Code::SecretsUnusable, error.to_string(), hint)
        }
        _ => Problem::new(Code::AuthFailed, error.to_string(), how_to_authenticate(error)),
    }
}

fn how_to_authenticate(error: &AuthError) -> Hint {
    let auth_of =
        |catalog: &CatalogId| Invocation::of("catalog.auth").with("catalog_id", catalog.as_str());
    match error {
        AuthError::NoCredentials { catalog, scheme, takes, .. } => {
            let secrets = takes.iter().map(|part| ((*part).to_owned(), "SECRET".into()));
            let auth = auth_of(catalog).with("scheme", scheme.as_str());
            let auth = auth.with("secrets", Value::Object(secrets.collect()));
            Hint::text("use an existing secret: ").call(auth)
        }
        AuthError::WrongKind { catalog, .. } => Hint::text("give it with ").call(auth_of(catalog)),
        AuthError::UntrustedAuthority { catalog, .. } => {
            Hint::text("confirm the token server with ").call(auth_of(catalog))
        }
        _ => {
            let auth = Invocation::of("catalog.auth");
            Hint::text("see ").call(auth).then(" for what the catalog uses")
        }
    }
}

/// Converts an error from a request that got no response.
pub(crate) fn of_send(error: &SendError) -> Problem {
    let (code, hint) = match &error.fault {
        SendFault::Refused(refusal) if refusal.rule() == "scheme" => {
            (Code::RequestRefused, "give an http or https URL".into())
        }
        SendFault::Refused(refusal) => (
            Code::RequestRefused,
            format!(
                "if you trust the host, add it to `allow_private` in the configuration, or give \
                 the URL yourself ({})",
                refusal.rule()
            )
            .into(),
        ),
        SendFault::RedirectRefused { .. } | SendFault::TooManyRedirects { .. } => {
            (Code::RequestRefused, "use the address that the server points to".into())
        }
        SendFault::Secret { .. } => (
            Code::SecretNotAllowed,
            Hint::text("find out how it got into the request; if it belongs there, allow it with ")
                .person(Invocation::of("secret.allow")),
        ),
        SendFault::Invalid(_) => (Code::ArgumentsInvalid, "change the argument".into()),
        SendFault::Timeout { .. } => {
            let hint = Hint::text("try again, or allow more time with ").argument("timeout_s");
            (Code::UpstreamTimeout, hint)
        }
        SendFault::TooLarge { .. } => {
            let hint = "request less data: most APIs accept a limit or a selection of fields";
            (Code::UpstreamFailed, hint.into())
        }
        SendFault::Dns { .. } | SendFault::Connect { .. } | SendFault::Tls { .. } => {
            (Code::UpstreamFailed, "check the address and that the API is up".into())
        }
        _ => (
            Code::UpstreamFailed,
            "try again; if it persists, contact the operators of the API".into(),
        ),
    };
    let message = format!("{} {}: {}", error.method, error.url, error.fault);
    Problem::new(code, message, hint)
        .context("url", &*error.url)
        .context("sent", !error.certainly_not_sent())
}

pub(crate) fn upstream_status(command: &str, status: u16, body: Option<&Value>) -> Problem {
    let message = format!("`{command}` returned status {status}");
    let hint = Hint::text("inspect the response with ").call(Invocation::of("command.run"));
    let problem = Problem::new(Code::UpstreamFailed, message, hint);
    let problem = problem.context("command", command).context("status", status);
    match body {
        Some(body) => problem.context("response_payload", suggest::excerpt(&body.to_string())),
        None => problem,
    }
}

/// Converts an error about reading or storing a secret.
pub(crate) fn of_secret(error: &SecretError) -> Problem {
    match error {
        SecretError::NotFound { name } => {
            Problem::new(Code::SecretNotFound, error.to_string(), set_secret(name.as_str()))
                .context("secret", name.as_str())
        }
        SecretError::File(error) => of_file(error),
        SecretError::Empty | SecretError::TooLarge | SecretError::NoOrigin => {
            Problem::new(Code::ParamsInvalid, error.to_string(), secret_hint(error))
        }
        _ => Problem::new(Code::SecretsUnusable, error.to_string(), secret_hint(error)),
    }
}

/// What to do so that a secret can be read or stored.
pub(crate) fn secret_hint(error: &SecretError) -> Hint {
    let set = Invocation::of("config.set").with("key", "secrets.backend").with("value", "file");
    match error {
        SecretError::Empty => "type its value, or pipe it in".into(),
        SecretError::TooLarge => "store a shorter value, or remove secrets you do not need".into(),
        SecretError::NoOrigin | SecretError::OtherOrigin { .. } => "use another one".into(),
        SecretError::NeedsPassphrase { .. } | SecretError::WrongPassphrase { .. } => {
            "set `MILEPOST_SECRETS_PASSPHRASE` to the passphrase for the secrets".into()
        }
        SecretError::KeyExposed { .. } => "run `chmod 600` on it".into(),
        SecretError::KeyMissing { .. } | SecretError::WrongKey { .. } => {
            "put `secrets.key` back, or remove `secrets.age` and set the secrets again".into()
        }
        SecretError::ReadOnly | SecretError::NoKeyring => Hint::text("run ").call(set),
        _ => "restore a backup of it, or remove it and set the secrets again".into(),
    }
}

fn set_secret(name: &str) -> Hint {
    Hint::text("set it with ").call(Invocation::of("secret.set").with("name", name))
}

/// The problem for an operation that cannot complete without waiting.
pub(crate) fn has_to_wait(name: &str) -> Problem {
    let message = format!("`{name}` is not available here");
    Problem::new(Code::MethodNotFound, message, "use the command line instead")
}
