//! Catalogs on disk: lookup, conflicts, and recovery after a crash.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::id::CatalogId;
use milepost_store::catalogs::{
    CatalogConflict, CatalogError, CatalogRecord, CatalogSource, Catalogs, RecordFault, SaveError,
};
use milepost_store::{Digest, FileError, Locations, limits};
use milepost_syntax::source::Format;

use crate::{locations, names, put};

pub(crate) fn id(text: &str) -> CatalogId {
    CatalogId::parse(text).expect("is an id")
}

/// A minimal record.
pub(crate) fn record(name: &str, title: &str) -> CatalogRecord {
    let source = CatalogSource::File(format!("/specs/{name}.json").into());
    CatalogRecord::new(id(name), title.to_owned(), source, Format::Json)
}

fn open(root: &Path) -> Catalogs {
    Catalogs::open(&locations(root))
}

fn save(catalogs: &Catalogs, name: &str, title: &str, document: &str) {
    catalogs.save(record(name, title), document.as_bytes(), true).expect("saves");
}

fn ids(catalogs: &Catalogs) -> Vec<String> {
    let listing = catalogs.list().expect("lists");
    assert!(listing.unreadable.is_empty(), "{listing:?}");
    listing.records.iter().map(|record| record.id.to_string()).collect()
}

fn document(catalogs: &Catalogs, name: &str) -> String {
    let document = catalogs.document(&id(name)).expect("reads");
    assert!(!document.edited);
    String::from_utf8(document.bytes).expect("is text")
}

#[test]
fn without_a_directory_there_is_nothing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    assert_eq!(ids(&catalogs), [""; 0]);
    assert_eq!(catalogs.get(&id("a")).expect("looks"), None);
    assert_eq!(catalogs.find("A").expect("looks"), None);
    assert_eq!(catalogs.kept(&id("a")).expect("looks"), None);
    for error in [
        catalogs.document(&id("a")).expect_err("is not there"),
        catalogs.remove(&id("a"), true).expect_err("is not there"),
    ] {
        assert!(matches!(error, CatalogError::NotFound { .. }), "{error:?}");
    }
    let error = catalogs.set_enabled(&id("a"), true).expect_err("is not there");
    assert!(matches!(error, SaveError::Catalog(CatalogError::NotFound { .. })), "{error:?}");
    assert!(!catalogs.path().try_exists().expect("looks"), "a look makes nothing");
}

#[test]
fn what_was_saved_is_found() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    let mut yaml = record("b-2", "Second  API");
    yaml.format = Format::Yaml;
    let saved = catalogs.save(yaml, b"openapi: 3.1.0", false).expect("saves");
    save(&catalogs, "a", "First", "{}");
    assert!(!saved.replaced);
    assert_eq!(ids(&catalogs), ["a", "b-2"]);
    let expected = ["a.source.json", "a.toml", "b-2.source.yaml", "b-2.toml"];
    assert_eq!(names(catalogs.path()), expected);
    assert_eq!(saved.record, catalogs.path().join("b-2.toml"));
    assert_eq!(saved.document, catalogs.path().join("b-2.source.yaml"));
    assert_eq!(document(&catalogs, "b-2"), "openapi: 3.1.0");
    let found = |text: &str| {
        let record = catalogs.find(text).expect("looks");
        record.map(|record| record.id.to_string())
    };
    assert_eq!(found("b-2").as_deref(), Some("b-2"));
    assert_eq!(found("second api").as_deref(), Some("b-2"));
    assert_eq!(found("FIRST").as_deref(), Some("a"));
    assert_eq!(found("../a"), None);
    let record = catalogs.get(&id("a")).expect("looks").expect("is there");
    assert_eq!(record.source_sha256, Digest::of(b"{}"));
}

#[test]
fn an_id_wins_over_a_title() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "a", "b", "{}");
    save(&catalogs, "b", "c", "{}");
    let found = catalogs.find("b").expect("looks").expect("is there");
    assert_eq!(found.id, id("b"));
}

