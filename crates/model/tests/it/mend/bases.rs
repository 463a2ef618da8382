//! The valid documents to break.

use std::sync::OnceLock;

use milepost_model::plan;
use milepost_syntax::source::Format;

pub(super) struct Base {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) format: Format,
    pub(super) guide: bool,
    hash: OnceLock<Option<String>>,
}

impl Base {
    /// The hash of the document's plan.
    pub(super) fn hash(&self) -> Option<String> {
        let hash = || plan::hash(&super::read(&self.text, self.format));
        self.hash.get_or_init(hash).clone()
    }
}

macro_rules! bases {
    ($($name:literal $guide:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("bases/", $name)), $guide)),*]
    };
}

/// Every document; those most affected by line endings are repeated with CRLF.
pub(super) fn all() -> Vec<Base> {
    let documents = bases![
        "refund.yaml" false,
        "onboard.yaml" false,
        "deploy.yaml" false,
        "anchors.yaml" false,
        "triage.json" false,
        "compact.json" false,
        "bughunt.json" true,
        "review.yaml" true,
        "small.json" true,
    ];
    let mut all = Vec::new();
    for (name, text, guide) in documents {
        let text = text.replace("\r\n", "\n");
        let extension = name.rsplit('.').next().unwrap_or("");
        let format = Format::of_extension(extension).unwrap_or(Format::Yaml);
        let windows = text.replace('\n', "\r\n");
        all.push(Base { name: name.to_owned(), text, format, guide, hash: OnceLock::new() });
        if matches!(name, "refund.yaml" | "review.yaml") {
            all.push(Base {
                name: format!("{name}+crlf"),
                text: windows,
                format,
                guide,
                hash: OnceLock::new(),
            });
        }
    }
    all
}

#[test]
fn bases_are_valid() {
    for base in all() {
        let document = super::read(&base.text, base.format);
        let errors: Vec<String> = document
            .violations
            .iter()
            .filter(|one| one.severity.name() == "error")
            .map(|one| format!("{}:{} {}", one.line, one.column, one.message))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", base.name);
    }
}
