//! What is odd or wrong with a document, in lines.

use milepost_ops::catalog::Remark;

use crate::limits;
use crate::terminal::{Terminal, safe};

/// `error[rule] path: message`.
pub(super) fn line(severity: &str, remark: &Remark) -> String {
    let (rule, message) = (&remark.rule, safe(&remark.message).replace('\n', " "));
    match remark.path.as_str() {
        "" => format!("{severity}[{rule}]: {message}"),
        path => format!("{severity}[{rule}] {}: {message}", safe(path)),
    }
}

/// The first warnings, and how many there are beside them.
pub(super) fn warnings(remarks: &[Remark]) -> Vec<String> {
    let mut lines: Vec<String> =
        remarks.iter().take(limits::REMARKS).map(|remark| line("warning", remark)).collect();
    if remarks.len() > limits::REMARKS {
        let rest = remarks.len() - limits::REMARKS;
        lines.push(format!("warning: {rest} more, all of them with --json"));
    }
    lines
}

/// Warnings about what was done all the same.
pub(super) fn tell(remarks: &[Remark], terminal: &mut Terminal) {
    for line in warnings(remarks) {
        terminal.remark(&line);
    }
}
