//! What development keeps beside its database: an application key of its own.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use crate::dev::data_dir::open_data_dir;
use crate::kernel::crypto::ApplicationKey;

/// The key of this data directory, made the first time.
pub fn application_key(data_dir: &Path) -> io::Result<SecretString> {
    let path = open_data_dir(data_dir)?.join("application.key");
    match fs::read_to_string(&path) {
        Ok(key) => Ok(key.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = ApplicationKey::generate();
            write_secret(&path, key.expose_secret())?;
            Ok(key)
        }
        Err(error) => Err(error),
    }
}

/// Writes a file that only this account may read, whole or not at all.
pub(super) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)
}
