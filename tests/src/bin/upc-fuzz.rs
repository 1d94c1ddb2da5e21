//! Feeds damaged sources to the compiler's front end, in this process, as fast as it reads them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gasnet_tests::upc_fuzz::{Stock, attempt};

const USAGE: &str =
    "usage: upc-fuzz [--programs DIR] [--seed N] [--count N] [--seconds N] [--jobs N] [--print]
  --seed N      number of the first input (default: from the clock); the others follow
  --count N     how many inputs (default 100000)
  --seconds N   go on for that long instead
  --jobs N      threads (default 1)
  --print       print the input of the seed and stop";

/// Longest time of the processor for one input, and the most memory for the process.
const LIMIT: Duration = Duration::from_secs(10);
const MEMORY_KB: u64 = 1 << 20;

struct Options {
    programs: PathBuf,
    seed: u64,
    count: u64,
    seconds: Option<u64>,
    jobs: u64,
    print: bool,
}

/// What a thread is at: input number plus one (0: nothing).
type Place = AtomicU64;

fn main() -> ExitCode {
    let (options, stock) = match options().map_err(|e| e.to_string()).and_then(|o| {
        let stock = Stock::new(&o.programs)?;
        Ok((o, stock))
    }) {
        Ok(both) => both,
        Err(problem) => {
            eprintln!("upc-fuzz: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.print {
        print!("{}", stock.input(options.seed));
        return ExitCode::SUCCESS;
    }
    // A panic is reported with the input that caused it.
    std::panic::set_hook(Box::new(|info| eprintln!("{info}")));
    let start = Instant::now();
    let (next, failed, running) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(options.jobs));
    let places: Vec<Place> = (0..options.jobs).map(|_| Place::default()).collect();
    let over = || options.seconds.is_some_and(|s| start.elapsed() >= Duration::from_secs(s));
    std::thread::scope(|scope| {
        for place in &places {
            let (options, stock, next, failed, running, over) =
                (&options, &stock, &next, &failed, &running, &over);
            scope.spawn(move || {
                upcc::ast::on_big_stack(|| {
                    loop {
                        // In portions, for the clock's sake.
                        let first = next.fetch_add(256, Ordering::Relaxed);
                        if over() || options.seconds.is_none() && first >= options.count {
                            break;
                        }
                        for number in options.seed + first..options.seed + first + 256 {
                            place.store(number + 1, Ordering::Relaxed);
                            let text = stock.input(number);
                            if let Err(why) = attempt(&text, number) {
                                failed.fetch_add(1, Ordering::Relaxed);
                                println!("FAILED input {number}: {why} (upc-fuzz --seed {number} --print)");
                            }
                        }
                    }
                    place.store(0, Ordering::Relaxed);
                });
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        // Each thread's input when it was looked at last, and the processor time of the process then.
        let mut seen: Vec<(u64, Duration)> = vec![(0, Duration::ZERO); places.len()];
        while running.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(Duration::from_millis(200));
            let now = processor_time();
            for (place, seen) in places.iter().zip(&mut seen) {
                let input = place.load(Ordering::Relaxed);
                if input != seen.0 {
                    *seen = (input, now);
                } else if input > 0 && now.saturating_sub(seen.1) > LIMIT * options.jobs as u32 {
                    println!("FAILED input {}: no end after {} s", input - 1, LIMIT.as_secs());
                    std::process::exit(1);
                }
            }
            if memory_kb() > MEMORY_KB {
                let inputs: Vec<u64> = places.iter().map(|p| p.load(Ordering::Relaxed)).collect();
                println!("FAILED: {} kB of memory, near inputs {inputs:?}", memory_kb());
                std::process::exit(1);
            }
        }
    });
    let done = next.load(Ordering::Relaxed).saturating_sub(256 * options.jobs);
    let (bad, seconds) = (failed.load(Ordering::Relaxed), start.elapsed().as_secs_f64());
    println!("{done} inputs from {}, {bad} failed, at most {} kB, {seconds:.1} s", options.seed, memory_kb());
    if bad == 0 && done > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The most memory this process has had.
fn memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Processor time of this process: on a busy machine the clock would blame the input for it.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses: user and system time are the 12th and 13th field, in hundredths of a second.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_secs());
    let mut options = Options {
        programs: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("upc"),
        seed: clock * 1_000_000,
        count: 100_000,
        seconds: None,
        jobs: 1,
        print: false,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("programs") => options.programs = parser.value()?.into(),
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("count") => options.count = parser.value()?.parse()?,
            Long("seconds") => options.seconds = Some(parser.value()?.parse()?),
            Long("jobs") => options.jobs = parser.value()?.parse::<u64>()?.max(1),
            Long("print") => options.print = true,
            Long("help") => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(options)
}
