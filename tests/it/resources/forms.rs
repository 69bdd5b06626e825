//! The descriptions of forms follow from the declared fields.

use portico::fleet::drivers::Driver;
use portico::fleet::issues::Issue;
use portico::fleet::orders::Order;
use portico::resources::{Columns, FormField, Input, form};
use portico::webhooks::Subscription;

fn field(form: &[FormField], name: &str) -> FormField {
    form.iter().find(|field| field.name == name).unwrap_or_else(|| panic!("the form has {name}")).clone()
}

#[test]
fn a_form_asks_for_what_requests_may_contain() {
    let driver = form(&Driver::field_docs());
    let name = field(&driver, "name");
    assert_eq!((&*name.label, &*name.help, &name.input, name.required), ("Name", "The name.", &Input::Line, true));
    let license = field(&driver, "license_number");
    assert_eq!((&*license.label, &*license.help, license.required), ("License number", "The number of the driving licence.", false));
    assert_eq!(field(&driver, "status").input, Input::Choice(vec!["active".to_owned(), "inactive".to_owned()]));
    assert_eq!(field(&driver, "fleet").input, Input::Record("fleet"));
    assert_eq!((field(&driver, "online").input, field(&driver, "online").required), (Input::Switch, false));
    assert_eq!(field(&driver, "latitude").input, Input::Number);
    assert_eq!(field(&driver, "meta").input, Input::Object);
    assert!(driver.iter().all(|field| field.name != "location_updated_at" && !field.is_secret()));

    let issue = form(&Issue::field_docs());
    assert_eq!((field(&issue, "report").input, field(&issue, "report").required), (Input::Text, true));
    let order = form(&Order::field_docs());
    assert_eq!(field(&order, "driver").input, Input::Record("driver"));
    assert!(order.iter().all(|field| field.name != "driver_assigned"), "the driver is asked for once");
    let webhook = form(&Subscription::field_docs());
    assert_eq!((field(&webhook, "events").input, field(&webhook, "timeout").input), (Input::Events, Input::Integer));
}
