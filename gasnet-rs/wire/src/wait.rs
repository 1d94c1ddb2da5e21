//! The wait engine: how a rank spends the time until something happens.
//!
//! Every blocking call loops over *condition, poll, step*. A step first spins, later gives the processor to
//! others, and finally sleeps for short, fixed times. The sleeps are short because nobody wakes a rank whose
//! wait ends by a peer's plain store. The lengths of the three stages depend on whether ranks outnumber
//! processors. If they do, the awaited peer may need this rank's processor, and spinning delays it.
//!
//! **Watching.** Spinning is better, however, while that peer runs on another processor: its answer then
//! takes a fraction of a microsecond, and a yield would cost a turn of every other rank. So where ranks
//! outnumber processors, each rank keeps a word in shared memory ([`Presence`]) with the processor on which
//! it runs, or 0 when it has given up its processor. A rank spins while the peer to which it sent last is
//! running. The word is a hint. It is wrong while a rank is preempted, which costs some polls but never
//! progress. A rank that waits for all others, as in a barrier, yields once. After that the ranks on its
//! processor have had their turn, the missing messages come from other processors, and it spins as well.
//!
//! **Strangers.** A yield is cheap while all threads on the processor wait. If other programs compute there,
//! a yield costs a turn of each of them, tens of milliseconds, and a fair scheduler also charges the yielding
//! thread for turns that it did not use. A thread that sleeps instead gets the processor soon after it is
//! woken. So yields are timed. After an expensive yield, this process sleeps where it would spin or yield,
//! for so long that such yields take a small part of its time. Ranks that were bound to a processor each may
//! use all processors of the job until yields are cheap again. A woken rank then runs on the processor of the
//! peer that woke it, as soon as that peer sleeps; on other processors it would run after all the strangers
//! there.

use crate::boot::MeetingPlace;
use crate::prim::{AtomicU32, Ordering::Relaxed};
use crate::shm::map;
use core::cell::Cell;
use core::sync::atomic::AtomicU64;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The word of a rank in shared memory: the processor it runs on plus one, or 0 while it has given it up.
#[repr(C, align(128))]
pub(crate) struct Station(AtomicU32);

/// Which ranks of the host are running, and for which peer this rank waits. Each rank has one if ranks
/// outnumber processors.
pub struct Presence {
    me: usize,
    stations: &'static [Station],
    /// The peer that messages were sent to last, or [`NOBODY`].
    watched: AtomicU32,
    /// Whether there are other processors.
    others: bool,
}

/// No peer to watch.
const NOBODY: u32 = u32::MAX;
/// Number of polls for a running peer before a rank gives up the processor. It is halved each time the polls
/// find nothing.
const WATCH: u32 = 64;
/// The same if polls also look at a network, which takes several times as long.
const WATCH_NETWORK: u32 = 16;

impl Presence {
    /// Of the rank with station number `me`.
    pub(crate) fn new(me: usize, stations: &'static [Station], processors: usize) -> Presence {
        let (watched, others) = (AtomicU32::new(NOBODY), processors > 1);
        let presence = Presence { me, stations, watched, others };
        presence.arrive();
        presence
    }

    /// Watches this peer: messages that this rank will wait for come from it.
    #[inline]
    pub(crate) fn watch(&self, station: u32) {
        // Threads of a rank overwrite each other's value: it is a hint.
        self.watched.store(station, Relaxed);
    }

    /// Watches no single peer: messages that this rank will wait for can come from any rank.
    #[inline]
    pub fn watch_nobody(&self) {
        self.watched.store(NOBODY, Relaxed);
    }

    /// Whether a message that this rank waits for may come at any moment from another processor. This is so
    /// if the watched peer runs there, or if no single peer is watched and the ranks that share this
    /// processor have had their turn (`turns`).
    fn may_come(&self, turns: bool) -> bool {
        let here = self.stations[self.me].0.load(Relaxed);
        match self.watched.load(Relaxed) {
            NOBODY => turns && self.others,
            peer => self.stations.get(peer as usize).is_some_and(|s| ![0, here].contains(&s.0.load(Relaxed))),
        }
    }

    fn leave(&self) {
        self.stations[self.me].0.store(0, Relaxed);
    }

