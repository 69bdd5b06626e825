//! Nothing needs a notification: where the database sends none, everything goes on by polling (`docs/scaling.md`, "One distributed PostgreSQL").

use std::time::Duration;

use portico::events;
use portico::kernel::database::Notifications;
use sqlx::Executor;
use tokio::time::timeout;

use crate::support::{World, database};

/// A world on a database in which nobody hears what is notified.
async fn unnotified() -> World {
    let url = database::fresh().await;
    let pool = database::pool(&url);
    pool.execute("create function refused.pg_notify(text, text) returns void language sql as 'select'").await.unwrap();
    pool.close().await;
    World::on(&url, &[]).await
}

#[tokio::test]
async fn without_notifications_events_of_another_instance_are_delivered_and_streamed() {
    let here = unnotified().await;
    let there = here.another_instance();
    let (receiver, _) = here.subscriber("shop.test").await;
    here.state.webhooks.start_worker(&here.lifecycle);
    let mut stream = here.stream("", None).await;
    let mut heard = Notifications::listen(&here.pool, &[events::PUBLISHED]).await.unwrap();
    for name in ["order.created", "order.updated"] {
        let event = there.publish(name).await.to_string();
        receiver.waits_until(|posts| posts.iter().any(|post| post.header("webhook-id") == event)).await;
        assert_eq!(stream.next().await.unwrap().id, event);
    }
    assert_eq!(receiver.count(), 2);
    assert!(timeout(Duration::from_millis(1), heard.next()).await.is_err(), "nobody was notified");
}
