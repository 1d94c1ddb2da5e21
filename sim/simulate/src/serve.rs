//! A program that `gasnetrun --simulate` has started: it becomes the simulator of all its ranks.
#![expect(unsafe_code, reason = "copies a closure of no bytes; forks")]

use crate::plan::{CHOICES, SimulationPlan, choices, pick_line};
use crate::program::{TAKES_CLOSURE, Vessel};
use crate::run::{Ended, Program, RunOutcome, run};
use crate::shrink::{self, Repetition, thousands};
use core::mem::{ManuallyDrop, needs_drop, size_of};
use gasnet::Rank;
use gasnet_sim::{Chooser, Executable};
use gasnet_vessel::PLAN;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Longest time of one run among many.
const LONGEST_RUN: Duration = Duration::from_secs(120);

/// A program that can be run by many ranks, if it has captured nothing.
fn for_all_ranks<F: FnOnce(&'static Rank)>(body: F) -> Option<impl Fn(&'static Rank)> {
    if size_of::<F>() != 0 || needs_drop::<F>() {
        return None;
    }
    let body = ManuallyDrop::new(body);
    Some(move |rank| {
        // SAFETY: a value of no bytes is read anywhere, and none is taken away by it: nothing is dropped with
        // it. A closure that owns no bytes has nothing that two ranks could not both have; only a token that
        // the program made to exist once could, and a program has it once in each of its ranks' processes.
        let body = unsafe { core::ptr::read(&raw const *body) };
        body(rank);
    })
}

/// Simulates this program as asked; returns the exit status.
pub fn serve<F: FnOnce(&'static Rank)>(body: F) -> i32 {
    core::hint::black_box(TAKES_CLOSURE);
    let mut text = std::env::var(PLAN).unwrap_or_default();
    if let Some(file) = std::env::var_os(CHOICES) {
        match std::fs::read_to_string(&file) {
            Ok(read) => text += &choices(&read),
            Err(why) => return refuse(&format!("{}: {why}", file.display())),
        }
    }
    let plan = match SimulationPlan::read(&text) {
        Ok(plan) => plan,
        Err(why) => return refuse(&format!("what is to be simulated: {why}")),
    };
    match for_all_ranks(body) {
        Some(program) => simulate(&plan, Program::Closure(&program)),
        // It holds what it has captured, so it cannot be called for each rank. Processes each make their own.
        None => {
            if let Err(why) = plan.check_processes("the closure that is given to `run` captures something") {
                return refuse(&why);
            }
            let program = std::env::current_exe().unwrap_or_default();
            let arguments = std::env::args_os().skip(1).collect();
            simulate(&plan, Program::Executable(&Executable { program, arguments, debugged: None }))
        }
    }
}

/// Simulates a program as asked; returns the exit status.
pub(crate) fn simulate(plan: &SimulationPlan, program: Program<'_>) -> i32 {
    if plan.again.is_some() || plan.runs == 1 { once(plan, program) } else { explore(plan, program) }
}

fn refuse(why: &str) -> i32 {
    eprintln!("gasnetrun: {why}");
    2
}

/// One run, in this process, with its output.
fn once(plan: &SimulationPlan, program: Program<'_>) -> i32 {
    let chooser = plan.chooser(plan.seed, plan.length);
    let outcome = run(plan, plan.seed, chooser, program);
    drop(std::io::stdout().flush());
    let RunOutcome { micros, events, trace, .. } = outcome;
    let machine = &plan.machine;
    if let Some(choice) = outcome.differs {
        eprintln!(
            "gasnetrun: choice {choice} is not that of the run to repeat: the program has changed, or what it does depends on more than the order of events"
        );
    } else if let Some((_, before)) = &plan.again
        && *before != trace
    {
        eprintln!("gasnetrun: the run is not the one to repeat: trace {trace:016x} and not {before:016x}");
    }
    if outcome.ended == Ended::Well {
        let events = thousands(events);
        eprintln!(
            "gasnetrun: {} ranks on {machine}, seed {}: {micros:.3} us, {events} events, trace {trace:016x}",
            plan.ranks, plan.seed
        );
        return 0;
    }
    if outcome.ended == Ended::NoStart {
        eprintln!("gasnetrun: the simulation does not start: {}", outcome.text);
        return outcome.ended.status();
    }
    let place = if outcome.place.is_empty() { String::new() } else { format!(" ({})", outcome.place) };
    eprintln!(
        "gasnetrun: seed {} fails at {micros:.3} us: {}{place}, trace {trace:016x}",
        plan.seed, outcome.text
    );
    outcome.ended.status()
}

/// Many runs, each in a process of its own, until one fails.
fn explore(plan: &SimulationPlan, program: Program<'_>) -> i32 {
    let began = Instant::now();
    let mut plan = plan.clone();
    let mut traces = HashSet::new();
    let mut choices = 0;
    // By the costs, to learn how long a run is.
    let first = apart(&|| run(&plan, plan.seed, Some(Chooser::again(Vec::new(), false)), program));
    if first.ended != Ended::Well {
        return found(&plan, plan.seed, &first, program, began.elapsed());
    }
    plan.length = first.choices.max(1);
    let mut runs = 0;
    for seed in plan.seeds() {
        if plan.time.is_some_and(|limit| began.elapsed() >= limit) {
            break;
        }
        let outcome = apart(&|| run(&plan, seed, plan.chooser(seed, plan.length), program));
        traces.insert(outcome.trace);
        choices += outcome.choices;
        if outcome.ended != Ended::Well {
            return found(&plan, seed, &outcome, program, began.elapsed());
        }
        runs += 1;
    }
    if runs == 0 {
        eprintln!(
            "gasnetrun: no seed was tried: the first run, in the order of the costs, took {:.1} s, and --for was over. Give more time",
            began.elapsed().as_secs_f64()
        );
        return Ended::TooLong.status();
    }
    ended_well(&plan, runs, traces.len(), choices, began)
}

