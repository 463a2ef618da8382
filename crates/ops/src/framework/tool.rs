//! The properties of a tool that are announced to clients.

/// Sets of tools; each includes the smaller ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Working on runs; no tool in this set shows the source of a workflow.
    Work,
    /// Writing workflows as well.
    Core,
    /// All tools.
    Full,
}

/// Whether a call may or must be a task that the client follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// The call returns its result directly.
    Never,
    /// The client decides.
    Optional,
    /// Clients that do not support tasks cannot call it.
    Required,
}

/// The properties of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// The smallest set that includes it.
    pub profile: Profile,
    /// Marks the tool as reaching something outside this machine.
    pub calls_out: bool,
    /// Marks the tool as idempotent.
    pub repeats: bool,
    /// Marks the tool as possibly destroying something outside this machine.
    pub destroys: bool,
    /// Whether a call may or must be a task.
    pub task: Task,
}

impl Tool {
    /// A tool for working on runs.
    pub const WORK: Tool = Tool::of(Profile::Work);
    /// A tool for writing workflows.
    pub const CORE: Tool = Tool::of(Profile::Core);
    /// A tool in the full set only.
    pub const FULL: Tool = Tool::of(Profile::Full);

    const fn of(profile: Profile) -> Tool {
        Tool { profile, calls_out: false, repeats: false, destroys: false, task: Task::Never }
    }
}
