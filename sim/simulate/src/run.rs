//! One run, and what it came to.

use crate::faults::Faults;
use crate::plan::{SimulationPlan, pick_line, read_pick};
use gasnet::Rank;
use gasnet_sim::{Cause, Chooser, Cluster, CostModel, Executable, Failure, HeldStep, Pick, Report, Time};
use std::cell::RefCell;
use std::sync::Once;

/// How a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    Panic,
    /// A rank ended the job with this code.
    Exit(i32),
    Deadlock,
    TooLong,
    /// It could not start.
    NoStart,
    /// The process died by this signal.
    Signal(i32),
}

impl Ended {
    /// The exit status for it.
    pub(crate) fn status(self) -> i32 {
        match self {
            Ended::Well => 0,
            Ended::Panic => 101,
            Ended::Exit(code) => code,
            Ended::Deadlock => 125,
            Ended::TooLong => 124,
            Ended::NoStart => 1,
            Ended::Signal(signal) => 128 + signal,
        }
    }

    fn of(status: i32) -> Ended {
        match status {
            0 => Ended::Well,
            101 => Ended::Panic,
            125 => Ended::Deadlock,
            124 => Ended::TooLong,
            code @ 129..=192 => Ended::Signal(code - 128),
            code => Ended::Exit(code),
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunOutcome {
    pub(crate) ended: Ended,
    /// A sentence about it, and where in the program.
    pub(crate) text: String,
    pub(crate) place: String,
    pub(crate) micros: f64,
    pub(crate) events: u64,
    pub(crate) trace: u64,
    pub(crate) choices: u64,
    pub(crate) picks: Vec<Pick>,
    /// The same, as what has waited for what.
    pub(crate) holds: Vec<HeldStep>,
    /// The choice at which it stopped to repeat another run.
    pub(crate) differs: Option<u64>,
}

impl RunOutcome {
    /// One of which nothing is known but how it ended.
    pub(crate) fn bare(ended: Ended, text: String) -> RunOutcome {
        RunOutcome {
            ended,
            text,
            place: String::new(),
            micros: 0.0,
            events: 0,
            trace: 0,
            choices: 0,
            picks: Vec::new(),
            holds: Vec::new(),
            differs: None,
        }
    }

    /// Whether two runs have failed for the same reason, as far as one can see.
    pub(crate) fn fails_like(&self, other: &RunOutcome) -> bool {
        self.ended == other.ended && self.place == other.place
    }

    /// As text, for another process.
    pub(crate) fn encode(&self) -> String {
        let differs = self.differs.map_or(String::new(), |choice| choice.to_string());
        let line = |text: &str| text.replace('\n', "\u{1}");
        let mut text = format!(
            "{}\n{}\n{}\n{}\n{}\n{:x}\n{}\n{differs}\n",
            self.ended.status(),
            line(&self.text),
            line(&self.place),
            self.micros,
            self.events,
            self.trace,
            self.choices
        );
        self.picks.iter().for_each(|pick| text += &pick_line(pick));
        for hold in &self.holds {
            let words = hold.words().map(|word| word.to_string()).join(" ");
            text += &format!("hold {words}\n");
        }
        text + "end\n"
    }

    /// Reads it; `None` if it is not whole.
    pub(crate) fn decode(text: &str) -> Option<RunOutcome> {
        let mut lines = text.strip_suffix("end\n")?.lines();
        let line = |text: &str| text.replace('\u{1}', "\n");
        let mut next = || lines.next();
        let mut outcome = RunOutcome {
            ended: Ended::of(next()?.parse().ok()?),
            text: line(next()?),
            place: line(next()?),
            micros: next()?.parse().ok()?,
            events: next()?.parse().ok()?,
            trace: u64::from_str_radix(next()?, 16).ok()?,
            choices: next()?.parse().ok()?,
            differs: next()?.parse().ok(),
            picks: Vec::new(),
            holds: Vec::new(),
        };
        for line in lines {
            match line.split_once(' ')? {
                ("pick", rest) => outcome.picks.push(read_pick(rest)?),
                ("hold", rest) => outcome.holds.push(read_hold(rest)?),
                _ => return None,
            }
        }
        Some(outcome)
    }
}

fn read_hold(text: &str) -> Option<HeldStep> {
    let words: Vec<u32> = text.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    HeldStep::of_words(words.as_slice().try_into().ok()?)
}

/// Most events of a run: more mean that it does not end.
const MOST_EVENTS: u64 = 2_000_000_000;
/// Stacks of ranks.
const STACK_BYTES: usize = 1 << 20;
const STACK_BYTES_OF_MANY: usize = 256 << 10;

thread_local! {
    /// Where a simulated rank has panicked.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Notes where ranks panic; what others do is said as before.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |what| {
            if gasnet_sim::now().is_some() {
                let place =
                    what.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
                PLACE.set(place);
            } else {
                before(what);
            }
        }));
    });
}

