//! Where a demo happens: a folder of its own, a shop that answers on this machine, and commands
//! that are run there as anybody would run them.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use milepost_catalog::mock::{Faults, Settings};
use milepost_model::problem::{Code, Problem};
use milepost_ops::catalog::mock as ops;
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use tokio::net::TcpListener;

use crate::catalog::mock;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::Session;
use crate::target;
use crate::terminal::{Terminal, WITHIN_DEMO, width};

/// The API of the shop.
const SHOP: (&str, &str) = ("shop.yaml", include_str!("../../../../examples/shop.yaml"));
/// What the shop wants to see; it takes anything.
const TOKEN: (&str, &str) = ("MILEPOST_SECRET_SHOP_TOKEN", "demo");
/// Variables that would lead a command elsewhere.
const ELSEWHERE: [&str; 8] = [
    "REGISTRY_CONFIG_PATH",
    "REGISTRY_WORKFLOWS_PATH",
    "WORKFLOW_STORAGE_PATH",
    "MILEPOST_TOKEN",
    "MILEPOST_LOG",
    "MILEPOST_LOG_FORMAT",
    "MILEPOST_LOG_FILE",
    "RUST_LOG",
];

/// The folder of the demos.
pub(super) struct Place {
    folder: PathBuf,
}

/// How a command ended, and what it said.
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) text: String,
}

impl Said {
    /// The run that it speaks of first.
    pub(super) fn run(&self) -> Option<&str> {
        self.text.split_whitespace().find(|word| word.starts_with("run_"))
    }
}

impl Place {
    /// The folder of the last demo.
    pub(super) fn last() -> Result<Place, Failure> {
        Ok(Place { folder: target::locations()?.data.join("demo") })
    }

