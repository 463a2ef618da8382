//! A request's path: fills in a template and verifies that the URL lies under its base. Neither a
//! value nor a document may direct a request anywhere else.

use url::Url;

use super::encode::Encode;
use super::misuse::{Misuse, Reason};
use crate::limits;
use crate::text::{TemplatePiece, template_pieces};

/// A piece of a path template; its text is already encoded.
type Piece = TemplatePiece<String>;

/// A parsed path template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathTemplate {
    path: Vec<Piece>,
    /// The part after a `?`, which OpenAPI does not allow in a path but some documents have.
    query: Vec<Piece>,
}

impl PathTemplate {
    /// Parses a template. The fragment is dropped, because it is never sent.
    pub(crate) fn parse(path: &str) -> PathTemplate {
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        PathTemplate {
            path: pieces(path, Encode::Literal),
            query: pieces(query, Encode::QueryLiteral),
        }
    }

    /// The names of the placeholders.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.path.iter().chain(&self.query).filter_map(|piece| match piece {
            Piece::Name(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The path and its query with all placeholders filled in. `fill` returns the encoded value of
    /// a placeholder.
    pub(crate) fn fill<'v>(&self, fill: impl Fn(&str) -> &'v str) -> (String, String) {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name(name) => fill(name).to_owned(),
        };
        let write = |pieces: &[Piece]| pieces.iter().map(text).collect::<String>();
        let mut path = write(&self.path);
        // A placeholder on its own is a segment, even if its value is empty.
        if !path.starts_with('/') && !self.path.is_empty() {
            path.insert(0, '/');
        }
        (path, write(&self.query))
    }

    /// The first placeholder in the given segment, to be named in an error.
    pub(crate) fn blame(&self, segment: usize) -> Option<&str> {
        // The template may lack a leading slash.
        let slash = matches!(self.path.first(), Some(Piece::Text(text)) if text.starts_with('/'));
        let mut at = usize::from(!slash);
        for piece in &self.path {
            match piece {
                Piece::Text(text) => at += text.matches('/').count(),
                Piece::Name(name) if at == segment => return Some(name),
                Piece::Name(_) => {}
            }
        }
        None
    }
}

fn pieces(template: &str, literal: Encode) -> Vec<Piece> {
    let pieces = template_pieces(template).into_iter();
    pieces.map(|piece| piece.owned(|text| literal.text(text))).collect()
}

/// The first segment that is empty or would be resolved to another path, with the reason.
pub(crate) fn bad_segment(
    path: &str,
    may_be_empty: impl Fn(usize) -> bool,
) -> Option<(usize, Reason)> {
    path.split('/').enumerate().skip(1).find_map(|(index, segment)| {
        let is_missing = || segment.is_empty() && !may_be_empty(index);
        let dots = is_dots(segment).then_some(Reason::DotSegment);
        Some((index, dots.or_else(|| is_missing().then_some(Reason::EmptySegment))?))
    })
}

/// Whether a segment is `.` or `..` in any encoding, ignoring parameters after a `;`, which some
/// servers strip.
fn is_dots(segment: &str) -> bool {
    let decoded = percent_encoding::percent_decode_str(segment).decode_utf8_lossy();
    let bare = decoded.split(';').next().unwrap_or_default();
    matches!(bare, "." | "..")
}

/// Joins the base, the path and the query.
pub(crate) fn join(base: &Url, path: &str, query: &str) -> Result<Url, Misuse> {
    let refused = || Misuse::Base { url: shown(base) };
    if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
        return Err(refused());
    }
    let prefix = base.path().trim_end_matches('/');
    let whole = match (prefix, path) {
        ("", "") => "/".to_owned(),
        (_, "") => base.path().to_owned(),
        _ => format!("{prefix}{path}"),
    };
    let both = match (base.query().unwrap_or_default(), query) {
        ("", query) => query.to_owned(),
        (fixed, "") => fixed.to_owned(),
        (fixed, query) => format!("{fixed}&{query}"),
    };
    let mut text = base[..url::Position::BeforePath].to_owned();
    text.push_str(&whole);
    if !both.is_empty() {
        text.push('?');
        text.push_str(&both);
    }
    if text.len() > limits::URL_BYTES {
        return Err(Misuse::TooLong { bytes: text.len(), limit: limits::URL_BYTES });
    }
    let url = Url::parse(&text).map_err(|_| refused())?;
    // Parsing normalizes the URL. If the result differs from what was written, the request would go
    // somewhere else.
    let same = url.path() == whole && url.query().unwrap_or_default() == both;
    if same && is_under(&url, base) { Ok(url) } else { Err(Misuse::Path { path: path.to_owned() }) }
}

/// Whether a URL lies under a base: same origin, and the path extends the base's path at a segment
/// boundary.
pub(crate) fn is_under(url: &Url, base: &Url) -> bool {
    let prefix = base.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(prefix);
    url.scheme() == base.scheme()
        && url.host() == base.host()
        && url.port_or_known_default() == base.port_or_known_default()
        && url.username() == base.username()
        && url.password() == base.password()
        && url.fragment().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        && !url.path().split('/').any(is_dots)
}

/// A URL without the parts that may be secret.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both calls fail only for a URL without a host, which has no credentials either.
    if url.set_username("").and_then(|()| url.set_password(None)).is_err() {
        return format!("{}:", url.scheme());
    }
    url.set_query(None);
    url.to_string()
}
