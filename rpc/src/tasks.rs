//! Futures that the rank drives. A task that was woken is in the queue of those that can go on; whoever
//! serves polls it.

use crate::lock::lock;
use core::pin::Pin;
use core::task::Context;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// What a task runs.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Slot {
    /// `None` when it is over.
    future: Mutex<Option<Task>>,
    queued: AtomicBool,
    tasks: Arc<Tasks>,
}

/// Tasks that can go on.
#[derive(Default)]
pub(crate) struct Tasks {
    ready: Mutex<VecDeque<Arc<Slot>>>,
    /// Their number, for a look without the lock.
    count: AtomicUsize,
}

impl Tasks {
    pub(crate) fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        let future: Task = Box::pin(future);
        let slot =
            Slot { future: Mutex::new(Some(future)), queued: AtomicBool::new(true), tasks: self.clone() };
        self.push(Arc::new(slot));
    }

    fn push(&self, slot: Arc<Slot>) {
        let mut ready = lock(&self.ready);
        ready.push_back(slot);
        // Relaxed: a hint; the lock hands the tasks over.
        self.count.store(ready.len(), Ordering::Relaxed);
    }

    /// Whether some can go on.
    #[inline]
    pub(crate) fn can_go_on(&self) -> bool {
        // Relaxed: a hint, as where it is stored.
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Polls the tasks that can go on now, each once; how many.
    pub(crate) fn run(&self) -> usize {
        // Relaxed: a hint, as where it is stored.
        let turns = self.count.load(Ordering::Relaxed);
        for _ in 0..turns {
            let next = {
                let mut ready = lock(&self.ready);
                let next = ready.pop_front();
                // Relaxed: a hint, as where it is read.
                self.count.store(ready.len(), Ordering::Relaxed);
                next
            };
            let Some(slot) = next else { break };
            // ORDER: AcqRel; pairs with the swap in `wake`: who wakes after this queues the task anew, and
            // what it did before is seen.
            slot.queued.swap(false, Ordering::AcqRel);
            let waker = Waker::from(slot.clone());
            let mut future = lock(&slot.future);
            let over = future
                .as_mut()
                .is_some_and(|task| task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
            if over {
                *future = None;
            }
        }
        turns
    }
}

impl Wake for Slot {
    fn wake(self: Arc<Self>) {
        // ORDER: AcqRel; pairs with the swap in `run`.
        if !self.queued.swap(true, Ordering::AcqRel) {
            let tasks = self.tasks.clone();
            tasks.push(self);
        }
    }
}
