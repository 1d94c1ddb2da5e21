//! The agent of a rank: carries packets and RDMA operations between the machine and the runtime.
//!
//! **Who runs the machine.** Whoever has its lock: a call of the program, or the handler of a packet. A
//! handler that does not get the lock leaves its packet in the inbox; whoever has the lock looks there again
//! after giving it up. So packets are taken in whenever the rank polls, whatever the program is doing.
//!
//! **Who waits** looks at the machine when something was done to it since the last look, when RDMA operations
//! are under way, and now and then for the time. Other turns of the wait cost a load.
//!
//! **What a handler may not do** is to send anything but one answer to the sender. The rest waits in the
//! machine for the next call of the program.

use crate::machine::{Action, Machine};
use crate::notice::{Notices, Wanted};
use crate::region::Registered;
use crate::terms::ViaError;
use core::time::Duration;
use gasnet::am::FIRST_CLIENT_HANDLER;
use gasnet::region::RegionOp;
use gasnet::{Error, Handler, Message, Rank, RankId, Token};
use gasnet_sys::mutex::lock;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The handlers of packets and of datagrams: below those of remote calls.
const PACKET: u8 = FIRST_CLIENT_HANDLER - 6;
const DATAGRAM: u8 = FIRST_CLIENT_HANDLER - 7;
/// How often the agent looks at the clock, and for ranks that have left.
const TICK: Duration = Duration::from_millis(1);
/// Turns of a wait of which one looks at the machine, whatever has happened.
const TURNS_PER_LOOK: u32 = 8;

/// Faults of the network that datagrams meet, the packets of unreliable connections. Conduits lose nothing,
/// so the agent of the sender causes them. Each number is out of 1000 datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// Are lost.
    pub lose: u16,
    /// Come twice.
    pub duplicate: u16,
    /// Have a bit changed.
    pub corrupt: u16,
    /// Come after the next one.
    pub reorder: u16,
    /// Begins the sequence of faults.
    pub seed: u64,
}

struct Wire {
    faults: Faults,
    rng: fastrand::Rng,
    held: Vec<(u32, Vec<u8>)>,
}

struct Packet {
    from: u32,
    datagram: bool,
    bytes: Vec<u8>,
}

pub(crate) struct AgentState {
    pub(crate) machine: Machine<Registered>,
    /// RDMA operations under way, by ticket.
    moving: Vec<(u32, RegionOp<'static, u8>)>,
    wire: Wire,
    looked: Duration,
}

/// Provider and kernel agent of a rank; it lives as long as the process.
///
/// All VIs of the rank belong to it. Several threads may call it and the [`Nic`](crate::Nic)s
/// that it opens.
pub struct Agent {
    pub(crate) rank: &'static Rank,
    state: Mutex<AgentState>,
    inbox: Mutex<VecDeque<Packet>>,
    /// Grows whenever something was done to the machine.
    changes: AtomicU64,
    /// RDMA operations are under way, or were at the last look.
    is_moving: AtomicBool,
    pub(crate) notices: Notices,
}

impl core::fmt::Debug for Agent {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Agent").field("rank", &self.rank.id()).finish_non_exhaustive()
    }
}

