//! Pages that change while somebody looks at them.
//!
//! A page can have one region between the comments `<!-- live -->` and `<!-- /live -->`. Asked for as an event stream, the page answers
//! with the HTML of the region, as JSON strings: at once, and whenever it has changed. To find out, the page is made again every second,
//! by one of those of a party who look at it ([`Follower`]), as that visitor. Each of them has to be still there; when they may no longer see the
//! page, their stream ends. The script closes the stream of a page that nobody sees. A region has nothing that is of one session alone, such as a
//! form.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, OriginalUri, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::console::Console;
use crate::console::followed::{Follower, Page, Turn};
use crate::console::session::Visitor;
use crate::kernel::rate_limit::Full;

const EVENT_STREAM: &str = "text/event-stream";
const BEGIN: &str = "<!-- live -->";
const END: &str = "<!-- /live -->";
/// How often a page is made again.
const PERIOD: Duration = Duration::from_secs(1);
/// The longest page, in bytes.
const MAX_PAGE: usize = 16 * 1024 * 1024;

/// Adds the streams of live pages.
pub(super) fn layer(pages: Router<Console>, console: &Console) -> Router<Console> {
    pages.layer(middleware::from_fn_with_state(console.clone(), follow))
}

/// Answers with the live region of a page if it is asked for as an event stream.
async fn follow(State(console): State<Console>, request: Request, next: Next) -> Response {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if request.method() != Method::GET || accepted != Some(EVENT_STREAM) {
        return next.run(request).await;
    }
    let (mut parts, _) = request.into_parts();
    parts.headers.insert(header::ACCEPT, HeaderValue::from_static("text/html"));
    let page = match Visitor::from_request_parts(&mut parts, &console).await {
        Ok(visitor) => page(&parts, &visitor),
        Err(elsewhere) => return elsewhere,
    };
    let follower = match page.map(|page| console.followed_pages.follow(page)) {
        Some(Ok(follower)) => follower,
        Some(Err(Full::Caller)) => return StatusCode::TOO_MANY_REQUESTS.into_response(),
        Some(Err(Full::Everybody)) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        None => return StatusCode::NO_CONTENT.into_response(),
    };
    let first = next.clone().run(again(&parts)).await;
    if !first.status().is_success() {
        return first;
    }
    // No content tells the browser not to ask again.
    let Some(first) = region(first).await else { return StatusCode::NO_CONTENT.into_response() };

    let mut times = interval(PERIOD);
    times.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let page = FollowedPage { console, parts, next, first: Some(first), shown: String::new(), times, follower };
    let regions = stream::unfold(page, async |mut page| Some((page.changed().await?, page)));
    // Prevents a proxy from holding the events back.
    ([("x-accel-buffering", "no")], Sse::new(regions).keep_alive(KeepAlive::default())).into_response()
}

/// What is followed, and by whom.
fn page(parts: &Parts, Visitor { caller, ui, .. }: &Visitor) -> Option<Page> {
    let uri = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
    let address = uri.path_and_query()?.as_str().to_owned();
    Some(Page { company: caller.company, party: caller.party()?, language: ui.language(), address })
}

/// A page that a visitor looks at.
struct FollowedPage {
    console: Console,
    parts: Parts,
    next: Next,
    /// The region as it was when the stream began, until it is sent.
    first: Option<Arc<str>>,
    /// What the visitor has been sent.
    shown: String,
    times: Interval,
    follower: Follower,
}

impl FollowedPage {
    /// The region, as soon as it differs from what the visitor has been sent; `None` when they may no longer see it.
    async fn changed(&mut self) -> Option<Result<Event, axum::Error>> {
        loop {
            let now = match self.first.take() {
                Some(first) => first,
                None => {
                    self.console.lifecycle.stopping().run_until_cancelled(self.times.tick()).await?;
                    self.region().await?
                }
            };
            let shown = without_ages(&now);
            if shown != self.shown {
                self.shown = shown;
                return Some(Event::default().json_data(&*now));
            }
        }
    }

    /// The region as it is now, or was less than a second ago.
    async fn region(&mut self) -> Option<Arc<str>> {
        match self.follower.turn() {
            // A visitor who may not see the page any more sees no copy of it either.
            Turn::Copy(copy) => Visitor::from_request_parts(&mut self.parts.clone(), &self.console).await.is_ok().then_some(copy),
            Turn::Make(begun_at) => {
                let made = region(self.next.clone().run(again(&self.parts)).await).await?;
                self.follower.keep(begun_at, &made);
                Some(made)
            }
        }
    }
}

fn again(parts: &Parts) -> Request {
    Request::from_parts(parts.clone(), Body::empty())
}

/// The region without what instants are called, which changes as time passes: `2 min ago`.
fn without_ages(region: &str) -> String {
    let before_age = |piece: &str| {
        let element = piece.rfind("<time").unwrap_or(piece.len());
        let end = piece[element..].find('>').map_or(piece.len(), |end| element + end);
        piece[..end].to_owned()
    };
    region.split("</time>").map(before_age).collect()
}

/// The live region of a page; `None` for a page without one, and for a failure.
async fn region(page: Response) -> Option<Arc<str>> {
    let bytes = to_bytes(page.into_body(), MAX_PAGE).await.ok()?;
    let (_, rest) = std::str::from_utf8(&bytes).ok()?.split_once(BEGIN)?;
    rest.split_once(END).map(|(region, _)| region.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_the_same_as_long_as_only_time_passes() {
        let row =
            |status: &str, age: &str| format!(r#"<tr><td>{status}</td><td><time datetime="2026-05-22T08:00Z">{age}</time></td></tr>"#);
        assert_eq!(without_ages(&row("200", "2 min ago")), without_ages(&row("200", "3 min ago")));
        assert_ne!(without_ages(&row("200", "2 min ago")), without_ages(&row("500", "2 min ago")));
        assert_eq!(without_ages("<p>no time</p>"), "<p>no time</p>");
    }
}
