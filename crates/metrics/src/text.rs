//! The Prometheus text format, version 0.0.4.

use std::fmt::{Display, Write};

/// Output under construction, written one metric family at a time.
#[derive(Debug, Default)]
pub(crate) struct MetricsText(String);

impl MetricsText {
    /// Starts a family of the given kind (`counter`, `gauge` or `histogram`); its samples follow.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        if labels.is_empty() {
            return self.line(format_args!("{name} {value}"));
        }
        let labels: Vec<String> =
            labels.iter().map(|(label, word)| format!("{label}=\"{}\"", escaped(word))).collect();
        self.line(format_args!("{name}{{{}}} {value}", labels.join(",")));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_label_is_escaped() {
        let mut text = MetricsText::default();
        text.family("a", "gauge", "One \\ two\nthree");
        text.sample("a", &[("b", "c\"d\\e\nf"), ("g", "")], 1.5);
        let expected = "# HELP a One \\\\ two\\nthree\n# TYPE a gauge\n\
                        a{b=\"c\\\"d\\\\e\\nf\",g=\"\"} 1.5\n";
        assert_eq!(text.finish(), expected);
    }
}
