//! Choices: which of the things that can happen next does.
//!
//! Without a [`Chooser`] the course of a simulation is that of its costs. With one, whatever is about to
//! happen to the ranks may happen first: a rank that is ready goes on, a packet arrives. Every call of the
//! runtime that takes time is a point at which a rank may be overtaken. The first way of a choice is always
//! the one that costs alone would take; a *pick* is a choice that took another one, and the picks of a run
//! repeat it.
//!
//! **Holds.** Picks tell what was taken, by the number of the choice, so they mean something else as soon as
//! one of them is left out. The same order can be said in another way: each step that was overtaken waited
//! for the last of those that overtook it. Such a *hold* names both steps by what they are (the fifth
//! message of rank 2, rank 3 after its second call), so it still means the same when others are left out;
//! that is what makes a failure small. All holds of a run repeat it.
//!
//! **Chains.** Strategies give priorities to chains: sequences of steps each of which is caused by the one
//! before. A rank's program is a chain. A packet is a step of a new one, and what its arrival causes goes on
//! with it; once a rank has seen the end of a chain, its next packet continues that chain. This is the
//! partition of PCTCP (Ozkan and others, OOPSLA 2018), found while the program runs.

use crate::rng::Rng;
use rustc_hash::FxHashMap;

/// Most ways of a choice: the earliest of those that there are.
pub(crate) const MOST_WAYS: usize = 16;
/// A run that has become so many times as long as expected waits for something that is never chosen: from
/// then on one of so many choices is left to chance.
const FAIR_FROM_LENGTHS: u64 = 4;
const FAIR_EVERY: u64 = 4;
/// Length of a delay: up to two to this power choices.
const LONGEST_DELAY_BITS: u64 = 10;

/// A thing that can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextStep {
    /// Its chain; that of a rank's program is the number of the rank.
    pub chain: u32,
    /// Different for all steps of a run.
    pub step: u64,
    /// The rank it happens to.
    pub rank: u32,
    /// The rank that caused it.
    pub from: u32,
    /// Which call of that rank caused it; which message of it this is.
    pub number: u32,
    /// For a rank: how many turns it has had since that call.
    pub turn: u32,
    /// Whether it is another look of a program at what has not changed.
    pub spins: bool,
    /// Its kind.
    pub kind: Kind,
}

/// Kinds of steps that can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The rank goes on.
    GoesOn,
    /// The time that a rank's call takes is over.
    Passes,
    /// A message to it arrives.
    Message,
    /// A put to it arrives.
    Put,
    /// A get from it arrives.
    Get,
    /// The data of its get arrives.
    Data,
    /// Its NIC reads the source of its put.
    Fetch,
    /// It learns that its operation is done.
    Done,
    /// Work of its NIC, or of a device.
    Other,
    /// It dies.
    Dies,
    /// It looks at memory that it shares with others.
    Looks,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::GoesOn,
        Kind::Passes,
        Kind::Message,
        Kind::Put,
        Kind::Get,
        Kind::Data,
        Kind::Fetch,
        Kind::Done,
        Kind::Other,
        Kind::Dies,
        Kind::Looks,
    ];
}

impl core::fmt::Display for NextStep {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let NextStep { rank, from, number, .. } = self;
        match self.kind {
            Kind::GoesOn | Kind::Passes if *number == 0 => {
                write!(f, "rank {rank} goes on, before its first call")
            }
            Kind::GoesOn | Kind::Passes => write!(f, "rank {rank} goes on after its call {number}"),
            Kind::Message => write!(f, "message {number} of rank {from} reaches rank {rank}"),
            Kind::Put => write!(f, "the put of rank {from}'s call {number} reaches rank {rank}"),
            Kind::Get => write!(f, "the get of rank {from}'s call {number} reaches rank {rank}"),
            Kind::Data => write!(f, "the data of rank {from}'s call {number} comes back"),
            Kind::Fetch => write!(f, "the NIC of rank {from} reads what its call {number} puts"),
            Kind::Done => write!(f, "rank {from} learns that its call {number} is done"),
            Kind::Other => write!(f, "the NIC of rank {rank} works"),
            Kind::Dies => write!(f, "rank {rank} dies"),
            Kind::Looks => write!(f, "ranks of host {rank} look at their memory"),
        }
    }
}

