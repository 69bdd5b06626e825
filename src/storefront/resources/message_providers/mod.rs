//! The message providers of a company in the API for operators.

pub mod test;

use std::mem::take;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sqlx::types::Json;
use url::Host;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Caller, Scope};
use crate::companies;
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, MessageProviderId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::sealed_values::SEND_AGAIN;
use crate::members;
use crate::resources::{Editable, Fields, Input, Member, New, PublishesEvents, Record, RecordTransaction, Resource, Unique, count_of};
use crate::storefront::message_providers::{
    MAX_OF_COMPANY, MessageChannel, MessageProviders, ProviderKind, ProviderSecret, StoredProvider, Unusable,
};
use crate::webhooks::{EndpointUrl, NoClient};

const FORBIDDEN: &str = "Only public addresses are asked, and none was found for this one.";

crate::fields! {
    /// A message provider of the company: what its texts or mails are sent by, in place of the providers of the deployment.
    pub struct MessageProviderRecord, body MessageProviderBody {
        /// What it sends: `sms` for texts, `email` for mails. Cannot be changed.
        #[filtered]
        channel: MessageChannel,
        /// The service: an account at `twilio` or `vonage`, any service that takes a text in one request (`http`), a mail server (`smtp`), or the company's own endpoint (`webhook`).
        kind: ProviderKind,
        /// Whether it sends. There is one active provider for each channel at most; without one, those of the deployment send.
        #[filtered]
        status: ProviderStatus,
        /// Whether the providers of the deployment are tried after it has failed. Otherwise the message is not sent.
        falls_back: bool,
        /// The settings of the kind: `account_sid` and `from` of `twilio`, `api_key` and `from` of `vonage`, `url` of `webhook`; `host`, `port`, `security` (`tls`, `starttls`, `none`), `user` and `from` of `smtp`; the keys of `[sms.http]` of `http`.
        settings: ProviderSettings,
    }
    by_hand {
        /// The secret: the token of `twilio`, the API secret of `vonage`, the value of `{secret}` in the settings of `http`, the password of `smtp`, and what the requests to a `webhook` are signed with (`whsec_…`). Another service, or an address with another scheme, host or port, needs it again.
        #[write_only]
        secret: Option<ProviderSecret>,
    }
    computed {
        /// Whether the provider has a secret.
        has_secret: bool = |provider| provider.secret.is_some(),
        /// Where the service reports whether a text arrived; it is told with each text. Null for kinds that report nothing, without `sms.receipts_url`, and for callers who may not change the provider. Only in the response for a single message provider.
        #[detail]
        receipts_url: Option<String>,
    }
    hidden {
        /// The secret, encrypted; see `ProviderSecret::open`.
        secret: Option<Vec<u8>>,
    }
}

/// The settings of a request, as they are stored.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct ProviderSettings(Map<String, Value>);

impl From<ProviderSettings> for Json<Map<String, Value>> {
    fn from(settings: ProviderSettings) -> Self {
        Self(settings.0)
    }
}

fn settings_schema() -> Value {
    json!({ "type": "object", "examples": [{ "url": "https://shop.example/send?to={to}&text={text}" }] })
}

crate::field_type!(ProviderSettings => Json<Map<String, Value>>, settings_schema());

crate::text_enum! {
    /// Whether a message provider sends.
    pub enum ProviderStatus, default Active {
        /// It sends the messages of the company's stores.
        Active = "active",
        /// It is as good as none, and can be tested.
        Inactive = "inactive",
    }
}

crate::request_type!(ProviderSecret, json!({ "type": "string" }), asked by Input::Secret);

impl Resource for MessageProviderRecord {
    type Id = MessageProviderId;
    type State = MessageProviders;

    const SINGULAR: &'static str = "message_provider";
    const PLURAL: &'static str = "message_providers";
    const AREA: Area = Area::Integration;
    /// Whoever sends the codes can read them, and so open every account of the company.
    const WRITING: Scope = Scope::Admin;
    const WRITING_REACHES: &'static [(Area, Scope)] = &[(Area::Customers, Scope::Admin)];
    const LEADS_TO: &'static [&'static str] = &["kind", "settings"];

    /// The token of the address is what makes the receipts of some services genuine.
    async fn details(
        providers: &MessageProviders,
        caller: &Caller,
        _: &mut Connection,
        provider: &Record<Self>,
    ) -> Result<Map<String, Value>, sqlx::Error> {
        let url = providers.receipts_url(provider.id, provider.fields.kind);
        Ok(members! { "receipts_url": url.filter(|_| caller.grant.allows_all(Self::writing())) })
    }
}

