//! Where a newcomer's data lies: the private PostgreSQL, its programs and the development
//! certificates.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// `/var/lib/portico` for root, `.portico` below the current directory for everybody else.
///
/// PostgreSQL refuses to run as root, so root's server runs as an account that cannot look below
/// root's closed home.
#[must_use]
pub fn default_data_dir() -> PathBuf {
    PathBuf::from(if geteuid().is_root() { "/var/lib/portico" } else { ".portico" })
}

/// Makes a data directory if it is missing, and tells its full path, for whoever has another
/// current directory.
///
/// # Errors
/// The file system's, when it is neither there nor can be made.
pub fn open_data_dir(path: &Path) -> io::Result<PathBuf> {
    if !path.exists() {
        fs::create_dir_all(path)?;
        // Whatever root's umask says: the account of its PostgreSQL has to pass. What is secret in
        // here is closed by itself.
        fs::set_permissions(path, Permissions::from_mode(0o755))?;
    }
    fs::canonicalize(path)
}
