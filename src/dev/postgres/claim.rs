//! The lock on a data directory: only the process that holds it may run a server there.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::POLL_INTERVAL;
use super::error::{Doing, PostgresError};

/// The lock on the data directory. The operating system releases it when the process ends for any reason.
#[derive(Debug)]
pub(super) struct Claim {
    lock: File,
}

impl Claim {
    /// Whether another process holds the lock. The look itself is in nobody's way for long, and not in that of another look.
    pub(super) fn is_held(data_dir: &Path) -> bool {
        File::open(data_dir).is_ok_and(|lock| matches!(Self { lock }.lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Waits for another process that is about to end, for example when a file watcher restarts the program.
    pub(super) fn take(data_dir: &Path, patience: Duration) -> Result<Self, PostgresError> {
        let lock = File::open(data_dir).doing("open", data_dir)?;
        let deadline = Instant::now() + patience;
        let mut is_logged = false;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { lock }),
                Err(TryLockError::Error(error)) => return Err(error).doing("lock", data_dir),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(PostgresError::InUse { data_dir: data_dir.to_owned() });
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if !is_logged {
                tracing::info!(
                    data_dir = %data_dir.display(),
                    "waiting for another Portico process on this data directory to stop"
                );
                is_logged = true;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Claim {
    /// Releases the lock also of a program that is being started: it has a copy of the file until it runs.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::temporary::TemporaryDirectory;

    #[test]
    fn a_second_process_cannot_use_the_data_until_the_first_one_ends() {
        let directory = TemporaryDirectory::make("portico-claim").unwrap();
        let take = || Claim::take(directory.path(), Duration::ZERO);
        let first = take().unwrap();
        assert!(matches!(take(), Err(PostgresError::InUse { .. })));
        assert!(Claim::is_held(directory.path()));
        drop(first);
        assert!(!Claim::is_held(directory.path()));
        assert!(take().is_ok());
    }

    #[test]
    fn a_copy_of_the_file_in_a_program_that_is_being_started_does_not_keep_the_lock() {
        let directory = TemporaryDirectory::make("portico-claim").unwrap();
        let claim = Claim::take(directory.path(), Duration::ZERO).unwrap();
        let copy = claim.lock.try_clone().unwrap();
        drop(claim);
        assert!(!Claim::is_held(directory.path()));
        drop(copy);
    }
}
