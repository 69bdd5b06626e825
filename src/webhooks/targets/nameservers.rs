//! The name servers of this machine, asked as the system asks them: `/etc/hosts` first, then the servers of `/etc/resolv.conf` with its
//! search list and options. Both files are read again when they have changed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::system_conf::parse_resolv_conf;
use hickory_resolver::{Hosts, TokioResolver};
use tokio::time::Instant;

use crate::kernel::error_chain::chain;

/// How often to see whether the files have changed.
const RECHECK: Duration = Duration::from_secs(5);
/// The wait for an answer before the question is sent again, if the system waits longer: packets get lost.
const RESEND: Duration = Duration::from_secs(2);

/// What a name leads to, and for how long.
#[derive(Debug)]
pub struct Answered {
    pub addresses: Vec<IpAddr>,
    pub valid_for: Duration,
}

/// Asks name servers.
#[derive(Debug)]
pub struct Nameservers {
    files: Option<Files>,
    current: Mutex<Current>,
}

/// The files that a system has its names and name servers in.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    pub resolv_conf: PathBuf,
    pub hosts: PathBuf,
}

#[derive(Debug)]
struct Current {
    read: Arc<Read>,
    changed_at: [Option<SystemTime>; 2],
    checked_at: Instant,
}

struct Read {
    hosts: Hosts,
    resolver: TokioResolver,
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Read").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Files {
    /// Those of this machine.
    pub fn of_the_system() -> Self {
        Self { resolv_conf: "/etc/resolv.conf".into(), hosts: "/etc/hosts".into() }
    }

    fn changed_at(&self) -> [Option<SystemTime>; 2] {
        [&self.resolv_conf, &self.hosts].map(|path| std::fs::metadata(path).and_then(|file| file.modified()).ok())
    }

    /// A missing file counts as an empty one. Without name servers, the one of this machine is asked, as everywhere.
    fn read(&self) -> Read {
        let mut hosts = Hosts::default();
        if let Ok(file) = std::fs::File::open(&self.hosts)
            && let Err(error) = hosts.read_hosts_conf(file)
        {
            tracing::warn!(error = chain(&error), "the hosts file could not be read");
        }
        let text = std::fs::read(&self.resolv_conf).unwrap_or_default();
        let (config, options) = parse_resolv_conf(text).unwrap_or_else(|error| {
            tracing::warn!(error = chain(&error), "resolv.conf names no name server; the one of this machine is asked");
            (ResolverConfig::from_name_servers(vec![NameServerConfig::udp_and_tcp(Ipv4Addr::LOCALHOST.into())]), ResolverOpts::default())
        });
        Read::new(hosts, config, options)
    }
}

impl Read {
    fn new(hosts: Hosts, config: ResolverConfig, mut options: ResolverOpts) -> Self {
        options.timeout = options.timeout.min(RESEND);
        // Both are done here and in `LookUps`, which see whole look-ups: a name in the hosts file is not asked about at all.
        options.use_hosts_file = ResolveHosts::Never;
        options.cache_size = 0;
        let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).with_options(options);
        Self { hosts, resolver: builder.build().expect("without DNS over TLS, nothing can fail") }
    }

    fn in_hosts(&self, name: &Name) -> Vec<IpAddr> {
        let look_up = |kind| self.hosts.lookup_static_host(&Query::query(name.clone(), kind));
        let found = [RecordType::A, RecordType::AAAA].into_iter().filter_map(look_up);
        found.flat_map(|found| found.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>()).collect()
    }
}

impl Nameservers {
    /// Those that the files name.
    pub fn of(files: Files) -> Self {
        let current = Current { changed_at: files.changed_at(), read: Arc::new(files.read()), checked_at: Instant::now() };
        Self { files: Some(files), current: Mutex::new(current) }
    }

