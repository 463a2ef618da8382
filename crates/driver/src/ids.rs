//! Ids that nobody else has.

use milepost_engine::ports::{HolderId, MessageId};
use milepost_model::id::RunId;

use crate::error::RunError;

/// An id that no run has.
pub fn new_run_id() -> Result<RunId, RunError> {
    random().map(RunId::from_bytes)
}

/// A word that nobody outside can know, which the placeholders for a run's secrets are made with.
pub fn new_nonce() -> Result<String, RunError> {
    Ok(new_run_id()?.as_str().trim_start_matches("run_").to_owned())
}

pub(crate) fn new_holder() -> Result<HolderId, RunError> {
    random().map(HolderId::from_bytes)
}

fn random<const N: usize>() -> Result<[u8; N], RunError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| RunError::NoRandomness)?;
    Ok(bytes)
}

/// The id of a message that is new.
pub(crate) fn new_message() -> Result<MessageId, RunError> {
    let text = format!("message:{}", new_run_id()?);
    MessageId::parse(&text).map_err(|_| RunError::NoRandomness)
}
