//! What is to be done next about a run, as data: each door says it in its own words. As JSON it is
//! a command line, from which it is read back.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// What is to be done next about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The run.
    pub run_id: String,
    /// What with it.
    pub deed: Deed,
}

/// What is to be done with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Look at it until it ends.
    Look,
    /// Let it go on.
    GoOn,
    /// See what going on would mean.
    Plan,
    /// Do a step, and hand in what came of it.
    Submit {
        /// The step that is due.
        step_id: String,
    },
    /// A person approves or rejects.
    Approve,
    /// A person says what became of a step.
    Decide,
    /// A person raises a budget.
    Budget {
        /// Which.
        name: String,
        /// To how much, for example.
        limit: u64,
    },
    /// Give a variable that the run waits for.
    Context {
        /// The variable.
        name: String,
    },
    /// A person gives a secret input again.
    Give {
        /// The input.
        name: String,
    },
}

/// What stands for an output that has yet to be made.
const OUTPUT: &str = "<what the step came to>";
/// What stands for a value that has yet to be found out.
const VALUE: &str = "<its value>";

impl Next {
    pub(crate) fn new(run_id: &str, deed: Deed) -> Next {
        Next { run_id: run_id.to_owned(), deed }
    }

    /// The call that does it; none where a person has to.
    pub fn call(&self) -> Option<(&'static str, Map<String, Value>)> {
        let run = &self.run_id;
        let (operation, arguments) = match &self.deed {
            Deed::Look => ("workflow.status", json!({"run_id": run, "wait_s": super::WAIT_MAX_S})),
            Deed::GoOn => ("workflow.resume", json!({"run_id": run})),
            Deed::Plan => ("workflow.resume", json!({"run_id": run, "plan_only": true})),
            Deed::Submit { step_id } => {
                ("workflow.submit", json!({"run_id": run, "step_id": step_id, "output": OUTPUT}))
            }
            Deed::Context { name } => {
                ("workflow.submit", json!({"run_id": run, "context": {name: VALUE}}))
            }
            Deed::Approve | Deed::Decide | Deed::Budget { .. } | Deed::Give { .. } => return None,
        };
        Some((operation, arguments.as_object().cloned().unwrap_or_default()))
    }

    /// What an agent does where a person has to act.
    pub fn told_to_agents(&self) -> Option<String> {
        let what = match &self.deed {
            Deed::Approve => "approve or reject",
            Deed::Decide => "say what becomes of it",
            Deed::Budget { .. } => "raise the budget",
            Deed::Give { .. } => "give the secret input again",
            Deed::Look | Deed::GoOn | Deed::Plan | Deed::Submit { .. } | Deed::Context { .. } => {
                return None;
            }
        };
        Some(format!("stop now; tell the user: {what} with `{self}`"))
    }
}

/// As a command line.
impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.run_id;
        match &self.deed {
            Deed::Look => write!(f, "milepost show {run}"),
            Deed::GoOn => write!(f, "milepost resume {run}"),
            Deed::Plan => write!(f, "milepost resume {run} --plan"),
            Deed::Submit { step_id } => write!(f, "milepost submit {run} {step_id} <file>"),
            Deed::Approve => write!(f, "milepost approve {run}"),
            Deed::Decide => write!(f, "milepost decide {run}"),
            Deed::Budget { name, limit } => {
                write!(f, "milepost resume {run} --budget {name}={limit}")
            }
            Deed::Context { name } => {
                write!(f, "milepost submit {run} --context '{{\"{name}\": …}}'")
            }
            Deed::Give { name } => write!(f, "milepost resume {run} -i {name}=…"),
        }
    }
}

/// A text that says nothing about a run.
#[derive(Debug)]
pub struct NoNext;

impl fmt::Display for NoNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is nothing to do next about a run")
    }
}

impl FromStr for Next {
    type Err = NoNext;

    fn from_str(text: &str) -> Result<Next, NoNext> {
        let words: Vec<&str> = text.split(' ').collect();
        let (run, deed) = match words.as_slice() {
            ["milepost", "show", run] => (run, Deed::Look),
            ["milepost", "resume", run] => (run, Deed::GoOn),
            ["milepost", "resume", run, "--plan"] => (run, Deed::Plan),
            ["milepost", "resume", run, "--budget", limit] => {
                let (name, limit) = limit.split_once('=').ok_or(NoNext)?;
                let limit = limit.parse().map_err(|_| NoNext)?;
                (run, Deed::Budget { name: name.to_owned(), limit })
            }
            ["milepost", "resume", run, "-i", input] => {
                let name = input.strip_suffix("=…").ok_or(NoNext)?.to_owned();
                (run, Deed::Give { name })
            }
            ["milepost", "submit", run, "--context", name, _] => {
                let name = name.trim_start_matches("'{").trim_end_matches(':');
                (run, Deed::Context { name: name.trim_matches('"').to_owned() })
            }
            ["milepost", "submit", run, step @ .., "<file>"] => {
                (run, Deed::Submit { step_id: step.join(" ") })
            }
            ["milepost", "approve", run] => (run, Deed::Approve),
            ["milepost", "decide", run] => (run, Deed::Decide),
            _ => return Err(NoNext),
        };
        Ok(Next::new(run, deed))
    }
}

impl Serialize for Next {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Next {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Next, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Next {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Next".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_next_is_read_back_from_its_command() {
        let submit = Deed::Submit { step_id: "each[2]/look".to_owned() };
        let none = Deed::Submit { step_id: String::new() };
        for deed in [
            Deed::Look,
            Deed::GoOn,
            Deed::Plan,
            submit,
            none,
            Deed::Approve,
            Deed::Decide,
            Deed::Budget { name: "writes".to_owned(), limit: 20 },
            Deed::Context { name: "tone".to_owned() },
            Deed::Give { name: "token".to_owned() },
        ] {
            let next = Next::new("run_1", deed);
            let read: Next = next.to_string().parse().expect("is one");
            assert_eq!(read, next);
            // Either an agent does it, or it is told whom to tell.
            assert_ne!(next.call().is_some(), next.told_to_agents().is_some(), "{next}");
        }
        assert!("milepost demo".parse::<Next>().is_err());
    }
}
