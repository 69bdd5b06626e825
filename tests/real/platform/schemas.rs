//! Several deployments, or cells, in one database, each in a schema of its own.

use chrono::TimeDelta;
use portico::events;
use portico::kernel::daily_partitions;
use portico::kernel::database::Notifications;
use sqlx::{AssertSqlSafe, Executor};

use crate::platform::cells::behind_one_address;
use crate::platform::companies::fill;
use crate::platform::moving::{belongings, moved, the_move};
use crate::support::customers::{EMAIL, PASSWORD, PHONE, login};
use crate::support::receiver::Receiver;
use crate::support::waiting::in_time;
use crate::support::{World, database};

/// The URL of a schema of this database, with all migrations.
pub async fn schema(database: &str, schema: &str) -> String {
    let pool = database::pool(database);
    pool.execute(AssertSqlSafe(format!("create schema {schema}"))).await.unwrap();
    pool.close().await;
    let url = format!("{database}?options[search_path]={schema}");
    database::migrate(&url).await;
    url
}

async fn schemas() -> [String; 2] {
    let database = database::empty().await;
    [schema(&database, "cell_a").await, schema(&database, "cell_b").await]
}

async fn two() -> [World; 2] {
    let [a, b] = schemas().await;
    [World::on(&a, &[]).await, World::on(&b, &[]).await]
}

#[tokio::test]
async fn what_happens_in_one_schema_stays_there() {
    let [a, b] = two().await;
    let (of_a, _) = a.subscriber("a.test").await;
    let (of_b, _) = b.subscriber("b.test").await;
    for world in [&a, &b] {
        world.state.webhooks.maintain_partitions().await.unwrap();
        world.register(PHONE).await;
    }
    a.publish("order.created").await;
    a.deliver().await;
    b.deliver().await;
    let orders = |receiver: &Receiver| receiver.received().iter().filter(|post| post.header("x-service-event") == "order.created").count();
    assert_eq!((orders(&of_a), orders(&of_b)), (1, 0));
    let with_days = "select count(*) from (select from pg_tables where schemaname in ('cell_a', 'cell_b') and tablename ~ '^events_2026'
                     group by schemaname having count(*) = 4) as schemas";
    assert_eq!(a.count(with_days).await, 2);
    assert_eq!(a.count("select count(*) from pg_tables where schemaname = 'public'").await, 0);
}

#[tokio::test]
async fn nobody_waits_for_the_locks_of_another_schema_or_hears_its_notifications() {
    let [a, b] = two().await;
    let leases = [daily_partitions::keep_house(&a.pool).await.unwrap(), daily_partitions::keep_house(&b.pool).await.unwrap()];
    assert!(leases.iter().all(Option::is_some));
    let mut heard = Notifications::listen(&b.pool, &[events::PUBLISHED]).await.unwrap();
    a.publish("order.created").await;
    // Notifications come in the order of their commits, so nothing was heard before this one.
    let own = format!("select pg_notify(own_channel('{}'), 'of b')", events::PUBLISHED);
    b.pool.execute(AssertSqlSafe(own)).await.unwrap();
    let first = in_time("a notification arrives", heard.next()).await.unwrap();
    assert_eq!(first.payload, "of b", "the other one was for those in the other schema");
    b.publish("order.created").await;
    assert_eq!(heard.next().await.unwrap().channel, events::PUBLISHED);
}

#[tokio::test]
async fn texts_are_searched_by_index_in_every_schema() {
    let [a, b] = two().await;
    let indexes = "select count(*) from pg_indexes where schemaname = current_schema()
                   and indexname in ('orders_by_text', 'customers_by_text', 'payments_by_text')";
    assert_eq!((a.count(indexes).await, b.count(indexes).await), (3, 3));
    let extension = "select count(*) from pg_extension where extname = 'pg_trgm' and extnamespace = 'portico_extensions'::regnamespace";
    assert_eq!(a.count(extension).await, 1, "it goes with neither of them");
}

#[tokio::test]
async fn two_schemas_are_cells_behind_one_address_and_companies_move_between_them() {
    let [a, b] = schemas().await;
    let mut a = World::on(&a, &[]).await;
    let mut b = a.in_cell_at(&b).await;
    behind_one_address(&mut [("main", &mut a), ("b", &mut b)]);
    fill(&a).await;
    let (receiver, _) = a.subscriber("shop.test").await;
    let before = belongings(&a, a.company).await;
    assert!(before.iter().filter(|(_, count)| *count > 0).count() >= 30, "{before:?}");
    let moving = the_move(&a, &b);
    moved(&moving).await;
    assert_eq!(belongings(&b, a.company).await, before);
    assert!(belongings(&a, a.company).await.iter().all(|(_, count)| *count == 0));
    // It is served at the same address, from the other schema.
    a.pass(TimeDelta::seconds(2));
    login(&a, EMAIL, PASSWORD).await.ok(200);
    let received = receiver.count();
    let event = b.publish_for(a.company, "driver.online").await;
    b.deliver().await;
    assert_eq!(receiver.received()[received..].last().unwrap().header("webhook-id"), event.to_string());
}
