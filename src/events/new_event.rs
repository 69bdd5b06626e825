//! An event before it is written.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::callers::{Caller, Owner};
use crate::events::{API_VERSION, Envelope, EventData, EventName};
use crate::kernel::ids::{CompanyId, EventId};
use crate::kernel::request_id::RequestId;
use crate::kernel::traces::TraceContext;

/// Where an act that publishes events comes from, whoever does it.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The company whose records the act changes.
    pub company: CompanyId,
    /// The HTTP request, if there is one.
    pub request: Option<RequestId>,
}

impl From<&Caller> for Origin {
    fn from(caller: &Caller) -> Self {
        Self { company: caller.company, request: caller.request }
    }
}

/// An event about a record of a company.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// The company that owns the event; only its subscriptions receive it.
    pub company: CompanyId,
    /// The event name.
    pub name: EventName,
    /// The record that the event is about, if any.
    pub subject: Option<Uuid>,
    /// Who of the company's own customers it is for, beside the company's own webhooks. It is no part of what they receive.
    pub owner: Option<Owner>,
    /// The request that it follows from. It is no part of what subscribers receive.
    pub request: Option<RequestId>,
    /// The span that it follows from, if that is recorded. It is no part of what subscribers receive either.
    pub trace: Option<TraceContext>,
    /// The `data` of the envelope.
    pub data: EventData,
}

impl NewEvent {
    /// The length of the bytes that are sent. It depends on neither id nor time.
    pub fn size(&self) -> usize {
        Envelope::size(&self.name, &self.data)
    }

    /// The bytes that are stored, signed and sent.
    pub fn body(&self, id: EventId, now: DateTime<Utc>) -> Vec<u8> {
        Envelope { id, api_version: API_VERSION, event: &self.name, created_at: now, data: &self.data }.to_bytes()
    }
}
