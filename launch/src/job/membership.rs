//! Who is in a job whose ranks may die: a state machine without system calls.
//!
//! A *place* is a rank by its number in the first world. The process at a place can be a *replacement*, which
//! the launcher has started when the one before it had died; its *incarnation* is how many were there before
//! it. A *world* is the list of the places that are its ranks 0, 1, 2, ..., and the number of worlds before
//! it, its *epoch*. A place is in the newest world, or out of the job: its process has died and is not
//! replaced, or has left in order. A process *asks* for the next world when it has given up the newest, and a
//! replacement as soon as it runs. When all places of it that are not out have asked, they are the members of
//! the next world. So each of them gets the same list, or none does. A place that goes out meanwhile is one
//! less to wait for; one whose process is replaced is waited for on.
//!
//! A process *finishes* when it knows that all ranks of the newest world have done their work. From then on
//! there is no other world: who asks is told that all is done, and nobody is replaced.

/// State of the process at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is in the newest world, or replaces one that was, and has not asked yet.
    There,
    /// It has given up the newest world, or was never in it, and waits for the next one.
    Asks,
    /// It has left in order.
    Left,
    /// It has died.
    Dead,
}

/// A world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobWorld {
    /// The number of worlds before it.
    pub epoch: u32,
    /// Its ranks, as places, ascending.
    pub members: Vec<u32>,
    /// The incarnation of each.
    pub incarnations: Vec<u32>,
    /// Whether it takes over the memory of the segments of the world before, which no process uses any more.
    pub takes_over: bool,
}

impl JobWorld {
    /// The rank of a place in it.
    pub fn rank_of(&self, place: u32) -> Option<u32> {
        self.members.binary_search(&place).ok().map(|rank| rank as u32)
    }
}

/// What follows from an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing yet.
    Nothing,
    /// This world starts.
    Starts(JobWorld),
    /// The process is to be replaced.
    Replaces,
    /// These wait for another world and are to be told that all is done.
    Done(Vec<u32>),
}

/// A process has asked for the next world and is not in the newest one, or has asked already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unexpected;

/// Who is in the job.
#[derive(Debug)]
pub struct Membership {
    states: Vec<State>,
    incarnations: Vec<u32>,
    world: JobWorld,
    deaths: usize,
    /// Whether the dead are replaced.
    heals: bool,
    /// All ranks of the newest world have done their work.
    finished: bool,
    /// A process may use the segments of the newest world when it has given that up.
    held: bool,
}

impl Membership {
    /// A job of `size` places, all in its first world, whose dead are replaced or not.
    pub fn new(size: u32, heals: bool) -> Membership {
        let incarnations = vec![0; size as usize];
        let members = (0..size).collect();
        let world = JobWorld { epoch: 0, members, incarnations: incarnations.clone(), takes_over: false };
        let states = vec![State::There; size as usize];
        Membership { states, incarnations, world, deaths: 0, heals, finished: false, held: false }
    }

    /// The newest world.
    pub fn world(&self) -> &JobWorld {
        &self.world
    }

    /// The incarnation of the process at a place.
    pub fn incarnation(&self, place: u32) -> u32 {
        self.incarnations[place as usize]
    }

    /// Whether the process at a place has died, and is not replaced.
    pub fn is_dead(&self, place: u32) -> bool {
        self.states[place as usize] == State::Dead
    }

    /// Whether a place was not in the newest world when that began.
    pub fn is_out(&self, place: u32) -> bool {
        self.world.rank_of(place).is_none()
    }

    /// The first place whose process has left in order though others may need it: the next world would have
    /// to have all, and not all work is known to be done.
    pub fn misses(&self) -> Option<u32> {
        let left = self.states.iter().position(|state| *state == State::Left);
        left.filter(|_| self.heals && !self.finished).map(|place| place as u32)
    }

    /// Number of processes that have died.
    pub fn deaths(&self) -> usize {
        self.deaths
    }

    /// Whether any process is in the job, or has left it in order.
    pub fn has_survivors(&self) -> bool {
        self.states.iter().any(|state| *state != State::Dead)
    }

    /// The places whose processes wait for the next world, and those that it waits for.
    pub fn regrouping(&self) -> (Vec<u32>, Vec<u32>) {
        let of = |state| {
            let places = (0..).zip(&self.states).filter(move |(_, s)| **s == state);
            places.map(|(place, _)| place).collect()
        };
        (of(State::Asks), of(State::There))
    }