fn ended_well(plan: &SimulationPlan, runs: u64, courses: usize, choices: u64, began: Instant) -> i32 {
    let (runs, courses, choices) = (thousands(runs), thousands(courses as u64), thousands(choices));
    let (seconds, how) = (began.elapsed().as_secs_f64(), plan.how());
    eprintln!(
        "gasnetrun: {runs} seeds of {} ranks end well ({}, {how}): {courses} different courses, {choices} choices, {seconds:.1} s",
        plan.ranks, plan.machine
    );
    0
}

/// A run has failed: makes it small, writes the file that repeats it, and says so.
fn found(
    plan: &SimulationPlan,
    seed: u64,
    outcome: &RunOutcome,
    program: Program<'_>,
    took: Duration,
) -> i32 {
    let mut again = |order: Repetition<'_>| apart(&|| run(plan, seed, Some(order.chooser()), program));
    let small = if outcome.trace == 0 {
        // Its choices have ended with the process; the seed repeats them.
        shrink::Small::default()
    } else {
        shrink::shrink(outcome, &mut again)
    };
    let name = format!("{}-{seed}.sim", plan.name);
    let (vessel, program) = match program {
        Program::Closure(_) => (Vessel::Closure, std::env::args_os().next().unwrap_or_default()),
        Program::Executable(executable) => (Vessel::Process, executable.program.clone().into()),
    };
    let text = file(plan, seed, vessel, outcome, &small);
    let how = match std::fs::write(&name, text) {
        Ok(()) => format!("gasnetrun --simulate --again {name} {}", program.display()),
        Err(why) => {
            eprintln!("gasnetrun: {name}: {why}");
            format!("gasnetrun --simulate --seed {seed} and the same options")
        }
    };
    eprintln!("gasnetrun: {}", shrink::report(plan, seed, outcome, &small, &how, took));
    outcome.ended.status()
}

/// The file that repeats a run, made small if that is possible.
fn file(
    plan: &SimulationPlan,
    seed: u64,
    vessel: Vessel,
    outcome: &RunOutcome,
    small: &shrink::Small,
) -> String {
    let vessel = Some(vessel);
    let one = SimulationPlan { seed, runs: 1, time: None, explore: Some(plan.how()), vessel, ..plan.clone() };
    let mut text = one.text();
    let (status, said) = (outcome.ended.status(), outcome.text.replace('\n', ";"));
    text += &format!("ended {status} {said}\n");
    if let Some(run) = &small.outcome {
        text += &format!("trace {:x}\n", run.trace);
        small.holds.iter().for_each(|hold| text += &format!("cause {hold}\n"));
        run.picks.iter().for_each(|pick| text += &pick_line(pick));
    }
    text
}

/// Makes a run in a child: statics, hash seeds and crashes of one cannot reach another. Its output is lost.
fn apart(work: &dyn Fn() -> RunOutcome) -> RunOutcome {
    let failed =
        |what: &str| RunOutcome::bare(Ended::NoStart, format!("{what}: {}", std::io::Error::last_os_error()));
    let mut ends = [0; 2];
    // SAFETY: two descriptors, which the call fills in.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return failed("a pipe for the result");
    }
    // SAFETY: new descriptors, nobody else's.
    let [reader, writer] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    // SAFETY: this process has one thread: simulations have ended with their watchdogs.
    let child = unsafe { libc::fork() };
    match child {
        -1 => failed("a process for a run"),
        0 => {
            drop(reader);
            // SAFETY: a number: no run outlives who has asked for it.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            if let Ok(null) = File::options().write(true).open("/dev/null") {
                // SAFETY: replaces what this child prints to.
                unsafe {
                    libc::dup2(null.as_raw_fd(), 1);
                    libc::dup2(null.as_raw_fd(), 2);
                }
            }
            let outcome = work();
            let sent = File::from(writer).write_all(outcome.encode().as_bytes());
            // SAFETY: ends the child without what the parent has to do at its end.
            unsafe { libc::_exit(i32::from(sent.is_err())) }
        }
        child => {
            drop(writer);
            collect(child, reader)
        }
    }
}

/// Waits for a child's outcome.
fn collect(child: libc::pid_t, reader: OwnedFd) -> RunOutcome {
    let began = Instant::now();
    let (mut text, mut late) = (Vec::new(), false);
    let mut reader = File::from(reader);
    let mut buffer = [0; 1 << 16];
    loop {
        let mut poll = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let left = LONGEST_RUN.saturating_sub(began.elapsed()).as_millis() as i32;
        // SAFETY: one descriptor, open.
        if unsafe { libc::poll(&raw mut poll, 1, left) } == 0 {
            late = true;
            // SAFETY: a child that nobody has waited for yet.
            unsafe { libc::kill(child, libc::SIGKILL) };
            break;
        }
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => text.extend_from_slice(&buffer[..n]),
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let mut status = 0;
    // SAFETY: as above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    if late {
        let seconds = LONGEST_RUN.as_secs();
        return RunOutcome::bare(Ended::TooLong, format!("it is not over after {seconds} s"));
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        return RunOutcome::bare(Ended::Signal(signal), format!("a rank crashed: signal {signal}"));
    }
    let outcome = String::from_utf8(text).ok().and_then(|text| RunOutcome::decode(&text));
    outcome.unwrap_or_else(|| {
        RunOutcome::bare(Ended::Exit(libc::WEXITSTATUS(status)), "a rank ended the process by itself".into())
    })
}