impl NextStep {
    /// Its name, the same in any course that has it.
    pub fn name(&self) -> StepName {
        (self.kind, self.rank, self.from, self.number, self.turn)
    }
}

/// The name of a step, the same in any course that has it.
pub type StepName = (Kind, u32, u32, u32, u32);

/// A step that waits until another one has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldStep {
    /// The step that waits.
    pub step: NextStep,
    /// The step that it waits for.
    pub until: NextStep,
}

impl core::fmt::Display for HeldStep {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}, and only then {}", self.until, self.step)
    }
}

impl HeldStep {
    /// Both steps as numbers.
    pub fn words(&self) -> [u32; 10] {
        let words = |step: &NextStep| [step.kind as u32, step.rank, step.from, step.number, step.turn];
        let ([a, b, c, d, e], [f, g, h, i, j]) = (words(&self.step), words(&self.until));
        [a, b, c, d, e, f, g, h, i, j]
    }

    /// Reads [`words`](Self::words); `None` if these are none.
    pub fn of_words(words: &[u32; 10]) -> Option<HeldStep> {
        let step = |words: &[u32]| {
            let [kind, rank, from, number, turn] = *words else { return None };
            let kind = Kind::ALL.into_iter().find(|known| *known as u32 == kind)?;
            Some(NextStep { chain: 0, step: 0, rank, from, number, turn, spins: false, kind })
        };
        Some(HeldStep { step: step(&words[..5])?, until: step(&words[5..])? })
    }

    /// Whether a rank's program waits, and not something on its way to it.
    pub fn is_of_program(&self) -> bool {
        matches!(self.step.kind, Kind::GoesOn | Kind::Passes)
    }
}

/// How to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explore {
    /// As the costs say.
    Time,
    /// Every way is equally likely.
    Random,
    /// Random priorities of steps; those that race with the one that was taken get new ones (partial order
    /// sampling, Yuan and others, CAV 2018).
    Pos,
    /// Random priorities of ranks, lowered at so many points less one (PCT, Burckhardt and others, ASPLOS
    /// 2010). Whatever else happens is a thread of its own.
    Pct(u32),
    /// The same with priorities of chains.
    Pctcp(u32),
    /// As the costs say, but for so many delays at random points.
    Delay(u32),
    /// One of the others, by the seed.
    Mixed,
}

impl Explore {
    /// The strategy of that name: `time`, `mixed`, `random`, `pos`, `pct:D`, `pctcp:D`, `delay:D`.
    pub fn named(text: &str) -> Option<Explore> {
        let (name, number) = text.split_once(':').unwrap_or((text, ""));
        let depth = || number.parse().ok().filter(|d| (1..=64).contains(d));
        let explore = match name {
            "pct" => Explore::Pct(depth()?),
            "pctcp" => Explore::Pctcp(depth()?),
            "delay" => Explore::Delay(depth()?),
            _ if !number.is_empty() => return None,
            "time" => Explore::Time,
            "mixed" => Explore::Mixed,
            "random" => Explore::Random,
            "pos" => Explore::Pos,
            _ => return None,
        };
        Some(explore)
    }

    /// The strategies of the mixture: 40 % POS, 30 % PCTCP of depths 1 to 3, 20 % random, 10 % delays.
    fn settled(self, rng: &mut Rng) -> Explore {
        if self != Explore::Mixed {
            return self;
        }
        match rng.below(10) {
            0..4 => Explore::Pos,
            4..7 => Explore::Pctcp(1 + rng.below(3) as u32),
            7..9 => Explore::Random,
            _ => Explore::Delay(2),
        }
    }
}

impl core::fmt::Display for Explore {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Explore::Time => f.write_str("time"),
            Explore::Random => f.write_str("random"),
            Explore::Pos => f.write_str("pos"),
            Explore::Pct(d) => write!(f, "pct:{d}"),
            Explore::Pctcp(d) => write!(f, "pctcp:{d}"),
            Explore::Delay(d) => write!(f, "delay:{d}"),
            Explore::Mixed => f.write_str("mixed"),
        }
    }
}

/// A choice that took another way than the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// Which choice: the first of a run is 0.
    pub choice: u64,
    /// The way.
    pub way: u32,
    /// A hash of the ways.
    pub ways: u32,
    /// The step that was taken, and those that were passed over.
    pub text: String,
}

