//! The router in front of the cells, which finds the cell that a request is for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures::FutureExt;
use futures::future::join_all;
use serde_json::{Map, json};
use tokio::time::timeout;
use tower::ServiceExt;
use url::form_urlencoded;

use crate::app::cells::Cells;
use crate::app::cells::evidence::{self, Evidence};
use crate::app::cells::finder::Finder;
use crate::app::single_router;
use crate::companies::Standing;
use crate::config::{Config, Environment};
use crate::console::{Cookie, OpenElsewhere};
use crate::kernel::client_address::{self, ClientAddress, TrustedProxies};
use crate::kernel::middleware;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::{Arrival, BodyLimits};
use crate::portal::SessionToken;
use crate::providers::sms::RECEIPTS_PATH;

/// The maximum size of a body that is read to find the cell: forms of a few fields, and receipts.
const MAX_BODY: usize = 64 * 1024;
/// How long its client may take to send it.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long after its start an instance waits for a cell that it has not reached yet, before it is ready without.
const GRACE: Duration = Duration::from_secs(60);

/// What may be asked again, and succeeds as well if it finds nothing.
const LOOKING_UP: [&str; 3] =
    ["/storefront/int/v1/tokens/introspect", "/storefront/v1/customers/logout", "/storefront/v1/customers/logout-all"];

struct Front {
    cells: Cells,
    /// The routes of each cell.
    routers: Vec<Router>,
    finder: Finder,
    proxies: TrustedProxies,
    bodies: BodyLimits,
    /// Whether this instance has reached each cell since it began.
    reached: Vec<AtomicBool>,
    began: Instant,
    /// Whether browsers speak TLS.
    secure: bool,
}

pub(super) fn router(cells: &Cells, config: &Config) -> Router {
    let front = Front {
        routers: cells.iter().map(|cell| single_router(cell.state.clone(), config)).collect(),
        finder: Finder::new(cells.clone()),
        reached: cells.iter().map(|_| AtomicBool::new(false)).collect(),
        cells: cells.clone(),
        proxies: TrustedProxies::new(&config.http.trusted_proxies, config.http.forwarded_header),
        bodies: BodyLimits::default(),
        began: Instant::now(),
        secure: config.environment() == Environment::Production,
    };
    Router::new().fallback(answer).with_state(Arc::new(front))
}

async fn answer(State(front): State<Arc<Front>>, request: Request) -> Response {
    let client = client_address::of(&request, &front.proxies);
    let (path, method) = (request.uri().path().to_owned(), request.method().clone());
    let answered = if path == "/readyz" {
        Ok(front.readiness().await)
    } else if is_receipt(&path) {
        front.pass_to_all(request).await
    } else if method == Method::POST && evidence::is_in_the_body(&path) {
        front.pass_by_body(request, client, &path).await
    } else {
        front.pass_by_head(request, client).await
    };
    answered.unwrap_or_else(|problem| front.finish(problem))
}

