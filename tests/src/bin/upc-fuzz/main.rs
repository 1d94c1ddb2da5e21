//! Feeds small units, damaged or made up, to the compiler's front end, in this process, as fast as it reads
//! them.

mod arena;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gasnet_tests::upc_fuzz::{Room, Stage, Stock, attempt};

const USAGE: &str =
    "usage: upc-fuzz [--programs DIR] [--seed N] [--count N] [--seconds N] [--jobs N] [--every N] [--print N]
  --seed N      number of the first input (default: from the clock); the others follow
  --count N     how many inputs (default 100000)
  --seconds N   go on for that long instead
  --jobs N      threads (default 1)
  --every N     say every N seconds how far it is
  --print N     print N inputs from the seed on, and how far each gets, and stop";

/// Longest time of the processor for one input, and the most memory for the process.
const LIMIT: Duration = Duration::from_secs(10);
const MEMORY_KB: u64 = 256 << 10;

/// Inputs of a thread at a time.
const PORTION: u64 = 256;

struct Options {
    programs: PathBuf,
    seed: u64,
    count: u64,
    seconds: Option<u64>,
    jobs: u64,
    every: Option<u64>,
    print: u64,
}

#[global_allocator]
static ALLOCATOR: arena::Arena = arena::Arena;

/// The number of the input that a thread works on, plus one (0: none).
type CurrentInput = AtomicU64;

/// The results of all threads.
#[derive(Default)]
struct Tally {
    stages: [AtomicU64; 5],
    failed: AtomicU64,
    bytes: AtomicU64,
    distinct: Mutex<Distinct>,
}

impl Tally {
    fn done(&self) -> u64 {
        self.stages.iter().map(|n| n.load(Ordering::Relaxed)).sum::<u64>()
            + self.failed.load(Ordering::Relaxed)
    }

    fn join(&self, distinct: &Distinct) {
        if let Ok(mut all) = self.distinct.lock() {
            all.join(distinct);
        }
    }

    /// `120000 inputs from 1, 0 failed, ...`
    fn summary(&self, options: &Options, start: Instant) -> String {
        let (done, failed) = (self.done(), self.failed.load(Ordering::Relaxed));
        let reached = |stage: Stage| {
            let there: u64 = self.stages[stage as usize..].iter().map(|n| n.load(Ordering::Relaxed)).sum();
            100.0 * there as f64 / done.max(1) as f64
        };
        let distinct = self.distinct.lock().map_or(0.0, |d| d.estimate());
        let seconds = start.elapsed().as_secs_f64();
        format!(
            "{done} inputs from {}, {failed} failed, at most {} kB, {seconds:.1} s, {:.1} s of the processor; {:.0} bytes each, some {:.1} % \
             distinct; all tokens good {:.1} %, syntax good {:.1} %, accepted {:.1} %, emitted {:.1} %",
            options.seed,
            memory_kb(),
            processor_time().as_secs_f64(),
            self.bytes.load(Ordering::Relaxed) as f64 / done.max(1) as f64,
            (100.0 * distinct / done.max(1) as f64).min(100.0),
            reached(Stage::Lexed),
            reached(Stage::Parsed),
            reached(Stage::Accepted),
            reached(Stage::Emitted),
        )
    }
}

/// Estimates how many different texts there were, by the rarest hashes of 2^14 groups (HyperLogLog; within 1
/// or 2 %).
struct Distinct(Vec<u8>);

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct(vec![0; 1 << 14])
    }
}

impl Distinct {
    fn add(&mut self, text: &str) {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        let rest = rest.iter().fold(1, |word, &b| word << 8 | u64::from(b));
        for word in words.iter().map(|w| u64::from_le_bytes(*w)).chain([rest]) {
            hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 29;
        }
        hash = (hash ^ hash >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^= hash >> 33;
        let group = &mut self.0[(hash >> 50) as usize];
        *group = (*group).max((hash << 14).leading_zeros().min(50) as u8 + 1);
    }

    fn join(&mut self, other: &Distinct) {
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*other);
        }
    }

    fn estimate(&self) -> f64 {
        let m = self.0.len() as f64;
        let raw =
            0.7213 / (1.0 + 1.079 / m) * m * m / self.0.iter().map(|&r| 0.5f64.powi(r.into())).sum::<f64>();
        let empty = self.0.iter().filter(|&&r| r == 0).count();
        if raw < 2.5 * m && empty > 0 { m * (m / empty as f64).ln() } else { raw }
    }
}

/// The state that the threads share.
struct Run<'a> {
    options: &'a Options,
    stock: &'a Stock,
    start: Instant,
    /// The next input, counted from 0, that no thread has.
    next: AtomicU64,
    /// Threads that have not ended.
    running: AtomicU64,
    tally: Tally,
    /// One for each thread.
    current: Vec<CurrentInput>,
}

