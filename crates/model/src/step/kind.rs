//! What kind of step an action makes, without the action.

/// The kinds of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ActionKind {
    /// Calls an operation or runs another workflow.
    #[default]
    Run,
    /// Lets an agent work.
    Prompt,
    /// Lets a person decide.
    Approve,
    /// Lets time pass.
    Wait,
    /// Computes values.
    Set,
    /// Ends the run with a message.
    Fail,
    /// Repeats a body.
    Loop,
}

impl ActionKind {
    /// All of them.
    pub const ALL: [ActionKind; 7] = [
        ActionKind::Run,
        ActionKind::Prompt,
        ActionKind::Approve,
        ActionKind::Wait,
        ActionKind::Set,
        ActionKind::Fail,
        ActionKind::Loop,
    ];

    /// The key that makes a step of this kind.
    pub fn name(self) -> &'static str {
        match self {
            ActionKind::Run => "run",
            ActionKind::Prompt => "prompt",
            ActionKind::Approve => "approve",
            ActionKind::Wait => "wait",
            ActionKind::Set => "set",
            ActionKind::Fail => "fail",
            ActionKind::Loop => "loop",
        }
    }
}
