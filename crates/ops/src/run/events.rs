//! `run.events`: a run's journal, without its secrets.

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

/// Which events to read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Run id.
    pub run_id: String,
    /// Only events after this one.
    #[serde(default)]
    pub after_seq: u64,
    /// Seconds to wait for the first event; at most 25.
    #[serde(default)]
    pub wait_s: u64,
    /// Also stop waiting once the run is waiting only for child runs that need someone.
    #[serde(default)]
    pub until_rest: bool,
    /// Milliseconds to wait for more events after the first, while this process drives the run; at
    /// most 1,000.
    #[serde(default)]
    pub gather_ms: u64,
}

/// Events in order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Run id.
    pub run_id: String,
    /// The events.
    pub events: Vec<EventView>,
    /// The run's status: `running`, `waiting`, `paused`, `succeeded`, `failed` or `canceled`.
    #[schemars(with = "String")]
    pub status: Status,
    /// Whether the run has ended.
    pub ended: bool,
}

#[derive(Debug, Clone, JsonSchema)]
pub struct EventView {
    /// Its number.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event with its fields.
    #[schemars(flatten)]
    pub event: Value,
    /// What to do about the reported failure.
    #[schemars(skip)]
    pub hint: Worded,
}

/// An event's failure: its own, or a child run's.
fn failure_in(event: &mut Value) -> Option<&mut Value> {
    let places = ["/failure", "/outcome/failure"];
    let place = places.into_iter().find(|place| event.pointer(place).is_some())?;
    event.pointer_mut(place)
}

impl EventView {
    /// Renders an event for display: failures get their message, secrets are masked, and the nonce
    /// is removed.
    fn of(entry: &JournalEntry, nonce: &str) -> Result<EventView, serde_json::Error> {
        let mut event = serde_json::to_value(&entry.event)?;
        let problem = entry.event.failure().map(ProblemView::of);
        let told = problem.as_ref().map(serde_json::to_value).transpose()?;
        if let (Some(told), Some(place)) = (told, failure_in(&mut event)) {
            *place = told;
        }
        if let Some(map) = event.as_object_mut() {
            // Anyone who knows the nonce can forge a secret's placeholder.
            map.remove("seal");
            // The time at which the step is due; the time of the event is a separate field.
            if let Some(due) = map.remove("at_ms") {
                map.insert("due_ms".to_owned(), due);
            }
        }
        let hint = problem.map(|problem| problem.hint).unwrap_or_default();
        let (seq, at_ms) = (entry.seq, entry.at_ms);
        Ok(EventView { seq, at_ms, event: mask_secrets(nonce, &event), hint })
    }
}

/// Serialized by hand so that the hint is worded for the interface that shows the event.
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
    /// Reads a run's journal.
    ReadEvents: "run.events", "Read a run's journal",
        "Read what happened in a run, event by event, in order. \
         With `wait_s` the call returns as soon as there is an event after `after_seq`.";
    doors: [Door::Command("logs")];
    run: read_events(Reader, Request) -> Response;
    example: {"run_id": "run_00000000000000000000000001"};
}

async fn read_events(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let runs = reader.runs();
    let run = super::find(runs, call, &request.run_id).await?;
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
