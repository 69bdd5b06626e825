//! Who PostgreSQL runs as: the user of this program, or, because it refuses to be root, an account
//! without rights.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{User, geteuid};

use super::error::{Doing, PostgresError};

/// Root's choice, best first.
const ACCOUNTS_FOR_ROOT: [&str; 2] = ["postgres", "nobody"];

/// The account of the server and of its files.
#[derive(Debug)]
pub(super) enum Account {
    /// That of this program.
    Own,
    /// Another one; only root can choose it.
    Lowered(User),
}

impl Account {
    /// For root the owner of the cluster if there is one already: a `postgres` that appears later
    /// must not lock out the data which `nobody` made.
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

    /// Makes the command run as this account. Groups beside the account's own are dropped with the
    /// user id.
    pub(super) fn lower(&self, command: &mut Command) {
        if let Self::Lowered(user) = self {
            command.gid(user.gid.as_raw()).uid(user.uid.as_raw());
        }
    }

    /// Gives a file or directory to this account.
    pub(super) fn take_over(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Lowered(user) => chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())),
        }
    }

    /// Refuses a directory that this account could not get to.
    pub(super) fn must_reach(&self, directory: &Path) -> Result<(), PostgresError> {
        let Self::Lowered(user) = self else {
            return Ok(());
        };
        // From the root down, so that the error names the door that is really shut.
        let mut way: Vec<&Path> = directory.ancestors().collect();
        way.reverse();
        for door in way {
            if !may_enter(user, &fs::metadata(door).doing("look at", door)?) {
                return Err(PostgresError::ShutOut { account: user.name.clone(), directory: door.to_owned() });
            }
        }
        Ok(())
    }
}

/// By the permission bits alone; access lists are beyond a development server.
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
