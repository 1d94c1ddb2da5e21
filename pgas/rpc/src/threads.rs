//! Threads that serve beside the program.
//!
//! As long as a thread of the program waits in the engine it serves, and these sleep. Else, or while that
//! thread runs a service, whoever brings work (a handler, as a rule in the rank's progress thread) wakes one
//! of them; that one wakes the next only if there is more to do than it has taken on. So one event never
//! wakes a crowd, a burst is served by one thread, and when that is held up by a service another takes over.

use crate::Engine;
use crate::prim::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, Turns, fence, lock, turns, yield_now};
use gasnet::Error;
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

/// Longest sleep: what the program has queued leaves then.
const FLUSH: Duration = Duration::from_millis(5);
/// Between looks at the network where no progress thread does that.
const LOOK: Duration = Duration::from_micros(100);

/// Largest number of threads that one call starts. A rank with more of them has mistaken a number.
const MAX_THREADS_AT_ONCE: usize = 1024;

/// A queue of arrived items that wait to be served.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    items: Turns<VecDeque<T>>,
    /// Their number, for a look without the lock.
    waiting: AtomicUsize,
}

impl<T> Default for Inbox<T> {
    fn default() -> Inbox<T> {
        Inbox { items: turns(VecDeque::new()), waiting: AtomicUsize::new(0) }
    }
}

impl<T> Inbox<T> {
    pub(crate) fn push(&self, item: T) {
        let mut items = self.items.take();
        items.push_back(item);
        // Relaxed: a hint; the lock hands the items over.
        self.waiting.store(items.len(), Ordering::Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut items = self.items.take();
        let next = items.pop_front();
        // Relaxed: a hint, as where it is read.
        self.waiting.store(items.len(), Ordering::Relaxed);
        next
    }

    /// Whether nothing waits, as far as can be told without the lock.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: a hint; who relies on it has a fence.
        self.waiting.load(Ordering::Relaxed) == 0
    }
}

/// Threads that serve, and those of the program that do while they wait.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// Threads that were started.
    threads: AtomicUsize,
    /// Those of them that are awake and have not begun a service.
    awake: AtomicUsize,
    /// Threads of the program that wait in the engine.
    waiters: AtomicUsize,
    /// Wakes that nobody has taken yet.
    wakes: Mutex<usize>,
    wake: Condvar,
    stopped: AtomicBool,
}