impl Run<'_> {
    fn is_over(&self, first: u64) -> bool {
        match self.options.seconds {
            Some(seconds) => self.start.elapsed() >= Duration::from_secs(seconds),
            None => first >= self.options.count,
        }
    }

    /// Feeds inputs, until it is over.
    fn feed(&self, current: &CurrentInput) {
        let (options, stock, tally) = (self.options, self.stock, &self.tally);
        let mut room = Room::default();
        // The first attempt allocates the objects that stay for the whole run.
        drop(attempt(stock.input(0, &mut room), 0));
        let mut distinct = Distinct::default();
        loop {
            // In portions, for the clock's sake.
            let first = self.next.fetch_add(PORTION, Ordering::Relaxed);
            if self.is_over(first) {
                break;
            }
            for number in options.seed + first..options.seed + first + PORTION {
                current.store(number + 1, Ordering::Relaxed);
                let text = stock.input(number, &mut room);
                distinct.add(text);
                tally.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
                match arena::within(|| attempt(text, number)) {
                    Ok(stage) => _ = tally.stages[stage as usize].fetch_add(1, Ordering::Relaxed),
                    Err(why) => {
                        tally.failed.fetch_add(1, Ordering::Relaxed);
                        println!("FAILED input {number}: {why} (upc-fuzz --seed {number} --print 1)");
                    }
                }
            }
            if first / PORTION % 64 == 63 {
                tally.join(&distinct);
            }
        }
        tally.join(&distinct);
        current.store(0, Ordering::Relaxed);
    }

    /// Ends the process if an input takes too long, or the memory grows; reports now and then.
    fn watch(&self) {
        // Each thread's input when it was looked at last, and the processor time of the process then.
        let mut seen: Vec<(u64, Duration)> = vec![(0, Duration::ZERO); self.current.len()];
        let mut told = 0;
        while self.running.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(Duration::from_millis(200));
            let now = processor_time();
            for (current, seen) in self.current.iter().zip(&mut seen) {
                let input = current.load(Ordering::Relaxed);
                if input != seen.0 {
                    *seen = (input, now);
                } else if input > 0 && now.saturating_sub(seen.1) > LIMIT * self.options.jobs as u32 {
                    println!("FAILED input {}: no end after {} s", input - 1, LIMIT.as_secs());
                    std::process::exit(1);
                }
            }
            if memory_kb() > MEMORY_KB {
                let inputs: Vec<u64> = self.current.iter().map(|c| c.load(Ordering::Relaxed)).collect();
                println!("FAILED: {} kB of memory, near inputs {inputs:?}", memory_kb());
                std::process::exit(1);
            }
            if let Some(every) = self.options.every
                && self.start.elapsed().as_secs() / every.max(1) > told
            {
                told = self.start.elapsed().as_secs() / every.max(1);
                println!("{}", self.tally.summary(self.options, self.start));
            }
        }
    }
}

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
    if options.print > 0 {
        upcc::front::on_big_stack(|| print(&options, &stock));
        return ExitCode::SUCCESS;
    }
    // A panic is reported with the input that caused it.
    std::panic::set_hook(Box::new(|info| eprintln!("{info}")));
    let run = Run {
        options: &options,
        stock: &stock,
        start: Instant::now(),
        next: AtomicU64::new(0),
        running: AtomicU64::new(options.jobs),
        tally: Tally::default(),
        current: (0..options.jobs).map(|_| CurrentInput::default()).collect(),
    };
    std::thread::scope(|scope| {
        for current in &run.current {
            let run = &run;
            scope.spawn(move || {
                upcc::front::on_big_stack(|| run.feed(current));
                run.running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        run.watch();
    });
    println!("{}", run.tally.summary(&options, run.start));
    if run.tally.failed.load(Ordering::Relaxed) == 0 && run.tally.done() > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn print(options: &Options, stock: &Stock) {
    let mut room = Room::default();
    for number in options.seed..options.seed + options.print {
        let text = stock.input(number, &mut room);
        println!("{text}");
        println!("---- {number}: {:?}", attempt(text, number));
    }
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
    // After the name in parentheses: user and system time are the 12th and 13th field, in hundredths of a
    // second.
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
        every: None,
        print: 0,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("programs") => options.programs = parser.value()?.into(),
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("count") => options.count = parser.value()?.parse()?,
            Long("seconds") => options.seconds = Some(parser.value()?.parse()?),
            Long("jobs") => options.jobs = parser.value()?.parse::<u64>()?.max(1),
            Long("every") => options.every = Some(parser.value()?.parse()?),
            Long("print") => options.print = parser.value()?.parse()?,
            Long("help") => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_texts_are_counted() {
        let mut some = Distinct::default();
        for n in 0..300_000u64 {
            some.add(&format!("int x = {};", n % 100_000));
        }
        assert!((some.estimate() / 100_000.0 - 1.0).abs() < 0.05, "{}", some.estimate());
    }
}
