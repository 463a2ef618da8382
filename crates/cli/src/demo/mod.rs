//! `milepost demo`: an offline tour. The shop is a mock, and everything else is real: the same
//! commands, engine and checks, in a separate folder.

pub(crate) mod args;
mod folder;

use milepost_model::problem::{Code, Problem};
use milepost_ops::{Caller, CallerKind};
use serde_json::{Value, json};

use self::args::{DemoArgs, DemoName, DemoText};
use self::folder::{DemoFolder, Shop};
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::run;
use crate::run::args::ApprovalArgs;
use crate::terminal::Terminal;

pub(crate) fn run(args: &DemoArgs, terminal: &mut Terminal) -> CliResult {
    let ends_with_dashes = || std::env::args_os().next_back().is_some_and(|last| last == "--");
    if args.command.is_empty() && ends_with_dashes() {
        let hint = "write the command after it, as in `milepost demo -- runs`";
        let message = "there is no command after `milepost demo --`";
        return Err(Problem::new(Code::ParamsInvalid, message, hint).into());
    }
    if !args.command.is_empty() {
        return DemoFolder::last()?.pass(&args.command);
    }
    if !terminal.is_json() {
        return tour(args, terminal).map(|_| Exit::DONE);
    }
    let (folder, started) = tour(args, &mut Terminal::silent())?;
    let mut all: Value =
        serde_json::from_str(&folder.quietly(&["runs", "--json"])?).unwrap_or_default();
    let mut runs = all["runs"].as_array_mut().map(std::mem::take).unwrap_or_default();
    // The list also contains runs from earlier demos.
    runs.retain(|run| started.iter().any(|started| run["run_id"] == started.as_str()));
    let folder = folder.path.display().to_string();
    terminal.answer(&json!({"folder": folder, "runs": runs}), |_| {})
}

/// Runs the demos, and returns their folder and the runs that were started.
fn tour(args: &DemoArgs, terminal: &mut Terminal) -> CliResult<(DemoFolder, Vec<String>)> {
    let names: &[DemoName] = match &args.name {
        Some(name) => std::slice::from_ref(name),
        None => &[DemoName::OrderHealth, DemoName::RefundWithApproval, DemoName::FlakySync],
    };
    let folder = DemoFolder::prepared()?;
    // The request that the third demo is about fails once.
    let shop = Shop::open(&folder, &[("refunds:list", 503)], 0)?;
    let base = format!("{}/api/v1", shop.url);
    terminal.page(&format!(
        "A shop responds at {}, simulated by a mock of its OpenAPI document.\n\
         Everything else is real, and happens in {}.\n\
         To type one of these commands yourself, put `demo --` before it: `milepost demo -- \
         runs`.\n",
        shop.url,
        folder.path.display()
    ));
    let mut tour = Tour { folder, yes: args.yes, started: Vec::new(), terminal };
    let import = ["catalog", "import", "shop.yaml", "--vendor", "shop", "--base-url", &base];
    tour.folder.quietly(&import)?;
    let auth = ["catalog", "auth", "shop", "--scheme", "token", "--key", "SHOP_TOKEN"];
    tour.folder.quietly(&auth)?;
    for (number, name) in names.iter().enumerate() {
        tour.show(number + 1, *name)?;
    }
    tour.end(args.name.is_none())?;
    Ok((tour.folder, tour.started))
}

struct Tour<'t> {
    folder: DemoFolder,
    /// Whether the user confirmed everything in advance with `--yes`.
    yes: bool,
    /// The runs that the demos started.
    started: Vec<String>,
    terminal: &'t mut Terminal,
}

