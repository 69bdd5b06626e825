//! The webhook as a resource of `developers/int/v1`.

use std::mem::take;

use serde_json::{Map, Value};

use crate::callers::{Area, Caller, Owner, Scope};
use crate::companies;
use crate::kernel::crypto::CannotOpen;
use crate::kernel::database::Connection;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::sealed_values::SEND_AGAIN;
use crate::members;
use crate::resources::{Editable, Fields, Member, New, Owned, Record, RecordTransaction, Resource};
use crate::webhooks::endpoint::{ExtraHeaders, SigningSecret};
use crate::webhooks::engine::whereabouts;
use crate::webhooks::subscription::{DisabledReason, Status, Subscription, SubscriptionBody, queries};
use crate::webhooks::{Webhooks, health};

impl Resource for Subscription {
    type Id = SubscriptionId;
    type State = Webhooks;

    const SINGULAR: &'static str = "webhook";
    const PLURAL: &'static str = "webhooks";
    const AREA: Area = Area::Integration;
    const TABLE: &'static str = "subscriptions";
    const OWNED: Option<Owned> = Some(Owned::Itself);
    const LEADS_TO: &'static [&'static str] = &["url", "events"];
    const SHOWS_SECRET: bool = true;
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::EndpointForbidden];

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref()
    }

    /// It reads what its events are about. The webhook of an owner gets only events for this owner, which the company has chosen to publish, so
    /// that reading events is enough.
    fn reaches(&self, webhooks: &Webhooks) -> Vec<(Area, Scope)> {
        match self.owner {
            Some(_) => vec![(Area::Traffic, Scope::Read)],
            None => self.events.areas(&webhooks.catalogue).map(|area| (area, Scope::Read)).collect(),
        }
    }

    async fn details(
        webhooks: &Webhooks,
        _: &Caller,
        conn: &mut Connection,
        record: &Record<Self>,
    ) -> Result<Map<String, Value>, sqlx::Error> {
        let health = health::member(conn, record.company, record.id, webhooks.clock.now()).await?;
        Ok(members! { "health": health })
    }
}

impl Subscription {
    /// Completes what a body says: the headers, which are encrypted, and what follows from a changed status. `before` is what was stored.
    fn complete(
        &mut self,
        before: Option<&Self>,
        headers: Member<ExtraHeaders>,
        id: SubscriptionId,
        transaction: &RecordTransaction<Webhooks>,
    ) -> Result<(), Problem> {
        let key = &transaction.state.key;
        let stays = before.is_some_and(|before| before.url.destination() == self.url.destination());
        match headers {
            Member::Sent(headers) => self.set_headers(headers, key, id)?,
            // Nothing changes about the headers, whether they can be decrypted or not.
            Member::Missing if stays => {}
            Member::Missing => drop(self.open_headers(key, id).map_err(|CannotOpen| FieldErrors::one("headers", SEND_AGAIN))?),
        }
        match std::mem::replace(&mut self.status, before.map_or(Status::Enabled, |before| before.status)) {
            Status::Enabled => self.enable(),
            Status::Paused => self.pause(transaction.now),
            Status::Disabled => self.disable(DisabledReason::Requested, transaction.now),
        }
        Ok(())
    }
}

/// How many webhooks of one owner there can be before a caller who is restricted to it creates no more. The company itself may.
const MAX_OF_OWNER: i64 = 50;

/// Refuses a caller who is restricted to one owner if the owner has enough webhooks. Waits for others who create one at the same time.
async fn leave_room(transaction: &mut RecordTransaction<Webhooks>) -> Result<(), Problem> {
    let company = transaction.caller.company;
    let Some(owner) = transaction.caller.grant.owner.clone() else { return Ok(()) };
    companies::lock(transaction.conn(), company).await?;
    if queries::count_of_owner(transaction.conn(), company, &owner).await? < MAX_OF_OWNER {
        return Ok(());
    }
    Err(FieldErrors::one("url", format!("There are {MAX_OF_OWNER} webhooks, and there can be no more. Delete one that is not needed.")))
}

/// Refuses a caller who moves a webhook that got events which the caller does not reach, although it does not want them any more: those that wait,
/// and those that are repeated, would be sent to the new URL.
async fn must_reach_what_it_got(transaction: &mut RecordTransaction<Webhooks>, webhook: &Record<Subscription>) -> Result<(), Problem> {
    let beyond = match webhook.fields.owner {
        Some(_) => Vec::new(),
        None => transaction.state.catalogue.names_beyond(&transaction.caller.grant),
    };
    if beyond.is_empty() || !whereabouts::has_any_of(transaction.conn(), webhook.id, &beyond).await? {
        return Ok(());
    }
    let detail = "The webhook got events that you do not reach, and they can still be sent. Create another webhook instead.";
    Err(Problem::new(ProblemCode::ScopeMissing).detail(detail))
}

/// The owner of a new webhook. A caller who is restricted to one owner creates webhooks of that owner alone.
fn owner_of_new(caller: &Caller, named: Option<Owner>) -> Result<Option<Owner>, Problem> {
    match (&caller.grant.owner, named) {
        (None, named) => Ok(named),
        (Some(own), None) => Ok(Some(own.clone())),
        (Some(own), Some(named)) if *own == named => Ok(Some(named)),
        (Some(_), Some(_)) => Err(FieldErrors::one("owner", "This portal link creates webhooks of its own owner alone.")),
    }
}

impl Editable for Subscription {
    type Body = SubscriptionBody;

    async fn before_transaction(webhooks: &Webhooks, caller: &Caller, body: &SubscriptionBody) -> Result<(), Problem> {
        if let Member::Sent(events) = &body.events {
            events.check(&webhooks.catalogue).map_err(|unknown| FieldErrors::one("events", unknown.to_string()))?;
        }
        match &body.url {
            Member::Sent(url) => Ok(webhooks.delivering.targets.check(caller.company, url).await?),
            Member::Missing => Ok(()),
        }
    }

    async fn create(
        transaction: &mut RecordTransaction<Webhooks>,
        id: SubscriptionId,
        mut body: SubscriptionBody,
    ) -> Result<New<Self>, Problem> {
        let headers = take(&mut body.headers);
        let mut fields = Self::created_by(body)?;
        fields.owner = owner_of_new(&transaction.caller, fields.owner)?;
        leave_room(transaction).await?;
        let secret = SigningSecret::generate();
        fields.sealed_secret = secret.seal(&transaction.state.key, id);
        fields.complete(None, headers, id, transaction)?;
        Ok(New { fields, shown_once: members! { "secret": secret.reveal() } })
    }

    async fn change(
        transaction: &mut RecordTransaction<Webhooks>,
        before: &Record<Self>,
        mut body: SubscriptionBody,
    ) -> Result<Self, Problem> {
        let headers = take(&mut body.headers);
        let mut fields = before.fields.changed_by(body);
        if fields.owner != before.fields.owner {
            // Its deliveries are in the log, and would be shown to the new owner.
            return Err(FieldErrors::one("owner", "The owner of a webhook cannot be changed. Create another webhook instead."));
        }
        if fields.url != before.fields.url {
            must_reach_what_it_got(transaction, before).await?;
        }
        fields.complete(Some(&before.fields), headers, before.id, transaction)?;
        Ok(fields)
    }
}
