//! What nearly every operation uses.

pub(crate) use milepost_model::hint::{Hint, Invocation};
pub(crate) use milepost_model::problem::{Code, Problem};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use serde_json::{Map, Value, json};

pub(crate) use crate::framework::{
    Caller, CallerKind, Door, Operation, SilentCaller, Task, Tool, operation,
};
pub(crate) use crate::limits;
pub(crate) use crate::problems::{self, OrProblem};
pub(crate) use crate::reader::Reader;
pub(crate) use crate::writer::Writer;
