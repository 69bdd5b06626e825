//! `GET webhooks/{uuid}/figures`, `GET webhooks/figures` and `GET figures`

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRef, Query, State};
use axum::http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::companies::{Authenticated, Companies};
use crate::kernel::database::Connection;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::openapi::{OperationDoc, QueryParameters, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::members;
use crate::resources::{Extension, FieldType, Instant, PathId, Reference, ResourceState};
use crate::webhooks::Webhooks;
use crate::webhooks::engine::figures::{Condition, list_expiring, list_failing};
use crate::webhooks::figures::{self, EXPIRES_SOON, Figures, Period, condition};

/// Maximum number of webhooks in one request.
const MAX_WEBHOOKS: usize = 100;

const PERIOD: (&str, &str) =
    ("period", "24h (by the hour, the default), 7d (by six hours) or 30d (by the day). It ends with the step under way.");
const OF_ONE: QueryParameters = &[PERIOD];
const OF_SEVERAL: QueryParameters = &[
    ("ids", "The webhooks, separated by commas, at most 100. Unknown ones are left out. Without it: those of the condition."),
    (
        "condition",
        "Without ids: failing (the default; longest first), or certificate_expiring, those that are not disabled and whose certificate \
         ends within 21 days or has ended, soonest first.",
    ),
    PERIOD,
];

pub fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    let waiting = json!({
        "type": "integer", "description": "Deliveries that wait for the endpoint, those that a pause holds among them; counted up to 1000.",
    });
    let own = [("webhook_id", Reference::<SubscriptionId>::schema()), ("url", json!({ "type": "string" })), ("waiting", waiting)];
    let webhook = || with_counts(None, condition::schema().into_iter().chain(own.clone()));
    let several = json!({ "type": "array", "items": webhook() });
    let events = ("events", json!({ "type": "integer" }));
    let of_company = with_counts(Some(events.clone()), [events]);
    let doc = |sentence, query, figures| {
        OperationDoc::new(sentence).taking_query(query).answering(StatusCode::OK, object([("figures", figures)]))
    };
    Extension::new("developers")
        .route(Method::GET, "/figures", doc("Count events, attempts, failures and durations of the company.", OF_ONE, of_company), company)
        .route(
            Method::GET,
            "/webhooks/figures",
            doc("Count attempts, failures and durations of several webhooks.", OF_SEVERAL, several),
            several_webhooks,
        )
        .route(
            Method::GET,
            "/webhooks/{uuid}/figures",
            doc("Count attempts, failures and durations of a webhook.", OF_ONE, webhook()),
            one_webhook,
        )
}

/// Figures with `more`; each step of their series has `more_of_step`.
fn with_counts(more_of_step: Option<(&'static str, Value)>, more: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let number = json!({ "type": "integer" });
    let maybe = json!({ "type": ["number", "null"] });
    let counts = [
        ("attempts", number.clone()),
        ("succeeded", number.clone()),
        ("failed", number.clone()),
        ("success_rate", maybe.clone()),
        ("p50_ms", maybe.clone()),
        ("p95_ms", maybe),
    ];
    let step = object(counts.clone().into_iter().chain([("at", Instant::schema())]).chain(more_of_step));
    let bucket =
        object([("from_ms", number.clone()), ("to_ms", number.clone()), ("succeeded", number.clone()), ("failed", number.clone())]);
    let series = json!({ "type": "array", "items": step });
    let latency = json!({ "type": "array", "items": bucket });
    let period = [("period", Period::schema()), ("step_hours", number), ("series", series), ("latency", latency)];
    object(period.into_iter().chain(counts).chain(more))
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    period: Period,
}

#[derive(Deserialize)]
struct AskedOfSeveral {
    ids: Option<String>,
    #[serde(default)]
    condition: Wanted,
    #[serde(default)]
    period: Period,
}

/// Which webhooks are counted if none are named.
#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    #[default]
    Failing,
    CertificateExpiring,
}

fn invalid(reason: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::ParameterInvalid).detail(reason.into())
}

