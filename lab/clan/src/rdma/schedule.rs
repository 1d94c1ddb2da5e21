//! In which order the engine serves queues: a schedule without memory and without I/O.
//!
//! Active queues have turns, one group of requests a turn. A queue becomes inactive only when it was seen
//! empty, every other active queue has had its turn since, and it is still empty: a busy program so makes its
//! next request in time, and need not kick.

use std::collections::VecDeque;

/// The next step of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Serve the first group of this queue.
    Serve(usize),
    /// Make this queue inactive, unless a request has come; then it is to be [kicked](Schedule::kick).
    Deactivate(usize),
    /// No queue is active.
    Idle,
}

/// The active queues, in the order of their turns.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    turns: VecDeque<ActiveQueue>,
}

#[derive(Debug)]
struct ActiveQueue {
    queue: usize,
    /// It was empty at its last turn.
    was_empty: bool,
}

impl Schedule {
    /// Makes a queue active.
    pub(super) fn kick(&mut self, queue: usize) {
        match self.turns.iter_mut().find(|turn| turn.queue == queue) {
            Some(turn) => turn.was_empty = false,
            None => self.turns.push_back(ActiveQueue { queue, was_empty: false }),
        }
    }

    /// Whether no queue is active.
    pub(super) fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// The next step. Queues that are empty for the first time are passed over.
    pub(super) fn next(&mut self, mut has_request: impl FnMut(usize) -> bool) -> Next {
        while let Some(ActiveQueue { queue, was_empty }) = self.turns.pop_front() {
            if has_request(queue) {
                self.turns.push_back(ActiveQueue { queue, was_empty: false });
                return Next::Serve(queue);
            }
            if was_empty {
                return Next::Deactivate(queue);
            }
            self.turns.push_back(ActiveQueue { queue, was_empty: true });
        }
        Next::Idle
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// All steps until nothing is active, with `left` groups in each queue.
    fn steps(schedule: &mut Schedule, left: &mut [u32]) -> Vec<Next> {
        let mut steps = Vec::new();
        loop {
            let next = schedule.next(|queue| left[queue] > 0);
            match next {
                Next::Serve(queue) => left[queue] -= 1,
                Next::Deactivate(_) => {}
                Next::Idle => return steps,
            }
            steps.push(next);
        }
    }

    #[test]
    fn clan_10_queues_have_turns() {
        let mut schedule = Schedule::default();
        (0..3).for_each(|queue| schedule.kick(queue));
        schedule.kick(1);
        let served: Vec<usize> = steps(&mut schedule, &mut [1, 3, 2])
            .into_iter()
            .filter_map(|step| if let Next::Serve(queue) = step { Some(queue) } else { None })
            .collect();
        assert_eq!(served, [0, 1, 2, 1, 2, 1]);
    }

    /// CLAN-9: empty, every other served once, still empty: only then inactive.
    #[test]
    fn clan_09_a_queue_stays_active_while_others_have_a_turn() {
        use Next::{Deactivate, Idle, Serve};
        let mut schedule = Schedule::default();
        (0..3).for_each(|queue| schedule.kick(queue));
        let mut left = [1, 2, 2];
        let mut next = |left: &mut [u32; 3]| {
            let next = schedule.next(|queue| left[queue] > 0);
            if let Serve(queue) = next {
                left[queue] -= 1;
            }
            next
        };
        assert_eq!([next(&mut left), next(&mut left), next(&mut left)], [Serve(0), Serve(1), Serve(2)]);
        // Queue 0 is empty now, and stays: the request that comes in time needs no kick.
        assert_eq!(next(&mut left), Serve(1));
        left[0] = 1;
        assert_eq!([next(&mut left), next(&mut left)], [Serve(2), Serve(0)]);
        // All are empty, and pass once more before they are inactive.
        left[2] = 1;
        assert_eq!(next(&mut left), Serve(2));
        let rest: Vec<Next> = std::iter::repeat_with(|| next(&mut left)).take_while(|n| *n != Idle).collect();
        assert_eq!(rest.len(), 3, "{rest:?}");
        assert!((0..3).all(|queue| rest.contains(&Deactivate(queue))), "{rest:?}");
        // A kick in between counts as not empty.
        let mut schedule = Schedule::default();
        schedule.kick(0);
        schedule.kick(1);
        assert_eq!(schedule.next(|_| false), Deactivate(0));
        schedule.kick(1);
        assert_eq!([schedule.next(|_| false), schedule.next(|_| false)], [Deactivate(1), Idle]);
    }
}
