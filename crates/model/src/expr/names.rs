//! The existing names that an error lists, and the one that was probably meant.

use std::fmt;

use super::limits::{NAMES_COMPARED_MAX, NAMES_SHOWN_MAX, QUOTED_BYTES_MAX};
use crate::suggest;

/// The names that are available in a place where an unknown name was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The first few names.
    pub shown: Vec<String>,
    /// The number of names.
    pub total: usize,
    /// The name that was probably meant.
    pub near: Option<String>,
}

impl Names {
    /// Builds the list for a name that was not found; `names` contains the first of `total` names.
    pub(super) fn new(wanted: &str, total: usize, names: &[String]) -> Names {
        let compared = names.iter().take(NAMES_COMPARED_MAX).map(String::as_str);
        let shown = names.iter().take(NAMES_SHOWN_MAX);
        Names {
            total,
            near: suggest::nearest(wanted, compared).map(str::to_owned),
            shown: shown.map(|name| shortened(name).into_owned()).collect(),
        }
    }

    /// The fuel for comparing this many names.
    pub(super) fn fuel(total: usize) -> u64 {
        total.min(NAMES_COMPARED_MAX) as u64
    }

    /// ` (did you mean …?)`, or an empty string.
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

/// Text as quoted in errors: truncated if it is too long.
pub(super) fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= QUOTED_BYTES_MAX {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(QUOTED_BYTES_MAX)]).into()
}
