//! Work that makes more work, shared among the ranks by those that have none.
//!
//! A rank works in a task. From time to time it puts half of what it has where others can take it. A rank
//! without work asks a few others at random. If they have none either it leaves its number with some fixed
//! ones, its lifelines, and its task ends; a rank that has a number there gives some of its work away
//! (Saraswat and others, "Lifeline-based global load balancing", 2011). The lifelines connect all ranks, so
//! work reaches each; and since tasks are counted as calls are, [`World::settle`] tells when no work is left
//! anywhere.

use crate::{Data, Shared, World};
use core::task::Poll;
use gasnet_sys::mutex::lock;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Ranks that are asked before the lifelines are.
const TRIES: u32 = 2;
/// Items that are given away at once, at most.
const MOST_GIVEN: usize = 4096;
/// How long a rank works before it looks for calls.
const TURN: Duration = Duration::from_micros(100);

/// Work that makes more work, shared among the ranks by those that have none. `T` is an item of work.
///
/// ```no_run
/// # pgas::run(|world| {
/// // Counts the nodes of a tree: an item is a depth, and has as many children.
/// let pool = pgas::WorkPool::<u32>::new(world);
/// let roots = (world.rank() == 0).then_some(8);
/// let mine: u64 = pool.run(roots, 0, |count, depth, todo| {
///     *count += 1;
///     todo.extend((0..depth).map(|_| depth - 1));
/// });
/// assert_eq!(world.reduce(mine, |a, b| a + b), 109_601);
/// # })
/// ```
pub struct WorkPool<T: 'static> {
    parts: Shared<PoolPart<T>>,
}

impl<T> Clone for WorkPool<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for WorkPool<T> {}

impl<T> core::fmt::Debug for WorkPool<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "pool in {:?}", self.parts)
    }
}

/// Works on items of a stack, at most this many.
type Body<T> = Box<dyn FnMut(&mut Vec<T>, usize) + Send>;

struct PoolPart<T>(Mutex<Queue<T>>);

struct Queue<T> {
    /// Work that others may take, the oldest first: that is mostly the largest.
    spare: VecDeque<T>,
    /// Ranks that have asked this one to give them work when it has some.
    hungry: Vec<u32>,
    /// Which of its lifelines this rank has asked, a bit each.
    asked: u32,
    /// The program's function that works on tasks; `None` while a task of this rank runs it.
    body: Option<Body<T>>,
}

impl<T> PoolPart<T> {
    fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        lock(&self.0)
    }
}

impl<T> Queue<T> {
    /// Half of what may be taken.
    fn half(&mut self) -> Vec<T> {
        let most = self.spare.len().div_ceil(2).min(MOST_GIVEN);
        self.spare.drain(..most).collect()
    }
}

/// Where a function of [`WorkPool::run`] leaves the work that it finds.
#[derive(Debug)]
pub struct Todo<'a, T>(&'a mut Vec<T>);

impl<T> Todo<'_, T> {
    /// Adds an item.
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }
}

impl<T> Extend<T> for Todo<'_, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.0.extend(items);
    }
}

impl<T> WorkPool<T> {
    /// Makes a pool. It lives as long as the job, and can run several times, one after the other.
    ///
    /// # Collective
    ///
    /// # Panics
    /// As [`World::barrier`].
    pub fn new(world: World) -> WorkPool<T>
    where
        T: Data + Send,
    {
        let queue = Queue { spare: VecDeque::new(), hungry: Vec::new(), asked: 0, body: None };
        WorkPool { parts: world.share(PoolPart(Mutex::new(queue))) }
    }
}

