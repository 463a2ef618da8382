//! The people and agents that runs are waiting for: agents submit, people decide and answer
//! truthfully about unknown outcomes. They outlive processes, and repeat messages that nobody
//! answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use milepost_driver::{RunService, SignalRequest, Snapshot};
use milepost_engine::StepKey;
use milepost_engine::event::{
    Actor, ActorKind, ApprovalRequest, Event, JournalEntry, Presence, Proof, Settlement,
};
use milepost_engine::ports::MessageId;
use milepost_engine::signal::{DecisionSignal, Reply, Signal, SubmissionSignal};
use milepost_engine::state::Status;
use milepost_engine::view::Waiting;
use milepost_model::digest::Digest;
use milepost_model::id::RunId;
use serde_json::{Map, Value, json};

use crate::place::Here;
use crate::rendering;
use crate::world::Servers;

/// How many actions a run may need before it counts as looping.
const TURNS: usize = 500;
/// How long a run may take to settle: longer than any of its own timers.
const PATIENCE: Duration = Duration::from_hours(4);

/// What a person or agent sees of a waiting run.
pub(crate) struct Seen<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) entries: &'s [Arc<JournalEntry>],
    pub(crate) servers: &'s Servers,
}

impl Seen<'_> {
    /// The actual outcome of a step's last request.
    pub(crate) fn truth(&self, key: &StepKey) -> Settlement {
        let last = self.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::AttemptStarted(attempt) if attempt.key == *key => Some(attempt),
            _ => None,
        });
        self.servers.truth(&last.expect("nothing is done that is not written down").idempotency_key)
    }
}

/// The reaction of people and agents to a waiting run.
pub(crate) type Cast = fn(&Seen<'_>, &Waiting) -> Option<Signal>;

/// Agents submit valid output; people approve and answer truthfully about unknown outcomes.
pub(crate) fn willing(seen: &Seen<'_>, waiting: &Waiting) -> Option<Signal> {
    Some(match waiting {
        Waiting::Agent(key) => submit(key.as_str(), None, json!({"done": key.as_str()})),
        Waiting::Approval(request) => decide(request, true),
        Waiting::Unknown { key, .. } => settle(seen, key, seen.truth(key)),
        Waiting::Variable { variable, .. } => add(&json!({ variable: true })),
        Waiting::Exhausted { .. } | Waiting::Budget(_) => return None,
    })
}

/// Does what is needed to bring a run to its end.
pub(crate) fn obliging(seen: &Seen<'_>, waiting: &Waiting) -> Option<Signal> {
    match waiting {
        Waiting::Exhausted { key, .. } => Some(settle(seen, key, Settlement::GiveUp)),
        Waiting::Budget(_) => Some(cancel()),
        other => willing(seen, other),
    }
}

/// Cancels the run when asked for an approval.
pub(crate) fn stopping(seen: &Seen<'_>, waiting: &Waiting) -> Option<Signal> {
    match waiting {
        Waiting::Approval(_) => Some(cancel()),
        other => willing(seen, other),
    }
}

/// Rejects every question once.
pub(crate) fn choosy(seen: &Seen<'_>, waiting: &Waiting) -> Option<Signal> {
    let Waiting::Approval(request) = waiting else { return willing(seen, waiting) };
    let step = seen.snapshot.state.step(&request.key);
    let refused = step.map_or(0, |step| step.sent_back + step.refused);
    Some(decide(request, refused > 0))
}

pub(crate) fn person() -> Actor {
    Actor { kind: ActorKind::Person, name: "ada".to_owned() }
}

pub(crate) fn agent() -> Actor {
    Actor { kind: ActorKind::Agent, name: String::new() }
}

pub(crate) fn cancel() -> Signal {
    Signal::Cancel { by: person(), reason: None }
}

pub(crate) fn decide(request: &ApprovalRequest, approve: bool) -> Signal {
    Signal::Decide(DecisionSignal {
        key: request.key.clone(),
        digest: request.digest.clone(),
        approve,
        by: person(),
        comment: (!approve).then(|| "not like this".to_owned()),
        answer: None,
        presence: Presence::Terminal,
        signature: None,
    })
}

fn settle(seen: &Seen<'_>, key: &StepKey, decision: Settlement) -> Signal {
    let asked = seen.snapshot.state.step(key).and_then(|step| step.asked);
    let (key, by, proof) = (key.clone(), person(), Some(Proof::at_terminal()));
    Signal::Settle { key, asked, by, decision, proof }
}

pub(crate) fn submit(step: &str, attempt: Option<u32>, output: Value) -> Signal {
    let (step, output) = (Some(step.to_owned()), Some(output));
    Signal::Submit(SubmissionSignal { step, attempt, output, context: Map::new(), by: agent() })
}

pub(crate) fn add(context: &Value) -> Signal {
    let context = context.as_object().cloned().unwrap_or_default();
    Signal::Submit(SubmissionSignal {
        step: None,
        attempt: None,
        output: None,
        context,
        by: agent(),
    })
}

/// A message that a run acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) run: RunId,
    pub(crate) id: MessageId,
    pub(crate) signal: Signal,
    pub(crate) reply: Reply,
}

