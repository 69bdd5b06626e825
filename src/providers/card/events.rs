//! The events of an account that its callback endpoints have not taken.

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::providers::card::{Card, CardError};

/// Events of one page. A page has to fit into the limit of a response.
const PAGE: &str = "20";

/// A page of events, newest first.
#[derive(Debug, Deserialize)]
pub struct UndeliveredEvents {
    /// Each as the provider's callback has it.
    pub data: Vec<Box<RawValue>>,
    /// Whether there are older ones.
    pub has_more: bool,
}

impl UndeliveredEvents {
    /// The id of the last event, behind which the next page begins.
    pub fn last(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Event {
            id: String,
        }
        let event = serde_json::from_str::<Event>(self.data.last()?.get()).ok()?;
        Some(event.id)
    }
}

impl Card {
    /// Lists events since `since` whose delivery has failed or is still to come, behind the event `behind`.
    pub async fn list_undelivered_events(
        &self,
        secret_key: &SecretString,
        since: DateTime<Utc>,
        behind: Option<&str>,
    ) -> Result<UndeliveredEvents, CardError> {
        let since = since.timestamp().to_string();
        let mut query = vec![("delivery_success", "false"), ("created[gte]", since.as_str()), ("limit", PAGE)];
        query.extend(behind.map(|event| ("starting_after", event)));
        self.get(secret_key, "/v1/events", &query).await
    }
}