/// What the ranks run, and in which vessel.
#[derive(Clone, Copy)]
pub(crate) enum Program<'a> {
    /// A closure, for coroutines of this process.
    Closure(&'a dyn Fn(&'static Rank)),
    /// An executable, for processes.
    Executable(&'a Executable),
}

/// Runs a program on all ranks of a plan.
pub(crate) fn run(
    plan: &SimulationPlan,
    seed: u64,
    chooser: Option<Chooser>,
    program: Program<'_>,
) -> RunOutcome {
    note_panics();
    PLACE.take();
    let Some(model) = CostModel::named(&plan.machine) else {
        return RunOutcome::bare(Ended::NoStart, format!("there is no machine {}", plan.machine));
    };
    // Thousands of endless runs are no use.
    let most = if chooser.is_some() { (plan.length * 200).max(1_000_000) } else { MOST_EVENTS };
    let cluster = Cluster::new(plan.ranks, model.clone())
        // Equal courses have equal traces, unless faults are drawn.
        .seed(if plan.faults == Faults::default() { 1 } else { seed })
        .network(plan.faults.network(&model))
        .hardships(plan.faults.hardships(plan.per_host))
        .per_host(plan.per_host)
        .survive(plan.survive)
        .chooser(chooser)
        .segment(plan.segment)
        .stack(if plan.ranks > 1024 { STACK_BYTES_OF_MANY } else { STACK_BYTES })
        .most_events(most)
        .longest_turn(Some(plan.longest_turn));
    let result = match program {
        Program::Closure(program) => cluster.run_for_good(program),
        Program::Executable(executable) => cluster.run_executable(executable).map(Report::without_results),
    };
    let (ended, text, place, time, events, trace, chooser) = match result {
        Ok(Report { time, stats, trace, chooser, .. }) => {
            (Ended::Well, String::new(), String::new(), time, stats.events, trace, chooser)
        }
        Err(failure) => {
            let Failure { time, events, trace, what, chooser, .. } = failure;
            let (ended, text) = say(&what, plan, time);
            let place = match what {
                Cause::Crash { place, .. } | Cause::Endless { place, .. } => place,
                Cause::Panic { place, .. } if !place.is_empty() => place,
                _ => PLACE.take(),
            };
            (ended, text, place, time, events, trace, chooser.map(|chooser| *chooser))
        }
    };
    RunOutcome {
        ended,
        text,
        place,
        micros: time.as_us(),
        events,
        trace,
        choices: chooser.as_ref().map_or(0, Chooser::choices),
        differs: chooser.as_ref().and_then(Chooser::differs),
        picks: chooser.as_ref().map_or(Vec::new(), |chooser| chooser.picks().to_vec()),
        holds: chooser.map_or(Vec::new(), |chooser| chooser.holds().to_vec()),
    }
}

/// How it ended, and a sentence about it.
fn say(what: &Cause, plan: &SimulationPlan, time: Time) -> (Ended, String) {
    match what {
        Cause::Panic { rank, text, .. } => (Ended::Panic, format!("rank {rank} panicked: {text}")),
        Cause::Ended { rank, code, text } if text.is_empty() => {
            (Ended::Exit(*code), format!("rank {rank} ended the job with {code}"))
        }
        Cause::Ended { rank, code, text } => {
            (Ended::Exit(*code), format!("rank {rank} ended the job with {code}: {text}"))
        }
        Cause::Crash { rank, signal, text, .. } => {
            (Ended::Signal(*signal), format!("rank {rank} crashed: {text} (signal {signal})"))
        }
        Cause::Endless { rank, .. } => {
            let seconds = plan.longest_turn.as_secs_f64();
            (Ended::TooLong, format!("rank {rank} has run for {seconds} s without calling the runtime"))
        }
        Cause::TooLong(events) => (Ended::TooLong, format!("it is not over after {events} events")),
        Cause::Start(text) => (Ended::NoStart, text.clone()),
        Cause::Deadlock(all) => {
            let mut text = format!("deadlock at {time}: {} ranks wait and nothing is under way", all.len());
            for w in all.iter().take(8) {
                text += &format!("\n    rank {} waits for {}", w.rank, w.why);
                if !w.place.is_empty() {
                    text += &format!(" ({})", w.place);
                }
            }
            if all.len() > 8 {
                text += &format!("\n    and {} more", all.len() - 8);
            }
            (Ended::Deadlock, text)
        }
    }
}
