//! The log: off by default, otherwise on standard error or in a file.
//!
//! Only Milepost's own events are logged, regardless of the filter. The crates below it log headers
//! and bodies, which are not masked.

#[cfg(feature = "otlp")]
mod otlp;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use milepost_model::problem::{Code, Problem};
use milepost_model::secret::known_secrets;
use milepost_store::open_log;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;

use crate::failure::CliResult;

/// The prefix of all our log targets.
const OURS: &str = "milepost";
/// All our log targets; a misspelled one would log nothing.
const TARGETS: &[&str] = &[
    "milepost::operation",
    "milepost::call",
    "milepost::run",
    "milepost::mcp",
    "milepost::http",
    "milepost::store",
];
/// The filter if only a file or a format was given.
const DEFAULT_FILTER: &str = "info";
const FILTER: &str = "MILEPOST_LOG";
const FORMAT: &str = "MILEPOST_LOG_FORMAT";
const FILE: &str = "MILEPOST_LOG_FILE";
/// The variable shared with other programs, so an invalid filter in it is ignored.
const SHARED: &str = "RUST_LOG";

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Log filter, such as `info` or `warn,milepost::call=debug`
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// The format of the log
    #[arg(long, global = true, value_name = "FORMAT", value_enum)]
    log_format: Option<LogFormat>,
    /// Append the log to this file instead of standard error
    #[arg(long, global = true, value_name = "PATH")]
    log_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Human,
    Json,
}

/// Keeps the log open.
#[must_use]
pub(crate) struct Log {
    /// Sends the remaining spans when dropped.
    #[cfg(feature = "otlp")]
    _collector: Option<otlp::Collector>,
}

type Output = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts the log, if enabled.
pub(crate) fn begin(arguments: &LogArgs) -> CliResult<Option<Log>> {
    let file = arguments.log_file.clone().or_else(|| variable(FILE).map(PathBuf::from));
    let format = format(arguments)?;
    let asked = arguments.log.clone().or_else(|| variable(FILTER));
    let filter = match (asked, variable(SHARED)) {
        (Some(text), _) => Some(asked_of_us(&text).ok_or_else(|| no_filter(&text))?),
        (None, Some(text)) => ours(&text),
        (None, None) => None,
    };
    let usual = || (file.is_some() || format.is_some()).then(|| ours(DEFAULT_FILTER)).flatten();
    let mut outputs: Vec<Output> = Vec::new();
    if let Some(filter) = filter.clone().or_else(usual) {
        let output = match &file {
            Some(path) => layer(format, Arc::new(open_log(path)?)),
            None => layer(format, io::stderr),
        };
        outputs.push(output.with_filter(filter).boxed());
    }
    #[cfg(feature = "otlp")]
    let collector = otlp::collector()?.map(|(collector, output)| {
        outputs
            .extend(filter.or_else(|| ours(DEFAULT_FILTER)).map(|f| output.with_filter(f).boxed()));
        collector
    });
    if outputs.is_empty() {
        return Ok(None);
    }
    tracing_subscriber::registry().with(outputs).try_init().map_err(|error| {
        let message = format!("the log was already started: {error}");
        Problem::new(Code::Internal, message, "report this, including the command you ran")
    })?;
    Ok(Some(Log {
        #[cfg(feature = "otlp")]
        _collector: collector,
    }))
}

/// An environment variable that is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn format(arguments: &LogArgs) -> Result<Option<LogFormat>, Problem> {
    match (arguments.log_format, variable(FORMAT)) {
        (Some(format), _) => Ok(Some(format)),
        (None, Some(text)) => LogFormat::from_str(&text, false).map(Some).map_err(|_| {
            let message = format!("`{FORMAT}` is not set to a valid log format");
            Problem::new(Code::ParamsInvalid, message, "write `human` or `json`")
        }),
        (None, None) => Ok(None),
    }
}

