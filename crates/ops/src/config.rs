//! The configuration key by key, and where everything is stored. For people, never for models.

use milepost_store::person::Person;
use milepost_store::{ConfigFile, KeyError, LocationOrigin, Locations};

use crate::prelude::*;
use crate::run::person::untyped;

/// What lets workflows approve by themselves.
const UNATTENDED: &str = "approvals.unattended";

/// A place of the user's, and what decided on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// What it is for.
    pub name: &'static str,
    /// Where it is.
    pub path: String,
    /// `environment`, `project`, `user` or `default`.
    pub from: &'static str,
    /// The variable of the environment, where it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<&'static str>,
    /// Whether there is something.
    pub exists: bool,
}

/// A key and what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key, with the table it is in.
    pub key: &'static str,
    /// What counts; nothing where there is no bound.
    pub value: Value,
    /// `project`, `user` or `environment` as the file is chosen, or `default`.
    pub from: &'static str,
    /// The file that says it, or would.
    pub path: String,
}

/// Every place there is. `variable` reads the environment.
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

/// The configuration file that counts.
#[derive(Debug)]
pub struct Configuration {
    file: ConfigFile,
    from: LocationOrigin,
}

impl Configuration {
    /// Reads it. `variable` reads the environment.
    pub fn open(
        locations: &Locations,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Configuration> {
        let file = ConfigFile::open(locations).or_problem()?;
        let explained = locations.explained(variable);
        let chosen = explained.iter().find(|one| one.path == locations.config);
        Ok(Configuration { file, from: chosen.map_or(LocationOrigin::Default, |one| one.from) })
    }

    /// Every key there is.
    pub fn all(&self) -> Vec<Setting> {
        self.file.all().into_iter().map(|one| self.setting(one)).collect()
    }

    /// One key.
    pub fn get(&self, key: &str) -> Result<Setting> {
        Ok(self.setting(self.file.get(key).or_problem()?))
    }

    /// Says something else in the file for whoever calls. What lets workflows approve by themselves
    /// is a person's decision: where a PIN is set, it is signed with it.
    pub fn set_for(
        &mut self,
        call: &dyn Caller,
        locations: &Locations,
        key: &str,
        value: Option<&str>,
    ) -> Result<Setting> {
        let person = Person::of(&locations.data);
        let pinned = person.key().or_problem()?.is_some();
        if let Some(value) = value.filter(|_| key == UNATTENDED && pinned) {
            let question = format!("PIN to let {value} run without approval: ");
            let pin = call.ask_pin(&question).map_err(untyped)?;
            let named: Vec<&str> = value.split(',').map(str::trim).collect();
            person.grant(&pin, &named).or_problem()?;
        }
        self.set(key, value)
    }

    /// Says something else in the file, or nothing any more.
    pub fn set(&mut self, key: &str, value: Option<&str>) -> Result<Setting> {
        let set = self.file.set(key, value).or_problem()?;
        Ok(self.setting(set))
    }

    fn setting(&self, one: milepost_store::ConfigSetting) -> Setting {
        let from = if one.given { self.from } else { LocationOrigin::Default };
        let path = self.file.path().display().to_string();
        Setting { key: one.key, value: one.value, from: from.name(), path }
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
