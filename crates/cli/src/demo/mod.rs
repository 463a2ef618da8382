//! `milepost demo`: an offline tour. The shop is played by its mock; everything else is what it is
//! everywhere: the same commands, the same engine, the same checks, in a folder of its own.

pub(crate) mod args;
mod place;

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::Secret;
use milepost_ops::{Call, Caller, Untyped};
use serde_json::{Value, json};

use self::args::{Demo, Name};
use self::place::{Place, Shop};
use crate::args::Json;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{self, args as run_args};
use crate::session::print;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Demo, terminal: &mut Terminal) -> Result<Exit, Failure> {
    if arguments.command.is_empty() && std::env::args_os().next_back().is_some_and(|it| it == "--")
    {
        let hint = "write the command behind it, as in `milepost demo -- runs`";
        let message = "there is no command behind `milepost demo --`";
        return Err(Problem::new(Code::ParamsInvalid, message, hint).into());
    }
    if !arguments.command.is_empty() {
        return Ok(Exit::passed(Place::last()?.pass(&arguments.command)?));
    }
    if arguments.json.json {
        return told(arguments, terminal);
    }
    tour(arguments, terminal).map(|_| Exit::Done)
}

/// What came of it, without the tour.
fn told(arguments: &Demo, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let (place, began) = tour(arguments, &mut Terminal::closed())?;
    let mut all: Value =
        serde_json::from_str(&place.quietly(&["runs", "--json"])?).unwrap_or_default();
    let folder = place.folder().display().to_string();
    let mut runs = all["runs"].as_array_mut().map(std::mem::take).unwrap_or_default();
    // Those of earlier demos are there as well.
    runs.retain(|run| began.iter().any(|began| run["run_id"] == began.as_str()));
    print(&json!({"folder": folder, "runs": runs}), terminal)?;
    Ok(Exit::Done)
}

/// Shows the demos, and says where they happened and which runs they began.
fn tour(arguments: &Demo, terminal: &mut Terminal) -> Result<(Place, Vec<String>), Failure> {
    let names: &[Name] = match &arguments.name {
        Some(name) => std::slice::from_ref(name),
        None => &[Name::OrderHealth, Name::RefundWithApproval, Name::FlakySync],
    };
    let place = Place::begun()?;
    // The request that the third demo is about.
    let shop = Shop::open(&place, &[("refunds:list", 503)], 0)?;
    let base = format!("{}/api/v1", shop.url);
    terminal.page(&format!(
        "A shop answers at {}, played by the mock of its OpenAPI document.\n\
         Everything else is real, and happens in {}.\n\
         To type one of these commands yourself, write it behind `milepost demo --`.\n",
        shop.url,
        place.folder().display()
    ))?;
    let mut tour = Tour { place, yes: arguments.yes, began: Vec::new(), terminal };
    tour.place.quietly(&[
        "catalog",
        "import",
        "shop.yaml",
        "--vendor",
        "shop",
        "--base-url",
        &base,
    ])?;
    tour.place.quietly(&["catalog", "auth", "shop", "--scheme", "token", "--key", "SHOP_TOKEN"])?;
    for (number, name) in names.iter().enumerate() {
        tour.show(number + 1, *name)?;
    }
    tour.end(arguments.name.is_none())?;
    Ok((tour.place, tour.began))
}

/// A demo under way.
struct Tour<'t> {
    place: Place,
    /// Whoever started it said yes beforehand.
    yes: bool,
    /// The runs that were started.
    began: Vec<String>,
    terminal: &'t mut Terminal,
}

