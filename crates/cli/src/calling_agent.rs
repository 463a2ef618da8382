//! Whether an agent typed the command. Tools that run commands for a model say so in an environment
//! variable.
//!
//! This is a courtesy, not a defence: a program can remove the variable. It keeps a well-meaning
//! agent from answering in the person's place.

use milepost_ops::AgentCommand;
use milepost_store::person::Person;

use crate::environment;
use crate::terminal::shell_quoted;
use crate::terminal_user::has_terminal;

/// The variables that tools set for the commands of a model, and only for those. A variable that is
/// also set in a person's shell, such as `CODEX_HOME` or `CURSOR_TRACE_ID`, does not belong here.
const VARIABLES: &[&str] = &[
    // The proposed common names.
    "AI_AGENT",
    "AGENT",
    "AMP_CURRENT_THREAD_ID",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_IS_COWORK",
    "CLINE_ACTIVE",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "COPILOT_CLI",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "OPENCODE",
    "OPENCODE_CLIENT",
    "PI_CODING_AGENT",
    "QWEN_CODE",
    "TRAE_AI_SHELL_ID",
];

/// How a command came to be typed by an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallingAgent {
    /// This variable names a tool that runs commands for a model.
    Known(&'static str),
    /// The person has a PIN, so whoever has no terminal is not the person.
    NoTerminal,
}

impl CallingAgent {
    /// `None` if nothing suggests an agent.
    pub(crate) fn find() -> Option<CallingAgent> {
        if let Some(name) = known(&environment::variable) {
            return Some(CallingAgent::Known(name));
        }
        (!has_terminal() && has_pin()).then_some(CallingAgent::NoTerminal)
    }

    /// The command that this process runs, for the person to type.
    pub(crate) fn command(self) -> AgentCommand {
        let because = match self {
            CallingAgent::Known(name) => format!("`{name}` is set"),
            CallingAgent::NoTerminal => "a PIN is set, and there is no terminal".to_owned(),
        };
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let words = std::iter::once("milepost".to_owned()).chain(words.map(|it| shell_quoted(&it)));
        AgentCommand { because, line: words.collect::<Vec<_>>().join(" ") }
    }
}

/// The first of the variables that is set.
fn known(variable: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    let is_set = |name: &&&str| {
        let value = variable(name).unwrap_or_default();
        !matches!(value.trim().to_lowercase().as_str(), "" | "0" | "false")
    };
    VARIABLES.iter().find(is_set).copied()
}

/// Whether the person has a PIN; assumed if that cannot be determined.
fn has_pin() -> bool {
    let Ok(locations) = environment::locations() else { return true };
    !matches!(Person::of(&locations.data).key(), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_a_model_are_told_from_a_shell_of_a_person() {
        let found = |name: &str, value: &str| {
            known(&|asked| (asked == name).then(|| value.to_owned())).is_some()
        };
        for (name, value) in [
            ("CLAUDECODE", "1"),
            ("CLINE_ACTIVE", "true"),
            ("CODEX_SANDBOX", "seatbelt"),
            ("AI_AGENT", "some-tool@2"),
        ] {
            assert!(found(name, value), "{name}");
        }
        for (name, value) in [
            ("CLAUDECODE", ""),
            ("CLAUDECODE", "0"),
            ("CLINE_ACTIVE", "false"),
            ("CODEX_HOME", "/home/me/.codex"),
            ("CURSOR_TRACE_ID", "1234"),
            ("GEMINI_API_KEY", "key"),
            ("OPENCODE_CONFIG", "a.json"),
        ] {
            assert!(!found(name, value), "{name}={value}");
        }
    }
}
