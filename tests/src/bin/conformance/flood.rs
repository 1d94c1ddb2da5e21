//! Floods: every rank sends to every rank as fast as it can, and everything arrives exactly once.

use crate::am::{FLOOD, FLOOD_REPLY, MIXED, MIXED_REPLY};
use crate::support::{Cx, Rng, State, mix};
use gasnet::am::{Kind, MAX_MEDIUM};
use gasnet::{Handler, Rank, RankId};
use std::sync::atomic::Ordering;

/// Messages to one rank that can be told apart, shared out among the senders.
pub const IDS: usize = 1 << 13;
const LONG: usize = 8192;

const REQUEST: u8 = 1;
const REPLY: u8 = 2;

impl State {
    /// Notes a message; it must be the first of its kind.
    fn mark(&self, from: RankId, id: u32, kind: u8) {
        let old =
            self.seen[id as usize * self.size as usize + from.0 as usize].fetch_or(kind, Ordering::Relaxed);
        assert_eq!(old & kind, 0, "message {id} of rank {from} arrived twice");
    }

    fn forget(&self) {
        self.seen.iter().for_each(|s| s.store(0, Ordering::Relaxed));
        self.replies.store(0, Ordering::Relaxed);
        self.requests.store(0, Ordering::Relaxed);
    }
}

/// The form of message `id` between two ranks; both sides can compute it.
struct Plan {
    kind: Kind,
    nargs: usize,
    len: usize,
    reply: Option<Kind>,
    reply_len: usize,
}

impl Plan {
    fn of(from: RankId, to: RankId, id: u32) -> Plan {
        let mut rng = Rng::new(mix(u64::from(from.0) << 40 | u64::from(to.0) << 32 | u64::from(id)));
        let kinds = [Kind::Short, Kind::Medium, Kind::Long];
        let kind = *rng.pick(&kinds);
        let lengths = [0, 1, 40, 64, 65, 500, LONG];
        let reply = (rng.below(4) > 0).then(|| *rng.pick(&kinds));
        Plan {
            kind,
            nargs: 1 + rng.below(16),
            len: if kind == Kind::Short { 0 } else { *rng.pick(&lengths) },
            reply,
            reply_len: *rng.pick(&lengths),
        }
    }

    fn args(&self, id: u32) -> Vec<u32> {
        (0..self.nargs as u32).map(|i| id ^ i << 16).collect()
    }
}

/// A payload that names its message.
fn payload(id: u32, len: usize) -> Vec<u8> {
    (0..len).map(|i| (id as usize ^ i ^ i >> 8) as u8).collect()
}

pub fn register(state: &'static State, add: &dyn Fn(u8, Handler)) {
    // Replied with max mediums, whatever came.
    let answer: &'static [u8] = Box::leak(payload(0, MAX_MEDIUM).into_boxed_slice());
    add(
        FLOOD,
        Handler::new(move |t, m| {
            let id = m.args[0];
            state.mark(t.source(), id, REQUEST);
            assert_eq!(
                (m.bytes().first(), m.bytes().last()),
                (answer.first(), answer.get(m.len - 1)),
                "request {id}"
            );
            state.requests.fetch_add(1, Ordering::Relaxed);
            t.reply_medium(FLOOD_REPLY, &[id], answer).expect("a reply");
        }),
    );
    add(
        FLOOD_REPLY,
        Handler::new(move |t, m| {
            state.mark(t.source(), m.args[0], REPLY);
            assert!(m.bytes() == answer, "reply {} of rank {}", m.args[0], t.source());
            state.replies.fetch_add(1, Ordering::Release);
        }),
    );
    add(
        MIXED,
        Handler::new(move |t, m| {
            let id = m.args[0];
            state.mark(t.source(), id, REQUEST);
            let plan = Plan::of(t.source(), t.rank().id(), id);
            assert_eq!((m.kind, m.len, m.args), (plan.kind, plan.len, &plan.args(id)[..]), "message {id}");
            if m.kind == Kind::Medium {
                assert!(m.bytes() == payload(id, m.len), "message {id}");
            }
            state.requests.fetch_add(1, Ordering::Relaxed);
            let (args, data) = (plan.args(!id), payload(id, plan.reply_len));
            match plan.reply {
                None => Ok(()),
                Some(Kind::Short) => t.reply_short(MIXED_REPLY, &[&[id], &args[1..]].concat()),
                Some(Kind::Medium) => t.reply_medium(MIXED_REPLY, &[id], &data),
                Some(Kind::Long) => {
                    t.reply_long(MIXED_REPLY, &[id], &data, state.long_slots.load(Ordering::Relaxed))
                }
            }
            .expect("a reply");
        }),
    );
    add(
        MIXED_REPLY,
        Handler::new(move |t, m| {
            let id = m.args[0];
            state.mark(t.source(), id, REPLY);
            let plan = Plan::of(t.rank().id(), t.source(), id);
            assert_eq!(Some(m.kind), plan.reply, "reply {id}");
            match m.kind {
                Kind::Short => assert_eq!(m.args[1..], plan.args(!id)[1..]),
                Kind::Medium => assert!(m.bytes() == payload(id, plan.reply_len), "reply {id}"),
                Kind::Long => assert_eq!(m.len, plan.reply_len),
            }
            state.replies.fetch_add(1, Ordering::Release);
        }),
    );
}

