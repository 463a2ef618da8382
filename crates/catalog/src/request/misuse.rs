//! The mistakes that a command's arguments can contain, each with a suggested next action.

use milepost_model::hint::Hint;
use milepost_model::suggest;
use serde_json::json;
use thiserror::Error;

use crate::command::Location;
use crate::finding::part;

/// A mistake in a command's arguments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misuse {
    /// No parameter or body property has this name.
    #[error("there is no parameter `{name}`")]
    Unknown {
        name: String,
        /// The name that was probably intended.
        meant: Option<String>,
        /// The valid names.
        known: Vec<String>,
    },
    /// A required parameter is missing.
    #[error("the {} parameter `{name}` ({kind}) is missing", location.name())]
    Missing {
        name: String,
        location: Location,
        /// The expected type: `integer`, `array of string`.
        kind: String,
    },
    /// A required body is missing.
    #[error("the body ({}) is missing", media_types.join(", "))]
    MissingBody {
        /// The media types that the body can have.
        media_types: Vec<String>,
    },
    /// The name is shared by parameters in several locations.
    #[error("`{name}` is ambiguous: several parameters have this name")]
    Ambiguous {
        name: String,
        /// The unambiguous names.
        spellings: Vec<String>,
    },
    /// The same value was given twice.
    #[error("`{name}` and `{other}` are the same {what}")]
    Twice {
        name: String,
        other: String,
        /// `parameter` or `body property`.
        what: &'static str,
    },
    /// A value does not match its schema.
    #[error("{place}{}: {message}", pointer_text(pointer))]
    Invalid {
        place: ArgumentPlace,
        /// JSON pointer within the value; empty for the value as a whole.
        pointer: String,
        message: String,
    },
    /// A value that cannot be sent in its location.
    #[error("{place} cannot be sent: {reason}")]
    Unsendable { place: ArgumentPlace, reason: Reason },
    /// A header that only the sender may set.
    #[error("the header `{name}` is not an argument: it is set when the request is sent")]
    OwnHeader { name: String },
    #[error("the command takes no body")]
    NoBody,
    /// Properties were given in addition to a body that is not an object.
    #[error(
        "`{name}` is a property of the body, but the given body is {}",
        suggest::with_article(found)
    )]
    BodyNotObject {
        name: String,
        /// The kind of value that was given.
        found: &'static str,
    },
    /// A body of a kind that its media type does not support.
    #[error("a `{media_type}` body must be {wanted}, not {found}")]
    BodyKind {
        media_type: String,
        /// The kind of value that is expected.
        wanted: &'static str,
        found: String,
    },
    /// A media type that the command does not accept or return.
    #[error("this {what} cannot have the media type `{asked}`")]
    MediaType {
        /// The requested media type.
        asked: String,
        /// `body` or `response`, which decides whether `content_type` or `accept` is at fault.
        what: &'static str,
        known: Vec<String>,
    },
    /// A base URL that requests cannot be sent to.
    #[error("requests cannot be sent to the base URL `{url}`")]
    Base { url: String },
    /// The path in the document is invalid or leads outside the API.
    #[error("the path `{path}` in the document leads outside the base URL")]
    Path { path: String },
    /// The URL exceeds the limit.
    #[error("the URL is {bytes} bytes long; the limit is {limit}")]
    TooLong { bytes: usize, limit: usize },
}

/// Identifies an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentPlace {
    Parameter {
        name: String,
        location: Location,
    },
    /// The body, or one of its properties.
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
                write!(f, "the body property `{property}`")
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

