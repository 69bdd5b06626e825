//! The account that PostgreSQL runs as: the user of this program or, because PostgreSQL refuses to run as root, an unprivileged account.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{User, geteuid};

use super::error::{Doing, PostgresError};

/// The accounts to use when this program runs as root, in order of preference.
const ACCOUNTS_FOR_ROOT: [&str; 2] = ["postgres", "nobody"];

/// The account that runs the server and owns its files.
#[derive(Debug)]
pub(super) enum Account {
    /// The account of this program.
    Own,
    /// Another account, which only root can use.
    Lowered(User),
}

impl Account {
    /// Root uses the owner of an existing cluster, because an account `postgres` that is added later could not read data owned by
    /// `nobody`.
    pub(super) fn for_cluster(cluster: &Path) -> Result<Self, PostgresError> {
        if !geteuid().is_root() {
            return Ok(Self::Own);
        }
        let owner = fs::metadata(cluster).ok().and_then(|metadata| User::from_uid(metadata.uid().into()).ok().flatten());
        owner
            .filter(|owner| !owner.uid.is_root())
            .or_else(|| ACCOUNTS_FOR_ROOT.iter().find_map(|name| User::from_name(name).ok().flatten()))
            .map(Self::Lowered)
            .ok_or(PostgresError::NoAccount)
    }

    /// Makes the command run as this account. Setting the user id also drops supplementary groups.
    pub(super) fn lower(&self, command: &mut Command) {
        if let Self::Lowered(user) = self {
            command.gid(user.gid.as_raw()).uid(user.uid.as_raw());
        }
    }

    /// Changes the owner of a file or directory to this account.
    pub(super) fn take_over(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Lowered(user) => chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())),
        }
    }

    pub(super) fn must_reach(&self, directory: &Path) -> Result<(), PostgresError> {
        let Self::Lowered(user) = self else {
            return Ok(());
        };
        // Checks from the root directory down, so that the error names the directory that denies access.
        let mut way: Vec<&Path> = directory.ancestors().collect();
        way.reverse();
        for door in way {
            if !may_enter(user, &fs::metadata(door).doing("read the permissions of", door)?) {
                return Err(PostgresError::ShutOut { account: user.name.clone(), directory: door.to_owned() });
            }
        }
        Ok(())
    }
}

/// Checks the permission bits only; access control lists are not supported.
fn may_enter(user: &User, directory: &Metadata) -> bool {
    let search = if directory.uid() == user.uid.as_raw() {
        0o100
    } else if directory.gid() == user.gid.as_raw() {
        0o010
    } else {
        0o001
    };
    directory.mode() & search != 0
}
