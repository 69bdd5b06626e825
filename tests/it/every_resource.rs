//! What holds for every kind of record, whoever keeps it: decisions, section 9. A new resource is found in the table of `api_keys.rs`,
//! which its source, or the file that declares it, must be in; here it needs an example.

use futures::future::BoxFuture;
use portico::companies::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use crate::api_keys::{BESIDE, Kind, NOBODY, RESOURCES, all_routes};
use crate::support::fleet::id;
use crate::support::gateways::paid;
use crate::support::people::{EMAIL, PHONE};
use crate::support::{Answer, World};

/// A kind of record, and where it is.
pub struct Resource<'a> {
    pub world: &'a World,
    pub namespace: &'a str,
    pub plural: &'a str,
    pub kind: Kind,
}

impl Resource<'_> {
    /// A request about the resource: a record's id as the last part of the path, or what stands behind the plural.
    async fn ask(&self, method: Method, rest: &str, body: Option<&Value>) -> Answer {
        let path = format!("/{}/int/v1/{}{rest}", self.namespace, self.plural);
        let request = self.world.api(method, &path);
        match body {
            Some(body) => request.json(body).send().await,
            None => request.send().await,
        }
    }

    /// A live record.
    pub async fn record(&self) -> Value {
        if let Some(body) = self.example().await {
            let made = self.ask(Method::POST, "", Some(&body)).await.ok(201);
            return made.as_object().unwrap().values().next().unwrap().clone();
        }
        let list = self.ask(Method::GET, "?limit=1", None).await.ok(200);
        list[self.plural.replace('-', "_")][0].clone()
    }

    /// What a record is made from; nothing where it comes by itself, which it then has.
    pub async fn example(&self) -> Option<Value> {
        let world = self.world;
        let body = match (self.namespace, self.plural) {
            ("fleet", "orders") => json!({}),
            ("fleet", "drivers" | "vehicles" | "fleets") => json!({ "name": "North" }),
            ("fleet", "issues") => json!({ "report": "Flat tyre" }),
            ("fleet", "proofs") => json!({ "order": id(&world.order(json!({})).await), "data": "M0 0L9 9" }),
            ("fleet", "tracking-statuses") => json!({ "order": id(&world.order(json!({})).await), "status": "at_the_depot" }),
            ("developers", "webhooks") => {
                world.names.point("hooks.example", &["127.0.0.1".parse().unwrap()]);
                json!({ "url": "https://hooks.example:8443/" })
            }
            ("storefront", "stores") => json!({ "name": "Outlet" }),
            ("developers", "api-keys") => json!({ "name": "Reports", "scopes": ["read"] }),
            ("ledger", "gateways") => json!({ "name": "Cash", "driver": "manual" }),
            ("ledger", "callbacks" | "payments") => {
                let gateway = world.card().await;
                world.call_back(&gateway, &paid("evt_1")).await.ok(200);
                return None;
            }
            ("fleet", "tracking-numbers") | ("developers", "events") => {
                world.order(json!({})).await;
                return None;
            }
            ("developers", "deliveries") => {
                let (_receiver, webhook) = world.subscriber("hooks.example").await;
                world.developers(Method::POST, &format!("webhooks/{}/test", id(&webhook)), json!({})).await.ok(201);
                return None;
            }
            ("developers", "replays") => {
                let (_receiver, webhook) = world.subscriber("hooks.example").await;
                let since = json!({ "since": world.clock.now() });
                world.developers(Method::POST, &format!("webhooks/{}/replay", id(&webhook)), since).await.ok(202);
                return None;
            }
            ("storefront", "customers" | "tokens" | "sign-ins") => {
                world.register(EMAIL).await;
                return None;
            }
            ("storefront", "texts") => {
                world.register(PHONE).await;
                return None;
            }
            ("inventory", "warehouses") => json!({ "name": "Harbour", "code": "HAM-1" }),
            ("inventory", "stock-items") => {
                let harbour = json!({ "name": "Harbour", "code": "HAM-1" });
                let made = world.api(Method::POST, "/inventory/int/v1/warehouses").json(&harbour).send().await.ok(201);
                json!({ "sku": "MUG", "warehouse": id(&made["warehouse"]), "quantity": 3 })
            }
            ("support", "tickets") => json!({ "subject": "Where is it?" }),
            (namespace, plural) => panic!("{namespace}/int/v1/{plural} needs an example here"),
        };
        Some(body)
    }

    /// What changes a record, to something else each time.
    fn change(&self, time: u8) -> Value {
        let text = format!("TEXT-{time}");
        let member = match self.plural {
            "orders" => "notes",
            "issues" => "title",
            "proofs" => "remarks",
            "tracking-numbers" => "tracking_number",
            "tracking-statuses" => "details",
            "webhooks" => "description",
            "stock-items" => return json!({ "quantity": 100 + i32::from(time) }),
            "tickets" => "subject",
            _ => "name",
        };
        json!({ member: text })
    }

    /// The routes of a record that there are.
    fn of_one(&self) -> Vec<Method> {
        match self.kind {
            Kind::Log => vec![Method::GET],
            Kind::Changeable | Kind::Recorded => vec![Method::GET, Method::PUT],
            Kind::Editable => vec![Method::GET, Method::PUT, Method::DELETE],
        }
    }

    fn creates(&self) -> bool {
        matches!(self.kind, Kind::Recorded | Kind::Editable)
    }

    /// Whether a route beside the five has the address of one of them.
    fn has_beside(&self, method: &Method, rest: &str) -> bool {
        let path = format!("/{}{rest}", self.plural);
        BESIDE.iter().any(|(beside, namespace, address)| beside == method && *namespace == self.namespace && *address == path)
    }

    /// Shown where a story goes wrong.
    pub fn name(&self) -> String {
        format!("{}/int/v1/{}", self.namespace, self.plural)
    }
}

