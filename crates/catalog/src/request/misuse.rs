//! What can be wrong with the arguments of a command, as data, with one next action each.

use milepost_model::suggest;
use thiserror::Error;

use crate::command::Location;
use crate::finding::part;

/// One fault of the arguments of a command.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misuse {
    /// No parameter and no property of the body has this name.
    #[error("there is no parameter `{name}`")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The name that was probably meant.
        meant: Option<String>,
        /// The names there are.
        known: Vec<String>,
    },
    /// A parameter that the command needs is not given.
    #[error("the {} parameter `{name}` ({kind}) is missing", location.name())]
    Missing {
        name: String,
        location: Location,
        /// What its value is: `integer`, `array of string`.
        kind: String,
    },
    /// The command needs a body.
    #[error("the body ({}) is missing", media_types.join(", "))]
    MissingBody {
        /// What it can be.
        media_types: Vec<String>,
    },
    /// A name that parameters in several places share.
    #[error("`{name}` is the name of several parameters")]
    Ambiguous {
        /// The name that was given.
        name: String,
        /// The names that are clear.
        spellings: Vec<String>,
    },
    /// One value was given in two ways.
    #[error("`{name}` and `{other}` are the same {what}")]
    Twice {
        name: String,
        other: String,
        /// `parameter` or `property of the body`.
        what: &'static str,
    },
    /// A value does not fit its schema.
    #[error("{place}{}: {message}", pointer_text(pointer))]
    Invalid {
        place: ArgumentPlace,
        /// JSON pointer within its value; empty for the whole.
        pointer: String,
        /// What does not fit.
        message: String,
    },
    /// A value that cannot travel where it belongs.
    #[error("{place} cannot be sent: {reason}")]
    Unsendable { place: ArgumentPlace, reason: Reason },
    /// A header that is never an argument.
    #[error("the header `{name}` is not an argument: it is set when the request is sent")]
    OwnHeader { name: String },
    /// The command takes no body.
    #[error("the command takes no body")]
    NoBody,
    /// Properties were given beside a body that has none.
    #[error("`{name}` is a property of the body, but the body given is {found}")]
    BodyNotObject {
        name: String,
        /// What the body is.
        found: &'static str,
    },
    /// A body that its media type cannot hold.
    #[error("a body of `{media_type}` is {wanted}, not {found}")]
    BodyKind {
        media_type: String,
        /// What it can hold.
        wanted: &'static str,
        found: String,
    },
    /// A media type that the command does not take or give.
    #[error("`{asked}` is not a media type of this {what}")]
    MediaType {
        /// What was asked for.
        asked: String,
        /// `body` or `answer`.
        what: &'static str,
        known: Vec<String>,
    },
    /// A base URL that nothing can be sent to.
    #[error("nothing can be sent to the base URL `{url}`")]
    Base { url: String },
    /// The path of the document leaves the API or is none.
    #[error("the path `{path}` of the document leads outside its base URL")]
    Path { path: String },
    /// The URL is longer than we send.
    #[error("the URL is {bytes} bytes long; the limit is {limit}")]
    TooLong { bytes: usize, limit: usize },
}

/// Which argument is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentPlace {
    Parameter {
        name: String,
        location: Location,
    },
    /// The body, or a property of it.
    Body {
        property: Option<String>,
    },
}

impl std::fmt::Display for ArgumentPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArgumentPlace::Parameter { name, location } => {
                write!(f, "the {} parameter `{name}`", location.name())
            }
            ArgumentPlace::Body { property: None } => f.write_str("the body"),
            ArgumentPlace::Body { property: Some(property) } => {
                write!(f, "`{property}` of the body")
            }
        }
    }
}

impl ArgumentPlace {
    pub(crate) fn parameter(name: &str, location: Location) -> ArgumentPlace {
        ArgumentPlace::Parameter { name: name.to_owned(), location }
    }

    fn path(&self) -> String {
        match self {
            ArgumentPlace::Parameter { name, .. } => format!("/with/{}", part(name)),
            ArgumentPlace::Body { property: None } => "/body".to_owned(),
            ArgumentPlace::Body { property: Some(property) } => format!("/body/{}", part(property)),
        }
    }
}

/// Why a value cannot travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Reason {
    /// A path without it is another path.
    #[error("a path segment would be empty")]
    EmptySegment,
    /// `.` and `..` are ways through a path, even when encoded.
    #[error("a path segment would be `.` or `..`, which servers resolve to another path")]
    DotSegment,
    /// A line break in a header begins another header.
    #[error("it contains a control character")]
    Control,
    /// Headers are bytes of ISO 8859-1.
    #[error("it contains characters that a header cannot carry")]
    NotLatin,
    /// Blanks around a header's value are lost on the way.
    #[error("it starts or ends with a space, which headers drop")]
    Blank,
    /// `;` ends a cookie.
    #[error("it contains a `;`, which would end the cookie")]
    Semicolon,
    /// The name in the document is none.
    #[error("its name in the document is not a valid header name")]
    Name,
    /// `{"$base64": …}` with something else.
    #[error("`$base64` is not base64 text")]
    Base64,
    /// `{"$file": …}` with something else.
    #[error("`$file` is not the path of a file")]
    File,
    /// A content type that is none.
    #[error("its `content_type` is not a media type")]
    ContentType,
}

