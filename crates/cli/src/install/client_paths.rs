//! The location of each client's configuration, per operating system.

use std::path::{Path, PathBuf};

use milepost_model::problem::{Code, Problem};

use super::args::{InstallScope, SupportedClient};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    pub(super) fn here() -> System {
        match std::env::consts::OS {
            "macos" => System::MacOs,
            "windows" => System::Windows,
            _ => System::Linux,
        }
    }
}

/// Finds the configuration files of clients. `variable` reads the environment and can be replaced
/// in tests.
pub(super) struct ClientPaths<'e> {
    pub(super) system: System,
    pub(super) variable: &'e dyn Fn(&str) -> Option<String>,
    pub(super) working: &'e Path,
}

impl<'e> ClientPaths<'e> {
    pub(super) fn here(working: &'e Path) -> ClientPaths<'e> {
        ClientPaths { system: System::here(), variable: &|name| std::env::var(name).ok(), working }
    }

    /// The configuration file of a client for a scope.
    pub(super) fn path(
        &self,
        client: SupportedClient,
        scope: InstallScope,
    ) -> Result<PathBuf, Problem> {
        match scope {
            InstallScope::User => self.of_user(client),
            InstallScope::Project => self.of_project(client),
        }
    }

    fn of_project(&self, client: SupportedClient) -> Result<PathBuf, Problem> {
        let below = match client {
            SupportedClient::ClaudeCode => ".mcp.json",
            SupportedClient::Cursor => ".cursor/mcp.json",
            SupportedClient::Vscode => ".vscode/mcp.json",
            SupportedClient::Codex => ".codex/config.toml",
            SupportedClient::Goose | SupportedClient::ClaudeDesktop => {
                let message = format!("{} has no project configuration", client.title());
                let hint = "leave out `--scope project`";
                return Err(Problem::new(Code::ParamsInvalid, message, hint));
            }
        };
        Ok(self.working.join(below))
    }

    fn of_user(&self, client: SupportedClient) -> Result<PathBuf, Problem> {
        Ok(match client {
            SupportedClient::ClaudeCode => {
                let folder = self.folder("CLAUDE_CONFIG_DIR");
                folder.map_or_else(|| self.home(), Ok)?.join(".claude.json")
            }
            SupportedClient::Cursor => self.home()?.join(".cursor/mcp.json"),
            SupportedClient::Vscode => self.programs()?.join("Code/User/mcp.json"),
            SupportedClient::Codex => match self.folder("CODEX_HOME") {
                Some(folder) => folder.join("config.toml"),
                None => self.home()?.join(".codex/config.toml"),
            },
            SupportedClient::Goose => self.goose()?,
            SupportedClient::ClaudeDesktop => {
                self.programs()?.join("Claude/claude_desktop_config.json")
            }
        })
    }

    /// goose uses the Linux paths on macOS too.
    fn goose(&self) -> Result<PathBuf, Problem> {
        if let Some(root) = self.absolute("GOOSE_PATH_ROOT") {
            return Ok(root.join("config/config.yaml"));
        }
        Ok(match self.system {
            System::Windows => self.programs()?.join("Block/goose/config/config.yaml"),
            System::Linux | System::MacOs => self.xdg()?.join("goose/config.yaml"),
        })
    }

    /// Where desktop applications store user data.
    fn programs(&self) -> Result<PathBuf, Problem> {
        match self.system {
            System::Linux => self.xdg(),
            System::MacOs => Ok(self.home()?.join("Library/Application Support")),
            System::Windows => self.absolute_or("APPDATA", "AppData/Roaming"),
        }
    }

    fn xdg(&self) -> Result<PathBuf, Problem> {
        self.absolute_or("XDG_CONFIG_HOME", ".config")
    }

    /// The folder that a variable names, or one in the home directory.
    fn absolute_or(&self, name: &str, below_home: &str) -> Result<PathBuf, Problem> {
        self.absolute(name).map_or_else(|| Ok(self.home()?.join(below_home)), Ok)
    }

    fn home(&self) -> Result<PathBuf, Problem> {
        let name = if self.system == System::Windows { "USERPROFILE" } else { "HOME" };
        self.absolute(name).ok_or_else(|| {
            let message = format!("there is no home directory: `{name}` is not set");
            let hint = format!("set `{name}`, or use `--scope project` in a project");
            Problem::new(Code::FileNotFound, message, hint)
        })
    }

    /// The folder named by an environment variable, resolved against the working directory.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        let value = (self.variable)(name).filter(|value| !value.is_empty())?;
        Some(self.working.join(value))
    }

