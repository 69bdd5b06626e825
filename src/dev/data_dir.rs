//! The directory of development data: the private PostgreSQL, its programs and the certificates.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Creates a data directory if it is missing. Returns its absolute path, for processes with another current directory.
///
/// # Errors
/// Returns the error of the file system if the directory does not exist and cannot be created.
pub fn open_data_dir(path: &Path) -> io::Result<PathBuf> {
    if !path.exists() {
        fs::create_dir_all(path)?;
        // Independent of root's umask, because PostgreSQL's account needs access. Secret files in the directory have their own
        // permissions.
        fs::set_permissions(path, Permissions::from_mode(0o755))?;
    }
    fs::canonicalize(path)
}
