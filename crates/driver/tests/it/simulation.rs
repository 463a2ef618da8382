//! Random workflows in a random world, with processes that die, exit or share the work, clocks that
//! are changed, and people and agents who act twice, late or wrongly. The guarantees must always
//! hold.
//!
//! `MILEPOST_SEED=<n>` replays one seed, `MILEPOST_SEEDS=<n>` sets their number, and
//! `MILEPOST_FIRST_SEED=<n>` sets the first one.

use std::collections::BTreeSet;
use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use milepost_driver::{RunService, Snapshot};
use milepost_engine::event::{BudgetKind, Event, JournalEntry, Proof, Settlement};
use milepost_engine::ports::{Durability, RunRecord};
use milepost_engine::resume::{Origin, ResumeRequest, plan};
use milepost_engine::signal::Signal;
use milepost_engine::state::{State, Status};
use milepost_engine::view::Waiting;
use milepost_engine::{StepKey, engine_actor};
use milepost_model::id::RunId;
use serde_json::json;

use crate::chance::{Chance, count};
use crate::life::{Death, Life};
use crate::place::{Backend, Here, InMemory, OnDisk, Place, run_id};
use crate::player::{Player, add, agent, cancel, decide, obliging, person, submit, tell};
use crate::random_workflow::workflow;
use crate::rendering;
use crate::world::{Servers, Start};

/// The number of seeds per test run.
const SEEDS: u64 = 250;
/// One in this many simulations runs on disk.
const ON_DISK: u64 = 50;

/// A run and everything that happens to it.
struct Simulation {
    place: Place,
    chance: Chance,
    start: Start,
    player: Player,
    said: Vec<(RunId, Signal)>,
}

impl Simulation {
    fn of(seed: u64) -> Simulation {
        let mut chance = Chance(seed);
        let other = workflow(&mut chance, "other", &[]);
        let deep = workflow(&mut chance, "deep", &["other"]);
        let text = workflow(&mut chance, "w", &["other", "deep"]);
        let servers = Servers::new(&[("other", &other), ("deep", &deep)]);
        servers.leave_to(Some(Chance(seed ^ 0xFA7E)));
        let backend: Box<dyn Backend> = match seed.is_multiple_of(ON_DISK) {
            true => Box::new(OnDisk::new()),
            false => Box::new(InMemory::default()),
        };
        let inputs = json!({"n": chance.below(6)}).as_object().cloned().unwrap_or_default();
        let mut start = Start { inputs, ..Start::of(run_id(seed), &text) };
        if chance.one_in(6) {
            let which =
                *chance.pick(&[BudgetKind::HttpCalls, BudgetKind::Writes, BudgetKind::Attempts]);
            start.budget.insert(which, chance.below(8) as u64);
        }
        if chance.one_in(3) {
            start.durability = Durability::Relaxed;
        }
        let (place, player) = (Place::new(backend, servers), Player::new(obliging));
        Simulation { place, chance, start, player, said: Vec::new() }
    }

    /// Runs several processes one after the other, and a last one in which everybody cooperates.
    fn run(&mut self) -> Vec<Arc<JournalEntry>> {
        for _ in 0..=self.chance.below(4) {
            let death = (!self.chance.one_in(4))
                .then(|| Death { after: 1 + self.chance.below(30), acted: self.chance.one_in(2) });
            let life = Life::new(death, Some(Chance(self.chance.below(1_000) as u64)));
            let turns = self.chance.below(25);
            let Simulation { place, chance, start, player, said } = self;
            place.live(&life, async |here| {
                here.tend();
                here.start(start.clone()).await;
                let mut turn = Turn { here: &here, root: &start.id, chance, player, said };
                turn.take(turns).await;
            });
            self.jump();
        }
        self.place.servers.leave_to(None);
        let Simulation { place, start, player, .. } = self;
        place.visit(async |here| {
            here.tend();
            here.start(start.clone()).await;
            end(&here, player).await;
            check(&here, player).await
        })
    }

    /// Changes the machine's clock while no process is running.
    fn jump(&mut self) {
        let hours = *self.chance.pick(&[1, 2, 7, -1, -3, -7]);
        if self.chance.one_in(3) {
            self.place.set_clock(hours * 3_600_000);
        }
    }
}

/// A process during which things happen to its runs.
struct Turn<'t, 'p> {
    here: &'t Here<'p>,
    root: &'t RunId,
    chance: &'t mut Chance,
    player: &'t mut Player,
    said: &'t mut Vec<(RunId, Signal)>,
}