impl Servers {
    /// There is work. Wakes a thread, if no one sees to it anyhow.
    pub(crate) fn work(&self) {
        if self.none() {
            return;
        }
        // ORDER: SeqCst; pairs with the fence in `sleep` and that in `waiter_goes`: who brings work looks for
        // one who is awake after having brought it, and one who ceases to be looks for work after having said
        // so. One of the two sees the other.
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) > 0 || self.awake.load(Ordering::Relaxed) > 0 {
            return;
        }
        let mut wakes = lock(&self.wakes);
        *wakes = (*wakes + 1).min(self.threads.load(Ordering::Relaxed));
        self.wake.notify_one();
    }

    /// Takes the next item, for one who may be held up by it. Another thread sees to those behind it.
    pub(crate) fn take<T>(&self, inbox: &Inbox<T>) -> Option<T> {
        let item = inbox.pop()?;
        if !inbox.is_empty() {
            self.work();
        }
        Some(item)
    }

    /// Whether there are no such threads.
    #[inline]
    pub(crate) fn none(&self) -> bool {
        // Relaxed: a thread that has just been started looks for work itself.
        self.threads.load(Ordering::Relaxed) == 0
    }

    /// A thread of the program waits in the engine from now on.
    pub(crate) fn waiter_comes(&self) {
        // Relaxed: it serves whatever it finds.
        self.waiters.fetch_add(1, Ordering::Relaxed);
    }

    /// It does not wait any more: it is to look whether there is work.
    pub(crate) fn waiter_goes(&self) {
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `work`.
        fence(Ordering::SeqCst);
    }

    /// A thread of the program that waits runs services, which may take long: it does not count as one that
    /// waits meanwhile.
    pub(crate) fn serve_in_wait(&self, serve: impl FnOnce() -> usize) -> usize {
        self.waiter_goes();
        let done = serve();
        self.waiter_comes();
        done
    }

    /// Has the threads end. Who sleeps notices after its sleep.
    pub(crate) fn release(&self) {
        // Relaxed: a wish.
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Has the threads end, and waits for that.
    pub(crate) fn stop(&self) {
        // Relaxed: a wish.
        self.stopped.store(true, Ordering::Relaxed);
        // ORDER: Acquire; pairs with Release where a thread ends: it has done all it does.
        while self.threads.load(Ordering::Acquire) > 0 {
            *lock(&self.wakes) += 1;
            self.wake.notify_all();
            yield_now();
        }
    }

    /// One more thread that serves: it runs [`Servers::serve`].
    fn begin(&self) {
        // Relaxed: what the thread needs to know it finds in the engine.
        self.threads.fetch_add(1, Ordering::Relaxed);
        self.looks();
    }

    /// One less.
    fn end(&self) {
        self.busy();
        // ORDER: Release; pairs with Acquire in `stop`.
        self.threads.fetch_sub(1, Ordering::Release);
    }

    /// A thread has ended with its world, wherever it was.
    fn unwound(&self) {
        // ORDER: Release; pairs with Acquire in `stop`.
        self.threads.fetch_sub(1, Ordering::Release);
    }

    /// The loop of a thread that serves, until it is to stop. `look` polls the network, on one thread at a
    /// time, and `serve` runs services; both return the number of things they did. `longest`: longest
    /// sleep.
    fn serve(
        &self,
        longest: Duration,
        look: impl Fn() -> usize,
        serve: impl Fn() -> usize,
        has_work: impl Fn() -> bool,
    ) {
        // Relaxed, both loads: a wish, and a hint.
        while !self.stopped.load(Ordering::Relaxed) {
            let mut done = 0;
            if self.waiters.load(Ordering::Relaxed) == 0 {
                done += look();
                // Services may take long: others see to what comes meanwhile.
                self.busy();
                done += serve();
                self.looks();
            }
            if done == 0 {
                // Loom would have it wait for all others there, and miss that they wait for it.
                #[cfg(not(loom))]
                yield_now();
                self.sleep(longest, &has_work);
            }
        }
        self.end();
    }

    /// A thread that serves begins to run services, which may take long: others see to what comes.
    fn busy(&self) {
        // Relaxed: who relies on it has a fence.
        self.awake.fetch_sub(1, Ordering::Relaxed);
    }

    /// It looks for work again.
    fn looks(&self) {
        // Relaxed: it looks for work after this, whoever has seen it.
        self.awake.fetch_add(1, Ordering::Relaxed);
    }

    /// Sleeps until there is work, or for a while.
    fn sleep(&self, longest: Duration, has_work: impl Fn() -> bool) {
        let mut wakes = lock(&self.wakes);
        self.busy();
        // ORDER: SeqCst; pairs with the fence in `work`.
        fence(Ordering::SeqCst);
        if *wakes == 0 && (!has_work() || self.waiters.load(Ordering::Relaxed) > 0) {
            let slept = self.wake.wait_timeout(wakes, longest);
            wakes = slept.unwrap_or_else(PoisonError::into_inner).0;
        }
        *wakes = wakes.saturating_sub(1);
        self.looks();
    }
}

impl Engine {
    /// Starts `n` more threads that serve beside the program, whatever it does: services then run while the
    /// program computes, and at the same time as each other. With `GASNET_PROGRESS=thread` there is one from
    /// the start.
    ///
    /// # Errors
    /// The system refuses a thread, or they are more than 1,024.
    pub fn serve_by_threads(&'static self, n: usize) -> Result<(), Error> {
        if n > MAX_THREADS_AT_ONCE {
            return Err(Error::op(format!(
                "{n} threads that serve: at most {MAX_THREADS_AT_ONCE} are started at once"
            )));
        }
        for _ in 0..n {
            self.servers.begin();
            let thread = std::thread::Builder::new().name("gasnet-serve".into());
            let serve = move || {
                if gasnet::attempt(|| self.serve_beside()).is_err() {
                    self.servers.unwound();
                }
            };
            if let Err(e) = thread.spawn(serve) {
                self.servers.end();
                return Err(Error::op(format!("cannot start a thread that serves: {e}")));
            }
        }
        Ok(())
    }

    /// Has the threads of [`Engine::serve_by_threads`] end, without waiting for that: their world is over.
    pub fn release_threads(&self) {
        self.servers.release();
    }

    /// Ends the threads of [`Engine::serve_by_threads`]. Not called by one of them.
    pub fn stop_threads(&self) {
        self.servers.stop();
    }

