//! What a scan finds, what wins, and what is reported instead of hidden.

use std::fs;

use milepost_model::limits::DOCUMENT_BYTES;
use milepost_store::{
    Directory, FileError, Library, Locations, SourceKind, SourceReport, read_document,
};

use crate::{ids, left_out, manifest, put, scan, world};

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
    let library = scan(&[(User, &user), (Listed, &one), (Listed, &two), (Runtime, &runtime)]);

    let winner = library.get("refund-order").expect("is there");
    assert_eq!((winner.source, winner.path.clone()), (Runtime, runtime.join("refund-order.yaml")));
    assert_eq!(library.get("mine").expect("is there").path, two.join("mine.yaml"));
    assert_eq!(ids(&library), ["mine", "refund-order"]);
    let row = |report: &SourceReport| {
        let shadowed = report.shadowed.iter().map(|(id, by)| (id.clone(), *by));
        (report.kind, report.count, shadowed.collect::<Vec<_>>())
    };
    let shadowed: Vec<_> = library.sources().iter().map(row).collect();
    let by = |id: &str, by: SourceKind| (id.to_owned(), by);
    let expected = vec![
        (BuiltIn, 6, vec![by("refund-order", User)]),
        (User, 2, vec![by("refund-order", Listed), by("mine", Listed)]),
        (Listed, 1, vec![by("refund-order", Listed)]),
        (Listed, 2, vec![by("refund-order", Runtime)]),
        (Runtime, 1, vec![]),
    ];
    assert_eq!(shadowed, expected);
    assert!(library.invalid().is_empty());
}

#[test]
fn a_source_inside_another_is_a_source_of_its_own() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (outer, inner) = (root.path().join("a"), root.path().join("a/sub"));
    put(&inner.join("x.yaml"), &manifest("x", "x"));
    let library = scan(&[(Listed, &outer), (Listed, &inner)]);
    assert_eq!(ids(&library), ["x"]);
    assert_eq!(left_out(&library), []);
    assert_eq!(library.sources()[1].shadowed, [("x".to_owned(), Listed)]);
    assert_eq!(library.sources()[2].shadowed, []);
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
    let library = scan(&[(Runtime, root.path())]);
    assert_eq!(ids(&library), ["deep", "review-change", "top"]);
    assert_eq!(left_out(&library), []);
}

#[test]
fn a_missing_directory_is_empty_and_said_to_be_missing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = scan(&[(Runtime, &root.path().join("nowhere"))]);
    assert!(!library.sources()[1].exists);
    assert_eq!(ids(&library), [""; 0]);
}

#[test]
fn a_source_that_is_no_directory_is_an_error() {
    let root = tempfile::tempdir().expect("makes a directory");
    let file = root.path().join("file");
    put(&file, "");
    let locations = Locations { config: "c".into(), directories: vec![(Runtime, file.clone())] };
    let error = Library::scan(&locations, world()).expect_err("cannot be read");
    assert!(matches!(&error, FileError::Io { path, .. } if *path == file), "{error:?}");
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
    let library = scan(&[(Runtime, root.path())]);
    assert_eq!(ids(&library), ["good"]);
    let reasons = left_out(&library);
    let large = format!("`{}` is too large: 1048577 bytes", file("large.yaml").display());
    let expected = [
        ("broken.yaml", "line 2: unknown key `promt`"),
        ("empty.json", "line 1: unexpected end of JSON input"),
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
    let library = scan(&[(Runtime, root.path())]);
    assert_eq!(library.get("same").expect("is there").path, root.path().join("a.yaml"));
    let taken = format!("id `same` is taken by `{}`", root.path().join("a.yaml").display());
    assert_eq!(left_out(&library), [("b.yaml".to_owned(), taken)]);
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
        let scanned = scan(&[(Runtime, &library)]);
        assert_eq!(ids(&scanned), ["current", "good"]);
        let reasons = left_out(&scanned);
        let names: Vec<&str> = reasons.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["dangling.yaml", "far.yaml", "loop.yaml", "passwd.json", "up.yaml"]);
        for (name, reason) in &reasons {
            if ["far.yaml", "passwd.json", "up.yaml"].contains(&name.as_str()) {
                assert!(reason.ends_with("leads out of its directory"), "{reason}");
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
        let library = scan(&[(Runtime, root.path())]);
        assert_eq!(ids(&library), ["good"]);
        let refused = |name: &str| {
            let reason = format!("`{}` is no regular file", file(name).display());
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
        let library = scan(&[(Runtime, root.path())]);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("opens it");
        // An administrator may read everything: then there is nothing to refuse.
        let expected = if readable { vec!["good", "x"] } else { vec!["good"] };
        assert_eq!(ids(&library), expected);
        assert_eq!(library.invalid().len(), usize::from(!readable));
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