/// Plays all roles.
pub(crate) struct Player {
    cast: Cast,
    /// How many times each message was sent and answered.
    said: BTreeMap<String, u32>,
    pub(crate) heard: Vec<Heard>,
}

impl Player {
    pub(crate) fn new(cast: Cast) -> Player {
        Player { cast, said: BTreeMap::new(), heard: Vec::new() }
    }

    /// Answers until the run ends, or until it is waiting for something that nobody will do.
    pub(crate) async fn play(&mut self, here: &Here<'_>, run: &RunId) -> Snapshot {
        for _ in 0..TURNS {
            let snapshot = settled(here.runs(), run).await;
            let Some((of, signal)) = self.asked(here, &snapshot).await else { return snapshot };
            self.tell(here.runs(), &of, signal).await;
        }
        panic!("the run goes round in circles: {:?}", here.runs().snapshot(run).await)
    }

    /// The next action for a run or one of its child runs.
    pub(crate) async fn asked(
        &self,
        here: &Here<'_>,
        snapshot: &Snapshot,
    ) -> Option<(RunId, Signal)> {
        for one in waiting(snapshot) {
            let news = here.runs().events(&one.run, 0).await.expect("reads");
            let seen = Seen { snapshot: one, entries: &news.entries, servers: here.servers() };
            let signal = one.waiting().iter().find_map(|waiting| (self.cast)(&seen, waiting));
            if let Some(signal) = signal {
                return Some((one.run.clone(), signal));
            }
        }
        None
    }

    /// Sends a message under the same id until it is answered.
    pub(crate) async fn tell(
        &mut self,
        runs: &dyn RunService,
        run: &RunId,
        signal: Signal,
    ) -> Option<Reply> {
        let text = serde_json::to_string(&signal).expect("can be written");
        let name = Digest::of_parts(&[run.as_str().as_bytes(), text.as_bytes()]).to_string();
        let said = self.said.entry(name.clone()).or_default();
        let id = MessageId::parse(&format!("{name}:{said}")).expect("is an id");
        let reply = runs.send(run, tell(signal.clone(), Some(id.clone()))).await.expect("is sent");
        if let Some(reply) = &reply {
            *said += 1;
            let (run, reply) = (run.clone(), reply.clone());
            self.heard.push(Heard { run, id, signal, reply });
        }
        reply
    }
}

/// The request that sends a signal to a service.
pub(crate) fn tell(signal: Signal, id: Option<MessageId>) -> SignalRequest {
    SignalRequest { signal, id, text: None, patience: Duration::from_mins(1) }
}

/// A run and all its child runs.
pub(crate) fn waiting(snapshot: &Snapshot) -> Vec<&Snapshot> {
    let below = snapshot.below.iter().flat_map(waiting);
    [snapshot].into_iter().chain(below).collect()
}

/// A run, once nothing more happens in it by itself.
pub(crate) async fn settled(runs: &dyn RunService, run: &RunId) -> Snapshot {
    loop {
        let snapshot = runs.follow(run, PATIENCE, &|_, _| {}).await.expect("follows");
        let rests = snapshot.status() != Status::Running || !snapshot.below.is_empty();
        if rests {
            // The process that reads the run may no longer drive it.
            runs.delivered().await;
            return snapshot;
        }
        assert!(snapshot.orphaned, "nothing comes of {run}:\n{}", rendering::all(runs).await);
        runs.adopt_orphans().await.expect("looks");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
