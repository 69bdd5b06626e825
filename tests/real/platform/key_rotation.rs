//! The application key is replaced while the service runs: docs/operating.md, "Replacing the key".

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use portico::app::sealed_columns;
use portico::kernel::crypto::ApplicationKey;
use portico::kernel::sealed_values::{self, Resealing};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::customers::{EMAIL, token};
use crate::support::program::{ask_to_stop, portico, printed, refused};
use crate::support::sealed_shop::{Shop, call_back, deliver, everything_works, gets_in, many_devices, new_key};
use crate::support::waiting::{in_time, until};

#[tokio::test]
async fn the_key_is_replaced_step_by_step_and_everything_works_at_each_step() {
    let shop = Shop::open().await;
    let (old, new) = (shop.old_key().to_owned(), new_key());
    // All instances know both keys, then the new one seals.
    let knows_both = shop.world.rekeyed(&old, &[&new]);
    everything_works(&shop, &knows_both, 1).await;
    let on_its_way = knows_both.sign_in_code(EMAIL).await;
    let renewed = shop.world.rekeyed(&new, &[&old]);
    renewed.verify(EMAIL, on_its_way).await.ok(200);
    everything_works(&shop, &renewed, 2).await;
    assert!(gets_in(&renewed, &shop.recovery_codes[0]).await);
    // What is sealed from now on is opened by the instances that are not renewed yet.
    let _another = renewed.subscriber("another.test").await;

    let both = shop.settings(&new, &old);
    let doctor = async |settings: &[(&str, &str)]| {
        let output = portico(&["doctor"], settings).output().await.unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let before = doctor(&both).await;
    let [old_name, new_name] = [&old, &new].map(|key| ApplicationKey::parse(&key.as_str().into()).unwrap().fingerprint().to_string());
    assert!(before.contains(&format!("14 under the previous key {old_name}: run portico keys rotate before you drop it")), "{before}");
    let rotated = printed(&["keys", "rotate"], &both).await;
    assert!(rotated.ends_with(&format!("Everything is sealed under the application key {new_name}.\n")), "{rotated}");
    assert!(rotated.contains("signing secrets of webhooks           1 of 2 sealed again\n"), "{rotated}");
    let after = doctor(&both).await;
    assert!(after.contains(&format!(", none under the previous key {old_name}\n")), "{after}");
    assert!(after.contains("those of 1 operator need a previous key"), "{after}");
    everything_works(&shop, &knows_both, 3).await;

    // The old key is dropped. Nothing but the recovery codes has needed it.
    let dropped = shop.world.rekeyed(&new, &[]);
    everything_works(&shop, &dropped, 4).await;
    assert!(!gets_in(&dropped, &shop.recovery_codes[1]).await);
    let again: Value = serde_json::from_str(&printed(&["keys", "rotate", "--json"], &shop.settings(&new, "")).await).unwrap();
    let columns = again["columns"].as_array().unwrap();
    assert!(columns.iter().all(|column| column["values"].as_u64() > Some(0) && column["resealed"] == 0), "{again}");
}

#[tokio::test]
async fn signing_in_calling_back_and_delivering_go_on_while_the_key_is_replaced() {
    let shop = Shop::open().await;
    let (old, new) = (shop.old_key().to_owned(), new_key());
    let instances = [shop.world.rekeyed(&old, &[&new]), shop.world.rekeyed(&new, &[&old])];
    let webhook = instances[0].get("webhooks").await["webhooks"][0]["id"].as_str().unwrap().to_owned();
    many_devices(&shop, 3_000).await;
    let (done, rounds) = (CancellationToken::new(), AtomicUsize::new(0));
    let load = async {
        while !done.is_cancelled() {
            let round = rounds.load(Ordering::Relaxed);
            for (number, world) in instances.iter().enumerate() {
                let identity = format!("c{round}-{number}@example.com");
                let login = world.register(&identity).await;
                let device = json!({ "platform": "ios", "token": identity });
                world.storefront("customers/register-device").token(&token(&login)).json(&device).send().await.ok(200);
                assert_eq!(call_back(world, &shop.gateway, 100 + 2 * round + number).await, 200);
                let headers = json!({ "headers": { "authorization": format!("Bearer {round}-{number}") } });
                world.developers(Method::PUT, &format!("webhooks/{webhook}"), headers).await.ok(200);
                assert_eq!(deliver(&shop.receiver, world).await.header("authorization"), format!("Bearer {round}-{number}"));
            }
            rounds.fetch_add(1, Ordering::Relaxed);
        }
    };
    let another_round = async || {
        let before = rounds.load(Ordering::Relaxed);
        until("the clients go on", async || rounds.load(Ordering::Relaxed) > before).await;
    };
    let rotation = async {
        another_round().await;
        let rotated = printed(&["keys", "rotate"], &shop.settings(&new, &old)).await;
        another_round().await;
        done.cancel();
        rotated
    };
    let ((), rotated) = tokio::join!(load, rotation);
    assert!(rotated.contains("Everything is sealed"), "{rotated}");
    // The instance with the old key went on sealing with it, which the next run finds.
    printed(&["keys", "rotate"], &shop.settings(&new, &old)).await;
    let dropped = shop.world.rekeyed(&new, &[]);
    let census = sealed_values::count(&dropped.pool, &dropped.application_key, &sealed_columns()).await.unwrap();
    assert!(census.lost.is_empty(), "{census:?}");
    let last = format!("Bearer {}-1", rounds.load(Ordering::Relaxed) - 1);
    assert_eq!(deliver(&shop.receiver, &dropped).await.header("authorization"), last, "no change was overwritten");
}

/// How many push tokens of devices a run says that it has sealed again.
fn sealed_devices(said: &str) -> u64 {
    let Some((_, told)) = said.split_once("push tokens of devices") else { return 0 };
    told.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn it_is_stopped_at_any_time_and_goes_on_where_it_was() {
    let shop = Shop::open().await;
    let (old, new) = (shop.old_key().to_owned(), new_key());
    many_devices(&shop, 1_200).await;
    let renewed = shop.world.rekeyed(&new, &[&old]);
    let devices = *sealed_columns().iter().find(|column| column.table == "devices").unwrap();
    let first = Resealing::new(&renewed.pool, &renewed.application_key, devices).next().await.unwrap().unwrap();
    assert_eq!((first.values, first.resealed), (500, 500));

    // Somebody holds a lock, so the command waits when it is told to stop.
    let mut conn = shop.world.hold().await;
    sqlx::query("lock table devices in access exclusive mode").execute(&mut *conn).await.unwrap();
    let mut command = portico(&["keys", "rotate"], &shop.settings(&new, &old));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    shop.world.somebody_waits().await;
    ask_to_stop(&child);
    sleep(Duration::from_millis(200)).await;
    conn.commit().await.unwrap();
    let stopped = in_time("the command stops", child.wait_with_output()).await.unwrap();
    assert!(!stopped.status.success());
    let said = String::from_utf8(stopped.stdout).unwrap();
    assert!(said.ends_with("Stopped. Run the command again to go on.\n"), "{said}");
    let done = sealed_devices(&said);
    assert!(done < 701, "{said}");

    let rotated = printed(&["keys", "rotate"], &shop.settings(&new, &old)).await;
    assert!(rotated.contains(" of 1201 sealed again\n"), "{rotated}");
    assert_eq!(sealed_devices(&rotated), 701 - done, "{rotated}");
}

#[tokio::test]
async fn a_value_that_is_changed_meanwhile_is_not_overwritten() {
    let shop = Shop::open().await;
    let (old, new) = (shop.old_key().to_owned(), new_key());
    let (both, renewed) = (shop.world.rekeyed(&old, &[&new]), shop.world.rekeyed(&new, &[&old]));
    let headers = *sealed_columns().iter().find(|column| column.column == "sealed_headers").unwrap();
    let webhook = both.get("webhooks").await["webhooks"][0]["id"].as_str().unwrap().to_owned();
    // A change that is not committed yet is passed over, without waiting for it.
    let mut change = shop.world.hold().await;
    sqlx::query("update subscriptions set updated_at = updated_at").execute(&mut *change).await.unwrap();
    let batch = Resealing::new(&renewed.pool, &renewed.application_key, headers).next().await.unwrap().unwrap();
    assert_eq!((batch.values, batch.resealed, batch.passed_over), (1, 0, 1));
    change.commit().await.unwrap();
    let path = format!("webhooks/{webhook}");
    let patched = json!({ "headers": { "authorization": "Bearer changed" } });
    let (changed, _) = tokio::join!(both.developers(Method::PUT, &path, patched), async {
        join_all((0..4).map(|_| async {
            Resealing::new(&renewed.pool, &renewed.application_key, headers).next().await.unwrap();
        }))
        .await;
    });
    changed.ok(200);
    assert_eq!(deliver(&shop.receiver, &renewed).await.header("authorization"), "Bearer changed");
}

#[tokio::test]
async fn when_the_old_key_is_lost_half_way_what_it_alone_opens_is_named_and_the_rest_goes_on() {
    let shop = Shop::open().await;
    let (old, new) = (shop.old_key().to_owned(), new_key());
    let renewed = shop.world.rekeyed(&new, &[&old]);
    for column in sealed_columns().into_iter().filter(|column| column.table == "gateways") {
        Resealing::new(&renewed.pool, &renewed.application_key, column).next().await.unwrap();
    }
    // The old key is lost: the gateways were done, the others were not.
    let settings = shop.settings(&new, "");
    let output = portico(&["keys", "rotate"], &settings).output().await.unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let webhook: Uuid = sqlx::query_scalar("select id from subscriptions").fetch_one(&shop.world.pool).await.unwrap();
    assert!(said.contains(&format!("None of the keys opens 1 of the signing secrets of webhooks: {webhook}\n")), "{said}");
    assert!(said.contains("All others are sealed under the application key"), "{said}");
    let output = portico(&["doctor"], &settings).output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("no key opens 11 of 14: "), "{said}");

    let without = shop.world.rekeyed(&new, &[]);
    assert_eq!(call_back(&without, &shop.gateway, 1).await, 200);
    let id = without.get("webhooks").await["webhooks"][0]["id"].as_str().unwrap().to_owned();
    without.developers(Method::PUT, &format!("webhooks/{id}"), json!({ "headers": { "authorization": "Bearer again" } })).await.ok(200);
    without.developers(Method::POST, &format!("webhooks/{id}/rotate-secret"), json!({ "overlap": 0 })).await.ok(200);
    assert_eq!(deliver(&shop.receiver, &without).await.header("authorization"), "Bearer again");
}

#[tokio::test]
async fn a_key_that_is_no_key_is_refused_by_name() {
    let settings = [("application_key", &*new_key()), ("previous_application_keys", "c2hvcnQ=")];
    let said = refused(&["keys", "rotate"], &settings).await;
    assert!(said.contains("each of previous_application_keys must be base64 of at least 32 bytes"), "{said}");
    assert!(!said.contains("c2hvcnQ"), "no key is shown");
}
