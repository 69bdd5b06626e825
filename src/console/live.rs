//! Pages that change while somebody looks at them.
//!
//! A page can have one region between the comments `<!-- live -->` and `<!-- /live -->`. Asked for as an event stream, the page answers
//! with the HTML of the region, as JSON strings: at once, and whenever it has changed. To find out, the page is made again every second,
//! as the same visitor; when they may no longer see it, the stream ends. The script closes the stream of a page that nobody sees.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::console::Console;

const EVENT_STREAM: &str = "text/event-stream";
const BEGIN: &str = "<!-- live -->";
const END: &str = "<!-- /live -->";
/// How often a page is made again.
const PERIOD: Duration = Duration::from_secs(1);
/// The longest page, in bytes.
const MAX_PAGE: usize = 16 * 1024 * 1024;

/// Answers with the live region of a page if it is asked for as an event stream.
pub(super) async fn follow(State(console): State<Console>, request: Request, next: Next) -> Response {
    let accepted = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if request.method() != Method::GET || accepted != Some(EVENT_STREAM) {
        return next.run(request).await;
    }
    let Ok(place) = console.live_pages.clone().try_acquire_owned() else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
    let (mut parts, _) = request.into_parts();
    parts.headers.insert(header::ACCEPT, HeaderValue::from_static("text/html"));
    let first = next.clone().run(again(&parts)).await;
    if !first.status().is_success() {
        return first;
    }
    // No content tells the browser not to ask again.
    let Some(first) = region(first).await else { return StatusCode::NO_CONTENT.into_response() };

    let mut times = interval(PERIOD);
    times.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stopping = console.lifecycle.stopping().clone();
    let page = FollowedPage { parts, next, first: Some(first), shown: String::new(), times, stopping, _place: place };
    let regions = stream::unfold(page, async |mut page| Some((page.changed().await?, page)));
    // Prevents a proxy from holding the events back.
    ([("x-accel-buffering", "no")], Sse::new(regions).keep_alive(KeepAlive::default())).into_response()
}

/// A page that a visitor looks at.
struct FollowedPage {
    parts: Parts,
    next: Next,
    /// The region as it was when the stream began, until it is sent.
    first: Option<String>,
    /// What the visitor has been sent.
    shown: String,
    times: Interval,
    stopping: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl FollowedPage {
    /// The region, as soon as it differs from what the visitor has been sent; `None` when they may no longer see it.
    async fn changed(&mut self) -> Option<Result<Event, axum::Error>> {
        loop {
            let now = match self.first.take() {
                Some(first) => first,
                None => {
                    self.stopping.run_until_cancelled(self.times.tick()).await?;
                    region(self.next.clone().run(again(&self.parts)).await).await?
                }
            };
            let shown = without_ages(&now);
            if shown != self.shown {
                self.shown = shown;
                return Some(Event::default().json_data(now));
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
async fn region(page: Response) -> Option<String> {
    let bytes = to_bytes(page.into_body(), MAX_PAGE).await.ok()?;
    let (_, rest) = std::str::from_utf8(&bytes).ok()?.split_once(BEGIN)?;
    rest.split_once(END).map(|(region, _)| region.trim().to_owned())
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
