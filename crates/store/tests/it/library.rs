//! What the library finds, which file takes precedence, and what is reported instead of hidden.

use std::fs;

use milepost_model::workflow::Spelling;
use milepost_store::{
    Directory, FileError, Library, Locations, SourceKind, SourceReport, WorkflowSummary,
    read_document,
};
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

use crate::{get, ids, invalid, left_out, list, listing, manifest, open, put, workflow, world};

use SourceKind::{BuiltIn, Path as Listed, Runtime, User};

#[test]
fn the_later_of_four_sources_wins_and_the_others_say_so() {
    let root = tempfile::tempdir().expect("makes a directory");
    let folder = |name: &str| root.path().join(name);
    let (user, one, two, runtime) = (folder("user"), folder("one"), folder("two"), folder("run"));
    for (path, title) in [(&user, "user"), (&one, "one"), (&two, "two"), (&runtime, "run")] {
        put(&path.join("refund-order.yaml"), &manifest("refund-order", title));
    }
    put(&user.join("mine.yaml"), &manifest("mine", "user"));
    put(&two.join("mine.yaml"), &manifest("mine", "two"));
    let library = open(&[(User, &user), (Listed, &one), (Listed, &two), (Runtime, &runtime)]);

    let winner = workflow(&library, "refund-order");
    assert_eq!((winner.source, winner.path.clone()), (Runtime, runtime.join("refund-order.yaml")));
    assert_eq!(workflow(&library, "mine").path, two.join("mine.yaml"));
    let listing = listing(&library);
    assert_eq!(ids(&listing), ["mine", "refund-order"]);
    let row = |report: &SourceReport| {
        let shadowed = report.shadowed.iter().map(|(id, by)| (id.clone(), *by));
        (report.kind, report.count, shadowed.collect::<Vec<_>>())
    };
    let shadowed: Vec<_> = listing.sources.iter().map(row).collect();
    let by = |id: &str, by: SourceKind| (id.to_owned(), by);
    let expected = vec![
        (BuiltIn, 5, vec![by("refund-order", User)]),
        (User, 2, vec![by("refund-order", Listed), by("mine", Listed)]),
        (Listed, 1, vec![by("refund-order", Listed)]),
        (Listed, 2, vec![by("refund-order", Runtime)]),
        (Runtime, 1, vec![]),
    ];
    assert_eq!(shadowed, expected);
    assert!(listing.invalid.is_empty());
}

#[test]
fn a_source_inside_another_is_a_source_of_its_own() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (outer, inner) = (root.path().join("a"), root.path().join("a/sub"));
    put(&inner.join("x.yaml"), &manifest("x", "x"));
    let library = list(&[(Listed, &outer), (Listed, &inner)]);
    assert_eq!(ids(&library), ["x"]);
    assert_eq!(left_out(&library), []);
    assert_eq!(library.sources[1].shadowed, [("x".to_owned(), Listed)]);
    assert_eq!(library.sources[2].shadowed, []);
}

#[test]
fn folders_are_searched_and_hidden_ones_are_not() {
    let root = tempfile::tempdir().expect("makes a directory");
    put(&root.path().join("top.yaml"), &manifest("top", "x"));
    put(&root.path().join("a/b/c/deep.yml"), &manifest("deep", "x"));
    put(&root.path().join("a/guide.json"), include_str!("../../../../examples/review-change.json"));
    put(&root.path().join(".git/hidden.yaml"), &manifest("hidden", "x"));
    put(&root.path().join(".hidden.yaml"), &manifest("hidden-too", "x"));
    put(&root.path().join("notes.md"), "# no workflow");
    put(&root.path().join("yaml"), &manifest("no-extension", "x"));
    put(&root.path().join("backup.yaml~"), &manifest("backup", "x"));
    let library = list(&[(Runtime, root.path())]);
    assert_eq!(ids(&library), ["deep", "review-change", "top"]);
    assert_eq!(left_out(&library), []);
}

#[test]
fn a_missing_directory_is_empty_and_said_to_be_missing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = list(&[(Runtime, &root.path().join("nowhere"))]);
    assert!(!library.sources[1].exists);
    assert_eq!(ids(&library), [""; 0]);
}

#[test]
fn a_source_that_is_no_directory_is_an_error() {
    let root = tempfile::tempdir().expect("makes a directory");
    let file = root.path().join("file");
    put(&file, "");
    let directories = vec![(Runtime, file.clone())];
    let locations = Locations { config: "c".into(), directories, ..Locations::default() };
    let library = Library::open(locations);
    let errors = [
        library.listing(world()).expect_err("cannot be read"),
        library.get("x", world()).expect_err("cannot be read"),
    ];
    for error in errors {
        assert!(matches!(&error, FileError::NotFolder { path } if *path == file), "{error:?}");
    }
    fs::remove_file(&file).expect("removes");
    assert!(get(&library, "x").is_none());
}

