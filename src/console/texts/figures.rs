//! Sign-ins and texts in numbers, as a section of the overview.

use askama::Template;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::shell::{PageError, Ui};
use crate::console::texts::counted::{Budget, Counted};

/// The number of budgets that the section has room for.
const BUDGETS: usize = 3;

/// A section of a page; it is written into the page as it is.
#[derive(Template)]
#[template(path = "texts/figures.html")]
pub struct Figures {
    ui: Ui,
    sign_ins: Vec<Row>,
    texts: Vec<Row>,
    budgets: Vec<Budget>,
}

impl askama::filters::HtmlSafe for Figures {}

/// One number for the day and one for the week, each with what was refused of it.
struct Row {
    name: String,
    address: String,
    day: String,
    week: String,
}

impl Figures {
    /// The numbers of the last day and week; `None` for who may not see customers.
    pub async fn read(console: &Console, caller: &Caller, ui: &Ui) -> Result<Option<Self>, PageError> {
        let Some(day) = Counted::read(console, caller, "24h").await? else { return Ok(None) };
        let Some(week) = Counted::read(console, caller, "7d").await? else { return Ok(None) };
        let sign_ins = week.sign_ins.iter().map(|method| {
            let told = |counted: &Counted| {
                let found = counted.sign_ins.iter().find(|found| found.method == method.method);
                let (succeeded, refused) = found.map_or((0, 0), |found| (found.succeeded, found.refused));
                if refused == 0 { succeeded.to_string() } else { ui.say("{}, {} refused", [succeeded, refused]) }
            };
            Row {
                name: ui.word(&method.method),
                address: format!("/console/records/storefront/sign-ins?method={}", method.method),
                day: told(&day),
                week: told(&week),
            }
        });
        let texts = week.texts.iter().map(|verdict| {
            let same = |counted: &Counted| {
                let found = counted.texts.iter().find(|found| (&found.status, &found.rule) == (&verdict.status, &verdict.rule));
                found.map_or(0, |found| found.total).to_string()
            };
            Row { name: ui.t(verdict.sentence()).to_owned(), address: verdict.address(), day: same(&day), week: same(&week) }
        });
        let (sign_ins, texts) = (sign_ins.collect(), texts.collect());
        let budgets = day.budgets.into_iter().take(BUDGETS).collect();
        Ok(Some(Self { ui: ui.clone(), sign_ins, texts, budgets }))
    }
}
