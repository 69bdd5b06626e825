//! One stream: reads a page, sends it, and waits for more events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::Event;
use futures::Stream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::callers::Caller;
use crate::developers::stream::Streams;
use crate::developers::stream::limit::StreamSlot;
use crate::developers::stream::metrics::Open;
use crate::developers::stream::queries::{self, Seen};
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, EventId};
use crate::kernel::metrics::Counter;
use crate::kernel::problem::Problem;
use crate::webhooks::EventFilter;

/// The poll interval of a stream that is not woken.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The delay of the next poll after a database error.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    /// The number in the feed behind which the stream begins; 0 is the beginning.
    pub(super) behind: i64,
    /// The event that the stream starts after.
    pub(super) after: Option<EventId>,
    /// Whether that event is still to come: it has not been fanned out.
    pub(super) awaits: bool,
}

/// An open stream.
pub(super) struct Feed {
    pool: Pool,
    company: CompanyId,
    wanted: EventFilter,
    /// The number in the feed behind which the next page begins.
    behind: i64,
    /// The event that the stream starts after, until its id was sent to the client,
    greeting: Option<EventId>,
    /// and until it has been passed.
    awaited: Option<EventId>,
    page: VecDeque<Seen>,
    poll_in: Duration,
    commits: watch::Receiver<()>,
    stopping: CancellationToken,
    ends_at: Instant,
    sent: Counter,
    _open: Open,
    _slot: StreamSlot,
}

impl Feed {
    pub(super) fn open(streams: &Streams, caller: &Caller, wanted: EventFilter, begins: Beginning) -> Result<Self, Problem> {
        let company = caller.company;
        let developers = &streams.developers;
        Ok(Self {
            _slot: streams.limit.acquire(company, caller.party())?,
            _open: streams.metrics.begin(),
            sent: streams.metrics.sent.clone(),
            pool: developers.pool.clone(),
            company,
            wanted,
            behind: begins.behind,
            greeting: begins.after,
            awaited: begins.after.filter(|_| begins.awaits),
            page: VecDeque::new(),
            poll_in: Duration::ZERO,
            commits: streams.listener.subscribe(company, &developers.pool, &streams.lifecycle),
            stopping: streams.lifecycle.stopping().clone(),
            ends_at: Instant::now() + streams.lifetime_of(caller),
        })
    }

    pub(super) fn ends_at(&self) -> Instant {
        self.ends_at
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Event, Infallible>> + Send {
        futures::stream::unfold(self, |mut feed| async move {
            let event = feed.next().await?;
            Some((Ok(event), feed))
        })
    }

    /// The next event; `None` when the stream has ended.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.stopping.is_cancelled() || Instant::now() >= self.ends_at {
                return None;
            }
            if let Some(after) = self.greeting.take() {
                return Some(Event::default().id(after.to_string()));
            }
            while let Some(seen) = self.page.pop_front() {
                if let Some(awaited) = self.awaited {
                    self.awaited = Some(awaited).filter(|awaited| *awaited != seen.id);
                } else if let Some(body) = seen.body {
                    let data = String::from_utf8(body).expect("JSON is UTF-8");
                    let event = Event::default().id(seen.id.to_string()).event(seen.name);
                    let event = match seen.sequence {
                        Some(sequence) => event.comment(format!("sequence {sequence}")),
                        None => event,
                    };
                    self.sent.inc();
                    return Some(event.data(data));
                }
            }
            self.wait().await?;
            if let Err(error) = self.read().await {
                tracing::debug!(error = chain(&error), "an event stream is waiting for the database");
                self.poll_in = PAUSE;
            }
        }
    }

    /// Waits until there may be more events; `None` if the stream ends before that.
    async fn wait(&mut self) -> Option<()> {
        tokio::select! {
            () = self.stopping.cancelled() => return None,
            () = sleep_until(self.ends_at) => return None,
            () = sleep(self.poll_in) => {}
            news = self.commits.changed() => news.ok()?,
        }
        Some(())
    }

    async fn read(&mut self) -> Result<(), sqlx::Error> {
        let mut conn = self.pool.acquire().await?;
        let page = queries::list_page(&mut conn, self.company, &self.wanted, self.behind).await?;
        self.poll_in = if page.is_some() { Duration::ZERO } else { POLL_INTERVAL };
        if let Some((page, last)) = page {
            (self.page, self.behind) = (page.into(), last);
        }
        Ok(())
    }
}