#[test]
fn broken_files_are_reported_and_hide_nothing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let file = |name: &str| root.path().join(name);
    put(&file("good.yaml"), &manifest("good", "x"));
    put(&file("broken.yaml"), "workflow: broken\nsteps: [{id: a, promt: x}]\n");
    put(&file("empty.json"), "");
    fs::write(file("latin.yaml"), b"workflow: \xe9").expect("writes");
    fs::write(file("large.yaml"), vec![b' '; DOCUMENT_BYTES + 1]).expect("writes");
    fs::create_dir(file("folder.json")).expect("makes a folder");
    let library = list(&[(Runtime, root.path())]);
    assert_eq!(ids(&library), ["good"]);
    let reasons = left_out(&library);
    let large = format!("`{}` is too large: 1048577 bytes", file("large.yaml").display());
    let expected = [
        ("broken.yaml", "line 2: unknown key `promt`"),
        ("empty.json", "line 1: the document is empty"),
        ("large.yaml", large.as_str()),
        ("latin.yaml", "line 1: byte 0xe9 is not UTF-8"),
    ];
    let expected = expected.map(|(name, reason)| (name.to_owned(), reason.to_owned()));
    assert_eq!(reasons, expected);
}

#[test]
fn the_second_file_of_an_id_in_one_source_is_reported() {
    let root = tempfile::tempdir().expect("makes a directory");
    put(&root.path().join("a.yaml"), &manifest("same", "first"));
    put(&root.path().join("b.yaml"), &manifest("same", "second"));
    let library = open(&[(Runtime, root.path())]);
    assert_eq!(workflow(&library, "same").path, root.path().join("a.yaml"));
    let taken = format!("id `same` is taken by `{}`", root.path().join("a.yaml").display());
    assert_eq!(left_out(&listing(&library)), [("b.yaml".to_owned(), taken)]);
    // An invalid workflow does not occupy an id.
    put(&root.path().join("a.yaml"), "workflow: same\nsteps: [{id: a, promt: x}]\n");
    assert_eq!(workflow(&library, "same").path, root.path().join("b.yaml"));
    assert_eq!(left_out(&listing(&library)).len(), 1);
}

#[test]
fn a_broken_file_hides_no_sound_one_of_an_earlier_source() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (user, runtime) = (root.path().join("user"), root.path().join("run"));
    put(&user.join("x.yaml"), &manifest("x", "sound"));
    put(&runtime.join("x.yaml"), "workflow: x\nsteps: [{id: a, promt: x}]\n");
    let library = open(&[(User, &user), (Runtime, &runtime)]);
    assert_eq!(workflow(&library, "x").path, user.join("x.yaml"));
    fs::remove_file(user.join("x.yaml")).expect("removes");
    assert_eq!(invalid(&library, "x").path, runtime.join("x.yaml"));
    put(&user.join("other-name.yaml"), &manifest("x", "again"));
    assert_eq!(workflow(&library, "x").path, user.join("other-name.yaml"));
}

#[test]
fn a_broken_file_is_found_with_its_violations() {
    let root = tempfile::tempdir().expect("makes a directory");
    let file = |name: &str| root.path().join(name);
    put(&file("slip.yaml"), "workflow: broken\nsteps: [{id: a, promt: x}]\n");
    put(&file("cut-off.json"), "{\"workflow\": \"other\"");
    put(&file("nameless.yaml"), "title: x\nsteps: []\n");
    fs::write(file("latin.yaml"), b"workflow: \xe9").expect("writes");
    fs::write(file("large.yaml"), vec![b' '; DOCUMENT_BYTES + 1]).expect("writes");
    let library = open(&[(Runtime, root.path())]);
    let found = invalid(&library, "broken");
    assert_eq!((&found.path, found.reason.as_str()), (&file("slip.yaml"), SLIP));
    let document = found.document.as_ref().expect("could be read");
    assert_eq!(document.violations[0].message, "unknown key `promt`");
    assert!(get(&library, "slip").is_none(), "its id can be read");
    for name in ["cut-off", "nameless", "latin"] {
        assert!(invalid(&library, name).document.is_some(), "{name}");
    }
    assert!(invalid(&library, "large").document.is_none());
    assert!(get(&library, "other").is_none());
}

const SLIP: &str = "line 2: unknown key `promt`";

