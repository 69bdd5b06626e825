//! The steps of `docs/declared.md`, run as written.

use reqwest::Method;

use crate::declared::garden;
use crate::support::page::block;
use crate::support::{Answer, World};

const PAGE: &str = include_str!("../../../docs/declared.md");

/// The text between two others.
fn between<'a>(line: &'a str, start: &str, end: &str) -> Option<&'a str> {
    line.split_once(start)?.1.split(end).next()
}

/// Sends the request of a line with `curl`.
async fn curl(world: &World, line: &str, bike: &str) -> Answer {
    let path = between(line, "$URL", " ").unwrap().trim_end_matches('"').replace("$BIKE", bike);
    let body = between(line, "--json '", "'");
    let method = match (between(line, "-X ", " "), body) {
        (Some(method), _) => method.parse().unwrap(),
        (None, Some(_)) => Method::POST,
        (None, None) => Method::GET,
    };
    let mut request = world.api(method, &path);
    if let Some(version) = between(line, "If-Match: ", "'") {
        request = request.header("if-match", version);
    }
    if let Some(body) = body {
        request = request.json(&serde_json::from_str(body).unwrap());
    }
    request.send().await
}

#[tokio::test]
async fn the_page_adds_an_extension_from_the_start_to_the_end() {
    let directory = garden(block(PAGE, "toml"));
    let world = World::with(&[("extensions.directory", directory.path().to_str().unwrap())]).await;
    world.state.declared.take_schemas().await.unwrap();
    world.resolver.insert("localhost", &["127.0.0.1".parse().unwrap()]);
    let (mut statuses, mut bike) = (Vec::new(), String::new());
    for line in block(PAGE, "bash").lines().filter(|line| line.contains("curl ")) {
        let answer = curl(&world, line, &bike).await;
        if line.starts_with("BIKE=") {
            bike = answer.body["bike"]["id"].as_str().unwrap().to_owned();
        }
        if line.contains("query=") {
            assert_eq!(answer.body["bikes"][0]["id"], bike);
        }
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [201, 200, 200, 200, 200, 201, 412, 200]);
    assert_eq!(
        world.count("select count(*) from events where name in ('bike.created', 'bike.updated', 'bike.stolen', 'bike.deleted')").await,
        4
    );
}
