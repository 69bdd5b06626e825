//! All extensions: those written in Rust and those declared in files.

use std::sync::Arc;

use crate::app::AppState;
use crate::declared::{self, BuiltIn, Declaration, InvalidDeclaration};
use crate::events::{self, Catalogue};
use crate::resources::{Extension, Referable};
use crate::{developers, fleet, gateways, portal, storefront, webhooks};

fn built_in() -> Vec<Extension<AppState>> {
    let developers = webhooks::extension().merge(developers::extension()).merge(portal::extension());
    vec![fleet::extension(), developers, storefront::operator_extension(), gateways::extension()]
}

/// What the extensions written in Rust contain.
pub(super) struct Contents {
    kinds: Vec<Referable>,
    /// Their event types, and those that are about no record.
    pub catalogue: Catalogue,
}

impl Contents {
    /// Builds every extension with its routes, so it is called once where both the kinds and the event types are needed.
    pub fn built_in() -> Self {
        let extensions = built_in();
        let kinds = extensions.iter().flat_map(|extension| extension.kinds().iter().map(|kind| kind.referable.clone())).collect();
        let about_records = extensions.iter().flat_map(|extension| extension.event_types().to_vec());
        Self { kinds, catalogue: Catalogue::new(about_records.chain(events::documented()).collect()) }
    }

    /// The declarations in the files of `extensions.directory`, which may refer to these kinds.
    pub fn declarations(&self, settings: &declared::Settings) -> Result<Arc<[Arc<Declaration>]>, InvalidDeclaration> {
        let declarations = settings.load(&BuiltIn { kinds: &self.kinds, events: &self.catalogue })?;
        Ok(declarations.into_iter().map(Arc::new).collect())
    }
}

/// The event types of the extensions written in Rust.
pub fn catalogue() -> Catalogue {
    Contents::built_in().catalogue
}

/// The declarations in the files of `extensions.directory`.
pub fn declarations(settings: &declared::Settings) -> Result<Arc<[Arc<Declaration>]>, InvalidDeclaration> {
    Contents::built_in().declarations(settings)
}

pub(super) fn all(state: &AppState) -> Vec<Extension<AppState>> {
    built_in().into_iter().chain(state.declared.extensions(&state.companies)).collect()
}
