//! The certificate authorities that connections to other servers trust.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, crypto};
use rustls_platform_verifier::Verifier;

/// Those of the system. They are hundreds, so they are read once for all clients of the process.
static OF_THE_SYSTEM: OnceLock<Arc<Verifier>> = OnceLock::new();

/// What a client needs that trusts the authorities of the system and the `further` ones. Fails if the system has none.
pub fn trusting(further: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let verifier = match (further.is_empty(), OF_THE_SYSTEM.get()) {
        (true, Some(verifier)) => Arc::clone(verifier),
        (true, None) => {
            let verifier = Arc::new(Verifier::new(Arc::clone(&provider))?);
            Arc::clone(OF_THE_SYSTEM.get_or_init(|| verifier))
        }
        (false, _) => Arc::new(Verifier::new_with_extra_roots(further, Arc::clone(&provider))?),
    };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}
