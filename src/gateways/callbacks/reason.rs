//! Why a callback was refused, ignored or failed, or was understood only in part: the words in its record.

use crate::resources::TextEnum;

/// The closed list of these words.
#[derive(Clone, Copy, Debug)]
pub enum CallbackReason {}

impl TextEnum for CallbackReason {
    const VARIANTS: &'static [&'static str] = &[
        "company_mismatch",
        "gateway_not_configured",
        "gateway_ambiguous",
        "secret_missing",
        "signature_missing",
        "signature_malformed",
        "signature_wrong",
        "timestamp_outside",
        "test_event",
        "live_event",
        "partly_understood",
        "callback_not_understood",
        "internal_error",
    ];
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::gateways::callbacks::refusal::CallbackRefusal;
    use crate::gateways::drivers::{Mode, SignatureError};
    use crate::gateways::genuine::OtherMode;
    use crate::kernel::problem::ProblemCode;

    #[test]
    fn the_closed_list_contains_exactly_the_reasons() {
        let refused = CallbackRefusal::UNRESOLVED.into_iter().chain(SignatureError::ALL.map(CallbackRefusal::NotGenuine));
        let other_modes = [(Mode::Test, Mode::Live), (Mode::Live, Mode::Test)];
        let ignored = other_modes.map(|(event, gateway)| OtherMode::of(Some(event), Some(gateway)).unwrap().reason());
        let failed =
            [ProblemCode::CallbackNotUnderstood, ProblemCode::GatewayNotConfigured, ProblemCode::Internal].map(ProblemCode::as_str);
        let reasons = refused.map(CallbackRefusal::reason).chain(ignored).chain(failed).chain(["partly_understood"]);
        assert_eq!(reasons.collect::<BTreeSet<_>>(), CallbackReason::VARIANTS.iter().copied().collect());
    }
}
