//! Which files may be imported, and which files a document may refer to.

use std::fs;
use std::path::{Path, PathBuf};

use milepost_store::{
    Config, FileError, LocalSource, Locations, ReferenceRoot, SourceError, Trust, limits,
};

use crate::{locations, put};

/// A tree with a home directory, a project in it and files outside it.
///
/// ```text
/// home/ada/project/spec/openapi.yaml   home/ada/project/common/error.yaml
/// home/ada/.ssh/key                    home/ada/Downloads/api.yaml
/// outside/secret.yaml
/// ```
struct World {
    root: tempfile::TempDir,
    locations: Locations,
}

impl World {
    fn new() -> World {
        let root = tempfile::tempdir().expect("makes a directory");
        let mut locations = locations(root.path());
        for (path, text) in [
            ("home/ada/project/spec/openapi.yaml", "openapi"),
            ("home/ada/project/spec/paths/a.yaml", "a"),
            ("home/ada/project/common/error.yaml", "error"),
            ("home/ada/project/.env", "hidden"),
            ("home/ada/.ssh/key", "key"),
            ("home/ada/api.yaml", "home"),
            ("home/ada/Downloads/api.yaml", "download"),
            ("outside/secret.yaml", "secret"),
        ] {
            put(&root.path().join(path), text);
        }
        locations.home = Some(root.path().join("home/ada"));
        locations.working = root.path().join("home/ada/project");
        World { root, locations }
    }

    fn path(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).expect("is there").join(path)
    }

    fn user(&self, path: &str) -> Result<LocalSource, SourceError> {
        LocalSource::open(Path::new(path), &Trust::user(&self.locations, None))
    }

    fn agent(&self, path: &str) -> Result<LocalSource, SourceError> {
        let config = Config { source_roots: vec![], ..Config::default() };
        LocalSource::open(Path::new(path), &Trust::agent(&self.locations, &config))
    }

    fn check_root(&self, document: &str, expected: &str) {
        let source = self.user(&self.path(document).display().to_string()).expect("is open");
        assert_eq!(source.references.path(), self.path(expected), "{document}");
    }

    /// Whether an agent may read a file; the only possible refusal is `NotOpen`.
    fn is_open(&self, path: &Path) -> bool {
        match self.agent(&path.display().to_string()) {
            Ok(_) => true,
            Err(SourceError::NotOpen { .. }) => false,
            Err(error) => panic!("{}: {error:?}", path.display()),
        }
    }
}

#[test]
fn a_user_may_name_any_file() {
    let world = World::new();
    let source = world.user("spec/../spec/openapi.yaml").expect("is open");
    assert_eq!(source.path, world.path("home/ada/project/spec/openapi.yaml"));
    assert_eq!(source.bytes, b"openapi");
    assert_eq!(world.user("../../../outside/secret.yaml").expect("is open").bytes, b"secret");
    let error = world.user("spec").expect_err("is a folder");
    assert!(matches!(error, SourceError::File(FileError::NotRegular { .. })), "{error:?}");
    let error = world.user("nothing.yaml").expect_err("is not there");
    assert!(matches!(error, SourceError::File(FileError::NotFound { .. })), "{error:?}");
}

#[test]
fn a_users_references_stay_below_the_folder_above() {
    let world = World::new();
    world.check_root("home/ada/project/spec/openapi.yaml", "home/ada/project");
    // The root is never the home directory or one of its parents.
    world.check_root("home/ada/Downloads/api.yaml", "home/ada/Downloads");
    world.check_root("home/ada/api.yaml", "home/ada");
    world.check_root("outside/secret.yaml", "outside");
}

#[test]
fn references_are_read_from_the_folder_of_the_document() {
    let world = World::new();
    let mut references = world.user("spec/openapi.yaml").expect("is open").references;
    for (reference, text) in [
        ("paths/a.yaml", "a"),
        ("./paths/../openapi.yaml", "openapi"),
        ("../common/error.yaml", "error"),
        ("paths/../../common/./error.yaml", "error"),
    ] {
        assert_eq!(&*references.read(reference).expect(reference), text.as_bytes());
    }
    let files: Vec<&Path> = references.files().collect();
    assert_eq!(files.len(), 3, "the same file is read once: {files:?}");
}