#[test]
fn the_same_id_or_title_is_a_conflict() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "shop", "The Shop", "{}");
    let before = fs::read(catalogs.record_path(&id("shop"))).expect("reads");
    let cases = [
        ("shop", "Other", false, CatalogConflict::Id),
        ("other", "the  SHOP", false, CatalogConflict::Title),
    ];
    for (name, title, overwrite, expected) in
        cases.into_iter().chain([("other", "The Shop", true, CatalogConflict::Title)])
    {
        let error = catalogs.save(record(name, title), b"[]", overwrite).expect_err("conflicts");
        let SaveError::Exists { id: held, title, by } = error else { panic!("{error:?}") };
        assert_eq!((held, title.as_deref(), by), (id("shop"), Some("The Shop"), expected));
    }
    assert_eq!(fs::read(catalogs.record_path(&id("shop"))).expect("reads"), before);
    assert_eq!(names(catalogs.path()), ["shop.source.json", "shop.toml"]);
    let again = catalogs.save(record("shop", "New"), b"[]", true).expect("replaces");
    assert!(again.replaced);
    assert_eq!(document(&catalogs, "shop"), "[]");
    assert_eq!(names(catalogs.path()), ["shop.source.json", "shop.toml"]);
}

#[test]
fn a_broken_record_conflicts_and_can_be_replaced_or_removed() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    put(&catalogs.record_path(&id("shop")), "id = ");
    let error = catalogs.save(record("shop", "The Shop"), b"{}", false).expect_err("conflicts");
    assert!(
        matches!(error, SaveError::Exists { title: None, by: CatalogConflict::Id, .. }),
        "{error:?}"
    );
    let error = catalogs.get(&id("shop")).expect_err("cannot be read");
    assert!(matches!(error, CatalogError::Unreadable(_)), "{error:?}");
    save(&catalogs, "shop", "The Shop", "{}");
    assert_eq!(ids(&catalogs), ["shop"]);
    put(&catalogs.record_path(&id("shop")), "id = ");
    catalogs.remove(&id("shop"), true).expect("removes");
    assert_eq!(names(catalogs.path()), [""; 0]);
}

#[test]
fn what_cannot_be_read_hides_nothing_else() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "good", "Good", "{}");
    let good = fs::read_to_string(catalogs.record_path(&id("good"))).expect("reads");
    let put_record = |name: &str, text: &str| put(&catalogs.path().join(name), text);
    put_record("broken.toml", &good[..good.len() - 20]);
    put_record("other.toml", &good);
    put_record("Not An Id.toml", &good);
    put_record("large.toml", &"#".repeat(limits::RECORD_BYTES + 1));
    put_record("note.txt", "no record");
    fs::create_dir(catalogs.path().join("folder.toml")).expect("makes a folder");
    let listing = catalogs.list().expect("lists");
    assert_eq!(listing.records.len(), 1);
    let kinds: Vec<(String, &str)> = listing
        .unreadable
        .iter()
        .map(|one| {
            let kind = match &one.fault {
                RecordFault::File(FileError::TooLarge { .. }) => "large",
                RecordFault::File(FileError::NotRegular { .. }) => "no file",
                RecordFault::File(_) => "file",
                RecordFault::Text(_) => "text",
                RecordFault::FileName => "name",
                RecordFault::OtherId { .. } => "id",
            };
            (one.path.file_name().unwrap_or_default().to_string_lossy().into_owned(), kind)
        })
        .collect();
    let expected = [
        ("Not An Id.toml", "name"),
        ("broken.toml", "text"),
        ("folder.toml", "no file"),
        ("large.toml", "large"),
        ("other.toml", "id"),
    ];
    assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn a_removed_catalog_leaves_its_document_for_the_next_import() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "shop", "The Shop", "{\"a\":1}");
    assert_eq!(catalogs.kept(&id("shop")).expect("looks"), None, "it is in use");
    let removed = catalogs.remove(&id("shop"), false).expect("removes");
    assert_eq!(removed.record, Some(catalogs.record_path(&id("shop"))));
    assert_eq!(removed.kept, Some(catalogs.document_path(&id("shop"), Format::Json)));
    assert_eq!(ids(&catalogs), [""; 0]);
    let kept = catalogs.kept(&id("shop")).expect("looks").expect("was kept");
    assert_eq!((kept.bytes.as_slice(), kept.format), (b"{\"a\":1}".as_slice(), Format::Json));
    // A document without a record is not a catalog, so another import is not a conflict.
    catalogs.save(record("shop", "The Shop"), &kept.bytes, false).expect("imports again");
    assert_eq!(document(&catalogs, "shop"), "{\"a\":1}");

    catalogs.remove(&id("shop"), false).expect("removes");
    let error = catalogs.remove(&id("shop"), false).expect_err("is gone");
    assert!(matches!(error, CatalogError::NotFound { .. }), "{error:?}");
    let removed = catalogs.remove(&id("shop"), true).expect("removes what was kept");
    assert_eq!((removed.record, removed.documents.len(), removed.kept), (None, 1, None));
    assert_eq!(names(catalogs.path()), [""; 0]);
}

