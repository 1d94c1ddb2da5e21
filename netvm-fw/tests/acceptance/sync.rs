//! Items 28 to 32: atomics, locks, queues, monitors, semaphores. First every interleaving of a few calls,
//! with messages that are delivered at any time and in any order; then long random runs over NICs.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use gasnet_ops::home::{HomeOp, MAX_OPERAND_WORDS, NO_PROCESS, QUEUE_WAS_EMPTY, REPLY_WORDS};
use netvm_fw::library::Transfer;
use netvm_fw::sync::{
    Acquire, Insert, Machine, MonitorWait, Need, Release, Remove, SemSignal, SemWait, SyncObject, WaitTurn,
    Word,
};

use crate::rig::{Area, P, Rig, Weather, seeds};

/// A name of 128 bits for a value: states are kept by name, two of the same name being unlikelier than a
/// broken machine.
#[derive(Default)]
struct Name(u64, u64);

impl Hasher for Name {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
    fn write_u64(&mut self, n: u64) {
        let mix = |h: u64, k: u64| {
            let x = (h.rotate_left(25) ^ n).wrapping_mul(k);
            x ^ (x >> 32)
        };
        *self = Name(mix(self.0, 0x9e37_79b9_7f4a_7c15), mix(self.1.wrapping_add(1), 0xd6e8_feb8_6659_fd93));
    }
    fn finish(&self) -> u64 {
        self.0 ^ self.1.rotate_left(32)
    }
}

fn name(value: &impl Hash) -> (u64, u64) {
    let mut hasher = Name::default();
    value.hash(&mut hasher);
    (hasher.0, hasher.1)
}

type Apply = fn(HomeOp, &mut [u32; MAX_OPERAND_WORDS], [u32; 4]) -> [u32; REPLY_WORDS];

/// The operations as published: `dequeue` and `semV` promise wake-ups to more than there are waiters.
fn published(op: HomeOp, m: &mut [u32; MAX_OPERAND_WORDS], args: [u32; 4]) -> [u32; REPLY_WORDS] {
    let dequeue = |m: &mut [u32; MAX_OPERAND_WORDS]| {
        if m[2] == 0 {
            return [NO_PROCESS, QUEUE_WAS_EMPTY, 0];
        }
        if m[0] == NO_PROCESS {
            m[3] += 1;
            return [NO_PROCESS, m[2], 0];
        }
        m[2] -= 1;
        [std::mem::replace(&mut m[0], NO_PROCESS), m[2], 0]
    };
    match op {
        HomeOp::Dequeue => dequeue(m),
        HomeOp::SemV if m[2] > 0 => dequeue(m),
        HomeOp::SemV => {
            m[4] += 1;
            [NO_PROCESS, QUEUE_WAS_EMPTY, m[4]]
        }
        other => other.apply(m, args),
    }
}

/// The sequence of calls that an actor makes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Role {
    Waiter,
    Signaller,
    SemWaiter,
    SemSignaller,
    Locker { rounds: u8 },
    Consumer,
    Producer,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Call {
    Insert(Insert),
    Turn(WaitTurn),
    Remove(Remove),
    SemWait(SemWait),
    SemSignal(SemSignal),
    Acquire(Acquire),
    Release(Release),
    Monitor(MonitorWait),
    Idle,
}

impl Call {
    fn step(&mut self, answer: [u32; REPLY_WORDS]) -> Need {
        match self {
            Call::Insert(m) => m.step(answer),
            Call::Turn(m) => m.step(answer),
            Call::Remove(m) => m.step(answer),
            Call::SemWait(m) => m.step(answer),
            Call::SemSignal(m) => m.step(answer),
            Call::Acquire(m) => m.step(answer),
            Call::Release(m) => m.step(answer),
            Call::Monitor(m) => m.step(answer),
            Call::Idle => Need::Done(0),
        }
    }
}

/// State that the actors share besides their object.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct Common {
    inside: u8,
    items: u8,
    /// Order of joining a queue or a lock's line, and of coming through.
    joined: Vec<u8>,
    through: Vec<u8>,
    /// Signals that found somebody.
    woke: u8,
    signals: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Actor {
    me: u32,
    role: Role,
    stage: u8,
    call: Call,
    need: Need,
    done: bool,
    /// Waits for a condition so far; 2 stands for more.
    waits: u8,
}