/// Publishes no events.
impl PublishesEvents for MessageProviderRecord {
    const AUDITED_AS: Option<fn(MessageProviderId) -> ChangedRecord> = Some(ChangedRecord::MessageProvider);
    const UNIQUE: &'static [Unique] = &[Unique {
        constraint: "message_providers_active",
        member: "status",
        sentence: "The company has an active provider for this channel already.",
    }];

    fn evict(providers: &MessageProviders, company: CompanyId) {
        providers.forget(company);
    }
}

impl MessageProviderRecord {
    /// Completes what a body says: the secret, which is encrypted, and the check of the whole.
    fn complete(
        &mut self,
        secret: Member<Option<ProviderSecret>>,
        transaction: &RecordTransaction<MessageProviders>,
        id: MessageProviderId,
    ) -> Result<(), Problem> {
        // Encrypting the same text twice gives different bytes, so a secret that is sent always counts as a change.
        if let Member::Sent(secret) = secret {
            let destination = self.stored(id).destination()?;
            self.secret = secret.map(|secret| secret.seal(transaction.state.key(), id, &destination));
        }
        transaction.state.build(transaction.caller.company, &self.stored(id)).map(drop).map_err(refused)
    }

    fn stored(&self, id: MessageProviderId) -> StoredProvider {
        StoredProvider {
            id,
            version: 0,
            channel: self.channel,
            kind: self.kind,
            falls_back: self.falls_back,
            settings: self.settings.clone(),
            secret: self.secret.clone(),
        }
    }
}

fn refused(error: Unusable) -> Problem {
    match error {
        Unusable::Settings(problem) => problem,
        Unusable::Secret(_) => FieldErrors::one("secret", SEND_AGAIN),
        Unusable::Client(NoClient::Forbidden(_)) => FieldErrors::one("settings.url", FORBIDDEN),
        Unusable::Client(error @ NoClient::NotBuilt(_)) => {
            tracing::error!(error = chain(&error), "the client of a message provider cannot be built");
            ProblemCode::Internal.into()
        }
    }
}

impl Editable for MessageProviderRecord {
    type Body = MessageProviderBody;

    /// Placeholders are not part of the host, so the host of the text is that of every message.
    async fn before_transaction(providers: &MessageProviders, caller: &Caller, body: &MessageProviderBody) -> Result<(), Problem> {
        let Member::Sent(settings) = &body.settings else { return Ok(()) };
        let named = |member: &str| settings.0.get(member).and_then(Value::as_str);
        if let Some(Ok(url)) = named("url").map(str::parse::<EndpointUrl>) {
            providers.clients().check(caller.company, &url).await.map_err(|_| FieldErrors::one("settings.url", FORBIDDEN))?;
        }
        if let Some(Ok(host)) = named("host").map(Host::parse) {
            providers.mail_clients().check_host(caller.company, &host).await.map_err(|_| FieldErrors::one("settings.host", FORBIDDEN))?;
        }
        Ok(())
    }

    async fn create(
        transaction: &mut RecordTransaction<MessageProviders>,
        id: MessageProviderId,
        mut body: MessageProviderBody,
    ) -> Result<New<Self>, Problem> {
        let (secret, company) = (take(&mut body.secret), transaction.caller.company);
        let mut provider = Self::created_by(body)?;
        companies::lock(transaction.conn(), company).await?;
        if count_of::<Self>(transaction.conn(), company).await? >= MAX_OF_COMPANY {
            return Err(FieldErrors::one("channel", format!("A company can have {MAX_OF_COMPANY} message providers at most.")));
        }
        provider.complete(secret, transaction, id)?;
        Ok(provider.into())
    }

    async fn change(
        transaction: &mut RecordTransaction<MessageProviders>,
        before: &Record<Self>,
        mut body: MessageProviderBody,
    ) -> Result<Self, Problem> {
        let secret = take(&mut body.secret);
        let mut provider = before.fields.changed_by(body);
        if provider.channel != before.fields.channel {
            return Err(FieldErrors::one("channel", "The channel of a provider cannot be changed. Create another provider instead."));
        }
        provider.complete(secret, transaction, before.id)?;
        Ok(provider)
    }
}
