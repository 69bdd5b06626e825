//! The series that the counter of callbacks has from the start.

use crate::gateways::callbacks::receive::{NOT_RECORDED, NOT_UNDERSTOOD};
use crate::gateways::callbacks::refusal::CallbackRefusal;
use crate::gateways::drivers::{self, SignatureError};
use crate::gateways::recording::Acknowledgement;
use crate::gateways::state::Gateways;
use crate::kernel::metrics::Registry;

impl Gateways {
    /// Registers what is counted of callbacks.
    pub fn register(&self, registry: &mut Registry) {
        let taken = Acknowledgement::ALL.map(Acknowledgement::as_str).into_iter().chain([NOT_UNDERSTOOD, NOT_RECORDED]);
        let unresolved = CallbackRefusal::UNRESOLVED.map(CallbackRefusal::reason);
        let of_gateways: Vec<_> = taken.chain(unresolved).chain(SignatureError::ALL.map(SignatureError::reason)).collect();
        self.metrics.register(registry, &drivers::names(), &of_gateways, &unresolved);
    }
}