impl Turn<'_, '_> {
    async fn take(&mut self, turns: usize) {
        let life = Life::new(None, Some(Chance(7)));
        // A second process may run at the same time, and may disappear at any time.
        let beside = self.chance.one_in(3).then(|| self.here.beside(&life));
        for _ in 0..turns {
            let here = self.here.clone();
            match &beside {
                Some(beside) if !life.is_dead() && self.chance.one_in(2) => {
                    self.turn(beside).await;
                    match self.chance.below(12) {
                        0 => life.die(),
                        1 => {
                            let grace = Duration::from_secs(self.chance.below(10) as u64);
                            beside.runs().shutdown(grace).await.expect("leaves");
                            // A process that has shut down is dead.
                            life.die();
                        }
                        _ => {}
                    }
                }
                _ => self.turn(&here).await,
            }
        }
        match self.chance.below(3) {
            0 => self.here.life.die(),
            1 => {
                let grace = Duration::from_secs(self.chance.below(10) as u64);
                self.here.runs().shutdown(grace).await.expect("leaves");
                self.here.life.die();
            }
            // The process exits in an orderly way.
            _ => {}
        }
    }

    async fn turn(&mut self, here: &Here<'_>) {
        let runs = here.runs();
        match self.chance.below(14) {
            0 => here.servers().replace_catalog(),
            1 => tokio::time::sleep(Duration::from_mins(self.chance.below(30) as u64)).await,
            2 => self.resume(here).await,
            3..=8 => {
                let run = self.one_of_them(runs).await;
                if let Some(signal) = self.asked(here, &run).await {
                    self.say(runs, run, signal).await;
                }
            }
            9 => {
                let run = self.one_of_them(runs).await;
                let (run, signal) = self.odd(run);
                self.say(runs, run, signal).await;
            }
            10 => runs.adopt_orphans().await.expect("looks"),
            _ => {
                let ms = *self.chance.pick(&[1, 5, 20, 500, 3_000, 9_000]);
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
        }
    }

    /// The run or one of its child runs.
    async fn one_of_them(&mut self, runs: &dyn RunService) -> RunId {
        let all = rendering::records(runs).await;
        let open: Vec<&RunRecord> = all.iter().filter(|one| is_open(one)).collect();
        match open.is_empty() || self.chance.one_in(3) {
            true => self.root.clone(),
            false => self.chance.pick(&open).id.clone(),
        }
    }

    async fn say(&mut self, runs: &dyn RunService, run: RunId, signal: Signal) {
        self.said.push((run.clone(), signal.clone()));
        self.player.tell(runs, &run, signal).await;
    }

    /// A possible action of somebody the run is waiting for.
    async fn asked(&mut self, here: &Here<'_>, run: &RunId) -> Option<Signal> {
        let snapshot = here.runs().snapshot(run).await.expect("looks");
        let all = snapshot.waiting();
        match all.first()? {
            Waiting::Agent(key) if self.chance.one_in(3) => {
                Some(submit(key.as_str(), None, json!("no")))
            }
            Waiting::Approval(request) if self.chance.one_in(3) => Some(decide(request, false)),
            _ => {
                let alone = Snapshot { below: Vec::new(), ..snapshot };
                self.player.asked(here, &alone).await.map(|(_, signal)| signal)
            }
        }
    }

    /// An unsolicited message.
    fn odd(&mut self, run: RunId) -> (RunId, Signal) {
        let by = person();
        let key = StepKey::of_walk(&format!("s{}", self.chance.below(4)));
        let signal = match self.chance.below(9) {
            0 => cancel(),
            1 | 2 => Signal::Pause { by },
            3 | 4 => Signal::Unpause { by },
            5 => submit(key.as_str(), Some(1), json!("out of turn")),
            6 => {
                let (decision, proof) = (Settlement::DidNot, Some(Proof::at_terminal()));
                Signal::Settle { key, asked: None, by: agent(), decision, proof }
            }
            _ if self.said.is_empty() => add(&json!({"x": 1})),
            _ => return self.chance.pick(self.said).clone(),
        };
        (run, signal)
    }

    /// Resumes a run that has ended, from any step.
    async fn resume(&mut self, here: &Here<'_>) {
        let snapshot = here.runs().snapshot(self.root).await.expect("looks");
        let (flow, state) = (&snapshot.flow, &*snapshot.state);
        let request = ResumeRequest::of(state, person());
        let step = format!("s{}", self.chance.below(6));
        let request = match self.chance.below(6) {
            0 => ResumeRequest { origin: Origin::Step(step), ..request },
            1 => ResumeRequest { origin: Origin::Start, ..request },
            2 => ResumeRequest { redo: vec![step], ..request },
            _ => request,
        };
        let Ok(plan) = plan(flow, flow, state, &*here.caller, &request) else { return };
        let (seq, resumption) = (state.seq, Box::new(plan.resumption));
        let run = self.root.clone();
        self.say(here.runs(), run, Signal::Resume { seq, resumption }).await;
    }
}

fn is_open(record: &RunRecord) -> bool {
    record.standing.ended_ms.is_none()
}

/// Everybody cooperates until all runs have ended.
async fn end(here: &Here<'_>, player: &mut Player) {
    let runs = here.runs();
    for _ in 0..50 {
        runs.adopt_orphans().await.expect("looks");
        // Earlier messages are processed, even by runs that have ended.
        tokio::time::sleep(Duration::from_secs(10)).await;
        let open: Vec<RunRecord> =
            rendering::records(runs).await.into_iter().filter(is_open).collect();
        let told = runs.tally().await.expect("counts").inbox;
        if open.is_empty() && told == 0 {
            return;
        }
        check_paused(runs, &open).await;
        for record in &open {
            // The first answer may belong to a message sent before the run was paused again.
            while runs.snapshot(&record.id).await.expect("looks").status() == Status::Paused {
                player.tell(runs, &record.id, Signal::Unpause { by: person() }).await;
            }
        }
        // The oldest run comes last, after its child runs.
        for record in &open {
            player.play(here, &record.id).await;
        }
    }
    panic!("runs do not end: {}", rendering::all(runs).await);
}

/// A run that was paused with its parent resumes with it, however the parent resumes.
async fn check_paused(runs: &dyn RunService, open: &[RunRecord]) {
    for record in open {
        let Some(above) = &record.parent else { continue };
        let last = last_pause(runs, &record.id).await;
        let with_above = matches!(last, Some(Event::Paused { by }) if by == engine_actor("parent"));
        let above = last_pause(runs, above).await;
        let goes_on = matches!(above, Some(Event::Resumed { .. } | Event::RunResumedFrom(_)));
        let forgotten = with_above && goes_on;
        assert!(!forgotten, "{} is forgotten: {}", record.id, rendering::all(runs).await);
    }
}

/// The last event that paused or resumed a run.
async fn last_pause(runs: &dyn RunService, run: &RunId) -> Option<Event> {
    let entries = runs.events(run, 0).await.expect("reads").entries;
    let paused = |event: &Event| {
        matches!(event, Event::Paused { .. } | Event::Resumed { .. } | Event::RunResumedFrom(_))
    };
    entries.iter().rev().map(|entry| &entry.event).find(|event| paused(event)).cloned()
}

/// Checks the guarantees, and returns all events.
async fn check(here: &Here<'_>, player: &Player) -> Vec<Arc<JournalEntry>> {
    let (runs, mut all) = (here.runs(), Vec::new());
    for record in rendering::records(runs).await {
        let snapshot = runs.snapshot(&record.id).await.expect("looks");
        let entries = runs.events(&record.id, 0).await.expect("reads").entries;
        let folded = State::fold(entries.iter().map(|entry| &**entry)).expect("is legal");
        assert_eq!(folded.as_ref(), Some(&*snapshot.state), "a state is the fold of its events");
        assert_eq!(record.standing.status.name(), snapshot.status().name());
        check_ends(&entries);
        all.extend(entries);
    }
    here.servers().check_once("simulated");
    for heard in &player.heard {
        let entries = runs.events(&heard.run, 0).await.expect("reads").entries;
        let (signal, reply) = (&heard.signal, &heard.reply);
        let kept = rendering::is_kept(&entries, signal, reply);
        assert!(
            kept,
            "{signal:?} was answered with {reply:?} and is gone: {}",
            rendering::all(runs).await
        );
    }
    if let Some(heard) = player.heard.last() {
        let again = tell(heard.signal.clone(), Some(heard.id.clone()));
        let again = runs.send(&heard.run, again).await.expect("is sent");
        assert_eq!(again.as_ref(), Some(&heard.reply), "an answer stays what it was");
    }
    let inbox = runs.tally().await.expect("counts").inbox;
    assert_eq!(inbox, 0, "every message is answered: {}", rendering::all(runs).await);
    all
}

/// A run ends once, and once more after each resumption.
fn check_ends(entries: &[Arc<JournalEntry>]) {
    let mut ended = false;
    for entry in entries {
        let resumed = matches!(&entry.event, Event::RunResumedFrom(_));
        assert!(!ended || resumed, "after its end:\n{}", rendering::events(entries));
        ended = matches!(
            &entry.event,
            Event::RunSucceeded { .. } | Event::RunFailed { .. } | Event::RunCanceled
        );
    }
    assert!(ended, "it has not ended:\n{}", rendering::events(entries));
}

/// Runs a seed; if a guarantee is broken, prints how to replay it.
fn checked(seed: u64) -> Vec<Arc<JournalEntry>> {
    let run = AssertUnwindSafe(|| Simulation::of(seed).run());
    panic::catch_unwind(run).unwrap_or_else(|_| {
        let text = Simulation::of(seed).start.text;
        let replay = format!("MILEPOST_SEED={seed} cargo nextest run -p milepost-driver simulated");
        panic!("{text}\nseed {seed} fails; run it again with\n{replay}");
    })
}

#[test]
fn the_promises_hold_in_every_simulated_run() {
    if let Some(seed) = env::var("MILEPOST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        checked(seed);
        return;
    }
    let (first, seeds) = (count("MILEPOST_FIRST_SEED", 0), count("MILEPOST_SEEDS", SEEDS));
    let mut met: BTreeSet<&str> = BTreeSet::new();
    for seed in first..first + seeds {
        met.extend(checked(seed).iter().map(|entry| entry.event.name()));
    }
    // Nearly every kind of event occurs.
    assert!(seeds < SEEDS || met.len() >= 30, "{met:?}");
}
