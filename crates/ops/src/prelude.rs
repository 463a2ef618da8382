//! Items that nearly every operation imports.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use milepost_model::hint::{Hint, Invocation};
pub(crate) use milepost_model::problem::{Code, Problem};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};

pub(crate) use crate::framework::{
    Caller, CallerKind, Door, Operation, OperationFuture, SilentCaller, Task, Tool, operation,
};
pub(crate) use crate::limits;
pub(crate) use crate::problems::{self, OrProblem};
pub(crate) use crate::reader::Reader;
pub(crate) use crate::writer::Writer;

/// Locks a mutex, ignoring poisoning: a panic never leaves its data in an inconsistent state.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value for display: a string is shown without its quotes.
pub(crate) fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The result of an operation. Every error is a [`Problem`].
pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;
