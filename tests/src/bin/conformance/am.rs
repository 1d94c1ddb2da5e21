//! Active messages: every kind, number of arguments and length of payload, in both directions; every handler
//! index.
#![expect(unsafe_code, reason = "payloads in segments")]

use crate::support::{Cx, Rng, State, mix, same};
use crate::{flood, immediate, rules, threads};
use gasnet::am::{FIRST_CLIENT_HANDLER, Kind, MAX_ARGUMENTS, MAX_MEDIUM};
use gasnet::{Handler, Message, RankId, Token};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Requests of `all_shapes` go to one of three, by the kind of reply.
const SHAPE: u8 = 128;
const SHAPE_REPLY: u8 = 131;
pub const FLOOD: u8 = 132;
pub const FLOOD_REPLY: u8 = 133;
pub const MIXED: u8 = 134;
pub const MIXED_REPLY: u8 = 135;
pub const THREAD: u8 = 136;
pub const THREAD_REPLY: u8 = 137;
pub const RULES: u8 = 138;
pub const RULES_REPLY: u8 = 139;
pub const IMMEDIATE: u8 = 142;
const LONG: u8 = 140;
const LONG_REPLY: u8 = 141;
const OWN: u8 = 143;
/// From here on, handlers that know their index only.
const PLAIN: u8 = 144;
/// A rank that waits so long for another one is stuck.
const HANGS: Duration = Duration::from_secs(300);

/// Longest payload of a long message that is tried.
const LONGEST: usize = 4 << 20;

/// Room for a long payload from one rank.
const SLOT: usize = 256 << 10;
const KINDS: [Kind; 3] = [Kind::Short, Kind::Medium, Kind::Long];

/// The contents of one message of `all_shapes`, known to both sides.
struct Shape {
    args: Vec<u32>,
    payload: Vec<u8>,
}

fn shape(from: RankId, to: RankId, kind: Kind, reply: bool, nargs: usize, len: usize) -> Shape {
    let key = [u64::from(from.0), u64::from(to.0), kind as u64, u64::from(reply), nargs as u64, len as u64];
    let mut rng = Rng::new(key.into_iter().fold(1, |h, k| mix(h ^ k)));
    let args = (0..nargs).map(|_| rng.next() as u32).collect();
    Shape { args, payload: rng.bytes(len) }
}

/// Bytes a reply of this kind carries in answer to a request with `len`.
fn reply_len(kind: Kind, len: usize) -> usize {
    match kind {
        Kind::Short => 0,
        Kind::Medium => len.min(MAX_MEDIUM),
        Kind::Long => len,
    }
}

fn check(token: &Token<'_>, m: &Message<'_>, state: &State, reply: bool) {
    let me = token.rank().id();
    let want = shape(token.source(), me, m.kind, reply, m.args.len(), m.len);
    assert_eq!(token.is_request(), !reply);
    assert_eq!(m.args, want.args, "arguments");
    match m.kind {
        Kind::Short => assert!(m.len == 0 && m.payload.is_null() && m.bytes().is_empty()),
        Kind::Medium => {
            same(m.bytes(), &want.payload, "medium payload");
            assert!(m.len == 0 || (m.payload as usize).is_multiple_of(16), "alignment of {:p}", m.payload);
            // SAFETY: a handler may overwrite the buffer of a medium message; the slice above is gone.
            unsafe { std::ptr::write_bytes(m.payload, 0xCC, m.len) };
        }
        Kind::Long => {
            let slot = state.long_slots.load(Ordering::Relaxed)
                + (SLOT as u64) * (u64::from(token.source().0) * 2 + u64::from(reply));
            let own = token.rank().table().get(me).expect("itself").local;
            assert_eq!(m.payload, own.wrapping_add(slot as usize), "place of a long payload");
            // SAFETY: in the own segment; the sender waits for our answer before it writes there again.
            same(unsafe { std::slice::from_raw_parts(m.payload, m.len) }, &want.payload, "long payload");
        }
    }
}

