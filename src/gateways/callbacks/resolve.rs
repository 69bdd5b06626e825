//! Resolves the gateway of a callback: the one it names, else the one whose signature header it carries, else the only one there
//! is.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use crate::gateways::callbacks::refusal::CallbackRefusal;
use crate::gateways::open_gateways::OpenGateway;
use crate::kernel::ids::{CompanyId, GatewayId, InvalidId};
use crate::kernel::json;

/// What a callback claims about itself, before it is verified.
#[derive(Debug, Default)]
pub struct Hints {
    company: Option<Value>,
    /// The gateway it names; an error if that is not a gateway id.
    pub gateway: Option<Result<GatewayId, InvalidId>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedInBody {
    company_uuid: Option<Value>,
    gateway_uuid: Option<Value>,
}

impl Hints {
    /// A body that is not a JSON object gives no hints.
    pub fn read(headers: &HeaderMap, body: &Bytes) -> Self {
        let named: NamedInBody = serde_json::from_slice(body).ok().or_else(|| json::read_evidence(body)).unwrap_or_default();
        let in_header = || headers.get("x-gateway-id").map(|value| value.to_str().unwrap_or_default().trim().parse());
        let gateway = named.gateway_uuid.map(|value| value.as_str().unwrap_or_default().parse()).or_else(in_header);
        Self { company: named.company_uuid, gateway }
    }

    /// A value that is not a company id counts as another company.
    pub fn names_another_company(&self, company: CompanyId) -> bool {
        self.company.as_ref().is_some_and(|named| named.as_str().and_then(|text| text.parse().ok()) != Some(company))
    }
}

/// Selects the gateway of a company that a callback with these headers comes from.
pub fn choose(gateways: &[Arc<OpenGateway>], headers: &HeaderMap) -> Result<Arc<OpenGateway>, CallbackRefusal> {
    let (signing, others): (Vec<_>, Vec<_>) = gateways.iter().partition(|found| {
        let header = found.account.signature_header();
        header.is_some_and(|header| headers.contains_key(header))
    });
    match if signing.is_empty() { others } else { signing }[..] {
        [found] => Ok(Arc::clone(found)),
        [] => Err(CallbackRefusal::GatewayNotConfigured),
        _ => Err(CallbackRefusal::GatewayAmbiguous),
    }
}
