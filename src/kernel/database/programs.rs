//! Where the programs of PostgreSQL are on this machine: the server's for development, the client's for backups.

use std::env;
use std::fs;
use std::iter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories with one subdirectory per version, and the prefix before the version in its name.
const VERSIONED: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),          // Debian, Ubuntu
    ("/usr", "pgsql-"),                   // PostgreSQL's own packages for Fedora and related systems
    ("/opt/homebrew/opt", "postgresql@"), // Homebrew on Apple silicon
    ("/usr/local/opt", "postgresql@"),    // Homebrew on Intel
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

/// The first installed program with this name.
pub fn find_program(name: &str) -> Option<PathBuf> {
    installed().map(|directory| directory.join(name)).find(|program| is_executable(program))
}

/// All directories where a system may keep the programs, each searched lazily.
pub fn installed() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = env::split_paths(&path).filter(|directory| directory.is_absolute()).collect();
    let versioned = VERSIONED.iter().flat_map(|(parent, prefix)| newest_first(Path::new(parent), prefix));
    on_path.into_iter().chain(iter::once_with(told_by_pg_config).flatten()).chain(versioned)
}

fn told_by_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    String::from_utf8(output.stdout).ok().map(|line| PathBuf::from(line.trim_end()))
}

/// `<parent>/<prefix><version>/bin`, the highest version first.
fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    by_version(names, prefix).into_iter().map(|name| parent.join(name).join("bin")).collect()
}

/// The names of a prefix and a version, the highest version first.
fn by_version(names: impl Iterator<Item = String>, prefix: &str) -> Vec<String> {
    let mut versions: Vec<(f32, String)> = names.filter_map(|name| Some((name.strip_prefix(prefix)?.parse().ok()?, name))).collect();
    versions.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    versions.into_iter().map(|(_, name)| name).collect()
}

/// Whether the file is a program that can be run.
pub fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_first_by_number_and_not_by_letter() {
        let names = ["at@9.6", "at@15", "at@17", "at@common", "elsewhere@18"].map(str::to_owned);
        assert_eq!(by_version(names.into_iter(), "at@"), ["at@17", "at@15", "at@9.6"]);
    }
}