impl Tour<'_> {
    fn show(&mut self, number: usize, name: DemoName) -> CliResult<()> {
        let DemoText { workflow: (file, text), title, point } = name.text();
        self.terminal.page(&format!("## {number}. {title}\n\n{point}\n"));
        self.folder.put(file, text)?;
        let started = self.folder.shown(&["run", file], None, self.terminal)?;
        let run = started.run().unwrap_or_default().to_owned();
        self.started.push(run.clone());
        match name {
            DemoName::OrderHealth => Ok(()),
            DemoName::RefundWithApproval => self.approve(run),
            DemoName::FlakySync => self.resume(&run),
            DemoName::TriageBug => self.triage(&run),
            DemoName::RogueAgent => self.rogue(&run),
        }
    }

    /// The user decides, or has already done so with `--yes`.
    fn approve(&mut self, run: String) -> CliResult<()> {
        if self.yes {
            self.terminal.page(&format!("$ milepost approve {run}\n(approved by `--yes`)"));
            let session = self.folder.session()?;
            let args = ApprovalArgs { run, step: None, comment: None, answer: None };
            let mut merged = self.terminal.merged();
            run::answer_as(&session, &AlwaysYes, &args, true, &mut merged)?;
            self.terminal.line("");
            return Ok(());
        }
        let ended = self.folder.shown(&["approve", &run], None, self.terminal)?;
        if ended.exit == Exit::CONFLICT {
            self.terminal.page(&format!(
                "You said no, so nothing was refunded. If you change your mind: \
                 `milepost demo -- approve {run}`\n"
            ));
        } else if ended.exit != Exit::DONE {
            self.terminal.page(
                "Nobody approved it, so nothing is refunded: the run waits, even across restarts.\n\
                 Without a terminal, `milepost demo --yes` approves it for you.\n",
            );
        }
        Ok(())
    }

    fn resume(&mut self, run: &str) -> CliResult<()> {
        self.terminal
            .page("The shop failed. Before resuming, see what would be kept and what would run:\n");
        self.folder.shown(&["resume", run, "--plan"], None, self.terminal)?;
        self.folder.shown(&["resume", run], None, self.terminal)?;
        Ok(())
    }

    fn triage(&mut self, run: &str) -> CliResult<()> {
        self.terminal.page("An agent submits what it was asked for; here, a script does.\n");
        let seen = r#"{"steps": ["Order 3 mugs", "Add up"], "expected": "14.97", "seen": "14.98"}"#;
        self.submit(run, "reproduce", seen)?;
        let judged =
            r#"{"severity": "medium", "why": "Every order with three items is off by one cent."}"#;
        self.submit(run, "judge", judged)
    }

    fn submit(&mut self, run: &str, step: &str, output: &str) -> CliResult<()> {
        let arguments = ["submit", run, step, "-"];
        self.folder.shown(&arguments, Some(output), self.terminal).map(drop)
    }

    /// A script of things that real agents have been seen to try.
    fn rogue(&mut self, run: &str) -> CliResult<()> {
        self.terminal.page("It skips the step and reports at once:\n");
        let report = r#"{"text": "All is well."}"#;
        self.submit(run, "report", report)?;
        self.terminal.page("It claims to be done, in prose:\n");
        self.submit(run, "look", "Done!")?;
        self.terminal.page("It makes up a total, in the right shape:\n");
        let (id, total) = self.order()?;
        let made_up = format!(r#"{{"id": "{id}", "total": 1}}"#);
        self.submit(run, "look", &made_up)?;
        self.terminal.page("It looks, and submits what the shop says:\n");
        let honest = format!(r#"{{"id": "{id}", "total": {total}}}"#);
        self.submit(run, "look", &honest)?;
        self.submit(run, "report", report)?;
        Ok(())
    }

    /// The shop's first order: its id and its total.
    fn order(&self) -> CliResult<(String, Value)> {
        let list = ["command", "run", "shop", "orders:list", "-p", "limit=1", "--json"];
        let text = self.folder.quietly(&list)?;
        let mut answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let order = answer["body"]["items"][0].take();
        Ok((order["id"].as_str().unwrap_or_default().to_owned(), order["total"].clone()))
    }

    fn end(&mut self, whole: bool) -> CliResult<()> {
        self.terminal
            .page("## What remains\n\nEvery run, with everything that happened in it, on disk:\n");
        let runs = self.folder.shown(&["runs"], None, self.terminal)?;
        let run = runs.run().unwrap_or("<run>").to_owned();
        self.terminal.page(&format!("Look around:      milepost demo -- logs {run}"));
        if whole {
            self.terminal
                .page("Watch agents:     milepost demo rogue-agent; milepost demo triage-bug");
        }
        self.terminal.page("Start your own:   milepost init");
        self.terminal.page("Connect an agent: milepost mcp install claude-code");
        Ok(())
    }
}

/// Answers yes to every question. Used only for demo runs, which this process has just started.
struct AlwaysYes;

impl Caller for AlwaysYes {
    fn ask(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn ask_in_person(&self, _: &str) -> Option<bool> {
        Some(true)
    }

    fn kind(&self) -> CallerKind {
        CallerKind::Person
    }
}