#[test]
fn a_summary_says_what_a_list_shows() {
    let root = tempfile::tempdir().expect("makes a directory");
    let text = "workflow: x\ntitle: T\ndescription: D\ncategory: c\nversion: 1.2.0\n\
                tags: [t]\nsteps: [{id: a, prompt: Look}, {id: b, run: workflow other}]\n";
    put(&root.path().join("x.yaml"), text);
    let listing = list(&[(Runtime, root.path())]);
    let item = listing.items.iter().find(|item| item.id == "x").expect("is there");
    let expected = WorkflowSummary {
        id: "x".into(),
        title: "T".into(),
        description: Some("D".into()),
        category: Some("c".into()),
        tags: vec!["t".into()],
        kinds: vec!["agent", "command"],
        runs: vec!["other".into()],
        version_label: Some("1.2.0".into()),
        version: milepost_model::document::version(text.as_bytes()),
        spelling: Spelling::Manifest,
        format: Some(Format::Yaml),
        steps: 2,
        agent_only: false,
        source: Runtime,
        path: root.path().join("x.yaml"),
    };
    assert_eq!(**item, expected);
    let guide = listing.items.iter().find(|item| item.id == "code-review").expect("is there");
    assert!(guide.agent_only);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn links_out_are_refused_and_links_inside_are_followed() {
        let root = tempfile::tempdir().expect("makes a directory");
        let library = root.path().join("library");
        put(&root.path().join("outside.yaml"), &manifest("outside", "x"));
        put(&library.join("good.yaml"), &manifest("good", "x"));
        put(&library.join(".versions/3.yaml"), &manifest("current", "x"));
        symlink("../outside.yaml", library.join("up.yaml")).expect("links");
        symlink(root.path().join("outside.yaml"), library.join("far.yaml")).expect("links");
        symlink("/etc/passwd", library.join("passwd.json")).expect("links");
        symlink(".versions/3.yaml", library.join("current.yaml")).expect("links");
        symlink("nowhere.yaml", library.join("dangling.yaml")).expect("links");
        symlink("loop.yaml", library.join("loop.yaml")).expect("links");
        symlink("..", library.join("parent")).expect("links");
        let listed = list(&[(Runtime, &library)]);
        assert_eq!(ids(&listed), ["current", "good"]);
        let reasons = left_out(&listed);
        let names: Vec<&str> = reasons.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["dangling.yaml", "far.yaml", "loop.yaml", "passwd.json", "up.yaml"]);
        for (name, reason) in &reasons {
            if ["far.yaml", "passwd.json", "up.yaml"].contains(&name.as_str()) {
                assert!(reason.ends_with("is outside its directory"), "{reason}");
            }
        }
    }

    #[test]
    fn pipes_sockets_and_folders_are_no_documents_and_keep_nobody_waiting() {
        let root = tempfile::tempdir().expect("makes a directory");
        let file = |name: &str| root.path().join(name);
        let made = Command::new("mkfifo").arg(file("pipe.json")).status().expect("runs mkfifo");
        assert!(made.success());
        let _socket = UnixListener::bind(file("socket.json")).expect("binds");
        put(&file("good.yaml"), &manifest("good", "x"));
        let library = list(&[(Runtime, root.path())]);
        assert_eq!(ids(&library), ["good"]);
        let refused = |name: &str| {
            let reason = format!("`{}` is not a regular file", file(name).display());
            (name.to_owned(), reason)
        };
        assert_eq!(left_out(&library), [refused("pipe.json"), refused("socket.json")]);
        for name in ["pipe.json", "socket.json", "."] {
            let error = read_document(&file(name), 10).expect_err("is refused");
            assert!(matches!(error, FileError::NotRegular { .. }), "{name}: {error:?}");
        }
    }

    #[test]
    fn a_folder_that_may_not_be_read_hides_none_of_the_others() {
        let root = tempfile::tempdir().expect("makes a directory");
        let closed = root.path().join("closed");
        put(&closed.join("x.yaml"), &manifest("x", "x"));
        put(&root.path().join("good.yaml"), &manifest("good", "x"));
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("closes it");
        let readable = fs::read_dir(&closed).is_ok();
        let library = list(&[(Runtime, root.path())]);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("opens it");
        // Root can read everything, so then nothing is refused.
        let expected = if readable { vec!["good", "x"] } else { vec!["good"] };
        assert_eq!(ids(&library), expected);
        assert_eq!(library.invalid.len(), usize::from(!readable));
    }

    #[test]
    fn a_directory_reads_nothing_outside_itself() {
        let root = tempfile::tempdir().expect("makes a directory");
        put(&root.path().join("outside"), "secret");
        put(&root.path().join("in/side"), "fine");
        let directory = Directory::open(&root.path().join("in")).expect("opens").expect("exists");
        assert_eq!(directory.read("side".as_ref(), 4).expect("reads"), b"fine");
        let absolute = root.path().join("outside");
        for path in ["../outside", "../in/../outside", absolute.to_str().expect("is text")] {
            let error = directory.read(path.as_ref(), 100).expect_err("is refused");
            assert!(matches!(error, FileError::Outside { .. }), "{path}: {error:?}");
        }
    }
}