#[test]
fn another_format_takes_the_place_of_the_old_one() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "shop", "The Shop", "{}");
    let mut yaml = record("shop", "The Shop");
    yaml.format = Format::Yaml;
    catalogs.save(yaml, b"a: 1", true).expect("replaces");
    assert_eq!(names(catalogs.path()), ["shop.source.yaml", "shop.toml"]);
    assert_eq!(document(&catalogs, "shop"), "a: 1");
}

/// The files of a catalog before and after it was replaced.
fn before_and_after(root: &Path) -> (Catalogs, String, String) {
    let catalogs = open(root);
    save(&catalogs, "shop", "Old", "{\"old\":1}");
    let path = catalogs.record_path(&id("shop"));
    let old = fs::read_to_string(&path).expect("reads");
    let new = old
        .replace("\"Old\"", "\"New\"")
        .replace(&Digest::of(b"{\"old\":1}").to_string(), &Digest::of(b"{\"new\":1}").to_string());
    put(&catalogs.path().join(".shop.source.json.next"), "{\"new\":1}");
    (catalogs, old, new)
}

#[test]
fn a_crash_before_the_record_leaves_the_old_catalog() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (catalogs, _, _) = before_and_after(root.path());
    let record = catalogs.get(&id("shop")).expect("reads").expect("is there");
    assert_eq!(
        (record.title.as_str(), document(&catalogs, "shop").as_str()),
        ("Old", "{\"old\":1}")
    );
    save(&catalogs, "shop", "Newer", "{\"newer\":1}");
    assert_eq!(names(catalogs.path()), ["shop.source.json", "shop.toml"]);
    assert_eq!(document(&catalogs, "shop"), "{\"newer\":1}");
}

#[test]
fn a_crash_after_the_record_leaves_the_new_catalog() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (catalogs, _, new) = before_and_after(root.path());
    put(&catalogs.record_path(&id("shop")), &new);
    let record = catalogs.get(&id("shop")).expect("reads").expect("is there");
    assert_eq!(
        (record.title.as_str(), document(&catalogs, "shop").as_str()),
        ("New", "{\"new\":1}")
    );
    assert_eq!(names(catalogs.path()), ["shop.source.json", "shop.toml"]);
}

#[test]
fn a_crash_of_the_first_import_leaves_a_kept_document() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    put(&catalogs.document_path(&id("shop"), Format::Json), "{\"half\":1}");
    assert_eq!(ids(&catalogs), [""; 0]);
    let kept = catalogs.kept(&id("shop")).expect("looks").expect("is there");
    assert_eq!(kept.bytes, b"{\"half\":1}");
    catalogs.save(record("shop", "The Shop"), b"{}", false).expect("is no conflict");
    assert_eq!(document(&catalogs, "shop"), "{}");
}

