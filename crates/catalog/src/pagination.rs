//! Paginated lists: how an API paginates and how to request the next page. Given a response, this
//! module determines how the next request differs; it sends nothing. The caller that fetches pages
//! keeps a [`PageWalk`], which detects cycles and always terminates.

mod detect;
mod link;
pub mod names;

use std::collections::BTreeSet;

use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;
use url::Url;

pub use self::detect::{detect, items};
use self::names::{MORE, TOTAL_PAGES, TOTALS};
use crate::limits;
use crate::request::Arguments;

/// How an API paginates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagingScheme {
    /// A `Link` header with `rel="next"`.
    Link,
    /// The body contains the URL of the next page.
    NextUrl {
        /// JSON pointer to the URL.
        at: String,
    },
    /// A value from the body is an argument to the next request.
    Cursor {
        parameter: String,
        /// JSON pointer to the value.
        at: String,
        /// JSON pointer to the flag that indicates whether there are more pages.
        more: Option<String>,
    },
    /// A value from the last item is an argument to the next request.
    LastItem {
        parameter: String,
        /// The item's field.
        field: String,
        /// JSON pointer to the flag that indicates whether there are more pages.
        more: Option<String>,
    },
    /// Requests select a page by its number, or items by their offset.
    Counted(PageCount),
}

/// Pagination by page number or by item offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCount {
    pub parameter: String,
    /// The number of the first page, or the offset of the first item.
    pub first: u64,
    pub size: Option<PageSize>,
    /// Whether pages are counted rather than items.
    pub by_page: bool,
}

/// The argument that sets the number of items per page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSize {
    pub parameter: String,
    /// The page size if the argument is omitted.
    pub default: Option<u64>,
    pub maximum: Option<u64>,
}

/// The parts of a response that pagination needs.
#[derive(Debug, Clone, Copy)]
pub struct PageResponse<'a> {
    pub url: &'a Url,
    pub headers: &'a [(String, String)],
    pub body: &'a Value,
}

/// How to request the next page.
#[derive(Debug, Clone, PartialEq)]
pub enum NextPage {
    /// Repeat the request with this argument.
    With {
        /// The name of the argument in `with`.
        name: String,
        value: Value,
    },
    /// GET this URL, which has the same origin as the request.
    Url(Url),
}

/// Why the next page cannot be requested.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PagingError {
    /// The next page is on another server.
    #[error("the next page `{url}` is not on the request's server")]
    Elsewhere { url: String },
    /// The next-page link is not a URL.
    #[error("the next page `{text}` is not a URL")]
    NoUrl { text: String },
    /// The server pointed back to a page that was already fetched.
    #[error("page {page} points back to a page that was already fetched")]
    Circle {
        /// The number of the page, starting at 1.
        page: usize,
    },
}

/// The next page after a response; `None` after the last page.
pub fn next(
    scheme: &PagingScheme,
    arguments: &Arguments,
    answer: &PageResponse<'_>,
) -> Result<Option<NextPage>, PagingError> {
    match scheme {
        PagingScheme::Link => link::next(answer).map(|next| next.map(NextPage::Url)),
        PagingScheme::NextUrl { at } => match answer.body.pointer(at).and_then(Value::as_str) {
            None | Some("") => Ok(None),
            Some(text) => link::resolve(answer.url, text).map(|url| Some(NextPage::Url(url))),
        },
        PagingScheme::Cursor { parameter, at, more } => {
            if says_no(answer.body, more.as_deref()) {
                return Ok(None);
            }
            cursor(parameter, arguments, answer, answer.body.pointer(at))
        }
        PagingScheme::LastItem { parameter, field, more } => {
            if says_no(answer.body, more.as_deref()) {
                return Ok(None);
            }
            let last = list(answer.body).and_then(|items| items.last()?.get(field));
            cursor(parameter, arguments, answer, last)
        }
        PagingScheme::Counted(count) => counted(count, arguments, answer),
    }
}

fn says_no(body: &Value, more: Option<&str>) -> bool {
    more.and_then(|at| body.pointer(at)) == Some(&Value::Bool(false))
}

fn cursor(
    parameter: &str,
    arguments: &Arguments,
    answer: &PageResponse<'_>,
    value: Option<&Value>,
) -> Result<Option<NextPage>, PagingError> {
    match value {
        None | Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        // Some APIs return a URL as the cursor.
        Some(Value::String(text))
            if text.starts_with("http://") || text.starts_with("https://") =>
        {
            link::resolve(answer.url, text).map(|url| Some(NextPage::Url(url)))
        }
        Some(value) => {
            let name = given_name(parameter, arguments);
            Ok(Some(NextPage::With { name, value: value.clone() }))
        }
    }
}

