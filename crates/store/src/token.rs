//! The token that clients of the HTTP server present. It is created once and readable by its owner
//! only.

use std::path::{Path, PathBuf};

use milepost_model::document::hex;
use milepost_model::secret::Secret;

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::limits::{self, TOKEN_CHARS_MIN};

/// The name of the token file in the data directory.
pub const FILE: &str = "http-token";

/// Why no token is available.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the token in `{}` is shorter than {TOKEN_CHARS_MIN} characters", path.display())]
    TooShort { path: PathBuf },
    /// The token could not be sent in a header.
    #[error("the token in `{}` has characters that are not allowed in a header", path.display())]
    NoHeader { path: PathBuf },
    /// The system provided no random numbers.
    #[error("the system provided no random numbers")]
    NoRandomness,
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A token, and whether it was just created.
#[derive(Debug)]
pub struct HttpToken {
    pub secret: Secret,
    pub path: PathBuf,
    pub is_new: bool,
}

impl HttpToken {
    /// A data directory's token. A missing token is created.
    pub fn of(directory: &Path) -> Result<HttpToken, TokenError> {
        let path = directory.join(FILE);
        match HttpToken::read(&path) {
            Err(TokenError::File(FileError::NotFound { .. })) => {}
            read => return read,
        }
        file::make_directory(directory, FileMode::Owner)?;
        let mut bytes = [0; limits::TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|_| TokenError::NoRandomness)?;
        let text = hex(&bytes);
        match file::write(&path, format!("{text}\n").as_bytes(), WriteOptions::PRIVATE_NEW) {
            Ok(()) => Ok(HttpToken { secret: Secret::new(text), path, is_new: true }),
            // Another server created the token first, and clients may already know it.
            Err(FileError::Exists { .. }) => HttpToken::read(&path),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a token from a file.
    pub fn read(path: &Path) -> Result<HttpToken, TokenError> {
        let bytes = file::read_document(path, limits::TOKEN_FILE_BYTES)?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        check(&text, path)?;
        Ok(HttpToken { secret: Secret::new(text), path: path.to_owned(), is_new: false })
    }
}

/// Checks that a string can be used as a token; `path` is the file it came from.
pub fn check(text: &str, path: &Path) -> Result<(), TokenError> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::NoHeader { path: path.to_owned() });
    }
    if text.len() < TOKEN_CHARS_MIN {
        return Err(TokenError::TooShort { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let made = HttpToken::of(&data).expect("is made");
        assert!(made.is_new);
        assert_eq!(made.secret.reveal().len(), 2 * limits::TOKEN_BYTES);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let bits = std::fs::metadata(&made.path).expect("is there").permissions().mode();
            assert_eq!(bits & 0o777, 0o600);
        }
        let again = HttpToken::of(&data).expect("is read");
        assert!(!again.is_new);
        assert_eq!(again.secret.reveal(), made.secret.reveal());
        let other = HttpToken::of(&folder.path().join("other")).expect("is made");
        assert_ne!(other.secret.reveal(), made.secret.reveal());
    }

    #[test]
    fn what_can_be_guessed_or_not_be_sent_is_no_token() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            HttpToken::read(&path).map(|token| token.secret.reveal().to_owned())
        };
        let right = "a".repeat(TOKEN_CHARS_MIN);
        assert_eq!(read(&format!("  {right}\r\n")).expect("is one"), right);
        assert!(matches!(read(&right[1..]), Err(TokenError::TooShort { .. })));
        assert!(matches!(read(""), Err(TokenError::TooShort { .. })));
        assert!(matches!(read(&format!("{right} {right}")), Err(TokenError::NoHeader { .. })));
        assert!(matches!(read(&format!("{right}ä")), Err(TokenError::NoHeader { .. })));
        assert!(matches!(
            HttpToken::read(&folder.path().join("none")),
            Err(TokenError::File(FileError::NotFound { .. }))
        ));
    }
}
