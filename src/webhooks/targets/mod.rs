//! Which targets webhooks may be sent to, so that a subscription cannot make this service call internal hosts (SSRF).
//!
//! [`EndpointUrl`] is the form that a URL must have. [`Targets`] checks the addresses behind it: once at registration, to report an
//! error, and again at every connection, because a name may resolve differently by then. For names, this second check *is* the
//! resolver of the HTTP client, so nothing can change between check and connection. For literal addresses, which a client does not
//! resolve, it is [`Targets::check_literal`] before each attempt.

mod addresses;
mod endpoint_url;
mod look_ups;
mod nameservers;
mod resolver;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};
use std::vec;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use ipnet::IpNet;
use tower::Service;
use url::Host;

use crate::kernel::ids::CompanyId;
use crate::kernel::problem::{Problem, ProblemCode};

pub use endpoint_url::EndpointUrl;
pub use resolver::Resolver;

use addresses::AddressPolicy;

/// Decides which endpoints may be connected to.
#[derive(Clone, Debug)]
pub struct Targets {
    policy: AddressPolicy,
    resolver: Resolver,
}

/// Why an address may not be connected to.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// None of its addresses may be connected to.
    #[error("the endpoint has no address that webhooks may be sent to")]
    Blocked,
    /// Its name has no address, or the lookup failed.
    #[error("the host name of the endpoint cannot be resolved")]
    Unresolved(#[source] io::Error),
}

impl From<TargetError> for Problem {
    fn from(reason: TargetError) -> Self {
        match reason {
            // One error for both, so that registering endpoints does not reveal which internal names exist.
            TargetError::Blocked | TargetError::Unresolved(_) => Self::new(ProblemCode::EndpointForbidden).about("url"),
        }
    }
}

impl Targets {
    /// Allows endpoints on the public internet and in the `opened` networks; host names are resolved by `resolver`.
    pub fn new(opened: &[IpNet], resolver: Resolver) -> Self {
        Self { policy: AddressPolicy::new(opened), resolver }
    }

    /// The same for addresses of another kind, to which other networks are open.
    pub fn opening(&self, opened: &[IpNet]) -> Self {
        Self::new(opened, self.resolver.clone())
    }

    /// The check at registration, by a company.
    pub async fn check(&self, company: CompanyId, endpoint: &EndpointUrl) -> Result<(), TargetError> {
        self.addresses(Some(company), &endpoint.host()).await.map(drop)
    }

    /// The addresses of a host that may be connected to; at least one.
    pub async fn addresses(&self, company: Option<CompanyId>, host: &Host<String>) -> Result<Vec<IpAddr>, TargetError> {
        let literal = match host {
            Host::Domain(name) => return self.resolve(company, name).await,
            Host::Ipv4(address) => IpAddr::from(*address),
            Host::Ipv6(address) => IpAddr::from(*address),
        };
        if self.policy.allows(literal) { Ok(vec![literal]) } else { Err(TargetError::Blocked) }
    }

    /// The check of literal addresses before each attempt; the client resolves only names.
    pub fn check_literal(&self, endpoint: &EndpointUrl) -> Result<(), TargetError> {
        let allowed = match endpoint.host() {
            Host::Domain(_) => true,
            Host::Ipv4(address) => self.policy.allows(address.into()),
            Host::Ipv6(address) => self.policy.allows(address.into()),
        };
        if allowed { Ok(()) } else { Err(TargetError::Blocked) }
    }

    /// The addresses of `name` that may be connected to; at least one.
    async fn resolve(&self, company: Option<CompanyId>, name: &str) -> Result<Vec<IpAddr>, TargetError> {
        let mut addresses = self.resolver.look_up(company, name).await.map_err(TargetError::Unresolved)?;
        addresses.retain(|address| self.policy.allows(*address));
        if addresses.is_empty() { Err(TargetError::Blocked) } else { Ok(addresses) }
    }

    /// The check at every connection, as the client's resolver. The look-up counts as one of `company`.
    pub fn asked_by(&self, company: Option<CompanyId>) -> CheckedNames {
        CheckedNames { targets: self.clone(), company }
    }
}

/// Resolves names to addresses that may be connected to.
#[derive(Clone, Debug)]
pub struct CheckedNames {
    targets: Targets,
    company: Option<CompanyId>,
}

impl CheckedNames {
    /// The addresses of a name, with port zero, which clients replace by the port of the URL.
    pub async fn resolve(&self, name: &str) -> Result<Vec<SocketAddr>, TargetError> {
        let addresses = self.targets.resolve(self.company, name).await?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, 0)).collect())
    }
}

impl Service<Name> for CheckedNames {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = TargetError;
    type Future = BoxFuture<'static, Result<Self::Response, TargetError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TargetError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let names = self.clone();
        async move { Ok(names.resolve(name.as_str()).await?.into_iter()) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    async fn check(url: &str) -> Result<(), TargetError> {
        let resolver = Resolver::fixed();
        resolver.insert("public.example", &["93.184.216.34".parse().unwrap()]);
        resolver.insert("private.example", &["10.0.0.7".parse().unwrap(), "::ffff:192.168.0.1".parse().unwrap()]);
        Targets::new(&[], resolver).check(Uuid::nil().into(), &url.parse().unwrap()).await
    }

    #[tokio::test]
    async fn a_private_address_is_blocked_by_name_and_by_literal() {
        assert!(check("https://public.example/").await.is_ok());
        for url in ["https://private.example/", "https://10.0.0.7/", "https://[::ffff:10.0.0.7]/", "https://[::1]/", "https://0x7f.1/"] {
            assert!(matches!(check(url).await, Err(TargetError::Blocked)), "{url}");
        }
        assert!(matches!(check("https://unknown.example/").await, Err(TargetError::Unresolved(_))));
    }

    #[tokio::test]
    async fn only_the_allowed_addresses_of_a_name_are_handed_to_the_client() {
        let resolver = Resolver::fixed();
        resolver.insert("both.example", &["10.0.0.7".parse().unwrap(), "93.184.216.34".parse().unwrap()]);
        let resolved = Targets::new(&[], resolver).resolve(None, "both.example").await.unwrap();
        assert_eq!(resolved, ["93.184.216.34".parse::<IpAddr>().unwrap()]);
    }
}
