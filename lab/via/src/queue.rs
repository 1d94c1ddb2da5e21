//! Work queues of a VI, and completion queues.
//!
//! ```text
//!   taken by the program <- [ done | done | started | started | waiting | waiting ] <- posted
//! ```
//! Descriptors are started in order and leave in order. One that is done behind one that is not stays where
//! it is until that one is done, too.

use crate::terms::{Completed, CqId, Descriptor, Done, Errors, NicId, Operation, Segment, ViId};
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Waiting,
    /// The message of this number was sent; its receiver has not said that it is in place.
    Sent(u64),
    /// An RDMA operation is under way.
    Moving(u32),
    Done {
        errors: Errors,
        len: u32,
        immediate: Option<u32>,
        done: Done,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) work: Descriptor,
    pub(crate) stage: Stage,
    /// Whether its memory is kept for it.
    pub(crate) held: bool,
}

/// A send queue or a receive queue.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    entries: VecDeque<Entry>,
    /// How many, from the front, the program may take.
    ready: usize,
    /// How many, from the front, were started.
    started: usize,
    pub(crate) cq: Option<CqId>,
    is_receive: bool,
}

impl Queue {
    pub(crate) fn new(cq: Option<CqId>, is_receive: bool) -> Queue {
        Queue { entries: VecDeque::new(), ready: 0, started: 0, cq, is_receive }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Descriptors that are not done.
    pub(crate) fn outstanding(&self) -> usize {
        self.entries.iter().skip(self.ready).filter(|e| !matches!(e.stage, Stage::Done { .. })).count()
    }

    /// Descriptors that wait for their turn.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().skip(self.started)
    }

    pub(crate) fn post(&mut self, work: Descriptor, held: bool) {
        self.entries.push_back(Entry { work, stage: Stage::Waiting, held });
    }

    /// The descriptor whose turn it is.
    pub(crate) fn next(&self) -> Option<&Entry> {
        self.entries.get(self.started)
    }

    /// Starts it.
    pub(crate) fn start(&mut self, stage: Stage) {
        if let Some(entry) = self.entries.get_mut(self.started) {
            entry.stage = stage;
            self.started += 1;
        }
    }

    /// The first descriptor of this kind that was started and has not left.
    pub(crate) fn find(&mut self, kind: impl Fn(&Entry) -> bool) -> Option<&mut Entry> {
        let (ready, started) = (self.ready, self.started);
        self.entries.range_mut(ready..started).find(|e| kind(e))
    }

    /// All that is not done is done in this way.
    pub(crate) fn flush(&mut self) {
        let is_receive = self.is_receive;
        self.entries.range_mut(self.ready..).for_each(|e| {
            if !matches!(e.stage, Stage::Done { .. }) {
                e.stage = failed(&e.work, is_receive, Errors::FLUSHED);
            }
        });
        self.started = self.entries.len();
    }

    /// Lets the program take what is done at the front. Calls `each` for every such descriptor, once.
    pub(crate) fn settle(&mut self, mut each: impl FnMut(&Entry)) {
        while let Some(entry) = self.entries.get(self.ready)
            && matches!(entry.stage, Stage::Done { .. })
        {
            each(entry);
            self.ready += 1;
        }
    }

    /// Takes the oldest descriptor, if it is done, and says where it is itself.
    pub(crate) fn take(&mut self) -> Option<(Completed, Option<Segment>)> {
        if self.ready == 0 {
            return None;
        }
        let Entry { work, stage: Stage::Done { errors, len, immediate, done }, .. } =
            self.entries.pop_front()?
        else {
            return None;
        };
        (self.ready, self.started) = (self.ready - 1, self.started - 1);
        Some((Completed { cookie: work.cookie, done, errors, len, immediate }, work.own))
    }
}

/// The end of a descriptor that has failed.
pub(crate) fn failed(work: &Descriptor, is_receive: bool, errors: Errors) -> Stage {
    Stage::Done { errors, len: 0, immediate: None, done: kind(work, is_receive) }
}

/// The end of a send, RDMA write or read that has succeeded.
pub(crate) fn succeeded(work: &Descriptor) -> Stage {
    let (done, immediate) = (kind(work, false), work.immediate);
    Stage::Done { errors: Errors::NONE, len: work.len() as u32, immediate, done }
}

fn kind(work: &Descriptor, is_receive: bool) -> Done {
    match work.operation {
        _ if is_receive => Done::Receive,
        Operation::Message => Done::Send,
        Operation::Write(_) => Done::Write,
        Operation::Read(_) => Done::Read,
    }
}

/// A completion queue. An entry has its place from the time its descriptor is posted, so none can be lost.
#[derive(Debug, Clone)]
pub(crate) struct CompletionQueue {
    pub(crate) nic: NicId,
    pub(crate) capacity: usize,
    /// Places of descriptors that are posted, and of entries.
    pub(crate) taken: usize,
    pub(crate) entries: VecDeque<(ViId, bool)>,
    /// Work queues that report here.
    pub(crate) queues: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// VIA-2: what is done out of turn waits for its turn.
    #[test]
    fn via_02_descriptors_leave_in_order() {
        let mut queue = Queue::new(None, false);
        (0..3).for_each(|i| queue.post(Descriptor::message(Vec::new()).with_cookie(i), true));
        (0..3).for_each(|i| queue.start(Stage::Sent(i)));
        assert_eq!((queue.outstanding(), queue.waiting().count()), (3, 0));
        let mut announced = Vec::new();
        for number in [1, 0, 2] {
            let entry = queue.find(|e| e.stage == Stage::Sent(number)).expect("started");
            entry.stage = succeeded(&entry.work);
            queue.settle(|e| announced.push(e.work.cookie));
            assert_eq!(announced.is_empty(), number == 1);
        }
        assert_eq!(announced, [0, 1, 2]);
        let taken: Vec<u64> = std::iter::from_fn(|| queue.take()).map(|(c, _)| c.cookie).collect();
        assert_eq!(taken, [0, 1, 2]);
        assert_eq!((queue.len(), queue.take()), (0, None));
    }
}
