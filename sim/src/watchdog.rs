//! Reports ranks that keep their turn: a rank that spins on memory without calling the runtime stops virtual
//! time for all.

use crate::shared::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// A thread that watches the wall clock while a simulation runs.
pub(crate) struct Watchdog {
    stop: Arc<AtomicBool>,
    stalls: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
    handle: Option<Thread>,
}

impl Watchdog {
    pub(crate) fn start(progress: Arc<Progress>, after: Duration, seed: u64) -> Watchdog {
        let (stop, stalls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let (stopped, count) = (stop.clone(), stalls.clone());
        let look = move || {
            let mut last = (0, 0);
            let mut since = Instant::now();
            let mut reported = false;
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(after / 4);
                let seen = (progress.running.load(Ordering::Relaxed), progress.calls.load(Ordering::Relaxed));
                if seen != last || seen.0 == 0 {
                    (last, since, reported) = (seen, Instant::now(), false);
                } else if since.elapsed() >= after && !reported {
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
        Watchdog { stop, stalls, thread, handle }
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