/// Chooses, and notes what it took.
#[derive(Debug, Clone)]
pub struct Chooser {
    how: How,
    rng: Rng,
    /// Choices so far.
    choices: u64,
    /// Choices after which the tail begins that is fair.
    fair_from: u64,
    picks: Vec<Pick>,
    /// Steps that were overtaken, each with the last that overtook it; and where in that list a step is.
    holds: Vec<HeldStep>,
    held: FxHashMap<StepName, usize>,
    /// The first choice of a repetition whose ways are other ones.
    differs: Option<u64>,
}

#[derive(Debug, Clone)]
enum How {
    Random,
    Pos(FxHashMap<u64, u64>),
    /// Of chains or of ranks; and choices at which one is lowered, in descending order.
    Priorities {
        by_chain: bool,
        of: FxHashMap<u64, u64>,
        lower: Vec<u64>,
    },
    /// Choices at which a chain is delayed, in descending order; chains that are, until a choice.
    Delay {
        at: Vec<u64>,
        delayed: Vec<(u32, u64)>,
    },
    /// Holds by what waits, whether they have an end, and what they wait for that has not happened.
    Held {
        of: FxHashMap<StepName, StepName>,
        open: FxHashMap<StepName, bool>,
    },
    /// The picks of another run in descending order, and whether ways have to be the same.
    Again {
        left: Vec<Pick>,
        exactly: bool,
    },
}

impl Chooser {
    /// One that explores, in a run of about `length` choices; `None` if the costs choose.
    pub fn new(explore: Explore, seed: u64, length: u64) -> Option<Chooser> {
        let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let points = |n: u32, rng: &mut Rng| {
            let mut all: Vec<u64> = (0..n).map(|_| rng.below(length.max(1))).collect();
            all.sort_unstable_by(|a, b| b.cmp(a));
            all
        };
        let how = match explore.settled(&mut rng) {
            Explore::Time | Explore::Mixed => return None,
            Explore::Random => How::Random,
            Explore::Pos => How::Pos(FxHashMap::default()),
            Explore::Pct(d) => {
                How::Priorities { by_chain: false, of: FxHashMap::default(), lower: points(d - 1, &mut rng) }
            }
            Explore::Pctcp(d) => {
                How::Priorities { by_chain: true, of: FxHashMap::default(), lower: points(d - 1, &mut rng) }
            }
            Explore::Delay(d) => How::Delay { at: points(d, &mut rng), delayed: Vec::new() },
        };
        Some(Chooser { fair_from: length.max(100) * FAIR_FROM_LENGTHS, ..Chooser::with(how, rng) })
    }

    /// One that repeats a run; `exactly` if it is to be the same in every choice.
    pub fn again(mut picks: Vec<Pick>, exactly: bool) -> Chooser {
        picks.sort_unstable_by_key(|pick| core::cmp::Reverse(pick.choice));
        Chooser::with(How::Again { left: picks, exactly }, Rng::new(0))
    }

    /// One under which steps wait as these holds say, and otherwise come as the costs say, but that whoever
    /// only looks again comes last.
    pub fn holding(holds: &[HeldStep]) -> Chooser {
        let of = holds.iter().map(|hold| (hold.step.name(), hold.until.name())).collect();
        let open = holds.iter().map(|hold| (hold.until.name(), true)).collect();
        Chooser::with(How::Held { of, open }, Rng::new(0))
    }

    fn with(how: How, rng: Rng) -> Chooser {
        Chooser {
            how,
            rng,
            choices: 0,
            fair_from: u64::MAX,
            picks: Vec::new(),
            holds: Vec::new(),
            held: FxHashMap::default(),
            differs: None,
        }
    }

    /// The steps that have waited so far, and for which ones: together they repeat the run.
    pub fn holds(&self) -> &[HeldStep] {
        &self.holds
    }

    /// Number of choices so far.
    pub fn choices(&self) -> u64 {
        self.choices
    }

    /// The picks so far, in their order.
    pub fn picks(&self) -> &[Pick] {
        &self.picks
    }

    /// The choice at which a repetition found other ways than the run that it repeats.
    pub fn differs(&self) -> Option<u64> {
        self.differs
    }

