//! Development files beside the database: an application key, and a certificate authority that is trusted for loopback.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};

use crate::config::Config;
use crate::dev::authority::{Authority, AuthorityError};
use crate::dev::data_dir::open_data_dir;
use crate::kernel::crypto::{ApplicationKey, random_hex};

/// The application key of this data directory, generated on first use.
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

/// Allows webhooks to receivers on this machine, and all other addresses of companies, with certificates of the data directory's authority.
pub fn trust_loopback(config: &mut Config) -> Result<(), AuthorityError> {
    let authority = Authority::open(&config.data_dir())?;
    config.webhooks.extra_root_certificates.push(authority.certificate_path().to_owned());
    for network in ["127.0.0.0/8", "::1/128"] {
        let network: IpNet = network.parse().expect("both are valid networks");
        config.webhooks.allowed_networks.push(network);
        config.storefront.allowed_networks.open_to_all(network);
    }
    Ok(())
}

/// Writes a file that only this account may read, atomically.
pub(super) fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    replace(path, text, 0o600)
}

/// Replaces a file atomically by one with this mode. Each draft has a name of its own, because other processes may replace the file at the same
/// moment.
pub(super) fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.draft", random_hex::<8>()));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
    let replaced = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&draft, path));
    if replaced.is_err() {
        // The first error is the one that matters.
        let _ = fs::remove_file(&draft);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::dev::temporary::TemporaryDirectory;

    #[test]
    fn a_file_that_many_replace_at_once_is_one_of_theirs() {
        let directory = TemporaryDirectory::make("portico-workspace").unwrap();
        let path = directory.path().join("demo.json");
        let texts = ["one", "another", "a third"];
        thread::scope(|scope| {
            for text in texts {
                let path = &path;
                scope.spawn(move || (0..50).for_each(|_| write_secret(path, text).unwrap()));
            }
        });
        assert!(texts.contains(&fs::read_to_string(&path).unwrap().as_str()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no draft is left");
    }
}
