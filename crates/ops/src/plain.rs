//! Names that surely keep the patterns of the requests' schemas.
//!
//! Never wider than those: what is refused here is looked at again by the schema, which decides.

/// An id of a workflow.
pub(crate) fn is_workflow_id(id: &str) -> bool {
    let is_part = |part: &str| {
        let known = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        !part.is_empty() && part.bytes().all(known)
    };
    let parts = match id.split_once('.') {
        Some((first, second)) => is_part(first) && is_part(second),
        None => is_part(id),
    };
    parts && (3..=64).contains(&id.len())
}

/// An id of a step, or the key of one of its instances.
pub(crate) fn is_step_key(key: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:@-".contains(&byte);
    // Two dots in a row would leave a directory.
    let dots = || key.as_bytes().windows(2).any(|pair| pair == b"..");
    !key.is_empty() && key.bytes().all(known) && !(key.contains('.') && dots())
}
