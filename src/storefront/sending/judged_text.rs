//! What every text passes: the SMS guard.

use std::sync::Arc;

use crate::kernel::error_chain::chain;
use crate::kernel::ids::TextId;
use crate::kernel::problem::Problem;
use crate::providers::sms::TakenText;
use crate::storefront::sms_guard::{self, AskedText, Verdict};
use crate::storefront::state::Storefront;

/// Has the guard judge a text, and count it as sent if it lets it through. It judges in a transaction of its own, which has ended before a
/// provider is asked. A text that is not sent after all has to be taken back.
pub async fn judge_text(storefront: &Storefront, asked: AskedText) -> Result<Verdict, Problem> {
    let verdict = storefront.texts.write(Arc::new(asked), size_of::<AskedText>()).await?;
    match &verdict {
        Verdict::Sent(_) => storefront.metrics.judged_text("allowed"),
        Verdict::Refused(refusal) => storefront.metrics.judged_text(refusal.rule()),
        Verdict::Repeated => {}
    }
    Ok(verdict)
}

/// Remembers what the provider calls a text that it has taken, if it will report of it. The text is sent, whatever happens here.
pub async fn note_taken(storefront: &Storefront, text: TextId, taken: Option<TakenText>) {
    let Some(taken) = taken else { return };
    let noted = async { sms_guard::note_taken(&mut storefront.pool.acquire().await?, text, &taken).await };
    if let Err(error) = noted.await {
        tracing::warn!(error = chain(&error), "receipts of a text will be ignored, because what its provider calls it could not be stored");
    }
}
