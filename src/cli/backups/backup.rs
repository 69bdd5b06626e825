//! `portico backup`: writes a directory with a dump and its manifest.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Args;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;

use crate::bootstrap::{Database, application_key};
use crate::cli::Failure;
use crate::cli::backups::manifest::{Dump, Manifest, Needs};
use crate::cli::backups::programs::{self, complaints, must_have_succeeded, unless_stopped};
use crate::cli::backups::{CHUNK, DUMP};
use crate::cli::progress::Progress;
use crate::config::Config;
use crate::kernel::clock::timestamp;
use crate::kernel::database::DatabaseUrl;
use crate::kernel::migrations;
use crate::kernel::signals;
use crate::kernel::terminal::{complain, say};

/// `portico backup`
#[derive(Args, Debug)]
pub(in crate::cli) struct Arguments {
    /// The directory to write, which must not exist
    directory: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) async fn run(config: &Config, arguments: &Arguments) -> Result<(), Failure> {
    let stop = signals::shutdown();
    let (url, key) = (programs::database_url(config)?, application_key(config)?);
    let directory = &arguments.directory;
    if directory.exists() {
        return Err(format!("{} exists already: name a directory that does not", directory.display()).into());
    }
    let database = Database::new(config).await?;
    // The directory has its name once it is complete, so that an interrupted backup is never taken for one.
    let unfinished = unfinished(directory)?;
    DirBuilder::new().mode(0o700).create(&unfinished).map_err(|error| format!("{} cannot be made: {error}", unfinished.display()))?;
    let making = database.with_migrated(config, async |pool| {
        let (applied, before) = (migrations::applied(pool).await?, Needs::look(pool, &key).await?);
        let made_at = pool.clock().now();
        let dump = dump(url, &unfinished).await?;
        let needs = before.or(Needs::look(pool, &key).await?);
        let manifest = Manifest::of(pool, &key, made_at, needs, dump).await?;
        if manifest.migrations != applied {
            return Err("the database was migrated meanwhile: make the backup again".into());
        }
        manifest.write(&unfinished)?;
        Ok::<_, Failure>(manifest)
    });
    let made = unless_stopped(&stop, making).await.and_then(|manifest| keep(&unfinished, directory).map(|()| manifest));
    if made.is_err() {
        // What is left of a backup that failed or was stopped is of no use.
        let _ = fs::remove_dir_all(&unfinished);
    }
    let manifest = made?;
    if manifest.lost > 0 {
        complain(&format!("none of the keys opens {} of the secrets in this backup: see portico doctor", manifest.lost));
    }
    say(&if arguments.json {
        json!({ "backup": { "directory": directory, "manifest": manifest } }).to_string()
    } else {
        format!(
            "{} has the database as it was at {}, {} bytes.\nIt needs the application key {}, which is not in it.",
            directory.display(),
            timestamp(manifest.made_at),
            manifest.dump.bytes,
            manifest.application_key
        )
    });
    Ok(())
}

/// The name that the directory has until it is complete, beside the one that it will have.
fn unfinished(directory: &Path) -> Result<PathBuf, Failure> {
    let mut name = directory.file_name().ok_or("the directory has no name")?.to_owned();
    name.push(".unfinished");
    Ok(directory.with_file_name(name))
}

/// Writes the dump into the directory, where nobody else may read it.
async fn dump(url: &DatabaseUrl, directory: &Path) -> Result<Dump, Failure> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(DUMP))?;
    let mut pg_dump = programs::start("pg_dump", url, &["--format=custom"], Stdio::null(), Stdio::piped())?;
    let (mut output, stderr) = (pg_dump.stdout.take().expect("standard output is a pipe"), pg_dump.stderr.take());
    let progress = Progress::of_bytes("dumping the database", None);
    let copying = async {
        let (mut bytes, mut hash, mut chunk) = (0, Sha256::new(), vec![0; CHUNK]);
        loop {
            let read = output.read(&mut chunk).await?;
            if read == 0 {
                return Ok::<_, std::io::Error>(Dump { bytes, sha256: hex::encode(hash.finalize()) });
            }
            hash.update(&chunk[..read]);
            file.write_all(&chunk[..read])?;
            bytes += read as u64;
            progress.at(bytes);
        }
    };
    let (copied, complaints) = tokio::join!(copying, complaints(stderr));
    progress.end();
    let status = pg_dump.wait().await?;
    must_have_succeeded("pg_dump", status, &complaints)?;
    let copied = copied?;
    file.sync_all()?;
    Ok(copied)
}

/// Gives the directory its name, for good.
fn keep(unfinished: &Path, directory: &Path) -> Result<(), Failure> {
    File::open(unfinished)?.sync_all()?;
    Ok(fs::rename(unfinished, directory)?)
}