impl Front {
    /// Passes a request on by what its head brings along, or else to the cell that the browser was told, or to the first.
    async fn pass_by_head(&self, request: Request, client: ClientAddress) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        if let Some(evidence) = evidence::of_head(&parts) {
            let request = Request::from_parts(parts, body);
            return match self.finder.find(&evidence, client).await? {
                Some(at) => self.ask_by(&evidence, at, request, client).await,
                None => Ok(self.ask(0, request).await),
            };
        }
        let chosen = chosen(&parts).and_then(|name| self.position(&name));
        let at = chosen.or_else(|| self.told(&parts)).unwrap_or_default();
        let response = self.ask(at, Request::from_parts(parts, body)).await;
        Ok(if chosen.is_some() { self.tell(response, at, false) } else { response })
    }

    /// Passes a request on by what its body brings along. An operator may work for companies in several cells: the cell that the browser was
    /// told is asked first, and the first one that lets them in is theirs. Nothing else tells a browser which cells know an address.
    async fn pass_by_body(&self, request: Request, client: ClientAddress, path: &str) -> Result<Response, Problem> {
        let (parts, body) = self.whole(request).await?;
        let told = self.told(&parts);
        let mut evidence = evidence::of_body(path, &body);
        let mut cells = match &evidence {
            Some(evidence @ (Evidence::Operator(_) | Evidence::OperatorLink(_))) => self.finder.find_all(evidence, client).await?,
            Some(evidence) => self.finder.find(evidence, client).await?.into_iter().collect(),
            None => Vec::new(),
        };
        cells.sort_by_key(|at| Some(*at) != told);
        if cells.is_empty() {
            evidence = None;
            cells.push(told.unwrap_or_default());
        }
        let mut refused = None;
        for at in cells {
            let mut request = Request::from_parts(parts.clone(), Body::from(body.clone()));
            if path == "/portal/open" && self.is_open_elsewhere(&parts, at, client).await {
                request.extensions_mut().insert(OpenElsewhere);
            }
            let response = match &evidence {
                Some(evidence) => self.ask_by(evidence, at, request, client).await.unwrap_or_else(|problem| self.finish(problem)),
                None => self.ask(at, request).await,
            };
            // Signed in, or on to the next step.
            if response.status().is_redirection() {
                return Ok(self.tell(response, at, path.starts_with("/portal")));
            }
            refused = refused.or(Some(response));
        }
        Ok(refused.expect("a cell was asked"))
    }

    /// Whether the browser has a session of the portal in another cell than this one. Of a cell that is away, nobody can tell.
    async fn is_open_elsewhere(&self, parts: &Parts, at: usize, client: ClientAddress) -> bool {
        let Some(told) = self.told(parts).filter(|told| *told != at) else { return false };
        let portal = &self.cells[told].state.portal;
        let cookie = Cookie::Portal { framed: !portal.frame_ancestors().is_empty() };
        let Some(token) = cookie.read(&parts.headers, self.secure) else { return false };
        !matches!(portal.find_session(&SessionToken::claimed(&token), client).boxed().await, Ok(None))
    }

    /// A provider does not say whose text it has delivered, and only one cell knows the text. It repeats what fails, so it hears of a cell that is
    /// away, unless another one knows it by its address.
    async fn pass_to_all(&self, request: Request) -> Result<Response, Problem> {
        let (parts, body) = self.whole(request).await?;
        let request = || Request::from_parts(parts.clone(), Body::from(body.clone()));
        let responses = join_all((0..self.routers.len()).map(|at| self.ask(at, request()))).await;
        let rank = |response: &Response| match response.status() {
            StatusCode::NOT_FOUND => 0,
            status if status.is_success() => 1,
            status if status.is_server_error() => 2,
            _ => 3,
        };
        let is_own =
            responses.iter().any(|response| response.status().is_success()) && responses.iter().any(|response| rank(response) == 0);
        let best =
            responses.into_iter().max_by_key(|response| if is_own { usize::from(response.status().is_success()) } else { rank(response) });
        Ok(best.expect("there is a cell"))
    }

    /// Asks the cell that knows what a request brings along. Its company may leave meanwhile: then what was refused or looked up there means nothing,
    /// and the client is told to come again.
    async fn ask_by(&self, evidence: &Evidence, at: usize, request: Request, client: ClientAddress) -> Result<Response, Problem> {
        let looks_up = request.method().is_safe() || LOOKING_UP.contains(&request.uri().path());
        let response = self.ask(at, request).await;
        let status = response.status();
        let is_refused = status.is_client_error() || status.is_server_error();
        let is_in_doubt = match evidence {
            // What a socket server is refused has nothing to do with the company.
            Evidence::Company(_) => status.is_success(),
            _ => is_refused || looks_up,
        };
        if !is_in_doubt || status == StatusCode::SERVICE_UNAVAILABLE {
            return Ok(response);
        }
        match evidence.standing(&self.cells[at].state).await {
            Ok(Standing::Open | Standing::Suspended) => Ok(response),
            // A key that was revoked, a link that was used.
            Ok(Standing::Gone) if self.finder.find(evidence, client).await?.is_none() => Ok(response),
            Ok(away) => away.must_be_open().map(|()| response),
            Err(unknown) if is_refused => Err(unknown),
            Err(_) => Ok(response),
        }
    }

    async fn ask(&self, at: usize, request: Request) -> Response {
        self.routers[at].clone().oneshot(request).await.into_response()
    }

    /// A request whose body has arrived.
    async fn whole(&self, request: Request) -> Result<(Parts, Bytes), Problem> {
        let arriving = async {
            let arrival = Arrival::of(&request);
            let (parts, body) = self.bodies.bound(request, None, &arrival)?.into_parts();
            let body = to_bytes(body, MAX_BODY).await.map_err(|_| ProblemCode::BodyTooLarge)?;
            Ok((parts, body))
        };
        timeout(BODY_TIMEOUT, arriving).await.unwrap_or_else(|_| Err(ProblemCode::RequestTimeout.into()))
    }

    /// Answers in place of all cells.
    fn finish(&self, response: impl IntoResponse) -> Response {
        middleware::finish(response, self.cells.first().state.clock.now())
    }

    /// The cell that a browser was told.
    fn told(&self, parts: &Parts) -> Option<usize> {
        let name = self.cookie(0, parts.uri.path().starts_with("/portal")).read(&parts.headers, self.secure)?;
        self.position(&name)
    }

    /// Tells the browser which cell it has to do with.
    fn tell(&self, mut response: Response, at: usize, portal: bool) -> Response {
        let cookie = self.cookie(at, portal).set(self.cells[at].name.as_str(), self.secure);
        response.headers_mut().append(header::SET_COOKIE, cookie);
        response
    }

    /// The cookie with the name of the cell.
    fn cookie(&self, at: usize, portal: bool) -> Cookie {
        let framed = !self.cells[at].state.portal.frame_ancestors().is_empty();
        if portal { Cookie::PortalCell { framed } } else { Cookie::Cell }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.cells.iter().position(|cell| cell.name.as_str() == name)
    }

    /// An instance is ready once it has reached every cell, and stays so while one is there: the companies of the others would find them away at any
    /// instance. One that cannot reach a cell at all, which others may, is not ready until they have had time to notice.
    async fn readiness(&self) -> Response {
        let (mut reasons, mut first, mut missed) = (Map::new(), None, false);
        for (cell, reached) in self.cells.iter().zip(&self.reached) {
            match cell.state.readiness.judge().await {
                Ok(()) => reached.store(true, Ordering::Relaxed),
                Err(problem) => {
                    missed |= !reached.load(Ordering::Relaxed);
                    reasons.insert(cell.name.to_string(), problem.body("")["detail"].take());
                    first = first.or(Some(problem));
                }
            }
        }
        match first {
            Some(problem) if reasons.len() == self.cells.len() || missed && self.began.elapsed() < GRACE => self.finish(problem),
            _ => self.finish(Json(json!({ "status": "ok", "cells_away": reasons }))),
        }
    }
}

fn is_receipt(path: &str) -> bool {
    path.strip_prefix('/').and_then(|path| path.strip_prefix(RECEIPTS_PATH)).is_some_and(|rest| rest.starts_with('/'))
}

/// The cell that an operator names in the address of the page: `/console/sign-in?cell=b`.
fn chosen(parts: &Parts) -> Option<String> {
    let query = parts.uri.query().filter(|_| parts.uri.path() == "/console/sign-in")?;
    form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "cell").map(|(_, value)| value.into_owned())
}
