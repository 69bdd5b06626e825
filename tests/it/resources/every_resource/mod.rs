//! Rules for every kind of record: decisions, section 9. The kinds come from `RESOURCES` in `tests/it/support/routes.rs`, which must
//! list every resource in the source and in declaration files. A new kind needs an example in `examples.rs`.

mod bodies;
mod examples;
pub mod filters;
mod parameters;
mod reach;
mod versions;

use futures::future::BoxFuture;
use portico::callers::Scope;
use reqwest::Method;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::support::routes::{Kind, OTHER_ROUTES, RESOURCES};
use crate::support::{Answer, World};

/// A kind of record, and its routes.
pub struct Resource<'a> {
    pub world: &'a World,
    pub namespace: &'a str,
    pub plural: &'a str,
    pub kind: Kind,
    /// The OpenAPI document of the world, once a story has asked for it.
    document: &'a OnceCell<Value>,
}

impl Resource<'_> {
    /// Sends a request about the resource; `rest` is the part of the URL after the plural, such as a record id or a query.
    async fn ask(&self, method: Method, rest: &str, body: Option<&Value>) -> Answer {
        let path = format!("/{}/int/v1/{}{rest}", self.namespace, self.plural);
        let request = self.world.api(method, &path);
        match body {
            Some(body) => request.json(body).send().await,
            None => request.send().await,
        }
    }

    /// The OpenAPI document of the world. It is large, and read once for all kinds.
    pub async fn document(&self) -> &Value {
        self.document.get_or_init(|| async { self.world.request(Method::GET, "/openapi.json").send().await.ok(200) }).await
    }

    /// A record that is not deleted.
    pub async fn record(&self) -> Value {
        if let Some(body) = self.example().await {
            let made = self.ask(Method::POST, "", Some(&body)).await.ok(201);
            return made.as_object().unwrap().values().next().unwrap().clone();
        }
        self.newest().await
    }

    /// The newest record.
    async fn newest(&self) -> Value {
        let list = self.ask(Method::GET, "?limit=1", None).await.ok(200);
        list[self.plural.replace('-', "_")][0].clone()
    }

    /// The methods of a single record.
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

    /// Whether a route besides the five has this method and path.
    fn has_other_route(&self, method: &Method, rest: &str) -> bool {
        let path = format!("/{}{rest}", self.plural);
        OTHER_ROUTES.iter().any(|(other, namespace, address)| other == method && *namespace == self.namespace && *address == path)
    }

    /// The base path of the resource, for failure messages.
    pub fn name(&self) -> String {
        format!("{}/int/v1/{}", self.namespace, self.plural)
    }
}

/// Runs the story for every resource, in one world.
pub async fn of_every_resource(story: impl for<'a> Fn(&'a Resource<'a>) -> BoxFuture<'a, ()>) {
    of_every_resource_in(World::new().await, story).await;
}

/// Runs the story for every resource in this world, each in a company and a store of its own: no kind meets the records of another.
pub async fn of_every_resource_in(mut world: World, story: impl for<'a> Fn(&'a Resource<'a>) -> BoxFuture<'a, ()>) {
    let document = OnceCell::new();
    for (namespace, plural, kind) in RESOURCES {
        (world.company, world.api_key) = world.another_company(&Scope::ALL).await;
        (world.store, world.store_key) = world.store_of(world.company).await;
        let resource = Resource { world: &world, namespace, plural, kind: *kind, document: &document };
        #[expect(clippy::print_stdout, reason = "the last line of a failed story names the resource")]
        {
            println!("{}", resource.name());
        }
        story(&resource).await;
    }
}
