//! Plain tables: columns as wide as they need to be; where they do not fit, the widest give way.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::safe;

/// Lays rows out under their headings, within a width.
pub(crate) fn render(headings: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| safe(cell).replace('\n', " ")).collect())
        .collect();
    let mut columns: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(index, heading)| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| cell.width()).chain([heading.width()]).max().unwrap_or(0)
        })
        .collect();
    fit(&mut columns, width);
    let headings: Vec<String> = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let mut lines = vec![line(&headings, &columns, width)];
    lines.extend(rows.iter().map(|row| line(row, &columns, width)));
    lines.join("\n")
}

/// Takes from the widest columns what is too much, and from the first, by which rows are named,
/// nothing.
fn fit(columns: &mut [usize], width: usize) {
    let mut total: usize = columns.iter().map(|column| column + GAP).sum::<usize>() - GAP;
    while total > width {
        let widest = columns.iter_mut().skip(1).max_by_key(|column| **column);
        match widest.filter(|column| **column > NARROW) {
            Some(column) => *column -= 1,
            // What is left is cut at the edge.
            None => return,
        }
        total -= 1;
    }
}

/// Between two columns.
const GAP: usize = 2;
/// No column gets narrower than this.
const NARROW: usize = 10;

fn line(cells: &[String], columns: &[usize], width: usize) -> String {
    let mut line = String::new();
    for (cell, column) in cells.iter().zip(columns) {
        let cell = cut(cell, *column);
        line.push_str(&cell);
        line.push_str(&" ".repeat(column.saturating_sub(cell.width()) + GAP));
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
    fn the_widest_gives_way_and_the_first_does_not() {
        let row = ["the-name-of-it", "a text that is rather long", "succeeded"];
        let rows = vec![row.map(str::to_owned).to_vec()];
        let table = render(&["name", "text", "status"], &rows, 40);
        let expected =
            "NAME            TEXT           STATUS\nthe-name-of-it  a text that…   succeeded";
        assert_eq!(table, expected);
        assert!(render(&["name", "text", "status"], &rows, 20).lines().all(|one| one.len() <= 22));
    }

    #[test]
    fn cuts_by_columns() {
        assert_eq!(cut("比較する", 5), "比較…");
        assert_eq!(cut("short", 5), "short");
    }
}
