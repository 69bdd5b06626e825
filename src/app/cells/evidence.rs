//! What a request brings along that one cell knows, and no other.

use axum::body::Bytes;
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use url::form_urlencoded;

use crate::app::AppState;
use crate::companies::{self, ApiKey, Standing};
use crate::contact::EmailAddress;
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::kernel::problem::Problem;
use crate::operators::OneTimeLink;
use crate::portal::LinkKey;
use crate::storefront::StoreKey;

/// What a cell knows. Keys and links are digests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Evidence {
    ApiKey([u8; 32]),
    StoreKey([u8; 32]),
    /// The address of an operator who signs in, in its one spelling. Operators of several companies may have it.
    Operator(String),
    /// A link in a mail to an operator.
    OperatorLink([u8; 32]),
    PortalLink([u8; 32]),
    Gateway(GatewayId),
    Company(CompanyId),
}

/// Whether the body of a POST to this path has to be read to know what a request brings along.
pub(super) fn is_in_the_body(path: &str) -> bool {
    let pages = ["/console/sign-in", "/console/sign-in/once", "/console/forgot", "/console/password", "/portal/open", "/socket/authorize"];
    pages.contains(&path)
}

/// What the head of a request brings along.
pub(super) fn of_head(parts: &Parts) -> Option<Evidence> {
    if let Some(id) = parts.uri.path().strip_prefix("/webhooks/") {
        return id.parse().ok().map(Evidence::Gateway);
    }
    let bearer = companies::bearer(&parts.headers)?;
    let store = || StoreKey::parse(bearer).map(|key| Evidence::StoreKey(key.digest()));
    ApiKey::parse(bearer).map(|key| Evidence::ApiKey(key.digest())).or_else(store)
}

/// What the body of a request to this path brings along ([`is_in_the_body`]).
pub(super) fn of_body(path: &str, body: &Bytes) -> Option<Evidence> {
    if path == "/socket/authorize" {
        return company_of_token(body).map(Evidence::Company);
    }
    let field = |name: &str| form_urlencoded::parse(body).find(|(found, _)| found == name).map(|(_, value)| value.trim().to_owned());
    match path {
        "/console/sign-in" | "/console/forgot" => {
            let email: EmailAddress = field("email")?.parse().ok()?;
            Some(Evidence::Operator(email.key().to_owned()))
        }
        "/portal/open" => Some(Evidence::PortalLink(LinkKey::claimed(&field("key")?).digest())),
        _ => Some(Evidence::OperatorLink(OneTimeLink::claimed(&field("key")?).digest())),
    }
}

/// The company that a socket token names. Nothing is verified here: the cell of that company does.
fn company_of_token(question: &Bytes) -> Option<CompanyId> {
    let question: Value = serde_json::from_slice(question).ok()?;
    let claims = URL_SAFE_NO_PAD.decode(question["token"].as_str()?.split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Value>(&claims).ok()?["cid"].as_str()?.parse().ok()
}

impl Evidence {
    /// Whether a cell serves the company that this belongs to. Keys are looked for in the cache that requests with them use.
    ///
    /// # Errors
    /// The cell cannot tell, because its database is away or too busy.
    pub(super) async fn standing(&self, cell: &AppState) -> Result<Standing, Problem> {
        let known = match self {
            Self::ApiKey(key) => return cell.companies.standing_of_key(*key).await,
            Self::StoreKey(key) => return cell.storefront.standing_of_key(*key).await,
            Self::Gateway(gateway) => return cell.gateways.standing(*gateway).await,
            Self::Company(company) => cell.companies.knows(*company).await?,
            Self::Operator(email) => cell.operators.knows(email).await?,
            Self::OperatorLink(link) => cell.operators.knows_link(link).await?,
            Self::PortalLink(link) => cell.portal.knows_link(link).await?,
        };
        // Whether the company is served, what is behind them asks.
        Ok(if known { Standing::Open } else { Standing::Gone })
    }

    /// Whether a cell knows this.
    ///
    /// # Errors
    /// As of [`Self::standing`].
    pub(super) async fn is_known(&self, cell: &AppState) -> Result<bool, Problem> {
        Ok(self.standing(cell).await? != Standing::Gone)
    }
}