/// The name under which an argument was given, so that it is replaced rather than given twice.
fn given_name(parameter: &str, arguments: &Arguments) -> String {
    let qualified = |key: &&String| key.split_once('.').is_some_and(|(_, bare)| bare == parameter);
    if arguments.with.contains_key(parameter) {
        return parameter.to_owned();
    }
    arguments.with.keys().find(qualified).map_or(parameter, String::as_str).to_owned()
}

fn counted(
    count: &PageCount,
    arguments: &Arguments,
    answer: &PageResponse<'_>,
) -> Result<Option<NextPage>, PagingError> {
    // If the server sends links, they are authoritative.
    if link::is_there(answer) {
        return link::next(answer).map(|next| next.map(NextPage::Url));
    }
    let found = list(answer.body).map_or(0, Vec::len) as u64;
    if found == 0 || detect::aside(answer.body, MORE) == Some(&Value::Bool(false)) {
        return Ok(None);
    }
    let name = given_name(&count.parameter, arguments);
    let given = arguments.with.get(&name).and_then(number);
    let current = given.unwrap_or(count.first);
    let following = current.saturating_add(if count.by_page { 1 } else { found });
    let total = detect::aside(answer.body, if count.by_page { TOTAL_PAGES } else { TOTALS });
    // Numbering starts at 0 or 1.
    let seen = total
        .and_then(Value::as_u64)
        .map(|total| following.saturating_sub(count.first.min(1)) >= total);
    let ends = seen.unwrap_or_else(|| is_short(count.size.as_ref(), arguments, found));
    Ok((!ends).then(|| NextPage::With { name, value: Value::from(following) }))
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Whether a page is shorter than promised, and therefore the last. A server may return fewer items
/// than requested, so only a size that the document guarantees counts.
fn is_short(size: Option<&PageSize>, arguments: &Arguments, found: u64) -> bool {
    let Some(size) = size else { return false };
    let given = arguments.with.get(&given_name(&size.parameter, arguments)).and_then(number);
    let promised = match (given, size.maximum) {
        (Some(given), Some(maximum)) => Some(given.min(maximum)),
        (Some(_), None) => None,
        (None, _) => size.default,
    };
    promised.is_some_and(|promised| found < promised)
}

fn list(body: &Value) -> Option<&Vec<Value>> {
    body.pointer(&items(body)?)?.as_array()
}

/// What to do after a page.
#[derive(Debug, Clone, PartialEq)]
pub enum PageStep {
    /// The page was the last one.
    End,
    /// There is another page.
    More(NextPage),
    /// There is another page, but a limit was reached.
    Full,
}

/// Iterates over the pages of one list.
#[derive(Debug, Default)]
pub struct PageWalk {
    pages_max: usize,
    items_max: usize,
    pages: usize,
    items: usize,
    /// The next-page requests so far.
    asked: BTreeSet<String>,
    /// Hash of the previous page's list.
    before: Option<[u8; 32]>,
}

impl PageWalk {
    /// Starts a walk. It never exceeds [`limits::PAGES`] or [`limits::PAGED_ITEMS`].
    pub fn new(pages_max: Option<usize>, items_max: Option<usize>) -> PageWalk {
        PageWalk {
            pages_max: pages_max.map_or(limits::PAGES, |max| max.min(limits::PAGES)),
            items_max: items_max.map_or(limits::PAGED_ITEMS, |max| max.min(limits::PAGED_ITEMS)),
            ..PageWalk::default()
        }
    }

    /// How many more items may be collected.
    pub fn wanted(&self) -> usize {
        self.items_max.saturating_sub(self.items)
    }

    /// Records a page and returns what to do next.
    pub fn step(
        &mut self,
        scheme: &PagingScheme,
        arguments: &Arguments,
        answer: &PageResponse<'_>,
    ) -> Result<PageStep, PagingError> {
        self.pages += 1;
        let items = list(answer.body);
        self.items += items.map_or(0, Vec::len);
        let Some(next) = next(scheme, arguments, answer)? else { return Ok(PageStep::End) };
        let circle = PagingError::Circle { page: self.pages };
        // A server that ignores the page number keeps sending the first page.
        let hash = items
            .filter(|items| !items.is_empty())
            .map(|items| Sha256::digest(Value::Array(items.clone()).to_string().as_bytes()).into());
        if hash.is_some() && hash == self.before {
            return Err(circle);
        }
        self.before = hash;
        let key = match &next {
            NextPage::With { name, value } => format!("{name}={value}"),
            NextPage::Url(url) => url.to_string(),
        };
        if !self.asked.insert(key) || matches!(&next, NextPage::Url(url) if url == answer.url) {
            return Err(circle);
        }
        let full = self.pages >= self.pages_max || self.items >= self.items_max;
        Ok(if full { PageStep::Full } else { PageStep::More(next) })
    }
}
