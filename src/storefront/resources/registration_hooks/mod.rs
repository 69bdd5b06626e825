//! The registration hooks of stores in the API for operators.

pub mod acts;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Caller, Scope};
use crate::kernel::ids::{CompanyId, RegistrationHookId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::resources::{Editable, Fields, Instant, Link, Member, New, PublishesEvents, Record, RecordTransaction, Resource, Unique};
use crate::storefront::registration_hooks::{OnFailure, RegistrationHooks, StoredHook};
use crate::storefront::resources::stores::StoreRecord;
use crate::webhooks::{EndpointUrl, SigningSecret};

crate::fields! {
    /// A server of the company that is asked before a customer registers in a store.
    pub struct RegistrationHookRecord, body RegistrationHookBody {
        /// The store whose registrations it is asked about. Cannot be changed.
        #[filtered]
        store_id as "store": Link<StoreRecord>,
        /// The URL that questions are posted to.
        #[searched]
        url: EndpointUrl,
        /// Whether it is asked. Without being asked, everybody may register.
        #[filtered]
        status: HookStatus,
        /// What happens to a registration if the hook does not answer as it should within two seconds.
        on_failure: OnFailure,
    }
    read_only {
        /// Until when the previous signing secret signs as well.
        previous_secret_until: Option<Instant>,
    }
    hidden {
        /// The signing secret, encrypted; see `SigningSecret::open`.
        #[known as "secret"]
        sealed_secret: Vec<u8>,
        /// The previous signing secret, encrypted, while a rotation overlaps.
        #[known as "previous_secret"]
        sealed_previous_secret: Option<Vec<u8>>,
    }
}

crate::text_enum! {
    /// Whether a hook is asked.
    pub enum HookStatus, default Active {
        /// Before every registration.
        Active = "active",
        /// Never.
        Inactive = "inactive",
    }
}

impl Resource for RegistrationHookRecord {
    type Id = RegistrationHookId;
    type State = RegistrationHooks;

    const SINGULAR: &'static str = "registration_hook";
    const PLURAL: &'static str = "registration_hooks";
    const AREA: Area = Area::Integration;
    /// The hook reads everybody who registers.
    const WRITING_REACHES: &'static [(Area, Scope)] = &[(Area::Customers, Scope::Read)];
    const LEADS_TO: &'static [&'static str] = &["url"];
    const SHOWS_SECRET: bool = true;
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::EndpointForbidden];
}

/// Publishes no events.
impl PublishesEvents for RegistrationHookRecord {
    const AUDITED_AS: Option<fn(RegistrationHookId) -> ChangedRecord> = Some(ChangedRecord::RegistrationHook);
    const UNIQUE: &'static [Unique] =
        &[Unique { constraint: "registration_hooks_store", member: "store", sentence: "The store has a registration hook already." }];

    fn evict(hooks: &RegistrationHooks, company: CompanyId) {
        hooks.forget(company);
    }
}

impl RegistrationHookRecord {
    fn stored(&self, id: RegistrationHookId) -> StoredHook {
        StoredHook {
            id,
            version: 0,
            url: self.url.clone(),
            on_failure: self.on_failure,
            sealed_secret: self.sealed_secret.clone(),
            sealed_previous_secret: self.sealed_previous_secret.clone(),
            previous_secret_until: self.previous_secret_until,
        }
    }
}

impl Editable for RegistrationHookRecord {
    type Body = RegistrationHookBody;

    async fn before_transaction(hooks: &RegistrationHooks, caller: &Caller, body: &RegistrationHookBody) -> Result<(), Problem> {
        match &body.url {
            Member::Sent(url) => Ok(hooks.hooks().clients().check(caller.company, url).await?),
            Member::Missing => Ok(()),
        }
    }

    async fn create(
        transaction: &mut RecordTransaction<RegistrationHooks>,
        id: RegistrationHookId,
        body: RegistrationHookBody,
    ) -> Result<New<Self>, Problem> {
        let company = transaction.caller.company;
        let mut fields = Self::created_by(body)?;
        fields.lock_references(None, transaction.conn(), company).await?;
        let secret = SigningSecret::generate();
        fields.sealed_secret = secret.seal(transaction.state.key(), id);
        Ok(New { fields, shown_once: members! { "secret": secret.reveal() } })
    }

    async fn change(
        _: &mut RecordTransaction<RegistrationHooks>,
        before: &Record<Self>,
        body: RegistrationHookBody,
    ) -> Result<Self, Problem> {
        let after = before.fields.changed_by(body);
        if after.store_id != before.fields.store_id {
            return Err(FieldErrors::one("store", "This cannot be changed. Create another registration hook instead."));
        }
        Ok(after)
    }
}
