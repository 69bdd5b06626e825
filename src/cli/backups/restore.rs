//! `portico restore`: looks at a backup and at the database, and restores one into the other if they fit.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Args;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use crate::app;
use crate::bootstrap::{Database, application_key};
use crate::cli::Failure;
use crate::cli::backups::manifest::{Dump, Manifest};
use crate::cli::backups::programs::{self, Stopped, complaints, must_have_succeeded, unless_stopped};
use crate::cli::backups::refusal::{Refusal, judge};
use crate::cli::backups::{CHUNK, DUMP};
use crate::cli::progress::Progress;
use crate::config::Config;
use crate::kernel::clock::timestamp;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::{DatabaseUrl, Pool};
use crate::kernel::migrations;
use crate::kernel::signals;
use crate::kernel::terminal::{complain, say};

/// `portico restore`
#[derive(Args, Debug)]
pub(in crate::cli) struct Arguments {
    /// The directory that `portico backup` has written
    directory: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) async fn run(config: &Config, arguments: &Arguments) -> Result<(), Failure> {
    let stop = signals::shutdown();
    let (url, key) = (programs::database_url(config)?, application_key(config)?);
    let manifest = Manifest::read(&arguments.directory)?;
    let declared = app::declarations(&config.extensions)?;
    let kinds = declared.iter().map(|declaration| declaration.kind.clone()).chain(config.extensions.retired.iter().cloned());
    judge(&manifest, &key, &kinds.collect::<BTreeSet<_>>(), &migrations::known())?;
    let dump = arguments.directory.join(DUMP);
    must_be_intact(&dump, &manifest.dump, &stop)?;
    let database = Database::new(config).await?;
    let restored = unless_stopped(&stop, restore(url, &dump, &manifest.dump, &database.pool)).await;
    database.stop().await;
    let missing = restored?;
    for (needed, operators) in codes_without_key(&manifest, &key) {
        complain(&format!(
            "the recovery codes of {operators} operators need the application key {needed}, which is not configured: they work once \
             previous_application_keys names it, and otherwise their owners have to make new ones in the console"
        ));
    }
    say(&if arguments.json {
        json!({ "restore": { "directory": arguments.directory, "manifest": manifest, "missing_migrations": missing } }).to_string()
    } else {
        let restored = format!("The database is as it was at {}.", timestamp(manifest.made_at));
        match missing {
            0 => restored,
            1 => format!("{restored} It lacks 1 migration of this version: run portico migrate."),
            missing => format!("{restored} It lacks {missing} migrations of this version: run portico migrate."),
        }
    });
    Ok(())
}

/// The keys that recovery codes in the backup need and that are not configured, each with the number of operators. A backup without them is
/// restored nevertheless: when a key is replaced for good, the recovery codes that were made with it do not work any more.
fn codes_without_key<'m>(manifest: &'m Manifest, key: &ApplicationKey) -> Vec<(&'m str, u64)> {
    let configured: Vec<_> = iter::once(key.fingerprint()).chain(key.previous()).map(|fingerprint| fingerprint.to_string()).collect();
    let needed = manifest.recovery_codes.iter().filter(|(fingerprint, _)| !configured.contains(fingerprint));
    needed.map(|(fingerprint, operators)| (fingerprint.as_str(), *operators)).collect()
}

/// Restores all or nothing. Returns how many migrations of this version are missing afterwards.
async fn restore(url: &DatabaseUrl, file: &Path, dump: &Dump, pool: &Pool) -> Result<usize, Failure> {
    let tables = sqlx::query_scalar!(
        r#"select count(*) as "count!" from pg_class join pg_namespace on pg_namespace.oid = relnamespace
           where relkind in ('r', 'p', 'v', 'm', 'f') and nspname <> 'information_schema' and nspname not like 'pg\_%'"#
    );
    let tables = tables.fetch_one(pool.owner()).await?;
    if tables > 0 {
        return Err(Refusal::NotEmpty(tables).into());
    }
    let arguments = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"];
    let mut pg_restore = programs::start("pg_restore", url, &arguments, Stdio::piped(), Stdio::null())?;
    let (mut input, stderr) = (pg_restore.stdin.take().expect("standard input is a pipe"), pg_restore.stderr.take());
    let progress = Progress::of_bytes("restoring the database", Some(dump.bytes));
    let feeding = async {
        let (mut file, mut fed) = (File::open(file)?, 0);
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = file.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            // A program that does not read on has failed, and says why.
            if input.write_all(&chunk[..read]).await.is_err() {
                break;
            }
            fed += read as u64;
            progress.at(fed);
        }
        drop(input);
        Ok::<_, std::io::Error>(())
    };
    let (fed, complaints) = tokio::join!(feeding, complaints(stderr));
    progress.end();
    let status = pg_restore.wait().await?;
    must_have_succeeded("pg_restore", status, &complaints)?;
    fed?;
    migrations::grant(pool).await?;
    Ok(migrations::difference(pool).await?.missing)
}

/// Whether the dump is the one that the manifest describes, to the last byte.
fn must_be_intact(path: &Path, dump: &Dump, stop: &CancellationToken) -> Result<(), Failure> {
    let mut file = File::open(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    if file.metadata()?.len() != dump.bytes {
        return Err(Refusal::OtherDump.into());
    }
    let progress = Progress::of_bytes("checking the dump", Some(dump.bytes));
    let (mut hash, mut chunk, mut seen) = (Sha256::new(), vec![0; CHUNK], 0);
    loop {
        if stop.is_cancelled() {
            return Err(Stopped.into());
        }
        let read = file.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        hash.update(&chunk[..read]);
        seen += read as u64;
        progress.at(seen);
    }
    progress.end();
    if hex::encode(hash.finalize()) == dump.sha256 { Ok(()) } else { Err(Refusal::OtherDump.into()) }
}