/// Registers the handlers of all sections at all indices a client has.
pub fn register(cx: &Cx) {
    let state = cx.state;
    let add = |index: u8, h: Handler| cx.rank.register(index, h).expect("a free index");
    for kind in KINDS {
        add(
            SHAPE + kind as u8,
            Handler::new(move |t, m| {
                check(t, m, state, false);
                let me = t.rank().id();
                let out = shape(me, t.source(), kind, true, m.args.len(), reply_len(kind, m.len));
                let dst =
                    state.long_slots.load(Ordering::Relaxed) + (SLOT as u64) * (u64::from(me.0) * 2 + 1);
                match kind {
                    Kind::Short => t.reply_short(SHAPE_REPLY, &out.args),
                    Kind::Medium => t.reply_medium(SHAPE_REPLY, &out.args, &out.payload),
                    Kind::Long => t.reply_long(SHAPE_REPLY, &out.args, &out.payload, dst),
                }
                .expect("a reply");
                assert!(t.has_replied());
            }),
        );
    }
    add(
        SHAPE_REPLY,
        Handler::new(move |t, m| {
            check(t, m, state, true);
            state.replies.fetch_add(1, Ordering::Release);
        }),
    );
    // The one place of this rank for requests, and the next for replies.
    let place = move |t: &Token<'_>, m: &Message<'_>, reply: bool| {
        let slot = state.long_slots.load(Ordering::Relaxed) + (LONGEST as u64) * u64::from(reply);
        let own = t.rank().table().get(t.rank().id()).expect("itself").local;
        assert_eq!((m.kind, m.payload), (Kind::Long, own.wrapping_add(slot as usize)));
        let want = shape(t.source(), t.rank().id(), Kind::Long, reply, m.args.len(), m.len);
        assert_eq!(m.args, want.args);
        // SAFETY: in the own segment; the sender waits for our answer before it writes there again.
        same(unsafe { std::slice::from_raw_parts(m.payload, m.len) }, &want.payload, "long payload");
    };
    add(
        LONG,
        Handler::new(move |t, m| {
            place(t, m, false);
            let out = shape(t.rank().id(), t.source(), Kind::Long, true, m.args.len(), m.len);
            let dst = state.long_slots.load(Ordering::Relaxed) + LONGEST as u64;
            t.reply_long(LONG_REPLY, &out.args, &out.payload, dst).expect("a reply");
        }),
    );
    add(
        LONG_REPLY,
        Handler::new(move |t, m| {
            place(t, m, true);
            state.replies.fetch_add(1, Ordering::Release);
        }),
    );
    add(
        OWN,
        Handler::new(move |t, _| {
            if t.source() != t.rank().id() {
                state.requests.fetch_add(1, Ordering::Relaxed);
            }
        }),
    );
    flood::register(state, &add);
    threads::register(state, &add);
    rules::register(state, &add);
    immediate::register(state, &add);
    for index in PLAIN..=255 {
        add(
            index,
            Handler::new(move |t, m| {
                assert_eq!(m.args, [u32::from(index), t.source().0], "message for another handler");
                if t.is_request() {
                    state.requests.fetch_add(1, Ordering::Relaxed);
                    t.reply_short(index, &[u32::from(index), t.rank().id().0]).expect("a reply");
                } else {
                    state.replies.fetch_add(1, Ordering::Release);
                }
            }),
        );
    }
}

/// All kinds x 0..=16 arguments x lengths x kinds of reply, to oneself and to others.
pub fn all_shapes(cx: &Cx) {
    let base = cx.take((SLOT as u64) * 2 * u64::from(cx.size()));
    cx.state.long_slots.store(base, Ordering::Relaxed);
    cx.state.replies.store(0, Ordering::Relaxed);
    cx.rank.barrier();
    let mut sent = 0;
    for to in cx.targets() {
        let longest = cx.rank.messages().max_long(to).min(200_000);
        assert!(longest >= MAX_MEDIUM);
        for nargs in 0..=MAX_ARGUMENTS {
            for (kind, lengths) in [
                (Kind::Short, &[0usize][..]),
                (Kind::Medium, &[0, 1, 15, 63, 64, 65, 127, 128, 4096, MAX_MEDIUM - 1, MAX_MEDIUM]),
                (Kind::Long, &[0, 1, 64, 65, 4096, longest]),
            ] {
                for &len in lengths {
                    for reply in KINDS {
                        if len > 4096 && (cx.quick || cx.size() > 3) && !nargs.is_multiple_of(4) {
                            continue;
                        }
                        request(cx, to, kind, reply, nargs, len);
                        sent += 1;
                        cx.await_count("a reply", &cx.state.replies, sent);
                    }
                }
            }
        }
    }
}