    /// The process at a place has died. If it is to be replaced, the replacement is there from now on.
    pub fn died(&mut self, place: u32) -> Consequence {
        self.deaths += 1;
        let state = &mut self.states[place as usize];
        if self.heals && !self.finished && matches!(state, State::There | State::Asks) {
            *state = State::There;
            self.incarnations[place as usize] += 1;
            return Consequence::Replaces;
        }
        self.goes_out(place, State::Dead)
    }

    /// The process at a place leaves in order. It may go on to use its segment while it ends.
    pub fn left(&mut self, place: u32) -> Consequence {
        self.held = true;
        self.goes_out(place, State::Left)
    }

    fn goes_out(&mut self, place: u32, state: State) -> Consequence {
        let now = &mut self.states[place as usize];
        // Who has left in order has left: its process ends later.
        if matches!(now, State::There | State::Asks) {
            *now = state;
        }
        self.next_world()
    }

    /// A process knows that all work of the world of this epoch is done.
    pub fn finishes(&mut self, epoch: u32) -> Consequence {
        self.finished |= epoch == self.world.epoch;
        self.next_world()
    }

    /// A process has given up the world of this epoch, or replaces one that was in it. `holds`: it may still
    /// use the segments of that world.
    ///
    /// # Errors
    /// The process is not in that world, or has asked already.
    pub fn asks(&mut self, place: u32, epoch: u32, holds: bool) -> Result<Consequence, Unexpected> {
        if epoch != self.world.epoch || self.states[place as usize] != State::There {
            return Err(Unexpected);
        }
        self.states[place as usize] = State::Asks;
        self.held |= holds;
        Ok(self.next_world())
    }

