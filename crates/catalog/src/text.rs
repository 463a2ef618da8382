//! Sanitizes third-party text, so that what people and models see of a document is bounded in
//! length and contains no character that changes how other text is displayed.

use std::borrow::Cow;

/// Words in order of preference, separated by spaces.
#[derive(Debug, Clone, Copy)]
pub struct WordList(pub &'static str);

impl WordList {
    pub fn iter(self) -> impl Iterator<Item = &'static str> + Clone {
        self.0.split_ascii_whitespace()
    }

    pub fn contains(self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }
}

/// HTML tags that occur in documents; anything else in angle brackets is kept.
const TAGS: WordList = WordList(
    "a b blockquote br code div em h1 h2 h3 h4 h5 h6 hr i img li ol p pre small span strong sub \
     sup table tbody td th thead tr u ul",
);

/// Strips HTML markup.
pub fn without_html(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '&']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        plain.push_str(&rest[..at]);
        let inside = &rest[at + 1..];
        let end = inside.find('>').filter(|end| is_tag(&inside[..*end]));
        if let Some(end) = end {
            rest = &inside[end + 1..];
        } else {
            plain.push('<');
            rest = inside;
        }
    }
    plain.push_str(rest);
    for (entity, letter) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " ")]
    {
        if plain.contains(entity) {
            plain = plain.replace(entity, letter);
        }
    }
    Cow::Owned(plain.replace("&amp;", "&"))
}

fn is_tag(inside: &str) -> bool {
    let name = inside.strip_prefix('/').unwrap_or(inside);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let (name, behind) = name.split_at(end);
    let ends = behind.is_empty() || behind.starts_with([' ', '/', '\n']);
    ends && TAGS.contains(name.to_ascii_lowercase().as_str())
}

/// Sanitizes `text` to one line of at most `chars` characters.
pub fn line(text: &str, chars: usize) -> String {
    let mut clean = String::new();
    let mut count = 0;
    for word in text.split(char::is_whitespace) {
        let word: String = word.chars().filter(|c| !hidden(*c)).collect();
        if word.is_empty() {
            continue;
        }
        let gap = usize::from(!clean.is_empty());
        let length = word.chars().count();
        if count + gap + length > chars {
            return cut(&clean, &word, chars);
        }
        if gap == 1 {
            clean.push(' ');
        }
        clean.push_str(&word);
        count += gap + length;
    }
    clean
}

/// Sanitizes `text` to several lines of at most `chars` characters in total.
pub fn block(text: &str, chars: usize) -> String {
    let mut clean = String::new();
    let mut count = 0;
    for c in text.trim().chars() {
        let c = if c == '\r' || c == '\t' { ' ' } else { c };
        if c != '\n' && hidden(c) {
            continue;
        }
        count += 1;
        if count > chars {
            clean.pop();
            clean.push('…');
            return clean;
        }
        clean.push(c);
    }
    clean
}

/// Truncates at a word boundary if possible, and appends an ellipsis.
fn cut(clean: &str, word: &str, chars: usize) -> String {
    let shown = if clean.is_empty() { word } else { clean };
    shown.chars().take(chars.saturating_sub(1)).chain(['…']).collect()
}

/// Characters that are invisible but change the text around them: controls, bidirectional marks,
/// zero-width characters, tags.
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// `createPullRequest`, `Create pull_request` → `create-pull-request`. Non-ASCII letters are
/// dropped; `None` if nothing is left.
pub fn kebab(text: &str) -> Option<String> {
    let mut word = String::new();
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if c.is_ascii_alphanumeric() {
            let next_lower = letters.peek().is_some_and(char::is_ascii_lowercase);
            let starts = c.is_ascii_uppercase()
                && (before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && next_lower));
            if starts && !word.is_empty() && !word.ends_with('-') {
                word.push('-');
            }
            word.push(c.to_ascii_lowercase());
        } else if !word.is_empty() && !word.ends_with('-') && c != '\'' {
            word.push('-');
        }
        before = c;
    }
    while word.ends_with('-') {
        word.pop();
    }
    (!word.is_empty()).then_some(word)
}

/// A piece of a template such as the path `/orders/{id}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplatePiece<T> {
    Text(T),
    /// A placeholder, without its braces.
    Name(T),
}

impl TemplatePiece<&str> {
    /// The piece as owned strings, with `text` applied to literal text but not to names.
    pub fn owned(self, text: impl Fn(&str) -> String) -> TemplatePiece<String> {
        match self {
            TemplatePiece::Text(own) => TemplatePiece::Text(text(own)),
            TemplatePiece::Name(name) => TemplatePiece::Name(name.to_owned()),
        }
    }
}

/// Splits a template into its pieces, omitting empty text.
pub fn template_pieces(template: &str) -> Vec<TemplatePiece<&str>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{')
        && let Some(length) = rest[open..].find('}')
    {
        let name = &rest[open + 1..open + length];
        pieces.extend([TemplatePiece::Text(&rest[..open]), TemplatePiece::Name(name)]);
        rest = &rest[open + length + 1..];
    }
    pieces.push(TemplatePiece::Text(rest));
    pieces.retain(|piece| *piece != TemplatePiece::Text(""));
    pieces
}

/// Normalizes a name for comparison by dropping punctuation and case: `next_page_token` equals
/// `nextPageToken`.
pub fn bare_word(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{block, kebab, line, without_html};

    #[test]
    fn one_line() {
        assert_eq!(line("  a\n\tb\u{202e}c\u{0} ", 20), "a bc");
        assert_eq!(line("one two three", 9), "one two…");
        assert_eq!(line("abcdefghij", 5), "abcd…");
        assert_eq!(line("abcde", 5), "abcde");
        assert_eq!(line("", 5), "");
    }

    #[test]
    fn html_is_taken_out() {
        let text = "<p>Returns a <a href=\"x\">list</a> of List&lt;T&gt; &amp; more.</p>";
        assert_eq!(without_html(text), "Returns a list of List<T> & more.");
        assert_eq!(without_html("a < b, Map<String>, <|x|>"), "a < b, Map<String>, <|x|>");
    }

    #[test]
    fn several_lines() {
        assert_eq!(block("a\r\nb\u{1b}[31m\n", 20), "a \nb[31m");
        assert_eq!(block("abcdef", 4), "abc…");
        assert_eq!(block("abcd", 4), "abcd");
    }

    #[test]
    fn words() {
        let cases = [
            ("createPullRequest", "create-pull-request"),
            ("HTTPServer", "http-server"),
            ("getV2Users", "get-v2-users"),
            ("../../x", "x"),
            ("Order's Übersicht", "orders-bersicht"),
            ("a--b__c", "a-b-c"),
        ];
        for (text, expected) in cases {
            assert_eq!(kebab(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(kebab("…"), None);
    }
}
