//! What a model's client is told about an operation that is a tool.

/// Sets of tools, each with all that the smaller ones have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// To work on runs: nothing in it shows the text of a workflow.
    Work,
    /// To write workflows as well.
    Core,
    /// All there is.
    Full,
}

/// Whether a call may be, or has to be, a task that its client follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// It answers at once.
    Never,
    /// As the client likes.
    Optional,
    /// A client that knows no tasks cannot call it.
    Required,
}

/// How a tool shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// The smallest set that has it.
    pub profile: Profile,
    /// It may speak with something outside this machine.
    pub calls_out: bool,
    /// Doing it twice is doing it once.
    pub repeats: bool,
    /// It may destroy something outside this machine.
    pub destroys: bool,
    /// Whether a call is a task.
    pub task: Task,
}

impl Tool {
    /// For those who work on runs.
    pub const WORK: Tool = Tool::of(Profile::Work);
    /// For those who write workflows too.
    pub const CORE: Tool = Tool::of(Profile::Core);
    /// For those who want everything.
    pub const FULL: Tool = Tool::of(Profile::Full);

    const fn of(profile: Profile) -> Tool {
        Tool { profile, calls_out: false, repeats: false, destroys: false, task: Task::Never }
    }
}
