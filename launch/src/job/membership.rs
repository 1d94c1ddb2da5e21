//! Who is in a job whose ranks may die: a state machine without system calls.
//!
//! A *process* is a rank by its number in the first world. A *world* is the list of the processes that are
//! its ranks 0, 1, 2, ..., and the number of worlds before it, its *epoch*. A process is in the newest world,
//! or out of the job: it has died or left in order. It *asks* for the next world when it has given up the
//! newest. When all processes in it that are not out have asked, they are the members of the next world. So
//! each of them gets the same list, or none does. A process that goes out meanwhile is one less to wait for.

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is in the newest world.
    There,
    /// It is in the newest world, has given it up, and waits for the next one.
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
    /// Its ranks, as processes, ascending.
    pub members: Vec<u32>,
}

impl JobWorld {
    /// The rank of a process in it.
    pub fn rank_of(&self, process: u32) -> Option<u32> {
        self.members.binary_search(&process).ok().map(|rank| rank as u32)
    }
}

/// A process has asked for the next world and is not in the newest one, or has asked already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unexpected;

/// Who is in the job.
#[derive(Debug)]
pub struct Membership {
    states: Vec<State>,
    world: JobWorld,
}

impl Membership {
    /// A job of `size` processes, all in its first world.
    pub fn new(size: u32) -> Membership {
        let world = JobWorld { epoch: 0, members: (0..size).collect() };
        Membership { states: vec![State::There; size as usize], world }
    }

    /// The newest world.
    pub fn world(&self) -> &JobWorld {
        &self.world
    }

    /// Whether a process has died.
    pub fn is_dead(&self, process: u32) -> bool {
        self.states[process as usize] == State::Dead
    }

    /// Whether a process was not in the newest world when that began.
    pub fn is_out(&self, process: u32) -> bool {
        self.world.rank_of(process).is_none()
    }

    /// Number of processes that have died.
    pub fn deaths(&self) -> usize {
        self.states.iter().filter(|state| **state == State::Dead).count()
    }

    /// Whether any process is in the job, or has left it in order.
    pub fn has_survivors(&self) -> bool {
        self.states.iter().any(|state| *state != State::Dead)
    }

    /// A process has died. Returns the next world if all others had only waited for it.
    pub fn died(&mut self, process: u32) -> Option<JobWorld> {
        self.goes_out(process, State::Dead)
    }

    /// A process leaves in order. As [`Membership::died`].
    pub fn left(&mut self, process: u32) -> Option<JobWorld> {
        self.goes_out(process, State::Left)
    }

    fn goes_out(&mut self, process: u32, state: State) -> Option<JobWorld> {
        let now = &mut self.states[process as usize];
        // Who has left in order has left: its process ends later.
        if matches!(now, State::There | State::Asks) {
            *now = state;
        }
        self.next_world()
    }

    /// A process has given up the world of this epoch. Returns the next world if all have.
    ///
    /// # Errors
    /// The process is not in that world, or has asked already.
    pub fn asks(&mut self, process: u32, epoch: u32) -> Result<Option<JobWorld>, Unexpected> {
        if epoch != self.world.epoch || self.states[process as usize] != State::There {
            return Err(Unexpected);
        }
        self.states[process as usize] = State::Asks;
        Ok(self.next_world())
    }

