//! JSON as editors write it, with comments and commas behind the last value, read with places.

use serde_json::{Map, Value};

use super::edit::EditFault;
use crate::limits;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Plain(Value),
}

/// A key, its value, and the comma behind it when there is one.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) value: Node,
    pub(super) comma: Option<usize>,
}

impl Node {
    /// The members, when this is an object.
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The same value without places.
    pub(super) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Plain(value) => value.clone(),
            Kind::Array(items) => items.iter().map(Node::to_value).collect(),
            Kind::Object(members) => {
                let pairs = members.iter().map(|one| (one.key.clone(), one.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

/// Reads a text; nothing when there are only blanks and comments in it.
pub(super) fn parse(text: &str) -> Result<Option<Node>, EditFault> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    reader.skip()?;
    if reader.peek().is_none() {
        return Ok(None);
    }
    let node = reader.value()?;
    reader.skip()?;
    match reader.peek() {
        None => Ok(Some(node)),
        Some(_) => Err(reader.fault("something stands behind the end")),
    }
}

/// Where the comments end that stand behind an offset in the same line; the offset itself when
/// there are none.
pub(super) fn behind_comments(text: &str, offset: usize) -> usize {
    let mut end = offset;
    loop {
        let rest = &text[end..];
        let start = end + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
        let comment = &text[start..];
        if comment.starts_with("//") {
            let line = comment.find('\n').map_or(comment, |newline| &comment[..newline]);
            return start + line.trim_end_matches('\r').len();
        }
        let closed = comment.starts_with("/*").then(|| comment[2..].find("*/")).flatten();
        match closed.map(|inner| inner + 4) {
            Some(length) if !comment[..length].contains('\n') => end = start + length,
            _ => return end,
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn fault(&self, message: &str) -> EditFault {
        EditFault::new(self.at, message)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Blanks and comments.
    fn skip(&mut self) -> Result<(), EditFault> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(inner) = rest.strip_prefix("/*") {
                let Some(length) = inner.find("*/") else {
                    return Err(self.fault("a comment does not end"));
                };
                self.at += length + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<Node, EditFault> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.nested(Reader::object)?,
            Some(b'[') => self.nested(Reader::array)?,
            Some(b'"') => Kind::Plain(Value::String(self.string()?)),
            Some(_) => Kind::Plain(self.word()?),
            None => return Err(self.fault("the text ends where a value must stand")),
        };
        Ok(Node { start, end: self.at, kind })
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Kind, EditFault>,
    ) -> Result<Kind, EditFault> {
        self.depth += 1;
        if self.depth > limits::JSONC_DEPTH {
            return Err(self.fault("it is nested too deep"));
        }
        self.at += 1;
        let kind = read(self)?;
        self.at += 1;
        self.depth -= 1;
        Ok(kind)
    }

    /// From behind the `{` up to the `}`.
    fn object(&mut self) -> Result<Kind, EditFault> {
        let mut members = Vec::new();
        loop {
            self.skip()?;
            match self.peek() {
                Some(b'}') => return Ok(Kind::Object(members)),
                Some(b'"') => {}
                _ => return Err(self.fault("a key in double quotes or `}` must stand here")),
            }
            let start = self.at;
            let key = self.string()?;
            self.skip()?;
            if self.peek() != Some(b':') {
                return Err(self.fault("`:` must stand here"));
            }
            self.at += 1;
            self.skip()?;
            let value = self.value()?;
            let comma = self.comma(b'}')?;
            members.push(Member { key, start, value, comma });
        }
    }

    /// From behind the `[` up to the `]`.
    fn array(&mut self) -> Result<Kind, EditFault> {
        let mut items = Vec::new();
        loop {
            self.skip()?;
            if self.peek() == Some(b']') {
                return Ok(Kind::Array(items));
            }
            items.push(self.value()?);
            self.comma(b']')?;
        }
    }

    /// The comma behind a value; without one it is the last.
    fn comma(&mut self, close: u8) -> Result<Option<usize>, EditFault> {
        self.skip()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(Some(self.at - 1))
            }
            Some(byte) if byte == close => Ok(None),
            _ => Err(self.fault(&format!("`,` or `{}` must stand here", char::from(close)))),
        }
    }

    fn string(&mut self) -> Result<String, EditFault> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return Err(self.fault("a text does not end in its line")),
            }
        }
        self.at += 1;
        let quoted = &self.text[start..self.at];
        // Half of a pair of surrogates is none of ours: it is compared as it is spelled.
        Ok(serde_json::from_str(quoted).unwrap_or_else(|_| quoted.to_owned()))
    }

    fn escape(&mut self) -> Result<(), EditFault> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let length = match rest.first() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if rest.len() > 4 && rest[1..5].iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return Err(self.fault("a backslash begins nothing that is known here")),
        };
        self.at += length;
        Ok(())
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, EditFault> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let rest = self.rest();
        let word = &rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())];
        let value = serde_json::from_str(word).map_err(|_| self.fault("here stands no value"))?;
        self.at += word.len();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{behind_comments, parse};

    #[test]
    fn comments_and_commas_are_read_over() {
        let text = "// a\n{ /* b */ \"x\": [1, -2.5e3, true,], // c\n \
                    \"y\\u00e9\": {\"z\": null,}, }\n";
        let node = parse(text).expect("is read").expect("holds a value");
        assert_eq!(node.to_value(), json!({"x": [1, -2500.0, true], "yé": {"z": null}}));
        let members = node.members().expect("is an object");
        assert_eq!(&text[members[0].start..members[0].value.end], "\"x\": [1, -2.5e3, true,]");
        assert_eq!(members[1].comma.map(|at| &text[at..]), Some(", }\n"));
        assert!(parse(" // nothing\n/* here */").expect("is read").is_none());
    }

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        let cases = [
            ("{\"a\" 1}", 5),
            ("{\"a\": 1 \"b\": 2}", 8),
            ("{\"a\": }", 6),
            ("{a: 1}", 1),
            ("{\"a\": 'b'}", 6),
            ("{\"a\": \"b\n\"}", 8),
            ("{\"a\": \"\\x\"}", 7),
            ("{} {}", 3),
            ("{,}", 1),
            ("[1,,2]", 3),
            ("{\"a\": 01}", 6),
            ("/* open", 0),
            ("{\"a\": [1", 8),
            ("{\"a\": NaN}", 6),
        ];
        for (text, offset) in cases {
            let fault = parse(text).expect_err(text);
            assert_eq!(fault.offset, offset, "{text}");
        }
        parse(&"[".repeat(100_000)).expect_err("is too deep");
    }

    #[test]
    fn the_end_of_comments_in_a_line() {
        let end = |text: &str| behind_comments(text, 1);
        assert_eq!(end("1 \n"), 1);
        assert_eq!(end("1 // a\r\n}"), 6);
        assert_eq!(end("1 /* a */ /* b */ }"), 17);
        assert_eq!(end("1 /* a\n */"), 1);
        assert_eq!(end("1 /* open"), 1);
    }
}