    /// One thread that serves. Without a progress thread it looks at the network itself: each does, since any
    /// of them may be held up.
    fn serve_beside(&'static self) {
        let looks = !self.rank.config().progress_thread;
        let longest = if looks { LOOK } else { FLUSH };
        let look = || {
            self.rank.reports().answer();
            if looks { self.rank.poll() } else { 0 }
        };
        self.servers.serve(longest, look, || Engine::serve(self), || self.has_work());
    }
}

/// Nobody's sleep times out in these models: who is not woken sleeps for ever, and loom says so.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::model::Builder;
    use loom::sync::{Arc, mpsc};
    use loom::thread;

    type Item = Box<dyn FnOnce() + Send>;

    /// The threads of an engine whose services are these.
    #[derive(Default)]
    struct Rank {
        servers: Servers,
        inbox: Inbox<Item>,
    }

    impl Rank {
        fn start(rank: &Arc<Rank>, threads: usize) -> Vec<thread::JoinHandle<()>> {
            let start = |_| {
                rank.servers.begin();
                let rank = rank.clone();
                thread::spawn(move || {
                    let has_work = || !rank.inbox.is_empty();
                    rank.servers.serve(Duration::MAX, || 0, || rank.turn(), has_work);
                })
            };
            (0..threads).map(start).collect()
        }

        /// One turn of serving.
        fn turn(&self) -> usize {
            let mut done = 0;
            while let Some(item) = self.servers.take(&self.inbox) {
                item();
                done += 1;
            }
            done
        }

        /// Queues an item as a handler does.
        fn bring(&self, item: impl FnOnce() + Send + 'static) {
            self.inbox.push(Box::new(item));
            self.servers.work();
        }

        /// Ends a wait of a thread of the program.
        fn cease_to_wait(&self) {
            self.servers.waiter_goes();
            if !self.inbox.is_empty() {
                self.servers.work();
            }
        }

        fn end(&self, threads: Vec<thread::JoinHandle<()>>) {
            self.servers.stop();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
    }

    fn model(preemptions: usize, check: impl Fn() + Send + Sync + 'static) {
        let mut builder = Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(check);
    }

    #[test]
    fn loom_no_work_is_left_to_sleepers() {
        model(3, || {
            let rank = Arc::new(Rank::default());
            let threads = Rank::start(&rank, 1);
            let (send, served) = mpsc::channel();
            rank.bring(move || send.send(1).unwrap());
            assert_eq!(served.recv(), Ok(1));
            rank.end(threads);
        });
    }

    /// Work that comes while a thread of the program waits, and is about to go on without having served it.
    #[test]
    fn loom_who_ceases_to_wait_leaves_no_work_behind() {
        model(3, || {
            let rank = Arc::new(Rank::default());
            let threads = Rank::start(&rank, 1);
            let (send, served) = mpsc::channel();
            rank.servers.waiter_comes();
            let other = rank.clone();
            let handler = thread::spawn(move || other.bring(move || send.send(1).unwrap()));
            rank.cease_to_wait();
            assert_eq!(served.recv(), Ok(1));
            handler.join().unwrap();
            rank.end(threads);
        });
    }

    /// A thread of the program serves while it waits, and the service waits for another one.
    #[test]
    fn loom_another_thread_takes_over_from_one_that_waits() {
        model(1, || {
            let rank = Arc::new(Rank::default());
            let threads = Rank::start(&rank, 2);
            let (second, first) = mpsc::channel();
            let (send, served) = mpsc::channel();
            rank.servers.waiter_comes();
            rank.bring(move || send.send(first.recv().unwrap()).unwrap());
            let other = rank.clone();
            let handler = thread::spawn(move || other.bring(move || second.send(2).unwrap()));
            rank.servers.serve_in_wait(|| rank.turn());
            rank.cease_to_wait();
            assert_eq!(served.recv(), Ok(2));
            handler.join().unwrap();
            rank.end(threads);
        });
    }

    /// The first of two services, both left behind by a thread of the program, waits for the second.
    #[test]
    fn loom_another_thread_takes_over_from_one_that_is_held_up() {
        model(1, || {
            let rank = Arc::new(Rank::default());
            let threads = Rank::start(&rank, 2);
            let (second, first) = mpsc::channel();
            let (send, served) = mpsc::channel();
            rank.servers.waiter_comes();
            rank.bring(move || send.send(first.recv().unwrap()).unwrap());
            rank.bring(move || second.send(2).unwrap());
            rank.cease_to_wait();
            assert_eq!(served.recv(), Ok(2));
            rank.end(threads);
        });
    }
}