#[test]
fn references_lead_nowhere_else() {
    let world = World::new();
    let outside = world.path("outside/secret.yaml").display().to_string();
    let mut references = world.user("spec/openapi.yaml").expect("is open").references;
    for reference in [
        "../../api.yaml",
        "../../../../outside/secret.yaml",
        "paths/../../../.ssh/key",
        "../.env",
        "../../../../../../../../../etc/passwd",
        "/etc/passwd",
        "..\\..\\api.yaml",
        "paths/a.yaml\0",
        &outside,
    ] {
        let error = references.read(reference).expect_err(reference);
        assert!(matches!(error, SourceError::Reference { .. }), "{reference}: {error:?}");
    }
    for reference in ["", ".", "paths", "file:///etc/passwd", "http://x.example/a.yaml"] {
        references.read(reference).expect_err(reference);
    }
    let mut home = world.user("../api.yaml").expect("is open").references;
    let error = home.read(".ssh/key").expect_err("is hidden");
    assert!(matches!(error, SourceError::Reference { .. }), "{error:?}");
}

#[test]
fn a_hidden_folder_of_the_documents_own_is_no_obstacle() {
    let world = World::new();
    put(&world.path("home/ada/project/.api/openapi.yaml"), "openapi");
    put(&world.path("home/ada/project/.api/a.yaml"), "a");
    let mut references = world.user(".api/openapi.yaml").expect("is open").references;
    assert_eq!(&*references.read("a.yaml").expect("reads"), b"a");
    assert_eq!(&*references.read("../common/error.yaml").expect("reads"), b"error");
}

#[test]
fn a_user_may_give_the_root() {
    let world = World::new();
    let open = |root: &str| {
        let trust = Trust::user(&world.locations, Some(Path::new(root)));
        LocalSource::open(Path::new("spec/openapi.yaml"), &trust)
    };
    let mut narrow = open("spec").expect("is open").references;
    narrow.read("paths/a.yaml").expect("reads");
    let error = narrow.read("../common/error.yaml").expect_err("leads out");
    assert!(matches!(error, SourceError::Reference { .. }), "{error:?}");
    let mut wide = open("..").expect("is open").references;
    assert_eq!(&*wide.read("../../Downloads/api.yaml").expect("reads"), b"download");
    let error = open("common").expect_err("is elsewhere");
    assert!(matches!(error, SourceError::NotBelowRoot { .. }), "{error:?}");
}

#[test]
fn an_agent_may_name_what_is_in_the_working_directory_or_the_project() {
    let mut world = World::new();
    assert!(world.is_open(Path::new("spec/openapi.yaml")));
    assert!(world.is_open(&world.path("home/ada/project/spec/openapi.yaml")));
    assert!(!world.is_open(Path::new("../api.yaml")));
    assert!(!world.is_open(&world.path("outside/secret.yaml")));
    world.locations.working = world.path("home/ada/project/spec");
    assert!(!world.is_open(Path::new("../common/error.yaml")));
    world.locations.project = Some(world.path("home/ada/project"));
    assert!(world.is_open(Path::new("../common/error.yaml")));
    // References of such a document must stay within its folder.
    let mut references = world.agent("openapi.yaml").expect("is open").references;
    references.read("paths/a.yaml").expect("reads");
    references.read("../common/error.yaml").expect_err("leads out");
}

#[test]
fn configured_roots_are_open_to_an_agent() {
    let world = World::new();
    let path = world.path("outside/secret.yaml");
    let roots = vec![world.path("outside/../outside"), world.path("nowhere")];
    let config = Config { source_roots: roots, ..Config::default() };
    let trust = Trust::agent(&world.locations, &config);
    assert_eq!(LocalSource::open(&path, &trust).expect("is open").bytes, b"secret");
}

#[test]
fn a_home_opens_nothing_hidden_and_the_root_directory_nothing_at_all() {
    let mut world = World::new();
    world.locations.working = world.path("home/ada");
    assert!(world.is_open(Path::new("Downloads/api.yaml")));
    assert!(!world.is_open(Path::new(".ssh/key")));
    assert!(!world.is_open(Path::new("project/.env")));
    world.locations.working = world.path("home");
    assert!(!world.is_open(Path::new("ada/.ssh/key")));
    world.locations.working = PathBuf::from("/");
    assert!(!world.is_open(&world.path("outside/secret.yaml")));
}

