//! The measured claims of the README: `cargo bench` measures all of them, `cargo bench -- me drain` some, and `-- --quick` takes seconds
//! and only shows that they still work.
//!
//! Every figure is a ratio of two things measured in the same run on the same machine, so it says something on another one too. It is
//! printed with its aim and its parts. What misses its aim tenfold ends the program as failed, and so does a wrong answer or a benchmark
//! that takes minutes; that is all that a machine shared with others can be held to.
//!
//! The service is the built program in a process of its own, on a private PostgreSQL that writes to disk as in production; whoever asks
//! it things shares its processors, as `pgbench` does with PostgreSQL.

#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark reports, and ends where something fails")]

mod backlog;
mod callbacks;
mod codes;
mod drain;
mod fan_out;
mod figures;
mod hang;
mod latency;
mod limiter;
mod locations;
mod me;
mod memory;
mod order_list;
mod pings;
mod publish;
mod sign_in;
mod support;
mod timing;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use figures::Figures;

/// What the program measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bench {
    Me,
    SignIn,
    Codes,
    Limiter,
    Timing,
    Drain,
    Callbacks,
    Publish,
    Latency,
    FanOut,
    Backlog,
    Hang,
    Pings,
    Memory,
    Locations,
    OrderList,
}

impl Bench {
    fn measure(self, figures: &mut Figures) {
        match self {
            Self::Me => me::measure(figures),
            Self::SignIn => sign_in::measure(figures),
            Self::Codes => codes::measure(figures),
            Self::Limiter => limiter::measure(figures),
            Self::Timing => timing::measure(figures),
            Self::Drain => drain::measure(figures),
            Self::Callbacks => callbacks::measure(figures),
            Self::Publish => publish::measure(figures),
            Self::Latency => latency::measure(figures),
            Self::FanOut => fan_out::measure(figures),
            Self::Backlog => backlog::measure(figures),
            Self::Hang => hang::measure(figures),
            Self::Pings => pings::measure(figures),
            Self::Memory => memory::measure(figures),
            Self::Locations => locations::measure(figures),
            Self::OrderList => order_list::measure(figures),
        }
    }
}

#[derive(Debug, Parser)]
struct Arguments {
    /// What to measure; everything if nothing is named
    names: Vec<Bench>,
    /// Only see that it works
    #[arg(long)]
    quick: bool,
    /// Cargo says it to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    rustls::crypto::aws_lc_rs::default_provider().install_default().unwrap();
    let arguments = Arguments::parse();
    let names = if arguments.names.is_empty() { Bench::value_variants() } else { &arguments.names };
    let mut figures = Figures::new(arguments.quick);
    for bench in names {
        let watched = watch(*bench, if arguments.quick { 60 } else { 600 });
        bench.measure(&mut figures);
        drop(watched);
    }
    figures.end()
}

/// Ends the program, and with it the service, when a benchmark takes longer than it ever should.
fn watch(bench: Bench, seconds: u64) -> std::sync::mpsc::Sender<()> {
    let (watched, over) = std::sync::mpsc::channel::<()>();
    thread::spawn(move || {
        if over.recv_timeout(Duration::from_secs(seconds)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{bench:?} takes longer than {seconds} s");
            std::process::exit(1);
        }
    });
    watched
}