impl<T: Data + Send> WorkPool<T> {
    /// Works on these items, and on those that `f` adds, on whichever ranks; returns when none is left
    /// anywhere. `f` gets this rank's state, which is returned at the end. It may not wait.
    ///
    /// # Collective
    /// Each rank brings items of its own, or none.
    ///
    /// # Panics
    /// As [`World::barrier`]; and if `f` does.
    pub fn run<S, F>(self, items: impl IntoIterator<Item = T>, state: S, mut f: F) -> S
    where
        S: Send + 'static,
        F: FnMut(&mut S, T, &mut Todo<'_, T>) + Send + 'static,
    {
        let world = self.parts.world();
        let state = Arc::new(Mutex::new(Some(state)));
        let of_body = state.clone();
        let body = move |stack: &mut Vec<T>, most: usize| {
            let mut state = lock(&of_body);
            let Some(state) = state.as_mut() else { return };
            for _ in 0..most {
                let Some(item) = stack.pop() else { return };
                f(state, item, &mut Todo(stack));
            }
        };
        {
            let mut queue = self.parts.queue();
            queue.hungry.clear();
            queue.asked = 0;
            queue.spare.extend(items);
            queue.body = Some(Box::new(body));
        }
        // Nobody asks or gives before all are there.
        world.barrier();
        self.start();
        world.settle();
        self.parts.queue().body = None;
        let state = lock(&state).take();
        state.unwrap_or_else(|| world.abort("a work pool has lost the state of a rank"))
    }

    /// Starts the task that works, unless it runs.
    fn start(self) {
        let body = self.parts.queue().body.take();
        if let Some(body) = body {
            self.parts.world().spawn(self.work(body));
        }
    }

    async fn work(self, mut body: Body<T>) {
        let mut stack: Vec<T> = Vec::new();
        let mut turn = 1;
        let mut random = fastrand::Rng::with_seed(u64::from(self.parts.world().rank()));
        loop {
            if stack.is_empty() {
                stack.extend(self.parts.queue().spare.drain(..));
            }
            if stack.is_empty() {
                stack = self.steal(&mut random).await;
            }
            if stack.is_empty() {
                self.ask_lifelines();
                let mut queue = self.parts.queue();
                if queue.spare.is_empty() {
                    queue.body = Some(body);
                    return;
                }
                continue;
            }
            let before = Instant::now();
            body(&mut stack, turn);
            turn = if before.elapsed() > TURN { (turn / 2).max(1) } else { (turn * 2).min(1 << 20) };
            self.share_out(&mut stack);
            give_way().await;
        }
    }

    /// Gives half of its work to each that waits, and puts half of the rest where others can take it.
    fn share_out(self, stack: &mut Vec<T>) {
        while stack.len() > 1
            && let Some(rank) = self.parts.queue().hungry.pop()
        {
            let some = (stack.len() / 2).min(MOST_GIVEN);
            self.give(rank, stack.drain(..some).collect());
        }
        let mut queue = self.parts.queue();
        if queue.spare.is_empty() && stack.len() > 1 {
            let some = stack.len() / 2;
            queue.spare.extend(stack.drain(..some));
        }
    }

    /// Work of others, chosen at random.
    async fn steal(self, random: &mut fastrand::Rng) -> Vec<T> {
        let world = self.parts.world();
        for _ in 0..TRIES.min(world.size() - 1) {
            let victim = (world.rank() + random.u32(1..world.size())) % world.size();
            match self.parts.call(victim, |part, ()| part.queue().half(), ()).result().await {
                Ok(items) if items.is_empty() => {}
                Ok(items) => return items,
                Err(e) => world.abort(&format!("a work pool: {e}")),
            }
        }
        Vec::new()
    }

    /// Leaves this rank's number with those that are to give it work.
    fn ask_lifelines(self) {
        let world = self.parts.world();
        let (me, ranks) = (u64::from(world.rank()), u64::from(world.size()));
        for line in (0..32).take_while(|line| 1 << line < ranks) {
            let bit = 1 << line;
            let asked = {
                let mut queue = self.parts.queue();
                let before = queue.asked;
                queue.asked |= bit;
                before & bit != 0
            };
            if !asked {
                let to = ((me + (1 << line)) % ranks) as u32;
                world.send(to, |_, (pool, rank): (WorkPool<T>, u32)| pool.hears_of(rank), (self, me as u32));
            }
        }
    }

    /// A rank has no work.
    fn hears_of(self, rank: u32) {
        let some = self.parts.queue().half();
        if some.is_empty() {
            self.parts.queue().hungry.push(rank);
        } else {
            self.give(rank, some);
        }
    }

    /// Gives work to a rank that has asked for it.
    fn give(self, rank: u32, items: Vec<T>) {
        let world = self.parts.world();
        world.send(
            rank,
            |_, (pool, from, items): (WorkPool<T>, u32, Vec<T>)| pool.receive(from, items),
            (self, world.rank(), items),
        );
    }

    /// Gets work that it has asked for.
    fn receive(self, from: u32, items: Vec<T>) {
        let world = self.parts.world();
        let line = (from + world.size() - world.rank()) % world.size();
        {
            let mut queue = self.parts.queue();
            queue.asked &= !line;
            queue.spare.extend(items);
        }
        self.start();
    }
}

impl<T> Serialize for WorkPool<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for WorkPool<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(WorkPool { parts: Shared::deserialize(deserializer)? })
    }
}

/// Lets others have their turn.
async fn give_way() {
    let mut first = true;
    core::future::poll_fn(|cx| {
        if !core::mem::take(&mut first) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