impl Misuse {
    /// JSON pointer of the argument in a call: `/with/id`, `/body/name`.
    pub fn path(&self) -> String {
        let with = |name: &str| format!("/with/{}", part(name));
        match self {
            Misuse::Unknown { name, .. }
            | Misuse::Missing { name, .. }
            | Misuse::Ambiguous { name, .. }
            | Misuse::Twice { name, .. }
            | Misuse::OwnHeader { name } => with(name),
            Misuse::Invalid { place, pointer, .. } => format!("{}{pointer}", place.path()),
            Misuse::Unsendable { place, .. } => place.path(),
            Misuse::MissingBody { .. }
            | Misuse::NoBody
            | Misuse::BodyNotObject { .. }
            | Misuse::BodyKind { .. } => "/body".to_owned(),
            Misuse::MediaType { what: "answer", .. } => "/accept".to_owned(),
            Misuse::MediaType { .. } => "/content_type".to_owned(),
            Misuse::Base { .. } | Misuse::Path { .. } | Misuse::TooLong { .. } => String::new(),
        }
    }

    /// The rule behind it, in one word.
    pub fn rule(&self) -> &'static str {
        match self {
            Misuse::Unknown { .. } => "unknown",
            Misuse::Missing { .. } | Misuse::MissingBody { .. } => "required",
            Misuse::Ambiguous { .. } => "ambiguous",
            Misuse::Twice { .. } => "twice",
            Misuse::Invalid { .. } => "schema",
            Misuse::Unsendable { .. } => "unsendable",
            Misuse::OwnHeader { .. } => "own-header",
            Misuse::NoBody => "no-body",
            Misuse::BodyNotObject { .. } | Misuse::BodyKind { .. } => "body",
            Misuse::MediaType { .. } => "media-type",
            Misuse::Base { .. } => "base-url",
            Misuse::Path { .. } => "path",
            Misuse::TooLong { .. } => "too-long",
        }
    }

    /// The next thing to do.
    pub fn hint(&self) -> String {
        match self {
            Misuse::Unknown { meant: Some(meant), .. } => format!("did you mean `{meant}`?"),
            Misuse::Unknown { known, .. } if known.is_empty() => "leave it out".to_owned(),
            Misuse::Missing { name, .. } => format!("give `{name}` in `with`"),
            Misuse::MissingBody { .. } => "give `body`".to_owned(),
            Misuse::Ambiguous { spellings, .. } => format!("write {}", words(spellings)),
            Misuse::Twice { other, .. } => format!("leave out `{other}`"),
            Misuse::Invalid { .. } => "change the value to what the schema says".to_owned(),
            Misuse::Unsendable { reason, .. } => reason.hint().to_owned(),
            Misuse::OwnHeader { name } => own_header_hint(name),
            Misuse::NoBody => "leave out `body`".to_owned(),
            Misuse::BodyNotObject { .. } => "put the property into `body`".to_owned(),
            Misuse::BodyKind { wanted, .. } => format!("give {wanted}"),
            Misuse::Unknown { known, .. } | Misuse::MediaType { known, .. } => {
                format!("use {}", words(known))
            }
            Misuse::Base { .. } => "set a base URL that begins with `https://`".to_owned(),
            Misuse::Path { .. } => {
                "correct the path in the document and import it again".to_owned()
            }
            Misuse::TooLong { .. } => "send less in path and query".to_owned(),
        }
    }
}

impl Reason {
    fn hint(self) -> &'static str {
        match self {
            Reason::EmptySegment => "give a value that is not empty",
            Reason::DotSegment => "give another value",
            Reason::Control | Reason::Semicolon => "remove the character",
            Reason::NotLatin => "use plain letters, or encode the value as the API documents it",
            Reason::Blank => "remove the spaces around it",
            Reason::Name => "correct the name in the document and import it again",
            Reason::Base64 => "encode the bytes with the standard alphabet",
            Reason::File => "write `{\"$file\": \"path/to/file\"}`",
            Reason::ContentType => "write it as in `image/png`",
        }
    }
}

fn own_header_hint(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "accept" => "give `accept` beside `with`".to_owned(),
        "content-type" => "give `content_type` beside `with`".to_owned(),
        "authorization" => {
            "leave it out: credentials of the catalog are sent with every request".to_owned()
        }
        _ => "leave it out".to_owned(),
    }
}

fn words(names: &[String]) -> String {
    suggest::list(names.iter().map(String::as_str))
}

fn pointer_text(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at `{pointer}`") }
}
