//! A request's `Accept` header: the media types of its responses.

use super::media::{self, MediaKind};
use crate::command::ApiCommand;
use crate::limits;

/// The media types of the responses. JSON comes first, and success responses come before errors.
pub(crate) fn answers(command: &ApiCommand) -> Vec<&str> {
    let mut found: Vec<(bool, bool, &str)> = Vec::new();
    for response in &command.responses {
        let fails = !response.status.starts_with('2') && response.status != "default";
        for content in &response.contents {
            let media_type = content.media_type.as_str();
            let json = MediaKind::of(media_type).is_json();
            if media::is_media_type(media_type) && !found.iter().any(|known| known.2 == media_type)
            {
                found.push((fails, !json, media_type));
            }
        }
    }
    found.sort_by_key(|(fails, other, _)| (*other, *fails));
    found.truncate(limits::ACCEPT_TYPES);
    found.into_iter().map(|(.., media_type)| media_type).collect()
}

/// The value of `Accept`: the media types of the responses, with JSON preferred.
pub(crate) fn accept(command: &ApiCommand) -> String {
    let answers = answers(command);
    let json = |media_type: &&str| MediaKind::of(media_type).is_json();
    let prefers = answers.iter().any(json);
    let weighed = |media_type: &&str| {
        if prefers && !json(media_type) {
            format!("{media_type};q=0.5")
        } else {
            (*media_type).to_owned()
        }
    };
    match answers.is_empty() {
        true => "*/*".to_owned(),
        false => answers.iter().map(weighed).collect::<Vec<_>>().join(", "),
    }
}