impl Actor {
    fn new(me: u32, role: Role) -> Actor {
        Actor { me, role, stage: 0, call: Call::Idle, need: Need::Done(0), done: false, waits: 0 }
    }

    /// Goes on until it needs something that others can see.
    fn go(&mut self, answer: [u32; REPLY_WORDS], common: &mut Common) {
        let mut answer = answer;
        loop {
            let need = self.call.step(answer);
            if let Need::Done(result) = need {
                self.next_call(result, common);
                answer = [0; REPLY_WORDS];
                if self.done {
                    self.need = Need::Done(0);
                    return;
                }
                continue;
            }
            self.need = need;
            return;
        }
    }

    fn next_call(&mut self, result: u32, common: &mut Common) {
        let me = self.me;
        let stage = self.stage;
        self.stage += 1;
        self.call = match (&mut self.role, stage) {
            (Role::Waiter, 0) => Call::Insert(Insert::new(me)),
            (Role::Waiter, 1) => Call::Turn(WaitTurn::new()),
            (Role::SemWaiter, 0) => Call::SemWait(SemWait::new(me)),
            (Role::Signaller, 0) => Call::Remove(Remove::new()),
            (Role::SemSignaller, 0) => {
                common.signals += 1;
                Call::SemSignal(SemSignal::new())
            }
            (Role::Locker { .. }, 0) => Call::Acquire(Acquire::new(me)),
            (Role::Locker { .. }, 1) => {
                common.inside += 1;
                assert_eq!(common.inside, 1, "one at a time");
                common.through.push(me as u8);
                common.inside -= 1;
                Call::Release(Release::new(me))
            }
            (Role::Locker { rounds }, _) if *rounds > 1 => {
                *rounds -= 1;
                self.stage = 1;
                Call::Acquire(Acquire::new(me))
            }
            (Role::Consumer, 0) => Call::Acquire(Acquire::new(me)),
            (Role::Consumer, 1) => {
                if common.items > 0 {
                    common.items -= 1;
                    Call::Release(Release::new(me))
                } else {
                    // Mesa's rule: look again after waiting.
                    self.stage = 1;
                    self.waits = (self.waits + 1).min(2);
                    Call::Monitor(MonitorWait::new(me))
                }
            }
            (Role::Producer, 0) => Call::Acquire(Acquire::new(me)),
            (Role::Producer, 1) => {
                common.items += 1;
                Call::Remove(Remove::condition())
            }
            (Role::Producer, 2) => Call::Release(Release::new(me)),
            (role, _) => {
                match role {
                    Role::Waiter | Role::SemWaiter => common.through.push(me as u8),
                    Role::Signaller => common.woke += result as u8,
                    _ => {}
                }
                self.done = true;
                Call::Idle
            }
        };
    }
}

/// A message on its way.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Flying {
    part: u8,
    to: u32,
    word: Option<(u8, u32)>,
    notify: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    home: [[u32; MAX_OPERAND_WORDS]; 2],
    /// By actor, part, word.
    cells: Vec<[[u32; 2]; 2]>,
    notes: Vec<[u8; 2]>,
    actors: Vec<Actor>,
    flying: Vec<Flying>,
    common: Common,
}

impl State {
    fn new(roles: &[Role], value: u32) -> State {
        let mut common = Common::default();
        let mut actors: Vec<Actor> =
            roles.iter().zip(1..).map(|(role, me)| Actor::new(me, role.clone())).collect();
        actors.iter_mut().for_each(|actor| actor.go([0; REPLY_WORDS], &mut common));
        let mut home = [[0; MAX_OPERAND_WORDS]; 2];
        home[0][4] = value;
        let n = roles.len();
        State {
            home,
            cells: vec![[[0; 2]; 2]; n],
            notes: vec![[0; 2]; n],
            actors,
            flying: Vec::new(),
            common,
        }
    }

