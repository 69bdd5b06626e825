//! How long the certificate of an endpoint is valid, in words.

use chrono::{DateTime, TimeDelta, Utc};
use url::Url;

use crate::console::shell::Ui;
use crate::webhooks::EXPIRES_SOON;

/// What somebody has to know of a certificate that ends soon or has ended; `None` if it is valid for long enough.
pub fn expiring_soon(ui: &Ui, url: &str, expires_at: DateTime<Utc>) -> Option<String> {
    let left = expires_at - ui.now();
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| url.to_owned());
    if left >= EXPIRES_SOON {
        return None;
    }
    Some(match left.num_days() {
        _ if left <= TimeDelta::zero() => ui.say("The certificate of {} has expired", [host]),
        0 => ui.say("The certificate of {} ends in less than a day", [host]),
        1 => ui.say("The certificate of {} ends in one day", [host]),
        days => ui.say("The certificate of {} ends in {} days", [host, days.to_string()]),
    })
}
