//! The operator's second factor: setting it up, recovery codes, and the end of it.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use secrecy::ExposeSecret;

use crate::console::Console;
use crate::console::session::Visitor;
use crate::console::session::entering::{ProofForm, going_on};
use crate::console::shell::{Moment, Page, PageError, Refused, Ui};
use crate::operators::{Browser, CodeRefusal, Enrolment, RecoveryCode};

/// The page on which a second factor is set up.
pub(super) const PAGE: &str = "/console/account/totp";

#[derive(Template)]
#[template(path = "session/totp.html")]
struct TotpPage {
    ui: Ui,
    /// Whether nothing else can be reached before.
    forced: bool,
    enrolment: Enrolment,
    error: Option<String>,
}

#[derive(Template)]
#[template(path = "session/totp_enabled.html")]
struct EnabledPage {
    ui: Ui,
    since: Moment,
    left: i64,
    /// Whether the deployment requires it.
    required: bool,
    error: Option<String>,
}

#[derive(Template)]
#[template(path = "session/recovery_codes.html")]
struct RecoveryCodesPage {
    ui: Ui,
    codes: String,
}

/// The code of the app that a form has.
fn code_of(ProofForm { form, browser }: ProofForm) -> (Visitor, String, Browser) {
    let code = form.get("code").unwrap_or_default().to_owned();
    (form.visitor, code, browser)
}

/// `GET /console/account/totp`
pub(super) async fn show(State(console): State<Console>, visitor: Visitor) -> Result<Response, PageError> {
    page(&console, visitor, None).await
}

/// `POST /console/account/totp`: the first code.
pub(super) async fn enable(State(console): State<Console>, form: ProofForm) -> Result<Response, PageError> {
    let (visitor, code, browser) = code_of(form);
    if visitor.session()?.operator.totp_enabled_at.is_some() {
        // The form has come twice, and the answer with the recovery codes may be lost.
        let text =
            visitor.ui.t("The second factor is set up already. If you did not get to see the recovery codes, make new ones.").to_owned();
        return page(&console, visitor, Some(text)).await;
    }
    match console.operators.enable_totp(&visitor.caller, visitor.session()?, &code, &browser).await {
        Ok((codes, token)) => Ok(going_on(&console, &token, recovery_codes(visitor.ui, &codes))),
        Err(refusal) => refuse(&console, visitor, refusal).await,
    }
}

/// `POST /console/account/totp/disable`
pub(super) async fn disable(State(console): State<Console>, form: ProofForm) -> Result<Response, PageError> {
    let (visitor, code, browser) = code_of(form);
    match console.operators.disable_totp(&visitor.caller, visitor.session()?, &code, &browser).await {
        Ok(token) => Ok(going_on(&console, &token, Redirect::to("/console/account?done=saved").into_response())),
        Err(refusal) => refuse(&console, visitor, refusal).await,
    }
}

/// `POST /console/account/recovery-codes`
pub(super) async fn renew(State(console): State<Console>, form: ProofForm) -> Result<Response, PageError> {
    let (visitor, code, browser) = code_of(form);
    match console.operators.renew_recovery_codes(&visitor.caller, visitor.session()?, &code, &browser).await {
        Ok((codes, token)) => Ok(going_on(&console, &token, recovery_codes(visitor.ui, &codes))),
        Err(refusal) => refuse(&console, visitor, refusal).await,
    }
}

fn recovery_codes(ui: Ui, codes: &[RecoveryCode]) -> Response {
    let codes: Vec<_> = codes.iter().map(RecoveryCode::reveal).collect();
    Page(RecoveryCodesPage { ui, codes: codes.join("\n") }).into_response()
}

async fn refuse(console: &Console, visitor: Visitor, refusal: CodeRefusal) -> Result<Response, PageError> {
    let ui = &visitor.ui;
    let (refused, text): (Refused, _) = match refusal {
        CodeRefusal::Wrong => (
            StatusCode::UNPROCESSABLE_ENTITY.into(),
            ui.t("This code is not right, or it was used before. Wait for the next one.").to_owned(),
        ),
        CodeRefusal::TooMany(status) => {
            let minutes = status.retry_after().div_ceil(60);
            (Refused::by(&status), ui.say("Too many attempts. Try again in {} min.", [minutes]))
        }
        CodeRefusal::ProofNeeded(problem) => return Err(problem.into()),
        CodeRefusal::Required => (StatusCode::FORBIDDEN.into(), ui.t("Your role must have a second factor.").to_owned()),
        CodeRefusal::Database(error) => return Err(error.into()),
    };
    Ok(refused.with(page(console, visitor, Some(text)).await?))
}

async fn page(console: &Console, visitor: Visitor, error: Option<String>) -> Result<Response, PageError> {
    let session = visitor.session()?;
    let (operator, ui) = (&session.operator, visitor.ui.clone());
    if let Some(since) = operator.totp_enabled_at {
        let left = console.operators.count_recovery_codes(operator.id).await?;
        let required = console.operators.requires_totp(operator);
        return Ok(Page(EnabledPage { since: ui.at(&since), left, required, error, ui }).into_response());
    }
    match console.operators.enrolment(session).await {
        Ok(enrolment) => {
            let forced = console.operators.must_enrol(session);
            Ok(Page(TotpPage { ui, forced, enrolment, error }).into_response())
        }
        Err(CodeRefusal::ProofNeeded(problem)) => Err(problem.into()),
        Err(CodeRefusal::Database(error)) => Err(error.into()),
        // It was set up in another tab meanwhile.
        Err(_) => Ok(Redirect::to("/console/account").into_response()),
    }
}
