//! Opening a link of the portal, and leaving the portal.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::console::Console;
use crate::console::addresses::PORTAL;
use crate::console::session::cookies::Cookie;
use crate::console::session::forms::require_own_page;
use crate::console::session::{PostedForm, Visitor};
use crate::console::shell::{Page, PageError, Refused, Ui};
use crate::kernel::client_address::ClientAddress;
use crate::portal::{LinkKey, OpenRefusal, SessionToken};

/// The page that a visitor sees first.
const FIRST: &str = "/portal/records/developers/webhooks";

#[derive(Template)]
#[template(path = "session/portal.html")]
struct OpenPage {
    ui: Ui,
    /// Why nothing is open.
    refusal: Option<String>,
    /// The key of a link, if something else is open that it would take the place of.
    instead: Option<String>,
}

/// The browser has a session of the portal in another cell than that of the link. Only the router in front of the cells knows.
#[derive(Clone, Copy, Debug)]
pub struct OpenElsewhere;

#[derive(Default, Deserialize)]
pub(super) struct Arrival {
    /// There was a session, or somebody came without a link.
    ended: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Link {
    key: String,
    /// Somebody has said that the link takes the place of what is open.
    instead: Option<String>,
}

/// `GET /portal`
pub(super) async fn enter(_: Visitor) -> Redirect {
    Redirect::to(FIRST)
}

/// The key of a link stands behind its `#`, so no request for the page contains it. The script of the page fills it in and sends it.
pub(super) async fn show(State(console): State<Console>, Query(arrival): Query<Arrival>, parts: Parts) -> Response {
    let ui = Ui::of(&parts, &console);
    let ended = || ui.t("Nothing is open here any more. Go back to the page that you came from, and open it again.").to_owned();
    let refusal = arrival.ended.map(|_| ended());
    Page(OpenPage { refusal, instead: None, ui }).into_response()
}

/// `POST /portal/open`: the session that this browser had before ends. The script sends the form by itself, so that a page in a frame needs no click;
/// if the session is of another owner, it is asked first.
pub(super) async fn open(
    State(console): State<Console>,
    client: ClientAddress,
    parts: Parts,
    Form(link): Form<Link>,
) -> Result<Response, PageError> {
    require_own_page(&parts.headers)?;
    let cookie = Cookie::of_portal(&console);
    let before = cookie.read(&parts.headers, console.secure).map(|before| SessionToken::claimed(&before));
    let key = LinkKey::claimed(link.key.trim());
    let would_replace = match (&before, &link.instead) {
        (Some(_), None) if parts.extensions.get::<OpenElsewhere>().is_some() => true,
        (Some(before), None) => console.portal.would_replace(before, &key).await?,
        _ => false,
    };
    if would_replace {
        let page = OpenPage { ui: Ui::of(&parts, &console), refusal: None, instead: Some(key.reveal().to_owned()) };
        return Ok((StatusCode::CONFLICT, Page(page)).into_response());
    }
    let token = match console.portal.open(&key, client).await {
        Ok(token) => token,
        Err(refusal) => return refuse(Ui::of(&parts, &console), refusal),
    };
    if let Some(before) = before {
        console.portal.end_session(&before).await?;
    }
    let mut response = Redirect::to(FIRST).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookie.set(token.reveal(), console.secure));
    Ok(response)
}

fn refuse(ui: Ui, refusal: OpenRefusal) -> Result<Response, PageError> {
    let (refused, text): (Refused, _) = match refusal {
        OpenRefusal::Ended => (
            StatusCode::UNAUTHORIZED.into(),
            ui.t("This link has ended. Go back to the page that you came from, and open it again.").to_owned(),
        ),
        OpenRefusal::Elsewhere => (StatusCode::FORBIDDEN.into(), ui.t("This link cannot be opened from your network.").to_owned()),
        OpenRefusal::TooMany(limit) => {
            let text = ui.say("Too many links were tried from here. Try again in {} seconds.", [limit.retry_after()]);
            (Refused::by(&limit), text)
        }
        OpenRefusal::Database(error) => return Err(error.into()),
    };
    Ok(refused.with(Page(OpenPage { refusal: Some(text), instead: None, ui })))
}

/// `POST /portal/leave`
pub(super) async fn leave(State(console): State<Console>, parts: Parts, _: PostedForm) -> Result<Response, PageError> {
    let cookie = Cookie::of_portal(&console);
    if let Some(token) = cookie.read(&parts.headers, console.secure) {
        console.portal.end_session(&SessionToken::claimed(&token)).await?;
    }
    let mut response = Redirect::to(&format!("{PORTAL}/open?ended")).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookie.remove(console.secure));
    Ok(response)
}
