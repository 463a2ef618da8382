//! A value computed at most once from the fields next to it, such as a compiled pattern or schema.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// A value that is computed on first use. It is derived from the fields next to it, so it is
/// ignored when they are compared or printed.
pub(crate) struct Lazy<T>(OnceLock<Arc<T>>);

impl<T> Lazy<T> {
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| Arc::new(make()))
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Lazy(OnceLock::new())
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Lazy(self.0.clone())
    }
}

impl<T> PartialEq for Lazy<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lazy")
    }
}
