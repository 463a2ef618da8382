//! The user running this process. On Unix, the name comes from the system rather than from
//! environment variables.

/// The name of the user, or their numeric id if the system has no name for it.
#[cfg(unix)]
pub fn user() -> String {
    let own = rustix::process::getuid().as_raw();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_in(&known, own).unwrap_or_else(|| format!("uid {own}"))
}

/// The user's home directory according to the system, which no environment variable can change.
#[cfg(unix)]
pub(crate) fn home() -> Option<std::path::PathBuf> {
    let own = rustix::process::getuid().as_raw().to_string();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut users = known.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = users.find(|parts| parts.get(2) == Some(&&*own))?;
    line.get(5).filter(|home| home.len() > 1).map(std::path::PathBuf::from)
}

#[cfg(not(unix))]
pub(crate) fn home() -> Option<std::path::PathBuf> {
    None
}

/// The name of the user, from the environment.
#[cfg(not(unix))]
pub fn user() -> String {
    let name = std::env::var("USERNAME").ok();
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "user".to_owned())
}

/// The first name listed for a numeric id in the content of `/etc/passwd`.
#[cfg(unix)]
fn name_in(users: &str, own: u32) -> Option<String> {
    let mut named = users.lines().filter_map(|line| {
        let mut parts = line.split(':');
        let (name, number) = (parts.next()?, parts.nth(1)?);
        (number.parse() == Ok(own) && !name.is_empty()).then(|| name.to_owned())
    });
    named.next()
}

#[cfg(all(test, unix))]
mod tests {
    use super::{name_in, user};

    #[test]
    fn a_name_goes_by_the_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\n:x:7:7::/:\nada:x:1000:1000::/home/ada:\nb";
        assert_eq!(name_in(users, 0).as_deref(), Some("root"));
        assert_eq!(name_in(users, 1000).as_deref(), Some("ada"));
        assert_eq!(name_in(users, 7), None, "a name is never empty");
        assert_eq!(name_in(users, 1), None);
        assert!(!user().is_empty());
    }
}
