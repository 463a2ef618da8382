//! The environment of a demo: its own folder, a shop API served on this machine, and commands that
//! run there just as a user's would.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{fs, io};

use milepost_mock::{MockFaults, MockSettings};
use milepost_model::problem::{Code, Problem};
use milepost_ops::catalog::mock as ops;
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use tokio::net::TcpListener;

use crate::catalog::mock;
use crate::environment;
use crate::exit::Exit;
use crate::failure::{CliError, CliResult};
use crate::session::CliSession;
use crate::terminal::{Terminal, WITHIN_DEMO, width};

/// The shop's API.
const SHOP: (&str, &str) = ("shop.yaml", include_str!("../../../../examples/shop.yaml"));
/// The variable for the shop's token, and its value. The shop accepts any token.
const TOKEN: (&str, &str) = ("MILEPOST_SECRET_SHOP_TOKEN", "demo");
/// The user's environment variables that would affect a demo's commands.
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

/// Environment variables that name a folder, and the corresponding folder in a demo.
const FOLDERS: [(&str, &str); 3] =
    [("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_CACHE_HOME", "cache")];

pub(super) struct DemoFolder {
    pub(super) path: PathBuf,
}

/// The exit code and output of a command.
pub(super) struct CommandOutput {
    pub(super) exit: Exit,
    pub(super) text: String,
}

impl CommandOutput {
    /// The first run id in the output.
    pub(super) fn run(&self) -> Option<&str> {
        self.text.split_whitespace().find(|word| word.starts_with("run_"))
    }
}

impl DemoFolder {
    /// The folder of the last demo.
    pub(super) fn last() -> CliResult<DemoFolder> {
        Ok(DemoFolder { path: environment::locations()?.data.join("demo") })
    }

