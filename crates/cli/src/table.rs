//! Plain tables. Columns are as wide as needed; if they do not fit, the widest ones shrink.

use milepost_model::secret::known_secrets;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::limits;
use crate::terminal::safe;

/// Renders rows under their headings, within a width.
pub(crate) fn render(headings: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let rows = clean(rows);
    let mut columns = widths(headings, &rows);
    fit(&mut columns, width);
    laid_out(headings, &rows, &columns, width)
}

/// Like [`render`], but only the column `gives` shrinks, and the columns in `drops` are omitted one
/// by one until the table fits. The other columns are never truncated, regardless of the width.
pub(crate) fn render_whole(
    headings: &[&str],
    rows: &[Vec<String>],
    width: usize,
    gives: usize,
    drops: &[usize],
) -> String {
    let rows = clean(rows);
    let mut columns = widths(headings, &rows);
    let least = columns[gives].min(limits::TABLE_COLUMN_MIN);
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let over = |columns: &[usize], kept: &[usize], given: usize| {
        let of = |index: &usize| if *index == gives { given } else { columns[*index] };
        let total = kept.iter().map(|index| of(index) + GAP).sum::<usize>();
        total.saturating_sub(GAP).saturating_sub(width)
    };
    for drop in drops {
        if over(&columns, &kept, least) > 0 {
            kept.retain(|index| index != drop);
        }
    }
    columns[gives] -= over(&columns, &kept, columns[gives]).min(columns[gives] - least);
    let chosen = |row: &[String]| -> Vec<String> {
        kept.iter().map(|index| row.get(*index).cloned().unwrap_or_default()).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| chosen(row)).collect();
    let headings: Vec<&str> = kept.iter().map(|index| headings[*index]).collect();
    let columns: Vec<usize> = kept.iter().map(|index| columns[*index]).collect();
    laid_out(&headings, &rows, &columns, usize::MAX)
}

/// Sanitizes cells and puts each on one line.
fn clean(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let cell = |cell: &String| safe(cell).replace('\n', " ");
    rows.iter().map(|row| row.iter().map(cell).collect()).collect()
}

fn widths(headings: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |(index, heading): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| cell.width()).chain([heading.width()]).max().unwrap_or(0)
    };
    headings.iter().enumerate().map(width).collect()
}

fn laid_out(headings: &[&str], rows: &[Vec<String>], columns: &[usize], width: usize) -> String {
    let headings: Vec<String> = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let mut lines = vec![line(&headings, columns, width)];
    lines.extend(rows.iter().map(|row| line(row, columns, width)));
    lines.join("\n")
}

/// Shrinks the widest columns, except the first, which identifies the rows.
fn fit(columns: &mut [usize], width: usize) {
    let mut total: usize = columns.iter().map(|column| column + GAP).sum::<usize>() - GAP;
    while total > width {
        let widest = columns.iter_mut().skip(1).max_by_key(|column| **column);
        match widest.filter(|column| **column > limits::TABLE_COLUMN_MIN) {
            Some(column) => *column -= 1,
            // Anything beyond the width is cut off.
            None => return,
        }
        total -= 1;
    }
}

/// Spaces between two columns.
const GAP: usize = 2;

fn line(cells: &[String], columns: &[usize], width: usize) -> String {
    let mut line = String::new();
    for (cell, column) in cells.iter().zip(columns) {
        let cell = cut(cell, *column);
        line.push_str(&cell);
        line.push_str(&" ".repeat(column.saturating_sub(cell.width()) + GAP));
    }
    cut(line.trim_end(), width)
}

/// Truncates a string to a width, with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    // Masked first, because half a secret would not be found later.
    let text = &*known_secrets::shown(text);
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
    use super::{cut, render, render_whole};

    const RUN: &str = "run_00000000000000000000000001";

    fn runs(width: usize) -> String {
        let row = [RUN, "a-workflow-with-a-rather-long-name", "2026-11-17 03:05", "interrupted"];
        let rows = vec![row.map(str::to_owned).to_vec()];
        render_whole(&["run", "workflow", "started", "status"], &rows, width, 1, &[2, 1])
    }

    #[test]
    fn what_names_a_row_and_how_it_stands_is_never_cut() {
        for width in 40..120 {
            let table = runs(width);
            let row = table.lines().nth(1).expect("a row");
            assert!(row.starts_with(RUN) && row.ends_with("  interrupted"), "{width}: {row}");
            // These two columns alone take 43.
            assert!(table.lines().all(|line| line.chars().count() <= width.max(43)), "{table}");
        }
    }

    #[test]
    fn the_least_important_give_way_first() {
        let row = |width| runs(width).lines().nth(1).expect("a row").replace(RUN, "R");
        assert_eq!(
            row(100),
            "R  a-workflow-with-a-rather-long-name  2026-11-17 03:05  interrupted"
        );
        assert_eq!(row(80), "R  a-workflow-with-…  2026-11-17 03:05  interrupted");
        assert_eq!(row(60), "R  a-workflow-wit…  interrupted");
        assert_eq!(row(40), "R  interrupted");
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "long cell".into()], vec!["比較".into(), "x".into()]];
        let table = render(&["id", "title"], &rows, 80);
        assert_eq!(table, "ID    TITLE\na     long cell\n比較  x");
    }

    #[test]
    fn the_widest_gives_way_and_the_first_does_not() {
        let row = ["the-name-of-it", "a line that is rather long", "succeeded"];
        let rows = vec![row.map(str::to_owned).to_vec()];
        let table = render(&["name", "text", "status"], &rows, 40);
        let expected =
            "NAME            TEXT           STATUS\nthe-name-of-it  a line that…   succeeded";
        assert_eq!(table, expected);
        assert!(render(&["name", "text", "status"], &rows, 20).lines().all(|one| one.len() <= 22));
    }

    #[test]
    fn cuts_by_columns() {
        assert_eq!(cut("比較する", 5), "比較…");
        assert_eq!(cut("short", 5), "short");
    }
}
