//! `run.events`: the journal of a run, as it may be shown.

use std::time::Duration;

use milepost_driver::{RunUpdates, Until, WaitOptions};
use milepost_engine::event::JournalEntry;
use milepost_engine::mask_secrets;
use milepost_engine::state::Status;
use milepost_model::wording::Worded;
use serde::Serializer;
use serde::ser::{Error as _, SerializeMap};

use super::view::ProblemView;
use crate::prelude::*;

/// Which part of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run.
    pub run_id: String,
    /// Only what comes behind this event.
    #[serde(default)]
    pub after_seq: u64,
    /// Seconds to wait when there is nothing yet; at most 25.
    #[serde(default)]
    pub wait_s: u64,
    /// Waiting ends as well when all that goes on waits for somebody.
    #[serde(default)]
    pub until_rest: bool,
    /// Milliseconds to wait for more once there is something, while the run goes on here; at most
    /// 1,000.
    #[serde(default)]
    pub gather_ms: u64,
}

/// Events in order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The run.
    pub run_id: String,
    /// What happened.
    pub events: Vec<EventView>,
    /// How the run stands: `running`, `waiting`, `paused`, `succeeded`, `failed` or `canceled`.
    #[schemars(with = "String")]
    pub status: Status,
    /// Whether the run has ended.
    pub ended: bool,
}

/// What happened.
#[derive(Debug, Clone, JsonSchema)]
pub struct EventView {
    /// Its number.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event with its fields.
    #[schemars(flatten)]
    pub event: Value,
    /// What to do about the failure that it tells of.
    #[schemars(skip)]
    pub hint: Worded,
}

/// The failure of an event: its own, or that of the run of a step.
fn failure_in(event: &mut Value) -> Option<&mut Value> {
    let places = ["/failure", "/outcome/failure"];
    let place = places.into_iter().find(|place| event.pointer(place).is_some())?;
    event.pointer_mut(place)
}

impl EventView {
    /// An event as it may be shown: a failure with its sentence, and without what nobody may know.
    fn of(entry: &JournalEntry, nonce: &str) -> Result<EventView, serde_json::Error> {
        let mut event = serde_json::to_value(&entry.event)?;
        let problem = entry.event.failure().map(ProblemView::of);
        let told = problem.as_ref().map(serde_json::to_value).transpose()?;
        if let (Some(told), Some(place)) = (told, failure_in(&mut event)) {
            *place = told;
        }
        if let Some(map) = event.as_object_mut() {
            // Whoever knows it could forge the place of a secret.
            map.remove("seal");
            // When a step goes on; when the event happened stands beside it.
            if let Some(due) = map.remove("at_ms") {
                map.insert("due_ms".to_owned(), due);
            }
        }
        let hint = problem.map(|problem| problem.hint).unwrap_or_default();
        let (seq, at_ms) = (entry.seq, entry.at_ms);
        Ok(EventView { seq, at_ms, event: mask_secrets(nonce, &event), hint })
    }
}

/// The hint is written in the words of the door that the event is shown at.
impl Serialize for EventView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut event = self.event.clone();
        if let Some(failure) = failure_in(&mut event).filter(|_| !self.hint.is_empty()) {
            failure["hint"] = serde_json::to_value(&self.hint).map_err(S::Error::custom)?;
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("at_ms", &self.at_ms)?;
        for (name, value) in event.as_object().into_iter().flatten() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

operation! {
    /// Reads the journal of a run.
    ReadEvents: "run.events", "Read the journal of a run",
        "Read what happened in a run, event by event, in order. With \
         `wait_s` the answer comes as soon as there is something behind `after_seq`.";
    doors: [Door::Command("logs")];
    run: read_events(Reader, Request) -> Response;
    example: {"run_id": "run_00000000000000000000000001"};
}

async fn read_events(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let runs = reader.runs();
    let run = super::find(runs, &request.run_id).await?;
    if request.wait_s > 0 {
        let patience = Duration::from_secs(request.wait_s.min(limits::RUN_WAIT_MAX_S));
        let until = if request.until_rest { Until::Rest } else { Until::NextEvent };
        let gather = Duration::from_millis(request.gather_ms.min(limits::EVENTS_GATHER_MAX_MS));
        let wait = WaitOptions { after: request.after_seq, until, patience, gather };
        runs.wait(&run, wait).await.or_problem()?;
    }
    let RunUpdates { entries, nonce, status } =
        runs.events(&run, request.after_seq).await.or_problem()?;
    let events = entries.iter().map(|entry| EventView::of(entry, &nonce));
    let events: Result<Vec<EventView>, serde_json::Error> = events.collect();
    let events = events.map_err(|error| {
        let hint = "report this with the workflow";
        Problem::new(Code::Internal, error.to_string(), hint)
    })?;
    let ended = status.has_ended();
    Ok(Response { run_id: run.as_str().to_owned(), events, status, ended })
}