/// Why a value cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Reason {
    /// An empty segment would turn the path into another one.
    #[error("a path segment would be empty")]
    EmptySegment,
    /// `.` and `..` are resolved by servers, even if they are encoded.
    #[error("a path segment would be `.` or `..`, which servers resolve to another path")]
    DotSegment,
    /// A line break would start another header.
    #[error("it contains a control character")]
    Control,
    /// Headers can only carry ISO 8859-1.
    #[error("it contains characters that a header cannot carry")]
    NotLatin,
    /// Whitespace around a header value is stripped in transit.
    #[error("it starts or ends with a space, which is stripped from a header")]
    Blank,
    /// `;` ends a cookie.
    #[error("it contains a `;`, which would end the cookie")]
    Semicolon,
    /// The name in the document is not a valid header name.
    #[error("its name in the document is not a valid header name")]
    Name,
    /// The value of `$base64` is not valid base64.
    #[error("`$base64` is not valid base64")]
    Base64,
    /// The value of `$file` is not a path.
    #[error("`$file` is not a file path")]
    File,
    /// The content type is not a valid media type.
    #[error("its `content_type` is not a media type")]
    ContentType,
}

impl Misuse {
    /// JSON pointer to the argument in the call: `/with/id`, `/body/name`.
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
            Misuse::MediaType { what: "response", .. } => "/accept".to_owned(),
            Misuse::MediaType { .. } => "/content_type".to_owned(),
            Misuse::Base { .. } | Misuse::Path { .. } | Misuse::TooLong { .. } => String::new(),
        }
    }

    /// The name of the violated rule.
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

    /// What the caller should do next.
    pub fn hint(&self) -> Hint {
        match self {
            Misuse::Unknown { meant: Some(meant), .. } => format!("did you mean `{meant}`?").into(),
            Misuse::Unknown { known, .. } if known.is_empty() => "leave it out".into(),
            Misuse::Missing { name, .. } => Hint::text("give ").given("with", json!({name: "…"})),
            Misuse::MissingBody { .. } => Hint::text("give ").argument("body"),
            Misuse::Ambiguous { spellings, .. } => format!("write {}", words(spellings)).into(),
            Misuse::Twice { other, .. } => format!("leave out `{other}`").into(),
            Misuse::Invalid { .. } => "change the value to match the schema".into(),
            Misuse::Unsendable { reason, .. } => reason.hint().into(),
            Misuse::OwnHeader { name } => own_header_hint(name),
            Misuse::NoBody => Hint::text("leave out ").argument("body"),
            Misuse::BodyNotObject { .. } => Hint::text("put the property into ").argument("body"),
            Misuse::BodyKind { wanted, .. } => format!("give {wanted}").into(),
            Misuse::Unknown { known, .. } | Misuse::MediaType { known, .. } => {
                format!("use {}", words(known)).into()
            }
            Misuse::Base { .. } => "set a base URL that starts with `https://`".into(),
            Misuse::Path { .. } => "correct the path in the document and import it again".into(),
            Misuse::TooLong { .. } => "shorten the path and query values".into(),
        }
    }
}

impl Reason {
    fn hint(self) -> &'static str {
        match self {
            Reason::EmptySegment => "give a value that is not empty",
            Reason::DotSegment => "use another value",
            Reason::Control | Reason::Semicolon => "remove the character",
            Reason::NotLatin => "use plain letters, or encode the value as the API documents it",
            Reason::Blank => "remove the leading and trailing spaces",
            Reason::Name => "correct the name in the document and import it again",
            Reason::Base64 => "encode the bytes with the standard alphabet",
            Reason::File => "write `{\"$file\": \"path/to/file\"}`",
            Reason::ContentType => "write a media type such as `image/png`",
        }
    }
}

fn own_header_hint(name: &str) -> Hint {
    match name.to_ascii_lowercase().as_str() {
        "accept" => Hint::text("set it with ").argument("accept"),
        "content-type" => Hint::text("set it with ").argument("content_type"),
        "authorization" => {
            "leave it out: the catalog's credentials are sent with every request".into()
        }
        _ => "leave it out".into(),
    }
}

fn words(names: &[String]) -> String {
    suggest::list(names.iter().map(String::as_str))
}

fn pointer_text(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at `{pointer}`") }
}
