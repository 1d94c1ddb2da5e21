//! When all records everywhere have been served, and those that their services sent.
//!
//! Each rank counts the records it has sent and those it has served (a service that started a task: when that
//! is over). In waves the ranks add up both counts. One wave does not tell: its counts are taken at different
//! times. Two waves do (Mattern's four counters): if as many were served by the first as were sent by the
//! second, then nothing was under way between them. A wave is a reduction, O(log N) steps; ranks serve while
//! they wait for it.

use crate::Engine;
use gasnet::atomics::Function;
use std::sync::atomic::Ordering;

impl Engine {
    /// Returns when all records that any rank has sent before it called this have been served, and all that
    /// their services have sent.
    ///
    /// # Collective
    /// Over all ranks.
    ///
    /// # Panics
    /// In a service.
    pub fn settle(&'static self) {
        assert!(!Engine::is_serving(), "a function that another rank has called may not wait for all ranks");
        let team = self.rank().team_all();
        let mut served_before = None;
        loop {
            self.serve();
            // ORDER: Acquire; pairs with Release in `has_served_one`: `served` is read first, so whatever
            // served records have sent is counted.
            let served = self.served.load(Ordering::Acquire);
            let sent = self.sent.load(Ordering::Acquire);
            let mut wave = team.reduce_all_nb_with(vec![sent, served], Function::Add);
            self.wait_until("all remote calls to be served", || wave.test());
            let &[sent, served] = &wave.wait()[..] else { return };
            if served_before == Some(sent) {
                return;
            }
            served_before = Some(served);
        }
    }
}
