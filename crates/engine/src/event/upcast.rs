//! Events as bytes, and the conversion of events from earlier versions.
//!
//! A new field has a default and needs no new version. A change that no default can express
//! increments [`VERSION`] and adds a function to `UPCASTS`. The bytes on disk are never edited.

use serde_json::Value;

use crate::event::Event;

/// The version of the events that this program writes.
pub const VERSION: u32 = 1;

/// Converts an event from one version to the next.
type Upcast = fn(Value) -> Value;

/// The conversions between versions, in order: the first one converts version 1 to version 2.
const UPCASTS: &[Upcast] = &[];

const _: () =
    assert!(UPCASTS.len() + 1 == VERSION as usize, "one conversion per version after the first");

/// The prefix of an event that states its version. An event without it is version 1.
const MARK: &[u8] = b"{\"v\":";

/// Why an event cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// A later version of this program wrote it.
    #[error("a newer version of this program wrote it")]
    Newer,
    /// It is not an event of any version.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
}

/// Encodes an event for storage.
pub fn encode(event: &Event) -> Result<Vec<u8>, serde_json::Error> {
    encoded(event, VERSION)
}

/// Decodes a stored event of this version or an earlier one.
pub fn decode(data: &[u8]) -> Result<Event, DecodeError> {
    decoded(data, UPCASTS)
}

fn encoded(event: &Event, version: u32) -> Result<Vec<u8>, serde_json::Error> {
    let bytes = serde_json::to_vec(event)?;
    if version == 1 {
        return Ok(bytes);
    }
    let mut marked = MARK.to_vec();
    marked.extend_from_slice(version.to_string().as_bytes());
    marked.push(b',');
    marked.extend_from_slice(&bytes[1..]);
    Ok(marked)
}

fn decoded(data: &[u8], upcasts: &[Upcast]) -> Result<Event, DecodeError> {
    let behind = match version(data) {
        0 => return Err(DecodeError::Newer),
        version => version as usize - 1,
    };
    let Some(steps) = upcasts.get(behind..) else { return Err(DecodeError::Newer) };
    let event = match steps {
        [] => serde_json::from_slice(data),
        steps => {
            let stored: Value = serde_json::from_slice(data)?;
            serde_json::from_value(steps.iter().fold(stored, |event, upcast| upcast(event)))
        }
    };
    // New kinds of events are added without a new version.
    event.map_err(|error| if is_known(data) { error.into() } else { DecodeError::Newer })
}

/// The version of an event; 0 if it cannot be read.
fn version(data: &[u8]) -> u32 {
    let Some(rest) = data.strip_prefix(MARK) else { return 1 };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Whether this version knows the kind of an event. Data that is not an event counts as known.
fn is_known(data: &[u8]) -> bool {
    let kind = serde_json::from_slice::<Value>(data).ok();
    let kind = kind.as_ref().and_then(|stored| stored.get("event")).and_then(Value::as_str);
    kind.is_none_or(|kind| Event::KINDS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::json;

    use super::*;

    /// The events in the journals that version 0.1.0 wrote.
    fn golden() -> Vec<Value> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/0.1.0");
        let files = fs::read_dir(folder).expect("the folder is there").flatten();
        let files = files.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl"));
        let texts = files.map(|file| fs::read_to_string(file.path()).expect("reads"));
        let lines: Vec<String> = texts.flat_map(|text| lines(&text)).collect();
        assert!(lines.len() > 100, "{}", lines.len());
        lines.iter().map(|line| entry(line)["event"].clone()).collect()
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    fn entry(line: &str) -> Value {
        serde_json::from_str(line).expect("JSON")
    }

    fn bytes(value: &Value) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    #[test]
    fn journals_of_0_1_0_are_decoded_and_written_as_they_were() {
        for stored in golden() {
            let event = decode(&bytes(&stored)).expect("is decoded");
            let plain: Event = serde_json::from_value(stored.clone()).expect("is an event");
            assert_eq!(event, plain);
            assert!(Event::KINDS.contains(&event.name()), "{}", event.name());
            let written = encode(&event).expect("is written");
            assert_eq!(serde_json::from_slice::<Value>(&written).expect("JSON"), json!(event));
        }
    }

    /// Renames a field, as a future version might do.
    fn renamed(mut event: Value, from: &str, to: &str) -> Value {
        if let Some(map) = event.as_object_mut()
            && let Some(value) = map.remove(from)
        {
            map.insert(to.to_owned(), value);
        }
        event
    }

    #[test]
    fn an_event_goes_through_every_step_from_its_version_on() {
        // Version 1 has `key`, version 2 `step`, version 3 `execution`, and the current one `key`
        // again.
        let upcasts: &[Upcast] = &[
            |event| renamed(event, "key", "step"),
            |event| renamed(event, "step", "execution"),
            |event| renamed(event, "execution", "key"),
        ];
        for stored in golden() {
            let expected: Event = serde_json::from_value(stored.clone()).expect("is an event");
            let mut older = stored;
            for version in 1..=4_u32 {
                let data = bytes(&older);
                let data = match version {
                    1 => data,
                    _ => [format!("{{\"v\":{version},").as_bytes(), &data[1..]].concat(),
                };
                assert_eq!(decoded(&data, upcasts).expect("is decoded"), expected, "{version}");
                if let Some(next) = upcasts.get(version as usize - 1) {
                    older = next(older);
                }
            }
            let own = encoded(&expected, 4).expect("is written");
            assert_eq!(decoded(&own, upcasts).expect("is decoded"), expected);
        }
    }

    #[test]
    fn what_a_newer_version_wrote_is_known_as_such() {
        let newer = |data: &str| matches!(decode(data.as_bytes()), Err(DecodeError::Newer));
        assert!(newer(r#"{"v":2,"event":"run_canceled"}"#));
        assert!(newer(r#"{"v":99999999999,"event":"run_canceled"}"#));
        assert!(newer(r#"{"event":"run_teleported","to":"mars"}"#));
        let malformed =
            |data: &str| matches!(decode(data.as_bytes()), Err(DecodeError::Malformed(_)));
        assert!(malformed(r#"{"event":"step_canceled"}"#));
        assert!(malformed("{"));
        assert!(malformed("[]"));
    }
}
