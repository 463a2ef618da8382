//! Exit codes: one meaning each, the same for every command.

use milepost_model::problem::{Category, Code};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    WorkflowInvalid,
    WaitingOnAgent,
    NotFound,
    Conflict,
    Denied,
    StorageFailed,
}

impl Exit {
    /// The number the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::WorkflowInvalid => 3,
            Exit::WaitingOnAgent => 5,
            Exit::NotFound => 6,
            Exit::Conflict => 7,
            Exit::Denied => 8,
            Exit::StorageFailed => 75,
        }
    }

    /// The exit a problem ends a command with.
    pub(crate) fn of(code: Code) -> Exit {
        match code {
            Code::WorkflowInvalid | Code::CriteriaInvalid => Exit::WorkflowInvalid,
            Code::FileRefused => Exit::Denied,
            Code::StorageFailed => Exit::StorageFailed,
            _ => match code.category() {
                Category::NotFound => Exit::NotFound,
                Category::Conflict => Exit::Conflict,
                Category::Validation => Exit::Usage,
                Category::Execution | Category::Internal => Exit::Failed,
            },
        }
    }
}
