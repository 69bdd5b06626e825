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
//!
//! # Two editions
//!
//! `cargo bench -- me drain --beside PROGRAM` measures in turns with the program that another edition has built (`turns`), and prints for each
//! figure what this edition has ÷ what the other one has. Callers and receivers are those of this edition for both, so this is for benchmarks
//! whose whole load comes from outside: over HTTP, and by SQL for what would take hours over HTTP. These take the program as an argument.
//! Editions differ. This is how it is dealt with:
//!
//! - Each program starts a private PostgreSQL with its own tables, and says in `demo.json` what to call it with.
//! - It refuses settings that it does not know. Those that lift limits and switch off what nobody measures are left out then
//!   (`support::program`): an edition without the setting has no such limit. The settings that a benchmark itself asks for are never left out.
//! - Customers get the columns that its tables have (`support::customers`). `backlog` and `neighbours` also write into the tables of the hub, and
//!   fail if the other edition has other columns there.
//! - What the library of this edition does in other runs is done from outside or left out (`measure_from_outside`). So `drain` and `backlog`
//!   include the fan-out, which the worker does while it delivers.
//!
//! Any other difference, such as a path that is missing, ends the run.

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
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, ValueEnum};
use figures::Figures;
use support::program::Program;
use turns::Turns;

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
        let own = Program::own();
        match self {
            Self::Me => me::measure(figures, &own),
            Self::SignIn => sign_in::measure(figures, &own),
            Self::Hashing => hashing::measure(figures),
            Self::Codes => codes::measure(figures),
            Self::Limiter => limiter::measure(figures),
            Self::Timing => timing::measure(figures),
            Self::Drain => drain::measure(figures),
            Self::Callbacks => callbacks::measure(figures),
            Self::Publish => publish::measure(figures, &own),
            Self::Latency => latency::measure(figures, &own),
            Self::FanOut => fan_out::measure(figures),
            Self::Days => days::measure(figures),
            Self::Retention => retention::measure(figures),
            Self::Backlog => backlog::measure(figures),
            Self::Queue => queue::measure(figures),
            Self::Hang => hang::measure(figures, &own),
            Self::Neighbours => neighbours::measure(figures, &own),
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
            Self::Instructions => instructions::measure(figures, arguments.renew.as_deref()),
            Self::Simulation => simulation::measure(figures),
            Self::Soak => soak::measure(figures, arguments.minutes),
        }
    }

    /// What measures any edition's program, if all that it does comes from outside.
    fn on_any_program(self) -> Option<fn(&mut Figures, &Program)> {
        match self {
            Self::Me => Some(me::measure),
            Self::SignIn => Some(sign_in::measure),
            Self::Drain => Some(drain::measure_from_outside),
            Self::Callbacks => Some(callbacks::measure_from_outside),
            Self::Publish => Some(publish::measure),
            Self::Latency => Some(latency::measure),
            Self::FanOut => Some(fan_out::measure_from_outside),
            Self::Backlog => Some(backlog::measure_from_outside),
            Self::Hang => Some(hang::measure),
            Self::Neighbours => Some(neighbours::measure),
            Self::Cost => Some(cost::measure_from_outside),
            _ => None,
        }
    }

    /// The same; a benchmark that cannot do that is refused.
    fn must_measure_any_program(self) -> fn(&mut Figures, &Program) {
        self.on_any_program().unwrap_or_else(|| {
            let able = Self::value_variants().iter().filter(|bench| bench.on_any_program().is_some());
            let able = able.map(|bench| bench.name()).collect::<Vec<_>>().join(", ");
            let message =
                format!("{} needs more of the program than can be had from outside. With --beside, these run: {able}", self.name());
            Arguments::command().error(ErrorKind::ValueValidation, message).exit()
        })
    }

    fn name(self) -> String {
        self.to_possible_value().expect("no benchmark is hidden").get_name().to_owned()
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
    /// Benchmarks to run; by default all, or with --beside all that can
    names: Vec<Bench>,
    /// Measure in turns with this program, which another edition has built
    #[arg(long, value_name = "PROGRAM")]
    beside: Option<PathBuf>,
    /// How often each program has its turn, with --beside
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only check that the benchmarks work
    #[arg(long)]
    quick: bool,
    /// Write what the instructions are compared with anew, as the counts of this release
    #[arg(long, value_name = "RELEASE")]
    renew: Option<String>,
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
    let code = match &arguments.beside {
        Some(other) => in_turns(&arguments, other),
        None => alone(&arguments),
    };
    support::service::remove_first_data();
    code
}

fn alone(arguments: &Arguments) -> ExitCode {
    // Counting instructions needs a program that others can do without, so it is measured when it is named.
    let usual = Bench::value_variants().iter().copied().filter(|bench| *bench != Bench::Instructions);
    let names = if arguments.names.is_empty() { usual.collect() } else { arguments.names.clone() };
    let mut figures = Figures::new(arguments.quick);
    let mut times = Vec::new();
    for bench in names {
        let (watched, began) = (watch(bench, bench.time_limit(arguments)), Instant::now());
        bench.measure(&mut figures, arguments);
        drop(watched);
        times.push((began.elapsed(), bench));
    }
    times.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    println!();
    for (took, bench) in times {
        println!("{:6.1} s  {}", took.as_secs_f64(), bench.name());
    }
    figures.end()
}

/// Measures this program and another one.
fn in_turns(arguments: &Arguments, other: &Path) -> ExitCode {
    let able = Bench::value_variants().iter().copied().filter(|bench| bench.on_any_program().is_some());
    let names = if arguments.names.is_empty() { able.collect() } else { arguments.names.clone() };
    let benches: Vec<_> = names.into_iter().map(|bench| (bench, bench.must_measure_any_program())).collect();
    let mut turns = Turns::with(Program::other(other), arguments.rounds as usize, arguments.quick);
    for (bench, measure) in benches {
        turns.measure(|figures, program| {
            let watched = watch(bench, bench.time_limit(arguments));
            measure(figures, program);
            drop(watched);
        });
    }
    ExitCode::SUCCESS
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
