//! The user's files: workflows, guides, configurations and secrets.

use super::Told;
use crate::{Place, SLIP, SOUND, finish};

/// A guide that loops over a list and has a criterion that cannot be applied.
const GUIDE: &str = r#"{"id": "walk", "name": "W", "description": "d", "version": "1.0.0",
  "steps": [{"id": "a", "title": "A", "type": "loop",
    "loop": {"type": "forEach", "items": "things", "itemVar": "thing", "maxIterations": 3},
    "body": [{"id": "b", "title": "B", "prompt": "Do",
      "validationCriteria": [{"type": "regex", "pattern": "(", "message": "m"}]}]}]}"#;

pub(super) fn no_list_to_walk() -> Told {
    let place = Place::with(&[("walk.json", GUIDE)]);
    Told::Words(place.run(["guide", "next", "walk.json", "--context", r#"{"things": 1}"#]))
}

pub(super) fn half_a_pattern() -> Told {
    super::say(&[("walk.json", GUIDE), ("o.txt", "x")], "guide check walk.json b o.txt")
}

/// A folder with a workflow in its library.
fn saved() -> Place {
    let place = Place::with(&[("sound.yaml", SOUND), ("slip.yaml", SLIP)]);
    place.workflow("save sound.yaml").ends(0);
    place
}

pub(super) fn written_twice() -> Told {
    Told::Words(saved().workflow("save sound.yaml"))
}

pub(super) fn another_version() -> Told {
    let place = saved();
    Told::Words(place.workflow(&format!("save sound.yaml --expect {}", "0".repeat(64))))
}

pub(super) fn no_version() -> Told {
    Told::Words(saved().workflow("restore sound 0123456789ab"))
}

pub(super) fn no_yes() -> Told {
    Told::Words(saved().workflow("delete sound"))
}

pub(super) fn half_a_list() -> Told {
    super::say(&[(".milepost/config.toml", "confirm = [\n")], "config set budget.writes 1")
}

pub(super) fn another_server() -> Told {
    let other = "{\"mcpServers\": {\"milepost\": {\"url\": \"u\"}}}\n";
    super::say(&[("../home/.cursor/mcp.json", other)], "mcp install cursor")
}

pub(super) fn no_json() -> Told {
    super::say(&[("../home/.cursor/mcp.json", "{")], "mcp install cursor")
}

pub(super) fn a_damaged_store() -> Told {
    let place = Place::new();
    finish(place.command().args(["secret", "set", "TOKEN"]), "hunter2-hunter2").ends(0);
    let mut open = vec![place.root.path().join("home/.local/share/milepost")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).expect("reads").flatten().map(|one| one.path()));
        } else if std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"age-encryption")) {
            std::fs::write(path, "garbage").expect("writes");
        }
    }
    Told::Words(place.say("secret list"))
}
