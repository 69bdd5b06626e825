//! The directory of the Unix socket: only the server's account may enter it, and its path is short enough.

use std::env;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::account::Account;
use super::cluster::make_private_directory;
use super::error::PostgresError;

/// The name of PostgreSQL's socket for port 5432.
const SOCKET_NAME: &str = ".s.PGSQL.5432";

/// The size of the system's `sun_path`, without the terminating zero byte.
const MAX_PATH_LEN: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The directory of the socket. It is removed on drop, because the socket is useless without its server.
#[derive(Debug)]
pub(super) struct SocketDirectory {
    path: PathBuf,
}

impl SocketDirectory {
    /// The location of the socket for the server on `data_dir`.
    pub(super) fn locate(data_dir: &Path) -> Result<Self, PostgresError> {
        Ok(Self { path: place(data_dir)? })
    }

    /// Creates the directory. If another user has created a directory of this name in `/tmp`, it cannot be removed, and this
    /// returns an error.
    pub(super) fn make(&self, account: &Account) -> Result<(), PostgresError> {
        make_private_directory(&self.path, account)
    }

    /// Whether a server is listening on the socket.
    pub(super) fn is_answered(&self) -> bool {
        is_answered(&self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The URL of a database. It contains the port, because a client would otherwise read `PGPORT`.
    pub(super) fn url(&self, role: &str, database: &str) -> String {
        url(&self.path, role, database)
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The URL of a database on the server that another process runs on `data_dir`, if there is one.
pub(super) fn url_if_answered(data_dir: &Path, role: &str, database: &str) -> Option<String> {
    let path = place(data_dir).ok()?;
    is_answered(&path).then(|| url(&path, role, database))
}

/// `<data_dir>/socket` or, if that path is unsuitable, a directory in the system's temporary directory.
fn place(data_dir: &Path) -> Result<PathBuf, PostgresError> {
    let digest = hex::encode(&Sha256::digest(data_dir.as_os_str().as_bytes())[..8]);
    let short = format!("portico-{digest}");
    let candidates = [data_dir.join("socket"), env::temp_dir().join(&short), Path::new("/tmp").join(&short)];
    let fitting = candidates.iter().find(|path| fits(path)).cloned();
    fitting.ok_or_else(|| PostgresError::NoPlaceForSocket { tried: candidates[2].clone() })
}

fn is_answered(directory: &Path) -> bool {
    UnixStream::connect(directory.join(SOCKET_NAME)).is_ok()
}

fn url(directory: &Path, role: &str, database: &str) -> String {
    let host = percent_encode(directory.as_os_str().as_bytes());
    format!("postgres://{role}@{host}:5432/{}", percent_encode(database.as_bytes()))
}

/// Whether the path fits into `sun_path`, and contains no comma, which PostgreSQL uses to separate directories.
fn fits(directory: &Path) -> bool {
    let bytes = directory.as_os_str().as_bytes();
    bytes.len() + "/".len() + SOCKET_NAME.len() <= MAX_PATH_LEN && !bytes.contains(&b',')
}

/// Encodes all characters except those that are unreserved in every part of a URL.
fn percent_encode(bytes: &[u8]) -> String {
    let encode = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.iter().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgConnectOptions;

    use super::*;

    #[test]
    fn a_url_is_understood_by_the_database_library() {
        let socket = SocketDirectory { path: PathBuf::from("/tmp/no such place/ö%2F") };
        let options: PgConnectOptions = socket.url("portico", "test 1").parse().unwrap();
        assert_eq!(options.get_socket().unwrap(), socket.path());
        assert_eq!((options.get_username(), options.get_database()), ("portico", Some("test 1")));
        assert_eq!(options.get_port(), 5432);
    }

    #[test]
    fn the_socket_lies_with_the_data_unless_the_name_would_not_do() {
        let near = Path::new("/var/lib/portico");
        assert_eq!(SocketDirectory::locate(near).unwrap().path(), near.join("socket"));

        for unfit in [&"long".repeat(30), "one,two"] {
            let located = SocketDirectory::locate(&Path::new("/home").join(unfit)).unwrap();
            assert!(located.path().starts_with(env::temp_dir()), "{unfit}");
        }
    }
}
