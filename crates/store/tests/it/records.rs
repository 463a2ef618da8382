//! The text of a record: stable, readable for people, and never containing a secret value where a
//! name belongs.

use std::collections::BTreeMap;
use std::fs;

use milepost_catalog::command::Method;
use milepost_store::catalogs::{
    BaseUrl, CatalogCredential, CatalogRecord, CatalogSource, Catalogs, ClientAuth,
    CredentialField, GivenBy, Idempotency, ProfileName, RecordFault, SaveError, operation_key,
};
use milepost_store::secrets::SecretName;
use milepost_store::{PrivateHost, TomlError};
use milepost_syntax::source::Format;

use crate::catalogs::{id, record};
use crate::locations;

const FULL: &str = r#"# A Milepost catalog. It contains the names of secrets, never their values.

id = "shop"
title = 'The "Shop"'
vendor = "Shop Ltd"
base_url = "http://localhost:8080/v1"
base_url_by = "user"
enabled = false
source = "https://shop.example/openapi.json"
source_sha256 = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
format = "json"
allow_private = ["localhost:8080"]

[options]
idempotency_header = "Idempotency-Key"

[auth.default.basic]
username = "SHOP_USER"
password = "SHOP_PASSWORD"

[auth.default.oauth]
client_id = "SHOP_ID"
client_secret = "SHOP_SECRET"
client_auth = "post"
scopes = ["read", "write"]
audience = "shop"
authority = "https://id.example.com/token"

[names]
"GET /orders" = "orders:list"
"GET /orders/{order_id}" = "orders:get"
"#;

/// A record with every field set.
fn full() -> CatalogRecord {
    let mut record = record("shop", "The \"Shop\"");
    record.vendor = Some("Shop Ltd".to_owned());
    let url = "http://localhost:8080/v1".to_owned();
    record.base_url = Some(BaseUrl { url, by: GivenBy::User });
    record.enabled = false;
    record.source = CatalogSource::parse("https://shop.example/openapi.json").expect("is one");
    record.allow_private = vec![PrivateHost::parse("localhost:8080").expect("is one")];
    record.options.idempotency = Idempotency::Header("Idempotency-Key".to_owned());
    let secret = |name: &str| SecretName::parse(name).expect("is one");
    let basic = [
        (CredentialField::Username, secret("SHOP_USER")),
        (CredentialField::Password, secret("SHOP_PASSWORD")),
    ];
    let oauth = [
        (CredentialField::ClientId, secret("SHOP_ID")),
        (CredentialField::ClientSecret, secret("SHOP_SECRET")),
    ];
    let schemes = BTreeMap::from([
        (
            "basic".to_owned(),
            CatalogCredential { secrets: basic.into(), ..CatalogCredential::default() },
        ),
        (
            "oauth".to_owned(),
            CatalogCredential {
                secrets: oauth.into(),
                client_auth: Some(ClientAuth::Post),
                scopes: vec!["read".to_owned(), "write".to_owned()],
                audience: Some("shop".to_owned()),
                authority: Some("https://id.example.com/token".to_owned()),
            },
        ),
    ]);
    record.auth.insert(ProfileName::default(), schemes);
    record.names = BTreeMap::from([
        (operation_key(Method::Get, "/orders/{order_id}"), "orders:get".to_owned()),
        (operation_key(Method::Get, "/orders"), "orders:list".to_owned()),
    ]);
    record
}

#[test]
fn the_text_of_a_record() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    let saved = catalogs.save(full(), b"{}", false).expect("saves");
    assert_eq!(fs::read_to_string(&saved.record).expect("reads"), FULL);
    let again = Catalogs::open(&locations(root.path())).get(&id("shop")).expect("reads");
    let expected = CatalogRecord { source_sha256: milepost_store::Digest::of(b"{}"), ..full() };
    assert_eq!(*again.expect("is there"), expected);
}

#[test]
fn saving_again_writes_the_same_text() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    let saved = catalogs.save(full(), b"{}", false).expect("saves");
    catalogs.save(full(), b"{}", true).expect("saves again");
    assert_eq!(fs::read_to_string(&saved.record).expect("reads"), FULL);
}

#[test]
fn what_people_wrote_beside_it_stays() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    let path = catalogs.save(full(), b"{}", false).expect("saves").record;
    let edited = FULL
        .replace("enabled = false", "enabled = false # until March")
        .replace("[options]", "# agreed with the shop\n[options]")
        .replace("vendor =", "  # who else\nfuture_key = [1]\nvendor =")
        .replace("\"GET /orders\" =", "# people say `orders`\n\"GET /orders\" =");
    fs::write(&path, &edited).expect("edits");
    let warned = catalogs.get(&id("shop")).expect("reads").expect("is there");
    assert_eq!(warned.warnings.len(), 1);
    assert_eq!(warned.warnings[0].key, "future_key");

    catalogs.set_enabled(&id("shop"), true).expect("enables");
    let expected = edited.replace("enabled = false", "enabled = true");
    assert_eq!(fs::read_to_string(&path).expect("reads"), expected);

    let mut renamed = full();
    renamed.enabled = true;
    renamed.auth.clear();
    renamed.names.insert("POST /orders".to_owned(), "orders:create".to_owned());
    catalogs.save(renamed, b"{}", true).expect("imports again");
    let text = fs::read_to_string(&path).expect("reads");
    for kept in ["# until March", "# agreed with the shop", "# people say", "future_key = [1]"] {
        assert!(text.contains(kept), "{kept} is gone: {text}");
    }
    assert!(text.contains("\"POST /orders\" = \"orders:create\"") && !text.contains("[auth"));
}

