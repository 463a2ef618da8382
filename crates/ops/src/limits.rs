//! Every bound of the operations, grouped by module.

use std::time::Duration;

// Arguments of a call.

/// Faults in the arguments of one call that are reported.
pub(crate) const ARGUMENT_FAULTS: usize = 20;
/// Elements of a list, and keys of a map, that are checked for faults: otherwise each of a million
/// wrong elements would be a fault of its own.
pub(crate) const ARGUMENT_ITEMS: usize = 1_000;

// Responses.

/// Initial capacity of a response; most fit, so few are copied as they grow.
pub(crate) const RESPONSE_CAPACITY_BYTES: usize = 16 * 1024;

// Catalogs and commands.

/// Commands shown in the preview of an import.
pub(crate) const PREVIEW_COMMANDS: usize = 50;
/// Names suggested for a command that does not exist.
pub(crate) const SUGGESTED_COMMANDS: usize = 20;
/// Commands on one page of a search, by default.
pub(crate) const COMMANDS_PAGE: usize = 20;
/// Commands on one page of a search, at most.
pub(crate) const COMMANDS_PAGE_MAX: usize = 200;
/// Search matches up to which each comes with its details, by default.
pub(crate) const COMMANDS_DETAILED: usize = 5;
/// Bytes of details that a search returns unless they were requested; if there are more, all are
/// omitted.
pub(crate) const COMMANDS_DETAIL_BYTES: usize = 24 * 1024;
/// The longest timeout of one call, in seconds.
pub(crate) const CALL_TIMEOUT_MAX_S: u64 = 600;
/// Bytes of shared schemas that are returned with one command.
pub(crate) const COMMAND_DEFS_BYTES: usize = 48 * 1024;
/// Values of an `enum` that are returned; the rest are only counted.
pub(crate) const COMMAND_ENUM_VALUES: usize = 60;
/// Fields of a response that are listed.
pub(crate) const COMMAND_RESPONSE_FIELDS: usize = 60;
/// Commands that a prompt lists for a goal.
pub(crate) const PROMPT_COMMANDS: usize = 8;

// Choices of inputs and parameters.

/// Choices on one page, by default.
pub(crate) const CHOICES_PAGE: usize = 50;
/// Choices on one page, at most.
pub(crate) const CHOICES_PAGE_MAX: usize = 1_000;
/// Items fetched from an API to select choices from.
pub(crate) const CHOICES_FETCHED: usize = 5_000;
/// Choices returned with one input.
pub(crate) const INPUT_CHOICES: usize = 100;
/// Seconds for which a process reuses fetched choices, unless the input sets another value.
pub(crate) const CHOICES_FRESH_S: u64 = 60;
/// Lists of choices that a process keeps in memory.
pub(crate) const CHOICES_KEPT: usize = 100;

// Worlds of runs.

/// Worlds that a process keeps open, not counting those of active runs.
pub(crate) const WORLDS_OPEN: usize = 32;
/// Other workspaces that a process keeps open.
pub(crate) const WORKSPACES_OPEN: usize = 16;
/// Workflows that a workflow may run, directly or indirectly.
pub(crate) const WORLD_WORKFLOWS: usize = 1_000;

// Workflows.

/// Workflows on one page of a list.
pub(crate) const WORKFLOWS_PAGE: usize = 1_000;
/// Rounds of fixing a document: a fix may uncover further errors, especially that of a syntax
/// error.
pub(crate) const MEND_ROUNDS: usize = 32;
/// Context lines before and after a change in a diff.
pub(crate) const DIFF_CONTEXT_LINES: usize = 3;
/// Changed lines up to which the shortest diff is computed: time and memory grow with their square,
/// to about 16 MB.
pub(crate) const DIFF_CHANGES: usize = 2_000;
/// Digits of a version in a diff header.
pub(crate) const VERSION_SHOWN_DIGITS: usize = 12;
/// Minimum digits in the abbreviation of a version.
pub(crate) const VERSION_DIGITS_MIN: usize = 4;
/// Versions on one page, by default.
pub(crate) const VERSIONS_PAGE: usize = 50;
/// Versions on one page, at most.
pub(crate) const VERSIONS_PAGE_MAX: usize = 1_000;
/// Compiled workflows that a process caches.
pub(crate) const COMPILED_KEPT: usize = 8;
/// Bytes of the largest text whose compiled workflow is cached.
pub(crate) const COMPILED_TEXT_BYTES: usize = 64 * 1024;
/// Requests that a preview renders for one step that iterates over a list.
pub(crate) const PREVIEW_REQUESTS: usize = 20;