#[test]
fn an_agent_does_not_learn_what_is_elsewhere() {
    let world = World::new();
    let there = world.agent("../../../outside/secret.yaml").expect_err("is not open");
    let not_there = world.agent("../../../outside/nothing.yaml").expect_err("is not open");
    let nowhere = world.agent("../../../nowhere/nothing.yaml").expect_err("is not open");
    for error in [there, not_there, nowhere] {
        assert!(matches!(error, SourceError::NotOpen { .. }), "{error:?}");
    }
    let error = world.agent("spec/nothing.yaml").expect_err("is not there");
    assert!(matches!(error, SourceError::File(FileError::NotFound { .. })), "{error:?}");
}

#[test]
fn the_number_of_files_is_bounded() {
    let root = tempfile::tempdir().expect("makes a directory");
    for number in 0..=limits::REFERENCED_FILES {
        put(&root.path().join(format!("{number}.yaml")), "x");
    }
    let mut references = ReferenceRoot::open(root.path()).expect("opens");
    for number in 0..limits::REFERENCED_FILES {
        references.read(&format!("{number}.yaml")).expect("reads");
    }
    let error =
        references.read(&format!("{}.yaml", limits::REFERENCED_FILES)).expect_err("one more");
    assert!(matches!(error, SourceError::TooManyFiles), "{error:?}");
    references.read("0.yaml").expect("was read before");
}

#[test]
fn the_number_of_bytes_is_bounded() {
    let root = tempfile::tempdir().expect("makes a directory");
    let put_bytes = |name: &str, bytes: usize| {
        let file = fs::File::create(root.path().join(name)).expect("makes a file");
        file.set_len(bytes as u64).expect("sets");
    };
    let document = milepost_catalog::limits::DOCUMENT_BYTES;
    put_bytes("large.yaml", document + 1);
    put_bytes("a.yaml", document);
    put_bytes("b.yaml", document - 1);
    put_bytes("c.yaml", 1);
    put_bytes("d.yaml", 1);
    let mut references = ReferenceRoot::open(root.path()).expect("opens");
    let error = references.read("large.yaml").expect_err("is too large");
    assert!(matches!(error, SourceError::File(FileError::TooLarge { .. })), "{error:?}");
    for fits in ["a.yaml", "b.yaml", "c.yaml"] {
        references.read(fits).expect("fits");
    }
    let error = references.read("d.yaml").expect_err("is one byte too much");
    assert!(matches!(error, SourceError::TooManyBytes), "{error:?}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_only_where_the_file_itself_may_be_read() {
        let world = World::new();
        let project = world.path("home/ada/project");
        symlink(world.path("outside/secret.yaml"), project.join("out.yaml")).expect("links");
        symlink(world.path("outside"), project.join("out")).expect("links");
        symlink("common/error.yaml", project.join("in.yaml")).expect("links");
        symlink(&project, world.path("outside/project")).expect("links");
        assert!(!world.is_open(Path::new("out.yaml")));
        assert!(!world.is_open(Path::new("out/secret.yaml")));
        assert!(world.is_open(Path::new("in.yaml")));
        // The path leads through another folder, but the file is in the project.
        assert!(world.is_open(&world.path("outside/project/spec/openapi.yaml")));

        let mut references = world.user("spec/openapi.yaml").expect("is open").references;
        assert_eq!(&*references.read("../in.yaml").expect("reads"), b"error");
        for out in ["../out.yaml", "../out/secret.yaml"] {
            let error = references.read(out).expect_err(out);
            assert!(matches!(error, SourceError::Reference { .. }), "{error:?}");
        }
        // A person may name a link; references are resolved from the location of the file itself.
        let source = world.user("out.yaml").expect("is open");
        assert_eq!(source.path, world.path("outside/secret.yaml"));
    }

    #[test]
    fn a_working_directory_that_is_a_link_is_what_it_leads_to() {
        let mut world = World::new();
        symlink(world.path("home/ada/project"), world.path("outside/here")).expect("links");
        world.locations.working = world.path("outside/here");
        assert!(world.is_open(Path::new("spec/openapi.yaml")));
        assert!(!world.is_open(Path::new("../secret.yaml")));
    }

    #[test]
    fn a_device_is_no_document() {
        let world = World::new();
        let error = world.user("/dev/zero").expect_err("is a device");
        assert!(matches!(error, SourceError::File(FileError::NotRegular { .. })), "{error:?}");
        symlink("/dev/zero", world.path("home/ada/project/zero.yaml")).expect("links");
        assert!(!world.is_open(Path::new("zero.yaml")));
    }
}