    /// Chooses one of at least one way.
    pub fn choose(&mut self, ways: &[NextStep]) -> usize {
        let way = if ways.len() < 2 { 0 } else { self.choose_of_several(ways) };
        if let (How::Held { open, .. }, Some(taken)) = (&mut self.how, ways.get(way))
            && let Some(open) = open.get_mut(&taken.name())
        {
            *open = false;
        }
        way
    }

    fn choose_of_several(&mut self, ways: &[NextStep]) -> usize {
        let choice = self.choices;
        self.choices += 1;
        let mut way = self.pick(choice, ways);
        if choice >= self.fair_from && choice.is_multiple_of(FAIR_EVERY) {
            way = self.rng.below(ways.len() as u64) as usize;
        }
        if way != 0 {
            let text = format!("{} before {}", ways[way], ways[0]);
            self.picks.push(Pick { choice, way: way as u32, ways: hash(ways), text });
            // Whoever only looks again comes last anyway.
            ways[..way].iter().filter(|passed| !passed.spins || ways[way].spins).for_each(|passed| {
                let place = *self.held.entry(passed.name()).or_insert(self.holds.len());
                match self.holds.get_mut(place) {
                    Some(hold) => hold.until = ways[way],
                    None => self.holds.push(HeldStep { step: *passed, until: ways[way] }),
                }
            });
        }
        way
    }

    fn pick(&mut self, choice: u64, ways: &[NextStep]) -> usize {
        // Whoever only looks again comes last.
        let busy = ways.iter().any(|way| !way.spins);
        let open = |way: &NextStep| !busy || !way.spins;
        let rng = &mut self.rng;
        match &mut self.how {
            How::Random => {
                let all: Vec<usize> = (0..ways.len()).filter(|i| open(&ways[*i])).collect();
                all[rng.below(all.len() as u64) as usize]
            }
            How::Pos(of) => {
                let best = highest(ways, &open, |way| *of.entry(way.step).or_insert_with(|| rng.word()));
                let taken = ways[best];
                ways.iter().filter(|way| way.rank == taken.rank).for_each(|way| {
                    of.remove(&way.step);
                });
                best
            }
            How::Priorities { by_chain, of, lower } => {
                let name = |way: &NextStep| match by_chain {
                    true => u64::from(way.chain),
                    false if matches!(way.kind, Kind::GoesOn | Kind::Passes) => u64::from(way.rank),
                    false => 1 << 62 | way.step,
                };
                // Above all that are lowered.
                let mut best = |of: &mut FxHashMap<u64, u64>| {
                    highest(ways, &open, |way| *of.entry(name(way)).or_insert_with(|| rng.word() | 1 << 32))
                };
                while lower.last().is_some_and(|at| *at <= choice) {
                    let taken = best(of);
                    lower.pop();
                    of.insert(name(&ways[taken]), lower.len() as u64);
                }
                best(of)
            }
            How::Delay { at, delayed } => {
                delayed.retain(|(_, until)| *until > choice);
                while at.last().is_some_and(|at| *at <= choice) {
                    at.pop();
                    let length = 1 << rng.below(LONGEST_DELAY_BITS + 1);
                    // Whoever only looks again comes last anyway.
                    let next = ways.iter().position(open).unwrap_or(0);
                    delayed.push((ways[next].chain, choice + length));
                }
                let free =
                    |way: &NextStep| open(way) && !delayed.iter().any(|(chain, _)| *chain == way.chain);
                ways.iter().position(free).or_else(|| ways.iter().position(open)).unwrap_or(0)
            }
            How::Held { of, open: waits } => {
                let free = |way: &NextStep| {
                    let until = of.get(&way.name());
                    open(way) && until.is_none_or(|until| waits.get(until) != Some(&true))
                };
                let first = ways.iter().position(free).or_else(|| ways.iter().position(open));
                first.unwrap_or(0)
            }
            How::Again { left, exactly } => match left.last() {
                Some(pick) if pick.choice == choice => {
                    let (way, same) = (pick.way as usize, pick.ways == hash(ways));
                    left.pop();
                    if *exactly && !same {
                        self.differs.get_or_insert(choice);
                    }
                    way % ways.len()
                }
                _ => 0,
            },
        }
    }
}