    fn next_world(&mut self) -> Consequence {
        let members: Vec<u32> =
            (0..).zip(&self.states).filter(|(_, s)| **s == State::Asks).map(|(p, _)| p).collect();
        if members.is_empty() || !self.finished && self.states.contains(&State::There) {
            return Consequence::Nothing;
        }
        for place in &members {
            self.states[*place as usize] = State::There;
        }
        if self.finished {
            return Consequence::Done(members);
        }
        let incarnations = members.iter().map(|place| self.incarnations[*place as usize]).collect();
        let takes_over = !std::mem::take(&mut self.held);
        self.world = JobWorld { epoch: self.world.epoch + 1, members, incarnations, takes_over };
        Consequence::Starts(self.world.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::Consequence::{Done, Nothing, Replaces, Starts};
    use super::*;

    fn world(epoch: u32, members: &[u32], incarnations: &[u32]) -> JobWorld {
        JobWorld { epoch, members: members.into(), incarnations: incarnations.into(), takes_over: true }
    }

    /// A process asks that uses nothing of its world any more.
    fn asks(job: &mut Membership, place: u32, epoch: u32) -> Result<Consequence, Unexpected> {
        job.asks(place, epoch, false)
    }

    #[test]
    fn a_world_takes_memory_over_that_nobody_uses() {
        let mut job = Membership::new(3, true);
        let begins = |job: &mut Membership, epoch, holds: [bool; 3]| {
            let all = (0..3).map(|place| job.asks(place, epoch, holds[place as usize]));
            match all.last() {
                Some(Ok(Starts(world))) => world.takes_over,
                other => panic!("{other:?}"),
            }
        };
        assert!(begins(&mut job, 0, [false; 3]));
        assert!(!begins(&mut job, 1, [false, true, false]));
        // That was another world's memory.
        assert!(begins(&mut job, 2, [false; 3]));
        // Who has said so may die: what it has begun may end later.
        assert_eq!(job.asks(2, 3, true), Ok(Nothing));
        assert_eq!(job.died(2), Replaces);
        assert!(!begins(&mut job, 3, [false; 3]));
        let mut job = Membership::new(3, false);
        assert_eq!((job.left(2), asks(&mut job, 0, 0)), (Nothing, Ok(Nothing)));
        assert!(matches!(asks(&mut job, 1, 0), Ok(Starts(JobWorld { takes_over: false, .. }))));
    }

    #[test]
    fn survivors_are_numbered_from_0() {
        let mut job = Membership::new(4, false);
        assert_eq!(job.died(1), Nothing);
        assert_eq!((asks(&mut job, 0, 0), asks(&mut job, 3, 0)), (Ok(Nothing), Ok(Nothing)));
        let next = world(1, &[0, 2, 3], &[0; 3]);
        assert_eq!(asks(&mut job, 2, 0), Ok(Starts(next.clone())));
        assert_eq!([0, 1, 2, 3].map(|p| next.rank_of(p)), [Some(0), None, Some(1), Some(2)]);
        assert_eq!(job.died(0), Nothing);
        let next = world(2, &[2, 3], &[0; 2]);
        assert_eq!((asks(&mut job, 2, 1), asks(&mut job, 3, 1)), (Ok(Nothing), Ok(Starts(next))));
        assert_eq!((job.deaths(), job.is_out(0), job.is_out(2)), (2, true, false));
    }

    #[test]
    fn the_dead_are_replaced() {
        let mut job = Membership::new(3, true);
        assert_eq!(job.died(1), Replaces);
        assert_eq!((asks(&mut job, 0, 0), asks(&mut job, 2, 0)), (Ok(Nothing), Ok(Nothing)));
        // The replacement dies before it has asked, and after.
        assert_eq!((job.died(1), job.died(0), asks(&mut job, 1, 0)), (Replaces, Replaces, Ok(Nothing)));
        assert_eq!(asks(&mut job, 0, 0), Ok(Starts(world(1, &[0, 1, 2], &[1, 2, 0]))));
        assert_eq!((job.deaths(), job.is_dead(1), job.incarnation(1)), (3, false, 2));
    }

    #[test]
    fn nothing_starts_when_all_is_done() {
        let mut job = Membership::new(4, true);
        assert_eq!((job.died(1), asks(&mut job, 2, 0), job.finishes(7)), (Replaces, Ok(Nothing), Nothing));
        assert_eq!((job.left(3), job.misses()), (Nothing, Some(3)));
        assert_eq!(job.finishes(0), Done(vec![2]));
        // The replacement asks later, and the next death is the last of its place.
        assert_eq!((asks(&mut job, 1, 0), job.died(1), job.misses()), (Ok(Done(vec![1])), Nothing, None));
        assert!(job.is_dead(1));
    }

    #[test]
    fn who_asks_twice_or_for_another_world_is_told() {
        let mut job = Membership::new(2, false);
        assert_eq!(asks(&mut job, 0, 1), Err(Unexpected));
        assert_eq!((asks(&mut job, 0, 0), asks(&mut job, 0, 0)), (Ok(Nothing), Err(Unexpected)));
        assert_eq!(job.died(1), Starts(world(1, &[0], &[0])));
        assert_eq!((asks(&mut job, 1, 1), asks(&mut job, 0, 0)), (Err(Unexpected), Err(Unexpected)));
    }

    /// One thing that can happen.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Asks(u32),
        Dies(u32),
        Leaves(u32),
    }

    /// Knowledge of a place, in a model without shared state: the worlds that its processes were sent.
    #[derive(Debug, Clone, Default)]
    struct Place {
        out: bool,
        asks: bool,
        incarnation: u32,
        worlds: Vec<JobWorld>,
    }

    /// The same job, by the definition: looks at all places after each step. Whether the dead are replaced,
    /// and whether somebody may still use the newest world's memory; place 0 always may.
    #[derive(Debug, Clone)]
    struct Oracle(Vec<Place>, bool, bool);

    impl Oracle {
        fn step(&mut self, step: Step) {
            let (Step::Asks(p) | Step::Dies(p) | Step::Leaves(p)) = step;
            let place = &mut self.0[p as usize];
            match step {
                Step::Asks(_) => (place.asks, self.2) = (true, self.2 || p == 0),
                Step::Dies(_) if self.1 => (place.asks, place.incarnation) = (false, place.incarnation + 1),
                Step::Dies(_) => place.out = true,
                Step::Leaves(_) => (place.out, self.2) = (true, true),
            }
            let there = |p: &Place| !p.out;
            if self.0.iter().any(there) && self.0.iter().filter(|p| there(p)).all(|p| p.asks) {
                let members: Vec<u32> =
                    (0..).zip(&self.0).filter(|(_, p)| there(p)).map(|(n, _)| n).collect();
                let epoch =
                    members.iter().map(|m| self.0[*m as usize].worlds.len() as u32 + 1).max().unwrap_or(0);
                let incarnations: Vec<u32> =
                    members.iter().map(|m| self.0[*m as usize].incarnation).collect();
                let next = JobWorld { takes_over: !self.2, ..world(epoch, &members, &incarnations) };
                self.2 = false;
                for m in &members {
                    let place = &mut self.0[*m as usize];
                    place.asks = false;
                    place.worlds.push(next.clone());
                }
            }
        }

        fn possible(&self) -> Vec<Step> {
            let of = |(n, p): (u32, &Place)| {
                let asks = (!p.out && !p.asks).then_some(Step::Asks(n));
                let goes = [Step::Dies(n), Step::Leaves(n)].into_iter().filter(|_| !p.out);
                // Who waits for the next world can die, and does nothing else.
                let goes = goes.filter(|step| !p.asks || matches!(step, Step::Dies(_)));
                asks.into_iter().chain(goes).collect::<Vec<_>>()
            };
            (0..).zip(&self.0).flat_map(of).collect()
        }
    }

    /// Carries a step out, and keeps what each place is sent.
    fn carry_out(job: &mut Membership, sent: &mut [Vec<JobWorld>], step: Step) {
        let epoch = |sent: &[Vec<JobWorld>], p: u32| sent[p as usize].last().map_or(0, |world| world.epoch);
        let next = match step {
            Step::Asks(p) => job.asks(p, epoch(sent, p), p == 0).expect("it may ask"),
            Step::Dies(p) => job.died(p),
            Step::Leaves(p) => job.left(p),
        };
        if let Starts(world) = next {
            world.members.iter().for_each(|m| sent[*m as usize].push(world.clone()));
        }
    }

    fn agree(oracle: &Oracle, sent: &[Vec<JobWorld>], steps: &[Step]) {
        for (p, (said, known)) in sent.iter().zip(&oracle.0).enumerate() {
            assert_eq!(*said, known.worlds, "place {p} after {steps:?}");
        }
    }

    /// Every order of all that can happen in a job of three, to a depth at which two have died and all have
    /// asked twice: in each, at every step, machine and definition agree on what each place was sent.
    #[test]
    fn every_order_of_three() {
        fn all(oracle: &Oracle, steps: &mut Vec<Step>, depth: usize, count: &mut usize) {
            for step in if depth == 0 { Vec::new() } else { oracle.possible() } {
                let mut next = oracle.clone();
                next.step(step);
                steps.push(step);
                let (mut job, mut sent) = (Membership::new(3, oracle.1), vec![Vec::new(); 3]);
                steps.iter().for_each(|step| carry_out(&mut job, &mut sent, *step));
                agree(&next, &sent, steps);
                *count += 1;
                all(&next, steps, depth - 1, count);
                steps.pop();
            }
        }
        for (heals, depth) in [(false, 7), (true, 5)] {
            let mut count = 0;
            all(&Oracle(vec![Place::default(); 3], heals, false), &mut Vec::new(), depth, &mut count);
            assert!(count > 10_000, "{count} prefixes");
        }
    }

    /// Random orders of larger jobs.
    #[test]
    fn random_orders() {
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (size, heals) = (random.usize(1..=9), seed % 2 == 1);
            let (mut job, mut sent) = (Membership::new(size as u32, heals), vec![Vec::new(); size]);
            let (mut oracle, mut steps) = (Oracle(vec![Place::default(); size], heals, false), Vec::new());
            while steps.len() < 80 {
                let possible = oracle.possible();
                let Some(&last) = possible.last() else { break };
                // Deaths are rarer than the rest, so that many worlds begin.
                let mut step = *random.choice(&possible).unwrap_or(&last);
                if !matches!(step, Step::Asks(_)) && random.u32(..4) > 0 {
                    step = *random.choice(&possible).unwrap_or(&last);
                }
                steps.push(step);
                oracle.step(step);
                carry_out(&mut job, &mut sent, step);
                agree(&oracle, &sent, &steps);
                assert!(heals || job.has_survivors() == (job.deaths() < size), "seed {seed}: {steps:?}");
            }
        }
    }
}