    /// Does the step of one actor. `None`: it must wait, or has ended.
    fn act(&self, i: usize, apply: Apply) -> Option<State> {
        let mut s = self.clone();
        let mut answer = [0; REPLY_WORDS];
        let word = |w: Word| if w == Word::Next { 0 } else { 1 };
        let fly = |part: SyncObject, to, word, notify| Flying { part: part as u8, to, word, notify };
        match self.actors[i].need {
            Need::Done(_) => return None,
            Need::Atomic(part, op, args) => {
                answer = apply(op, &mut s.home[part as usize], args);
                // Who has joined a queue, or a line: in this order.
                let queued = match op {
                    HomeOp::Enqueue | HomeOp::Swap => true,
                    HomeOp::SemP => answer[1] == 0,
                    _ => false,
                };
                if queued && part == SyncObject::Main {
                    s.common.joined.push(args[0] as u8);
                }
            }
            Need::Store(part, w, value) => s.cells[i][part as usize][word(w)] = value,
            Need::Load(part, w) => answer[0] = self.cells[i][part as usize][word(w)],
            Need::Spin(part, w) => {
                answer[0] = self.cells[i][part as usize][word(w)];
                if answer[0] == 0 {
                    return None;
                }
            }
            Need::Wait(part) => {
                let notes = &mut s.notes[i][part as usize];
                *notes = notes.checked_sub(1)?;
            }
            Need::Write(part, to, w, value) => {
                s.flying.push(fly(part, to, Some((word(w) as u8, value)), false))
            }
            Need::WriteNotify(part, to, w, value) => {
                s.flying.push(fly(part, to, Some((word(w) as u8, value)), true));
            }
            Need::Notify(part, to) => s.flying.push(fly(part, to, None, true)),
        }
        let State { actors, common, .. } = &mut s;
        actors[i].go(answer, common);
        s.tidy();
        Some(s)
    }

    fn deliver(&self, f: usize) -> State {
        let mut s = self.clone();
        let Flying { part, to, word, notify } = s.flying.remove(f);
        assert_ne!(to, NO_PROCESS, "a message to nobody");
        let (i, part) = (to as usize - 1, part as usize);
        if let Some((w, value)) = word {
            s.cells[i][part][w as usize] = value;
        }
        s.notes[i][part] += u8::from(notify);
        s
    }

    /// Signallers are alike: their order does not matter. Nor does that of messages.
    fn tidy(&mut self) {
        self.flying.sort();
        let anonymous = |a: &Actor| matches!(a.role, Role::Signaller | Role::SemSignaller);
        let rest = self.actors.iter().position(anonymous).unwrap_or(self.actors.len());
        let alike = |a: &Actor| {
            let mut a = a.clone();
            a.me = 0;
            name(&a)
        };
        let mut tail = self.actors.split_off(rest);
        tail.sort_by_cached_key(alike);
        tail.iter_mut().zip(rest as u32 + 1..).for_each(|(a, me)| a.me = me);
        self.actors.append(&mut tail);
    }
}

/// Visits every state. Returns how many there are, and those where nothing can happen any more.
fn explore(roles: &[Role], value: u32, apply: Apply, check: impl Fn(&State)) -> (usize, Vec<State>) {
    let first = State::new(roles, value);
    let mut seen = HashSet::from([name(&first)]);
    let mut stack = vec![first];
    let mut ends = Vec::new();
    while let Some(state) = stack.pop() {
        check(&state);
        let acts = (0..state.actors.len()).filter_map(|i| state.act(i, apply));
        let next: Vec<State> = acts.chain((0..state.flying.len()).map(|f| state.deliver(f))).collect();
        if next.is_empty() {
            ends.push(state);
            continue;
        }
        for s in next {
            if seen.insert(name(&s)) {
                stack.push(s);
            }
        }
    }
    (seen.len(), ends)
}

fn roles(a: Role, n: usize, b: Role, m: usize) -> Vec<Role> {
    [vec![a; n], vec![b; m]].concat()
}

/// Semaphores: the number of ends where a waiter hangs that should not, and the number of states.
fn semaphore(waiters: usize, signals: usize, value: u32, apply: Apply) -> (usize, usize) {
    let all = roles(Role::SemWaiter, waiters, Role::SemSignaller, signals);
    let (states, ends) = explore(&all, value, apply, |s| {
        let through = s.common.through.len() as u32;
        assert!(through <= value + u32::from(s.common.signals), "more went through than were let");
    });
    let expected = waiters.min(signals + value as usize);
    let bad = ends.iter().filter(|s| {
        let blocked = s.common.through.len() < waiters;
        let order = s.common.joined.starts_with(&woken_of_joined(s)) || s.common.joined.is_empty();
        s.common.through.len() != expected || blocked && s.home[0][4] > 0 || !order
    });
    (bad.count(), states)
}

