//! When all records everywhere have been served, and those that their services sent.
//!
//! Each rank counts the records it has sent and those it has served (a service that started a task: when that
//! is over). In waves the ranks add up both counts. One wave does not tell: its counts are taken at different
//! times. Two waves do (Mattern's four counters): if as many were served by the first as were sent by the
//! second, then nothing was under way between them. A wave is a reduction, O(log N) steps; ranks serve while
//! they wait for it.
//!
//! A rank whose program is over goes on serving until all are ([`Engine::finish`]). It says in its waves that
//! it is at its end, and enters a barrier beside them: so one that is still in the middle of its program, and
//! waits for all ranks in either way, is told instead of waiting for ever. When all have come to their end,
//! they have left: calls that nobody has answered end with an error, and those that are made later do.
//!
//! The records that one wave counts as served were sent before the next wave counts, so there are at most
//! as many as that wave counts as sent. A larger number means that some rank sends records that no engine
//! has counted. The counts would then never become equal, so the job ends with a message.

use crate::Engine;
use gasnet::atomics::Function;

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
        self.settle_in_waves(false);
    }

    /// [`Engine::settle`] at the end of a program, after which there is nothing more to be served. `name` and
    /// `what` are those of a barrier ([`Engine::barrier`]) that no other has.
    ///
    /// # Collective
    /// Over all ranks.
    ///
    /// # Panics
    /// In a service. Ends the job when another rank settles, or is in a barrier, in the middle of its
    /// program.
    pub fn finish(&'static self, name: i32, what: &'static str) {
        assert!(!Engine::is_serving(), "a function that another rank has called may not end the program");
        self.rank().split_barrier().notify(name, 0);
        self.settle_in_waves(true);
        self.end_barrier(name, what);
        self.calls.close();
    }

    fn settle_in_waves(&'static self, at_end: bool) {
        let team = self.rank().team_all();
        let mut served_before = None;
        loop {
            self.serve();
            // `served` is read first, so whatever served records have sent is counted: `Count::get` sees what
            // was done before.
            let served = self.served.get();
            let sent = self.sent.get();
            let mut wave = team.reduce_all_nb_with(vec![sent, served, u64::from(at_end)], Function::Add);
            self.meet_until(team.meeting_place(), "all remote calls to be served", || wave.test());
            let &[sent, served, at_end] = &wave.wait()[..] else { return };
            if at_end != 0 && at_end != u64::from(self.rank().size()) {
                self.in_different_places("the end of all remote calls");
            }
            match Wave::of(served_before, sent) {
                Wave::Settled => return,
                Wave::Forged(more) => self.rank().fatal(&format!(
                    "remote calls: {more} more functions have run than were sent: a rank sends records of its own making"
                )),
                Wave::Another => served_before = Some(served),
            }
        }
    }
}

/// The result of a wave.
#[derive(Debug, PartialEq, Eq)]
enum Wave {
    /// No record was in flight between this wave and the one before.
    Settled,
    Another,
    /// This many records were served that nobody has sent.
    Forged(u64),
}

impl Wave {
    fn of(served_before: Option<u64>, sent: u64) -> Wave {
        match served_before {
            Some(served) if served == sent => Wave::Settled,
            Some(served) if served > sent => Wave::Forged(served - sent),
            _ => Wave::Another,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wave;

    #[test]
    fn a_wave_tells_what_the_one_before_has_served() {
        assert_eq!(Wave::of(None, 0), Wave::Another);
        assert_eq!(Wave::of(Some(3), 4), Wave::Another);
        assert_eq!(Wave::of(Some(4), 4), Wave::Settled);
        assert_eq!(Wave::of(Some(7), 4), Wave::Forged(3));
    }
}