/// The layer that writes log lines in the given format.
fn layer<W>(format: Option<LogFormat>, writer: W) -> Output
where
    W: for<'w> fmt::MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_ansi(false).with_writer(MaskedLog(writer));
    match format {
        Some(LogFormat::Json) => lines.json().flatten_event(true).with_current_span(false).boxed(),
        Some(LogFormat::Human) | None => lines.boxed(),
    }
}

/// A log without secrets. Nothing that is logged may contain one; this makes sure of it.
struct MaskedLog<W>(W);

impl<'w, W: fmt::MakeWriter<'w>> fmt::MakeWriter<'w> for MaskedLog<W> {
    type Writer = MaskedLog<W::Writer>;

    fn make_writer(&'w self) -> Self::Writer {
        MaskedLog(self.0.make_writer())
    }
}

impl<W: Write> Write for MaskedLog<W> {
    /// Writes a line, which arrives in one piece.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(&known_secrets::shown_bytes(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The part of a filter that applies to our targets; a bare level applies to all of them.
fn ours(text: &str) -> Option<Targets> {
    let given: Targets = text.parse().ok()?;
    let usual = given.default_level().unwrap_or(LevelFilter::OFF);
    let named = given.iter().filter(|(target, _)| target.starts_with(OURS));
    let named: Vec<_> = named.map(|(target, level)| (target.to_owned(), level)).collect();
    // The last entry for a target wins, so one that names our prefix overrides the default.
    Some(Targets::new().with_target(OURS, usual).with_targets(named))
}

/// Parses a filter that may name only our targets. If any target were allowed, a misspelled level
/// would pass as an unknown target.
fn asked_of_us(text: &str) -> Option<Targets> {
    let given: Targets = text.parse().ok()?;
    let is_ours = given.iter().all(|(target, _)| target == OURS || TARGETS.contains(&target));
    is_ours.then(|| ours(text)).flatten()
}

fn no_filter(text: &str) -> Problem {
    let message = format!("`{text}` is not a valid log filter");
    let hint = format!(
        "write a level (error, warn, info, debug, trace) or `milepost::call=debug`, separated by \
         commas; only these targets are logged: {}",
        TARGETS.join(", ")
    );
    Problem::new(Code::ParamsInvalid, message, hint)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    fn enabled(filter: &str, target: &str, level: Level) -> bool {
        ours(filter).is_some_and(|targets| targets.would_enable(target, &level))
    }

    #[test]
    fn a_level_is_that_of_all_that_is_ours_and_of_nothing_else() {
        assert!(enabled("trace", "milepost::store", Level::TRACE));
        assert!(!enabled("info", "milepost::store", Level::DEBUG));
        for foreign in ["hyper_util::client", "rmcp::service", "reqwest", "rustls", "h2"] {
            assert!(!enabled("trace", foreign, Level::ERROR), "{foreign}");
            assert!(!enabled(&format!("{foreign}=trace"), foreign, Level::ERROR), "{foreign}");
        }
    }

    #[test]
    fn targets_of_ours_have_levels_of_their_own() {
        let filter = "warn,milepost::call=debug,hyper=trace";
        assert!(enabled(filter, "milepost::call", Level::DEBUG));
        assert!(enabled(filter, "milepost::run", Level::WARN));
        assert!(!enabled(filter, "milepost::run", Level::INFO));
        assert!(!enabled("milepost::call=info", "milepost::run", Level::ERROR));
        assert!(enabled("milepost=debug", "milepost::run", Level::DEBUG));
        assert!(enabled("error,milepost=debug", "milepost::run", Level::DEBUG));
    }

    #[test]
    fn what_is_no_filter_is_none() {
        for wrong in [
            "loud",
            "milepost::call=loud",
            "milepost::cal=info",
            "a=b=c",
            "hyper=trace",
            "info,rmcp=off",
        ] {
            assert!(asked_of_us(wrong).is_none(), "{wrong}");
        }
        assert!(asked_of_us("info,milepost::call=trace").is_some());
    }
}
