//! All extensions: those written in Rust and those declared in files.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use crate::app::AppState;
use crate::declared::{self, BuiltIn, Declaration, InvalidDeclaration};
use crate::events::{self, Catalogue};
use crate::resources::{Extension, Referable};
use crate::{developers, fleet, gateways, portal, storefront, webhooks};

/// The extensions written in Rust. They depend on no setting and no database, so a process builds them once.
static BUILT_IN: LazyLock<Vec<Extension<AppState>>> = LazyLock::new(|| {
    let developers = webhooks::extension().merge(developers::extension()).merge(portal::extension());
    vec![fleet::extension(), developers, storefront::operator_extension(), gateways::extension()]
});

/// What they contain.
static CONTENTS: LazyLock<Contents> = LazyLock::new(|| {
    let kinds = BUILT_IN.iter().flat_map(|extension| extension.kinds().iter().map(|kind| kind.referable.clone())).collect();
    let about_records = BUILT_IN.iter().flat_map(|extension| extension.event_types().to_vec());
    Contents { kinds, catalogue: Catalogue::new(about_records.chain(events::documented()).collect()) }
});

struct Contents {
    kinds: Vec<Referable>,
    /// Their event types, and those that are about no record.
    catalogue: Catalogue,
}

/// The event types of the extensions written in Rust.
pub fn catalogue() -> Catalogue {
    CONTENTS.catalogue.clone()
}

/// The declarations in the files of `extensions.directory`, which may refer to the kinds of the extensions written in Rust.
pub fn declarations(settings: &declared::Settings) -> Result<Arc<[Arc<Declaration>]>, InvalidDeclaration> {
    let declarations = settings.load(&BuiltIn { kinds: &CONTENTS.kinds, events: &CONTENTS.catalogue })?;
    Ok(declarations.into_iter().map(Arc::new).collect())
}

/// All extensions: those written in Rust, and those that this deployment declares.
pub(super) fn all(state: &AppState) -> impl Iterator<Item = Cow<'static, Extension<AppState>>> {
    let declared = state.declared.extensions(&state.companies).into_iter().map(Cow::Owned);
    BUILT_IN.iter().map(Cow::Borrowed).chain(declared)
}