fn check_fault(change: (&str, &str), expected: &str) {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    let path = catalogs.save(full(), b"{}", false).expect("saves").record;
    let text = FULL.replacen(change.0, change.1, 1);
    assert_ne!(text, FULL, "{change:?}");
    fs::write(path, text).expect("writes");
    let listing = catalogs.list().expect("lists");
    assert_eq!(listing.records, []);
    let [unreadable] = listing.unreadable.as_slice() else { panic!("{change:?}") };
    assert_eq!(unreadable.id, Some(id("shop")));
    assert_eq!(unreadable.fault.to_string(), expected, "{change:?}");
    assert!(matches!(unreadable.fault, RecordFault::Text(_) | RecordFault::OtherId { .. }));
}

#[test]
fn every_fault_has_a_place() {
    check_fault(("id = \"shop\"\n", ""), "`id` is missing: add it");
    check_fault(
        ("id = \"shop\"", "id = \"other\""),
        "its id is `other`: rename the file or change the id",
    );
    check_fault(("\"shop\"", "\"../x\""), "line 3, column 6: `id` must be a catalog id");
    check_fault(
        ("enabled = false", "enabled = \"no\""),
        "line 8, column 11: `enabled` must be `true` or `false`, not a string",
    );
    check_fault(
        ("http://localhost", "http://me:canary@localhost"),
        "line 6, column 12: `base_url` must be an `http` or `https` URL without a user \
         name or password",
    );
    check_fault(
        ("http://localhost", "file://localhost"),
        "line 6, column 12: `base_url` must be an `http` or `https` URL without a user \
         name or password",
    );
    check_fault(
        ("\"SHOP_USER\"", "\"pa$$word canary\""),
        "line 18, column 12: `auth.default.basic.username` must be the name of a secret \
         such as `GITHUB_TOKEN`",
    );
    check_fault(
        ("[auth.default.basic]", "[auth.Default.basic]"),
        "line 17, column 7: `auth.Default` must be a profile such as `default`: \
         lowercase letters, digits, `-` and `_`, at most 64 characters",
    );
    check_fault(
        ("GET /orders\"", "FETCH /orders\""),
        "line 30, column 19: `names.FETCH /orders` must be keyed by a method and a path \
         such as `GET /orders`",
    );
    check_fault(
        ("orders:list", "orders list"),
        "line 30, column 17: `names.GET /orders` must be the name of a command, \
         at most 48 characters",
    );
    check_fault(
        ("\"Idempotency-Key\"", "true"),
        "line 15, column 22: `options.idempotency_header` must be the name of a header, or `false`",
    );
    check_fault(
        ("\"post\"", "\"get\""),
        "line 24, column 15: `auth.default.oauth.client_auth` must be `basic` or `post`",
    );
    check_fault(
        ("44136fa", "44136f"),
        "line 10, column 17: `source_sha256` must be 64 hexadecimal digits",
    );
}

#[test]
fn who_gave_the_base_url_is_the_document_unless_said() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    let path = catalogs.save(full(), b"{}", false).expect("saves").record;
    fs::write(path, FULL.replace("base_url_by = \"user\"\n", "")).expect("writes");
    let record = catalogs.get(&id("shop")).expect("reads").expect("is there");
    assert_eq!(record.base_url.as_ref().map(|base| base.by), Some(GivenBy::Document));
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    let mut long = full();
    long.names.insert("GET /a".to_owned(), "x".repeat(49));
    let mut password = full();
    password.base_url = Some(BaseUrl { url: "http://me:canary@x".to_owned(), by: GivenBy::User });
    let mut untitled = full();
    untitled.title = " ".to_owned();
    for record in [long, password, untitled] {
        let error = catalogs.save(record, b"{}", false).expect_err("refuses");
        assert!(matches!(error, SaveError::Unfit { fault: TomlError::Value { .. } }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
    assert_eq!(crate::names(catalogs.path()), [""; 0]);
}

#[test]
fn options_can_be_off_or_unsaid() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    for idempotency in [Idempotency::Off, Idempotency::Unsaid] {
        let mut record = full();
        record.options.idempotency = idempotency.clone();
        catalogs.save(record, b"{}", true).expect("saves");
        let found = catalogs.get(&id("shop")).expect("reads").expect("is there");
        assert_eq!(found.options.idempotency, idempotency);
    }
}

#[test]
fn thousands_of_names_come_back() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = Catalogs::open(&locations(root.path()));
    let mut large = full();
    for number in 0..5_000 {
        let path = format!("/things/{{thing_id}}/\"parts\"/{number}/{{pärt}}");
        large.names.insert(operation_key(Method::Delete, &path), format!("parts:x{number}"));
    }
    catalogs.save(large.clone(), b"{}", false).expect("saves");
    let found = Catalogs::open(&locations(root.path())).get(&id("shop")).expect("reads");
    assert_eq!(found.expect("is there").names, large.names);
    catalogs.set_enabled(&id("shop"), true).expect("enables");
    let found = catalogs.get(&id("shop")).expect("reads").expect("is there");
    assert!(found.enabled && found.names == large.names);
}

#[test]
fn sources() {
    assert_eq!(CatalogSource::parse("a/b.yaml"), Some(CatalogSource::File("a/b.yaml".into())));
    let url = "https://x.example/a?b=c";
    assert_eq!(CatalogSource::parse(url), Some(CatalogSource::Url(url.to_owned())));
    for wrong in ["", "https://me:pw@x.example/", "http://", "a\nb"] {
        assert_eq!(CatalogSource::parse(wrong), None, "{wrong}");
    }
    let file =
        CatalogRecord::new(id("a"), "A".to_owned(), CatalogSource::File("/a".into()), Format::Yaml)
            .source;
    assert_eq!(file.path(), Some("/a".as_ref()));
}
