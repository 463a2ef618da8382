//! Regular expressions of documents, bounded in source and in compiled size.

use regex::{Regex, RegexBuilder};

use crate::decode::{Decode, Report};
use crate::finding::{Finding, Rule};
use crate::limits;
use crate::tree::Node;

/// Reads a pattern; a bad one is reported under `rule`.
pub(crate) fn decode(node: &Node, rule: Rule, report: &mut Report) -> Option<Regex> {
    let text = String::decode(node, report)?;
    match compile(&text) {
        Ok(regex) => Some(regex),
        Err(cause) => {
            report.add(
                Finding::error(node.at, rule, format!("the pattern does not compile: {cause}"))
                    .expected("a regular expression")
                    .suggest("correct the pattern, and escape signs that are meant literally"),
            );
            None
        }
    }
}

/// Compiles a pattern within the limits.
pub(crate) fn compile(text: &str) -> Result<Regex, String> {
    if text.len() > limits::PATTERN_BYTES {
        return Err(format!("it is longer than {} bytes", limits::PATTERN_BYTES));
    }
    RegexBuilder::new(text)
        .size_limit(limits::PATTERN_COMPILED_BYTES)
        .nest_limit(64)
        .build()
        .map_err(|error| cause(&error))
}

/// The cause without the drawing the library puts around it.
fn cause(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too large when compiled".to_owned(),
        other => {
            let words = other.to_string();
            let last = words.lines().last().unwrap_or("").trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}