    fn arrive(&self) {
        self.stations[self.me].0.store(map::this_processor() + 1, Relaxed);
    }
}

/// A yield that took longer was expensive. If many ranks share a processor, see
/// [`WaitPolicy::tolerated_yield`].
const EXPENSIVE_YIELD: Duration = Duration::from_millis(1);
/// Amount by which an expensive yield raises a thread's score. A cheap one lowers it by 1.
const EXPENSIVE_YIELD_SCORE: u32 = 2;
/// Lowest score with which yields are avoided. One expensive yield does not suffice.
const AVOID_FROM_SCORE: u32 = 8;
/// Upper limit of the score, so that it falls soon when yields are cheap again.
const HIGHEST_SCORE: u32 = 16;
/// Yields are avoided for this many times the length of the last expensive yield.
const AVOIDED_YIELD_LENGTHS: u64 = 16;
/// A sleep that nobody ends takes the length of the wait so far divided by this, but at most
/// [`WaitPolicy::longest`]. Shorter sleeps would mean more polls, which take processor time from the ranks
/// that this rank waits for.
const SLEEP_PART_OF_WAIT: u32 = 16;
/// Lower limit of the longest sleep while yields are expensive.
const LONGEST_SLEEP_AMONG_STRANGERS: Duration = Duration::from_millis(1);

/// Time of the host's clock until which yields are avoided, or 0 when yields have been cheap for a while. All
/// ranks of a process share it, because it describes the machine.
static EXPENSIVE_UNTIL_NS: AtomicU64 = AtomicU64::new(0);
/// The processors of all ranks of the host, if this rank was given fewer.
static COMMON: OnceLock<Set> = OnceLock::new();

type Set = [u64; map::SET_WORDS];

thread_local! {
    static YIELDS: Yields = const { Yields { score: Cell::new(0), place: Cell::new(None) } };
}

/// The cost of the yields of a thread.
struct Yields {
    score: Cell<u32>,
    /// The thread's own processors, while it runs on the common ones.
    place: Cell<Option<Set>>,
}

/// The time by the clock's ticks, which are precise enough: expensive yields last for several ticks, and few
/// cheap ones include a tick, so that the score forgets those.
fn now() -> u64 {
    map::last_tick().as_nanos() as u64
}

/// Whether yields are too expensive now.
#[inline]
fn yields_are_expensive() -> bool {
    let until = EXPENSIVE_UNTIL_NS.load(Relaxed);
    until != 0 && now() < until
}

/// Whether programs of others computed here recently.
#[inline]
fn among_strangers() -> bool {
    EXPENSIVE_UNTIL_NS.load(Relaxed) != 0
}

/// Says on which processors the ranks of this host run, together.
pub(crate) fn share(processors: Set) {
    let own = map::processors();
    if own != processors && own != [0; map::SET_WORDS] {
        COMMON.get_or_init(|| processors);
    }
}

/// Whether this rank was given processors of its own, and its peers other ones.
pub(crate) fn has_own_processors() -> bool {
    COMMON.get().is_some()
}

impl Yields {
    /// Notes a yield that took `took` nanoseconds, and whether that was expensive.
    fn note(&self, took: u64, expensive: bool, now: u64) {
        let score = self.score.get();
        if expensive {
            self.score.set((score + EXPENSIVE_YIELD_SCORE).min(HIGHEST_SCORE));
            if score >= AVOID_FROM_SCORE {
                EXPENSIVE_UNTIL_NS.store(now + AVOIDED_YIELD_LENGTHS * took, Relaxed);
                if let (Some(common), None) = (COMMON.get(), self.place.get()) {
                    self.place.set(Some(map::processors()));
                    map::run_on(common);
                }
            }
        } else if score > 0 {
            self.score.set(score - 1);
            if score == 1 {
                EXPENSIVE_UNTIL_NS.store(0, Relaxed);
                if let Some(place) = self.place.take() {
                    map::run_on(&place);
                }
            }
        }
    }
}

