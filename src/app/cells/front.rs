//! The router in front of the cells, which finds the cell that a request is for.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use quick_cache::sync::Cache;
use serde_json::{Map, json};
use tokio::time::timeout;
use tower::ServiceExt;
use url::form_urlencoded;

use crate::app::cells::evidence::{self, Evidence};
use crate::app::cells::{Cell, Cells};
use crate::app::single_router;
use crate::config::{Config, Environment};
use crate::console::Cookie;
use crate::kernel::client_address::{self, ClientAddress, TrustedProxies};
use crate::kernel::middleware;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::providers::sms::RECEIPTS_PATH;

/// How many keys, links and addresses the cell is remembered of.
const MOST_REMEMBERED: usize = 50_000;
/// The maximum size of a body that is read to find the cell: forms of a few fields, and receipts.
const MAX_BODY: usize = 64 * 1024;
/// How long its client may take to send it.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

struct Front {
    cells: Cells,
    /// The routes of each cell.
    routers: Vec<Router>,
    proxies: TrustedProxies,
    /// Which cell knew what. Only a guess of whom to ask first.
    remembered: Cache<Evidence, usize>,
    /// Whether browsers speak TLS.
    secure: bool,
}

pub(super) fn router(cells: &Cells, config: &Config) -> Router {
    let front = Front {
        routers: cells.iter().map(|cell| single_router(cell.state.clone(), config)).collect(),
        cells: cells.clone(),
        proxies: TrustedProxies::new(&config.http.trusted_proxies, config.http.forwarded_header),
        remembered: Cache::new(MOST_REMEMBERED),
        secure: config.environment() == Environment::Production,
    };
    Router::new().fallback(answer).with_state(Arc::new(front))
}

async fn answer(State(front): State<Arc<Front>>, request: Request) -> Response {
    let client = client_address::of(&request, &front.proxies);
    let (parts, body) = request.into_parts();
    if parts.uri.path() == "/readyz" {
        return front.readiness().await;
    }
    if is_receipt(&parts) {
        return front.answer_of_all(parts, body).await;
    }
    if evidence::is_in_the_body(&parts) {
        let body = match whole(body).await {
            Ok(body) => body,
            Err(problem) => return front.answer(problem),
        };
        let path = parts.uri.path();
        let (found, portal) = (evidence::of_body(path, &body), path.starts_with("/portal"));
        let named = front.named(&parts);
        let at = match &found {
            // Who has not said where they sign in goes on where they are known.
            Some(evidence) => front.find(evidence, client).await,
            None => named.unwrap_or_default(),
        };
        let response = front.answer_of(at, Request::from_parts(parts, Body::from(body))).await;
        return if found.is_some() { front.remind(response, at, portal) } else { response };
    }
    let Some(evidence) = evidence::of_head(&parts) else {
        let chosen = chosen(&parts).and_then(|name| front.cells.iter().position(|cell| cell.name.as_str() == name));
        let at = chosen.or_else(|| front.named(&parts)).unwrap_or_default();
        let response = front.answer_of(at, Request::from_parts(parts, body)).await;
        return if chosen.is_some() { front.remind(response, at, false) } else { response };
    };
    let at = front.find(&evidence, client).await;
    front.answer_of(at, Request::from_parts(parts, body)).await
}

impl Front {
    /// The cell that knows something; if none does, one that cannot tell, or the first.
    async fn find(&self, evidence: &Evidence, client: ClientAddress) -> usize {
        if let Some(at) = self.remembered.get(evidence)
            && !matches!(evidence.is_known(&self.cells[at].state, client).await, Ok(false))
        {
            return at;
        }
        let mut asked: FuturesUnordered<_> = self.cells.iter().enumerate().map(|(at, cell)| self.ask(at, cell, evidence, client)).collect();
        let mut away = None;
        while let Some((at, known)) = asked.next().await {
            match known {
                Ok(true) => {
                    self.remembered.insert(evidence.clone(), at);
                    return at;
                }
                Ok(false) => {}
                Err(_) => away = away.or(Some(at)),
            }
        }
        away.unwrap_or_default()
    }

