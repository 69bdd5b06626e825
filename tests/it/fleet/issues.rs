//! Issues: decisions, section 9; interface 2, Events (issue.created, issue.updated, issue.resolved).

use reqwest::Method;
use serde_json::json;

use crate::support::World;
use crate::support::fleet::{id, names, uuid};

#[tokio::test]
async fn an_issue_says_what_happened_and_to_whom() {
    let world = World::new().await;
    let (ada, van, order) = (world.driver("Ada").await, world.vehicle("Van").await, world.order(json!({})).await);
    let body = json!({
        "report": "The tail lift is stuck.\nHalf way up.", "title": "Tail lift", "type": "vehicle", "category": "hydraulics",
        "priority": "high", "reporter": "Ada", "driver": id(&ada), "vehicle": id(&van), "order": id(&order), "meta": { "km": 12 },
    });
    let (issue, events) = world.published(world.create("issues", body)).await;
    assert_eq!((names(&events), events[0].subject), (vec!["issue.created"], uuid(&issue)));
    assert_eq!(
        issue,
        json!({
            "id": id(&issue), "uuid": uuid(&issue), "report": "The tail lift is stuck.\nHalf way up.", "title": "Tail lift",
            "type": "vehicle", "category": "hydraulics", "priority": "high", "status": "open", "reporter": "Ada", "driver": id(&ada),
            "vehicle": id(&van), "order": id(&order), "resolved_at": null, "meta": { "km": 12 },
            "created_at": issue["created_at"], "updated_at": issue["created_at"],
        })
    );
}

#[tokio::test]
async fn every_change_to_resolved_is_published() {
    let world = World::new().await;
    let issue = world.create("issues", json!({ "report": "Flat tyre" })).await;
    let mut resolved_at = json!(null);
    for (body, expected) in [
        (json!({ "status": "in_progress" }), vec!["issue.updated"]),
        (json!({ "status": "resolved" }), vec!["issue.resolved", "issue.updated"]),
        (json!({ "status": "resolved" }), vec![]),
        (json!({ "priority": "low" }), vec!["issue.updated"]),
        (json!({ "status": "closed" }), vec!["issue.updated"]),
        (json!({ "status": "open" }), vec!["issue.updated"]),
        (json!({ "status": "resolved", "category": "tyres" }), vec!["issue.resolved", "issue.updated"]),
    ] {
        let (changed, events) = world.published(world.change("issues", &issue, body.clone())).await;
        assert_eq!(names(&events), expected, "{body}");
        match changed["status"].as_str().unwrap() {
            "resolved" if expected.contains(&"issue.resolved") => resolved_at = changed["updated_at"].clone(),
            "open" | "in_progress" => resolved_at = json!(null),
            _ => {}
        }
        assert_eq!(changed["resolved_at"], resolved_at, "{body}");
    }
    assert_eq!(world.published_names(world.delete("issues", &issue)).await, ["issue.deleted"]);
    let published = world.published_names(world.create("issues", json!({ "report": "Was stuck", "status": "resolved" }))).await;
    assert_eq!(published, ["issue.created", "issue.resolved"]);
}

#[tokio::test]
async fn bad_members_are_refused_by_name() {
    let world = World::new().await;
    for (body, member) in [
        (json!({}), "report"),
        (json!({ "report": " " }), "report"),
        (json!({ "report": "x".repeat(5001) }), "report"),
        (json!({ "report": "x", "status": "lost" }), "status"),
        (json!({ "report": "x", "priority": "urgent" }), "priority"),
        (json!({ "report": "x", "order": "order_01h455vb4pex5vsknk084sn02q" }), "order"),
        (json!({ "report": "x", "vehicle": 7 }), "vehicle"),
        (json!({ "report": "x", "resolved_at": "2026-05-21T10:15:00Z" }), "resolved_at"),
    ] {
        assert_eq!(world.refused_members(Method::POST, "issues", &body).await, [member], "{body}");
    }
    assert_eq!(world.count("select count(*) from issues").await, 0);
}

#[tokio::test]
async fn issues_are_found_by_what_they_are_about() {
    let world = World::new().await;
    let (ada, order) = (world.driver("Ada").await, world.order(json!({})).await);
    let first = json!({ "report": "Nobody at home", "order": id(&order), "type": "delivery", "status": "closed" });
    let first = world.create("issues", first).await;
    let second = json!({ "report": "x", "title": "Late again", "driver": id(&ada), "priority": "critical", "category": "punctuality" });
    let second = world.create("issues", second).await;
    for (parameters, expected) in [
        (format!("order={}", id(&order)), &first),
        (format!("driver={}", id(&ada)), &second),
        ("status=closed".to_owned(), &first),
        ("priority=critical".to_owned(), &second),
        ("type=delivery".to_owned(), &first),
        ("category=punctuality".to_owned(), &second),
        ("query=at%20home".to_owned(), &first),
        ("query=late".to_owned(), &second),
    ] {
        assert_eq!(world.listed(&format!("issues?{parameters}")).await, [id(expected)], "{parameters}");
    }
}
