//! The body of `POST events`, parsed and validated against the catalogue before anything is stored.

use std::collections::HashSet;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
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
    /// The size of the events as they are sent, in bytes.
    pub(super) size: usize,
}

/// The body as it arrives: an event is parsed at once, those of a list one by one, so that an error says which one it is about.
#[derive(Debug)]
pub enum Submitted {
    One(Box<Body>),
    Many(Vec<Box<RawValue>>),
}

/// An idempotency key with the digest of the event published under it.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) digest: [u8; 32],
    /// What earlier versions stored: of the members in the order that they were written in.
    as_written: [u8; 32],
}

impl Key {
    /// Whether this digest is that of the same event.
    pub(super) fn is_of(&self, digest: &[u8]) -> bool {
        digest == self.digest || digest == self.as_written
    }
}

/// An event as a client writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
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

    /// Checks `{"event":…}` or `{"events":[…]}`. The error names the first invalid event.
    pub(super) fn read(submitted: Submitted, catalogue: &Catalogue, caller: &Caller) -> Result<Self, Problem> {
        let (bodies, is_single) = match submitted {
            Submitted::One(body) => (vec![check(*body, catalogue)?], true),
            Submitted::Many(bodies) => (read_many(&bodies, catalogue)?, false),
        };
        let (company, request, trace) = (caller.company, caller.request, traces::context());
        let (mut events, mut keys) = (Vec::with_capacity(bodies.len()), Vec::with_capacity(bodies.len()));
        for (name, body) in bodies {
            keys.push(body.key());
            let Body { data, subject, owner, .. } = body;
            events.push(NewEvent { company, name, subject: subject.map(AnyId::uuid), owner, request, trace, data: data.into() });
        }
        let mut batch = Self { events, keys, is_single, size: 0 };
        batch.size = batch.sizes()?;
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

    /// The sizes of all events together, none of which is too large.
    fn sizes(&self) -> Result<usize, Problem> {
        let mut all = 0;
        for (index, event) in self.events.iter().enumerate() {
            let size = event.size();
            if size > MAX_EVENT_SIZE {
                let sentence = format!("The event would have {size} bytes as it is sent; at most {MAX_EVENT_SIZE} are allowed.");
                return Err(FieldErrors::one(&self.path(index, "data"), sentence));
            }
            all += size;
        }
        Ok(all)
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

impl<'de> Deserialize<'de> for Submitted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SubmittedVisitor)
    }
}

struct SubmittedVisitor;

impl<'de> Visitor<'de> for SubmittedVisitor {
    type Value = Submitted;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Submitted, A::Error> {
        let first: Option<String> = members.next_key()?;
        if first.as_deref() != Some("events") {
            let members = MapAccessDeserializer::new(Begun { first, rest: members });
            return Body::deserialize(members).map(|body| Submitted::One(Box::new(body)));
        }
        let events = members.next_value()?;
        match members.next_key::<String>()? {
            None => Ok(Submitted::Many(events)),
            Some(other) => Err(A::Error::unknown_field(&other, &["events"])),
        }
    }
}

/// The members of an object of which the first name was read already.
struct Begun<A> {
    first: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Begun<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

fn read_many(bodies: &[Box<RawValue>], catalogue: &Catalogue) -> Result<Vec<(EventName, Body)>, Problem> {
    if bodies.is_empty() || bodies.len() > MAX_EVENTS {
        return Err(FieldErrors::one("events", format!("There may be 1 to {MAX_EVENTS} events.")));
    }
    let read = |body: &RawValue| check(json::parse_part(body)?, catalogue);
    let read = |(index, body): (usize, &RawValue)| read(body).map_err(|problem| problem.within(&format!("events[{index}]")));
    bodies.iter().map(AsRef::as_ref).enumerate().map(read).collect()
}

/// Checks an event against the catalogue.
fn check(body: Body, catalogue: &Catalogue) -> Result<(EventName, Body), Problem> {
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
        let as_written = sha256(published.to_string().as_bytes());
        Some(Key { text, digest: sha256(json::in_one_order(published).as_bytes()), as_written })
    }
}