/// Yields, and notes the cost; a yield that takes longer than `tolerated` is expensive. `before` is a recent
/// time, if it is known. Returns the time after the yield.
fn yield_timed(before: u64, tolerated: Duration) -> u64 {
    let before = if before == 0 { now() } else { before };
    std::thread::yield_now();
    let after = now();
    let took = after.saturating_sub(before);
    YIELDS.with(|yields| yields.note(took, took > tolerated.as_nanos() as u64, after));
    after
}

/// The lengths of the three stages.
#[derive(Debug, Clone, Copy)]
pub struct WaitPolicy {
    /// Number of polls before a rank gives up the processor while a watched peer is running (see the module).
    pub watched: u32,
    /// Number of polls before the first yield. It is 0 if ranks outnumber processors; a rank *watches* then
    /// (see the module).
    pub spins: u32,
    /// Number of yields before the first sleep.
    pub yields: u32,
    /// Length of a sleep.
    pub sleep: Duration,
    /// Longest sleep in a long wait. Sleeps grow with the wait up to this length.
    pub longest: Duration,
}

impl WaitPolicy {
    /// The policy for `ranks` ranks of a host on `processors` processors.
    pub fn new(ranks: u32, processors: usize, spins: Option<u32>) -> WaitPolicy {
        let crowded = ranks as usize > processors;
        let per_processor = (ranks as usize).div_ceil(processors.max(1)).max(1) as u32;
        let sleep = Duration::from_micros(u64::from(50 * (per_processor / 4).clamp(1, 40)));
        WaitPolicy {
            watched: WATCH,
            spins: spins.unwrap_or(if crowded { 0 } else { 2000 }),
            // A yield with nobody else to run returns at once; with others it takes as long as they do.
            yields: 20_000 / per_processor.min(20),
            // With very many ranks per processor the wake-ups of sleepers alone would keep it busy.
            sleep,
            longest: if per_processor > CROWDED_RANKS_PER_PROCESSOR {
                sleep.max(TIME_BETWEEN_WAKE_UPS * per_processor)
            } else {
                sleep
            },
        }
    }
}

/// Number of ranks per processor above which sleeps grow with the wait.
const CROWDED_RANKS_PER_PROCESSOR: u32 = 16;
/// Time between two wake-ups of sleepers on a processor, when all of them have waited for long. It is about
/// ten times the cost of a wake-up, so that most of the time is left for ranks that have work.
const TIME_BETWEEN_WAKE_UPS: Duration = Duration::from_micros(50);

impl WaitPolicy {
    /// Whether so many ranks share a processor that waiting ranks should leave it to the others.
    #[inline]
    pub(crate) fn many(&self) -> bool {
        self.longest > self.sleep
    }

    /// Longest time that a yield takes if only ranks of the job share the processor. The turn of a waiting
    /// rank takes a few microseconds.
    fn tolerated_yield(&self) -> Duration {
        EXPENSIVE_YIELD.max(self.longest / 4)
    }

    /// The same for a rank whose polls look at a network.
    pub(crate) fn over_network(self) -> WaitPolicy {
        WaitPolicy { watched: WATCH_NETWORK, ..self }
    }
}

/// Number of yields after which a wait answers questions about what it waits for.
const YIELDS_BEFORE_REPORT: u32 = 200;
/// Number of turns between two checks of a long wait that the ranks it needs have not left.
const TURNS_PER_LOOK_AT_PEERS: u32 = 16;
/// Number of spins between two pause instructions.
const SPINS_PER_PAUSE: u32 = 8;

/// Where the steps of a wait begin.
#[inline]
fn first_step(policy: WaitPolicy) -> u32 {
    // A rank that was asked to spin for ever does so. While strangers compute here, the peer needs the
    // processor unless it sleeps.
    let spin = policy.spins == u32::MAX || !among_strangers();
    if spin { 0 } else { policy.spins }
}

/// The last note to the monitor about a wait.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    /// Time of the next note, in seconds of the host's clock.
    pub(crate) due: u32,
    /// The number of the wait at the monitor, or 0 if something has happened since.
    pub(crate) number: u32,
}

