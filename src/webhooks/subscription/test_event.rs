//! Test events: a real delivery to one subscription, so that its owner sees what will come.

use serde_json::{Map, Value};

use crate::events::names;
use crate::kernel::ids::{CompanyId, SubscriptionId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Edit, Shown};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::subscription::known_event::KnownEvent;
use crate::webhooks::subscription::{Status, Subscription, queries};

impl Webhooks {
    /// Publishes an event, `webhook.test` unless another is named, to this subscription alone, whether it wants such events or not. Its
    /// `data` is the webhook itself and its `additionalData` says that it is a test.
    pub(super) async fn send_test(
        &self,
        company: CompanyId,
        id: SubscriptionId,
        event: Option<KnownEvent>,
    ) -> Result<Shown<Delivery>, Problem> {
        let mut edit = Edit::begin(self, company).await?;
        let subscription = edit.lock::<Subscription>(id).await?;
        if subscription.fields.status == Status::Disabled {
            return Err(ProblemCode::WebhookDisabled.into());
        }
        let name = event.map_or(names::WEBHOOK_TEST, |KnownEvent(name)| name);
        let event = edit.announce(subscription, name, Map::from_iter([("test".to_owned(), Value::Bool(true))])).await?;
        let now = edit.now;
        let delivery = queries::address_event(edit.conn(), event, id, now).await?;
        let shown = edit.show::<Delivery>(delivery).await?;
        edit.commit().await?;
        Ok(shown)
    }
}
