//! Wait queues, monitors, counting semaphores.

use super::home::{Home, tell};
use super::line::{RANKS, Signal, VALUE};
use super::{Cells, EMPTY, HOME, McsLock, OBJECT};
use crate::{Error, GlobalPtr, Rank, RankId};

/// The parts that queues and semaphores share: the home word and the cells. A process that calls these
/// functions has a cell to itself until it is woken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiters<'r> {
    pub(super) rank: &'r Rank,
    pub(super) home: Home<'r>,
    cells: Cells,
}

impl<'r> Waiters<'r> {
    pub(super) fn new(rank: &'r Rank, home: GlobalPtr<u64>, cells: Cells) -> Waiters<'r> {
        Waiters { rank, home: Home::new(rank, home), cells }
    }

    /// Collective: those of a new object, and the own process.
    fn allocate(rank: &'r Rank, home: RankId, value: u64) -> Result<(Waiters<'r>, u64), Error> {
        if rank.size() > RANKS {
            return Err(Error::op(format!(
                "wait queues are for up to {RANKS} ranks; there are {}",
                rank.size()
            )));
        }
        if value > VALUE {
            return Err(Error::op(format!("a semaphore's value is at most {VALUE}; {value} was asked for")));
        }
        let at = rank.segments().allocate_agreed(OBJECT, HOME)?;
        let mut words = [0u64; OBJECT as usize / 8];
        words[HOME as usize / 8..][..8].copy_from_slice(&Home::first(rank, value));
        rank.write_slice(GlobalPtr::new(rank.id(), at), &words);
        rank.barrier();
        let cells = Cells::single(at);
        let waiters = Waiters::new(rank, GlobalPtr::new(home, at + HOME), cells);
        Ok((waiters, cells.process(rank.id(), 0)))
    }

    /// Who is behind a process.
    fn next(&self, process: u64) -> GlobalPtr<u64> {
        self.cells.of(process)
    }

    /// 0, or 1 + how many are behind, when it is woken.
    fn woken(&self, process: u64) -> GlobalPtr<u64> {
        self.cells.of(process).add(1)
    }

    pub(super) fn clear(&self, me: u64) {
        self.rank.atomics().store(self.next(me), EMPTY);
    }

    /// Tells the one before that this is behind it.
    pub(super) fn link(&self, me: u64, before: u64) {
        if before != EMPTY {
            tell(self.rank, self.next(before), me);
        }
    }

    /// Waits until woken, and makes the one behind the head.
    pub(super) fn wait(&self, me: u64, what: &'static str) {
        self.rank.wait_until(what, || self.rank.atomics().load(self.woken(me)) != 0);
        let behind = self.rank.atomics().load(self.woken(me)) - 1;
        self.rank.atomics().store(self.woken(me), 0);
        if behind == 0 {
            return;
        }
        self.rank.wait_until("the next in a queue", || self.rank.atomics().load(self.next(me)) != EMPTY);
        let next = self.rank.atomics().load(self.next(me));
        if let Some(left) = self.home.new_head(next) {
            self.wake(next, left);
        }
    }

    fn wake(&self, process: u64, left: u64) {
        tell(self.rank, self.woken(process), 1 + left);
    }

    pub(super) fn follow(&self, signal: Signal) -> bool {
        match signal {
            Signal::Wake(process, left) => self.wake(process, left),
            Signal::Promised => {}
            // Programs try again and again: what others do here by messages has to get on.
            Signal::Nobody => _ = self.rank.poll(),
        }
        signal != Signal::Nobody
    }

    /// Takes one from a semaphore, waiting for it.
    pub(super) fn take(&self, me: u64, what: &'static str) {
        self.clear(me);
        if let Some(before) = self.home.take(me) {
            self.link(me, before);
            self.wait(me, what);
        }
    }
}

/// A queue of waiting ranks. A signal wakes the first; to an empty queue it is lost.
#[derive(Debug)]
pub struct WaitQueue<'r> {
    waiters: Waiters<'r>,
    me: u64,
}