    /// The folder, cleared of everything from an earlier demo except its runs, which may still be
    /// waiting.
    pub(super) fn prepared() -> CliResult<DemoFolder> {
        let demo = DemoFolder::last()?;
        for folder in [demo.work(), demo.of("config"), demo.of("cache")] {
            match fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(demo.unusable(&error));
                }
                _ => {}
            }
        }
        for folder in [demo.work(), demo.of("config"), demo.of("data"), demo.of("cache")] {
            private().create(folder).map_err(|error| demo.unusable(&error))?;
        }
        demo.put(SHOP.0, SHOP.1)?;
        Ok(demo)
    }

    fn work(&self) -> PathBuf {
        self.path.join("shop")
    }

    fn of(&self, kind: &str) -> PathBuf {
        self.path.join(kind)
    }

    fn unusable(&self, error: &io::Error) -> CliError {
        let message = format!("cannot use `{}` for the demo: {error}", self.path.display());
        Problem::new(Code::StorageFailed, message, "free some space there, or set XDG_DATA_HOME")
            .into()
    }

    /// Writes a file that the commands read.
    pub(super) fn put(&self, name: &str, text: &str) -> CliResult<()> {
        fs::write(self.work().join(name), text).map_err(|error| self.unusable(&error))
    }

    fn port(&self) -> Option<u16> {
        fs::read_to_string(self.of("port")).ok()?.trim().parse().ok()
    }

    /// A session in the folder, for operations that this process runs itself.
    pub(super) fn session(&self) -> CliResult<CliSession> {
        let token = (OsString::from(TOKEN.0), OsString::from(TOKEN.1));
        let variables = Environment::from_variables(std::iter::once(token));
        CliSession::open_at(self.locations(), variables)
    }

    fn locations(&self) -> Locations {
        let variable = |name: &str| {
            let folder = match FOLDERS.iter().find(|(known, _)| *known == name) {
                Some((_, kind)) => self.of(kind),
                None if name == "HOME" => self.path.clone(),
                None => return None,
            };
            folder.to_str().map(str::to_owned)
        };
        Locations::resolve(&variable, &self.work())
    }

    /// A command that runs this program without the user's own settings.
    pub(super) fn command(&self) -> CliResult<Command> {
        let program = std::env::current_exe().map_err(|error| self.unusable(&error))?;
        let mut command = Command::new(program);
        command.current_dir(self.work()).env(TOKEN.0, TOKEN.1).env("HOME", &self.path);
        // The output goes to a pipe, so the command cannot detect the width of the terminal.
        command.env("COLUMNS", width().to_string()).env(WITHIN_DEMO, "1");
        command.envs(FOLDERS.map(|(name, kind)| (name, self.of(kind))));
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// Shows and runs a command, optionally with an agent's submission on standard input, and shows
    /// its output.
    pub(super) fn shown(
        &self,
        arguments: &[&str],
        input: Option<&str>,
        terminal: &mut Terminal,
    ) -> CliResult<CommandOutput> {
        let piped = input.map(|input| format!("echo '{input}' | ")).unwrap_or_default();
        terminal.line(format!("$ {piped}milepost {}", arguments.join(" ")));
        let output = self.run(arguments, input, &mut |line| terminal.line(line))?;
        terminal.line("");
        Ok(output)
    }

    /// Runs a command without showing it, and returns its output.
    pub(super) fn quietly(&self, arguments: &[&str]) -> CliResult<String> {
        let output = self.run(arguments, None, &mut |_| {})?;
        if output.exit == Exit::DONE {
            return Ok(output.text);
        }
        let message = format!("`milepost {}` failed: {}", arguments.join(" "), output.text.trim());
        Err(Problem::new(Code::Internal, message, "report this").into())
    }

    fn run(
        &self,
        arguments: &[&str],
        input: Option<&str>,
        print: &mut dyn FnMut(&str),
    ) -> CliResult<CommandOutput> {
        let mut command = self.command()?;
        // Results and remarks share one stream, in order.
        let (reader, writer) = io::pipe()?;
        command.args(arguments).stdout(writer.try_clone()?).stderr(writer);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(|error| self.unusable(&error))?;
        // The child must be the only writer; otherwise the pipe would never reach its end.
        drop(command);
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // A command that does not read its input reports the reason itself.
            drop(stdin.write_all(input.as_bytes()));
        }
        let mut text = String::new();
        for line in BufReader::new(reader).lines() {
            let line = line?;
            print(&line);
            text.push_str(&line);
            text.push('\n');
        }
        Ok(CommandOutput { exit: Exit::of_process(child.wait()?.code()), text })
    }

    /// Runs a command in the folder for a user who wants to look around.
    pub(super) fn pass(&self, arguments: &[impl AsRef<OsStr>]) -> CliResult {
        if !self.work().is_dir() {
            let message = "no demo has been run yet";
            return Err(Problem::new(Code::FileNotFound, message, "run `milepost demo`").into());
        }
        // The workflows call the shop at a fixed port; if it is taken, another demo is running.
        let _shop = self.port().and_then(|port| Shop::open(self, &[], port).ok());
        let status = self.command()?.args(arguments).status();
        Ok(Exit::of_process(status.map_err(|error| self.unusable(&error))?.code()))
    }
}

/// Creates folders that only their owner can read, because the first may be the data directory
/// itself.
fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// The shop server, which runs until it is dropped.
pub(super) struct Shop {
    _session: CliSession,
    pub(super) url: String,
}

impl Shop {
    /// Starts the shop on a port; 0 picks a free one. Each command in `fails` fails once.
    pub(super) fn open(demo: &DemoFolder, fails: &[(&str, u16)], port: u16) -> CliResult<Shop> {
        let session = demo.session()?;
        let fail_next = fails.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect();
        let faults = MockFaults { fail_next, ..MockFaults::default() };
        let settings =
            MockSettings { seed: 1, faults, lenient_ids: true, ..MockSettings::default() };
        let document = demo.work().join(SHOP.0);
        let document = document.to_string_lossy();
        let reader = session.operations.reader();
        let played = session.wait(ops::open(reader, &session.user, &document, settings))?;
        let listener = session.wait(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}");
        let kept = fs::write(demo.of("port"), address.port().to_string());
        kept.map_err(|error| demo.unusable(&error))?;
        session.spawn(mock::answer_all(listener, played.mock));
        Ok(Shop { _session: session, url })
    }
}
