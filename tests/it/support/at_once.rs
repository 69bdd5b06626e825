//! Events that are fanned out by the statement that publishes them, and those that are not.

use portico::kernel::ids::EventId;
use portico::kernel::lifecycle::Lifecycle;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::waiting::until;

/// Notes what comes into the outbox, however short it stays there.
const NOTE: &str = "
    create table noted (event_id uuid not null);
    create function note() returns trigger language plpgsql as $$ begin insert into noted values (new.event_id); return null; end $$;
    create trigger note after insert on outbox for each row execute function note();";

impl World {
    /// The body that publishes the sample of an event.
    pub fn sample_of(&self, name: &str) -> Value {
        json!({ "event": name, "data": self.state.developers.catalogue.find(name).unwrap().sample })
    }

    /// Publishes the sample of an event as a client does, one about no record.
    pub async fn publish_alone(&self, name: &str) -> EventId {
        let answer = self.api(Method::POST, "/developers/int/v1/events").json(&self.sample_of(name)).send().await.ok(201);
        answer["event"]["id"].as_str().unwrap().parse().unwrap()
    }

    /// Notes the events that are in the outbox from now on.
    pub async fn note_the_outbox(&self) {
        sqlx::raw_sql(NOTE).execute(&self.pool).await.unwrap();
    }

    /// Whether an event was ever in the outbox.
    pub async fn was_in_the_outbox(&self, event: EventId) -> bool {
        let noted = sqlx::query_scalar("select exists (select from noted where event_id = $1)");
        noted.bind(event.uuid()).fetch_one(&self.pool).await.unwrap()
    }

    /// Starts the worker, and publishes events that nobody may want until one is never in the outbox.
    pub async fn sends_at_once(&self, lifecycle: &Lifecycle) {
        self.note_the_outbox().await;
        self.state.webhooks.start_worker(lifecycle);
        until("an event is fanned out by the statement that publishes it", async || {
            let event = self.publish_alone("driver.offline").await;
            !self.was_in_the_outbox(event).await
        })
        .await;
    }
}
