//! Measures the performance claims of the README. `cargo bench` measures all of them, `cargo bench -- me drain` some; `-- --quick`
//! takes seconds and only shows that they still work.
//!
//! Every figure is a ratio of two measurements of the same run on the same machine, so it is meaningful on other machines too. It
//! is printed with its aim and its parts. The program fails if a figure misses its aim tenfold (unless it was compiled without
//! optimization, for which the aims are not), if a response is wrong, or if a benchmark takes many minutes. A machine that is shared with
//! others allows no stricter limits.
//!
//! The service is the built program in its own process, on a private PostgreSQL that writes to disk as in production. The callers
//! share its processors, as `pgbench` does with PostgreSQL.

#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints results and panics on errors")]

mod backlog;
mod callbacks;
mod codes;
mod console;
mod cost;
mod days;
mod deletion;
mod drain;
mod fan_out;
mod figures;
mod hang;
mod hashing;
mod import;
mod instructions;
mod latency;
mod limiter;
mod locations;
mod me;
mod memory;
mod moving;
mod neighbours;
mod order_list;
mod overload;
mod pings;
mod publish;
mod pumping;
mod queue;
mod retention;
mod sign_in;
mod simulation;
mod soak;
mod standstill;
mod support;
mod texts;
mod timing;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use figures::Figures;

/// The benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bench {
    Me,
    SignIn,
    Hashing,
    Codes,
    Limiter,
    Timing,
    Drain,
    Callbacks,
    Publish,
    Latency,
    FanOut,
    Days,
    Retention,
    Backlog,
    Queue,
    Hang,
    Neighbours,
    Deletion,
    Moving,
    Pings,
    Memory,
    Locations,
    OrderList,
    Overload,
    Console,
    Standstill,
    Soak,
    Pumping,
    Texts,
    Import,
    Cost,
    Instructions,
    Simulation,
}

impl Bench {
    fn measure(self, figures: &mut Figures, arguments: &Arguments) {
        match self {
            Self::Me => me::measure(figures),
            Self::SignIn => sign_in::measure(figures),
            Self::Hashing => hashing::measure(figures),
            Self::Codes => codes::measure(figures),
            Self::Limiter => limiter::measure(figures),
            Self::Timing => timing::measure(figures),
            Self::Drain => drain::measure(figures),
            Self::Callbacks => callbacks::measure(figures),
            Self::Publish => publish::measure(figures),
            Self::Latency => latency::measure(figures),
            Self::FanOut => fan_out::measure(figures),
            Self::Days => days::measure(figures),
            Self::Retention => retention::measure(figures),
            Self::Backlog => backlog::measure(figures),
            Self::Queue => queue::measure(figures),
            Self::Hang => hang::measure(figures),
            Self::Neighbours => neighbours::measure(figures),
            Self::Deletion => deletion::measure(figures),
            Self::Moving => moving::measure(figures),
            Self::Pings => pings::measure(figures),
            Self::Memory => memory::measure(figures),
            Self::Locations => locations::measure(figures),
            Self::OrderList => order_list::measure(figures),
            Self::Overload => overload::measure(figures),
            Self::Console => console::measure(figures),
            Self::Standstill => standstill::measure(figures),
            Self::Pumping => pumping::measure(figures),
            Self::Texts => texts::measure(figures),
            Self::Import => import::measure(figures),
            Self::Cost => cost::measure(figures),
            Self::Instructions => instructions::measure(figures, arguments.renew),
            Self::Simulation => simulation::measure(figures),
            Self::Soak => soak::measure(figures, arguments.minutes),
        }
    }

    /// The seconds after which it hangs.
    fn time_limit(self, arguments: &Arguments) -> u64 {
        match (self, arguments.quick) {
            (Self::Soak, false) => 60 * u64::from(arguments.minutes) + 300,
            (_, true) => 300,
            (_, false) => 600,
        }
    }
}

#[derive(Debug, Parser)]
struct Arguments {
    /// Benchmarks to run; by default all
    names: Vec<Bench>,
    /// Only check that the benchmarks work
    #[arg(long)]
    quick: bool,
    /// Write what the instructions are compared with anew
    #[arg(long)]
    renew: bool,
    /// How long the soak takes, if it is not quick
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// Passed by Cargo to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    rustls::crypto::aws_lc_rs::default_provider().install_default().unwrap();
    let arguments = Arguments::parse();
    // Counting instructions needs a program that others can do without, so it is measured when it is named.
    let usual = Bench::value_variants().iter().copied().filter(|bench| *bench != Bench::Instructions);
    let names = if arguments.names.is_empty() { usual.collect() } else { arguments.names.clone() };
    let mut figures = Figures::new(arguments.quick);
    let mut times = Vec::new();
    for bench in names {
        let (watched, began) = (watch(bench, bench.time_limit(&arguments)), Instant::now());
        bench.measure(&mut figures, &arguments);
        drop(watched);
        times.push((began.elapsed(), bench));
    }
    support::service::remove_first_data();
    times.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    println!();
    for (took, bench) in times {
        println!("{:6.1} s  {}", took.as_secs_f64(), bench.to_possible_value().unwrap().get_name());
    }
    figures.end()
}

/// Ends the program, and with it the service, if a benchmark exceeds its time limit.
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