/// One wait in progress.
pub struct Waiter {
    policy: WaitPolicy,
    presence: Option<&'static Presence>,
    steps: u32,
    /// Number of polls for a running peer since the last yield, and its limit.
    watched: u32,
    patience: u32,
    /// Time at the end of the last yield if only polls followed it, else 0.
    yielded: u64,
    since: Option<Instant>,
    /// Only other ranks can end it.
    pub for_others: bool,
    /// All ranks have to reach this place before it ends.
    pub meeting: Option<MeetingPlace>,
    /// Whether it may be for a collective operation.
    pub(crate) collective: bool,
    /// Set when the wait has taken a while.
    pub(crate) told: Option<Told>,
    /// The last question that the wait has answered ([`crate::report`]), and whether it has reported without
    /// a question.
    pub(crate) asked: u32,
    pub(crate) reported: bool,
    /// Whether a conduit has taken a step of it since something happened.
    pub(crate) idled: bool,
    /// [`Wire::idles`](crate::Wire::idles) after the last step that a conduit has taken. If there have been
    /// more, other waits have begun and ended between two steps of this one: in its condition.
    pub(crate) idles: u32,
}

impl Waiter {
    /// A wait that begins now. Ranks have theirs from [`WaitCalls::begin`](crate::WaitCalls::begin).
    pub fn new(policy: WaitPolicy, presence: Option<&'static Presence>) -> Waiter {
        Waiter {
            policy,
            presence,
            steps: first_step(policy),
            watched: 0,
            patience: policy.watched,
            yielded: 0,
            since: None,
            for_others: false,
            meeting: None,
            collective: false,
            told: None,
            asked: crate::question::asked(),
            reported: false,
            idled: false,
            idles: 0,
        }
    }

    /// A conduit has given the turn to others in place of a step. Where ranks may die, that counts as a turn:
    /// after it the wait looks for deaths.
    pub(crate) fn gave_way(&mut self, may_survive: bool) {
        self.idled = true;
        if may_survive {
            self.steps = self.steps.max(self.policy.spins).saturating_add(1);
        }
    }

    /// Called when the condition does not hold and a poll did nothing.
    #[inline]
    pub fn step(&mut self) {
        self.step_or(std::thread::sleep);
    }

    /// [`Waiter::step`] that sleeps in its own way.
    #[inline]
    pub fn step_or(&mut self, sleep: impl FnOnce(Duration)) {
        if self.steps < self.policy.spins {
            self.steps += 1;
            // The poll between two steps is a pause in itself, and the instruction takes long, especially in
            // a virtual machine.
            if self.steps.is_multiple_of(SPINS_PER_PAUSE) {
                core::hint::spin_loop();
            }
        } else {
            self.step_slow(sleep);
        }
    }

    /// Called when a poll did something: the awaited event may be close.
    #[inline]
    pub fn progressed(&mut self) {
        self.steps = first_step(self.policy);
        self.idled = false;
        (self.watched, self.patience, self.yielded) = (0, self.policy.watched, 0);
        if let Some(told) = &mut self.told {
            told.number = 0;
        }
    }

    #[cold]
    fn step_slow(&mut self, sleep: impl FnOnce(Duration)) {
        if let Some(presence) = self.presence {
            if self.watched < self.patience && presence.may_come(self.turns() > 0) {
                self.watched += 1;
                if self.watched.is_multiple_of(SPINS_PER_PAUSE) {
                    core::hint::spin_loop();
                }
                return;
            }
            if self.watched == self.patience {
                self.patience /= 2;
            }
            self.watched = 0;
            presence.leave();
        }
        self.steps = self.steps.saturating_add(1);
        let slow = self.turns();
        // Turns on a loaded machine can be long, so a wait is reported well before it sleeps.
        if slow == YIELDS_BEFORE_REPORT {
            self.since.get_or_insert_with(Instant::now);
        }
        let expensive = yields_are_expensive();
        if slow <= self.policy.yields && !expensive {
            self.yielded = yield_timed(self.yielded, self.policy.tolerated_yield());
        } else {
            self.yielded = 0;
            let waited = self.since.get_or_insert_with(Instant::now).elapsed();
            let longest = if expensive {
                LONGEST_SLEEP_AMONG_STRANGERS.max(self.policy.longest)
            } else {
                self.policy.longest
            };
            sleep(self.policy.sleep.max((waited / SLEEP_PART_OF_WAIT).min(longest)));
        }
        if let Some(presence) = self.presence {
            presence.arrive();
        }
    }