    fn next_world(&mut self) -> Option<JobWorld> {
        let members: Vec<u32> =
            (0..).zip(&self.states).filter(|(_, s)| **s == State::Asks).map(|(p, _)| p).collect();
        if members.is_empty() || self.states.contains(&State::There) {
            return None;
        }
        for process in &members {
            self.states[*process as usize] = State::There;
        }
        self.world = JobWorld { epoch: self.world.epoch + 1, members };
        Some(self.world.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_are_numbered_from_0() {
        let mut job = Membership::new(4);
        assert_eq!(job.died(1), None);
        assert_eq!((job.asks(0, 0), job.asks(3, 0)), (Ok(None), Ok(None)));
        let next = JobWorld { epoch: 1, members: vec![0, 2, 3] };
        assert_eq!(job.asks(2, 0), Ok(Some(next.clone())));
        assert_eq!([0, 1, 2, 3].map(|p| next.rank_of(p)), [Some(0), None, Some(1), Some(2)]);
        assert_eq!(job.died(0), None);
        assert_eq!(
            (job.asks(2, 1), job.asks(3, 1)),
            (Ok(None), Ok(Some(JobWorld { epoch: 2, members: vec![2, 3] })))
        );
        assert_eq!((job.deaths(), job.is_out(0), job.is_out(2)), (2, true, false));
    }

    #[test]
    fn who_asks_twice_or_for_another_world_is_told() {
        let mut job = Membership::new(2);
        assert_eq!(job.asks(0, 1), Err(Unexpected));
        assert_eq!((job.asks(0, 0), job.asks(0, 0)), (Ok(None), Err(Unexpected)));
        assert_eq!(job.died(1), Some(JobWorld { epoch: 1, members: vec![0] }));
        assert_eq!((job.asks(1, 1), job.asks(0, 0)), (Err(Unexpected), Err(Unexpected)));
    }

    /// One thing that can happen.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Asks(u32),
        Dies(u32),
        Leaves(u32),
    }

    /// What a process knows, in a model without shared state: the worlds that it was sent.
    #[derive(Debug, Clone, Default)]
    struct Process {
        out: bool,
        asks: bool,
        worlds: Vec<JobWorld>,
    }

    /// The same job, by the definition: looks at all processes after each step.
    #[derive(Debug, Clone)]
    struct Oracle(Vec<Process>);

    impl Oracle {
        fn step(&mut self, step: Step) {
            let (Step::Asks(p) | Step::Dies(p) | Step::Leaves(p)) = step;
            let process = &mut self.0[p as usize];
            match step {
                Step::Asks(_) => process.asks = true,
                Step::Dies(_) | Step::Leaves(_) => process.out = true,
            }
            let there = |p: &Process| !p.out;
            if self.0.iter().any(there) && self.0.iter().filter(|p| there(p)).all(|p| p.asks) {
                let members: Vec<u32> =
                    (0..).zip(&self.0).filter(|(_, p)| there(p)).map(|(n, _)| n).collect();
                let epoch =
                    members.iter().map(|m| self.0[*m as usize].worlds.len() as u32 + 1).max().unwrap_or(0);
                for m in &members {
                    let process = &mut self.0[*m as usize];
                    process.asks = false;
                    process.worlds.push(JobWorld { epoch, members: members.clone() });
                }
            }
        }

        fn possible(&self) -> Vec<Step> {
            let of = |(n, p): (u32, &Process)| {
                let asks = (!p.out && !p.asks).then_some(Step::Asks(n));
                let goes = [Step::Dies(n), Step::Leaves(n)].into_iter().filter(|_| !p.out);
                // Who waits for the next world can die, and does nothing else.
                let goes = goes.filter(|step| !p.asks || matches!(step, Step::Dies(_)));
                asks.into_iter().chain(goes).collect::<Vec<_>>()
            };
            (0..).zip(&self.0).flat_map(of).collect()
        }
    }

    /// Carries a step out, and keeps what each process is sent.
    fn carry_out(job: &mut Membership, sent: &mut [Vec<JobWorld>], step: Step) {
        let epoch = |sent: &[Vec<JobWorld>], p: u32| sent[p as usize].last().map_or(0, |world| world.epoch);
        let next = match step {
            Step::Asks(p) => job.asks(p, epoch(sent, p)).expect("it may ask"),
            Step::Dies(p) => job.died(p),
            Step::Leaves(p) => job.left(p),
        };
        if let Some(world) = next {
            world.members.iter().for_each(|m| sent[*m as usize].push(world.clone()));
        }
    }

    fn agree(oracle: &Oracle, sent: &[Vec<JobWorld>], steps: &[Step]) {
        for (p, (said, known)) in sent.iter().zip(&oracle.0).enumerate() {
            assert_eq!(*said, known.worlds, "process {p} after {steps:?}");
        }
    }

    /// Every order of all that can happen in a job of three, to a depth at which two have died and all have
    /// asked twice: in each, at every step, machine and definition agree on what each process was sent.
    #[test]
    fn every_order_of_three() {
        fn all(oracle: &Oracle, steps: &mut Vec<Step>, depth: usize, count: &mut usize) {
            for step in if depth == 0 { Vec::new() } else { oracle.possible() } {
                let mut next = oracle.clone();
                next.step(step);
                steps.push(step);
                let (mut job, mut sent) = (Membership::new(3), vec![Vec::new(); 3]);
                steps.iter().for_each(|step| carry_out(&mut job, &mut sent, *step));
                agree(&next, &sent, steps);
                *count += 1;
                all(&next, steps, depth - 1, count);
                steps.pop();
            }
        }
        let mut count = 0;
        all(&Oracle(vec![Process::default(); 3]), &mut Vec::new(), 7, &mut count);
        assert!(count > 10_000, "{count} prefixes");
    }

    /// Random orders of larger jobs.
    #[test]
    fn random_orders() {
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let size = random.usize(1..=9);
            let (mut job, mut sent) = (Membership::new(size as u32), vec![Vec::new(); size]);
            let (mut oracle, mut steps) = (Oracle(vec![Process::default(); size]), Vec::new());
            loop {
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
                assert_eq!(job.has_survivors(), job.deaths() < size, "seed {seed}: {steps:?}");
            }
        }
    }
}
