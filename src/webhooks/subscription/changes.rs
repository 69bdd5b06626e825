//! Enabling, pausing, disabling and rotating: changes beyond setting the fields of a body.

use chrono::{DateTime, TimeDelta, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{RecordTransaction, Resource, Shown};
use crate::webhooks::Webhooks;
use crate::webhooks::endpoint::SigningSecret;
use crate::webhooks::subscription::{DisabledReason, Status, Subscription};

impl Webhooks {
    /// Enables a subscription from now on. One that was paused is resumed.
    pub async fn enable(&self, caller: &Caller, id: SubscriptionId) -> Result<Shown<Subscription>, Problem> {
        self.change(caller, id, |subscription, _| subscription.enable()).await
    }

    /// Holds all deliveries of a subscription, those of coming events too, until it is resumed. A delivery in flight may still arrive.
    pub async fn pause(&self, caller: &Caller, id: SubscriptionId) -> Result<Shown<Subscription>, Problem> {
        self.change(caller, id, Subscription::pause).await
    }

    /// Sends what was held while a subscription was paused. Only enabling begins anew with one that is disabled.
    pub async fn resume(&self, caller: &Caller, id: SubscriptionId) -> Result<Shown<Subscription>, Problem> {
        self.change_if(caller, id, |subscription, _| match subscription.status {
            Status::Disabled => Err(ProblemCode::WebhookDisabled.into()),
            Status::Enabled | Status::Paused => {
                subscription.enable();
                Ok(())
            }
        })
        .await
    }

    /// Disables a subscription on request and cancels its open deliveries. A delivery in flight may still arrive.
    pub async fn disable(&self, caller: &Caller, id: SubscriptionId) -> Result<Shown<Subscription>, Problem> {
        self.change(caller, id, |subscription, now| subscription.disable(DisabledReason::Requested, now)).await
    }

    /// Gives a subscription a new secret and returns it. The old secret signs in parallel for `overlap`.
    pub async fn rotate_secret(
        &self,
        caller: &Caller,
        id: SubscriptionId,
        overlap: TimeDelta,
    ) -> Result<(Shown<Subscription>, SigningSecret), Problem> {
        // The new secret is shown.
        caller.require_proof()?;
        let secret = SigningSecret::generate();
        let sealed = secret.seal(&self.key, id);
        let shown = self.change(caller, id, |subscription, now| subscription.rotate(sealed, overlap, now)).await?;
        Ok((shown, secret))
    }

    /// Returns a subscription with its secret, for a caller that has lost it and may do everything. While a rotation overlaps, this is
    /// the new secret.
    pub async fn reveal_secret(&self, caller: &Caller, id: SubscriptionId) -> Result<(Shown<Subscription>, SigningSecret), Problem> {
        Subscription::require(caller, Subscription::administering())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let shown = transaction.show::<Subscription>(id).await?;
        let secret = SigningSecret::open(&self.key, id, &shown.record.fields.sealed_secret).map_err(|error| {
            tracing::error!(subscription = %id, error = chain(&error), "a signing secret cannot be decrypted");
            ProblemCode::Internal
        })?;
        let now = transaction.now;
        audit_trail::record(transaction.conn(), caller, Action::Shown, ChangedRecord::Webhook(id), now).await?;
        transaction.commit().await?;
        Ok((shown, secret))
    }

    async fn change(
        &self,
        caller: &Caller,
        id: SubscriptionId,
        change: impl FnOnce(&mut Subscription, DateTime<Utc>),
    ) -> Result<Shown<Subscription>, Problem> {
        self.change_if(caller, id, |subscription, now| {
            change(subscription, now);
            Ok(())
        })
        .await
    }

    async fn change_if(
        &self,
        caller: &Caller,
        id: SubscriptionId,
        change: impl FnOnce(&mut Subscription, DateTime<Utc>) -> Result<(), Problem>,
    ) -> Result<Shown<Subscription>, Problem> {
        Subscription::require(caller, Subscription::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let before = transaction.lock::<Subscription>(id).await?;
        let mut after = before.fields.clone();
        change(&mut after, transaction.now)?;
        let shown = transaction.update(before, after).await?;
        transaction.commit().await?;
        Ok(shown)
    }
}
