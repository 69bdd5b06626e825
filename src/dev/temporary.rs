//! A directory of this process, removed when it is dropped. If the process was killed, it is removed when the next one is created.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// `<system's temporary directory>/<purpose>-<process id>-<number>`, removed on drop.
///
/// `cargo test` exits without dropping statics, so creating a directory first removes those of the same purpose whose process has ended.
#[derive(Debug)]
pub struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    /// Creates a new, empty directory.
    ///
    /// # Errors
    /// Returns the error of the file system if the directory cannot be created.
    pub fn make(purpose: &str) -> io::Result<Self> {
        let parent = env::temp_dir();
        remove_abandoned(&parent, purpose);
        let mut number = 0_u32;
        loop {
            let path = parent.join(format!("{purpose}-{}-{number}", process::id()));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
                Ok(()) => {
                    // Independent of the umask, because the PostgreSQL of root runs under another account and needs access.
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                    return Ok(Self(path));
                }
            }
        }
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(
                path = %self.0.display(),
                %error,
                "a temporary directory could not be removed"
            );
        }
    }
}

/// Errors are ignored: the next process tries again.
fn remove_abandoned(parent: &Path, purpose: &str) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if owner(&entry.file_name().to_string_lossy(), purpose).is_some_and(|owner| !is_alive(owner)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The process that created the directory of this name, if the name has this purpose.
fn owner(name: &str, purpose: &str) -> Option<Pid> {
    let (process, number) = name.strip_prefix(purpose)?.strip_prefix('-')?.split_once('-')?;
    number.parse::<u32>().ok()?;
    process.parse().ok().filter(|id| *id > 0).map(Pid::from_raw)
}

fn is_alive(process: Pid) -> bool {
    // Any other error (EPERM) means that the process exists and belongs to another user.
    kill(process, None) != Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_removed_with_its_handle() {
        let directory = TemporaryDirectory::make("portico-temporary").unwrap();
        let path = directory.path().to_owned();
        fs::write(path.join("file"), "content").unwrap();
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn directories_of_killed_processes_are_removed_and_those_of_running_ones_are_not() {
        let playground = TemporaryDirectory::make("portico-playground").unwrap();
        let mut ended = process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let abandoned = playground.path().join(format!("purpose-{}-0", ended.id()));
        let used = playground.path().join(format!("purpose-{}-0", process::id()));
        let foreign = playground.path().join(format!("purpose-of-another-{}-0", ended.id()));
        for directory in [&abandoned, &used, &foreign] {
            fs::create_dir_all(directory.join("below")).unwrap();
        }

        remove_abandoned(playground.path(), "purpose");

        assert!(!abandoned.exists());
        assert!(used.exists() && foreign.exists());
    }
}