/// Long messages beyond what a frame holds, from all ranks at a time, answered by messages as long.
pub fn long(cx: &Cx) {
    let base = cx.take(2 * LONGEST as u64);
    cx.state.long_slots.store(base, Ordering::Relaxed);
    cx.state.replies.store(0, Ordering::Relaxed);
    cx.rank.barrier();
    let to = RankId((cx.me() + 1) % cx.size());
    let most = cx.rank.messages().max_long(to);
    assert!(most >= LONGEST);
    let longest = most.min(LONGEST);
    let mut sent = 0;
    for len in [MAX_MEDIUM, MAX_MEDIUM + 1, 3 * MAX_MEDIUM, longest - 1, longest] {
        for nargs in [0, 3, MAX_ARGUMENTS] {
            let out = shape(cx.rank.id(), to, Kind::Long, false, nargs, len);
            cx.rank.request_long(to, LONG, &out.args, &out.payload, base).expect("a request");
            sent += 1;
            cx.await_count("a long reply", &cx.state.replies, sent);
        }
    }
    if most == LONGEST {
        assert!(cx.rank.request_long(to, LONG, &[], &vec![0; LONGEST + 1], base).is_err());
    }
    assert!(cx.rank.request_long(to, LONG, &[], &[0; 2 * MAX_MEDIUM], u64::MAX - 100).is_err());
    cx.rank.barrier();
}

fn request(cx: &Cx, to: RankId, kind: Kind, reply: Kind, nargs: usize, len: usize) {
    let out = shape(cx.rank.id(), to, kind, false, nargs, len);
    let index = SHAPE + reply as u8;
    let dst = cx.state.long_slots.load(Ordering::Relaxed) + (SLOT as u64) * (u64::from(cx.me()) * 2);
    match kind {
        Kind::Short => cx.rank.request_short(to, index, &out.args),
        Kind::Medium => cx.rank.request_medium(to, index, &out.args, &out.payload),
        Kind::Long => cx.rank.request_long(to, index, &out.args, &out.payload, dst),
    }
    .expect("a request");
}

/// A rank that only sends requests to itself, copied and prepared ones, serves the others.
pub fn own_requests_serve_others(cx: &Cx) {
    let (own, begun) = (cx.rank.id(), Instant::now());
    let copied = || cx.rank.request_short(own, OWN, &[]).expect("a request");
    let prepared = || {
        let request =
            cx.rank.messages().prepare_medium(own, 8, 0, false).expect("a request").expect("it may wait");
        request.commit(OWN, &[], 8, 0).expect("a request");
    };
    for ask in [&copied as &dyn Fn(), &prepared] {
        cx.state.requests.store(0, Ordering::Relaxed);
        cx.rank.barrier();
        if cx.size() > 1 {
            cx.rank.request_short(cx.right(1), OWN, &[]).expect("a request");
            while cx.state.requests.load(Ordering::Relaxed) == 0 {
                ask();
                assert!(begun.elapsed() < HANGS, "the request of the rank to the left is not handled");
            }
        }
        cx.rank.barrier();
    }
}

/// Every index reaches its own handler, as request and as reply.
pub fn all_indices(cx: &Cx) {
    assert_eq!(FIRST_CLIENT_HANDLER, 128);
    cx.state.replies.store(0, Ordering::Relaxed);
    cx.state.requests.store(0, Ordering::Relaxed);
    cx.rank.barrier();
    let mut sent = 0;
    for to in cx.rank.ranks() {
        for index in PLAIN..=255 {
            cx.rank.request_short(to, index, &[u32::from(index), cx.me()]).expect("a request");
            sent += 1;
        }
    }
    cx.await_count("replies of all indices", &cx.state.replies, sent);
    cx.rank.barrier();
    assert_eq!(cx.state.requests.load(Ordering::Relaxed), sent);
}