// Workflows that an agent writes.

/// How often the client's model is asked for a draft before the step is left to others.
pub(crate) const AUTHOR_ROUNDS: u32 = 5;
/// Submissions that an authoring step accepts. More than [`AUTHOR_ROUNDS`]: after those, the step
/// stays open for anyone who can do it.
pub(crate) const AUTHOR_SUBMISSIONS: u32 = 100;

// What `doctor` checks.

/// Runs listed in each finding about the journal.
pub(crate) const DOCTOR_RUNS: usize = 20;
/// How far this machine's clock may lag behind the newest run; clocks normally differ by less.
pub(crate) const CLOCK_SKEW_MS: u64 = 60_000;
/// Invalid files that are listed; the rest are only counted.
pub(crate) const DOCTOR_FILES: usize = 50;
/// Depth to which a client's configuration is searched for servers: Claude Code stores those of a
/// project below a key and a path.
pub(crate) const CLIENT_CONFIG_DEPTH: usize = 3;
/// Free disk space below which the next import, or a busy day, may fail.
pub(crate) const DISK_LOW_BYTES: u64 = 512 << 20;
/// Free disk space below which the next write may fail.
pub(crate) const DISK_FULL_BYTES: u64 = 32 << 20;

// Runs.
/// How often a long-lived process looks for orphaned runs.
pub(crate) const ORPHANS_EVERY: Duration = Duration::from_secs(2);
/// Ids suggested when a prefix matches several catalogs.
pub(crate) const CATALOGS_OFFERED: usize = 5;
/// Minimum length in bytes of a secret that is searched for inside other values: shorter ones occur
/// by chance.
pub(crate) const SECRET_SOUGHT_BYTES_MIN: usize = 4;
/// Milliseconds in a day.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a canceled run may take to abort work in flight before its current state is returned.
pub(crate) const CANCEL_WAIT: Duration = Duration::from_secs(5);
/// Maximum time in milliseconds to gather further events once there is one.
pub(crate) const EVENTS_GATHER_MAX_MS: u64 = 1_000;
/// Runs on one page, by default.
pub(crate) const RUNS_PAGE: usize = 50;
/// Runs on one page, at most.
pub(crate) const RUNS_PAGE_MAX: usize = 1_000;
/// Seconds that a caller may wait for a run: less than the timeout of most clients.
pub(crate) const RUN_WAIT_MAX_S: u64 = 25;
/// Consequences of a call within this time are included in its response, which saves the caller a
/// call.
pub(crate) const CONSEQUENCES_WAIT: Duration = Duration::from_millis(500);
/// How long a run may take to accept a message.
pub(crate) const TAKEN_IN_WAIT: Duration = Duration::from_secs(10);
/// Open runs that an overview examines, newest first.
pub(crate) const OVERVIEW_RUNS: usize = 50;
/// Earlier runs that are checked for a lost PIN. No run can start without the PIN while the latest
/// one has it, so one would suffice if all were readable.
pub(crate) const SIGNED_RUNS: usize = 4;
/// Runs that a process remembers as requiring no signature.
pub(crate) const UNSIGNED_RUNS: usize = 1_024;
/// Characters of a response body quoted in a failure.
pub(crate) const FAILURE_BODY_CHARS: usize = 1_024;
/// Drafted requests that a process keeps until they are sent.
pub(crate) const DRAFTED_REQUESTS: usize = 512;
/// Open runs listed by a status call without a run.
pub(crate) const STATUS_RUNS: usize = 50;
/// Steps suggested when a call could refer to several.
pub(crate) const STEPS_OFFERED: usize = 5;
/// How long a submission may be checked before the caller is told to check back later.
pub(crate) const SUBMIT_WAIT: Duration = Duration::from_secs(25);