impl Tour<'_> {
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.terminal.page(text)?)
    }

    fn show(&mut self, number: usize, name: Name) -> Result<(), Failure> {
        self.say(&format!("## {number}. {}\n\n{}\n", name.title(), name.point()))?;
        let (file, text) = name.workflow();
        self.place.put(file, text)?;
        let started = self.place.shown(&["run", file], self.terminal)?;
        let run = started.run().unwrap_or_default().to_owned();
        self.began.push(run.clone());
        match name {
            Name::OrderHealth => Ok(()),
            Name::RefundWithApproval => self.approve(&run),
            Name::FlakySync => self.resume(&run),
            Name::TriageBug => self.triage(&run),
            Name::RogueAgent => self.rogue(&run),
        }
    }

    /// The person who watches decides, or said so when they started the demo.
    fn approve(&mut self, run: &str) -> Result<(), Failure> {
        if self.yes {
            self.say(&format!("$ milepost approve {run}\n(yes: you said so with `--yes`)"))?;
            let session = self.place.session()?;
            let one = run_args::One { run: run.to_owned(), json: Json { json: false } };
            let verdict = run_args::Verdict { one, step: None, comment: None, answer: None };
            let mut merged = self.terminal.merged_for_reader();
            run::decide_as(&session, &Beforehand, &verdict, true, &mut merged)?;
            return self.say("");
        }
        let said = self.place.shown(&["approve", run], self.terminal)?;
        match said.code {
            0 => Ok(()),
            code if code == i32::from(Exit::Conflict.code()) => self.say(&format!(
                "You said no, so nothing was paid back. Change your mind: \
                 `milepost demo -- approve {run}`\n"
            )),
            _ => self.say(
                "Nobody said yes, so nothing is paid back: the run waits, today and after the next \
                 start.\nWithout a terminal, `milepost demo --yes` says it for you.\n",
            ),
        }
    }

    fn resume(&mut self, run: &str) -> Result<(), Failure> {
        self.say("The shop failed. Before going on, see what would be kept and what would run:\n")?;
        self.place.shown(&["resume", run, "--plan"], self.terminal)?;
        self.place.shown(&["resume", run], self.terminal)?;
        Ok(())
    }

    fn triage(&mut self, run: &str) -> Result<(), Failure> {
        self.say("An agent hands in what it was asked for; here, a script does.\n")?;
        let seen = r#"{"steps": ["Order 3 mugs", "Add up"], "expected": "14.97", "seen": "14.98"}"#;
        self.place.handed_in(&["submit", run, "reproduce", "-"], seen, self.terminal)?;
        let judged =
            r#"{"severity": "medium", "why": "Every order with three items is off by one cent."}"#;
        self.place.handed_in(&["submit", run, "judge", "-"], judged, self.terminal)?;
        Ok(())
    }

    /// A script that tries what agents were seen to try.
    fn rogue(&mut self, run: &str) -> Result<(), Failure> {
        self.say("It skips the step, and reports at once:\n")?;
        let report = r#"{"text": "All is well."}"#;
        self.place.handed_in(&["submit", run, "report", "-"], report, self.terminal)?;
        self.say("It says that it is done, in words:\n")?;
        self.place.handed_in(&["submit", run, "look", "-"], "Done!", self.terminal)?;
        self.say("It makes a total up, in the right shape:\n")?;
        let (id, total) = self.order()?;
        let made_up = format!(r#"{{"id": "{id}", "total": 1}}"#);
        self.place.handed_in(&["submit", run, "look", "-"], &made_up, self.terminal)?;
        self.say("It looks, and hands in what the shop says:\n")?;
        let honest = format!(r#"{{"id": "{id}", "total": {total}}}"#);
        self.place.handed_in(&["submit", run, "look", "-"], &honest, self.terminal)?;
        self.place.handed_in(&["submit", run, "report", "-"], report, self.terminal)?;
        Ok(())
    }

    /// The first order of the shop: its id and its total.
    fn order(&self) -> Result<(String, Value), Failure> {
        let list = ["command", "run", "shop", "orders:list", "-p", "limit=1", "--json"];
        let said = self.place.quietly(&list)?;
        let mut answer: Value = serde_json::from_str(&said).unwrap_or_default();
        let order = answer["body"]["items"][0].take();
        Ok((order["id"].as_str().unwrap_or_default().to_owned(), order["total"].clone()))
    }

    fn end(&mut self, whole: bool) -> Result<(), Failure> {
        self.say("## What is left of it\n\nEvery run, with all that happened in it, on disk:\n")?;
        let runs = self.place.shown(&["runs"], self.terminal)?;
        let run = runs.run().unwrap_or("<run>").to_owned();
        self.say(&format!("Look around:      milepost demo -- logs {run}"))?;
        if whole {
            self.say("Agents at work:   milepost demo rogue-agent; milepost demo triage-bug")?;
        }
        self.say("Begin your own:   milepost init")?;
        self.say("Let an agent in:  milepost mcp install claude-code")
    }
}

/// Somebody who said yes before anything was asked. Good for runs of a demo, and for no others:
/// what it decides on was started by the same process a moment ago.
struct Beforehand;

impl Call for Beforehand {
    fn progress(&self, _: &str) {}

    fn warn(&self, _: &str) {}

    fn ask(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn ask_in_person(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn ask_pin(&self, _: &str) -> Result<Secret, Untyped> {
        Err(Untyped::NoTerminal)
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn caller(&self) -> Caller {
        Caller::Person
    }
}
