//! Renders violations: the source line, a caret, the message and the fix.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};
use milepost_model::finding::Severity;
use milepost_model::violation::Violation;
use milepost_syntax::source::Source;

use crate::limits;
use crate::terminal::{safe, wrap_words};

/// Renders a violation in color; the stream strips colors if they are unwanted.
pub(crate) fn render(
    violation: &Violation,
    name: &str,
    source: Option<&Source>,
    width: usize,
) -> String {
    let level = match violation.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let rule = violation.rule.name();
    let indent = violation.severity.name().len() + rule.len() + "[]: ".len();
    let message = wrap_words(&safe(&violation.message), width.saturating_sub(indent));
    let title = level.primary_title(message).id(rule);
    let window = source.map(|source| Window::of(source, violation));
    let name = safe(name);
    let (line, column) = (violation.line as usize, violation.column as usize);
    let origin = Origin::path(name.as_str()).line(line).char_column(column);
    let mut main = match &window {
        Some(window) if window.text.is_empty() => title.element(origin),
        Some(window) if window.cut => title.element(origin).element(window.snippet(violation)),
        Some(window) => title.element(window.snippet(violation).path(name.as_str())),
        None => title.element(origin),
    };
    // A note is indented by the line number: `1234 = note: `.
    let beside = width.saturating_sub(line.to_string().len() + " = note: ".len());
    let expected = violation.expected.as_ref().filter(|_| !suggestion_covers_expected(violation));
    if let Some(expected) = expected {
        main = main.element(
            Level::NOTE.message(wrap_words(&format!("expected {}", safe(expected)), beside)),
        );
    }
    let mut groups = vec![main];
    if let Some(suggestion) = &violation.suggestion {
        let suggestion = wrap_words(&safe(suggestion), width.saturating_sub("help: ".len()));
        groups.push(help(suggestion, violation, window.as_ref()));
    }
    let renderer = Renderer::styled().decor_style(DecorStyle::Ascii).term_width(width);
    let drawing = renderer.render(&groups);
    match window {
        Some(window) if window.cut => without_gap(&drawing),
        _ => drawing,
    }
}

/// Removes the separator that the renderer draws between the origin and a truncated line, as if
/// there were a second file.
fn without_gap(drawing: &str) -> String {
    let gap = |line: &&str| anstream::adapter::strip_str(line).to_string().trim() == ":::";
    drawing.lines().filter(|line| !gap(line)).collect::<Vec<_>>().join("\n")
}

/// Whether the suggestion already states what was expected.
fn suggestion_covers_expected(violation: &Violation) -> bool {
    match (&violation.expected, &violation.suggestion) {
        (Some(expected), Some(suggestion)) => suggestion.contains(expected.as_str()),
        _ => false,
    }
}

fn help<'a>(
    suggestion: String,
    violation: &'a Violation,
    window: Option<&Window<'a>>,
) -> Group<'a> {
    let title = Level::HELP.secondary_title(suggestion);
    let (Some(fix), Some(window)) = (&violation.fix, window) else {
        return Group::with_title(title);
    };
    let patches: Option<Vec<Patch<'_>>> = fix
        .edits
        .iter()
        .map(|edit| {
            let (start, end) = (edit.at.start as usize, edit.at.end as usize);
            let inside = start >= window.start && end <= window.start + window.text.len();
            let range = start.wrapping_sub(window.start)..end.wrapping_sub(window.start);
            inside.then(|| Patch::new(range, edit.text.as_str()))
        })
        .collect();
    match patches {
        // Changes to other lines are only described; `--fix` applies them.
        Some(patches) if !patches.is_empty() => {
            title.element(Snippet::source(window.text).line_start(window.line).patches(patches))
        }
        _ => Group::with_title(title),
    }
}

/// The line with a violation, extracted so that a large document is not rendered repeatedly.
struct Window<'s> {
    text: &'s str,
    start: usize,
    line: usize,
    related: Option<(std::ops::Range<usize>, &'static str)>,
    /// Whether the source is only part of a very long line.
    cut: bool,
}

impl<'s> Window<'s> {
    fn of(source: &'s Source, violation: &Violation) -> Window<'s> {
        let text = source.text();
        let at = (violation.at.start as usize).min(text.len());
        let mut start = source.line_start(at as u32);
        let mut line = violation.line as usize;
        let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
        let mut related = None;
        if let Some((other, label)) = violation.related {
            let other_start = (other.start as usize).min(text.len());
            let first = source.line_start(other_start as u32);
            if first <= start && start - first <= limits::SOURCE_AROUND_BYTES {
                start = first;
                line = source.position(other.start).0 as usize;
                related = Some((other_start - first..other.end as usize - first, label));
            }
        }
        if end - start <= 4 * limits::SOURCE_AROUND_BYTES {
            return Window { text: &text[start..end], start, line, related, cut: false };
        }
        let start =
            text.floor_char_boundary(at.saturating_sub(limits::SOURCE_AROUND_BYTES).max(start));
        let end = text.floor_char_boundary((at + limits::SOURCE_AROUND_BYTES).min(end));
        let line = violation.line as usize;
        Window { text: &text[start..end], start, line, related: None, cut: true }
    }

    fn snippet(&self, violation: &Violation) -> Snippet<'s, annotate_snippets::Annotation<'s>> {
        let limit = self.text.len();
        let start = (violation.at.start as usize - self.start).min(limit);
        // If a violation covers a whole map, only its first line is marked.
        let line_end = self.text[start..].find('\n').map_or(limit, |newline| start + newline);
        let end = (violation.at.end as usize).saturating_sub(self.start).clamp(start, line_end);
        let snippet = Snippet::source(self.text)
            .line_start(self.line)
            .fold(true)
            .annotation(AnnotationKind::Primary.span(start..end));
        match &self.related {
            Some((range, label)) => {
                snippet.annotation(AnnotationKind::Context.span(range.clone()).label(*label))
            }
            None => snippet,
        }
    }
}
