//! Small tables of commands, written as `METHOD path | operationId | summary`; `-` marks a missing
//! value.

use milepost_catalog::command::Method;
use milepost_catalog::naming::{AssignedNames, assign};
use milepost_catalog::search::{Filter, SearchEntry, SearchIndex};
use milepost_catalog::table::Row;

/// A shop with the operations that most APIs have.
pub(crate) const SHOP: &[&str] = &[
    "GET /orders | listOrders | List orders",
    "POST /orders | createOrder | Create an order",
    "GET /orders/{order_id} | getOrder | Get an order",
    "PATCH /orders/{order_id} | updateOrder | Update an order",
    "PUT /orders/{order_id} | replaceOrder | Replace an order",
    "DELETE /orders/{order_id} | deleteOrder | Delete an order",
    "DELETE /orders | clearOrders | Delete all orders",
    "POST /orders/{order_id}/cancel | cancelOrder | Cancel an order",
    "GET /orders/{order_id}/items | listOrderItems | List the items of an order",
    "POST /orders/{order_id}/items | addOrderItem | Add an item to an order",
    "GET /orders/search | searchOrders | Search orders",
    "GET /customers | listCustomers | List customers",
    "POST /customers | createCustomer | Create a customer",
    "GET /customers/{customer_id} | getCustomer | Get a customer",
    "GET /customers/{customer_id}/orders | listCustomerOrders | List the orders of a customer",
    "GET /me | whoAmI | Get the authenticated user",
    "GET /config_maps | listConfigMaps | List config maps",
    "GET /v1/reports | reportsStable | List reports",
    "GET /v1beta1/reports | reportsBeta | List reports",
    "GET /v2alpha1/reports | reportsAlpha | List reports",
];

/// Parses lines into named rows.
pub(crate) fn rows(lines: &[&str]) -> Vec<Row> {
    let mut rows: Vec<Row> = lines.iter().map(|line| row(line)).collect();
    let lists: Vec<bool> = rows.iter().map(|row| row.summary.starts_with("List")).collect();
    assign(&mut rows, &lists, &AssignedNames::new());
    rows
}

fn row(line: &str) -> Row {
    let parts: Vec<&str> = line.split(" | ").collect();
    let (method, path) = parts[0].split_once(' ').expect("a method and a path");
    Row {
        name: String::new(),
        method: Method::parse(method).expect("a method"),
        path: path.to_owned(),
        pointer: String::new(),
        operation_id: parts.get(1).filter(|id| **id != "-").map(|id| (*id).to_owned()),
        summary: parts.get(2).copied().unwrap_or_default().to_owned(),
        description: String::new(),
        tags: Vec::new(),
        parameters: Vec::new(),
        body: None,
        deprecated: parts.get(3) == Some(&"deprecated"),
    }
}

/// The search results in a table, as `METHOD path`.
pub(crate) fn found(lines: &[&str], query: &str) -> Vec<String> {
    let rows = rows(lines);
    let index =
        SearchIndex::new(rows.iter().map(|row| SearchEntry::Command { catalog: "shop", row }));
    let hits = index.search(query, &Filter::default(), 20);
    hits.iter().map(|hit| rows[hit.entry].key()).collect()
}
