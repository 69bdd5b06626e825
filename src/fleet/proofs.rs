//! Proofs of delivery: a photo, a signature or a scanned code, captured at the handover.
//!
//! A picture is stored by the shop and referenced by its URL. Small data (the strokes of a signature, the text of a code) can be
//! sent as `data`, up to 65,536 characters. Only `GET proofs/{uuid}` shows `data`; lists and events do not contain it. A proof
//! cannot be changed, except for its `remarks` and `meta`.

use crate::callers::Area;
use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::location::{self, Latitude, Longitude};
use crate::fleet::orders::{Order, ShipmentNumber};
use crate::kernel::ids::ProofId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{
    Change, Columns, EventDoc, Instant, Link, Meta, PublishesEvents, Record, RecordTransaction, Resource, Text, Validated, WebAddress,
};

const CHANGEABLE: [&str; 2] = ["remarks", "meta"];

crate::text_enum! {
    /// The kind of a proof.
    pub enum ProofKind, default Photo {
        /// A picture of the delivered goods at the drop-off.
        Photo = "photo",
        /// The recipient's signature.
        Signature = "signature",
        /// A scanned code.
        Scan = "scan",
    }
}

crate::fields! {
    /// A proof of delivery.
    pub struct Proof, body ProofBody {
        /// The order that was delivered.
        #[filtered]
        order_id as "order": Link<Order>,
        /// The kind of the proof.
        #[filtered]
        kind as "type": ProofKind,
        /// Remarks of the driver.
        #[sample = "Left with a neighbour."] #[searched]
        remarks: Option<Text<2000>>,
        /// The URL of the picture, which the shop stores.
        #[sample = "https://files.example.com/proofs/1042.jpg"]
        file_url: Option<WebAddress>,
        /// The captured data, in a format defined by the app. Only shown when a single proof is requested.
        #[detail]
        data: Option<Text<65536>>,
        /// Latitude of the handover, in degrees north.
        #[sample = 51.5237]
        latitude: Option<Latitude>,
        /// Longitude of the handover, in degrees east.
        #[sample = -0.1585]
        longitude: Option<Longitude>,
        /// When the proof was captured. Defaults to now.
        captured_at: Option<Instant>,
        /// Free-form data of the shop.
        meta: Meta,
    }
    read_only {
        /// The tracking number of the order at that time.
        #[sample = "7KQ2M9XD4T1B"] #[filtered] #[searched]
        tracking_number: ShipmentNumber,
    }
}

crate::events! {
    /// The events about proofs.
    pub const EVENTS {
        /// Proof of delivery (signature or photo) captured.
        CREATED = "proof_of_delivery.created", |proof| proof.known("captured_at", "2026-05-21T10:00:00.000+00:00");
    }
}

impl Resource for Proof {
    type Id = ProofId;
    type State = Fleet;

    const SINGULAR: &'static str = "proof";
    const PLURAL: &'static str = "proofs";
    const AREA: Area = Area::Business;
}

impl PublishesEvents for Proof {
    const EVENTS: &'static [EventDoc] = EVENTS;

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![CREATED],
            Change::Updated(..) | Change::Deleted(_) => Vec::new(),
        }
    }
}

impl Validated for Proof {
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, proof: &mut Self) -> Result<(), Problem> {
        if let Some(before) = before {
            return stays_as_captured(&before.fields, proof);
        }
        if proof.file_url.is_none() && proof.data.is_none() {
            return Err(FieldErrors::one("file_url", "A proof needs a file_url or data."));
        }
        let order = transaction.find::<Order>(proof.order_id).await?;
        proof.tracking_number = order.map(|order| order.fields.tracking_number).unwrap_or_default();
        proof.captured_at = proof.captured_at.or(Some(transaction.now));
        location::check_pair(proof.latitude, proof.longitude)
    }
}

fn stays_as_captured(before: &Proof, after: &Proof) -> Result<(), Problem> {
    let all = |proof: &Proof| proof.members().into_iter().chain(proof.detail_members());
    let mut wrong = FieldErrors::default();
    for ((name, before), (_, after)) in all(before).zip(all(after)) {
        if before != after && !CHANGEABLE.contains(&name.as_str()) {
            wrong.add(&name, "This cannot be changed after the proof was captured.");
        }
    }
    wrong.finish()
}