async fn company(
    State(webhooks): State<Webhooks>,
    authenticated: Authenticated,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    authenticated.caller.require(Area::Traffic, Scope::Read)?;
    let caller = authenticated.admitted().await?;
    let Query(Asked { period }) = asked.map_err(|error| invalid(error.body_text()))?;
    let (company, now) = (caller.company, webhooks.clock.now());
    let count = |mut conn: Connection| async move { figures::of_company(&mut conn, company, period, now).await };
    let figures = webhooks.pool().read(caller.who.id(), count).await?;
    Ok(Json(json!({ "figures": figures.present() })))
}

async fn one_webhook(
    State(webhooks): State<Webhooks>,
    authenticated: Authenticated,
    PathId(id): PathId<SubscriptionId>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    authenticated.caller.require_within_owner(Area::Integration, Scope::Read)?;
    let caller = authenticated.admitted().await?;
    let Query(Asked { period }) = asked.map_err(|error| invalid(error.body_text()))?;
    let found = webhooks.figures_of(&caller, &[id], period).await?.into_iter().next().ok_or(ProblemCode::RecordNotFound)?;
    Ok(Json(json!({ "figures": found })))
}

async fn several_webhooks(
    State(webhooks): State<Webhooks>,
    authenticated: Authenticated,
    asked: Result<Query<AskedOfSeveral>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    authenticated.caller.require_within_owner(Area::Integration, Scope::Read)?;
    let caller = authenticated.admitted().await?;
    let Query(AskedOfSeveral { ids, condition, period }) = asked.map_err(|error| invalid(error.body_text()))?;
    let ids: Vec<SubscriptionId> = match ids {
        Some(ids) => read_ids(&ids)?,
        None => webhooks.in_condition(&caller, condition).await?,
    };
    Ok(Json(json!({ "figures": webhooks.figures_of(&caller, &ids, period).await? })))
}

fn read_ids(ids: &str) -> Result<Vec<SubscriptionId>, Problem> {
    let ids: Vec<_> = ids
        .split(',')
        .filter(|id| !id.is_empty())
        .map(|id| id.parse().map_err(|_| invalid("The parameter ids has something that is no id of a webhook.")))
        .collect::<Result<_, _>>()?;
    if ids.len() > MAX_WEBHOOKS {
        return Err(invalid(format!("The parameter ids has more than {MAX_WEBHOOKS} webhooks.")));
    }
    Ok(ids)
}

impl Webhooks {
    /// The webhooks in this condition, at most [`MAX_WEBHOOKS`].
    async fn in_condition(&self, caller: &Caller, wanted: Wanted) -> Result<Vec<SubscriptionId>, sqlx::Error> {
        let (owner, limit) = (caller.grant.owner.as_ref(), MAX_WEBHOOKS as i64);
        let (mut conn, now) = (self.pool().acquire().await?, self.clock.now());
        match wanted {
            Wanted::Failing => list_failing(&mut conn, caller.company, owner, limit).await,
            Wanted::CertificateExpiring => {
                list_expiring(&mut conn, caller.company, owner, (now - EXPIRES_SOON, now + EXPIRES_SOON), limit).await
            }
        }
    }

    /// The figures of those of the webhooks that there are, and how each of them stands.
    async fn figures_of(&self, caller: &Caller, ids: &[SubscriptionId], period: Period) -> Result<Vec<Value>, Problem> {
        let now = self.clock.now();
        let owner = caller.grant.owner.as_ref();
        let count = |mut conn: Connection| async move { figures::of_webhooks(&mut conn, caller.company, owner, ids, period, now).await };
        let found = self.pool().read(caller.who.id(), count).await?;
        let present = |(condition, figures): (Condition, Figures)| {
            let mut members = members! { "webhook_id": condition.subscription, "url": condition.url };
            members.extend(condition.present(now));
            members.extend(members! { "waiting": condition.waiting });
            members.extend(figures.present());
            Value::Object(members)
        };
        Ok(found.into_iter().map(present).collect())
    }
}
