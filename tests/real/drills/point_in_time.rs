//! Somebody has destroyed something, and the database is taken back to the moment before: docs/operating.md, "To a point in time".

use portico::dev::temporary::TemporaryDirectory;
use serde_json::json;

use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::own_postgres::OwnPostgres;

#[tokio::test]
async fn a_base_backup_and_the_archived_log_lead_to_any_moment_since() {
    let directory = TemporaryDirectory::make("portico-it-archive").unwrap();
    let archive = directory.path().join("archive");
    let mut server = OwnPostgres::start().await;
    server.archive_to(&archive).await;
    let world = World::on(&server.url(), &[]).await;
    let (receiver, _) = world.subscriber("shop.test").await;
    let order = world.new_record();
    let first = world.publish_about(order, "order.created").await;
    world.deliver().await;

    let base = server.base_backup().await;
    world.register_with(EMAIL, json!({ "password": PASSWORD })).await;
    let kept = world.publish_about(order, "order.updated").await;
    let mut conn = server.connect().await;
    let moment: String = sqlx::query_scalar("select clock_timestamp()::text").fetch_one(&mut conn).await.unwrap();
    let lost = world.publish_about(order, "order.updated").await;
    world.deliver().await;
    sqlx::query("delete from customer_tokens").execute(&mut conn).await.unwrap();
    sqlx::query("update customers set password_hash = null").execute(&mut conn).await.unwrap();
    drop(conn);
    assert_eq!(login(&world, EMAIL, PASSWORD).await.status, 401);
    server.archive_the_rest().await;

    let restored = base.restored_to(&moment, &archive).await;
    let again = world.moved_to(&restored.url());
    assert_eq!(login(&again, EMAIL, PASSWORD).await.status, 200);
    let known = |id| sqlx::query_scalar::<_, bool>("select exists (select from events where id = $1)").bind(id);
    assert!(known(kept.uuid()).fetch_one(&again.pool).await.unwrap());
    assert!(!known(lost.uuid()).fetch_one(&again.pool).await.unwrap());

    // What was delivered after that moment is delivered again, and subscribers recognise it.
    again.deliver().await;
    let deliveries = |id: String| receiver.received().into_iter().filter(|post| post.header("webhook-id") == id).count();
    assert_eq!([first, kept, lost].map(|event| deliveries(event.to_string())), [1, 2, 1]);
    // The numbers of what is lost are given again.
    let next = again.publish_about(order, "order.completed").await;
    again.deliver().await;
    let sequence = |id: String| {
        let post = receiver.received().into_iter().find(|post| post.header("webhook-id") == id).unwrap();
        post.header("x-service-sequence").to_owned()
    };
    assert_eq!(sequence(next.to_string()), sequence(lost.to_string()));
    // A stream goes on after what is there, and not after what is lost.
    again.everything_is_fanned_out().await;
    let mut stream = again.stream("?events=order.*", Some(&kept.to_string())).await;
    assert_eq!(stream.next().await.unwrap().id, next.to_string());
    assert_eq!(again.stream_of(&again.api_key, "", Some(&lost.to_string())).await.status(), 404);
    drop(stream);

    restored.end(again).await;
    server.end(world).await;
}
