//! `virtual-deaths --kills N [--seed S] [--minutes M]`: jobs of two to six simulated ranks, of which some are
//! killed, each at any event. Those that are left shrink their world and finish the work; what they compute
//! is compared. A death before the first attempt ends the job, and must be told as what it is.
//!
//! All of a run follows from its seed: `--only SEED` repeats one, with its outcome.

use gasnet_sim::{Chooser, Cluster, CostModel, Explore, Failure, Hardships, Moment};
use lexopt::prelude::*;
use pgas::{Layout, World};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Runs of a process, since their ranks stay until it ends.
const RUNS: u64 = 100;
/// Steps of a program.
const STEPS: u64 = 3;
const ITEMS: u64 = 40;
/// An order that is not fair to a rank makes loops of other ranks long.
const MOST_EVENTS: u64 = 2_000_000;

/// What a step does beside adding up.
#[derive(Debug, Clone, Copy)]
enum Work {
    Barriers,
    Reductions,
    Calls,
    Sends,
    Arrays,
    Teams,
    Copies,
}

const WORKS: [Work; 7] =
    [Work::Barriers, Work::Reductions, Work::Calls, Work::Sends, Work::Arrays, Work::Teams, Work::Copies];

fn item(step: u64, i: u64) -> u64 {
    (step << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// The sum of a step, which all ranks of the world compute together.
fn sum_of(step: u64) -> u64 {
    (0..ITEMS).fold(0, |sum, i| sum.wrapping_add(item(step, i)))
}

fn step(world: World, step: u64, work: Work) -> u64 {
    let (me, size) = (u64::from(world.rank()), u64::from(world.size()));
    let mine = || (me..ITEMS).step_by(size as usize).fold(0u64, |sum, i| sum.wrapping_add(item(step, i)));
    let right = (world.rank() + 1) % world.size();
    match work {
        Work::Barriers => (0..4).for_each(|_| world.barrier()),
        Work::Reductions => {
            let all = world.gather_all(me);
            assert_eq!(all, (0..size).collect::<Vec<_>>());
            assert_eq!(world.broadcast(0, me + 7), 7);
        }
        Work::Calls => {
            assert_eq!(world.call(right, |_, n: u64| n ^ 1, me).wait(), me ^ 1);
            let long = world.call(right, |_, words: Vec<u64>| words, vec![me; 2000]).wait();
            assert_eq!(long, vec![me; 2000]);
        }
        Work::Sends => {
            world.ranks().for_each(|rank| world.send(rank, |_, n: u64| assert!(n > 0), step + 1));
            world.settle();
        }
        Work::Arrays => {
            let mut array = world.array::<u64>(ITEMS as usize, Layout::Block);
            array.exchange(|all| {
                (me..ITEMS).step_by(size as usize).for_each(|i| all.put(i as usize, item(step, i)));
            });
            let here = array.local(|part| part.iter().fold(0u64, |sum, n| sum.wrapping_add(*n)));
            return world.reduce(here, u64::wrapping_add);
        }
        Work::Teams => {
            let half = world.all().split(Some(world.rank() % 2), 0).expect("a member");
            half.barrier();
            let sum = half.reduce(mine(), u64::wrapping_add);
            let first = half.member() == 0;
            return world.reduce(if first { sum } else { 0 }, u64::wrapping_add);
        }
        Work::Copies => {
            let mut array = world.array::<u64>(ITEMS as usize, Layout::Cyclic);
            array.update(|all| (0..ITEMS as usize).for_each(|i| all.add(i, 1)));
            let counts = array.read(|all| (0..ITEMS as usize).all(|i| all.get(i) == size));
            assert!(counts, "every rank has added one to every element");
        }
    }
    world.reduce(mine(), u64::wrapping_add)
}

/// The work of a rank: the worlds that it was in, and the size of the last one.
fn life(first: World, works: [Work; STEPS as usize]) -> (u32, u32) {
    let (mut world, mut at, mut fresh) = (first, 0, true);
    while at < STEPS {
        let tried = world.attempt(|world| {
            // Some may have finished a step that others have to repeat.
            let at = if fresh { world.reduce(at, u64::min) } else { at };
            (at, step(world, at, works[at as usize]))
        });
        match tried {
            Ok((done, sum)) => {
                assert_eq!(sum, sum_of(done), "step {done} in world {}", world.epoch());
                (at, fresh) = (done + 1, false);
            }
            Err(died) => {
                assert!(!died.ranks.is_empty() && died.epoch == world.epoch(), "{died:?}");
                (world, fresh) = (world.shrink(), true);
            }
        }
    }
    (world.epoch(), world.size())
}

/// A job that follows from a seed.
#[derive(Debug)]
struct Job {
    seed: u64,
    ranks: u32,
    per_host: u32,
    order: Option<&'static str>,
    works: [Work; STEPS as usize],
    kills: Vec<(u32, u64)>,
}

impl Job {
    fn of(seed: u64) -> Job {
        let mut random = fastrand::Rng::with_seed(seed);
        let ranks = random.u32(2..=6);
        let orders = [None, None, Some("random"), Some("pos"), Some("pctcp:3"), Some("delay:3")];
        let order = orders[random.usize(..orders.len())];
        let works = core::array::from_fn(|_| WORKS[random.usize(..WORKS.len())]);
        let mut victims: Vec<u32> = (0..ranks).collect();
        random.shuffle(&mut victims);
        let number = if random.bool() { ranks - 1 } else { random.u32(1..ranks) } as usize;
        let close = random.bool();
        // The deaths of a job are close to each other, or anywhere.
        let (first, apart) = (random.u64(..(150 * u64::from(ranks)).max(1)), 1 << random.u32(1..10));
        let event = |random: &mut fastrand::Rng| {
            if close { first + random.u64(..apart) } else { random.u64(..250 * u64::from(ranks)) }
        };
        let kills = victims.into_iter().take(number).map(|rank| (rank, event(&mut random))).collect();
        let per_host = if random.u32(..4) == 0 { 2 } else { 1 };
        Job { seed, ranks, per_host, order, works, kills }
    }

    /// Runs it; returns how many ranks were killed, and whether the job has survived them.
    fn run(&self) -> Result<(u64, bool), String> {
        let kills = self.kills.iter().map(|(rank, event)| (*rank, Moment::Event(*event))).collect();
        let chooser = self.order.and_then(|order| {
            let explore = Explore::named(order)?;
            Chooser::new(explore, self.seed, 400)
        });
        let works = self.works;
        let report = Cluster::new(self.ranks, CostModel::modern_ib())
            .seed(self.seed)
            .per_host(self.per_host)
            .chooser(chooser)
            .most_events(MOST_EVENTS)
            .hardships(Hardships { kills, ..Hardships::default() })
            .survive(true)
            .run_for_good(|rank| pgas::run_on(rank, |world| life(world, works)));
        match report {
            Ok(report) => {
                let left = report.results.len() as u64;
                let died = u64::from(self.ranks) - left;
                match left >= 1 && died <= self.kills.len() as u64 {
                    true => Ok((died, true)),
                    false => Err(format!("{left} ranks are left")),
                }
            }
            Err(failure) => self.ends_well(&failure),
        }
    }

    /// Whether a job that has failed says that a rank has died that was killed.
    fn ends_well(&self, failure: &Failure) -> Result<(u64, bool), String> {
        let text = failure.to_string();
        let told = |(rank, _): &(u32, u64)| {
            text.contains(&format!("rank {rank} has died")) || text.contains(&format!("needs rank {rank}"))
        };
        if self.kills.iter().any(told) { Ok((1, false)) } else { Err(text) }
    }
}

/// Runs these seeds in this process; prints what they have done.
fn batch(first: u64, runs: u64) {
    let (mut died, mut survived) = (0, 0);
    for seed in first..first + runs {
        let job = Job::of(seed);
        match job.run() {
            Ok((killed, lived)) => (died, survived) = (died + killed, survived + u64::from(lived)),
            Err(why) => println!("WRONG {job:?}: {why}"),
        }
    }
    println!("DONE {died} {survived}");
}

fn main() -> ExitCode {
    let (mut kills, mut seed, mut time, mut only, mut of_batch) = (1000u64, 1u64, None, None, None);
    let mut parser = lexopt::Parser::from_env();
    let mut read = || -> Result<(), lexopt::Error> {
        while let Some(word) = parser.next()? {
            match word {
                Long("kills") => kills = parser.value()?.parse()?,
                Long("seed") => seed = parser.value()?.parse()?,
                Long("minutes") => time = Some(Duration::from_secs(60 * parser.value()?.parse::<u64>()?)),
                Long("only") => only = Some(parser.value()?.parse::<u64>()?),
                Long("batch") => of_batch = Some(parser.value()?.parse::<u64>()?),
                _ => return Err(word.unexpected()),
            }
        }
        Ok(())
    };
    if let Err(why) = read() {
        eprintln!("virtual-deaths: {why}");
        return ExitCode::from(2);
    }
    if let Some(first) = of_batch {
        batch(first, RUNS);
        return ExitCode::SUCCESS;
    }
    if let Some(seed) = only {
        let job = Job::of(seed);
        println!("{job:?}: {:?}", job.run());
        return ExitCode::SUCCESS;
    }
    let begun = Instant::now();
    let (mut died, mut survived, mut runs, mut wrong, mut first) = (0, 0, 0, 0, seed << 32);
    while died < kills && time.is_none_or(|time| begun.elapsed() < time) {
        let program = std::env::current_exe().expect("this program");
        let outcome = Command::new(program)
            .args(["--batch", &first.to_string()])
            .env("RUST_BACKTRACE", "0")
            .output()
            .expect("a process");
        let text = String::from_utf8_lossy(&outcome.stdout);
        let done = text.lines().find_map(|line| line.strip_prefix("DONE "));
        let numbers: Vec<u64> =
            done.into_iter().flat_map(str::split_whitespace).filter_map(|n| n.parse().ok()).collect();
        for line in text.lines().filter(|line| !line.starts_with("DONE")) {
            wrong += u64::from(line.starts_with("WRONG"));
            println!("{line}");
        }
        match numbers[..] {
            [killed, lived] => (died, survived) = (died + killed, survived + lived),
            _ => {
                wrong += 1;
                let errors = String::from_utf8_lossy(&outcome.stderr);
                println!("WRONG: the seeds from {first} on end with {}: {errors}", outcome.status);
            }
        }
        (runs, first) = (runs + RUNS, first + RUNS);
        if runs % (50 * RUNS) == 0 {
            let rate = died as f64 / begun.elapsed().as_secs_f64();
            println!(
                "{died} deaths in {runs} jobs, {survived} survived, {wrong} wrong, {rate:.0} deaths a second"
            );
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{died} deaths in {runs} jobs, {survived} survived, {wrong} wrong, {seconds:.0} s");
    ExitCode::from(u8::from(wrong > 0))
}