    /// One name server that is asked over UDP, and no hosts file.
    pub fn at(server: SocketAddr) -> Self {
        let mut connection = ConnectionConfig::udp();
        connection.port = server.port();
        let config = ResolverConfig::from_name_servers(vec![NameServerConfig::new(server.ip(), true, vec![connection])]);
        let read = Arc::new(Read::new(Hosts::default(), config, ResolverOpts::default()));
        Self { files: None, current: Mutex::new(Current { read, changed_at: [None; 2], checked_at: Instant::now() }) }
    }

    /// The addresses of a name, IPv4 first. A name that does not exist, or has none, is [`io::ErrorKind::NotFound`].
    pub async fn ask(&self, name: &str) -> io::Result<Answered> {
        let read = self.current();
        let parsed = Name::from_utf8(name).map_err(io::Error::other)?;
        let addresses = read.in_hosts(&parsed);
        if !addresses.is_empty() {
            return Ok(Answered { addresses, valid_for: Duration::ZERO });
        }
        let found = read.resolver.lookup_ip(parsed).await.map_err(io_error)?;
        let valid_for = found.valid_until().saturating_duration_since(std::time::Instant::now());
        Ok(Answered { addresses: found.iter().collect(), valid_for })
    }

    fn current(&self) -> Arc<Read> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files
            && current.checked_at.elapsed() >= RECHECK
        {
            current.checked_at = Instant::now();
            let changed_at = files.changed_at();
            if changed_at != current.changed_at {
                (current.read, current.changed_at) = (Arc::new(files.read()), changed_at);
            }
        }
        Arc::clone(&current.read)
    }
}

fn io_error(error: NetError) -> io::Error {
    let kind = match &error {
        NetError::Timeout => io::ErrorKind::TimedOut,
        error if error.is_no_records_found() => io::ErrorKind::NotFound,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files in a directory of the test's own.
    fn files(test: &str) -> Files {
        let directory = std::env::temp_dir().join(format!("portico-nameservers-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Files { resolv_conf: directory.join("resolv.conf"), hosts: directory.join("hosts") }
    }

    #[tokio::test(start_paused = true)]
    async fn the_hosts_file_comes_first_and_is_read_again_when_it_has_changed() {
        let files = files("hosts");
        std::fs::write(&files.hosts, "10.1.2.3 shop.internal shop\nfd00::7 shop.internal\n").unwrap();
        let servers = Nameservers::of(files.clone());
        let addresses = |all: &[&str]| all.iter().map(|address| address.parse().unwrap()).collect::<Vec<IpAddr>>();
        assert_eq!(servers.ask("shop.internal").await.unwrap().addresses, addresses(&["10.1.2.3", "fd00::7"]));
        assert_eq!(servers.ask("shop").await.unwrap().addresses, addresses(&["10.1.2.3"]));

        std::fs::write(&files.hosts, "10.1.2.4 shop.internal\n").unwrap();
        let changed = std::fs::File::options().write(true).open(&files.hosts).unwrap();
        changed.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(servers.ask("shop").await.unwrap().addresses, addresses(&["10.1.2.3"]), "it is not looked at for every name");
        tokio::time::advance(RECHECK).await;
        assert_eq!(servers.ask("shop.internal").await.unwrap().addresses, addresses(&["10.1.2.4"]));
        std::fs::remove_dir_all(files.hosts.parent().unwrap()).unwrap();
    }

    #[test]
    fn the_servers_search_list_and_options_are_those_of_the_file() {
        let files = files("options");
        std::fs::write(&files.resolv_conf, "nameserver 10.0.0.2\nsearch svc.cluster.local\noptions ndots:5 timeout:1 attempts:3\n")
            .unwrap();
        let options = files.read().resolver.options().clone();
        assert_eq!((options.ndots, options.timeout, options.attempts), (5, Duration::from_secs(1), 3));
        std::fs::remove_file(&files.resolv_conf).unwrap();
        assert_eq!(files.read().resolver.options().timeout, RESEND, "without a file, the server of this machine is asked");
        std::fs::remove_dir_all(files.hosts.parent().unwrap()).unwrap();
    }
}
