//! A name server on loopback, over UDP, that knows one address for every name, and falls silent or knows a name no more when it is told to.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use portico::kernel::lifecycle::Lifecycle;
use tokio::net::UdpSocket;

const A: [u8; 2] = [0, 1];
/// The length of the header of a message.
const HEADER: usize = 12;

/// Answers every question about an IPv4 address with loopback, unless the name ends with one that it is silent about.
#[derive(Clone)]
pub struct Nameserver {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    silent: Option<String>,
    unknown: Option<String>,
    /// The questions about addresses, by name.
    asked: HashMap<String, usize>,
}

impl Nameserver {
    /// A name server whose answers are valid for `seconds`.
    pub async fn start(seconds: u32) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: socket.local_addr().unwrap(), state: Arc::default() };
        let answering = server.clone();
        Lifecycle::default().spawn(async move {
            let mut question = [0; 512];
            loop {
                let (length, from) = socket.recv_from(&mut question).await.unwrap();
                if let Some(answer) = answering.answer(&question[..length], seconds) {
                    socket.send_to(&answer, from).await.unwrap();
                }
            }
        });
        server
    }

    /// From now on, questions about names that end like this get no answer.
    pub fn be_silent_about(&self, ending: &str) {
        self.state.lock().unwrap().silent = Some(ending.to_owned());
    }

    /// From now on, nobody has this name.
    pub fn forget(&self, name: &str) {
        self.state.lock().unwrap().unknown = Some(name.to_owned());
    }

    /// From now on, somebody has every name.
    pub fn know(&self) {
        self.state.lock().unwrap().unknown = None;
    }

    /// The number of questions about the address of a name.
    pub fn asked(&self, name: &str) -> usize {
        self.state.lock().unwrap().asked.get(name).copied().unwrap_or_default()
    }

    /// The number of names that somebody asked about.
    pub fn names_asked(&self) -> usize {
        self.state.lock().unwrap().asked.len()
    }

    fn answer(&self, question: &[u8], seconds: u32) -> Option<Vec<u8>> {
        let (mut labels, mut at) = (Vec::new(), HEADER);
        while question[at] > 0 {
            let end = at + 1 + usize::from(question[at]);
            labels.push(std::str::from_utf8(&question[at + 1..end]).unwrap().to_owned());
            at = end;
        }
        let (name, kind, end) = (labels.join("."), &question[at + 1..at + 3], at + 5);
        let is_about_address = kind == A;
        let mut state = self.state.lock().unwrap();
        if is_about_address {
            *state.asked.entry(name.clone()).or_default() += 1;
        }
        if state.silent.as_ref().is_some_and(|silent| name.ends_with(silent)) {
            return None;
        }
        let is_unknown = state.unknown.as_ref() == Some(&name);
        let has_record = is_about_address && !is_unknown;
        // The id, "this is an answer" without errors or that nobody has the name, one question, and one record or none.
        let counts = [0, 1, 0, u8::from(has_record), 0, 0, 0, 0];
        let mut answer = [&question[..2], &[0x81, if is_unknown { 0x83 } else { 0x80 }], &counts, &question[HEADER..end]].concat();
        if has_record {
            // The name of the question, A, IN, how long it is valid, four bytes.
            answer.extend([&[0xc0, 0x0c, 0, 1, 0, 1], seconds.to_be_bytes().as_slice(), &[0, 4], &Ipv4Addr::LOCALHOST.octets()].concat());
        }
        Some(answer)
    }
}
