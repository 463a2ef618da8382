//! Every bound of the operations, named once, by module.

use std::time::Duration;

// Arguments of a call.

/// Faults in the arguments of one call that are reported.
pub(crate) const ARGUMENT_FAULTS: usize = 20;
/// Elements of a list, and keys of a map, that are searched for faults: each of a million wrong
/// elements would be a fault of its own.
pub(crate) const ARGUMENT_ITEMS: usize = 1_000;

// Responses.

/// Room that is set aside for a response: most fit, so that few are copied as they grow.
pub(crate) const RESPONSE_CAPACITY_BYTES: usize = 16 * 1024;

// Catalogs and commands.

/// Commands that the preview of an import shows.
pub(crate) const PREVIEW_COMMANDS: usize = 50;
/// Names that are suggested for a command that does not exist.
pub(crate) const SUGGESTED_COMMANDS: usize = 20;
/// Commands on one page of a search, unless the caller says otherwise.
pub(crate) const COMMANDS_PAGE: usize = 20;
/// Commands on one page of a search that a caller may ask for.
pub(crate) const COMMANDS_PAGE_MAX: usize = 200;
/// Matches of a search up to which each comes with its details, unless the caller says otherwise.
pub(crate) const COMMANDS_DETAILED: usize = 5;
/// Bytes of details that a search returns without being asked for them; more are left out.
pub(crate) const COMMANDS_DETAIL_BYTES: usize = 24 * 1024;
/// Seconds that a caller may give one call.
pub(crate) const CALL_TIMEOUT_MAX_S: u64 = 600;
/// Bytes of the shared schemas that are returned with one command.
pub(crate) const COMMAND_DEFS_BYTES: usize = 48 * 1024;
/// Values of an `enum` that are returned; of more, their number.
pub(crate) const COMMAND_ENUM_VALUES: usize = 60;
/// Fields of a response that are named.
pub(crate) const COMMAND_RESPONSE_FIELDS: usize = 60;
/// Commands that a prompt lists for a goal.
pub(crate) const PROMPT_COMMANDS: usize = 8;

// Choices of inputs and parameters.

/// Choices on one page, unless the caller says otherwise.
pub(crate) const CHOICES_PAGE: usize = 50;
/// Choices on one page that a caller may ask for.
pub(crate) const CHOICES_PAGE_MAX: usize = 1_000;
/// Items that are fetched from an API to find the choices among.
pub(crate) const CHOICES_FETCHED: usize = 5_000;
/// Choices of one input that are returned with it.
pub(crate) const INPUT_CHOICES: usize = 100;
/// Seconds for which a process uses fetched choices again, unless the input says otherwise.
pub(crate) const CHOICES_FRESH_S: u64 = 60;
/// Lists of choices that a process keeps in memory.
pub(crate) const CHOICES_KEPT: usize = 100;

// Worlds of runs.

/// Worlds of runs that a process has at hand; that of a run that goes on is not counted.
pub(crate) const WORLDS_OPEN: usize = 32;
/// Workspaces of other folders that a process has open.
pub(crate) const WORKSPACES_OPEN: usize = 16;
/// Workflows that one workflow may run, and those that these run.
pub(crate) const WORLD_WORKFLOWS: usize = 1_000;

// Workflows.

/// Workflows on one page of a list.
pub(crate) const WORKFLOWS_PAGE: usize = 1_000;
/// Rounds in which a document is fixed: a fix may uncover what was hidden, a syntax error most of
/// all.
pub(crate) const MEND_ROUNDS: usize = 32;
/// Lines that a diff shows before and after those that differ.
pub(crate) const DIFF_CONTEXT_LINES: usize = 3;
/// Changed lines up to which the shortest diff is searched: work and memory grow with their square,
/// to some 16 MB.
pub(crate) const DIFF_CHANGES: usize = 2_000;
/// Digits of a version in the heading of a diff.
pub(crate) const VERSION_SHOWN_DIGITS: usize = 12;
/// Digits that are needed to name a version by the beginning of its hash.
pub(crate) const VERSION_DIGITS_MIN: usize = 4;
/// Versions on one page, unless the caller says otherwise.
pub(crate) const VERSIONS_PAGE: usize = 50;
/// Versions on one page that a caller may ask for.
pub(crate) const VERSIONS_PAGE_MAX: usize = 1_000;
/// Compiled workflows that a process keeps for the next run of the same text.
pub(crate) const COMPILED_KEPT: usize = 8;
/// Bytes of a text whose compiled workflow is kept.
pub(crate) const COMPILED_TEXT_BYTES: usize = 64 * 1024;
/// Requests of one step over a list that a preview renders.
pub(crate) const PREVIEW_REQUESTS: usize = 20;

