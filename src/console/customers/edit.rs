//! The page that changes what is known of a customer. Contacts are not on it, because they are changed by who proves them.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::callers::{Area, Scope};
use crate::console::Console;
use crate::console::customers::API;
use crate::console::customers::acts::to_customer;
use crate::console::customers::head::Customer;
use crate::console::session::{PostedForm, RecordId, Visitor};
use crate::console::shell::{Page, PageError, Ui};

#[derive(Template)]
#[template(path = "customers/edit.html")]
struct EditPage {
    ui: Ui,
    customer: Customer,
    entered: Entered,
    /// Why it was not saved.
    refusal: Option<String>,
}

/// What stands in the fields.
struct Entered {
    name: String,
    title: String,
    external_id: String,
}

impl Entered {
    fn of(customer: &Customer) -> Self {
        Self {
            name: customer.name.clone(),
            title: customer.form_of_address.clone().unwrap_or_default(),
            external_id: customer.external_id.clone().unwrap_or_default(),
        }
    }

    fn read(form: &PostedForm) -> Self {
        let field = |name| form.get(name).unwrap_or_default().to_owned();
        Self { name: field("name"), title: field("title"), external_id: field("external_id") }
    }

    /// An empty field takes the value away, but the name.
    fn changes(&self) -> Value {
        let or_none = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
        json!({ "name": self.name, "title": or_none(&self.title), "external_id": or_none(&self.external_id) })
    }
}

/// `GET /console/customers/{id}/edit`
pub(super) async fn show(State(console): State<Console>, visitor: Visitor, RecordId(id): RecordId) -> Result<Response, PageError> {
    let Visitor { caller, ui, .. } = visitor;
    let customer = Customer::find(&console, &caller, &id).await?;
    if !caller.grant.allows(Area::Customers, Scope::Write) || !customer.is_open() {
        return Err(PageError::NOT_FOUND);
    }
    let entered = Entered::of(&customer);
    Ok(Page(EditPage { ui, customer, entered, refusal: None }).into_response())
}

/// `POST /console/customers/{id}/edit`. What the API refuses is told on the page, with what was entered.
pub(super) async fn save(State(console): State<Console>, RecordId(id): RecordId, form: PostedForm) -> Result<Response, PageError> {
    let entered = Entered::read(&form);
    let Visitor { caller, ui, .. } = form.visitor;
    match console.api.put(&caller, &format!("{API}/{id}"), &entered.changes(), None).await {
        Ok(_) => Ok(to_customer(&id, "saved")),
        Err(problem) if matches!(problem.code().status().as_u16(), 409 | 422) => {
            let customer = Customer::find(&console, &caller, &id).await?;
            let (status, refusal) = (problem.code().status(), Some(problem.to_string()));
            Ok((status, Page(EditPage { ui, customer, entered, refusal })).into_response())
        }
        Err(problem) => Err(problem.into()),
    }
}