/// Those that joined the queue and came through, in the order of joining.
fn woken_of_joined(s: &State) -> Vec<u8> {
    s.common.joined.iter().copied().filter(|p| s.common.through.contains(p)).collect()
}

#[test]
fn item_32_semaphores_lose_no_wake_up() {
    let mut states = 0;
    for (waiters, signals, value) in
        [(1, 1, 0), (2, 2, 0), (3, 2, 0), (2, 3, 1), (3, 3, 0), (4, 3, 0), (3, 4, 2), (4, 4, 0)]
    {
        let (bad, n) = semaphore(waiters, signals, value, HomeOp::apply);
        assert_eq!(bad, 0, "{waiters} waiters, {signals} signals, value {value}");
        states = states.max(n);
    }
    assert!(states > 10_000, "{states} states are not all");
}

/// The published operations lose wake-ups; the search must find it, or it finds nothing.
#[test]
fn item_32_the_published_semaphore_loses_wake_ups() {
    let (bad, _) = semaphore(3, 3, 0, published);
    assert!(bad > 0, "the known defect is not found");
}

fn queue(waiters: usize, signals: usize, apply: Apply) -> (usize, usize) {
    let all = roles(Role::Waiter, waiters, Role::Signaller, signals);
    let (states, ends) = explore(&all, 0, apply, |_| {});
    let bad = ends.iter().filter(|s| {
        let woken = woken_of_joined(s);
        // Every signal that found somebody has woken one, in the order of the queue, and no promise is left
        // over.
        woken.len() != s.common.woke as usize || !s.common.joined.starts_with(&woken) || s.home[0][3] != 0
    });
    (bad.count(), states)
}

#[test]
fn item_30_wait_queues_wake_in_order_and_lose_nothing() {
    for (waiters, signals) in [(1, 1), (2, 1), (1, 2), (2, 2), (3, 3), (2, 4), (4, 2), (4, 4)] {
        assert_eq!(queue(waiters, signals, HomeOp::apply).0, 0, "{waiters} waiters, {signals} signals");
    }
    // Published: promises to nobody are left over, and wake a later process.
    assert!(queue(2, 3, published).0 > 0, "the known defect is not found");
}

#[test]
fn item_29_locks_exclude_and_hand_over_in_order() {
    for (n, rounds) in [(2, 3), (3, 2), (4, 1)] {
        let all = vec![Role::Locker { rounds }; n];
        let (states, ends) = explore(&all, 0, HomeOp::apply, |s| {
            // In the order of their swaps.
            assert!(s.common.joined.starts_with(&s.common.through));
            // All spinning is on the own cell (there is no other need to spin), and the home word is all
            // there is.
            assert!(s.home[0][1..].iter().all(|&word| word == 0));
        });
        assert!(states > 100);
        assert!(ends.iter().all(|s| s.common.through.len() == n * rounds as usize), "all come through");
        assert!(ends.iter().all(|s| s.home[0][0] == NO_PROCESS), "and leave it free");
    }
}

#[test]
fn item_31_monitors_lose_no_wake_up() {
    for (consumers, producers) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        let all = roles(Role::Consumer, consumers, Role::Producer, producers);
        let (_, ends) = explore(&all, 0, HomeOp::apply, |_| {});
        for s in &ends {
            let done = s.actors.iter().filter(|a| a.done).count();
            assert_eq!(
                done,
                producers + consumers.min(producers),
                "{consumers} consumers, {producers} producers"
            );
            assert_eq!(usize::from(s.common.items), producers.saturating_sub(consumers));
        }
    }
    // Looking again after the wait is needed: another may have come between, so that a consumer waits twice.
    let twice = std::cell::Cell::new(false);
    let all = roles(Role::Consumer, 2, Role::Producer, 2);
    explore(&all, 0, HomeOp::apply, |s| twice.set(twice.get() || s.actors.iter().any(|a| a.waits == 2)));
    assert!(twice.get());
}

// ---- over NICs

/// Where the words of an object's part are.
fn home_offset(part: SyncObject) -> u64 {
    part as u64 * 32
}
fn cell_offset(part: SyncObject, word: Word) -> u64 {
    P + part as u64 * 64 + if word == Word::Next { 0 } else { 4 }
}

