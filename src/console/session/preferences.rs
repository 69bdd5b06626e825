//! How a visitor wants to see the console.

use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};

use crate::console::addresses::HOME;
use crate::console::session::PostedForm;
use crate::console::session::entering::own_page;
use crate::console::shell::chosen;

/// `POST /console/preferences`, from the page that is shown again afterwards.
pub(super) async fn change(form: PostedForm) -> Response {
    let mut response = Redirect::to(own_page(form.get("here").unwrap_or(HOME))).into_response();
    let choices = ["theme", "language", "keys"].into_iter().filter_map(|name| chosen(name, form.get(name)?));
    for cookie in choices {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