    /// Number of times that this wait has given up the processor since something happened.
    #[inline]
    pub(crate) fn turns(&self) -> u32 {
        self.steps.saturating_sub(self.policy.spins)
    }

    /// Whether it is time to check that the ranks that this wait needs have not left.
    #[inline]
    pub(crate) fn should_look(&self) -> bool {
        self.turns().is_multiple_of(TURNS_PER_LOOK_AT_PEERS)
    }

    /// Whether this wait has taken a while.
    #[inline]
    pub(crate) fn has_slept(&self) -> bool {
        self.since.is_some()
    }

    /// Time since this wait became slow, if it has.
    pub fn asleep_for(&self) -> Option<Duration> {
        self.since.map(|t| t.elapsed())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A peer is worth waiting for while it runs elsewhere: not when it gave its processor up, was preempted
    /// from ours, or is unknown.
    #[test]
    #[cfg_attr(miri, ignore = "asks which processor it runs on")]
    fn only_a_peer_that_runs_elsewhere_is_watched() {
        let stations: &'static [Station] = Box::leak((0..3).map(|_| Station(AtomicU32::new(0))).collect());
        let presence = Presence::new(0, stations, 2);
        let here = stations[0].0.load(Relaxed);
        assert_ne!(here, 0, "who makes it is running");
        assert!(!presence.may_come(false), "nobody is watched at first");
        presence.watch(2);
        for (word, runs) in [(0, false), (here, false), (here + 1, true), (0, false)] {
            stations[2].0.store(word, Relaxed);
            assert_eq!(presence.may_come(false), runs, "{word}");
        }
        stations[2].0.store(here + 1, Relaxed);
        presence.watch(7);
        assert!(!presence.may_come(false));
        presence.watch(2);
        presence.watch_nobody();
        assert!(!presence.may_come(false) && presence.may_come(true), "after a turn from elsewhere");
        let alone = Presence::new(0, stations, 1);
        assert!(!alone.may_come(true), "nowhere else to come from");
        presence.leave();
        assert_eq!(stations[0].0.load(Relaxed), 0);
    }

    /// A running peer that says nothing is watched ever shorter, so a wait soon yields at every step;
    /// progress restores it.
    #[test]
    #[cfg_attr(miri, ignore = "asks which processor it runs on")]
    fn patience_runs_out() {
        let stations: &'static [Station] = Box::leak((0..2).map(|_| Station(AtomicU32::new(0))).collect());
        let presence: &'static Presence = Box::leak(Box::new(Presence::new(0, stations, 2)));
        presence.watch(1);
        stations[1].0.store(u32::MAX, Relaxed);
        let mut waiter = Waiter::new(WaitPolicy::new(8, 2, None), Some(presence));
        let steps = |waiter: &mut Waiter, yields: u32| {
            let mut n = 0;
            while waiter.steps < yields {
                waiter.step();
                n += 1;
            }
            n
        };
        assert_eq!(steps(&mut waiter, 8), 64 + 32 + 16 + 8 + 4 + 2 + 1 + 8);
        assert_eq!(steps(&mut waiter, 9), 1);
        waiter.progressed();
        assert_eq!(steps(&mut waiter, 1), 65);
        let mut waiter = Waiter::new(WaitPolicy::new(8, 2, None).over_network(), Some(presence));
        assert_eq!(steps(&mut waiter, 6), 16 + 8 + 4 + 2 + 1 + 6);
    }

    #[test]
    fn crowded_ranks_hardly_spin() {
        let quiet = WaitPolicy::new(2, 2, None);
        let crowded = WaitPolicy::new(8, 2, None);
        assert!(crowded.spins < quiet.spins);
        assert!(crowded.sleep <= Duration::from_micros(100));
        assert_eq!(WaitPolicy::new(8, 2, Some(3)).spins, 3);
        assert_eq!(crowded.longest, crowded.sleep);
        // All ranks of a processor together wake up no oftener, however many they are.
        for ranks in [100, 1000, 10_000] {
            assert_eq!(WaitPolicy::new(ranks, 2, None).longest / (ranks / 2), TIME_BETWEEN_WAKE_UPS);
        }
    }
}
