//! `GET figures`: how many sign-ins and texts there were, and how much of their budgets the stores have used.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::companies::Authenticated;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::kernel::openapi::{OperationDoc, QueryParameters, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{FieldType, Instant, Reference};
use crate::storefront::sms_guard;
use crate::storefront::state::Storefront;
use crate::storefront::{audit, stores};

const PARAMETERS: QueryParameters = &[("period", "24h, which is the default, or 7d.")];

/// How many budgets are shown: those of which the most is used.
const BUDGETS: usize = 20;

pub fn doc() -> OperationDoc {
    let count = || json!({ "type": "integer" });
    let sign_in = object([("method", json!({ "type": "string" })), ("succeeded", count()), ("refused", count())]);
    let text = object([("status", json!({ "type": "string" })), ("rule", json!({ "type": ["string", "null"] })), ("total", count())]);
    let budget =
        object([("store", Reference::<StoreId>::schema()), ("name", json!({ "type": "string" })), ("used", count()), ("limit", count())]);
    let list = |items: Value, description: &str| json!({ "type": "array", "items": items, "description": description });
    let figures = object([
        ("since", Instant::schema()),
        ("sign_ins", list(sign_in, "By method, the most used first.")),
        ("texts", list(text, "By verdict; of a text that was not sent, the rule that decided.")),
        ("budgets", list(budget, "The stores that have used the most of texts_per_day within 24 hours, whatever the period.")),
    ]);
    OperationDoc::new("Show how many sign-ins and texts there were since the beginning of an hour a day or a week ago.")
        .taking_query(PARAMETERS)
        .answering(StatusCode::OK, object([("figures", figures)]))
        .refusing(&[ProblemCode::ParameterInvalid])
}

#[derive(Clone, Copy, Default, Deserialize)]
enum Period {
    #[default]
    #[serde(rename = "24h")]
    Day,
    #[serde(rename = "7d")]
    Week,
}

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    period: Period,
}

/// `GET figures`
pub async fn show(
    State(storefront): State<Storefront>,
    authenticated: Authenticated,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    authenticated.caller.require(Area::Customers, Scope::Read)?;
    let caller = authenticated.admitted().await?;
    let Query(Asked { period }) = asked.map_err(|error| Problem::new(ProblemCode::ParameterInvalid).detail(error.body_text()))?;
    Ok(Json(json!({ "figures": storefront.figures(&caller, period).await? })))
}

impl Storefront {
    async fn figures(&self, caller: &Caller, period: Period) -> Result<Value, Problem> {
        let (now, company) = (self.clock.now(), caller.company);
        let day = first_hour(now, TimeDelta::days(1));
        let since = match period {
            Period::Day => day,
            Period::Week => first_hour(now, TimeDelta::days(7)),
        };
        let count = |mut conn: Connection| async move {
            let sign_ins = audit::list_figures(&mut conn, company, since).await?;
            let texts = sms_guard::list_figures(&mut conn, company, since).await?;
            let sent = sms_guard::count_sent(&mut conn, company, day).await?;
            let ids: Vec<_> = sent.iter().map(|(store, _)| *store).collect();
            let budgets = stores::list_text_budgets(&mut conn, &ids).await?;
            Ok((sign_ins, texts, sent, budgets))
        };
        let (sign_ins, texts, sent, budgets) = self.pool.read(caller.who.id(), count).await?;
        let mut budgets: Vec<_> = budgets
            .into_iter()
            .map(|budget| {
                let used = sent.iter().find(|(store, _)| *store == budget.store.uuid()).map_or(0, |(_, used)| *used);
                (used, budget)
            })
            .collect();
        // By the part that is used, without dividing: a limit may be zero.
        budgets.sort_by(|(a, first), (b, second)| (b * i64::from(first.per_day)).cmp(&(a * i64::from(second.per_day))));
        budgets.truncate(BUDGETS);
        let shown = budgets
            .into_iter()
            .map(|(used, budget)| json!({ "store": budget.store, "name": budget.name, "used": used, "limit": budget.per_day }));
        Ok(json!({
            "since": timestamp(since),
            "sign_ins": sign_ins,
            "texts": texts,
            "budgets": shown.collect::<Vec<_>>(),
        }))
    }
}

/// The beginning of the first whole hour of a period that ends now.
fn first_hour(now: DateTime<Utc>, period: TimeDelta) -> DateTime<Utc> {
    let hour = TimeDelta::hours(1);
    (now - period).duration_trunc(hour).unwrap_or(now - period) + hour
}
