//! Turns a command and its arguments into the exact bytes of a request. Nothing is sent, no file is
//! read, and the same arguments always produce the same bytes.

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

use serde_json::{Map, Value};
use url::Url;

pub use self::coerce::coerce;
pub use self::header::bytes as header_bytes;
pub use self::misuse::{ArgumentPlace, Misuse, Reason};
pub use self::prepared::PreparedCommand;
pub use self::show::curl;
use crate::command::{Location, Method};

/// A call's arguments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments {
    /// Parameters by name, regardless of their location, and body properties. A name shared by
    /// several parameters is written `path.id`, `query.id`, `header.id`, `cookie.id` or `body.id`.
    pub with: Map<String, Value>,
    /// The body, or a part of it that `with` completes.
    pub body: Option<Value>,
    /// The media type of the body; by default, the simplest one available.
    pub content_type: Option<String>,
    /// The media type of the response; by default all available ones, JSON first.
    pub accept: Option<String>,
    /// The files that values may name with `$file`: those that the author of a workflow wrote down.
    /// In any other value, `$file` is data. `None` if the caller wrote all arguments.
    pub files: Option<Vec<String>>,
}

/// A request that is ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: Method,
    /// The target, which is always under the base URL.
    pub url: Url,
    /// All headers except `Content-Type`, which follows from the body. Values only contain ISO
    /// 8859-1 characters, each of which is sent as one byte (see [`header_bytes`]).
    pub headers: Vec<(String, String)>,
    pub body: Option<Payload>,
    /// The path template in the document.
    pub path_template: String,
    /// Which arguments were not checked, and why.
    pub notes: Vec<RequestNote>,
}

/// Additional information for the sender of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestNote {
    /// An argument that could not be checked.
    #[error("{place} was not checked: {why}")]
    Unchecked { place: ArgumentPlace, why: String },
}

/// A request body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    Whole {
        content_type: String,
        content: PartContent,
    },
    /// Several parts with their own headers.
    Multipart {
        /// The media type without the boundary.
        media_type: String,
        /// The separator between parts, derived from their content so that it is deterministic.
        boundary: String,
        parts: Vec<MultipartPart>,
    },
}

/// A part of a multipart body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MultipartPart {
    /// The name of the form field.
    pub name: String,
    pub filename: Option<String>,
    /// The media type, unless it is plain text.
    pub content_type: Option<String>,
    pub content: PartContent,
}

/// The bytes of a body or a part of it, or where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartContent {
    Bytes(Vec<u8>),
    /// A file that the sender reads from one of its allowed directories, by its path as given.
    File(String),
}

impl PartContent {
    fn piece(&self) -> Piece<'_> {
        match self {
            PartContent::Bytes(bytes) => Piece::Bytes(Cow::Borrowed(bytes)),
            PartContent::File(path) => Piece::File(path),
        }
    }

    fn load<E>(&mut self, read: &mut impl FnMut(&str) -> Result<Vec<u8>, E>) -> Result<(), E> {
        if let PartContent::File(path) = self {
            *self = PartContent::Bytes(read(path)?);
        }
        Ok(())
    }
}

/// A piece of a serialized body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'p> {
    Bytes(Cow<'p, [u8]>),
    /// The whole content of a file, by its path as given.
    File(&'p str),
}

impl Request {
    /// All headers including `Content-Type`, in the order in which they are sent.
    pub fn all_headers(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        let content_type = self.body.as_ref().map(|body| ("Content-Type", body.content_type()));
        let headers = self.headers.iter();
        headers
            .map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str())))
            .chain(content_type)
    }

    /// Sets a header that is not an argument of the command, replacing any existing value.
    ///
    /// # Errors
    /// If only the sender may set the header, or if it cannot be sent.
    pub fn set_header(&mut self, name: &str, value: &str) -> Result<(), Misuse> {
        // These cannot be parameters, but a workflow's author may set them.
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
    /// The value of `Content-Type`.
    pub fn content_type(&self) -> Cow<'_, str> {
        match self {
            Payload::Whole { content_type, .. } => Cow::Borrowed(content_type),
            Payload::Multipart { media_type, boundary, .. } => {
                Cow::Owned(format!("{media_type}; boundary={boundary}"))
            }
        }
    }

    /// The pieces of the body in order; files are separate pieces.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        match self {
            Payload::Whole { content, .. } => vec![content.piece()],
            Payload::Multipart { boundary, parts, .. } => multipart::pieces(boundary, parts),
        }
    }

    /// Whether the body refers to files that still have to be read.
    pub fn has_files(&self) -> bool {
        self.pieces().iter().any(|piece| matches!(piece, Piece::File(_)))
    }

    /// Returns the body with its files read in. The boundary of a multipart body changes if a file
    /// contains it.
    pub fn with_files<E>(
        mut self,
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Payload, E> {
        match &mut self {
            Payload::Whole { content, .. } => content.load(&mut read)?,
            Payload::Multipart { boundary, parts, .. } => {
                parts.iter_mut().try_for_each(|part| part.content.load(&mut read))?;
                if multipart::occurs(boundary, parts) {
                    *boundary = multipart::boundary(parts);
                }
            }
        }
        Ok(self)
    }
}
