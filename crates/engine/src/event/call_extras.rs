//! What a call depends on besides the text of its request, and an approval therefore covers.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is added to a request when it is sent. For a child run, its possible requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallExtras {
    /// The profile whose credentials are used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub profile: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<UsedSecret>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<UsedFile>,
    /// The requests that a child run may send, such as `POST https://api.example/refunds`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

/// A secret that is sent with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedSecret {
    pub name: String,
    /// Where it is written, such as `header X-Api-Key`.
    pub place: String,
    /// A keyed code of its value; `None` if the process that asked did not have the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A file whose contents are sent with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedFile {
    pub path: String,
    pub bytes: u64,
    /// The digest of its contents; `None` if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl super::ShownCall {
    /// Whether the call, as it would be made now, is the one that was shown.
    pub(crate) fn still(&self, now: &super::ShownCall) -> bool {
        let extras = self.extras.as_deref().zip(now.extras.as_deref());
        self.digest == now.digest && extras.is_none_or(|(before, now)| before.still(now))
    }
}

impl CallExtras {
    /// Whether what would be sent now is what was shown. What cannot be read now is no difference,
    /// because without it nothing is sent.
    pub fn still(&self, now: &CallExtras) -> bool {
        let is_same =
            |before: &Option<String>, now: &Option<String>| now.is_none() || before == now;
        let secrets = self.secrets.iter().zip(&now.secrets).all(|(before, now)| {
            before.name == now.name && before.place == now.place && is_same(&before.code, &now.code)
        });
        let files =
            self.files.iter().zip(&now.files).all(|(before, now)| {
                before.path == now.path && is_same(&before.sha256, &now.sha256)
            });
        let counts = self.secrets.len() == now.secrets.len() && self.files.len() == now.files.len();
        let is_same_call = self.profile == now.profile && self.targets == now.targets;
        counts && secrets && files && is_same_call
    }

    /// What a person is shown of a difference: the sides before and after.
    pub(crate) fn sides(&self, now: &CallExtras) -> (Value, Value) {
        let side = |extras: &CallExtras| {
            let secrets = extras.secrets.iter().map(|one| format!("{} in {}", one.name, one.place));
            let secrets: Vec<String> = secrets.collect();
            json!({
                "profile": extras.profile,
                "secrets": secrets,
                "files": extras.files,
                "requests": extras.targets,
            })
        };
        let (before, mut after) = (side(self), side(now));
        if before == after {
            let changed = self.secrets.iter().zip(&now.secrets).filter(|(was, is)| was != is);
            let names: Vec<&str> = changed.map(|(was, _)| was.name.as_str()).collect();
            after["secrets_with_another_value"] = json!(names);
        }
        (before, after)
    }
}