/// Tells the story of every resource, each in a world of its own.
pub async fn of_every_resource(story: impl for<'a> Fn(&'a Resource<'a>) -> BoxFuture<'a, ()>) {
    of_every_resource_with(&[], story).await;
}

/// The same in worlds with some settings changed.
pub async fn of_every_resource_with(changes: &[(&str, &str)], story: impl for<'a> Fn(&'a Resource<'a>) -> BoxFuture<'a, ()>) {
    for (namespace, plural, kind) in RESOURCES {
        let world = World::with(changes).await;
        let resource = Resource { world: &world, namespace, plural, kind: *kind };
        #[expect(clippy::print_stdout, reason = "if a test fails, the last line that it printed names the resource")]
        {
            println!("{}", resource.name());
        }
        story(&resource).await;
    }
}

#[tokio::test]
async fn a_record_of_another_company_is_not_there() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let (_, key) = resource.world.another_company(&Scope::ALL).await;
            let ask = |method: Method, rest: String| {
                let path = format!("/{}/int/v1/{}{rest}", resource.namespace, resource.plural);
                resource.world.request(method, &path).key(&key).json(&json!({})).send()
            };
            for method in resource.of_one() {
                for form in ["id", "uuid"] {
                    ask(method.clone(), format!("/{}", record[form].as_str().unwrap())).await.refused(404, "record_not_found");
                }
            }
            let list = ask(Method::GET, String::new()).await.ok(200);
            let theirs = list[resource.plural.replace('-', "_")].as_array().unwrap();
            // Whoever asks has an API key of their own.
            assert_eq!(theirs.len(), usize::from(resource.plural == "api-keys"));
            assert!(theirs.iter().all(|theirs| theirs["id"] != record["id"]));
            let mine = resource.ask(Method::GET, &format!("/{}", id(&record)), None).await.ok(200);
            assert_eq!(mine.as_object().unwrap().values().next().unwrap()["id"], record["id"]);
        })
    })
    .await;
}

#[tokio::test]
async fn a_deleted_record_is_gone_from_every_route() {
    of_every_resource(|resource| {
        Box::pin(async move {
            if resource.kind != Kind::Editable {
                return;
            }
            let record = resource.record().await;
            let rest = format!("/{}", id(&record));
            resource.ask(Method::DELETE, &rest, None).await.ok(200);
            for method in resource.of_one() {
                resource.ask(method, &rest, Some(&json!({}))).await.refused(404, "record_not_found");
            }
            for (method, _, path) in BESIDE.iter().filter(|(_, namespace, _)| *namespace == resource.namespace) {
                let Some(route) = path.strip_prefix(&format!("/{}/{{uuid}}", resource.plural)) else { continue };
                let body = match route {
                    "/track" => json!({ "latitude": 1.3, "longitude": 103.8 }),
                    "/replay" => json!({ "since": resource.world.clock.now() }),
                    _ => json!({}),
                };
                resource.ask(method.clone(), &format!("{rest}{route}"), Some(&body)).await.refused(404, "record_not_found");
            }
            let list = resource.ask(Method::GET, "?limit=100", None).await.ok(200);
            let list = list[resource.plural.replace('-', "_")].as_array().unwrap().clone();
            assert!(list.iter().all(|listed| listed["id"] != record["id"]));
        })
    })
    .await;
}