#[test]
fn an_edited_document_is_read_and_marked() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "shop", "The Shop", "{}");
    put(&catalogs.document_path(&id("shop"), Format::Json), "{ }");
    let edited = catalogs.document(&id("shop")).expect("reads");
    assert!(edited.edited);
    assert_eq!((edited.bytes.as_slice(), edited.sha256), (b"{ }".as_slice(), Digest::of(b"{ }")));
    fs::remove_file(&edited.path).expect("removes");
    let error = catalogs.document(&id("shop")).expect_err("is gone");
    assert!(matches!(error, CatalogError::File(FileError::NotFound { .. })), "{error:?}");
}

#[test]
fn the_size_of_a_document_is_bounded() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    let mut bytes = vec![b' '; DOCUMENT_BYTES];
    catalogs.save(record("shop", "The Shop"), &bytes, false).expect("fits");
    bytes.push(b' ');
    let error = catalogs.save(record("large", "Large"), &bytes, false).expect_err("does not");
    let SaveError::Catalog(CatalogError::File(FileError::TooLarge { .. })) = error else {
        panic!("{error:?}")
    };
    assert_eq!(ids(&catalogs), ["shop"]);
}

#[test]
fn changes_of_others_are_seen_at_once() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (one, other) = (open(root.path()), open(root.path()));
    for round in 0..20 {
        save(&one, "shop", &format!("Title {round}"), "{}");
        let seen = other.get(&id("shop")).expect("reads").expect("is there");
        assert_eq!(seen.title, format!("Title {round}"));
        other.set_enabled(&id("shop"), round % 2 == 0).expect("writes");
        assert_eq!(one.list().expect("lists").records[0].enabled, round % 2 == 0);
    }
    other.remove(&id("shop"), true).expect("removes");
    assert_eq!(one.get(&id("shop")).expect("looks"), None);
}

#[test]
fn a_record_that_did_not_change_is_read_once() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "shop", "The Shop", "{}");
    let path = catalogs.record_path(&id("shop"));
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    let file = fs::File::options().write(true).open(&path).expect("opens");
    file.set_modified(long_ago).expect("sets");
    drop(file);
    // The change time cannot be set, so the test has to wait until it is old enough.
    let settled = || {
        let first = catalogs.get(&id("shop")).expect("reads").expect("is there");
        let second = catalogs.get(&id("shop")).expect("reads").expect("is there");
        Arc::ptr_eq(&first, &second)
    };
    let started = std::time::Instant::now();
    while !settled() {
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "is read every time");
        thread::yield_now();
    }
}

#[test]
fn parts_are_read_of_a_document_that_nobody_touched() {
    let root = tempfile::tempdir().expect("makes a directory");
    let catalogs = open(root.path());
    save(&catalogs, "shop", "The Shop", "{\"a\": \"ä\"}");
    let record = catalogs.get(&id("shop")).expect("reads").expect("is there");
    let started = std::time::Instant::now();
    let mark = loop {
        let document = catalogs.document(&id("shop")).expect("reads");
        if let Some(mark) = document.mark {
            break mark;
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "is never settled");
        thread::yield_now();
    };
    let mut parts = catalogs.parts(&record, mark).expect("is untouched");
    assert_eq!(parts.length(), 11);
    assert_eq!(parts.read(6..10).as_deref(), Some("\"ä\""));
    assert_eq!(parts.read(8..9), None, "half a letter");
    assert_eq!(parts.read(6..20), None, "behind the end");
    // Same size as before, and an old modification time.
    let path = catalogs.document_path(&id("shop"), Format::Json);
    fs::write(&path, "{\"a\": \"ö\"}").expect("writes");
    let file = fs::File::options().write(true).open(&path).expect("opens");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("sets");
    assert!(catalogs.parts(&record, mark).is_none(), "was touched");
    assert!(catalogs.document(&id("shop")).expect("reads").edited);
    fs::remove_file(&path).expect("removes");
    assert!(catalogs.parts(&record, mark).is_none(), "is gone");
}

