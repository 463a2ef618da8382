//! Every limit on operations, grouped by module.

use std::time::Duration;

// Call arguments.

/// Maximum number of faults reported in one call's arguments.
pub(crate) const ARGUMENT_FAULTS: usize = 20;
/// Maximum number of list elements, or of map keys, that are checked for faults. Without this
/// limit, each of a million wrong elements would be reported separately.
pub(crate) const ARGUMENT_ITEMS: usize = 1_000;

// Responses.

/// Initial capacity of a response in bytes. Most responses fit, so few are copied as they grow.
pub(crate) const RESPONSE_CAPACITY_BYTES: usize = 16 * 1024;

// Catalogs and commands.

/// Maximum number of commands shown in an import preview.
pub(crate) const PREVIEW_COMMANDS: usize = 50;
/// Maximum number of names suggested for a command that does not exist.
pub(crate) const SUGGESTED_COMMANDS: usize = 20;
/// Default number of commands on one page of a search.
pub(crate) const COMMANDS_PAGE: usize = 20;
/// Maximum number of commands on one page of a search.
pub(crate) const COMMANDS_PAGE_MAX: usize = 200;
/// Maximum number of search matches for which details are included by default.
pub(crate) const COMMANDS_DETAILED: usize = 5;
/// Maximum size of the details that a search returns unrequested, in bytes. If they are larger, all
/// are omitted.
pub(crate) const COMMANDS_DETAIL_BYTES: usize = 24 * 1024;
/// Maximum timeout for one call, in seconds.
pub(crate) const CALL_TIMEOUT_MAX_S: u64 = 600;
/// Maximum size of the shared schemas that are returned with one command, in bytes.
pub(crate) const COMMAND_DEFS_BYTES: usize = 48 * 1024;
/// Maximum number of `enum` values that are returned; the rest are only counted.
pub(crate) const COMMAND_ENUM_VALUES: usize = 60;
/// Maximum number of response fields that are listed.
pub(crate) const COMMAND_RESPONSE_FIELDS: usize = 60;
/// Maximum number of commands that a prompt lists for a goal.
pub(crate) const PROMPT_COMMANDS: usize = 8;

// Choices for inputs and parameters.

/// Default number of choices on one page.
pub(crate) const CHOICES_PAGE: usize = 50;
/// Maximum number of choices on one page.
pub(crate) const CHOICES_PAGE_MAX: usize = 1_000;
/// Maximum number of items fetched from an API to select choices from.
pub(crate) const CHOICES_FETCHED: usize = 5_000;
/// Maximum number of choices returned with one input.
pub(crate) const INPUT_CHOICES: usize = 100;
/// How long a process reuses fetched choices, in seconds, unless the input sets another value.
pub(crate) const CHOICES_FRESH_S: u64 = 60;
/// Maximum number of lists of choices that a process keeps in memory.
pub(crate) const CHOICES_KEPT: usize = 100;

// Run worlds.

/// Maximum number of worlds that a process keeps open, not counting those of active runs.
pub(crate) const WORLDS_OPEN: usize = 32;
/// Maximum number of other workspaces that a process keeps open.
pub(crate) const WORKSPACES_OPEN: usize = 16;
/// Maximum number of workflows that a workflow may run, directly or indirectly.
pub(crate) const WORLD_WORKFLOWS: usize = 1_000;

// Workflows.

/// Maximum number of workflows on one page of a list.
pub(crate) const WORKFLOWS_PAGE: usize = 1_000;
/// Maximum number of passes over a document to apply fixes. Fixing an error, especially a syntax
/// error, may uncover others.
pub(crate) const MEND_ROUNDS: usize = 32;
/// Number of context lines before and after a change in a diff.
pub(crate) const DIFF_CONTEXT_LINES: usize = 3;
/// Maximum number of changed lines for which the shortest diff is computed. Time and memory grow
/// with their square, to about 16 MB.
pub(crate) const DIFF_CHANGES: usize = 2_000;
/// Number of version digits in a diff header.
pub(crate) const VERSION_SHOWN_DIGITS: usize = 12;
/// Minimum number of digits in an abbreviated version.
pub(crate) const VERSION_DIGITS_MIN: usize = 4;
/// Default number of versions on one page.
pub(crate) const VERSIONS_PAGE: usize = 50;
/// Maximum number of versions on one page.
pub(crate) const VERSIONS_PAGE_MAX: usize = 1_000;
/// Maximum number of compiled workflows that a process caches.
pub(crate) const COMPILED_KEPT: usize = 8;
/// Maximum size of a source whose compiled workflow is cached, in bytes.
pub(crate) const COMPILED_TEXT_BYTES: usize = 64 * 1024;
/// Maximum number of requests that a preview renders for one step that iterates over a list.
pub(crate) const PREVIEW_REQUESTS: usize = 20;

// Workflows that an agent writes.

/// Maximum number of drafts requested from the client's model before the step is left to others.
pub(crate) const AUTHOR_ROUNDS: u32 = 5;
/// Maximum number of submissions that an authoring step accepts. It is greater than
/// [`AUTHOR_ROUNDS`] because the step then stays open for anyone who can do it.
pub(crate) const AUTHOR_SUBMISSIONS: u32 = 100;

