//! From a command and its arguments to the exact bytes of a request. Pure: nothing is sent here,
//! no file is read, and the same arguments always give the same bytes.

mod accept;
mod assign;
mod body;
mod check;
mod coerce;
mod encode;
mod header;
pub mod media;
mod misuse;
mod multipart;
mod parameter;
mod path;
mod prepared;
mod show;
mod style;
mod typed;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};
use url::Url;

pub use self::coerce::coerce;
pub use self::header::bytes as header_bytes;
pub use self::misuse::{ArgumentPlace, Misuse, Reason};
pub use self::prepared::PreparedCommand;
pub use self::show::curl;
use crate::command::{ApiCommand, Location, Method};

/// The arguments of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments {
    /// Parameters by name, wherever they travel, and properties of the body. A name that several
    /// parameters share is written `path.id`, `query.id`, `header.id`, `cookie.id` or `body.id`.
    pub with: Map<String, Value>,
    /// The body, or a part of it that `with` completes.
    pub body: Option<Value>,
    /// The media type of the body; the plainest one there is unless given.
    pub content_type: Option<String>,
    /// The media type of the answer; all there are, JSON first, unless given.
    pub accept: Option<String>,
}

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: Method,
    /// Where it goes: always under the base URL.
    pub url: Url,
    /// Its headers but for `Content-Type`, which its body knows. A value holds characters of
    /// ISO 8859-1 only, each of which is one byte on the wire (see [`header_bytes`]).
    pub headers: Vec<(String, String)>,
    pub body: Option<Payload>,
    /// The path template of the document.
    pub path_template: String,
    /// What was not checked, and why.
    pub notes: Vec<RequestNote>,
}

/// Something about a request that its sender may want to know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestNote {
    /// An argument that could not be checked.
    #[error("{place} was not checked: {why}")]
    Unchecked { place: ArgumentPlace, why: String },
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    Bytes {
        content_type: String,
        bytes: Vec<u8>,
    },
    /// A file that the sender reads, under a root that it allows.
    File {
        content_type: String,
        /// Its path, as given.
        path: String,
    },
    /// Parts, each with its own headers.
    Multipart {
        /// Its media type without the boundary.
        media_type: String,
        /// What stands between the parts: made from them, so that it is always the same.
        boundary: String,
        /// The parts, in order.
        parts: Vec<MultipartPart>,
    },
}

/// A part of a multipart body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MultipartPart {
    /// The name of its field.
    pub name: String,
    /// The name of its file.
    pub filename: Option<String>,
    /// Its media type, when it is not plain text.
    pub content_type: Option<String>,
    pub content: PartContent,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartContent {
    Bytes(Vec<u8>),
    /// A file that the sender reads, by its path as given.
    File(String),
}

/// A piece of a body on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'p> {
    Bytes(Cow<'p, [u8]>),
    /// All of a file, by its path as given.
    File(&'p str),
}

/// Makes a request. Who calls a command more than once keeps a [`PreparedCommand`].
pub fn build(
    command: &ApiCommand,
    base: &Url,
    arguments: &Arguments,
) -> Result<Request, Vec<Misuse>> {
    PreparedCommand::new(Arc::new(command.clone())).build(base, arguments)
}

impl Request {
    /// Every header, `Content-Type` included, in the order in which they are sent.
    pub fn all_headers(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let content_type = self.body.as_ref().map(|body| ("Content-Type", body.content_type()));
        let headers = self.headers.iter();
        headers
            .map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str())))
            .chain(content_type)
    }

    /// Adds a header that is no argument of the command, instead of one of the same name.
    ///
    /// # Errors
    /// When the sender sets it itself, or when it cannot be sent.
    pub fn set_header(&mut self, name: &str, value: &str) -> Result<(), Misuse> {
        // No parameter may be one of these, but an author may say who asks and what is wanted.
        let authored = ["authorization", "accept"];
        let authored = authored.iter().any(|own| own.eq_ignore_ascii_case(name));
        if header::is_own(name) && !authored {
            return Err(Misuse::OwnHeader { name: name.to_owned() });
        }
        header::check(name, value).map_err(|reason| {
            let place = ArgumentPlace::parameter(name, Location::Header);
            Misuse::Unsendable { place, reason }
        })?;
        self.headers.retain(|(there, _)| !there.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}

impl Payload {
    /// What `Content-Type` says.
    pub fn content_type(&self) -> Cow<'_, str> {
        match self {
            Payload::Bytes { content_type, .. } | Payload::File { content_type, .. } => {
                Cow::Borrowed(content_type)
            }
            Payload::Multipart { media_type, boundary, .. } => {
                Cow::Owned(format!("{media_type}; boundary={boundary}"))
            }
        }
    }

    /// The bytes of the body in order, files apart.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        match self {
            Payload::Bytes { bytes, .. } => vec![Piece::Bytes(Cow::Borrowed(bytes))],
            Payload::File { path, .. } => vec![Piece::File(path)],
            Payload::Multipart { boundary, parts, .. } => multipart::pieces(boundary, parts),
        }
    }

    /// Whether it names files that are still to be read.
    pub fn has_files(&self) -> bool {
        match self {
            Payload::Bytes { .. } => false,
            Payload::File { .. } => true,
            Payload::Multipart { parts, .. } => {
                parts.iter().any(|part| matches!(part.content, PartContent::File(_)))
            }
        }
    }

    /// The body with its files read. The boundary of a multipart body changes if a file has it.
    pub fn with_files<E>(
        self,
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Payload, E> {
        match self {
            Payload::File { content_type, path } => {
                Ok(Payload::Bytes { content_type, bytes: read(&path)? })
            }
            Payload::Multipart { media_type, boundary, mut parts } => {
                for part in &mut parts {
                    if let PartContent::File(path) = &part.content {
                        part.content = PartContent::Bytes(read(path)?);
                    }
                }
                let boundary = multipart::boundary_or_other(boundary, &parts);
                Ok(Payload::Multipart { media_type, boundary, parts })
            }
            bytes @ Payload::Bytes { .. } => Ok(bytes),
        }
    }
}