    /// A folder without what an earlier demo left there, but for its runs: one of them may wait
    /// for somebody.
    pub(super) fn begun() -> Result<Place, Failure> {
        let place = Place::last()?;
        for folder in [place.work(), place.of("config"), place.of("cache")] {
            match fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(place.unusable(&error));
                }
                _ => {}
            }
        }
        for folder in [place.work(), place.of("config"), place.of("data"), place.of("cache")] {
            private().create(folder).map_err(|error| place.unusable(&error))?;
        }
        place.put(SHOP.0, SHOP.1)?;
        Ok(place)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn work(&self) -> PathBuf {
        self.folder.join("shop")
    }

    fn of(&self, kind: &str) -> PathBuf {
        self.folder.join(kind)
    }

    fn unusable(&self, error: &io::Error) -> Failure {
        let message = format!("a demo needs {}: {error}", self.folder.display());
        Problem::new(Code::StorageFailed, message, "make room there, or set XDG_DATA_HOME").into()
    }

    /// Writes a file for the commands to read.
    pub(super) fn put(&self, name: &str, text: &str) -> Result<(), Failure> {
        fs::write(self.work().join(name), text).map_err(|error| self.unusable(&error))
    }

    /// Where the shop answered.
    fn port(&self) -> Option<u16> {
        fs::read_to_string(self.of("port")).ok()?.trim().parse().ok()
    }

    /// What this process does there itself, beside the commands.
    pub(super) fn session(&self) -> Result<Session, Failure> {
        let token = (OsString::from(TOKEN.0), OsString::from(TOKEN.1));
        let environment = Environment::from_variables(std::iter::once(token));
        Session::at(Person::new(false, true), self.locations(), environment)
    }

    fn locations(&self) -> Locations {
        let variable = |name: &str| {
            let folder = match name {
                "XDG_CONFIG_HOME" => self.of("config"),
                "XDG_DATA_HOME" => self.of("data"),
                "XDG_CACHE_HOME" => self.of("cache"),
                "HOME" => self.folder.clone(),
                _ => return None,
            };
            folder.to_str().map(str::to_owned)
        };
        Locations::resolve(&variable, &self.work())
    }

    /// This program, with nothing of the user's.
    pub(super) fn command(&self) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(|error| self.unusable(&error))?;
        let mut command = Command::new(program);
        command.current_dir(self.work()).env(TOKEN.0, TOKEN.1).env("HOME", &self.folder);
        // What it says is passed on, so it cannot see how wide the terminal is.
        command.env("COLUMNS", width().to_string()).env(WITHIN_DEMO, "1");
        for (name, kind) in
            [("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_CACHE_HOME", "cache")]
        {
            command.env(name, self.of(kind));
        }
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// Runs a command, showing it and what it says as it says it.
    pub(super) fn shown(
        &self,
        arguments: &[&str],
        terminal: &mut Terminal,
    ) -> Result<Said, Failure> {
        terminal.line(&format!("$ milepost {}", arguments.join(" ")))?;
        let said = self.run(arguments, None, &mut |line| terminal.line(line))?;
        terminal.line("")?;
        Ok(said)
    }

    /// Runs a command on what an agent says, showing what comes of it.
    pub(super) fn handed_in(
        &self,
        arguments: &[&str],
        input: &str,
        terminal: &mut Terminal,
    ) -> Result<Said, Failure> {
        terminal.line(&format!("$ echo '{input}' | milepost {}", arguments.join(" ")))?;
        let said = self.run(arguments, Some(input), &mut |line| terminal.line(line))?;
        terminal.line("")?;
        Ok(said)
    }

    /// What a command says that nobody needs to see.
    pub(super) fn quietly(&self, arguments: &[&str]) -> Result<String, Failure> {
        let said = self.run(arguments, None, &mut |_| Ok(()))?;
        if said.code == 0 {
            return Ok(said.text);
        }
        let message = format!("`milepost {}` failed: {}", arguments.join(" "), said.text.trim());
        Err(Problem::new(Code::Internal, message, "report this").into())
    }

    fn run(
        &self,
        arguments: &[&str],
        input: Option<&str>,
        tell: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<Said, Failure> {
        let mut command = self.command()?;
        // Result and remarks in one stream, in the order in which they were said.
        let (reader, writer) = io::pipe()?;
        command.args(arguments).stdout(writer.try_clone()?).stderr(writer);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(|error| self.unusable(&error))?;
        // The ends for writing are the child's alone: else there is no end.
        drop(command);
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // One that does not want it says why.
            drop(stdin.write_all(input.as_bytes()));
        }
        let mut text = String::new();
        for line in BufReader::new(reader).lines() {
            let line = line?;
            tell(&line)?;
            text.push_str(&line);
            text.push('\n');
        }
        let code = child.wait()?.code().unwrap_or(-1);
        Ok(Said { code, text })
    }

    /// Hands a command over to somebody who wants to look around.
    pub(super) fn pass(&self, arguments: &[impl AsRef<OsStr>]) -> Result<i32, Failure> {
        if !self.work().is_dir() {
            let message = "there was no demo yet";
            return Err(Problem::new(Code::FileNotFound, message, "run `milepost demo`").into());
        }
        // Its workflows call the shop: it answers where it did. Elsewhere it is another demo's.
        let _shop = self.port().and_then(|port| Shop::open(self, &[], port).ok());
        let status = self.command()?.args(arguments).status();
        Ok(status.map_err(|error| self.unusable(&error))?.code().unwrap_or(1))
    }
}

/// Makes folders that are their owner's alone: the first of them may be that of all runs.
fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// The shop, which answers for as long as this is kept.
pub(super) struct Shop {
    _session: Session,
    pub(super) url: String,
}

impl Shop {
    /// Opens it on a port, any for 0; each of `fails` fails once.
    pub(super) fn open(place: &Place, fails: &[(&str, u16)], port: u16) -> Result<Shop, Failure> {
        let session = place.session()?;
        let fail_next = fails.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect();
        let faults = Faults { fail_next, ..Faults::default() };
        let settings = Settings { seed: 1, faults, lenient_ids: true, ..Settings::default() };
        let document = place.work().join(SHOP.0);
        let document = document.to_string_lossy();
        let reader = session.operations.reader();
        let played = session.wait(ops::open(reader, &session.person, &document, settings))?;
        let listener = session.wait(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}");
        let kept = fs::write(place.of("port"), address.port().to_string());
        kept.map_err(|error| place.unusable(&error))?;
        session.spawn(mock::answer_all(listener, played.mock));
        Ok(Shop { _session: session, url })
    }
}
