//! Unique ids.

use milepost_engine::ports::{HolderId, MessageId};
use milepost_model::id::RunId;

use crate::error::RunError;

/// A new, random run id.
pub fn new_run_id() -> Result<RunId, RunError> {
    random().map(RunId::from_bytes)
}

/// A random string that outsiders cannot know, used to create the placeholders for a run's secrets.
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

/// A new message id.
pub(crate) fn new_message() -> Result<MessageId, RunError> {
    let text = format!("message:{}", new_run_id()?);
    MessageId::parse(&text).map_err(|_| RunError::NoRandomness)
}
