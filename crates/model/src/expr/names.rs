//! Names that exist, told in an error, and the one that was probably meant.

use std::fmt;

use super::limits::{NAMES_COMPARED_MAX, NAMES_SHOWN_MAX, QUOTED_BYTES_MAX};
use crate::suggest;

/// The names that exist where one was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The first few of them.
    pub shown: Vec<String>,
    /// How many there are.
    pub total: usize,
    /// The one that was probably meant.
    pub near: Option<String>,
}

impl Names {
    /// The names that exist where `wanted` was looked for: how many, and the first of them.
    pub(super) fn new(wanted: &str, total: usize, names: &[String]) -> Names {
        let compared = names.iter().take(NAMES_COMPARED_MAX).map(String::as_str);
        let shown = names.iter().take(NAMES_SHOWN_MAX);
        Names {
            total,
            near: suggest::nearest(wanted, compared).map(str::to_owned),
            shown: shown.map(|name| shortened(name).into_owned()).collect(),
        }
    }

    /// What looking at this many names costs.
    pub(super) fn fuel(total: usize) -> u64 {
        total.min(NAMES_COMPARED_MAX) as u64
    }

    /// ` (did you mean …?)`, or nothing.
    pub(super) fn suggestion(&self) -> String {
        self.near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.shown.iter().enumerate() {
            write!(f, "{}`{name}`", if at == 0 { "" } else { ", " })?;
        }
        match self.total - self.shown.len() {
            0 if self.total == 0 => f.write_str("nothing"),
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// A text as an error quotes it: one line, not too long.
pub(super) fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= QUOTED_BYTES_MAX {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(QUOTED_BYTES_MAX)]).into()
}