impl Agent {
    /// Starts the agent of this rank.
    ///
    /// # Collective
    /// Over all ranks; acts as a barrier.
    ///
    /// # Errors
    /// There is one already.
    pub fn start(rank: &'static Rank) -> Result<&'static Agent, Error> {
        let state = AgentState {
            machine: Machine::new(rank.id().0, rank.size()),
            moving: Vec::new(),
            wire: Wire { faults: Faults::default(), rng: fastrand::Rng::with_seed(0), held: Vec::new() },
            looked: Duration::ZERO,
        };
        let (state, inbox) = (Mutex::new(state), Mutex::default());
        let agent: &'static Agent = Box::leak(Box::new(Agent {
            rank,
            state,
            inbox,
            changes: AtomicU64::new(0),
            is_moving: AtomicBool::new(false),
            notices: Notices::default(),
        }));
        for (index, datagram) in [(PACKET, false), (DATAGRAM, true)] {
            rank.register_library(index, Handler::new(move |token, m| agent.receive(token, m, datagram)))?;
        }
        rank.barrier();
        Ok(agent)
    }

    /// Handler: a packet.
    fn receive(&self, token: &Token<'_>, m: &Message<'_>, datagram: bool) {
        let from = token.source().0;
        match self.state.try_lock() {
            Ok(mut state) => {
                state.machine.packet(from, m.bytes(), datagram);
                self.taken(token, &mut state);
            }
            Err(_) => lock(&self.inbox).push_back(Packet { from, datagram, bytes: m.bytes().to_vec() }),
        }
        while !lock(&self.inbox).is_empty()
            && let Ok(mut state) = self.state.try_lock()
        {
            self.take_in(&mut state);
            self.taken(token, &mut state);
        }
    }

    /// A handler has given the machine packets.
    fn taken(&self, token: &Token<'_>, state: &mut AgentState) {
        self.changed();
        self.tell(state);
        if token.is_request()
            && !token.has_replied()
            && let Some(bytes) = state.machine.answer_to(token.source().0)
            && let Err(e) = token.reply_medium(PACKET, &[], &bytes)
        {
            self.rank.fatal(&format!("a packet of a VI to rank {}: {e}", token.source()));
        }
    }

    /// Something was done to the machine.
    fn changed(&self) {
        // ORDER: Release; pairs with Acquire in `wait`: who sees the number finds the machine as it was left.
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The machine takes in what has come. Returns how many packets.
    fn take_in(&self, state: &mut AgentState) -> usize {
        let packets = {
            let mut inbox = lock(&self.inbox);
            if inbox.is_empty() {
                return 0;
            }
            std::mem::take(&mut *inbox)
        };
        let count = packets.len();
        for Packet { from, datagram, bytes } in packets {
            state.machine.packet(from, &bytes, datagram);
        }
        count
    }

    /// Does something with the machine, and then what handlers have left to whoever has it.
    fn with<T>(&self, run: impl FnOnce(&mut AgentState) -> T) -> T {
        let mut state = lock(&self.state);
        let result = run(&mut state);
        self.is_moving.store(!state.moving.is_empty(), Ordering::Relaxed);
        self.changed();
        self.tell(&state);
        drop(state);
        while !lock(&self.inbox).is_empty()
            && let Ok(mut state) = self.state.try_lock()
        {
            self.progress(&mut state);
            self.is_moving.store(!state.moving.is_empty(), Ordering::Relaxed);
            self.changed();
            self.tell(&state);
        }
        result
    }

    /// Has reports told, if there are any.
    fn tell(&self, state: &AgentState) {
        if state.machine.has_reports() {
            self.notices.reported();
        }
    }

    /// Has something called when it has happened.
    pub(crate) fn want(&'static self, wanted: Wanted) -> Result<(), ViaError> {
        self.start_calls()?;
        self.notices.want(wanted);
        Ok(())
    }

    /// Starts the thread that calls functions of the program, if it does not run.
    pub(crate) fn start_calls(&'static self) -> Result<(), ViaError> {
        let mut notices = self.notices.lock();
        if notices.thread.is_none() {
            let thread = std::thread::Builder::new().name("via-notices".to_string());
            let started = thread.spawn(move || {
                while self.notices.sleep() {
                    let found = self.wait("what a function is called for", None, |m| self.notices.find(m));
                    if let Ok(Some(call)) = found {
                        call();
                    }
                }
            });
            notices.thread = Some(started.map_err(|_| ViaError::Resource("no thread could be started"))?);
        }
        Ok(())
    }

    /// Ends the calls of functions of the program ([`Nic::on_error`](crate::Nic::on_error),
    /// [`Nic::notify_send`](crate::Nic::notify_send)), for good. Waits for one that runs, unless that is
    /// where this is called.
    pub fn stop_calls(&self) {
        if let Some(thread) = self.notices.stop()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the program's function has been reported.
            let _ = thread.join();
        }
    }

    /// The rank.
    pub fn rank(&self) -> &'static Rank {
        self.rank
    }

    /// Sets what happens to the datagrams that this rank sends from now on.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = lock(&self.state);
        state.wire.faults = faults;
        state.wire.rng = fastrand::Rng::with_seed(faults.seed);
    }

    /// How many calls were made that hardware would leave to the kernel: all but posts and looks at queues.
    pub fn slow_calls(&self) -> u64 {
        lock(&self.state).machine.slow_calls
    }

    /// A call of the machine, and what it wants to be done.
    pub(crate) fn slow<T>(&self, call: impl FnOnce(&mut Machine<Registered>) -> T) -> T {
        self.with(|state| {
            let result = call(&mut state.machine);
            self.carry_out(state);
            result
        })
    }

    /// Makes progress, and then a call of the machine.
    pub(crate) fn look<T>(&self, call: impl FnOnce(&mut Machine<Registered>) -> T) -> T {
        self.rank.poll();
        self.with(|state| {
            self.progress(state);
            call(&mut state.machine)
        })
    }

    /// Makes progress until a call of the machine has a result, or the time is up.
    pub(crate) fn wait<T>(
        &self,
        what: &'static str,
        timeout: Option<Duration>,
        mut call: impl FnMut(&mut Machine<Registered>) -> Option<T>,
    ) -> Result<T, ViaError> {
        let until = timeout.map(|timeout| self.rank.now().saturating_add(timeout));
        let mut result = None;
        // The number of changes after the last look, which is one of them, and turns since then.
        let (mut seen, mut turns) = (None, 0);
        self.rank.wait_until(what, || {
            // ORDER: Acquire; pairs with Release in `changed`.
            let changes = self.changes.load(Ordering::Acquire);
            turns += 1;
            let idle = seen == Some(changes) && !self.is_moving.load(Ordering::Relaxed);
            if !idle || turns >= TURNS_PER_LOOK {
                (seen, turns) = (Some(changes + 1), 0);
                // Between its looks, other threads have the machine.
                result = self.with(|state| {
                    self.progress(state);
                    call(&mut state.machine)
                });
            }
            result.is_some() || until.is_some_and(|until| self.rank.now() >= until)
        });
        result.ok_or(ViaError::Timeout)
    }

    /// Takes in what has come, and carries out what follows of it.
    fn progress(&self, state: &mut AgentState) {
        loop {
            let mut done = self.take_in(state);
            for (ticket, op) in state.moving.extract_if(.., |(_, op)| op.test()) {
                state.machine.moved(ticket, op.wait());
                done += 1;
            }
            self.carry_out(state);
            if done == 0 {
                break;
            }
        }
        let now = self.rank.now();
        if now.saturating_sub(state.looked) >= TICK {
            state.looked = now;
            state.machine.tick(now);
            let mut gone: BTreeSet<u32> = state.machine.ranks().collect();
            gone.retain(|r| self.rank.has_departed(RankId(*r)));
            if !gone.is_empty() {
                // Messages that they sent before come first.
                while self.rank.poll() > 0 {}
                self.take_in(state);
            }
            gone.into_iter().for_each(|rank| state.machine.rank_gone(rank));
            for (to, bytes) in std::mem::take(&mut state.wire.held) {
                self.send(to, DATAGRAM, &bytes);
            }
            self.carry_out(state);
        }
    }

    fn carry_out(&self, state: &mut AgentState) {
        while let Some(action) = state.machine.next_action() {
            match action {
                Action::Packet { to, bytes, datagram: false } => self.send(to, PACKET, &bytes),
                Action::Packet { to, bytes, datagram: true } => {
                    self.send_datagram(&mut state.wire, to, bytes)
                }
                Action::Write { ticket, key, at, bytes } => {
                    state.moving.push((ticket, self.rank.region(&key).write_nb(at, bytes)));
                }
                Action::Read { ticket, key, at, len } => {
                    state.moving.push((ticket, self.rank.region(&key).read_nb(at, len as usize)));
                }
            }
        }
    }

    fn send(&self, to: u32, handler: u8, bytes: &[u8]) {
        // To a rank that has left: the machine hears of it.
        if !self.rank.has_departed(RankId(to))
            && let Err(e) = self.rank.request_medium(RankId(to), handler, &[], bytes)
        {
            self.rank.fatal(&format!("a packet of a VI to rank {to}: {e}"));
        }
    }

    fn send_datagram(&self, wire: &mut Wire, to: u32, mut bytes: Vec<u8>) {
        let Faults { lose, duplicate, corrupt, reorder, .. } = wire.faults;
        let mut happens = |of: u16| of > 0 && wire.rng.u16(..1000) < of;
        let (lose, twice, late) = (happens(lose), happens(duplicate), happens(reorder));
        if happens(corrupt) {
            let bit = wire.rng.usize(..8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if lose {
            return;
        }
        if late {
            wire.held.push((to, bytes));
            return;
        }
        (0..1 + u32::from(twice)).for_each(|_| self.send(to, DATAGRAM, &bytes));
        for (to, bytes) in std::mem::take(&mut wire.held) {
            self.send(to, DATAGRAM, &bytes);
        }
    }
}