/// What each of several concurrent writers does: creates its own catalogs, changes a shared one,
/// and tries to create the same new one.
fn write_at_once(locations: &Locations, writer: usize) {
    let catalogs = Catalogs::open(locations);
    for round in 0..5 {
        let name = format!("own-{writer}-{round}");
        let text = format!("{{\"own\":\"{name}\"}}");
        let own = record(&name, &name);
        catalogs.save(own, text.as_bytes(), false).expect("is nobody else's");
        let text = format!("{{\"shared\":\"{name}\"}}");
        catalogs
            .save(record("shared", &name.replace("own", "shared")), text.as_bytes(), true)
            .expect("replaces");
        let document = catalogs.document(&id("shared")).expect("is there");
        assert!(!document.edited, "record and document are of one writer");
        match catalogs.save(
            record(&format!("race-{round}"), &format!("Race {round}")),
            b"{}",
            false,
        ) {
            Ok(_) | Err(SaveError::Exists { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn check_all_there(locations: &Locations, writers: usize) {
    let catalogs = Catalogs::open(locations);
    assert_eq!(ids(&catalogs).len(), writers * 5 + 5 + 1);
    for name in ids(&catalogs) {
        document(&catalogs, &name);
    }
    let hidden = names(catalogs.path()).into_iter().find(|name| name.starts_with('.'));
    assert_eq!(hidden, None);
}

#[test]
fn threads_share_a_directory() {
    let root = tempfile::tempdir().expect("makes a directory");
    let locations = locations(root.path());
    thread::scope(|scope| {
        for writer in 0..4 {
            let locations = &locations;
            scope.spawn(move || write_at_once(locations, writer));
        }
    });
    check_all_there(&locations, 4);
}

#[test]
fn processes_share_a_directory() {
    const DIRECTORY: &str = "MILEPOST_TEST_DIRECTORY";
    const WRITER: &str = "MILEPOST_TEST_WRITER";
    if let (Some(directory), Ok(writer)) = (env::var_os(DIRECTORY), env::var(WRITER)) {
        let writer = writer.parse().expect("is a number");
        return write_at_once(&locations(Path::new(&directory)), writer);
    }
    let root = tempfile::tempdir().expect("makes a directory");
    let start = |writer: usize| {
        Command::new(env::current_exe().expect("has a path"))
            .args(["--exact", "catalogs::processes_share_a_directory"])
            .env(DIRECTORY, root.path())
            .env(WRITER, writer.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("starts")
    };
    let writers: Vec<_> = (0..3).map(start).collect();
    for mut writer in writers {
        assert!(writer.wait().expect("ends").success());
    }
    check_all_there(&locations(root.path()), 3);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_the_directory_are_neither_read_nor_written_through() {
        let root = tempfile::tempdir().expect("makes a directory");
        let catalogs = open(root.path());
        save(&catalogs, "shop", "The Shop", "{}");
        let outside = root.path().join("outside");
        for path in [
            catalogs.record_path(&id("shop")),
            catalogs.document_path(&id("shop"), Format::Json),
            catalogs.path().join(".shop.source.json.next"),
        ] {
            let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
            put(&outside, &text);
            drop(fs::remove_file(&path));
            symlink(&outside, &path).expect("links");
            let error = catalogs.save(record("shop", "New"), b"{\"new\":1}", true);
            let error = error.expect_err("refuses");
            let SaveError::Catalog(CatalogError::File(FileError::Outside { .. })) = error else {
                panic!("{path:?}: {error:?}")
            };
            assert_eq!(fs::read_to_string(&outside).expect("reads"), text, "{path:?}");
            fs::remove_file(&path).expect("removes");
            put(&path, &text);
        }
        let path = catalogs.record_path(&id("shop"));
        fs::remove_file(&path).expect("removes");
        symlink(&outside, &path).expect("links");
        let listing = catalogs.list().expect("lists");
        let [one] = listing.unreadable.as_slice() else { panic!("{listing:?}") };
        assert!(matches!(one.fault, RecordFault::File(FileError::Outside { .. })), "{one:?}");
    }
}