struct Program {
    area: Area,
    actor: Actor,
    cookie: Option<u32>,
}

/// Runs actors over NICs, the page of the home coming and going. All must end.
fn over_nics(all: &[Role], value: u32, seed: u64) -> Common {
    let mut rig = Rig::new(3, 32, Weather::ROUGH, seed);
    let mut random = fastrand::Rng::with_seed(seed ^ 5);
    let home = rig.port(0, 9, 1);
    rig.poke(home, 16, &value.to_le_bytes());
    let mut common = Common::default();
    let mut programs: Vec<Program> = all
        .iter()
        .zip(1..)
        .map(|(role, me)| {
            let area = rig.port(me as usize % 3, 10 + me as u16, 2);
            rig.touch(area, 0, 2 * P);
            let mut actor = Actor::new(me, role.clone());
            actor.go([0; REPLY_WORDS], &mut common);
            Program { area, actor, cookie: None }
        })
        .collect();
    let mut idle = 0;
    while programs.iter().any(|p| !p.actor.done) {
        let i = random.u64(..programs.len() as u64) as usize;
        if advance(&mut rig, &mut programs, i, home, &mut common) {
            idle = 0;
        } else if !rig.step() {
            idle += 1;
            assert!(idle < 2_000, "seed {seed}: nobody goes on");
        }
        // The home's page is taken away at odd times.
        if random.u64(..50) == 0
            && let Some(ppn) = rig.nodes[0].host.vm().place(Rig::vpn(home, 0))
            && rig.nodes[0].host.vm().is_resident(Rig::vpn(home, 0))
            && rig.nodes[0].nic.table().count(ppn) == (0, 0)
            && rig.nodes[0].nic.is_idle()
        {
            rig.evict(home, 0);
        }
    }
    rig.run();
    assert!(rig.nodes[0].nic.stats().bounces > 0);
    common
}