    /// Goes on if another cell has answered first, so that no connection is given up in the middle of a statement.
    async fn ask(&self, at: usize, cell: &Cell, evidence: &Evidence, client: ClientAddress) -> (usize, Result<bool, Problem>) {
        let (evidence, state) = (evidence.clone(), cell.state.clone());
        (at, cell.state.lifecycle.finish(async move { evidence.is_known(&state, client).await }).await)
    }

    /// The cell that a browser was told.
    fn named(&self, parts: &Parts) -> Option<usize> {
        let portal = parts.uri.path().starts_with("/portal");
        let cookie = if portal { Cookie::PortalCell { framed: false } } else { Cookie::Cell };
        let name = cookie.read(&parts.headers, self.secure)?;
        self.cells.iter().position(|cell| cell.name.as_str() == name)
    }

    async fn answer_of(&self, at: usize, request: Request) -> Response {
        self.routers[at].clone().oneshot(request).await.into_response()
    }

    /// Answers in place of all cells.
    fn answer(&self, response: impl IntoResponse) -> Response {
        middleware::finish(response, self.cells.first().state.clock.now())
    }

    /// Tells the browser which cell it has to do with.
    fn remind(&self, mut response: Response, at: usize, portal: bool) -> Response {
        let framed = !self.cells[at].state.portal.frame_ancestors().is_empty();
        let cookie = if portal { Cookie::PortalCell { framed } } else { Cookie::Cell };
        response.headers_mut().append(header::SET_COOKIE, cookie.set(self.cells[at].name.as_str(), self.secure));
        response
    }

    /// A provider does not say whose text it has delivered, and only one cell knows the text.
    async fn answer_of_all(&self, parts: Parts, body: Body) -> Response {
        let body = match whole(body).await {
            Ok(body) => body,
            Err(problem) => return self.answer(problem),
        };
        let mut answer = None;
        for at in 0..self.routers.len() {
            let response = self.answer_of(at, Request::from_parts(parts.clone(), Body::from(body.clone()))).await;
            // A provider repeats what was refused: so it hears of the first cell that was away.
            let worse =
                answer.as_ref().is_none_or(|answer: &Response| response.status().is_server_error() && !answer.status().is_server_error());
            if worse {
                answer = Some(response);
            }
        }
        answer.expect("there is a cell")
    }

    /// An instance is ready while one of its cells is: the companies of the others would find them away at any instance.
    async fn readiness(&self) -> Response {
        let mut reasons = Map::new();
        let mut first = None;
        for cell in self.cells.iter() {
            if let Err(problem) = cell.state.readiness.judge().await {
                reasons.insert(cell.name.to_string(), problem.body("")["detail"].take());
                first = first.or(Some(problem));
            }
        }
        match first {
            Some(problem) if reasons.len() == self.cells.len() => self.answer(problem),
            _ => self.answer(Json(json!({ "status": "ok", "cells_away": reasons }))),
        }
    }
}

async fn whole(body: Body) -> Result<Bytes, Problem> {
    match timeout(BODY_TIMEOUT, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) => Err(ProblemCode::BodyTooLarge.into()),
        Err(_) => Err(ProblemCode::RequestTimeout.into()),
    }
}

fn is_receipt(parts: &Parts) -> bool {
    parts.uri.path().strip_prefix('/').is_some_and(|path| path.starts_with(RECEIPTS_PATH))
}

/// The cell that an operator names in the address of a page: `/console/sign-in?cell=b`.
fn chosen(parts: &Parts) -> Option<String> {
    let query = parts.uri.query().filter(|_| parts.uri.path().starts_with("/console"))?;
    form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "cell").map(|(_, value)| value.into_owned())
}
