//! Trouble at a provider. Metrics count it, and the operators who can end it are mailed. It counts against no customer, because no proof was wrong.

use chrono::TimeDelta;
use futures::future::join_all;

use crate::kernel::error_chain::chain;
use crate::kernel::ids::CompanyId;
use crate::kernel::rate_limit::{self, Rule};
use crate::operators;
use crate::providers::identity::{Provider, VerifiedIdentity, VerifyError};
use crate::providers::mail::Letter;
use crate::storefront::metrics::OWN_PROVIDER;
use crate::storefront::state::Storefront;

/// How often the operators of a company are mailed about one provider.
const MAILS: Rule = Rule { limit: 1, window: TimeDelta::days(1) };

/// Waits for what a provider says of a proof.
pub(super) async fn verified(
    storefront: &Storefront,
    (company, provider): (CompanyId, &Provider),
    verifying: impl Future<Output = Result<VerifiedIdentity, VerifyError>> + Send,
) -> Result<VerifiedIdentity, VerifyError> {
    let verified = verifying.await;
    match &verified {
        Ok(_) | Err(VerifyError::NotConfigured | VerifyError::NotVerified(_) | VerifyError::CodeRefused(_)) => {}
        Err(VerifyError::Unavailable { .. }) => storefront.metrics.provider_failed(counted_as(storefront, provider), "unavailable"),
        Err(VerifyError::CredentialsRefused { .. }) => {
            storefront.metrics.provider_failed(counted_as(storefront, provider), "credentials_refused");
            // Boxed, because most sign-ins would carry the large future in vain.
            if let Err(error) = Box::pin(tell_operators(storefront, company, provider)).await {
                tracing::warn!(error = chain(&error), "the operators of a company could not be told that a provider refuses their app");
            }
        }
    }
    verified
}

/// The provider as metrics count it: those that only companies have are one.
fn counted_as<'a>(storefront: &Storefront, provider: &'a Provider) -> &'a str {
    if storefront.identity_providers.knows(provider) { provider.as_str() } else { OWN_PROVIDER }
}

/// Mails the operators of a company whose own app is refused: nobody else has its secret. The log tells of the deployment's apps.
async fn tell_operators(storefront: &Storefront, company: CompanyId, provider: &Provider) -> Result<(), sqlx::Error> {
    let is_own = storefront.company_providers.of(company).await?.is_own(provider);
    if !is_own || !storefront.mail.is_available() {
        return Ok(());
    }
    let (now, name) = (storefront.clock.now(), provider.neutral_name());
    let addresses = {
        let mut conn = storefront.pool.acquire().await?;
        if !rate_limit::hit(&mut conn, &format!("refused apps:{company}:{name}"), MAILS, now).await?.allowed {
            return Ok(());
        }
        operators::list_addresses(&mut conn, company).await?
    };
    let subject = format!("Nobody can sign in with {name}: it refuses your app");
    let text = format!(
        "Customers of your stores cannot sign in with {name}. The provider does not accept the id or the secret of your app: it is wrong, has \
         expired or was replaced.\n\nSet the right one in the console, under Settings, Identity providers, and try it there. Until then, these \
         sign-ins are answered with 503 provider_unavailable.\n"
    );
    let mail = storefront.mail.clone();
    let sending = async move {
        let letters = addresses.iter().map(|to| mail.send(Letter { to, subject: &subject, text: &text, html: None, code: None, at: now }));
        // The sender has logged each error.
        join_all(letters).await;
    };
    // They are told even if the client disconnects.
    storefront.lifecycle.finish(sending).await;
    Ok(())
}