// What `doctor` checks.

/// Maximum number of runs listed in each finding about the journal.
pub(crate) const DOCTOR_RUNS: usize = 20;
/// Maximum time that this machine's clock may lag behind the newest run, in milliseconds. Clocks
/// normally differ by less.
pub(crate) const CLOCK_SKEW_MS: u64 = 60_000;
/// Maximum number of invalid files that are listed; the rest are only counted.
pub(crate) const DOCTOR_FILES: usize = 50;
/// Maximum depth to which a client's configuration is searched for servers. Claude Code nests a
/// project's servers under a key and a path.
pub(crate) const CLIENT_CONFIG_DEPTH: usize = 3;
/// Free disk space below which a large import or many runs may fail, in bytes.
pub(crate) const DISK_LOW_BYTES: u64 = 512 << 20;
/// Free disk space below which the next write may fail, in bytes.
pub(crate) const DISK_FULL_BYTES: u64 = 32 << 20;

// Runs.
/// How often a long-lived process looks for orphaned runs.
pub(crate) const ORPHANS_EVERY: Duration = Duration::from_secs(2);
/// Maximum number of ids suggested when a prefix matches several catalogs.
pub(crate) const CATALOGS_OFFERED: usize = 5;
/// Minimum length of a secret that is searched for inside other values, in bytes. Shorter ones
/// would match by chance.
pub(crate) const SECRET_SOUGHT_BYTES_MIN: usize = 4;
/// What a mock gets in place of a secret.
pub(crate) const MOCK_SECRET: &str = "not-a-secret";
/// Minimum length in bytes of a secret that requests are searched for: shorter ones occur in them
/// by accident.
pub(crate) const GUARDED_SECRET_BYTES_MIN: usize = 12;
/// Milliseconds in a day.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a canceled run may take to abort work in flight before its current state is returned.
pub(crate) const CANCEL_WAIT: Duration = Duration::from_secs(5);
/// Maximum time spent gathering further events after the first one, in milliseconds.
pub(crate) const EVENTS_GATHER_MAX_MS: u64 = 1_000;
/// Default number of runs on one page.
pub(crate) const RUNS_PAGE: usize = 50;
/// Maximum number of runs on one page.
pub(crate) const RUNS_PAGE_MAX: usize = 1_000;
/// Maximum time that a caller may wait for a run, in seconds: less than the timeout of most
/// clients.
pub(crate) const RUN_WAIT_MAX_S: u64 = 25;
/// How long a call waits for its immediate consequences, so that its response can include them.
/// This saves the caller another call.
pub(crate) const CONSEQUENCES_WAIT: Duration = Duration::from_millis(500);
/// How long a run may take to accept a message.
pub(crate) const TAKEN_IN_WAIT: Duration = Duration::from_secs(10);
/// Maximum number of open runs that an overview examines, newest first.
pub(crate) const OVERVIEW_RUNS: usize = 50;
/// Maximum number of earlier runs that are checked to detect a lost PIN. One would suffice if all
/// runs were readable, because no run can start without the PIN if the latest one requires it.
pub(crate) const SIGNED_RUNS: usize = 4;
/// Maximum number of recent runs whose keys are compared with the current PIN.
pub(crate) const PINNED_RUNS: usize = 50;
/// Maximum number of runs that a process remembers as requiring no signature.
pub(crate) const UNSIGNED_RUNS: usize = 1_024;
/// Maximum number of response body characters quoted in a failure.
pub(crate) const FAILURE_BODY_CHARS: usize = 1_024;
/// Maximum number of drafted requests that a process keeps until they are sent.
pub(crate) const DRAFTED_REQUESTS: usize = 512;
/// Maximum number of open runs listed by a status call without a run.
pub(crate) const STATUS_RUNS: usize = 50;
/// Maximum number of steps suggested when a call could refer to several.
pub(crate) const STEPS_OFFERED: usize = 5;
/// Maximum number of lines about what a run can change.
pub(crate) const BOUND_LINES: usize = 100;
/// Maximum number of workflows whose bounds are kept for the runs of one world.
pub(crate) const BOUNDS_KEPT: usize = 64;
/// How long the check of a submission may take before the caller is asked to check back later.
pub(crate) const SUBMIT_WAIT: Duration = Duration::from_secs(25);

// Questions to people.

/// Maximum number of requests of a question that are shown one by one.
pub(crate) const SHOWN_REQUESTS: usize = 20;
/// Maximum number of places that are named directly above a prompt.
pub(crate) const SHOWN_TARGETS: usize = 10;
/// Width of a question in a client, in columns.
pub(crate) const FORM_COLUMNS: usize = 72;
/// Maximum number of characters of an id in a line of a question.
pub(crate) const NAME_CHARS: usize = 100;
/// Maximum number of characters of an explanation in a line of a question.
pub(crate) const MESSAGE_CHARS: usize = 400;
/// Maximum number of characters of an amount in a line of a question.
pub(crate) const FIGURE_CHARS: usize = 40;
/// Maximum depth at which an argument is searched for an amount.
pub(crate) const AMOUNT_DEPTH: usize = 3;
