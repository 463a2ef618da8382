//! Properties that hold for every table and every query.

use milepost_catalog::search::{Filter, SearchEntry, SearchIndex};
use milepost_catalog::table::Row;
use proptest::prelude::*;

use crate::table::{SHOP, rows};

fn names(rows: &[Row], query: &str, limit: usize) -> Vec<String> {
    let index =
        SearchIndex::new(rows.iter().map(|row| SearchEntry::Command { catalog: "shop", row }));
    let hits = index.search(query, &Filter::default(), limit);
    hits.iter().map(|hit| rows[hit.entry].name.clone()).collect()
}

/// Words from the table, words similar to those, and unrelated words.
fn query() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "(list|get|create|delete|orders?|items?|customer|config|maps?|reports|my|all|of|to|an)",
        "[a-zöß]{1,9}",
        "\\PC{0,6}",
    ];
    proptest::collection::vec(word, 0..8).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_search_keeps_its_promises(query in query(), limit in 0_usize..30) {
        let rows = rows(SHOP);
        let entries = rows.iter().map(|row| SearchEntry::Command { catalog: "shop", row });
        let index = SearchIndex::new(entries);
        let hits = index.search(&query, &Filter::default(), limit);
        prop_assert!(hits.len() <= limit);
        prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && hit.score > 0.0));
        prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
        let mut entries: Vec<usize> = hits.iter().map(|hit| hit.entry).collect();
        entries.sort_unstable();
        entries.dedup();
        prop_assert_eq!(entries.len(), hits.len());
    }

    #[test]
    fn the_order_of_the_table_does_not_matter(query in query(), turn in 0_usize..20) {
        let rows = rows(SHOP);
        let mut turned = rows.clone();
        turned.rotate_left(turn);
        prop_assert_eq!(names(&rows, &query, 30), names(&turned, &query, 30));
    }

    #[test]
    fn any_words_can_be_indexed(summary in "\\PC{0,80}", path in "[/{}#.:a-zA-Z0-9ü-]{0,40}") {
        let mut rows = rows(&SHOP[..2]);
        rows[0].summary.clone_from(&summary);
        rows[0].description = summary.clone();
        rows[0].path = path;
        names(&rows, &summary, 5);
    }

    #[test]
    fn the_name_of_a_command_finds_it(at in 0_usize..20) {
        let rows = rows(SHOP);
        prop_assert_eq!(&names(&rows, &rows[at].name, 1)[0], &rows[at].name);
    }
}
