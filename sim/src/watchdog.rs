//! Reports ranks that keep their turn: a rank that spins on memory without calling the runtime stops virtual
//! time for all.
#![expect(unsafe_code, reason = "names the thread that it watches")]

use crate::crash::SimulationThread;
use crate::shared::Progress;
use core::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// A thread that watches the wall clock while a simulation runs.
pub(crate) struct Watchdog {
    /// It ends with the thread that made it.
    _stays: PhantomData<*const ()>,
    stop: Arc<AtomicBool>,
    stalls: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
    handle: Option<Thread>,
}

impl Watchdog {
    /// Watches the calling thread: says when a rank has kept the turn for `after`, and ends its turn when
    /// that took more than `most` of the processor's time.
    pub(crate) fn start(
        progress: Arc<Progress>,
        after: Duration,
        seed: u64,
        most: Option<Duration>,
    ) -> Watchdog {
        // SAFETY: the watchdog's thread ends with the value that is made here, which stays on this thread.
        let watched = unsafe { SimulationThread::current() };
        let (stop, stalls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopped, count) = (stop.clone(), stalls.clone());
        let look = move || {
            let mut last = (0, 0);
            let mut since = Instant::now();
            let mut reported = false;
            let mut used = watched.time();
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(most.map_or(after, |most| most.min(after)) / 4);
                let seen = (progress.running.load(Ordering::Relaxed), progress.calls.load(Ordering::Relaxed));
                if seen != last || seen.0 == 0 {
                    (last, since, reported) = (seen, Instant::now(), false);
                    used = watched.time();
                    continue;
                }
                if most.is_some_and(|most| watched.time() > used.map(|used| used + most)) {
                    watched.end_turn();
                }
                if since.elapsed() >= after && !reported {
                    reported = true;
                    count.fetch_add(1, Ordering::Relaxed);
                    let (rank, s) = (seen.0 - 1, since.elapsed().as_secs_f64());
                    eprintln!(
                        "netvm: simulation with seed {seed}: rank {rank} has run for {s:.1} s without calling the \
                         runtime: if it waits for a peer, let it wait by a call of the runtime"
                    );
                }
            }
        };
        let thread = std::thread::Builder::new().name("watchdog".into()).spawn(look).ok();
        let handle = thread.as_ref().map(|t| t.thread().clone());
        Watchdog { _stays: PhantomData, stop, stalls, thread, handle }
    }

    /// Number of stalls reported so far.
    pub(crate) fn stalls(&self) -> u32 {
        self.stalls.load(Ordering::Relaxed)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(handle) = &self.handle {
            handle.unpark();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
