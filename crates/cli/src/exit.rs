//! Exit codes. Each has one meaning that is the same for every command.

use milepost_model::problem::{Category, Code, Problem};

/// The exit code of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    pub(crate) const DONE: Exit = Exit(0);
    pub(crate) const FAILED: Exit = Exit(1);
    pub(crate) const USAGE: Exit = Exit(2);
    pub(crate) const WORKFLOW_INVALID: Exit = Exit(3);
    pub(crate) const WAITING_ON_PERSON: Exit = Exit(4);
    pub(crate) const WAITING_ON_AGENT: Exit = Exit(5);
    pub(crate) const NOT_FOUND: Exit = Exit(6);
    pub(crate) const CONFLICT: Exit = Exit(7);
    const DENIED: Exit = Exit(8);
    pub(crate) const UPSTREAM: Exit = Exit(9);
    const TIMEOUT: Exit = Exit(10);
    pub(crate) const STORAGE_FAILED: Exit = Exit(75);
    pub(crate) const INTERRUPTED: Exit = Exit(130);

    pub(crate) fn code(self) -> u8 {
        self.0
    }

    /// The exit code of a child process of this program; a process killed by a signal has none.
    pub(crate) fn of_process(code: Option<i32>) -> Exit {
        code.and_then(|code| u8::try_from(code).ok()).map_or(Exit::FAILED, Exit)
    }

    /// The exit code for a problem.
    pub(crate) fn of(problem: &Problem) -> Exit {
        match problem.code {
            Code::WorkflowInvalid | Code::CriteriaInvalid => Exit::WORKFLOW_INVALID,
            Code::FileRefused
            | Code::RequestRefused
            | Code::AuthFailed
            | Code::SecretsUnusable
            | Code::SecretNotAllowed
            | Code::ProjectUntrusted
            | Code::PresenceRequired => Exit::DENIED,
            Code::UpstreamFailed | Code::UpstreamRejected => Exit::UPSTREAM,
            Code::UpstreamTimeout => Exit::TIMEOUT,
            // A server that returned an error may recover; a file will not.
            Code::SourceUnreadable if problem.context.contains_key("status") => Exit::UPSTREAM,
            Code::SourceUnreadable => Exit::USAGE,
            Code::StorageFailed => Exit::STORAGE_FAILED,
            code => match code.category() {
                Category::NotFound => Exit::NOT_FOUND,
                Category::Conflict => Exit::CONFLICT,
                Category::Validation => Exit::USAGE,
                Category::Execution | Category::Internal => Exit::FAILED,
            },
        }
    }
}
