//! Notifications of other sessions (`LISTEN`).

use std::io;
use std::time::Duration;

use sqlx::Executor;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use crate::kernel::database::{Pool, session};

/// After so long without a notification, the server is asked whether it is still there. A connection that a network has swallowed
/// looks like one on which nothing is said.
const SILENCE: Duration = Duration::from_secs(5);
/// How long the answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// A session that listens.
#[derive(Debug)]
pub struct Notifications {
    listener: PgListener,
    /// The name of each channel in the database, and what the program calls it.
    channels: Vec<(String, &'static str)>,
}

/// What another session said.
#[derive(Debug)]
pub struct Notification {
    /// The channel, as the program calls it.
    pub channel: &'static str,
    /// The words.
    pub payload: String,
}

impl Notifications {
    /// Listens at these channels, on a connection of its own.
    pub async fn listen(pool: &Pool, channels: &[&'static str]) -> Result<Self, sqlx::Error> {
        // The connection is of no use to anybody afterwards, so the server, which may be gone, is not asked whether it would be.
        let own = PgPoolOptions::new().max_connections(1).after_release(|_, _| Box::pin(async { Ok(false) }));
        let own = own.acquire_timeout(pool.limits().acquire_timeout);
        let options = pool.servers().last_writable();
        let mut listener = PgListener::connect_with(&own.connect_lazy_with(options.clone())).await?;
        let listening = async {
            session::set(&mut listener, options).await?;
            let own: Vec<String> =
                sqlx::query_scalar("select own_channel(unnest($1::text[]))").bind(channels).fetch_all(&mut listener).await?;
            listener.listen_all(own.iter().map(String::as_str)).await?;
            Ok(own)
        };
        let own = within(ANSWER_TIMEOUT, listening).await?;
        Ok(Self { listener, channels: own.into_iter().zip(channels.iter().copied()).collect() })
    }

    /// The next notification. Those that were sent while the connection was lost are lost, too, so an error means that anything may have
    /// happened.
    pub async fn next(&mut self) -> Result<Notification, sqlx::Error> {
        loop {
            match timeout(SILENCE, self.listener.try_recv()).await {
                Ok(Ok(Some(heard))) => {
                    let channel = self.channels.iter().find(|(own, _)| own == heard.channel());
                    if let Some(&(_, channel)) = channel {
                        return Ok(Notification { channel, payload: heard.payload().to_owned() });
                    }
                }
                Ok(Ok(None)) => return Err(lost("the connection that listens was closed")),
                Ok(Err(error)) => return Err(error),
                Err(_) => within(ANSWER_TIMEOUT, self.listener.execute("select 1")).await.map(drop)?,
            }
        }
    }
}

async fn within<T>(limit: Duration, answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    timeout(limit, answer).await.unwrap_or_else(|_| Err(lost("the connection that listens does not answer")))
}

fn lost(text: &str) -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, text))
}
