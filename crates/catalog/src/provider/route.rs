//! Paths split into parts, so that other paths with the same prefix can be looked up.

use crate::limits;

/// A path segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathPart<'r> {
    /// Literal text; for a collection, its name.
    Word(&'r str),
    /// A parameter, by name.
    Value(&'r str),
    /// Text mixed with parameters, such as `{base}...{head}`, which is not interpreted.
    Mixed,
}

/// A path split into parts.
#[derive(Debug)]
pub(super) struct PathRoute<'r> {
    pub(super) parts: Vec<PathPart<'r>>,
    /// The path without parameter names. `ends` holds the offset at which each part ends.
    key: String,
    ends: Vec<usize>,
}

impl<'r> PathRoute<'r> {
    pub(super) fn new(path: &'r str) -> PathRoute<'r> {
        let path = path.split(['#', '?']).next().unwrap_or(path);
        let mut route = PathRoute { parts: Vec::new(), key: String::new(), ends: Vec::new() };
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            if route.parts.len() >= limits::PATH_PARTS {
                break;
            }
            route.segment(bare(segment));
        }
        route
    }

    fn segment(&mut self, segment: &'r str) {
        match segment.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((name, "")) => self.push(PathPart::Value(name), "{}"),
            Some((name, rest)) if rest.starts_with(':') && !rest.contains('{') => {
                self.push(PathPart::Value(name), "{}");
                self.push(PathPart::Word(&rest[1..]), rest);
            }
            None if !segment.contains('{') => self.push(PathPart::Word(segment), segment),
            _ => self.push(PathPart::Mixed, segment),
        }
    }

    fn push(&mut self, part: PathPart<'r>, text: &str) {
        self.parts.push(part);
        self.key.push('/');
        self.key.push_str(text);
        self.ends.push(self.key.len());
    }

    /// A key for the first parts, equal for all paths with the same prefix.
    pub(super) fn key(&self, parts: usize) -> &str {
        match parts {
            0 => "",
            parts => &self.key[..self.ends[parts - 1]],
        }
    }

    /// The last literal among the first parts: the collection that the following parameters belong
    /// to.
    pub(super) fn word(&self, parts: usize) -> Option<&'r str> {
        self.parts[..parts].iter().rev().find_map(|part| match part {
            PathPart::Word(word) => Some(*word),
            PathPart::Value(_) | PathPart::Mixed => None,
        })
    }

    /// Whether the first parts are only an API prefix and a version.
    pub(super) fn is_top(&self, parts: usize) -> bool {
        self.parts[..parts].iter().all(|part| match part {
            PathPart::Word(word) => matches!(*word, "api" | "apis" | "rest") || is_version(word),
            PathPart::Value(_) | PathPart::Mixed => false,
        })
    }
}

/// `v1`, `2.0`, `2010-04-01`.
pub(super) fn is_version(word: &str) -> bool {
    let number = word.strip_prefix(['v', 'V']).unwrap_or(word);
    number.starts_with(|c: char| c.is_ascii_digit())
}

/// Strips the format extension that some paths have.
fn bare(segment: &str) -> &str {
    let ending = [".json", ".xml"].iter().find_map(|ending| segment.strip_suffix(ending));
    ending.filter(|rest| !rest.is_empty()).unwrap_or(segment)
}

#[cfg(test)]
mod tests {
    use super::{PathPart, PathRoute};

    #[test]
    fn parts_and_keys() {
        let route = PathRoute::new("/v1/orders/{order_id}/items/{id}.json");
        assert_eq!(route.parts[4], PathPart::Value("id"));
        assert_eq!(route.key(4), "/v1/orders/{}/items");
        assert_eq!(route.key(4), PathRoute::new("/v1/orders/{o}/items.json").key(4));
        assert_eq!(route.word(3), Some("orders"));
        assert!(route.is_top(1) && !route.is_top(2));
    }

    #[test]
    fn odd_segments() {
        let route = PathRoute::new("/a/{x}:cancel/{base}...{head}#frag");
        let expected =
            [PathPart::Word("a"), PathPart::Value("x"), PathPart::Word("cancel"), PathPart::Mixed];
        assert_eq!(route.parts, expected);
    }
}