/// The way of the highest priority, of those that are open.
fn highest(
    ways: &[NextStep],
    open: &dyn Fn(&NextStep) -> bool,
    mut priority: impl FnMut(&NextStep) -> u64,
) -> usize {
    let all: Vec<u64> = ways.iter().map(|way| if open(way) { priority(way) } else { 0 }).collect();
    let best = (0..ways.len()).filter(|i| open(&ways[*i])).max_by_key(|i| (all[*i], core::cmp::Reverse(*i)));
    best.unwrap_or(0)
}

fn hash(ways: &[NextStep]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for way in ways {
        for word in [u64::from(way.chain), u64::from(way.rank), way.kind as u64] {
            hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }
    (hash ^ hash >> 32) as u32
}

/// Who makes events now, and the chains of its packets.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// The next new chain.
    next: u32,
    /// By rank: chains that it has seen the end of, and such that it will with its next turn.
    free: Vec<Vec<u32>>,
    ended: Vec<Vec<u32>>,
    acting: Acting,
}

#[derive(Debug, Default, Clone, Copy)]
enum Acting {
    #[default]
    Nobody,
    Program(u32),
    /// A step of this chain, which something that it causes may continue once.
    Step(u32),
    /// A step whose chain goes on.
    Continued,
}

impl Chains {
    pub(crate) fn new(ranks: u32) -> Chains {
        let none = || (0..ranks).map(|_| Vec::new()).collect();
        Chains { next: ranks, free: none(), ended: none(), acting: Acting::Nobody }
    }

    /// A rank has the turn.
    pub(crate) fn turn(&mut self, rank: u32) {
        self.acting = Acting::Program(rank);
        let ended = core::mem::take(&mut self.ended[rank as usize]);
        self.free[rank as usize].extend(ended);
    }

    /// A step of a chain happens.
    pub(crate) fn step(&mut self, chain: u32) {
        self.acting = Acting::Step(chain);
    }

    /// The step has happened, to this rank.
    pub(crate) fn stepped(&mut self, rank: u32) {
        if let (Acting::Step(chain), Some(ended)) = (self.acting, self.ended.get_mut(rank as usize))
            && chain as usize >= self.free.len()
        {
            ended.push(chain);
            self.acting = Acting::Nobody;
        }
    }

