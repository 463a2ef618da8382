//! What a check found, said in terms of the document's text: the form findings have while the
//! document is being read. `violation` turns them into what people and models see.

use serde_json::Value;

use crate::tree::At;

/// Whether a finding stops a workflow from being used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The workflow cannot be used.
    Error,
    /// The workflow works, and something about it deserves a look.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A place in the document: a node or key, or a part of the text of a string node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The node or key.
    pub at: At,
    /// A range in the string's decoded text.
    pub inner: Option<At>,
}

impl From<At> for Place {
    fn from(at: At) -> Place {
        Place { at, inner: None }
    }
}

impl Place {
    /// A part of the string that stands at `at`.
    pub fn within(at: At, start: u32, end: u32) -> Place {
        Place { at, inner: Some(At { start, end }) }
    }
}

/// One thing that is wrong or doubtful.
#[derive(Debug, Clone)]
pub struct Finding {
    pub(crate) place: Place,
    pub(crate) severity: Severity,
    pub(crate) rule: Rule,
    pub(crate) message: String,
    pub(crate) expected: Option<String>,
    pub(crate) actual: Option<String>,
    pub(crate) suggestion: Option<String>,
    pub(crate) mend: Option<Mend>,
    pub(crate) related: Option<(At, &'static str)>,
    /// The place is a value, and what is said is about its key.
    pub(crate) on_key: bool,
    /// Known already when there is no text to count in.
    pub(crate) position: Option<(u32, u32)>,
}

impl Finding {
    pub(crate) fn error(place: impl Into<Place>, rule: Rule, message: impl Into<String>) -> Self {
        Finding {
            place: place.into(),
            severity: Severity::Error,
            rule,
            message: message.into(),
            expected: None,
            actual: None,
            suggestion: None,
            mend: None,
            related: None,
            on_key: false,
            position: None,
        }
    }

    pub(crate) fn warning(place: impl Into<Place>, rule: Rule, message: impl Into<String>) -> Self {
        Finding { severity: Severity::Warning, ..Finding::error(place, rule, message) }
    }

    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(crate) fn actual(mut self, actual: impl Into<String>) -> Self {
        self.actual = Some(actual.into());
        self
    }

    pub(crate) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    pub(crate) fn mend(mut self, mend: Mend) -> Self {
        self.mend = Some(mend);
        self
    }

    pub(crate) fn on_key(mut self) -> Self {
        self.on_key = true;
        self
    }

    pub(crate) fn related(mut self, at: At, label: &'static str) -> Self {
        self.related = Some((at, label));
        self
    }
}

/// A change that mends exactly one finding, said in terms of the tree; `fix` turns it into a JSON
/// patch and into edits of the text.
#[derive(Debug, Clone, PartialEq)]
pub enum Mend {
    /// Another name for the key at this place.
    RenameKey {
        /// The key.
        key: At,
        /// Its new name.
        to: String,
    },
    /// Another value in place of the node.
    Replace {
        /// The node.
        at: At,
        /// The new value.
        value: Value,
    },
    /// Other words inside a string.
    ReplaceText {
        /// The words.
        place: Place,
        /// What to put there.
        text: String,
    },
    /// The entry with this key goes away.
    Remove {
        /// The key.
        key: At,
    },
    /// A new entry in a map.
    Insert {
        /// The map.
        map: At,
        /// The key.
        key: String,
        /// The value.
        value: Value,
    },
    /// The entry with this key goes into another map.
    Move {
        /// The key.
        key: At,
        /// The map it goes into.
        into: At,
        /// The entry of `into` that is the target itself, made when it is not there.
        under: Option<String>,
        /// Its name there.
        name: String,
    },
    /// The item of a list goes away.
    RemoveItem {
        /// The item.
        at: At,
    },
    /// The item of a list goes before another of the same list.
    MoveItem {
        /// The item.
        item: At,
        /// The item it goes before.
        before: At,
    },
    /// Raw text, for documents that do not parse.
    Edit {
        /// The range.
        at: At,
        /// What to put there.
        text: String,
    },
    /// Several of them together.
    All(Vec<Mend>),
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// The rule a finding goes back to: a stable word that programs may branch on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule { $($(#[$doc])* $name),* }

        impl Rule {
            /// The stable word.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$name => $word),* }
            }
        }
    };
}

rules! {
    /// The text is no YAML or JSON, or none of ours.
    Syntax = "syntax",
    /// A number that cannot be kept exactly.
    Number = "number",
    /// A key stands twice in one map.
    DuplicateKey = "duplicate-key",
    /// Neither a manifest nor a guide.
    DocumentKind = "document-kind",
    /// A key nobody knows here.
    UnknownKey = "unknown-key",
    /// A key that has to be there.
    Required = "required",
    /// A value of another type.
    Type = "type",
    /// A value that is none of the choices.
    Choice = "choice",
    /// A value outside its range or length.
    Range = "range",
    /// Text in another form than its field wants.
    Format = "format",
    /// No identifier.
    Id = "id",
    /// An identifier that is taken.
    DuplicateId = "duplicate-id",
    /// Keys that exclude or demand each other.
    Combination = "combination",
    /// An expression or template that does not parse.
    Expression = "expression",
    /// A name that does not exist here.
    UnknownName = "unknown-name",
    /// A path that the value cannot have.
    UnknownPath = "unknown-path",
    /// An expression that yields another type than its place takes.
    ExpressionType = "expression-type",
    /// Steps that wait for each other.
    Cycle = "cycle",
    /// A `run` that names nothing that can be run.
    Command = "command",
    /// An argument the command does not take, lacks, or takes as another type.
    Argument = "argument",
    /// A secret in a place that is shown or stored.
    SecretExposed = "secret-exposed",
    /// A regular expression that does not compile.
    Pattern = "pattern",
    /// A JSON Schema that is none.
    Schema = "schema",
    /// A condition that is none.
    Condition = "condition",
    /// Validation criteria that cannot judge anything.
    Criteria = "criteria",
    /// A loop that cannot run.
    Loop = "loop",
    /// A field that is kept and shown but changes nothing.
    NotActedOn = "not-acted-on",
    /// An input no expression reads.
    UnusedInput = "unused-input",
    /// A step that can never run.
    NeverRuns = "never-runs",
    /// A step that reads one defined below it.
    DefinedLater = "defined-later",
    /// A write before anything was looked at.
    WriteBeforeCheck = "write-before-check",
    /// A write that nothing guards.
    UnguardedWrite = "unguarded-write",
    /// A `create` without a look whether the thing exists.
    CreateWithoutCheck = "create-without-check",
    /// A request that must not be repeated and that nobody approves.
    UnapprovedWrite = "unapproved-write",
    /// A path the schema allows but does not mention.
    UnmentionedPath = "unmentioned-path",
    /// No version where one is usual.
    Version = "version",
    /// A spelling that works but is not the usual one.
    Spelling = "spelling",
    /// More findings than are kept.
    TooMany = "too-many",
}
