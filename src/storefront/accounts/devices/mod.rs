//! Push devices, registered after sign-in. Notifications go to the customer who registered the device last, until the session ends in which
//! that was ([`ending`](crate::storefront::accounts::ending)). The push token is encrypted under the application key.

mod push_token;
mod queries;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::kernel::client_address::ClientAddress;
use crate::kernel::crypto::sha256;
use crate::kernel::database::repeated;
use crate::kernel::ids::DeviceId;
use crate::kernel::json::JsonBody;
use crate::kernel::openapi::object;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::devices::push_token::SealedToken;
use crate::storefront::customers::{self, AddedDevice, SecurityEvent};
use crate::storefront::routes::{self, Body, Routes, Sent, body, describe};
use crate::storefront::state::Storefront;
use crate::storefront::tokens;

pub use push_token::SEALED;
pub use queries::{KnownDevice, forget_devices, forget_of_sessions, forget_others, list_devices, list_known, sweep_devices};

const PLATFORMS: [&str; 3] = ["ios", "android", "web"];
/// The maximum length of a token, in characters.
const TOKEN_MAX_LEN: usize = 4_096;
/// The devices of one customer. When there is one more, the one goes that was registered longest ago.
const DEVICES: i64 = 20;

pub fn routes() -> Routes<Storefront> {
    let registered = object([("status", json!({ "const": "ok" })), ("device", DeviceId::schema())]);
    let registering = describe("Register a device for the customer's notifications.", registered).taking_body(DeviceRequest::schema());
    let platforms = json!({ "enum": PLATFORMS.into_iter().map(Some).chain([None]).collect::<Vec<_>>() });
    let registering = registering.restricting("platform", platforms.clone()).restricting("os", platforms);
    let registering = registering.needing_one_of(&["platform", "os"]);
    let registering = registering.restricting("token", json!({ "minLength": 1, "maxLength": TOKEN_MAX_LEN }));
    let unregistering = describe("Unregister a device.", routes::done()).refusing(&[ProblemCode::RecordNotFound]);
    let unregistering = unregistering.taking_body(DeviceRemoval::schema()).needing_one_of(&["device", "token"]);
    let routes = Routes::none().post("/customers/register-device", registering, register);
    routes.post("/customers/unregister-device", unregistering, unregister)
}

body! {
    /// `POST customers/register-device`
    struct DeviceRequest {
        /// The platform: `ios`, `android` or `web`. Either this field or `os` is required.
        platform: Option<String>,
        /// Another name of `platform`.
        os: Option<String>,
        /// The device's token at the push service: up to 4,096 characters.
        token: String,
    }
}

/// `POST customers/register-device`: a token belongs to the customer who registered it last.
async fn register(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    address: ClientAddress,
    JsonBody(request): JsonBody<DeviceRequest>,
) -> Result<Json<Value>, Problem> {
    let (platform, token) = request.parse()?;
    let now = storefront.clock.now();
    let device = queries::Device {
        id: DeviceId::new(now),
        store: caller.store.id,
        customer: caller.customer.id,
        session: caller.session,
        platform,
        token: SealedToken::new(&storefront.application_key, &token),
    };
    let id = repeated(|| save(&storefront, &caller, &device, address, now)).await?;
    Ok(Json(json!({ "status": "ok", "device": id })))
}

async fn save(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    device: &queries::Device,
    address: ClientAddress,
    now: DateTime<Utc>,
) -> Result<DeviceId, Problem> {
    let mut tx = storefront.pool.begin().await?;
    // The session may have come from the cache, and may have ended or its account been closed since. The locks make a parallel ending either
    // come before or delete the device.
    // Exclusive, so that parallel registrations see each other's devices when they are counted.
    customers::lock_customer(&mut tx, device.customer).await?.ok_or(ProblemCode::CustomerTokenInvalid)?;
    if !tokens::lock_session_shared(&mut tx, device.session).await? {
        return Err(ProblemCode::CustomerTokenInvalid.into());
    }
    let (id, is_added) = queries::upsert_device(&mut tx, device, now).await?;
    queries::forget_crowd(&mut tx, device.customer, DEVICES).await?;
    if is_added {
        let pushed = AddedDevice::Push { id, platform: &device.platform };
        let added = SecurityEvent::DeviceAdded { device: pushed, session: device.session, address };
        customers::publish_security(&mut tx, (caller.origin(), device.store), device.customer, [added], now).await?;
    }
    tx.commit().await?;
    Ok(id)
}

impl DeviceRequest {
    fn parse(self) -> Result<(String, String), Problem> {
        let mut errors = FieldErrors::default();
        if self.platform.is_some() && self.os.is_some() {
            errors.add("platform", Sentence::new("{} must not be sent under both of its names.").with("platform"));
        }
        let platform = errors.require("platform", self.platform.or(self.os)).unwrap_or_default().trim().to_lowercase();
        if !platform.is_empty() && !PLATFORMS.contains(&platform.as_str()) {
            errors.add("platform", "The platform must be ios, android or web.");
        }
        if self.token.trim().is_empty() || self.token.chars().count() > TOKEN_MAX_LEN {
            errors.add("token", Sentence::new("The token must have 1 to {} characters.").with(TOKEN_MAX_LEN));
        }
        errors.finish()?;
        Ok((platform, self.token))
    }
}

body! {
    /// `POST customers/unregister-device`
    struct DeviceRemoval {
        /// The id that `register-device` returned. Either this field or `token` is required.
        device: Option<DeviceId>,
        /// The device's token at the push service.
        token: Option<String>,
    }
}

/// `POST customers/unregister-device`
async fn unregister(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    JsonBody(request): JsonBody<DeviceRemoval>,
) -> Result<Json<Value>, Problem> {
    if request.device.is_none() && request.token.is_none() {
        return Err(FieldErrors::one("device", "The device or its token is required."));
    }
    let digest = request.token.map(sha256);
    let mut conn = storefront.pool.acquire().await?;
    match queries::delete_device(&mut conn, caller.customer.id, request.device, digest).await? {
        true => Ok(Json(json!({ "status": "ok" }))),
        false => Err(ProblemCode::RecordNotFound.into()),
    }
}
