//! The configuration, key by key, and the locations where everything is stored. Available to
//! people, but not to models.

use milepost_store::person::Person;
use milepost_store::{
    ConfigFile, ConfigSetting, KeyError, LeastPresence, LocationOrigin, Locations, WriteRule,
    is_limit,
};

use crate::prelude::*;
use crate::run::person;

/// A location on the user's machine, and what determined it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    pub name: &'static str,
    pub path: String,
    /// `environment`, `project`, `user` or `default`.
    pub from: &'static str,
    /// The environment variable, if one determined it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<&'static str>,
    pub exists: bool,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key, including its table.
    pub key: &'static str,
    /// The effective value; null if there is no limit.
    pub value: Value,
    /// `project`, `user` or `environment`, depending on the file, or `default`.
    pub from: &'static str,
    /// The file that sets it, or in which it would be set.
    pub path: String,
}

/// All locations. `variable` reads the environment.
pub fn places(locations: &Locations, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Place> {
    let explained = locations.explained(variable).into_iter();
    let places = explained.map(|one| Place {
        name: one.name,
        exists: one.path.exists(),
        path: one.path.display().to_string(),
        from: one.from.name(),
        variable: one.from.variable(),
    });
    places.collect()
}

/// The configuration files in force: the user's own, and that of the project, if there is one.
#[derive(Debug)]
pub struct Configuration {
    own: ConfigFile,
    /// The project's file, and what determined it.
    project: Option<(ConfigFile, LocationOrigin)>,
}

impl Configuration {
    /// Reads the configuration. `variable` reads the environment.
    pub fn open(
        locations: &Locations,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Configuration> {
        let own = ConfigFile::open_own(locations).or_problem()?;
        let explained = locations.explained(variable);
        let chosen = explained.iter().find(|one| one.path == locations.config);
        let from = chosen.map_or(LocationOrigin::Default, |one| one.from);
        let project = ConfigFile::open_project(locations).or_problem()?;
        Ok(Configuration { own, project: project.map(|file| (file, from)) })
    }

    /// All keys.
    pub fn all(&self) -> Vec<Setting> {
        let keys = self.own.all().into_iter();
        keys.filter_map(|one| self.get(one.key).ok()).collect()
    }

    /// Returns one key. Where both files set a limit, the stricter one is in force.
    pub fn get(&self, key: &str) -> Result<Setting> {
        let own = self.own.get(key).or_problem()?;
        let Some((project, from)) = self.project.as_ref().filter(|_| is_limit(own.key)) else {
            return Ok(setting(&self.own, LocationOrigin::User, own));
        };
        let theirs = project.get(key).or_problem()?;
        Ok(match theirs.given && (!own.given || is_stricter(&theirs.value, &own.value)) {
            true => setting(project, *from, theirs),
            false => setting(&self.own, LocationOrigin::User, own),
        })
    }

    /// Changes a key on behalf of a caller. Every key decides what may happen in the person's name,
    /// so only a person may change one and, if a PIN is set, only with the PIN.
    pub fn set_for(
        &mut self,
        call: &dyn Caller,
        locations: &Locations,
        key: &str,
        value: Option<&str>,
    ) -> Result<Setting> {
        // An unknown key is reported before anybody types a PIN.
        self.get(key)?;
        let change = value.map_or_else(
            || Invocation::of("config.set").with("key", key),
            |value| Invocation::of("config.set").with("key", key).with("value", value),
        );
        person::only_a_person(call, "only a person can change the configuration", change)?;
        let person = Person::of(&locations.data);
        if person.key().or_problem()?.is_some() {
            let deed = match value {
                Some(value) => format!("set `{key}` to `{value}`"),
                None => format!("reset `{key}`"),
            };
            person::signed(&person, call, &deed, &format!("configuration\n{deed}"))?;
        }
        self.set(key, value)
    }

    /// Changes a key, or removes it: a limit in the project's file, if there is one, and everything
    /// else in the user's own.
    pub fn set(&mut self, key: &str, value: Option<&str>) -> Result<Setting> {
        let (file, from) = match &mut self.project {
            Some((project, from)) if is_limit(key) => (project, *from),
            _ => (&mut self.own, LocationOrigin::User),
        };
        let set = file.set(key, value).or_problem()?;
        Ok(setting(file, from, set))
    }
}

fn setting(file: &ConfigFile, from: LocationOrigin, one: ConfigSetting) -> Setting {
    let from = if one.given { from } else { LocationOrigin::Default };
    let path = file.path().display().to_string();
    Setting { key: one.key, value: one.value, from: from.name(), path }
}

/// Whether a limit is stricter than another one: a smaller number, a stronger proof of presence, or
/// a stricter rule for writes.
fn is_stricter(one: &Value, other: &Value) -> bool {
    let presence = |value: &Value| LeastPresence::named(value.as_str()?);
    let rule = |value: &Value| WriteRule::named(value.as_str()?);
    match (one.as_u64(), other.as_u64()) {
        (Some(one), Some(other)) => one < other,
        (Some(_), None) => true,
        _ => presence(one) > presence(other) || rule(one) > rule(other),
    }
}

pub(crate) fn of_key(error: &KeyError) -> Problem {
    match error {
        KeyError::Unknown { meant, .. } => {
            let all = Hint::default().call(Invocation::of("config.get")).then(" lists all keys");
            let hint = meant.map_or(all, problems::meant);
            let problem = Problem::new(Code::ParamsInvalid, error.to_string(), hint);
            problems::suggesting(problem, *meant)
        }
        KeyError::Unfit { .. } => {
            let hint = "nothing was written; give another value";
            Problem::new(Code::ParamsInvalid, error.to_string(), hint)
        }
        KeyError::Config(error) => problems::of_config(error),
        KeyError::File(error) => problems::of_file(error),
    }
}
