//! Receiving callbacks: `POST /webhooks` with an API key, `POST /webhooks/{gateway}` authenticated by the signature alone.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use uuid::Uuid;

use crate::callers::{Area, Caller, Party, Scope};
use crate::companies::RequestLimits;
use crate::gateways::callbacks::refusal::CallbackRefusal;
use crate::gateways::callbacks::resolve::{self, Hints};
use crate::gateways::drivers::{Incoming, NotUnderstood};
use crate::gateways::genuine::GenuineCallback;
use crate::gateways::open_gateways::OpenGateway;
use crate::gateways::recording::{Acknowledgement, Recorded};
use crate::gateways::state::Gateways;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::Unread;
use crate::kernel::request_id::RequestId;
use crate::kernel::traces;

/// The words of the metrics for a genuine callback without an acknowledgement.
pub(super) const NOT_UNDERSTOOD: &str = "not_understood";
pub(super) const NOT_RECORDED: &str = "not_recorded";
/// From this length on, in bytes, a body is read beside the threads that answer requests.
const LARGE_BODY: usize = 32 * 1024;

/// What was sent.
#[derive(Clone)]
struct Sent {
    headers: HeaderMap,
    body: Bytes,
}

/// `POST /webhooks`: the API key determines the company, and the gateway must be one of its gateways.
pub async fn with_key(
    State(gateways): State<Gateways>,
    State(limits): State<RequestLimits>,
    caller: Caller,
    client: ClientAddress,
    headers: HeaderMap,
    body: Unread<Bytes>,
) -> Result<Response, Problem> {
    caller.require(Area::Business, Scope::Callbacks)?;
    let counted = caller.who.id().unwrap_or_else(|| caller.company.uuid());
    let party = caller.party().ok_or(ProblemCode::ApiKeyInvalid)?;
    let taking = async {
        let body = limits.receive(caller.company, &party, body).await?;
        gateways.take_from_company(&caller, headers, body).await
    };
    gateways.throttled((counted, client), taking).await
}

/// `POST /webhooks/{gateway}`: for gateways that cannot send an API key.
pub async fn without_key(
    State(gateways): State<Gateways>,
    State(limits): State<RequestLimits>,
    Path(gateway): Path<String>,
    request: RequestId,
    client: ClientAddress,
    headers: HeaderMap,
    body: Unread<Bytes>,
) -> Result<Response, Problem> {
    let id: GatewayId = gateway.parse().map_err(|_| ProblemCode::GatewayNotConfigured)?;
    // Before the body, so that a stranger has none received without knowing a gateway.
    let found = gateways.find_named(id, client).await?;
    let taking = async {
        let body = limits.receive(found.company, &Party::Gateway(id), body).await?;
        gateways.take_from_gateway(found, request, headers, body).await
    };
    gateways.throttled((id.uuid(), client), taking).await
}

impl Gateways {
    /// Runs `taking` unless the caller has exceeded its rate limit, and adds the rate limit headers to the response.
    async fn throttled(
        &self,
        (caller, client): (Uuid, ClientAddress),
        taking: impl Future<Output = Result<Acknowledgement, Problem>>,
    ) -> Result<Response, Problem> {
        let status = self.throttle.hit((caller, client.network()));
        if !status.allowed {
            return Ok(status.refusal());
        }
        let mut response = match taking.await {
            Ok(taken) => Json(json!({ "message": taken.message() })).into_response(),
            Err(problem) => problem.into_response(),
        };
        status.apply_headers(&mut response);
        Ok(response)
    }

