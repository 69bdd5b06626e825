//! The servers of a deployment: of those that the URL names, the one that accepts writes is used, or one that is a standby.
//!
//! After a failover it is another one than before. Whoever opens a connection finds it: the server that was found last is asked first, the
//! next ones as soon as it refuses or is silent for a moment, and the first one in the wanted role wins. Each connection tells the server's
//! time as well, see [`ServerClock`].

use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures::stream::{FuturesUnordered, StreamExt};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Executor, PgConnection};
use tokio::time::timeout;
use url::Url;

use crate::kernel::clock::ServerClock;
use crate::kernel::database::session;

/// How long a server may be silent before the next one is asked as well.
const HEAD_START: Duration = Duration::from_millis(300);

/// The parameter of libpq that says which of several servers is wanted. Portico writes, so there is no choice.
pub(super) const WANTED: &str = "target_session_attrs";

/// How to connect to each of the servers. Clones share what is known of them.
#[derive(Clone, Debug)]
pub struct Servers {
    /// At least one.
    options: Vec<PgConnectOptions>,
    role: ServerRole,
    /// They are poolers in transaction mode: after each transaction, a connection goes on in another session.
    pooled: bool,
    shared: Arc<Shared>,
}

/// What a server has to be to be used.
#[derive(Clone, Copy, Debug)]
enum ServerRole {
    /// It accepts writes.
    Primary,
    /// It follows a primary.
    Standby,
}