    /// Like [`folder`](Self::folder), for variables in which clients accept only absolute paths.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from((self.variable)(name).filter(|value| !value.is_empty())?);
        // Only Windows can tell whether a Windows path is absolute.
        (path.is_absolute() || self.system != System::here()).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClientPaths, InstallScope, Path, SupportedClient, System};

    const ALL: [SupportedClient; 6] = [
        SupportedClient::ClaudeCode,
        SupportedClient::Cursor,
        SupportedClient::Vscode,
        SupportedClient::Codex,
        SupportedClient::Goose,
        SupportedClient::ClaudeDesktop,
    ];

    fn paths(system: System, scope: InstallScope, variables: &[(&str, &str)]) -> Vec<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let working = Path::new("/work");
        let surroundings = ClientPaths { system, variable: &variable, working };
        let shown = |client| match surroundings.path(client, scope) {
            Ok(path) => path.display().to_string().replace('\\', "/"),
            Err(problem) => problem.code.name().to_owned(),
        };
        ALL.into_iter().map(shown).collect()
    }

    #[test]
    fn of_a_user_on_each_system() {
        let linux = paths(System::Linux, InstallScope::User, &[("HOME", "/home/u")]);
        assert_eq!(
            linux,
            [
                "/home/u/.claude.json",
                "/home/u/.cursor/mcp.json",
                "/home/u/.config/Code/User/mcp.json",
                "/home/u/.codex/config.toml",
                "/home/u/.config/goose/config.yaml",
                "/home/u/.config/Claude/claude_desktop_config.json",
            ]
        );
        let mac = paths(System::MacOs, InstallScope::User, &[("HOME", "/Users/u")]);
        assert_eq!(
            mac[2..],
            [
                "/Users/u/Library/Application Support/Code/User/mcp.json",
                "/Users/u/.codex/config.toml",
                "/Users/u/.config/goose/config.yaml",
                "/Users/u/Library/Application Support/Claude/claude_desktop_config.json",
            ]
        );
        let variables = [("USERPROFILE", "C:/Users/u"), ("APPDATA", "D:/Roaming")];
        let windows = paths(System::Windows, InstallScope::User, &variables);
        assert_eq!(
            windows,
            [
                "C:/Users/u/.claude.json",
                "C:/Users/u/.cursor/mcp.json",
                "D:/Roaming/Code/User/mcp.json",
                "C:/Users/u/.codex/config.toml",
                "D:/Roaming/Block/goose/config/config.yaml",
                "D:/Roaming/Claude/claude_desktop_config.json",
            ]
        );
    }

    #[test]
    fn variables_move_them() {
        let moved = [
            ("HOME", "/home/u"),
            ("XDG_CONFIG_HOME", "/xdg"),
            ("CLAUDE_CONFIG_DIR", "/claude"),
            ("CODEX_HOME", "codex"),
            ("GOOSE_PATH_ROOT", "/goose"),
        ];
        assert_eq!(
            paths(System::Linux, InstallScope::User, &moved),
            [
                "/claude/.claude.json",
                "/home/u/.cursor/mcp.json",
                "/xdg/Code/User/mcp.json",
                "/work/codex/config.toml",
                "/goose/config/config.yaml",
                "/xdg/Claude/claude_desktop_config.json",
            ]
        );
        let empty = [("HOME", "/home/u"), ("CLAUDE_CONFIG_DIR", ""), ("XDG_CONFIG_HOME", "")];
        assert_eq!(paths(System::Linux, InstallScope::User, &empty)[0], "/home/u/.claude.json");
    }

    #[test]
    fn of_a_project_where_there_is_one() {
        let variables = [("HOME", "/home/u"), ("CODEX_HOME", "/codex")];
        assert_eq!(
            paths(System::Linux, InstallScope::Project, &variables),
            [
                "/work/.mcp.json",
                "/work/.cursor/mcp.json",
                "/work/.vscode/mcp.json",
                "/work/.codex/config.toml",
                "PARAMS_INVALID",
                "PARAMS_INVALID",
            ]
        );
        assert_eq!(paths(System::Linux, InstallScope::User, &[])[1], "FILE_NOT_FOUND");
    }
}
