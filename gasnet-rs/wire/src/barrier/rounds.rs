//! The barrier among the leaders of neighbourhoods: dissemination. In round `k` leader `l` sends its merged
//! consensus to `l + 2^k`; after `ceil(log2 n)` rounds everybody has heard of everybody. A message belongs to
//! a phase by parity: no leader can be two phases ahead of another.

use super::central::Consensus;
use crate::am::{Kind, Message, Served, Token, hi, join, lo, nonsense};
use crate::prim::{AtomicU64, Ordering};
use crate::{RankId, Wire};
use std::sync::Mutex;

/// Number of this module's messages among the core's own.
pub(crate) const ROUND: u8 = 8;

/// Who serves them. A round to a rank that has left out the barrier is dropped: the monitor reports that.
pub(crate) const MESSAGES: Served = Served { handle, lost: |_, _, _| () };

fn handle(wire: &Wire, token: &Token<'_>, _: u8, m: &Message<'_>) {
    match (m.kind, m.args) {
        (Kind::Short, &[parity, round, lo, hi]) if token.is_request() => {
            if !wire.round_arrived(token.source(), parity, round, join(lo, hi)) {
                nonsense(token, "a barrier's round that it does not send now");
            }
        }
        _ => nonsense(token, "a barrier's round that is none"),
    }
}

/// Bit of a round that has arrived. A word of 0 means that nothing has arrived.
const ARRIVED: u64 = 1 << 63;

/// The state of the dissemination barrier.
pub(crate) struct Rounds {
    inbox: [Vec<AtomicU64>; 2],
    state: Mutex<State>,
    /// Whether a barrier is under way, for polls that have nothing to do.
    active: AtomicU64,
}

#[derive(Default)]
struct State {
    active: bool,
    phase: u32,
    round: usize,
    merged: u64,
}

impl Rounds {
    /// The rounds among this many leaders.
    pub(crate) fn new(leaders: usize) -> Rounds {
        let rounds = leaders.next_power_of_two().trailing_zeros() as usize;
        let inbox = [(); 2].map(|()| (0..rounds).map(|_| AtomicU64::new(0)).collect());
        Rounds { inbox, state: Mutex::default(), active: AtomicU64::new(0) }
    }

    /// Whether nothing had come for this round.
    fn arrived(&self, parity: usize, round: usize, word: u64) -> bool {
        // ORDER: Release; pairs with Acquire in advance_rounds: what the sender did before its barrier comes
        // before ours.
        self.inbox[parity][round]
            .compare_exchange(0, word | ARRIVED, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}

impl Wire {
    /// All of the neighbourhood have joined a phase with this consensus: has the leader go on.
    pub(crate) fn rounds_begin(&self, all: u64) {
        // ORDER: Release; pairs with Acquire in advance_rounds: what all of the neighbourhood did before
        // their notify is visible.
        self.leader_block().gathered.store(all | ARRIVED, Ordering::Release);
        if self.neighbourhood.leads() {
            self.advance_rounds();
        }
    }

    /// Takes in a round; whether its sender may have sent it. A leader's round of the phase after next comes
    /// when this one's has been dealt with: no leader is two phases ahead of another.
    fn round_arrived(&self, from: RankId, parity: u32, round: u32, word: u64) -> bool {
        let (leaders, own) = self.neighbourhood.leaders();
        let (parity, round, n) = (parity as usize, round as usize, leaders.len());
        self.neighbourhood.leads()
            && parity < 2
            && round < self.rounds.inbox[0].len()
            && leaders[(own + n - (1 << round)) % n] == from.0
            && word & ARRIVED == 0
            && self.rounds.arrived(parity, round, word)
    }

    fn send_round(&self, s: &State) {
        if s.round < self.rounds.inbox[0].len() {
            let (leaders, own) = self.neighbourhood.leaders();
            let to = leaders[(own + (1 << s.round)) % leaders.len()];
            let args = [s.phase & 1, s.round as u32, lo(s.merged), hi(s.merged)];
            // Never refused: it waits for room.
            let _ = self.message(RankId(to), ROUND, &args, false);
        }
    }

    /// On a leader: takes the rounds that have arrived and sends the next ones.
    pub(crate) fn advance_rounds(&self) {
        let own = self.leader_block();
        // Hints: what they miss now they see at a later poll.
        if own.gathered.load(Ordering::Relaxed) == 0 && self.rounds.active.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Busy: another thread does it, or this one further up its stack.
        let Ok(mut s) = self.rounds.state.try_lock() else { return };
        if !s.active {
            // ORDER: Acquire; pairs with Release in rounds_begin.
            let word = own.gathered.swap(0, Ordering::Acquire);
            if word == 0 {
                return;
            }
            (s.active, s.round, s.merged) = (true, 0, word & !ARRIVED);
            self.rounds.active.store(1, Ordering::Relaxed);
            self.send_round(&s);
        }
        while s.active {
            let Some(slot) = self.rounds.inbox[s.phase as usize & 1].get(s.round) else {
                s.active = false;
                self.rounds.active.store(0, Ordering::Relaxed);
                own.barrier.publish(s.phase, s.merged);
                s.phase = s.phase.wrapping_add(1);
                return;
            };
            if slot.load(Ordering::Relaxed) == 0 {
                return;
            }
            // ORDER: Acquire; pairs with Release in `arrived`.
            let word = slot.swap(0, Ordering::Acquire);
            s.merged = Consensus::decode(s.merged).merge(Consensus::decode(word & !ARRIVED)).encode();
            s.round += 1;
            self.send_round(&s);
        }
    }
}
