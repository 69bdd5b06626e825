//! Looking up the names of endpoints: cached, shared, and fair while a name server does not answer.

use std::io;
use std::net::IpAddr;

use chrono::TimeDelta;
use futures::future::join_all;
use portico::kernel::ids::CompanyId;
use portico::webhooks::Resolver;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::support::World;
use crate::support::nameserver::Nameserver;
use crate::support::subscribers::will_be_retried_after;
use crate::support::waiting::{in_time, until};

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn company(number: u128) -> Option<CompanyId> {
    Some(Uuid::from_u128(number).into())
}

#[tokio::test]
async fn a_name_is_asked_about_once_while_its_record_is_valid() {
    let server = Nameserver::start(60).await;
    let names = Resolver::asking(server.address);
    // Concurrent look-ups share a question, and later ones its answer, whichever company they are for.
    let answers = join_all((0..50).map(|number| names.look_up(company(number), "shop.test"))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap() == [ADDRESS]));
    names.look_up(None, "shop.test").await.unwrap();
    assert_eq!(server.asked("shop.test"), 1);
}

#[tokio::test]
async fn a_record_that_is_valid_for_no_time_is_not_kept() {
    let server = Nameserver::start(0).await;
    let names = Resolver::asking(server.address);
    for asked in 1..=2 {
        names.look_up(company(1), "shop.test").await.unwrap();
        assert_eq!(server.asked("shop.test"), asked);
    }
}

#[tokio::test]
async fn of_two_hundred_names_that_get_no_answer_a_company_has_a_few_under_way_and_another_one_does_not_notice() {
    let server = Nameserver::start(0).await;
    server.be_silent_about("silent.test");
    let names = Resolver::asking(server.address);
    let of_first: Vec<_> = (0..200).map(|number| format!("shop-{number}.silent.test")).collect();
    let asking = join_all(of_first.iter().map(|name| names.look_up(company(1), name)));
    let of_second: Vec<_> = (0..50).map(|number| format!("shop-{number}.test")).collect();
    let others = async {
        until("the first company has its questions under way", async || server.names_asked() >= 16).await;
        let answers = join_all(of_second.iter().map(|name| names.look_up(company(2), name))).await;
        assert!(answers.into_iter().all(|answer| answer.unwrap() == [ADDRESS]));
        // None of the first questions has ended, or others of the first company would have been asked.
        assert_eq!(server.names_asked(), 16 + 50);
    };
    let (answers, ()) = in_time("the look-ups end", futures::future::join(asking, others)).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap_err().kind() == io::ErrorKind::TimedOut));
}

#[tokio::test]
async fn a_look_up_that_gets_no_answer_fails_after_five_seconds_or_at_the_deadline_of_its_delivery() {
    let server = Nameserver::start(0).await;
    let world = World::resolving_by(Resolver::asking(server.address)).await;
    // At its deadline a delivery says something else than when its look-up has failed before.
    for (seconds, error, least) in [(1, "timeout", 1_000), (30, "dns", 5_000)] {
        // Registering a webhook looks its name up.
        let webhook = json!({ "url": format!("https://shop-{seconds}.test/"), "timeout": seconds });
        let id = world.developers(Method::POST, "webhooks", webhook).await.ok(201)["webhook"]["id"].as_str().unwrap().to_owned();
        server.be_silent_about("test");
        // Otherwise the deliveries of both rounds are equally new.
        world.pass(TimeDelta::seconds(1));
        world.publish("order.created").await;
        assert_eq!(world.deliver().await, 1);
        let delivery = world.last_delivery().await;
        will_be_retried_after(&delivery, error);
        assert!(delivery["attempts"][0]["duration_ms"].as_i64().unwrap() >= least, "{delivery}");
        world.developers(Method::DELETE, &format!("webhooks/{id}"), json!({})).await;
        server.be_silent_about("nobody");
    }
}
