//! All extensions: those written in Rust and those declared in files.

use std::sync::Arc;

use crate::app::AppState;
use crate::declared::{self, BuiltIn, Declaration, InvalidDeclaration};
use crate::events::{self, Catalogue};
use crate::resources::{Extension, Referable};
use crate::{developers, fleet, gateways, storefront, webhooks};

fn built_in() -> Vec<Extension<AppState>> {
    vec![fleet::extension(), webhooks::extension().merge(developers::extension()), storefront::operator_extension(), gateways::extension()]
}

/// The event types of the extensions written in Rust.
pub fn catalogue() -> Catalogue {
    let about_records = built_in().into_iter().flat_map(|extension| extension.event_types().to_vec());
    Catalogue::new(about_records.chain(events::documented()).collect())
}

/// The declarations in the files of `extensions.directory`.
pub fn declarations(settings: &declared::Settings) -> Result<Arc<[Arc<Declaration>]>, InvalidDeclaration> {
    let kinds: Vec<Referable> = built_in().iter().flat_map(|extension| extension.kinds().to_vec()).collect();
    let declarations = settings.load(&BuiltIn { kinds: &kinds, events: &catalogue() })?;
    Ok(declarations.into_iter().map(Arc::new).collect())
}

pub(super) fn all(state: &AppState) -> Vec<Extension<AppState>> {
    built_in().into_iter().chain(state.declared.extensions(&state.companies)).collect()
}
