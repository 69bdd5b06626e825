//! `POST customers`: a company's own servers open an account.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::contact::{EmailAddress, Identity, PhoneNumber};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::json::JsonBody;
use crate::kernel::openapi::{OperationDoc, closed_object};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::request_body::Unread;
use crate::resources::{FieldType, Line, Member, Meta, RecordTransaction, Reference, Resource, Shown};
use crate::storefront::accounts::profile::PictureUrl;
use crate::storefront::customers::{self, NewCustomer, Profile};
use crate::storefront::resources::customers::CustomerRecord;
use crate::storefront::resources::customers::changing::{limited, refuse_taken};
use crate::storefront::resources::customers::external_id::ExternalId;
use crate::storefront::state::Storefront;
use crate::storefront::{stores, test_identities};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewAccount {
    store: Reference<StoreId>,
    name: Line<255>,
    email: Option<EmailAddress>,
    phone: Option<PhoneNumber>,
    /// Whether the company vouches for it.
    #[serde(default)]
    email_verified: bool,
    #[serde(default)]
    phone_verified: bool,
    title: Option<Line<255>>,
    photo_url: Option<PictureUrl>,
    #[serde(default)]
    meta: Member<Meta>,
    external_id: Option<ExternalId>,
}

pub fn doc() -> OperationDoc {
    let vouched = |contact: &str| {
        let description =
            format!("Whether the company vouches that the {contact} is the customer's. Then it opens the account with a code.");
        json!({ "type": "boolean", "default": false, "description": description })
    };
    let members = [
        ("store", Reference::<StoreId>::schema()),
        ("name", Line::<255>::schema()),
        ("email", Option::<EmailAddress>::schema()),
        ("phone", Option::<PhoneNumber>::schema()),
        ("email_verified", vouched("address")),
        ("phone_verified", vouched("number")),
        ("title", Option::<Line<255>>::schema()),
        ("photo_url", Option::<PictureUrl>::schema()),
        ("meta", Meta::schema()),
        ("external_id", Option::<ExternalId>::schema()),
    ];
    OperationDoc::new("Open an account for a customer, who is told nothing of it.")
        .explained("An email address or a phone number is required. One that the company does not vouch for is only listed, until the customer proves it.".to_owned())
        .taking_body(closed_object(&["store", "name"], members))
        .showing(StatusCode::CREATED, CustomerRecord::SINGULAR)
        .refusing(&[ProblemCode::EmailTaken, ProblemCode::PhoneTaken])
}

/// `POST customers`
pub async fn create(
    State(storefront): State<Storefront>,
    caller: Caller,
    account: Unread<JsonBody<NewAccount>>,
) -> Result<Response, Problem> {
    // Before the body is read, so that the missing scope is what the client learns first.
    CustomerRecord::require(&caller, CustomerRecord::writing())?;
    let JsonBody(account) = account.read().await?;
    if account.email_verified || account.phone_verified {
        // Who vouches for a contact decides who gets its codes and sees its orders.
        CustomerRecord::require(&caller, CustomerRecord::administering())?;
    }
    Ok(storefront.open_account(&caller, account).await?.answer(StatusCode::CREATED))
}

impl NewAccount {
    fn into_customer(self, id: CustomerId) -> Result<NewCustomer, Problem> {
        if self.email.is_none() && self.phone.is_none() {
            return Err(FieldErrors::one("email", "An email address or a phone number is required."));
        }
        Ok(NewCustomer {
            id,
            store: self.store.0,
            name: self.name.into(),
            email_is_proven: self.email_verified && self.email.is_some(),
            phone_is_proven: self.phone_verified && self.phone.is_some(),
            email: self.email,
            phone: self.phone,
            password_hash: None,
            test_identity: None,
            profile: Profile {
                title: self.title.map(Into::into),
                photo_url: self.photo_url.map(Into::into),
                meta: if let Member::Sent(meta) = self.meta { Some(limited(meta)?) } else { None },
                external_id: self.external_id.map(Into::into),
            },
        })
    }
}

impl Storefront {
    async fn open_account(&self, caller: &Caller, account: NewAccount) -> Result<Shown<CustomerRecord>, Problem> {
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let now = transaction.now;
        let newcomer = account.into_customer(CustomerId::new(now))?;
        if !stores::is_store_of(transaction.conn(), caller.company, newcomer.store).await? {
            return Err(FieldErrors::one("store", "There is no such store."));
        }
        refuse_for_tests(transaction.conn(), &newcomer).await?;
        refuse_listed(transaction.conn(), &newcomer).await?;
        let opened = customers::open_account(transaction.conn(), caller.into(), &newcomer, now).await;
        let (customer, lost) = opened.map_err(refuse_taken)?;
        audit_trail::record(transaction.conn(), caller, Action::Created, ChangedRecord::Customer(customer.id), now).await?;
        let shown = transaction.show(customer.id).await?;
        transaction.commit().await?;
        self.caches.invalidate_losers(lost);
        Ok(shown)
    }
}

/// Refuses a contact that nobody vouches for if an open account lists it: a request that is repeated must not open another one.
async fn refuse_listed(conn: &mut Connection, newcomer: &NewCustomer) -> Result<(), Problem> {
    let emails: Vec<_> = newcomer.email.iter().filter(|_| !newcomer.email_is_proven).map(EmailAddress::key).collect();
    let phones: Vec<_> = newcomer.phone.iter().filter(|_| !newcomer.phone_is_proven).map(|phone| phone.as_str().to_owned()).collect();
    match customers::list_listed(conn, newcomer.store, &emails, &phones).await? {
        (emails, _) if !emails.is_empty() => Err(ProblemCode::EmailTaken.into()),
        (_, phones) if !phones.is_empty() => Err(ProblemCode::PhoneTaken.into()),
        _ => Ok(()),
    }
}

/// Refuses the number or address of a test identity: its code is known, and must open no account of a customer.
async fn refuse_for_tests(conn: &mut Connection, newcomer: &NewCustomer) -> Result<(), Problem> {
    let email = newcomer.email.clone().map(|email| (Identity::Email(email), ProblemCode::EmailTaken));
    let phone = newcomer.phone.clone().map(|phone| (Identity::Phone(phone), ProblemCode::PhoneTaken));
    for (identity, taken) in email.into_iter().chain(phone) {
        if test_identities::find_test_identity(conn, newcomer.store, &identity.key()).await?.is_some() {
            return Err(taken.into());
        }
    }
    Ok(())
}
