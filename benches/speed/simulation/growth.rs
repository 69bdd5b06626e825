//! A cell is added while events are published: `docs/scaling.md`, "Adding a cell".

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use crate::support::calls::Caller;
use crate::support::cells::{Cells, Companies, Host, Instance, until};
use crate::support::sink::Sink;

/// Clients that publish meanwhile.
const CLIENTS: usize = 4;
/// Companies in the new cell.
const NEW: usize = 10;

/// Where clients send requests, as behind a proxy.
struct Route {
    address: Mutex<SocketAddr>,
    /// How many clients have found another one than the first.
    followed: AtomicUsize,
    stop: AtomicBool,
    published: AtomicUsize,
}

/// Adds a cell, replaces the instance by one that serves it, and founds companies there. No request fails, and every event arrives.
pub fn add_a_cell((host, cells): (&Host, &mut Cells), instance: Instance, sink: &Sink, sample: &Value, companies: &Companies) {
    let route = Route {
        address: Mutex::new(instance.address),
        followed: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        published: AtomicUsize::new(0),
    };
    sink.forget();
    let _replacement = thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (route, next) = (&route, move |turn| companies[companies.whose_turn(client + turn * CLIENTS)].publish(sample, 1));
            scope.spawn(move || route.publish(next));
        }
        cells.add(host);
        let replacement = Instance::serve(host, cells);
        *route.address.lock().unwrap() = replacement.address;
        until("every client has found the new instance", || route.followed.load(Ordering::SeqCst) >= CLIENTS);
        instance.stop();
        let newcomers = Companies::found_in_last(cells, NEW);
        newcomers.subscribe(&replacement, sink);
        let mut caller = Caller::connect(replacement.address);
        for company in newcomers.iter() {
            caller.ask(201, &company.publish(sample, 1));
        }
        route.stop.store(true, Ordering::SeqCst);
        replacement
    });
    sink.await_arrivals(route.published.load(Ordering::SeqCst) + NEW);
}

impl Route {
    /// Publishes until it is told to stop. Every request has to succeed.
    fn publish(&self, next: impl Fn(usize) -> Vec<u8>) {
        let mut address = *self.address.lock().unwrap();
        let mut caller = Caller::connect(address);
        for turn in 0.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let now = *self.address.lock().unwrap();
            if now != address {
                (address, caller) = (now, Caller::connect(now));
                self.followed.fetch_add(1, Ordering::SeqCst);
            }
            caller.ask(201, &next(turn));
            self.published.fetch_add(1, Ordering::SeqCst);
        }
    }
}
