//! The numbers of a period, as the API counts them.

use serde::Deserialize;

use crate::callers::{Area, Caller, Scope};
use crate::console::Console;
use crate::console::addresses::with_query;
use crate::console::shell::PageError;

#[derive(Deserialize)]
struct One {
    figures: Counted,
}

/// The numbers of a period.
#[derive(Deserialize)]
pub(super) struct Counted {
    pub(super) sign_ins: Vec<Method>,
    pub(super) texts: Vec<Verdict>,
    pub(super) budgets: Vec<Budget>,
}

#[derive(Deserialize)]
pub(super) struct Method {
    pub(super) method: String,
    pub(super) succeeded: i64,
    pub(super) refused: i64,
}

#[derive(Deserialize)]
pub(super) struct Verdict {
    pub(super) status: String,
    pub(super) rule: Option<String>,
    pub(super) total: i64,
}

#[derive(Deserialize)]
pub(super) struct Budget {
    pub(super) store: String,
    pub(super) name: String,
    pub(super) used: i64,
    pub(super) limit: i64,
}

impl Counted {
    /// `None` for who may not see customers.
    pub(super) async fn read(console: &Console, caller: &Caller, period: &str) -> Result<Option<Self>, PageError> {
        if !caller.grant.allows(Area::Customers, Scope::Read) {
            return Ok(None);
        }
        let path = with_query("/storefront/int/v1/figures", [("period", period)]);
        Ok(Some(console.api.read::<One>(caller, &path).await?.figures))
    }
}

impl Verdict {
    /// The verdict in a sentence; rules that a shop sets have the names of its settings.
    pub(super) fn sentence(&self) -> &'static str {
        match (self.status.as_str(), self.rule.as_deref()) {
            ("sent", _) => "Sent",
            (_, Some("texts_paused")) => "Refused: texts are paused",
            (_, Some("pumping")) => "Refused, and paused: too few codes were used",
            (_, Some("number_format")) => "Refused: not a phone number",
            (_, Some("line_type")) => "Refused: a line that takes no texts",
            (_, Some("text_countries")) => "Refused: a country that is not served",
            (_, Some("unreachable_number")) => "Refused: a provider has reported that the number cannot receive texts",
            (_, Some("unproven_number")) => "Refused: the account has not proven the number",
            (_, Some("seconds_between_texts")) => "Refused: too soon after the last text to the number",
            (_, Some("texts_per_number_and_hour")) => "Refused: too many texts to the number in an hour",
            (_, Some("texts_per_number_and_day")) => "Refused: too many texts to the number in a day",
            (_, Some("numbers_per_range")) => "Refused: too many numbers of one range",
            (_, Some("daily_texts_per_number")) => "Refused: too many texts to the number by all shops",
            (_, Some("unused_codes_per_range")) => "Refused: too many unused codes to one range",
            (_, Some("unused_codes_per_country")) => "Refused: too many unused codes to one country",
            (_, Some("unused_codes_per_store")) => "Refused: too many unused codes",
            (_, Some("numbers_per_address_and_day")) => "Refused: too many numbers from one address",
            (_, Some("texts_per_country_and_day")) => "Refused: too many texts to one country in a day",
            (_, Some("texts_reserved_percent")) => "Refused: the rest of the day is kept for customers",
            (_, Some("texts_per_day")) => "Refused: the budget of the day is used",
            (_, Some("no_provider")) => "Refused: no provider is configured",
            (_, Some("provider_answers")) => "Given back: no provider took it",
            _ => "Refused",
        }
    }

    /// Where these texts are listed.
    pub(super) fn address(&self) -> String {
        let rule = self.rule.as_deref().unwrap_or_default();
        with_query("/console/records/storefront/texts", [("status", self.status.as_str()), ("rule", rule)])
    }
}

impl Budget {
    /// Whether somebody should look at it: four fifths are used.
    pub(super) fn is_nearly_used(&self) -> bool {
        self.used * 5 >= self.limit * 4
    }
}
