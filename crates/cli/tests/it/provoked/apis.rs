//! Catalogs, commands, and the APIs behind them.

use serde_json::json;

use super::Told;
use crate::runs::{DEPOT, depot};
use crate::server::{Reply, Server, json as answer};
use crate::{Place, finish};

const SHOP: &str = include_str!("../../../../../examples/shop.yaml");

/// A folder with a shop whose commands need a key.
fn shop() -> Place {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.say("catalog import shop.yaml --vendor shop").ends(0);
    place
}

pub(super) fn an_unknown_argument() -> Told {
    Told::Words(shop().say("command run shop orders:list -p nothing=1 --dry-run"))
}

pub(super) fn no_credentials() -> Told {
    Told::Words(shop().say("command run shop orders:list"))
}

pub(super) fn out_of_use() -> Told {
    let place = shop();
    place.say("catalog disable shop").ends(0);
    Told::Words(place.say("command run shop orders:list"))
}

pub(super) fn imported_twice() -> Told {
    Told::Words(shop().say("catalog import shop.yaml --vendor shop"))
}

pub(super) fn no_operations() -> Told {
    let none = r#"{"openapi": "3.0.3", "info": {"title": "None", "version": "1"}}"#;
    super::say(&[("none.json", none)], "catalog import none.json")
}

pub(super) fn no_command() -> Told {
    Told::Words(shop().say("command show shop orders:got"))
}

pub(super) fn no_choices() -> Told {
    Told::Words(shop().say("command choices shop orders:create"))
}

pub(super) fn no_address() -> Told {
    let text = DEPOT.replace("servers: [{url: 'https://depot.example'}]\n", "");
    let place = Place::with(&[("depot.yaml", &text)]);
    place.say("catalog import depot.yaml").ends(0);
    Told::Words(place.say("command run depot parts:list"))
}

/// An address from a document is trusted less than one typed by a person.
pub(super) fn a_private_address() -> Told {
    let text = DEPOT.replace("https://depot.example", "http://127.0.0.1:9");
    let place = Place::with(&[("depot.yaml", &text)]);
    place.say("catalog import depot.yaml").ends(0);
    Told::Words(place.say("command run depot parts:list"))
}

pub(super) fn a_secret_that_nobody_allowed() -> Told {
    let place = Place::with(&[("depot.yaml", DEPOT)]);
    place.say("catalog import depot.yaml --base-url http://127.0.0.1:1").ends(0);
    finish(place.command().args(["secret", "set", "OTHER"]), "a-secret-of-another-api").ends(0);
    Told::Words(
        place.say("command run depot parts:create --body {\"name\":\"a-secret-of-another-api\"}"),
    )
}

pub(super) fn nobody_listens() -> Told {
    let place = Place::with(&[("depot.yaml", DEPOT)]);
    place.say("catalog import depot.yaml --base-url http://127.0.0.1:1").ends(0);
    Told::Words(place.say("command run depot parts:list --timeout 5"))
}

pub(super) fn silence() -> Told {
    let server = Server::start(|_| Reply::Silence);
    Told::Words(depot(&server).say("command run depot parts:list --timeout 1"))
}

pub(super) fn a_failing_source() -> Told {
    let server = Server::start(|_| answer(500, &json!({})));
    Told::Words(Place::new().say(&format!("catalog import {}/a.yaml", server.url)))
}