impl ServerRole {
    /// Asks for the time, whether the server is something else, and whether the session has the settings of [`session::MARK`].
    fn question(self) -> &'static str {
        match self {
            Self::Primary => {
                "select clock_timestamp(), current_setting('transaction_read_only')::boolean, current_setting($1, true) is not distinct from $2"
            }
            Self::Standby => "select clock_timestamp(), not pg_is_in_recovery(), current_setting($1, true) is not distinct from $2",
        }
    }

    fn refusal(self) -> io::Error {
        match self {
            Self::Primary => io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the database server is read-only"),
            Self::Standby => io::Error::other("the database server is no standby"),
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// The place of the server that had the wanted role when it was asked last.
    found: AtomicUsize,
    clock: ServerClock,
}

impl Servers {
    /// The same servers, with sessions that have these settings.
    pub fn with<V: ToString>(&self, settings: impl IntoIterator<Item = (&'static str, V)>) -> Self {
        let settings: Vec<_> = settings.into_iter().map(|(name, value)| (name, value.to_string())).collect();
        let options = self.options.iter().map(|options| options.clone().options(settings.iter().map(|(name, value)| (name, value))));
        Self { options: options.collect(), shared: Arc::clone(&self.shared), ..*self }
    }

    /// The same servers, by way of `poolers` in transaction mode. What the URL asks of sessions is asked of those too, such as the schema.
    pub fn by_way_of(&self, poolers: Self) -> Self {
        let asked = session::asked(&self.options[0]);
        let options = poolers.options.into_iter().map(|options| options.options(asked.iter().map(|(name, value)| (name, value))));
        let shared = Shared { found: AtomicUsize::default(), clock: self.shared.clock.clone() };
        Self { options: options.collect(), role: self.role, pooled: true, shared: Arc::new(shared) }
    }

    /// Whether they are poolers in transaction mode.
    pub fn are_poolers(&self) -> bool {
        self.pooled
    }

    /// What each transaction sets, if it cannot rely on its session.
    pub fn settings_of_transactions(&self) -> Option<String> {
        self.pooled.then(|| session::set_locally(self.last_writable()))
    }

    /// Those of the servers that are standbys.
    pub fn standbys(self) -> Self {
        Self { role: ServerRole::Standby, ..self }
    }

    /// The same servers, which are told who connects.
    pub fn application_name(mut self, name: &str) -> Self {
        self.options = self.options.into_iter().map(|options| options.application_name(name)).collect();
        self
    }

    /// How to connect to the server that was writable when it was asked last.
    pub fn last_writable(&self) -> &PgConnectOptions {
        &self.options[self.shared.found.load(Ordering::Relaxed)]
    }

    /// The role that connects.
    pub fn role(&self) -> &str {
        self.options[0].get_username()
    }

    /// The clock of the server.
    pub fn clock(&self) -> &ServerClock {
        &self.shared.clock
    }

    /// Connects to the server that has the wanted role.
    pub async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let first = self.shared.found.load(Ordering::Relaxed);
        let mut places = (0..self.options.len()).map(|step| (first + step) % self.options.len());
        let (mut asked, mut failure) = (FuturesUnordered::new(), None);
        loop {
            asked.extend(places.next().map(|place| self.connect_to(place)));
            let answer = match timeout(HEAD_START, asked.next()).await {
                Err(_) if places.len() > 0 => continue,
                Err(_) => asked.next().await,
                Ok(answer) => answer,
            };
            match answer {
                Some(Ok((place, conn))) => {
                    self.shared.found.store(place, Ordering::Relaxed);
                    return Ok(conn);
                }
                // Of several reasons, that of the server that was used before says most.
                Some(Err(error)) => failure = failure.or(Some(error)),
                None => return Err(failure.expect("there is at least one server, and it has failed")),
            }
        }
    }

    async fn connect_to(&self, place: usize) -> Result<(usize, PgConnection), sqlx::Error> {
        let mut conn = self.options[place].connect().await?;
        if !self.look(&mut conn).await? && !self.pooled {
            session::set(&mut conn, &self.options[place]).await?;
        }
        Ok((place, conn))
    }

    /// Asks the server for its time, and whether it has the wanted role.
    pub async fn ask(&self, conn: &mut PgConnection) -> Result<(), sqlx::Error> {
        self.look(conn).await.map(drop)
    }

    /// The same; returns whether the session has its settings.
    async fn look(&self, conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
        if self.pooled {
            conn.execute("begin").await?;
        }
        let asked = Instant::now();
        let question = sqlx::query_as(self.role.question()).bind(session::MARK.0).bind(session::MARK.1).persistent(!self.pooled);
        let (time, is_another, has_settings): (DateTime<Utc>, bool, bool) = question.fetch_one(&mut *conn).await?;
        if self.pooled {
            conn.execute("commit").await?;
        }
        if is_another {
            return Err(self.role.refusal().into());
        }
        // A pooler may be slow to answer, and may still lead to the server of before a failover.
        if !self.pooled {
            self.shared.clock.note(time, asked, Instant::now());
        }
        Ok(has_settings)
    }
}

impl FromStr for Servers {
    type Err = sqlx::Error;

    /// Reads `postgres://user:password@host,host:port/database`.
    fn from_str(text: &str) -> Result<Self, sqlx::Error> {
        let marked = |url: &String| Ok(url.parse::<PgConnectOptions>()?.options([session::MARK]));
        let options = urls(text).map_err(sqlx::Error::Configuration)?.iter().map(marked).collect::<Result<_, sqlx::Error>>()?;
        Ok(Self { options, role: ServerRole::Primary, pooled: false, shared: Arc::default() })
    }
}

/// The URL of each server.
fn urls(text: &str) -> Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>> {
    let (scheme, rest) = text.split_once("://").ok_or("it does not begin with postgres://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, hosts) = authority.rsplit_once('@').map_or((String::new(), authority), |(user, hosts)| (format!("{user}@"), hosts));
    hosts.split(',').map(|host| without_wanted(&format!("{scheme}://{user}{host}{path}"))).collect()
}

/// The URL without the parameter [`WANTED`].
fn without_wanted(url: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let Some((before, parameters)) = url.split_once('?').filter(|(_, parameters)| parameters.contains(WANTED)) else {
        return Ok(url.to_owned());
    };
    let mut kept = Url::parse(before)?;
    for (name, value) in url::form_urlencoded::parse(parameters.as_bytes()) {
        if name != WANTED {
            kept.query_pairs_mut().append_pair(&name, &value);
        } else if !["read-write", "primary"].contains(&&*value) {
            return Err(format!("{WANTED} is \"{value}\", but Portico writes, so it can only be \"read-write\"").into());
        }
    }
    Ok(kept.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_one_or_several_servers() {
        let servers = |text: &str| -> Vec<_> {
            let servers: Servers = text.parse().unwrap();
            servers.options.iter().map(|options| (options.get_host().to_owned(), options.get_port())).collect()
        };
        let named = |host: &str, port| (host.to_owned(), port);
        assert_eq!(servers("postgres://shop:a%2Cb@db/portico"), [named("db", 5432)]);
        let both = [named("one", 5432), named("two", 6432)];
        assert_eq!(servers("postgres://shop:secret@one,two:6432/portico"), both);
        assert_eq!(servers("postgres://one,two:6432/portico?target_session_attrs=read-write&sslmode=disable"), both);
        assert_eq!(servers("postgres://%2Ftmp%2Fsocket:5433/portico"), [named("localhost", 5433)]);
    }

    #[test]
    fn a_url_that_cannot_be_meant_is_refused_with_words() {
        let refused = |text: &str| text.parse::<Servers>().unwrap_err().to_string();
        assert!(refused("portico").contains("does not begin with postgres://"));
        let refused = refused("postgres://one,two/portico?target_session_attrs=standby");
        assert!(refused.contains("can only be \"read-write\""), "{refused}");
    }
}
