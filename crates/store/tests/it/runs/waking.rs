//! Waking processes that drive runs.

#![cfg(unix)]

use std::fs;
use std::time::{Duration, Instant};

use milepost_store::runs::WakeListener;

use super::{fresh, holder};

const SOON: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(20);

#[test]
fn everybody_who_listens_is_woken() {
    let (root, runs) = fresh();
    assert_eq!(runs.wake_all().expect("wakes"), 0, "nobody ever listened");
    let listeners: Vec<WakeListener> =
        (0..3).map(|_| WakeListener::bind(root.path(), &holder()).expect("binds")).collect();
    assert!(!listeners[0].recv(SOON), "nobody woke it");
    // Three simultaneous wake-ups are merged into one.
    for _ in 0..3 {
        assert_eq!(runs.wake_all().expect("wakes"), 3);
    }
    let before = Instant::now();
    for listener in &listeners {
        assert!(listener.recv(LONG));
        assert!(!listener.recv(SOON));
    }
    assert!(before.elapsed() < LONG);
    drop(listeners);
    assert_eq!(runs.wake_all().expect("wakes"), 0);
}

#[test]
fn a_listener_that_never_listens_holds_nobody_up() {
    let (root, runs) = fresh();
    let listener = WakeListener::bind(root.path(), &holder()).expect("binds");
    for _ in 0..2_000 {
        assert_eq!(runs.wake_all().expect("wakes"), 1);
    }
    assert!(listener.recv(LONG));
}

#[test]
fn sockets_of_the_dead_are_removed_and_other_files_are_not() {
    let (root, runs) = fresh();
    let folder = root.path().join("wake");
    let alive = WakeListener::bind(root.path(), &holder()).expect("binds");
    // A socket left behind by a killed process.
    let dead = folder.join("dead.sock");
    drop(std::os::unix::net::UnixDatagram::bind(&dead).expect("binds"));
    fs::write(folder.join("note"), "x").expect("writes");
    assert_eq!(runs.wake_all().expect("wakes"), 1);
    assert!(alive.recv(LONG));
    assert!(!dead.exists());
    assert!(folder.join("note").exists());
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_no_error() {
    let (root, runs) = fresh();
    let deep = root.path().join("d".repeat(120));
    let listener = WakeListener::bind(&deep, &holder()).expect("does without");
    assert!(!listener.recv(SOON));
    assert_eq!(runs.wake_all().expect("wakes"), 0);
}
