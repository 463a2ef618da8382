//! Each guarantee of search, on a table small enough to read.

use milepost_catalog::command::Method;
use milepost_catalog::search::{Filter, SearchEntry, SearchIndex, WORKFLOWS};

use crate::table::{SHOP, found, rows};

#[track_caller]
fn check(query: &str, expected: &str) {
    let found = found(SHOP, query);
    assert_eq!(found.first().map(String::as_str), Some(expected), "{query}: {found:#?}");
}

#[test]
fn the_verb_decides_between_methods() {
    check("create order", "POST /orders");
    check("new order", "POST /orders");
    check("list orders", "GET /orders");
    check("show all orders", "GET /orders");
    check("get an order", "GET /orders/{order_id}");
    check("change an order", "PATCH /orders/{order_id}");
    check("replace an order", "PUT /orders/{order_id}");
    check("remove an order", "DELETE /orders/{order_id}");
    check("delete all orders", "DELETE /orders");
    check("cancel order", "POST /orders/{order_id}/cancel");
    check("find orders", "GET /orders/search");
}

#[test]
fn the_thing_comes_before_what_it_belongs_to() {
    check("items of an order", "GET /orders/{order_id}/items");
    check("add an item to an order", "POST /orders/{order_id}/items");
    check("orders of a customer", "GET /customers/{customer_id}/orders");
    check("customers", "GET /customers");
}

#[test]
fn a_name_or_operation_id_comes_first_however_it_is_spelled() {
    check("getOrder", "GET /orders/{order_id}");
    check("get_order", "GET /orders/{order_id}");
    check("orders:items:list", "GET /orders/{order_id}/items");
    check("shop orders:items:list", "GET /orders/{order_id}/items");
    check("listcustomers", "GET /customers");
    check("customers:orders:list", "GET /customers/{customer_id}/orders");
}

#[test]
fn words_are_joined_split_completed_and_mended() {
    check("list configmaps", "GET /config_maps");
    check("list config-maps", "GET /config_maps");
    check("list custmers", "GET /customers");
    check("list cusotmers", "GET /customers");
    check("list cust", "GET /customers");
    check("who am i", "GET /me");
    check("whoami", "GET /me");
    assert_eq!(found(SHOP, "ordr"), [""; 0], "a short word is not guessed at");
}

#[test]
fn what_is_asked_with_post_says_so_in_its_name() {
    let table = &[
        "POST /getChat | getChat | Use this method to get a chat",
        "POST /deleteChat | deleteChat | Use this method to delete a chat",
        "POST /setChatTitle | setChatTitle | Use this method to change the title of a chat",
        "POST /createChat | createChat | Use this method to make a chat",
    ];
    for (query, expected) in [
        ("show a chat", "POST /getChat"),
        ("remove a chat", "POST /deleteChat"),
        ("new chat", "POST /createChat"),
        ("change chat title", "POST /setChatTitle"),
    ] {
        assert_eq!(found(table, query)[0], expected, "{query}");
    }
}

#[test]
fn what_an_api_has_no_deed_for_is_an_update() {
    check("close an order", "PATCH /orders/{order_id}");
    check("archive an order", "PATCH /orders/{order_id}");
}

#[test]
fn what_is_settled_comes_before_what_is_not() {
    let reports = found(SHOP, "list reports");
    assert_eq!(reports[..3], ["GET /v1/reports", "GET /v1beta1/reports", "GET /v2alpha1/reports"]);
    let table = &["GET /a/notes | - | List notes | deprecated", "GET /b/notes | - | List notes"];
    assert_eq!(found(table, "list notes"), ["GET /b/notes", "GET /a/notes"]);
}

#[test]
fn ties_go_to_the_shorter_name() {
    let table = &[
        "GET /teams/notes | - | List notes",
        "GET /bb/notes | - | List notes",
        "GET /aa/notes | - | List notes",
    ];
    assert_eq!(found(table, "notes"), ["GET /aa/notes", "GET /bb/notes", "GET /teams/notes"]);
}

#[test]
fn nonsense_finds_nothing() {
    for query in ["", "   ", "???", "the of a", "xyzzy", "purple monkey dishwasher", "a", "🍕"] {
        assert_eq!(found(SHOP, query), [""; 0], "{query}");
    }
    assert_eq!(found(SHOP, "order a large pepperoni pizza with extra cheese"), [""; 0]);
    assert_eq!(found(&[], "list orders"), [""; 0]);
}

#[test]
fn filters() {
    let rows = rows(SHOP);
    let entries = |catalog| rows.iter().map(move |row| SearchEntry::Command { catalog, row });
    let index = SearchIndex::new(entries("one").chain(entries("two")));
    let search = |filter: &Filter<'_>, limit| index.search("orders", filter, limit);
    let one = Filter { catalog: Some("one"), method: None };
    assert!(search(&one, 50).iter().all(|hit| hit.entry < rows.len()));
    let two = Filter { catalog: Some("two"), method: Some(Method::Post) };
    let hits = search(&two, 50);
    assert!(!hits.is_empty());
    assert!(hits.iter().all(|hit| hit.entry >= rows.len()));
    assert!(hits.iter().all(|hit| rows[hit.entry - rows.len()].method == Method::Post));
    assert_eq!(search(&Filter { catalog: Some("three"), method: None }, 50), []);
    assert_eq!(search(&Filter::default(), 3).len(), 3);
    assert_eq!(search(&Filter::default(), 0), []);
    assert_eq!(index.len(), 2 * rows.len());
}

#[test]
fn the_catalog_may_be_named() {
    let rows = rows(SHOP);
    let entries = |catalog| rows.iter().map(move |row| SearchEntry::Command { catalog, row });
    let index = SearchIndex::new(entries("acme").chain(entries("initech")));
    for (query, from) in [("acme list orders", 0), ("list orders in initech", rows.len())] {
        let best = index.search(query, &Filter::default(), 1)[0].entry;
        assert_eq!(best, from, "{query}");
    }
}

#[test]
fn workflows_are_found_beside_commands() {
    let rows = rows(SHOP);
    let commands = rows.iter().map(|row| SearchEntry::Command { catalog: "shop", row });
    let workflow = SearchEntry::Workflow {
        id: "nightly-restock",
        title: "Restock the warehouse",
        description: "Reads what is sold out and orders it again.",
    };
    assert_eq!((workflow.group(), workflow.name()), (WORKFLOWS, "nightly-restock"));
    let index = SearchIndex::new(commands.chain([workflow]));
    let best =
        |query: &str| index.search(query, &Filter::default(), 5).first().map(|hit| hit.entry);
    for query in
        ["restock warehouse", "nightly-restock", "workflow nightly-restock", "nightly restock"]
    {
        assert_eq!(best(query), Some(rows.len()), "{query}");
    }
    let only = Filter { catalog: Some(WORKFLOWS), method: None };
    assert_eq!(index.search("list customers", &only, 5), []);
}