/// Every rank floods every rank, itself among them; each request is answered with a medium of the largest
/// size.
pub fn max_mediums(cx: &Cx) {
    cx.state.forget();
    cx.rank.barrier();
    let n = (if cx.quick { 60 } else { 300 }) / cx.size();
    let lengths = [1, 64, 65, 4096, MAX_MEDIUM];
    let data = payload(0, MAX_MEDIUM);
    for id in 0..n {
        for d in 0..cx.size() {
            let len = lengths[(id + d + cx.me()) as usize % lengths.len()];
            cx.rank.request_medium(cx.right(d), FLOOD, &[id], &data[..len]).expect("a request");
        }
    }
    settle(cx, u64::from(n) * u64::from(cx.size()), u64::from(n) * u64::from(cx.size()));
}

/// Messages of all kinds and shapes at once, some answered.
pub fn mixed(cx: &Cx) {
    mixed_by(cx, 1);
}

/// The same from several threads of each rank: senders share links, and whoever polls runs the handlers of
/// all.
pub fn mixed_by_threads(cx: &Cx) {
    mixed_by(cx, 4);
}

fn mixed_by(cx: &Cx, threads: u32) {
    let slot = cx.take(LONG as u64);
    cx.state.long_slots.store(slot, Ordering::Relaxed);
    cx.state.forget();
    cx.rank.barrier();
    let n = (if cx.quick { 600 } else { 8000 }) / cx.size();
    let rank = cx.rank;
    std::thread::scope(|s| {
        for thread in 0..threads {
            s.spawn(move || {
                for id in (thread..n).step_by(threads as usize) {
                    rank.ranks().for_each(|to| send(rank, to, id, slot));
                }
            });
        }
    });
    let plans = rank.ranks().flat_map(|to| (0..n).map(move |id| Plan::of(rank.id(), to, id)));
    let answered = plans.filter(|p| p.reply.is_some()).count();
    settle(cx, answered as u64, u64::from(n) * u64::from(cx.size()));
}

fn send(rank: &Rank, to: RankId, id: u32, slot: u64) {
    let plan = Plan::of(rank.id(), to, id);
    let (args, data) = (plan.args(id), payload(id, plan.len));
    match plan.kind {
        Kind::Short => rank.request_short(to, MIXED, &args),
        Kind::Medium => rank.request_medium(to, MIXED, &args, &data),
        Kind::Long => rank.request_long(to, MIXED, &args, &data, slot),
    }
    .expect("a request");
}

fn settle(cx: &Cx, replies: u64, requests: u64) {
    cx.await_count("the replies to a flood", &cx.state.replies, replies);
    cx.await_count("the requests of a flood", &cx.state.requests, requests);
    cx.rank.barrier();
    assert_eq!(cx.state.replies.load(Ordering::Acquire), replies);
    assert_eq!(cx.state.requests.load(Ordering::Acquire), requests);
}
