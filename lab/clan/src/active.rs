//! Sources that were active recently, which are polled instead of waited for.
//!
//! To be told of every message costs an event each: a tripwire that is armed, an entry in a queue, a look. A
//! source that has just had a message is likely to have the next one soon. So whoever serves many sources
//! *polls* those that were active, in turn, and waits for events of the others. A source that was idle for
//! some turns is armed again, and looked at once more afterwards, as its message may have come in between.
//!
//! ```text
//!   quiet --event: note--> active --message--> active
//!     ^                      |  idle for `patience` turns
//!     '---- arm, look: nothing
//! ```

use std::collections::VecDeque;

/// The active sources, by keys of the program's choice.
#[derive(Debug)]
pub struct ActiveSources<K> {
    /// With the number of turns that each was idle.
    sources: VecDeque<(K, u32)>,
    patience: u32,
}

impl<K: Copy + Eq> ActiveSources<K> {
    /// None is active. A source becomes quiet after `patience` idle turns.
    pub fn new(patience: u32) -> ActiveSources<K> {
        ActiveSources { sources: VecDeque::new(), patience: patience.max(1) }
    }

    /// Makes a source active, because an event of it has come.
    pub fn note(&mut self, source: K) {
        match self.sources.iter_mut().find(|(active, _)| *active == source) {
            Some((_, idle)) => *idle = 0,
            None => self.sources.push_back((source, 0)),
        }
    }

    /// How many are active.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether none is active: then only events tell of messages.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Gives each active source a turn. `serve` does what there is to do for a source, and says whether there
    /// was anything. `arm` has the source report its next message as an event, and is called before a last
    /// `serve` of a source that has become quiet. Returns how many sources had something.
    pub fn turn(&mut self, mut serve: impl FnMut(K) -> bool, mut arm: impl FnMut(K)) -> usize {
        let mut served = 0;
        for _ in 0..self.sources.len() {
            let Some((source, idle)) = self.sources.pop_front() else { break };
            let mut had = serve(source);
            let idle = if had { 0 } else { idle + 1 };
            if idle >= self.patience {
                arm(source);
                had = serve(source);
                if !had {
                    continue;
                }
            }
            served += usize::from(had);
            self.sources.push_back((source, if had { 0 } else { idle }));
        }
        served
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Messages at random times: each is served once, whatever comes between the last look and the arming; no
    /// event is raised for a source that is active.
    #[test]
    fn clan_12_active_sources_are_served_without_events() {
        let mut random = fastrand::Rng::with_seed(12);
        let (mut raised, mut sent) = (0, 0);
        let waiting = RefCell::new([0u32; 5]);
        let armed = RefCell::new([true; 5]);
        let mut events = VecDeque::new();
        let mut active = ActiveSources::new(3);
        let mut got = 0;
        let steps = if cfg!(miri) { 300 } else { 10_000 };
        for step in 0..steps {
            if random.u8(..4) == 0 {
                let source = random.usize(..5);
                sent += 1;
                waiting.borrow_mut()[source] += 1;
                if std::mem::take(&mut armed.borrow_mut()[source]) {
                    raised += 1;
                    events.push_back(source);
                }
            }
            while let Some(source) = events.pop_front() {
                active.note(source);
            }
            let mut serve = |source: usize| {
                let n = std::mem::take(&mut waiting.borrow_mut()[source]);
                got += n;
                n > 0
            };
            // A message may come just before the wire is armed.
            let mut late = |source: usize| {
                if random.bool() {
                    sent += 1;
                    waiting.borrow_mut()[source] += 1;
                }
                armed.borrow_mut()[source] = true;
            };
            active.turn(&mut serve, &mut late);
            let unserved: u32 = waiting.borrow().iter().sum();
            assert_eq!(got + unserved, sent, "step {step}");
            // A notification that is not armed is active: nothing is forgotten.
            let quiet = armed.borrow().iter().filter(|armed| **armed).count();
            assert!(quiet + active.len() >= 5, "step {step}: {quiet} {}", active.len());
        }
        assert!(got > steps / 5 && raised * 2 < sent, "{raised} events for {sent} messages");
    }

    #[test]
    fn sources_have_turns() {
        let mut active = ActiveSources::new(2);
        [1, 2, 1].into_iter().for_each(|source| active.note(source));
        assert_eq!(active.len(), 2);
        let (mut order, mut armed) = (Vec::new(), Vec::new());
        let mut left = [0, 3, 1];
        while !active.is_empty() {
            active.turn(
                |source| {
                    let had = left[source] > 0;
                    left[source] -= i32::from(had);
                    order.extend(had.then_some(source));
                    had
                },
                |source| armed.push(source),
            );
        }
        assert_eq!((order, armed), (vec![1, 2, 1, 1], vec![2, 1]));
    }
}