#[tokio::test]
async fn a_bad_body_is_a_problem_and_changes_nothing() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let one = format!("/{}", id(&record));
            let mut routes = Vec::new();
            if resource.creates() {
                routes.push((Method::POST, ""));
            }
            if resource.kind != Kind::Log {
                routes.push((Method::PUT, one.as_str()));
            }
            for (method, rest) in routes {
                let path = format!("/{}{rest}", resource.name());
                let send = |body: &'static str| {
                    resource.world.api(method.clone(), &path).header("content-type", "application/json").body(body).send()
                };
                for (body, status, code) in [
                    ("{", 400, "json_invalid"),
                    ("{}{}", 400, "json_invalid"),
                    ("[]", 422, "body_invalid"),
                    ("null", 422, "body_invalid"),
                    (r#"{"nonsense":1}"#, 422, "body_invalid"),
                    (r#"{"id":"another","version":7}"#, 422, "body_invalid"),
                    (r#"{"company_id":"another"}"#, 422, "body_invalid"),
                    (r#"{"meta":{"a":"\u0000"}}"#, 422, "body_invalid"),
                ] {
                    send(body).await.refused(status, code);
                }
                let form = resource.world.api(method.clone(), &path).header("content-type", "text/plain").body("{}");
                form.send().await.refused(415, "media_type_unsupported");
            }
            let after = resource.ask(Method::GET, &one, None).await.ok(200);
            let after = after.as_object().unwrap().values().next().unwrap().clone();
            assert_eq!(after["updated_at"], record["updated_at"]);
        })
    })
    .await;
}

#[tokio::test]
async fn an_unknown_parameter_is_refused_by_name() {
    of_every_resource(|resource| {
        Box::pin(async move {
            resource.record().await;
            for (parameters, name) in [
                ("?nonsense=1", "nonsense"),
                ("?company_id=1", "company_id"),
                ("?limit=0", "limit"),
                ("?sort=id", "sort"),
                ("?after=x", "after"),
            ] {
                let refusal = resource.ask(Method::GET, parameters, None).await.refused(422, "parameter_invalid");
                assert_eq!(refusal["parameter"], name);
            }
            let list = resource.ask(Method::GET, "?limit=1&sort=created_at", None).await.ok(200);
            assert_eq!((list[resource.plural.replace('-', "_")].as_array().unwrap().len(), &list["meta"]["per_page"]), (1, &json!(1)));
        })
    })
    .await;
}

#[tokio::test]
async fn routes_that_take_no_parameters_refuse_them_by_name() {
    let world = World::new().await;
    for (method, path) in all_routes(NOBODY) {
        for (parameters, name) in [("nonsense=1", "nonsense"), ("Limit=5", "Limit"), ("=1", ""), ("a%26b", "a&b")] {
            let request = |key: &str| world.request(method.clone(), &format!("{path}?{parameters}")).key(key).json(&json!({})).send();
            assert_eq!(request(&world.api_key).await.refused(422, "parameter_invalid")["parameter"], name, "{method} {path}");
            request("key_").await.refused(401, "api_key_invalid");
        }
    }
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let path = format!("/{}/{}", resource.name(), id(&record));
            let before = resource.world.api(Method::GET, &path).send().await;
            for method in resource.of_one() {
                let request = resource.world.api(method, &format!("{path}?nonsense=1")).json(&resource.change(1));
                request.send().await.refused(422, "parameter_invalid");
            }
            let after = resource.world.api(Method::GET, &path).send().await;
            assert_eq!((after.header("etag"), &after.body), (before.header("etag"), &before.body));
        })
    })
    .await;
}

#[tokio::test]
async fn routes_that_need_nothing_said_refuse_what_they_do_not_know() {
    let world = World::new().await;
    for (_, namespace, path) in BESIDE.iter().filter(|(method, ..)| *method == Method::POST) {
        let path = format!("/{namespace}/int/v1{}", path.replace("{uuid}", NOBODY));
        let send = |kind: &'static str, body: &'static str| world.api(Method::POST, &path).header("content-type", kind).body(body).send();
        for (body, status, code) in [("{", 400, "json_invalid"), (r#"{"nonsense":1}"#, 422, "body_invalid"), ("null", 422, "body_invalid")]
        {
            send("application/json", body).await.refused(status, code);
        }
        send("text/plain", "{}").await.refused(415, "media_type_unsupported");
        assert_ne!(send("application/x-www-form-urlencoded", "").await.status, 415);
    }
}

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
                for stale in [read.header("etag").unwrap(), "\"999\"", "W/\"1\"", "nonsense"] {
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

#[tokio::test]
async fn what_a_resource_does_not_offer_is_not_allowed() {
    of_every_resource(|resource| {
        Box::pin(async move {
            let record = resource.record().await;
            let rest = format!("/{}", id(&record));
            for method in [Method::PUT, Method::DELETE, Method::PATCH] {
                if !resource.of_one().contains(&method) && !resource.has_beside(&method, "/{uuid}") {
                    resource.ask(method, &rest, Some(&json!({}))).await.refused(405, "method_not_allowed");
                }
            }
            if !resource.creates() && !resource.has_beside(&Method::POST, "") {
                resource.ask(Method::POST, "", Some(&json!({}))).await.refused(405, "method_not_allowed");
            }
        })
    })
    .await;
}