/// One step of a program, if it can.
fn advance(rig: &mut Rig, programs: &mut [Program], i: usize, home: Area, common: &mut Common) -> bool {
    let area = programs[i].area;
    let need = programs[i].actor.need;
    let mut answer = [0; REPLY_WORDS];
    let word_at = |rig: &Rig, part, word| {
        let bytes = rig.peek(area, cell_offset(part, word), 4);
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    let number = |part: SyncObject| 20 + part as u32;
    match need {
        Need::Done(_) => return false,
        Need::Atomic(part, op, args) => {
            let Some(cookie) = programs[i].cookie else {
                let handle = rig.handle(area, home);
                let cookie = rig.library(area).atomic((handle, home_offset(part)), op, args).unwrap();
                rig.ring(area.node);
                programs[i].cookie = Some(cookie);
                return true;
            };
            let Some(reply) = rig.library(area).reply(cookie) else { return false };
            programs[i].cookie = None;
            answer = reply.expect("not refused");
            if matches!(op, HomeOp::Swap | HomeOp::Enqueue) && part == SyncObject::Main {
                common.joined.push(args[0] as u8);
            }
        }
        Need::Store(part, word, value) => rig.poke(area, cell_offset(part, word), &value.to_le_bytes()),
        Need::Load(part, word) => answer[0] = word_at(rig, part, word),
        Need::Spin(part, word) => {
            answer[0] = word_at(rig, part, word);
            if answer[0] == 0 {
                return false;
            }
        }
        Need::Wait(part) => {
            let events = &rig.library(area).memory().events;
            if events.pending(number(part)) == 0 {
                return false;
            }
            events.acknowledge(number(part));
        }
        Need::Write(part, to, word, value) => write(rig, programs, i, part, to, word, value, 0),
        Need::WriteNotify(part, to, word, value) => {
            write(rig, programs, i, part, to, word, value, number(part));
        }
        Need::Notify(part, to) => {
            let theirs = rig.handle(area, programs[to as usize - 1].area);
            let mine = rig.handle(area, area);
            // A notification needs some bytes to follow: nobody looks at these.
            rig.issue(area, Transfer::write((mine, 0), (theirs, 512), 4).notify(number(part)));
        }
    }
    programs[i].actor.go(answer, common);
    true
}

#[expect(clippy::too_many_arguments, reason = "one write has that many sides")]
fn write(
    rig: &mut Rig,
    programs: &[Program],
    i: usize,
    part: SyncObject,
    to: u32,
    word: Word,
    value: u32,
    notification: u32,
) {
    let area = programs[i].area;
    let (mine, theirs) = (rig.handle(area, area), rig.handle(area, programs[to as usize - 1].area));
    let mut transfer = Transfer::write((mine, 0), (theirs, cell_offset(part, word)), 4).notify(notification);
    let issued = rig.library(area).issue(&mut transfer, |_, into| into.copy_from_slice(&value.to_le_bytes()));
    assert_eq!(issued, Ok(true));
    rig.ring(area.node);
}

#[test]
fn machines_run_over_nics() {
    for seed in seeds(300) {
        let common = over_nics(&vec![Role::Locker { rounds: 4 }; 5], 0, seed);
        assert_eq!(common.through.len(), 20);
        over_nics(&roles(Role::SemWaiter, 5, Role::SemSignaller, 4), 1, seed);
        over_nics(&roles(Role::Consumer, 3, Role::Producer, 3), 0, seed);
    }
}

#[test]
fn item_28_atomics_are_linearizable_also_when_the_page_is_missing() {
    for seed in seeds(300) {
        let mut rig = Rig::new(4, 16, Weather::ROUGH, seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let home = rig.port(0, 1, 1);
        let ports: Vec<Area> = (1..4).map(|n| rig.port(n, 1, 1)).collect();
        let local = rig.port(0, 2, 1);
        let ports = [ports, vec![local]].concat();
        // (start, end, op, arguments, reply)
        let mut history: Vec<(u64, u64, HomeOp, [u32; 4], u32)> = Vec::new();
        type Open = (u32, u64, HomeOp, [u32; 4]);
        let mut open: Vec<Option<Open>> = vec![None; ports.len()];
        let mut left = 120;
        while left > 0 || open.iter().any(Option::is_some) {
            for (i, &port) in ports.iter().enumerate() {
                match open[i] {
                    None if left > 0 => {
                        let op = HomeOp::ALL[random.u64(..5) as usize];
                        let args = [random.u64(..4) as u32, random.u64(..4) as u32, 0, 0];
                        let handle = rig.handle(port, home);
                        let cookie = rig.library(port).atomic((handle, 8), op, args).unwrap();
                        rig.ring(port.node);
                        open[i] = Some((cookie, rig.now, op, args));
                        left -= 1;
                    }
                    Some((cookie, start, op, args)) => {
                        if let Some(reply) = rig.library(port).reply(cookie) {
                            history.push((start, rig.now, op, args, reply.expect("not refused")[0]));
                            open[i] = None;
                        }
                    }
                    None => {}
                }
            }
            rig.step();
            if random.u64(..40) == 0
                && rig.nodes[0].nic.is_idle()
                && rig.nodes[0].host.vm().is_resident(Rig::vpn(home, 0))
            {
                rig.evict(home, 0);
            }
        }
        rig.run();
        assert!(rig.nodes[0].nic.stats().bounces > 0, "some took the way round");
        let bytes = rig.peek(home, 8, 4);
        let last = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        assert!(linearizable(&history, last), "seed {seed}: {history:?}");
    }
}

/// Whether some order that respects time explains all replies (depth first, with the word's value as the
/// state).
pub fn linearizable(history: &[(u64, u64, HomeOp, [u32; 4], u32)], last: u32) -> bool {
    let mut seen = HashSet::new();
    let mut stack = vec![(vec![false; history.len()], 0u32)];
    while let Some((done, value)) = stack.pop() {
        if done.iter().all(|&d| d) {
            if value == last {
                return true;
            }
            continue;
        }
        let open = |i: &usize| !done[*i];
        let first_end = (0..history.len()).filter(open).map(|i| history[i].1).min().unwrap_or(u64::MAX);
        for i in (0..history.len()).filter(open) {
            let (start, _, op, args, reply) = history[i];
            if start > first_end {
                continue;
            }
            let mut m = [value, 0, 0, 0, 0];
            if op.apply(&mut m, args)[0] != reply {
                continue;
            }
            let mut next = done.clone();
            next[i] = true;
            if seen.insert((next.clone(), m[0])) {
                stack.push((next, m[0]));
            }
        }
    }
    false
}
