//! A measured number and the limit that it must meet.

use std::fmt;

use serde_json::{Value, json};

/// Which side of its limit a figure must stay on.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(u32),
    AtLeast(u32),
}

pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) limit: Limit,
}

impl Figure {
    pub(crate) fn holds(&self) -> bool {
        match self.limit {
            Limit::AtMost(limit) => self.value <= f64::from(limit),
            Limit::AtLeast(limit) => self.value >= f64::from(limit),
        }
    }

    pub(crate) fn json(&self, bench: &str) -> Value {
        let (bound, limit) = match self.limit {
            Limit::AtMost(limit) => ("max", limit),
            Limit::AtLeast(limit) => ("min", limit),
        };
        json!({
            "bench": bench,
            "figure": self.name,
            "value": (self.value * 1_000.0).round() / 1_000.0,
            "unit": self.unit,
            "limit": limit,
            "bound": bound,
            "ok": self.holds(),
        })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, limit) = match self.limit {
            Limit::AtMost(limit) => ('≤', limit),
            Limit::AtLeast(limit) => ('≥', limit),
        };
        let verdict = if self.holds() { "OK" } else { "MISSED" };
        let Figure { name, value, unit, .. } = self;
        write!(f, "{name:<26} {value:>9.2} {unit:<2} {sign} {limit:<3} {verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, limit: Limit) -> Figure {
        Figure { name: "corpus_ms", value, unit: "ms", limit }
    }

    #[test]
    fn a_figure_is_one_line_of_json() {
        let line = figure(12.345_67, Limit::AtMost(60)).json("validate").to_string();
        let expected = r#"{"bench":"validate","figure":"corpus_ms","value":12.346,"unit":"ms","#;
        assert!(line.starts_with(expected), "{line}");
        assert!(line.ends_with(r#""limit":60,"bound":"max","ok":true}"#), "{line}");
    }

    #[test]
    fn a_limit_holds_up_to_itself() {
        assert!(figure(60.0, Limit::AtMost(60)).holds());
        assert!(!figure(60.1, Limit::AtMost(60)).holds());
        assert!(figure(10.0, Limit::AtLeast(10)).holds());
        assert!(!figure(9.9, Limit::AtLeast(10)).holds());
        assert!(!figure(f64::NAN, Limit::AtMost(60)).holds());
    }
}
