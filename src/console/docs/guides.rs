//! The pages of the guides, and of the files and pictures that they link to.

use askama::Template;
use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::console::docs::frame::Frame;
use crate::console::docs::library::{FILES, GUIDES, Guide, IMAGES};
use crate::console::docs::reader::Reader;
use crate::console::shell::{Page, PageError, Ui};

/// The guides that most readers come for.
const FIRST: [&str; 6] = ["README", "storefront", "webhooks", "gateways", "declared", "console"];

#[derive(Template)]
#[template(path = "docs/guides.html")]
struct ListPage {
    ui: Ui,
    frame: Frame,
    guides: &'static [Guide],
}

#[derive(Template)]
#[template(path = "docs/guide.html")]
struct GuidePage {
    ui: Ui,
    frame: Frame,
    guide: &'static Guide,
}

#[derive(Template)]
#[template(path = "docs/file.html")]
struct FilePage {
    ui: Ui,
    frame: Frame,
    name: &'static str,
    text: &'static str,
}

/// The guides that most readers come for, with their addresses.
pub(super) fn first_ones() -> Vec<(&'static str, String)> {
    let find = |name: &&str| GUIDES.iter().find(|guide| guide.name == *name);
    FIRST.iter().filter_map(find).map(|guide| (guide.title.as_str(), guide.address())).collect()
}

/// `GET /docs/guides`
pub(super) async fn list(reader: Reader) -> Response {
    Page(ListPage { ui: reader.ui, frame: reader.frame, guides: &GUIDES }).into_response()
}

/// `GET /docs/guides/{name}`
pub(super) async fn show(reader: Reader, Path(name): Path<String>) -> Result<Response, PageError> {
    let guide = GUIDES.iter().find(|guide| guide.name == name).ok_or(PageError::NOT_FOUND)?;
    Ok(Page(GuidePage { ui: reader.ui, frame: reader.frame, guide }).into_response())
}

/// `GET /docs/files/{path}`: a file that a guide links to.
pub(super) async fn show_file(reader: Reader, Path(path): Path<String>) -> Result<Response, PageError> {
    let (name, text) = FILES.iter().find(|(name, _)| *name == path).ok_or(PageError::NOT_FOUND)?;
    Ok(Page(FilePage { ui: reader.ui, frame: reader.frame, name, text }).into_response())
}

/// `GET /docs/images/{name}`
pub(super) async fn show_image(Path(name): Path<String>) -> Result<Response, PageError> {
    let (_, bytes) = IMAGES.iter().find(|(known, _)| *known == name).ok_or(PageError::NOT_FOUND)?;
    let mut response = bytes.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("image/png"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Ok(response)
}