    async fn take_from_company(&self, caller: &Caller, headers: HeaderMap, body: Bytes) -> Result<Acknowledgement, Problem> {
        let sent = Sent { headers, body };
        let hints = self.read_sent(caller.company, &sent, Hints::read).await?;
        if hints.names_another_company(caller.company) {
            return Err(self.refuse(caller.company, None, CallbackRefusal::CompanyMismatch, &sent.body).await);
        }
        let found = match hints.gateway {
            None => resolve::choose(&self.find_all_active(caller.company).await?, &sent.headers),
            Some(named) => match named.ok() {
                Some(id) => self.find_active(id).await?.filter(|found| found.company == caller.company),
                None => None,
            }
            .ok_or(CallbackRefusal::GatewayNotConfigured),
        };
        match found {
            Ok(found) => {
                found.standing.must_be_open()?;
                self.take(found, caller.request, sent).await
            }
            Err(refusal) => Err(self.refuse(caller.company, None, refusal, &sent.body).await),
        }
    }

    /// Returns the gateway that a request without a key names, or refuses it: without a gateway there is no company to record the
    /// callback for. Unknown gateways are limited, because each is a look-up in the database that needs no key.
    async fn find_named(&self, id: GatewayId, client: ClientAddress) -> Result<Arc<OpenGateway>, Problem> {
        let limited = self.unknown_gateways.look_up(client.network(), &id, self.find_active(id)).await;
        let (found, _) = limited.map_err(|status| status.problem())?;
        Ok(found?.ok_or(ProblemCode::GatewayNotConfigured)?)
    }

    async fn take_from_gateway(
        &self,
        found: Arc<OpenGateway>,
        request: RequestId,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Acknowledgement, Problem> {
        found.standing.must_be_open()?;
        let sent = Sent { headers, body };
        if self.read_sent(found.company, &sent, Hints::read).await?.names_another_company(found.company) {
            let gateway = Some((found.id, found.driver));
            return Err(self.refuse(found.company, gateway, CallbackRefusal::CompanyMismatch, &sent.body).await);
        }
        self.take(found, Some(request), sent).await
    }

    /// Accepts a callback that claims to come from `found`.
    async fn take(&self, found: Arc<OpenGateway>, request: Option<RequestId>, sent: Sent) -> Result<Acknowledgement, Problem> {
        let (now, company, id, driver) = (self.clock.now(), found.company, found.id, found.driver);
        let verified_and_read = move |headers: &HeaderMap, body: &Bytes| {
            found.verify(&Incoming { headers, body, now })?;
            Ok(GenuineCallback::read(CallbackId::new(now), found, body.clone(), request, now))
        };
        let callback = match self.read_sent(company, &sent, verified_and_read).await? {
            Ok(genuine) => Arc::new(GenuineCallback { trace: traces::context(), ..genuine }),
            Err(why) => return Err(self.refuse(company, Some((id, driver)), CallbackRefusal::NotGenuine(why), &sent.body).await),
        };
        let recorded = self.recording.write(Arc::clone(&callback), callback.body.len()).await;
        self.metrics.count(Some(driver), recorded.as_ref().map_or(NOT_RECORDED, outcome));
        match recorded? {
            Ok(Acknowledgement::Repeated) => Box::pin(self.repeat(&callback)).await,
            taken => taken.map_err(Problem::from),
        }
    }

    /// Reads what was sent to `company`. The threads that answer requests read ordinary bodies; a large one takes milliseconds.
    async fn read_sent<T: Send + 'static>(
        &self,
        company: CompanyId,
        sent: &Sent,
        read: impl FnOnce(&HeaderMap, &Bytes) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        if sent.body.len() < LARGE_BODY {
            return Ok(read(&sent.headers, &sent.body));
        }
        let Sent { headers, body } = sent.clone();
        // Boxed: otherwise its state would be copied with the future of every callback.
        Box::pin(self.reading.run(company, move || read(&headers, &body))).await
    }
}

/// The word of the metrics for what became of a genuine callback.
fn outcome(recorded: &Recorded) -> &'static str {
    recorded.as_ref().map_or(NOT_UNDERSTOOD, |acknowledgement| acknowledgement.as_str())
}

impl From<NotUnderstood> for Problem {
    fn from(not_understood: NotUnderstood) -> Self {
        Self::new(ProblemCode::CallbackNotUnderstood).detail(not_understood.to_string())
    }
}
