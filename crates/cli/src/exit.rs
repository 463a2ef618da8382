//! Exit codes: one meaning each, the same for every command.

use milepost_model::problem::{Category, Code, Problem};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    WorkflowInvalid,
    WaitingOnPerson,
    WaitingOnAgent,
    NotFound,
    Conflict,
    Denied,
    Upstream,
    Timeout,
    StorageFailed,
    Interrupted,
}

impl Exit {
    /// The number the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::WorkflowInvalid => 3,
            Exit::WaitingOnPerson => 4,
            Exit::WaitingOnAgent => 5,
            Exit::NotFound => 6,
            Exit::Conflict => 7,
            Exit::Denied => 8,
            Exit::Upstream => 9,
            Exit::Timeout => 10,
            Exit::StorageFailed => 75,
            Exit::Interrupted => 130,
        }
    }

    /// How another process of this program ended.
    pub(crate) fn passed(code: i32) -> Exit {
        let all = [
            Exit::Done,
            Exit::Usage,
            Exit::WorkflowInvalid,
            Exit::WaitingOnPerson,
            Exit::WaitingOnAgent,
            Exit::NotFound,
            Exit::Conflict,
            Exit::Denied,
            Exit::Upstream,
            Exit::Timeout,
            Exit::StorageFailed,
            Exit::Interrupted,
        ];
        all.into_iter().find(|exit| i32::from(exit.code()) == code).unwrap_or(Exit::Failed)
    }

    /// The exit a problem ends a command with.
    pub(crate) fn of(problem: &Problem) -> Exit {
        match problem.code {
            Code::WorkflowInvalid | Code::CriteriaInvalid => Exit::WorkflowInvalid,
            Code::FileRefused | Code::RequestRefused | Code::AuthFailed | Code::SecretsUnusable => {
                Exit::Denied
            }
            Code::UpstreamFailed | Code::UpstreamRejected => Exit::Upstream,
            Code::PresenceRequired => Exit::Denied,
            Code::UpstreamTimeout => Exit::Timeout,
            // A server that answers with an error may do better later; a file will not.
            Code::SourceUnreadable if problem.context.contains_key("status") => Exit::Upstream,
            Code::SourceUnreadable => Exit::Usage,
            Code::StorageFailed => Exit::StorageFailed,
            code => match code.category() {
                Category::NotFound => Exit::NotFound,
                Category::Conflict => Exit::Conflict,
                Category::Validation => Exit::Usage,
                Category::Execution | Category::Internal => Exit::Failed,
            },
        }
    }
}