// Workflows that an agent writes.

/// How often the model behind a client is asked for a draft before the step is left to others.
pub(crate) const AUTHOR_ROUNDS: u32 = 5;
/// Submissions that an authoring step takes. More than [`AUTHOR_ROUNDS`]: after those, the step
/// stays open for whoever can do it.
pub(crate) const AUTHOR_SUBMISSIONS: u32 = 100;

// What `doctor` examines.

/// Runs that are named in each finding about the journal.
pub(crate) const DOCTOR_RUNS: usize = 20;
/// How far this machine's clock may be behind the newest run: clocks of machines differ by less.
pub(crate) const CLOCK_SKEW_MS: u64 = 60_000;
/// Invalid files that are named; of more, their number.
pub(crate) const DOCTOR_FILES: usize = 50;
/// Levels of a client's configuration that are searched for servers: Claude Code keeps those of a
/// project below a key and a path.
pub(crate) const CLIENT_CONFIG_DEPTH: usize = 3;
/// Free space on the disk below which the next import, or a busy day, may fail.
pub(crate) const DISK_LOW_BYTES: u64 = 512 << 20;
/// Free space on the disk below which the next write may fail.
pub(crate) const DISK_FULL_BYTES: u64 = 32 << 20;

// Runs.
/// How often a process that stays looks for runs that no process drives.
pub(crate) const ORPHANS_EVERY: Duration = Duration::from_secs(2);
/// Ids that are offered when a prefix fits several catalogs.
pub(crate) const CATALOGS_OFFERED: usize = 5;
/// Bytes that a secret has at least to be looked for inside other values: a shorter one is in many
/// by chance.
pub(crate) const SECRET_SOUGHT_BYTES_MIN: usize = 4;
/// Milliseconds of a day.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a canceled run has to give up what is in flight before it is shown as it is.
pub(crate) const CANCEL_WAIT: Duration = Duration::from_secs(5);
/// Milliseconds that a caller may gather events for once there are some.
pub(crate) const EVENTS_GATHER_MAX_MS: u64 = 1_000;
/// Runs on one page, unless the caller says otherwise.
pub(crate) const RUNS_PAGE: usize = 50;
/// Runs on one page that a caller may ask for.
pub(crate) const RUNS_PAGE_MAX: usize = 1_000;
/// Seconds that a caller may wait for a run: less than the time-out of most clients.
pub(crate) const RUN_WAIT_MAX_S: u64 = 25;
/// What follows from a call within this time is part of its answer, which spares the caller a call.
pub(crate) const CONSEQUENCES_WAIT: Duration = Duration::from_millis(500);
/// How long a run has to take in what it is told.
pub(crate) const TAKEN_IN_WAIT: Duration = Duration::from_secs(10);
/// Open runs that an overview looks at; of more, the newest.
pub(crate) const OVERVIEW_RUNS: usize = 50;
/// Earlier runs that are looked at for a PIN that is gone. Nobody starts a run without it while the
/// last one has it, so one would do, but for those that cannot be read.
pub(crate) const SIGNED_RUNS: usize = 4;
/// Runs that a process remembers to need no signature.
pub(crate) const UNSIGNED_RUNS: usize = 1_024;
/// Characters of the body of a response that a failure quotes.
pub(crate) const FAILURE_BODY_CHARS: usize = 1_024;
/// Drafted requests that a process keeps until they are sent.
pub(crate) const DRAFTED_REQUESTS: usize = 512;
/// Open runs that a status without a run lists.
pub(crate) const STATUS_RUNS: usize = 50;
/// Steps that are named where several wait for a word about one of them.
pub(crate) const STEPS_OFFERED: usize = 5;
/// How long a submission may be checked before the caller is told to look again.
pub(crate) const SUBMIT_WAIT: Duration = Duration::from_secs(25);