    /// The chain of an event that is made now.
    pub(crate) fn of_event(&mut self) -> u32 {
        let free = match self.acting {
            Acting::Program(rank) => self.free[rank as usize].pop(),
            Acting::Step(chain) => {
                self.acting = Acting::Continued;
                Some(chain)
            }
            _ => None,
        };
        free.unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of so many steps each, one of which is taken at a time; the order in which they were taken.
    fn run(chooser: &mut Chooser, threads: u32, steps: u64) -> Vec<u32> {
        let mut left = vec![steps; threads as usize];
        let mut order = Vec::new();
        loop {
            let ways: Vec<NextStep> = (0..threads)
                .filter(|t| left[*t as usize] > 0)
                .map(|t| NextStep {
                    chain: t,
                    step: u64::from(t) << 32 | left[t as usize],
                    rank: t,
                    from: t,
                    number: (steps - left[t as usize]) as u32,
                    turn: 0,
                    spins: false,
                    kind: Kind::GoesOn,
                })
                .collect();
            if ways.is_empty() {
                return order;
            }
            let taken = ways[chooser.choose(&ways)].rank;
            left[taken as usize] -= 1;
            order.push(taken);
        }
    }

    /// Where thread `t` takes its step number `step`.
    fn at(order: &[u32], t: u32, step: usize) -> usize {
        order.iter().enumerate().filter(|(_, who)| **who == t).nth(step).unwrap().0
    }

    /// How many of 1,000 seeds meet a bug.
    fn found(explore: Explore, (threads, steps): (u32, u64), bug: impl Fn(&[u32]) -> bool) -> f64 {
        let length = u64::from(threads) * steps;
        let seeds = 1..=1000;
        seeds
            .filter(|seed| bug(&run(&mut Chooser::new(explore, *seed, length).unwrap(), threads, steps)))
            .count() as f64
    }

    /// At least the bound, less three standard deviations.
    #[track_caller]
    fn at_least(found: f64, bound: f64) {
        let least = 1000.0 * bound - 3.0 * (1000.0 * bound * (1.0 - bound)).sqrt();
        assert!(found >= least, "{found} of 1000, at least {least:.1} expected");
    }

    #[test]
    fn bugs_are_found_as_often_as_is_guaranteed() {
        let shape = (4u32, 10u64);
        let (n, k) = (f64::from(shape.0), (shape.0 as u64 * shape.1) as f64);
        for (pct, pctcp) in [(Explore::Pct as fn(u32) -> Explore, false), (Explore::Pctcp, true)] {
            // w = n chains, one for each thread; n of PCTCP's bound is the number of steps.
            let bound = |d: i32| {
                if pctcp { 1.0 / (n * n * k.powi(d - 1)) } else { 1.0 / (n * k.powi(d - 1)) }
            };
            // Depth 1: the last thread ends before the first begins.
            at_least(found(pct(1), shape, |o| at(o, 3, 9) < at(o, 0, 0)), bound(1));
            // Depth 2: it ends while the first is in its middle.
            let middle = |o: &[u32]| at(o, 0, 4) < at(o, 3, 0) && at(o, 3, 9) < at(o, 0, 5);
            at_least(found(pct(2), shape, middle), bound(2));
            // Depth 3: and a third thread does so in the middle of the last.
            let nested = |o: &[u32]| {
                at(o, 0, 4) < at(o, 3, 4)
                    && at(o, 3, 5) < at(o, 0, 5)
                    && at(o, 3, 4) < at(o, 2, 0)
                    && at(o, 2, 9) < at(o, 3, 5)
            };
            at_least(found(pct(3), shape, nested), bound(3));
        }
        // Random walks nearly never find what needs one order of many steps.
        assert!(found(Explore::Random, shape, |o| at(o, 3, 9) < at(o, 0, 0)) < 10.0);
    }

    #[test]
    fn a_seed_fixes_the_choices_and_picks_repeat_them() {
        for explore in ["random", "pos", "pct:3", "pctcp:2", "delay:2", "mixed"] {
            let explore = Explore::named(explore).unwrap();
            let (mut orders, mut differ) = (std::collections::HashSet::new(), 0);
            for seed in 0..50 {
                let mut first = Chooser::new(explore, seed, 40).unwrap();
                let order = run(&mut first, 4, 10);
                assert_eq!(order, run(&mut Chooser::new(explore, seed, 40).unwrap(), 4, 10));
                let mut again = Chooser::again(first.picks().to_vec(), true);
                assert_eq!(order, run(&mut again, 4, 10), "{explore}");
                assert_eq!((again.differs(), again.picks()), (None, first.picks()));
                let mut held = Chooser::holding(first.holds());
                assert_eq!(order, run(&mut held, 4, 10), "{explore}");
                assert_eq!((held.holds(), held.picks()), (first.holds(), first.picks()));
                let mut other = Chooser::again(first.picks().to_vec(), true);
                run(&mut other, 3, 10);
                differ += u32::from(other.differs().is_some());
                orders.insert(order);
            }
            assert!(orders.len() > 10, "{explore}: {} orders of 50 seeds", orders.len());
            assert!(differ > 10, "{explore}: {differ} of 50 runs of another program are noticed");
        }
    }

    #[test]
    fn whoever_spins_comes_last() {
        let way = |chain, spins| NextStep {
            chain,
            step: u64::from(chain),
            rank: chain,
            from: chain,
            number: 0,
            turn: 0,
            spins,
            kind: Kind::GoesOn,
        };
        for seed in 0..100 {
            let mut chooser = Chooser::new(Explore::Mixed, seed, 10).unwrap();
            assert_eq!(chooser.choose(&[way(0, true), way(1, false), way(2, true)]), 1);
        }
    }

    #[test]
    fn names_of_strategies_are_read_as_they_are_said() {
        for name in ["time", "random", "pos", "pct:3", "pctcp:1", "delay:2", "mixed"] {
            assert_eq!(Explore::named(name).unwrap().to_string(), name);
        }
        for name in ["pct", "pct:0", "random:1", "all", "", "pct:x"] {
            assert_eq!(Explore::named(name), None, "{name}");
        }
    }
}