impl<'r> WaitQueue<'r> {
    /// An empty queue at home on a rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments, or more than 4095 ranks.
    pub fn new(rank: &'r Rank, home: RankId) -> Result<WaitQueue<'r>, Error> {
        let (waiters, me) = Waiters::allocate(rank, home, 0)?;
        Ok(WaitQueue { waiters, me })
    }

    /// Joins the queue. [`wait`](Self::wait) must follow, and nothing else of this queue between.
    pub fn insert(&mut self) {
        self.waiters.clear(self.me);
        let before = self.waiters.home.enqueue(self.me);
        self.waiters.link(self.me, before);
    }

    /// Waits until woken, after [`insert`](Self::insert).
    pub fn wait(&mut self) {
        self.waiters.wait(self.me, "a wait queue");
    }

    /// Wakes the rank that has waited for longest. False: there was none.
    pub fn signal(&mut self) -> bool {
        let signal = self.waiters.home.dequeue();
        self.waiters.follow(signal)
    }

    /// Wakes all that wait now. Returns how many.
    pub fn broadcast(&mut self) -> u32 {
        let waiting = self.waiters.home.waiting();
        if waiting == 0 {
            // Who is about to wait may need this rank for it, and the caller may ask until somebody does.
            self.waiters.rank.poll();
        }
        (0..waiting).take_while(|_| self.signal()).count() as u32
    }
}

/// A counting semaphore.
#[derive(Debug)]
pub struct Semaphore<'r> {
    waiters: Waiters<'r>,
    me: u64,
}

impl<'r> Semaphore<'r> {
    /// A semaphore at home on a rank. All ranks give the same first value, at most 65535.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments, a value that is too large, or more than 4095 ranks.
    pub fn new(rank: &'r Rank, home: RankId, value: u32) -> Result<Semaphore<'r>, Error> {
        let (waiters, me) = Waiters::allocate(rank, home, value.into())?;
        Ok(Semaphore { waiters, me })
    }

    /// Takes one, waiting for it: first come, first served.
    pub fn wait(&mut self) {
        self.waiters.take(self.me, "a semaphore");
    }

    /// Takes one if there is one.
    pub fn try_wait(&mut self) -> bool {
        let taken = self.waiters.home.try_take();
        if !taken {
            self.waiters.rank.poll();
        }
        taken
    }

    /// Gives one: to the rank that has waited for longest, or to the value.
    ///
    /// # Errors
    /// The value would go beyond 65535; nothing has happened.
    pub fn signal(&mut self) -> Result<(), Error> {
        match self.waiters.home.give() {
            Some(signal) => {
                self.waiters.follow(signal);
                Ok(())
            }
            None => Err(Error::op(format!("the value of a semaphore is at most {VALUE}"))),
        }
    }

    /// Its value now. Others may change it at any time.
    pub fn value(&self) -> u32 {
        self.waiters.home.value() as u32
    }
}

/// A lock with a condition to wait for. Mesa's rules: who signals goes on, so look again after a wait.
#[derive(Debug)]
pub struct Monitor<'r> {
    lock: McsLock<'r>,
    condition: WaitQueue<'r>,
}

impl<'r> Monitor<'r> {
    /// A monitor at home on a rank. For more conditions, make more [`WaitQueue`]s and use
    /// [`WaitCalls::wait_for`](crate::WaitCalls::wait_for).
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments, or more than 4095 ranks.
    pub fn new(rank: &'r Rank, home: RankId) -> Result<Monitor<'r>, Error> {
        Ok(Monitor { lock: McsLock::new(rank, home)?, condition: WaitQueue::new(rank, home)? })
    }

    /// Enters: no other rank is inside then.
    pub fn enter(&mut self) {
        self.lock.acquire();
    }

    /// Leaves.
    pub fn leave(&mut self) {
        self.lock.release();
    }

    /// Leaves, waits for a [`signal`](Self::signal), enters again. Only inside.
    pub fn wait(&mut self) {
        // Joined before it leaves, so no signal falls between.
        self.condition.insert();
        self.lock.release();
        self.condition.wait();
        self.lock.acquire();
    }

    /// The same, for another condition.
    pub fn wait_for(&mut self, condition: &mut WaitQueue<'r>) {
        condition.insert();
        self.lock.release();
        condition.wait();
        self.lock.acquire();
    }

    /// Wakes the rank that has waited for longest; leave soon. False: there was none.
    pub fn signal(&mut self) -> bool {
        self.condition.signal()
    }

    /// Wakes all that wait.
    pub fn broadcast(&mut self) -> u32 {
        self.condition.broadcast()
    }
}
