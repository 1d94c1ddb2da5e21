//! Futures that the rank drives. A task that was woken is in the queue of those that can go on; whoever
//! serves polls it.

use core::cell::Cell;
use core::pin::Pin;
use core::task::Context;
use gasnet_sys::mutex::lock;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// The future of a task.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

thread_local! {
    /// Whether the thread polls a future that this crate drives.
    static DRIVES: Cell<bool> = const { Cell::new(false) };
}

/// Polls a future whose thread serves between polls.
pub(crate) fn driving<T>(poll: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            DRIVES.set(self.0);
        }
    }
    let _before = Before(DRIVES.replace(true));
    poll()
}

/// Whether the thread does that.
pub(crate) fn drives() -> bool {
    DRIVES.get()
}

struct TaskSlot {
    /// `None` when it is over.
    future: Mutex<Option<Task>>,
    queued: AtomicBool,
    tasks: Arc<Tasks>,
}

/// Tasks that can go on.
#[derive(Default)]
pub(crate) struct Tasks {
    ready: Mutex<VecDeque<Arc<TaskSlot>>>,
    /// Their number, for a look without the lock.
    count: AtomicUsize,
}

impl Tasks {
    pub(crate) fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        let future: Task = Box::pin(future);
        let slot =
            TaskSlot { future: Mutex::new(Some(future)), queued: AtomicBool::new(true), tasks: self.clone() };
        self.push(Arc::new(slot));
    }

    fn push(&self, slot: Arc<TaskSlot>) {
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
            let poll = || {
                let task = future.as_mut()?;
                Some(task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready())
            };
            // A task that has panicked is over, and nobody polls it again.
            let polled = catch_unwind(AssertUnwindSafe(|| driving(poll)));
            let ended = if matches!(polled, Ok(Some(false))) { None } else { future.take() };
            // It may run code of its own.
            drop(future);
            drop(ended);
            if let Err(panic) = polled {
                resume_unwind(panic);
            }
        }
        turns
    }
}

impl Wake for TaskSlot {
    fn wake(self: Arc<Self>) {
        // ORDER: AcqRel; pairs with the swap in `run`.
        if !self.queued.swap(true, Ordering::AcqRel) {
            let tasks = self.tasks.clone();
            tasks.push(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::task::Poll;

    /// A task that panics is over, with all it has, and the others go on.
    #[test]
    fn a_panic_ends_its_task_only() {
        let tasks: Arc<Tasks> = Arc::default();
        let (kept, polls) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let (in_task, counted) = (kept.clone(), polls.clone());
        tasks.spawn(core::future::poll_fn(move |cx| {
            let _kept = &in_task;
            cx.waker().wake_by_ref();
            if counted.fetch_add(1, Ordering::Relaxed) == 1 {
                panic!("as it is meant to");
            }
            Poll::Pending
        }));
        let done = Arc::new(AtomicBool::new(false));
        let other = done.clone();
        assert_eq!(tasks.run(), 1);
        assert!(catch_unwind(AssertUnwindSafe(|| tasks.run())).is_err());
        assert_eq!(Arc::strong_count(&kept), 1, "what the task had is dropped");
        tasks.spawn(async move { other.store(true, Ordering::Relaxed) });
        while tasks.can_go_on() {
            tasks.run();
        }
        assert!(done.load(Ordering::Relaxed) && polls.load(Ordering::Relaxed) == 2);
    }
}
