//! Hooks: servers of companies that are asked before something happens here, and whose answer decides. A question is one POST, signed as
//! Standard Webhooks are, with a deadline. It is not sent again, and a redirect is no answer.
//!
//! Somebody waits for the answer, and a slow hook must hold up nobody else: a company has a few questions under way at a time, and all
//! companies together have so many, which a few companies cannot use up. Whoever asks holds no connection of the database meanwhile.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use chrono::{DateTime, Utc};
use reqwest::Client;
use url::Url;

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::{CompanyId, EventId, TypedId};
use crate::kernel::rate_limit::{ConcurrencyLimiter, Full};
use crate::providers::{self, ReadError};
use crate::webhooks::company_clients::{CompanyClients, NoClient};
use crate::webhooks::endpoint::{RotatingSecrets, SIGNATURES, SealedSecrets, USER_AGENT};
use crate::webhooks::targets::EndpointUrl;

/// The limit of a question, from the look-up of the name to the end of the answer.
const DEADLINE: Duration = Duration::from_secs(2);
/// The longest answer, in bytes.
const MAX_ANSWER_LEN: usize = 16 * 1024;
/// The questions of one company that are under way at a time, and those of all companies, on each instance.
const OF_COMPANY: usize = 8;
const OF_ALL: usize = 512;

/// Asks hooks. Clones share the limits.
#[derive(Clone, Debug)]
pub struct Hooks {
    clients: CompanyClients,
    under_way: ConcurrencyLimiter<CompanyId>,
}

/// A hook that can be asked.
#[derive(Debug)]
pub struct Hook {
    company: CompanyId,
    url: Url,
    client: Client,
    secrets: RotatingSecrets,
}

/// Why a hook cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum NoHook {
    /// Its address may not be connected to.
    #[error(transparent)]
    Client(#[from] NoClient),
    /// Its secret was sealed under another application key.
    #[error("the signing secret cannot be decrypted")]
    Secret(#[from] CannotOpen),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// There are as many questions under way as there may be. The hook was not asked.
    #[error("too many questions are under way")]
    Busy(Full),
    /// It did not respond in time, or not at all.
    #[error("there was no response")]
    NoResponse(#[source] reqwest::Error),
    /// It responded with another status than 2xx.
    #[error("the response has status {0}")]
    Status(StatusCode),
    /// Its response cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
}

impl Hooks {
    /// Asks with these clients.
    pub fn new(clients: CompanyClients) -> Self {
        Self { clients, under_way: ConcurrencyLimiter::new(OF_COMPANY, OF_ALL) }
    }

    /// What tells a company whether an address that it names may be asked.
    pub fn clients(&self) -> &CompanyClients {
        &self.clients
    }

    /// Prepares a hook of a company. Its secrets were sealed for the row with this id.
    pub fn prepare(
        &self,
        key: &ApplicationKey,
        (company, id): (CompanyId, impl TypedId),
        url: &EndpointUrl,
        sealed: SealedSecrets<'_>,
    ) -> Result<Hook, NoHook> {
        let client = self.clients.client(company, [url], DEADLINE)?;
        Ok(Hook { company, url: url.url(), client, secrets: RotatingSecrets::open(key, id, sealed)? })
    }

    /// Posts a question, and returns the body of the answer.
    pub async fn ask(&self, hook: &Hook, id: EventId, question: Vec<u8>, at: DateTime<Utc>) -> Result<Vec<u8>, NoAnswer> {
        let _place = self.under_way.enter(hook.company).map_err(NoAnswer::Busy)?;
        let id = id.to_string();
        let [_, signature] = SIGNATURES;
        let request = hook
            .client
            .post(hook.url.clone())
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(header::USER_AGENT, USER_AGENT)
            .header("webhook-timestamp", at.timestamp())
            .header(signature, hook.secrets.at(at).standard_signature(&id, at, &question))
            .header("webhook-id", id)
            .body(question);
        // The query of the URL may contain a secret.
        let response = providers::send(request, "ask a hook").await.map_err(|error| NoAnswer::NoResponse(error.without_url()))?;
        if !response.status().is_success() {
            return Err(NoAnswer::Status(response.status()));
        }
        Ok(providers::read_up_to(MAX_ANSWER_LEN, response).await?)
    }
}
