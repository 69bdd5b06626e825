//! Conditional requests: changes to the version that a client has read.

use reqwest::Method;

use crate::resources::every_resource::of_every_resource;
use crate::support::fleet::id;
use crate::support::routes::Kind;

#[tokio::test]
async fn who_has_read_another_version_changes_nothing() {
    of_every_resource(|resource| {
        Box::pin(async move {
            if resource.kind == Kind::Log {
                return;
            }
            let (record, world) = (resource.record().await, resource.world);
            let path = format!("/{}/{}", resource.name(), id(&record));
            let find = || world.api(Method::GET, &path).send();
            let read = find().await;
            resource.ask(Method::PUT, &format!("/{}", id(&record)), Some(&resource.change(1))).await.ok(200);
            let (before, events) = (find().await, world.count("select count(*) from events").await);
            assert_ne!((read.header("etag"), &read.body), (before.header("etag"), &before.body));
            for method in resource.of_one().into_iter().filter(|method| *method != Method::GET) {
                for stale in [read.header("etag").unwrap(), "\"999\"", "W/\"1\""] {
                    let request = world.api(method.clone(), &path).header("if-match", stale).json(&resource.change(2));
                    request.send().await.refused(412, "record_changed");
                }
            }
            let after = find().await;
            assert_eq!((after.header("etag"), &after.body), (before.header("etag"), &before.body));
            assert_eq!(world.count("select count(*) from events").await, events);
            let current = world.api(Method::PUT, &path).header("if-match", after.header("etag").unwrap()).json(&resource.change(2));
            current.send().await.ok(200);
        })
    })
    .await;
}
