//! The body of `POST events`, parsed and validated against the catalogue before anything is stored.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::callers::{Caller, Owner};
use crate::events::{Catalogue, EventName, NewEvent, Publisher};
use crate::kernel::crypto::sha256;
use crate::kernel::ids::AnyId;
use crate::kernel::json;
use crate::kernel::openapi::closed_object;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::kernel::request_body;
use crate::kernel::traces;
use crate::resources::{FieldType, Line};

/// The maximum number of events in one request.
const MAX_EVENTS: usize = 500;
/// The maximum length of an event as it is sent, in bytes.
const MAX_EVENT_SIZE: usize = request_body::BODY_LIMIT;

/// One or more validated events.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) events: Vec<NewEvent>,
    /// The idempotency key of each event, in the same order.
    pub(super) keys: Vec<Option<Key>>,
    /// Whether the body was a single event; the response then has the same form.
    pub(super) is_single: bool,
    /// The size of the body, in bytes.
    pub(super) size: usize,
}

/// An idempotency key with the digest of the event published under it.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) digest: [u8; 32],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    event: String,
    data: Map<String, Value>,
    /// The record that the event is about: its events are numbered, and delivered in order to subscriptions that request it.
    subject: Option<AnyId>,
    /// Who of the company's own customers it is for.
    owner: Option<Owner>,
    idempotency_key: Option<Line<255>>,
}

impl Batch {
    pub(super) fn schema() -> Value {
        let mut owner = Option::<Owner>::schema();
        owner["description"] = json!(
            "Who of your own customers the event is for. It reaches the webhooks with this owner and those without any; an event \
             without an owner reaches only those without any."
        );
        let event = [
            ("event", json!({ "type": "string", "description": "The event name. The event type must be published by clients." })),
            ("data", json!({ "type": "object", "description": "Data that fits the schema of the event type." })),
            ("subject", json!({ "type": ["string", "null"], "description": "The id of the record that the event is about." })),
            ("owner", owner),
            ("idempotency_key", Option::<Line<255>>::schema()),
        ];
        let event = closed_object(&["event", "data"], event);
        let events = json!({ "type": "array", "minItems": 1, "maxItems": MAX_EVENTS, "items": event });
        json!({ "anyOf": [event, closed_object(&["events"], [("events", events)])] })
    }

    /// Parses `{"event":…}` or `{"events":[…]}`. The error names the first invalid event.
    pub(super) fn read(body: &RawValue, catalogue: &Catalogue, caller: &Caller) -> Result<Self, Problem> {
        let members: BTreeMap<String, Box<RawValue>> = json::parse(body.get().as_bytes())?;
        let (bodies, is_single) = match members.get("events") {
            None => (vec![read_one(body, catalogue)?], true),
            Some(_) if members.len() > 1 => return Err(FieldErrors::one("events", "No other field is allowed besides events.")),
            Some(listed) => (read_many(listed, catalogue)?, false),
        };
        let (company, request, trace) = (caller.company, caller.request, traces::context());
        let (mut events, mut keys) = (Vec::with_capacity(bodies.len()), Vec::with_capacity(bodies.len()));
        for (name, body) in bodies {
            keys.push(body.key());
            let Body { data, subject, owner, .. } = body;
            events.push(NewEvent { company, name, subject: subject.map(AnyId::uuid), owner, request, trace, data });
        }
        let batch = Self { events, keys, is_single, size: body.get().len() };
        batch.refuse_large_events()?;
        batch.refuse_repeated_keys()?;
        Ok(batch)
    }

    pub(super) fn has_keys(&self) -> bool {
        self.keys.iter().any(Option::is_some)
    }

    /// The path of a field of the event at `index`.
    pub(super) fn path(&self, index: usize, member: &str) -> String {
        if self.is_single { member.to_owned() } else { format!("events[{index}].{member}") }
    }

    fn refuse_large_events(&self) -> Result<(), Problem> {
        let sizes = self.events.iter().map(NewEvent::size);
        match sizes.enumerate().find(|(_, size)| *size > MAX_EVENT_SIZE) {
            None => Ok(()),
            Some((index, size)) => {
                let sentence = format!("The event would have {size} bytes as it is sent; at most {MAX_EVENT_SIZE} are allowed.");
                Err(FieldErrors::one(&self.path(index, "data"), sentence))
            }
        }
    }

    fn refuse_repeated_keys(&self) -> Result<(), Problem> {
        let mut seen = HashSet::new();
        let mut keys = self.keys.iter().enumerate().filter_map(|(index, key)| Some((index, key.as_ref()?)));
        match keys.find(|(_, key)| !seen.insert(&key.text)) {
            None => Ok(()),
            Some((index, _)) => Err(FieldErrors::one(&self.path(index, "idempotency_key"), "This key occurs twice.")),
        }
    }
}

fn read_many(listed: &RawValue, catalogue: &Catalogue) -> Result<Vec<(EventName, Body)>, Problem> {
    let bodies: Vec<Box<RawValue>> =
        json::parse(listed.get().as_bytes()).map_err(|_| FieldErrors::one("events", "This must be a list."))?;
    if bodies.is_empty() || bodies.len() > MAX_EVENTS {
        return Err(FieldErrors::one("events", format!("There may be 1 to {MAX_EVENTS} events.")));
    }
    let read = |(index, body): (usize, &RawValue)| read_one(body, catalogue).map_err(|problem| problem.within(&format!("events[{index}]")));
    bodies.iter().map(AsRef::as_ref).enumerate().map(read).collect()
}

fn read_one(body: &RawValue, catalogue: &Catalogue) -> Result<(EventName, Body), Problem> {
    let body: Body = json::parse(body.get().as_bytes())?;
    let event_type = catalogue.named(&body.event).map_err(|unknown| FieldErrors::one("event", unknown.to_string()))?;
    if event_type.publisher == Publisher::Service {
        return Err(FieldErrors::one("event", format!("{} can only be published by the service itself.", event_type.name)));
    }
    let name = event_type.name.clone();
    let data = Value::Object(body.data);
    if let Err(unfit) = event_type.check(&data) {
        let member = if unfit.path.is_empty() { "data".to_owned() } else { format!("data.{}", unfit.path) };
        return Err(FieldErrors::one(&member, format!("{unfit}.")));
    }
    let Value::Object(data) = data else { unreachable!("it was created as an object above") };
    Ok((name, Body { data, ..body }))
}

impl Body {
    fn key(&self) -> Option<Key> {
        let text = String::from(self.idempotency_key.clone()?);
        let mut published = vec![json!(self.event), json!(self.subject.map(AnyId::uuid)), json!(self.data)];
        // Left out where there is none, so that the digests of earlier versions stay as they are.
        published.extend(self.owner.as_ref().map(|owner| json!(owner)));
        let published = Value::from(published);
        Some(Key { text, digest: sha256(published.to_string().as_bytes()) })
    }
}
