//! The counters of a process, and their text format for monitoring (Prometheus 0.0.4).
//!
//! Each process has one set of counters, defined here. The values of every label are listed in
//! this file, and any other value is counted under the last one, so that no id or user value can
//! become a label and the number of lines is bounded.

mod counts;
mod text;

use std::fmt::Display;
use std::time::Duration;

pub use counts::{CountTable, Counter, Counts, Durations};
use text::MetricsText;

/// The content type of [`text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Runs started by this process.
pub static RUNS_STARTED: Counter = Counter::new();

/// Runs that ended while this process was driving them.
pub static RUNS_ENDED: Counts<3> = Counts::of(["succeeded", "failed", "canceled"]);

/// Steps that ended while this process was driving their run.
pub static STEPS: Counts<4> = Counts::of(["succeeded", "failed", "skipped", "canceled"]);

/// Requests sent, by outcome; each attempt counts separately.
pub static CALLS: Counts<7> =
    Counts::of(["2xx", "3xx", "4xx", "5xx", "timeout", "refused", "unanswered"]);

/// The duration of the requests in [`CALLS`].
pub static CALL_SECONDS: Durations = Durations::new();

/// Requests to the server.
pub static HTTP: CountTable<5, 16> = CountTable::of(
    ["/mcp", "/healthz", "/metrics", "metadata", "other"],
    [
        "200", "202", "204", "400", "401", "403", "404", "405", "406", "408", "413", "415", "422",
        "500", "503", "other",
    ],
);

/// Requests from MCP clients: answered, failed while executing, or invalid.
pub static MCP: CountTable<24, 3> = CountTable::of(
    [
        "initialize",
        "ping",
        "shutdown",
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
        "tasks/list",
        "tasks/result",
        "tasks/create",
        "guide",
        "other",
    ],
    ["ok", "failed", "fault"],
);

/// Committed journal transactions.
pub static COMMITS: Counter = Counter::new();

/// Events written to the journal.
pub static EVENTS: Counter = Counter::new();

/// Values that are measured when the metrics are read.
#[derive(Debug, Clone, Default)]
pub struct ProcessMetrics {
    pub version: &'static str,
    /// How long the server has been running.
    pub uptime: Duration,
    /// Clients with an open session.
    pub sessions: usize,
    /// `None` if the journal cannot be read.
    pub journal: Option<JournalMetrics>,
}

/// Counts from the journal, which all processes share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalMetrics {
    /// The number of runs in each state.
    pub runs: Vec<(&'static str, u64)>,
    /// The number of waiting runs, by what they are waiting for.
    pub waiting: Vec<(&'static str, u64)>,
    /// Messages that runs have not received yet.
    pub inbox: u64,
}

/// All metrics as text.
pub fn text(now: &ProcessMetrics) -> String {
    let mut text = MetricsText::default();
    let gauge = "gauge";
    text.family("milepost_build_info", gauge, "Version of the program.");
    text.sample("milepost_build_info", &[("version", now.version)], 1);
    let age = now.uptime.as_secs_f64();
    one(&mut text, "milepost_uptime_seconds", gauge, "Time since the server started.", age);
    let up = u8::from(now.journal.is_some());
    one(&mut text, "milepost_journal_up", gauge, "Whether the journal can be read.", up);
    if let Some(journal) = &now.journal {
        let waiting = "Waiting runs, by what they are waiting for.";
        for (name, help, label, counts) in [
            ("milepost_runs", "Runs in the journal by status.", "status", &journal.runs),
            ("milepost_runs_waiting", waiting, "for", &journal.waiting),
        ] {
            text.family(name, gauge, help);
            counts.iter().for_each(|(word, count)| text.sample(name, &[(label, word)], count));
        }
        let help = "Messages that runs have not received yet.";
        one(&mut text, "milepost_inbox_messages", gauge, help, journal.inbox);
    }
    one(&mut text, "milepost_sessions", gauge, "Open MCP sessions.", now.sessions);
    of_process(&mut text);
    text.finish()
}

fn of_process(text: &mut MetricsText) {
    let help = "Runs started by this process.";
    one(text, "milepost_runs_started_total", "counter", help, RUNS_STARTED.get());
    let help = "Runs that ended in this process.";
    RUNS_ENDED.write(text, "milepost_runs_ended_total", "outcome", help);
    STEPS.write(text, "milepost_steps_total", "outcome", "Steps that ended in this process.");
    let help = "Requests sent to APIs, counting each attempt.";
    CALLS.write(text, "milepost_calls_total", "outcome", help);
    let help = "Duration of requests to APIs.";
    CALL_SECONDS.write(text, "milepost_call_duration_seconds", help);
    let help = "Requests to this server.";
    HTTP.write(text, "milepost_http_requests_total", ["route", "status"], help);
    let help = "Requests from MCP clients.";
    MCP.write(text, "milepost_mcp_requests_total", ["method", "outcome"], help);
    let help = "Transactions committed to the journal.";
    one(text, "milepost_journal_commits_total", "counter", help, COMMITS.get());
    let help = "Events written to the journal.";
    one(text, "milepost_journal_events_total", "counter", help, EVENTS.get());
}

fn one(text: &mut MetricsText, name: &str, kind: &str, help: &str, value: impl Display) {
    text.family(name, kind, help);
    text.sample(name, &[], value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_word_of_a_label_is_counted_as_the_last_one() {
        let counts = Counts::of(["a", "b", "other"]);
        counts.add("a");
        counts.add("run_0123456789");
        assert_eq!([counts.get("a"), counts.get("b"), counts.get("other")], [1, 0, 1]);
        let grid = CountTable::of(["a", "other"], ["ok", "fault"]);
        grid.add("a", "ok");
        grid.add("../../etc/passwd", "?");
        assert_eq!([grid.get("a", "ok"), grid.get("other", "fault")], [1, 1]);
    }

    #[test]
    fn without_a_journal_all_else_is_told() {
        let told = text(&ProcessMetrics { version: "1", ..ProcessMetrics::default() });
        assert!(told.contains("milepost_journal_up 0\n") && !told.contains("milepost_runs{"));
        let journal = JournalMetrics { runs: vec![("failed", 2)], ..JournalMetrics::default() };
        let told = text(&ProcessMetrics { journal: Some(journal), ..ProcessMetrics::default() });
        assert!(told.contains("milepost_runs{status=\"failed\"} 2\n"), "{told}");
    }
}
