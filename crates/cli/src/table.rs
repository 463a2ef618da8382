//! Plain tables: columns as wide as they need to be, the last one cut to fit.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::safe;

/// Lays rows out under their headings, within a width.
pub(crate) fn render(headings: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| safe(cell).replace('\n', " ")).collect())
        .collect();
    let columns: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(index, heading)| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| cell.width()).chain([heading.width()]).max().unwrap_or(0)
        })
        .collect();
    let headings: Vec<String> = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let mut lines = vec![line(&headings, &columns, width)];
    lines.extend(rows.iter().map(|row| line(row, &columns, width)));
    lines.join("\n")
}

fn line(cells: &[String], columns: &[usize], width: usize) -> String {
    let mut line = String::new();
    for (index, cell) in cells.iter().enumerate() {
        line.push_str(cell);
        if index + 1 < cells.len() {
            let gap = columns[index].saturating_sub(cell.width()) + 2;
            line.push_str(&" ".repeat(gap));
        }
    }
    cut(line.trim_end(), width)
}

/// At most so many columns; what is left out is shown to be.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        shown.push(c);
    }
    format!("{}…", shown.trim_end())
}

#[cfg(test)]
mod tests {
    use super::{cut, render};

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "long cell".into()], vec!["比較".into(), "x".into()]];
        let table = render(&["id", "title"], &rows, 80);
        assert_eq!(table, "ID    TITLE\na     long cell\n比較  x");
    }

    #[test]
    fn cuts_by_columns() {
        assert_eq!(cut("比較する", 5), "比較…");
        assert_eq!(cut("short", 5), "short");
    }
}
