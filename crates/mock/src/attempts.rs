//! Counts how often the validator rejected each location in a response. A location that does not
//! validate is generated differently; one that never validates is left out; if it cannot be left
//! out, its parent is generated differently.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::error::{ValidationError, ValidationErrorKind};
use milepost_catalog::finding::below;

use crate::limits;

/// Failed attempts by JSON pointer.
#[derive(Debug, Default, Clone)]
pub(crate) struct Attempts {
    tries: BTreeMap<String, u32>,
    left_out: BTreeSet<String>,
}

impl Attempts {
    /// How many times a location has failed.
    pub(crate) fn at(&self, place: &str) -> u32 {
        self.tries.get(place).copied().unwrap_or_default()
    }

    /// Whether nothing at or below a location failed; only then are examples trusted.
    pub(crate) fn is_clean(&self, place: &str) -> bool {
        let first = self.tries.range(place.to_owned()..).next();
        first.is_none_or(|(failed, _)| !is_within(failed, place))
    }

    /// Whether a location must be left out.
    pub(crate) fn is_left_out(&self, place: &str) -> bool {
        self.left_out.contains(place)
    }

    /// Whether anything below a location was left out.
    pub(crate) fn lost_child(&self, place: &str) -> bool {
        let from = format!("{place}/");
        let first = self.left_out.range(from.clone()..).next();
        first.is_some_and(|gone| gone.starts_with(&from))
    }

    /// Records the errors that a validator reported.
    pub(crate) fn learn<'e>(&mut self, errors: impl Iterator<Item = ValidationError<'e>>) {
        let mut places = BTreeSet::new();
        for error in errors.take(limits::TRY_FAULTS) {
            let place = error.instance_path().to_string();
            if let ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } = error.kind()
            {
                for name in unexpected {
                    self.left_out.insert(below(&place, name));
                }
            }
            places.insert(place);
        }
        for place in places {
            self.fail(&place);
        }
    }

    fn fail(&mut self, place: &str) {
        let mut place = place;
        loop {
            let tries = self.tries.entry(place.to_owned()).or_default();
            *tries += 1;
            if !tries.is_multiple_of(limits::PLACE_TRIES) {
                return;
            }
            self.left_out.insert(place.to_owned());
            match place.rfind('/') {
                Some(end) => place = &place[..end],
                None => return,
            }
        }
    }
}

fn is_within(place: &str, above: &str) -> bool {
    place.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_not_within_one_that_begins_alike() {
        assert!(is_within("/a/b", "/a"));
        assert!(!is_within("/ab", "/a"));
    }

    #[test]
    fn a_place_that_never_fits_is_left_out_and_the_one_above_tried_anew() {
        let mut attempts = Attempts::default();
        for _ in 0..limits::PLACE_TRIES {
            attempts.fail("/a/b");
        }
        assert!(attempts.is_left_out("/a/b"));
        assert_eq!(attempts.at("/a"), 1);
        assert!(attempts.lost_child("/a"));
        assert!(!attempts.is_clean("/a"));
    }
}
