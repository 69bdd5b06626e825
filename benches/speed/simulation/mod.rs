//! Many companies over many cells: the same load, a few companies with most of it, on one, three and twelve cells of one instance.
//!
//! ```text
//!  growth       adds a cell while events are published
//!  isolation    no statement concerns two cells
//! ```
//!
//! All cells are on one PostgreSQL, so the figures say what cells cost, and not what further machines bring.

mod growth;
mod isolation;

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::figures::{Aim, Figures, millis};
use crate::support::cells::{Cells, Companies, EVENT, Host, Instance};
use crate::support::load::load;
use crate::support::publisher::Publisher;
use crate::support::sink::Sink;
use crate::support::usage::Cpu;

const CALLERS: usize = 16;
/// The endpoints that companies share.
const ENDPOINTS: usize = 8;
/// Events in a request.
const BATCH: usize = 10;

pub fn measure(figures: &mut Figures) {
    let host = Host::start();
    let sink = Sink::open(&host.service, ENDPOINTS);
    let sample = Publisher::of(&host.service).sample(EVENT);
    let several: &[usize] = if figures.quick { &[3] } else { &[3, 12] };
    let alone = simulate(figures, &host, &sink, &sample, 1);
    for cells in several {
        simulate(figures, &host, &sink, &sample, *cells).show(figures, &alone);
    }
}

/// What one number of cells came to.
struct Simulated {
    cells: usize,
    deliveries: Work,
    sign_ins: Work,
}

/// How much was done, and what it took.
struct Work {
    per_second: f64,
    /// Processor time of the instance and PostgreSQL for each unit.
    cpu: Duration,
}

fn simulate(figures: &Figures, host: &Host, sink: &Sink, sample: &Value, cells: usize) -> Simulated {
    let mut cells = Cells::on(host, cells);
    let instance = Instance::serve(host, &cells);
    let companies = Companies::found(&cells, figures.many(1_000, 60));
    companies.subscribe(&instance, sink);
    let deliveries = deliver(figures, (host, &instance), sink, sample, &companies);
    let sign_ins = sign_in(figures, (host, &instance), &companies);
    isolation::check(host, (&cells, &instance), &companies, sample);
    let simulated = Simulated { cells: cells.count(), deliveries, sign_ins };
    if cells.count() > 1 {
        growth::add_a_cell((host, &mut cells), instance, sink, sample, &companies);
    }
    simulated
}

fn deliver(figures: &Figures, (host, instance): (&Host, &Instance), sink: &Sink, sample: &Value, companies: &Companies) -> Work {
    let requests: Vec<_> = companies.iter().map(|company| company.publish(sample, BATCH)).collect();
    let publishing = |time| {
        let next = |caller: usize, turn: usize| requests[companies.whose_turn(caller + turn * CALLERS)].clone();
        BATCH * load(instance.address, CALLERS, time, &[201], next).count()
    };
    sink.forget();
    // Connections are opened, and keys remembered.
    let warm = publishing(figures.time(2));
    sink.await_arrivals(warm);
    companies.await_attempts(warm);
    let (begin, before) = (Instant::now(), Cpu::of_processes(instance.process(), host.postmaster()));
    let published = publishing(figures.time(10));
    sink.await_arrivals(warm + published);
    let took = begin.elapsed();
    companies.await_attempts(warm + published);
    let cpu = Cpu::of_processes(instance.process(), host.postmaster()).since(before).total();
    Work { per_second: published as f64 / took.as_secs_f64(), cpu: Duration::from_secs_f64(cpu / published as f64) }
}

/// Sign-ins by password.
fn sign_in(figures: &Figures, (host, instance): (&Host, &Instance), companies: &Companies) -> Work {
    let login = |caller: usize, turn: usize| {
        let turn = caller + turn * CALLERS;
        companies[companies.whose_turn(turn)].sign_in(turn)
    };
    let before = Cpu::of_processes(instance.process(), host.postmaster());
    let signed_in = load(instance.address, CALLERS, figures.time(10), &[200], login);
    let cpu = Cpu::of_processes(instance.process(), host.postmaster()).since(before).total();
    Work { per_second: signed_in.per_second, cpu: Duration::from_secs_f64(cpu / signed_in.count() as f64) }
}

impl Simulated {
    fn show(&self, figures: &mut Figures, alone: &Self) {
        let kinds =
            [("delivery", "deliveries", &self.deliveries, &alone.deliveries), ("sign-in", "sign-ins", &self.sign_ins, &alone.sign_ins)];
        for (one, many, several, single) in kinds {
            let cpu = several.cpu.as_secs_f64() / single.cpu.as_secs_f64();
            let parts = format!("{:.2} ms ÷ {:.2} ms", millis(several.cpu), millis(single.cpu));
            figures.show(&format!("simulation, CPU of a {one} with {} cells ÷ with one", self.cells), cpu, Aim::AtMost(1.3), &parts);
            let speed = several.per_second / single.per_second;
            let parts = format!("{:.0}/s ÷ {:.0}/s", several.per_second, single.per_second);
            figures.show(&format!("simulation, {many}/s with {} cells ÷ with one", self.cells), speed, Aim::AtLeast(0.75), &parts);
        }
    }
}
