//! Whole jobs in one process, a thread per rank, over a toy network with one-sided operations: ranks of
//! several hosts, hosts whose ranks do not follow each other, and one job after the other.
#![expect(unsafe_code, reason = "calls the unsafe put and get")]

mod toy;

use gasnet::atomics::{Function, Operation, WordType};
use gasnet::barrier::{ANONYMOUS, Outcome};
use gasnet::{Categories, Event, GlobalPtr, Handler, Local, Rank, RankId, Refused};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;
use toy::job;

/// Segments of unequal sizes: memory is allocated at the same offsets everywhere, or nowhere.
fn unequal(rank: &Rank, hosts: &[&[u32]]) {
    let me = rank.id();
    let least = 1 << 16;
    let host = hosts.iter().position(|h| h.contains(&me.0)).unwrap();
    rank.attach(least + (host << 13), None).unwrap();
    let words = rank.allocate_array::<u64>(100).unwrap();
    let why = rank.allocate(least as u64, 64).unwrap_err().to_string();
    assert!(why.contains("no room"), "{why}");
    assert_eq!(why.contains("smallest of all"), host > 0, "{why}");
    let rest = rank.allocate(least as u64 - 4096, 64).unwrap();
    assert_eq!(rest, 832);
    let next = RankId((me.0 + 1) % rank.size());
    rank.barrier();
    rank.write(words.on(next), u64::from(me.0));
    rank.write(GlobalPtr::<u8>::new(next, rest + least as u64 - 4097), 7);
    rank.barrier();
    assert_eq!(RankId((rank.read(words) as u32 + 1) % rank.size()), me);
    assert_eq!(rank.read(GlobalPtr::<u8>::new(me, rest + least as u64 - 4097)), 7);
    rank.barrier();
}

#[test]
fn the_smallest_segment_counts() {
    for native in [false, true] {
        job(&[&[0, 1], &[2]], native, u32::MAX, unequal);
        job(&[&[1], &[0, 2, 3]], native, u32::MAX, unequal);
    }
}

/// Segments of a host are so far from each other.
const STRIDE_BITS: u32 = if cfg!(miri) { 21 } else { 30 };
/// Messages to each rank.
const ROUNDS: u8 = if cfg!(miri) { 3 } else { 50 };
/// Bytes of the longest transfer.
const PART: usize = if cfg!(miri) { 4000 } else { 40_000 };

/// Every pair of ranks moves data in every way, and counts in messages, atomics and barriers.
fn everything(rank: &Rank, hosts: &[&[u32]]) {
    let (me, size) = (rank.id(), rank.size());
    let own_host = hosts.iter().find(|h| h.contains(&me.0)).unwrap();
    if rank.config().neighborhood > size {
        assert_eq!(rank.neighbours(), *own_host);
    }
    assert!(
        rank.ranks()
            .all(|r| own_host.contains(&r.0) == (rank.topology().host_of(r) == rank.topology().host_of(me)))
    );
    rank.register(200, Handler::new(|token, m| token.reply_medium(201, m.args, m.bytes()).unwrap())).unwrap();
    let answers = Arc::new(AtomicU64::new(0));
    let count = answers.clone();
    let expected = me.0;
    rank.register(
        201,
        Handler::new(move |_, m| {
            assert!(m.args == [expected] && m.bytes().len() == 300);
            // ORDER: Relaxed; a count.
            count.fetch_add(1, Relaxed);
        }),
    )
    .unwrap();
    let bytes = 1 << 20;
    let table = rank.attach(bytes, Some(1 << STRIDE_BITS)).unwrap();
    let own = table.get(me).unwrap().local as u64;
    for r in rank.ranks() {
        let there = table.get(r).unwrap();
        assert_eq!(!there.local.is_null(), rank.is_neighbour(r));
        if rank.is_neighbour(r) {
            let distance = (u64::from(r.0) << STRIDE_BITS).wrapping_sub(u64::from(me.0) << STRIDE_BITS);
            assert_eq!(there.local as u64, own.wrapping_add(distance));
        }
    }
    let byte = |to: RankId, k: usize| (me.0 * 31 + to.0 * 7) as u8 ^ (k % 251) as u8;
    const LONG: usize = PART / 4 * 3;
    let place = |from: RankId| u64::from(from.0) * 2 * PART as u64;
    let right = RankId((me.0 + 1) % size);
    rank.barrier();
    for to in rank.ranks() {
        let mut data: Vec<u8> = (0..PART).map(|k| byte(to, k)).collect();
        // SAFETY: the vector is valid; each rank writes a part of its own.
        unsafe {
            rank.put(to, place(me), data.as_ptr(), PART);
            // The source is reused at once: short ones are copied, long ones waited for.
            let short = rank.put_nb(to, place(me) + PART as u64, data.as_ptr(), 900);
            let long = rank.put_nb(to, place(me) + PART as u64 + 1000, data.as_ptr(), LONG);
            data.fill(0);
            rank.wait(short);
            rank.wait(long);
            let mut back = vec![0; PART];
            rank.get(back.as_mut_ptr(), to, place(me), PART);
            assert!(back.iter().enumerate().all(|(k, b)| *b == byte(to, k)));
            rank.get(back.as_mut_ptr(), to, place(me) + PART as u64, 1000 + LONG);
            assert!((0..900).all(|k| back[k] == byte(to, k)));
            assert!((0..LONG).all(|k| back[1000 + k] == byte(to, k)));
        }
    }
    let kept = vec![9u8; PART];
    // SAFETY: the source stays to the end.
    unsafe {
        rank.implicit().put_bulk(right, place(me), kept.as_ptr(), PART);
        rank.implicit().put(right, place(me) + PART as u64, kept.as_ptr(), 64);
    }
    rank.implicit().wait(Categories::PUTS);
    rank.barrier();
    let left = RankId((me.0 + size - 1) % size);
    let mut got = vec![0u8; PART];
    rank.read_slice(GlobalPtr::new(me, place(left)), &mut got);
    assert_eq!(got, kept);
    rank.barrier();
    let sum = Operation { function: Function::Add, word: WordType::U64 };
    rank.write(GlobalPtr::<u64>::new(me, bytes as u64 - 8), 0);
    rank.barrier();
    for k in 0..ROUNDS {
        for to in rank.ranks() {
            rank.request_medium(to, 200, &[me.0], &[k; 300]).unwrap();
        }
        rank.atomics().apply(RankId(0), bytes as u64 - 8, sum, 1, 0);
    }
    // ORDER: Relaxed; a count.
    rank.wait_until("answers", || answers.load(Relaxed) == u64::from(size) * u64::from(ROUNDS));
    rank.barrier();
    assert_eq!(
        rank.read(GlobalPtr::<u64>::new(RankId(0), bytes as u64 - 8)),
        u64::from(size) * u64::from(ROUNDS)
    );
    for phase in 0..if cfg!(miri) { 10 } else { 30 } {
        let odd_one = phase % 5 == 4 && me.0 == size - 1;
        rank.split_barrier().notify(if odd_one { -1 } else { phase }, 0);
        let end = rank.split_barrier().wait(phase, 0);
        assert_eq!(end == Outcome::Mismatched, phase % 5 == 4, "phase {phase}");
    }
    rank.split_barrier().notify(0, ANONYMOUS);
    while rank.split_barrier().try_wait(0, ANONYMOUS).is_none() {
        std::thread::yield_now();
    }
    assert!(rank.now() < Duration::from_secs(60), "the network's clock, which has hardly run");
}

/// Barriers that rank 1 left without having handled what was sent before them.
static DEAF: AtomicU64 = AtomicU64::new(0);

/// Rank 1 is last to every barrier, so that none makes it wait.
fn always_last(rank: &Rank, _: &[&[u32]]) {
    static HEARD: AtomicU64 = AtomicU64::new(0);
    static NOTIFIED: AtomicU64 = AtomicU64::new(0);
    // ORDER: Relaxed; a count of the thread that reads it.
    rank.register(200, Handler::new(|_, _| _ = HEARD.fetch_add(1, Relaxed))).unwrap();
    rank.attach(1 << 12, None).unwrap();
    for phase in 1..=20 {
        if rank.id().0 == 0 {
            rank.request_short(RankId(1), 200, &[]).unwrap();
            rank.split_barrier().notify(0, ANONYMOUS);
            // ORDER: Release, with the Acquire below.
            NOTIFIED.store(phase, Release);
        } else {
            // ORDER: Acquire, with the Release above.
            while NOTIFIED.load(Acquire) < phase {
                std::thread::yield_now();
            }
            rank.split_barrier().notify(0, ANONYMOUS);
        }
        rank.split_barrier().wait(0, ANONYMOUS);
        if rank.id().0 == 1 && HEARD.load(Relaxed) < phase {
            // ORDER: Relaxed; a count, read when the threads have ended.
            DEAF.fetch_add(1, Relaxed);
        }
    }
}

/// The toy network reads sources at one poll and brings data at the next: leaves are done when their roots
/// are not. And every third operation would block, so that immediate ones are refused, and leave nothing
/// behind.
fn leaves_and_refusals(rank: &Rank, _: &[&[u32]]) {
    rank.attach(1 << 20, Some(1 << STRIDE_BITS)).unwrap();
    rank.barrier();
    let to = RankId((rank.id().0 + 1) % rank.size());
    let mut data = vec![3u8; 20 * 1000];
    // SAFETY: sources are left alone until they may be written.
    unsafe {
        for len in [8, 100, 20 * 1000] {
            data.fill(3);
            let root = rank.start_put(to, 64, data.as_ptr(), len, Local::Leaf, false).unwrap();
            let leaf = rank.events().leaf(root);
            assert!(leaf.is_leaf() && rank.events().leaf(root) == leaf);
            let mut list = [leaf, Event::DONE, root];
            assert_eq!(rank.events().test_each(&mut list), (0, 2));
            rank.wait(leaf);
            data.fill(4);
            assert_eq!(rank.events().test_each(&mut list), (1, 1), "the data is not there yet");
            assert_eq!((list[0], rank.events().leaf(root)), (Event::DONE, Event::DONE));
            std::thread::scope(|s| s.spawn(|| rank.wait(root)).join().unwrap());
            rank.get(data.as_mut_ptr(), to, 64, len);
            assert!(data[..len].iter().all(|b| *b == 3));
        }
        rank.implicit().begin_access_region();
        rank.implicit().start_put(to, 64, data.as_ptr(), 5000, Local::Group, false).unwrap();
        rank.implicit().put_bulk(to, 64 + 5000, data.as_ptr(), 5000);
        rank.implicit().put(to, 64 + 10_000, data.as_ptr(), 5);
        let root = rank.implicit().end_access_region();
        rank.wait(rank.events().leaf(root));
        assert!(!rank.events().test_quietly(root));
        rank.wait(root);
        rank.implicit().start_put(to, 64, data.as_ptr(), 50, Local::Group, false).unwrap();
        assert!(!rank.implicit().test_quietly(Categories::LOCAL));
        rank.implicit().wait(Categories::LOCAL);
        assert!(
            !rank.implicit().test_quietly(Categories::PUTS) && rank.implicit().test_quietly(Categories::GETS)
        );
        rank.implicit().wait(Categories::ALL);
        let (mut started, mut refused, mut got) = (0, 0, vec![0u8; 300]);
        for k in 0..300usize {
            let word: *mut u8 = got.as_mut_ptr().add(k);
            let asked = match k % 4 {
                0 => rank.start_put(to, 64, data.as_ptr(), 1, Local::Leaf, true).map(|e| rank.wait(e)),
                1 => rank.implicit().start_put(to, 64, data.as_ptr(), 100, Local::Now, true),
                2 => rank.start_get(word, to, 64, 1, true).map(|e| rank.wait(e)),
                _ => rank.implicit().start_get(word, to, 64, 1, true),
            };
            started += u32::from(asked.is_ok());
            refused += u32::from(asked == Err(Refused));
            assert!(k % 4 != 2 || got[k] == 3 * u8::from(asked.is_ok()));
        }
        assert!(started >= 150 && refused >= 75, "{started} {refused}");
        rank.implicit().wait(Categories::ALL);
        assert!(rank.implicit().test(Categories::ALL));
    }
    rank.barrier();
}

#[test]
fn the_last_at_a_barrier_polls() {
    job(&[&[0, 1]], false, 2, always_last);
    assert_eq!(DEAF.load(Relaxed), 0);
}

#[test]
fn hosts_of_every_shape() {
    if cfg!(miri) {
        job(&[&[0, 2], &[1]], true, u32::MAX, everything);
        return;
    }
    for native in [false, true] {
        job(&[&[0, 2], &[1], &[3, 4]], native, u32::MAX, everything);
    }
    job(&[&[0], &[1], &[2]], true, u32::MAX, everything);
    job(&[&[0, 1, 2, 3], &[4, 5, 6]], true, 3, everything);
}

#[test]
fn neighbours_need_no_frames() {
    assert_eq!(job(&[&[0, 1, 2]], true, u32::MAX, everything), 0);
}

#[test]
fn sources_are_free_before_data_arrives() {
    job(&[&[0], &[1], &[2]], true, 100, leaves_and_refusals);
}

/// Ranks are taken apart that have teams, which forget their records then.
fn teams(rank: &'static Rank, _: &[&[u32]]) {
    rank.attach(1 << 12, None).unwrap();
    let all = rank.team_all();
    assert_eq!(all.gather_all(&[rank.id().0]), rank.ranks().map(|r| r.0).collect::<Vec<_>>());
    rank.barrier();
}

#[test]
fn teams_end_before_their_rank() {
    job(&[&[0], &[1]], false, u32::MAX, teams);
}

/// Byte `i` of a prepared message.
fn prepared_byte(i: usize, round: u32) -> u8 {
    (i as u32 * 7 + round) as u8
}

fn fill(to: &mut [u8], round: u32) {
    to.iter_mut().enumerate().for_each(|(i, b)| *b = prepared_byte(i, round));
}

/// Handlers of the mediums, their replies and the longs of [`prepared`]. Returns how many replies and how
/// many longs have come.
fn register_for_prepared(rank: &Rank) -> (Arc<AtomicU64>, Arc<AtomicU64>) {
    let answers = Arc::new(AtomicU64::new(0));
    let count = answers.clone();
    rank.register(
        200,
        Handler::new(move |token, m| {
            let round = m.args[0];
            assert!(m.bytes().iter().enumerate().all(|(i, b)| *b == prepared_byte(i, round)));
            // One that is dropped does not count as the reply.
            drop(token.prepare_medium(m.len, 1, false).unwrap());
            assert!(!token.has_replied());
            let mut reply = token.prepare_medium(m.len, 1, false).unwrap().unwrap();
            assert!(token.has_replied() && token.reply_short(201, &[]).is_err());
            fill(reply.payload(), round + 1);
            reply.commit(201, &[round + 1], m.len, 0).unwrap();
        }),
    )
    .unwrap();
    rank.register(
        201,
        Handler::new(move |token, m| {
            assert!(m.bytes().iter().enumerate().all(|(i, b)| *b == prepared_byte(i, m.args[0])));
            assert!(token.prepare_medium(0, 0, false).is_err(), "replies have no replies");
            // ORDER: Relaxed; a count.
            count.fetch_add(1, Relaxed);
        }),
    )
    .unwrap();
    // Of long messages only the arguments are looked at: payload and place are checked by their receivers
    // below.
    let arrived = Arc::new(AtomicU64::new(0));
    let count = arrived.clone();
    rank.register(
        202,
        Handler::new(move |_, m| {
            assert_eq!(m.len as u32, m.args[1]);
            // SAFETY: a long payload lies in the own segment, where its sender alone writes.
            let payload = unsafe { core::slice::from_raw_parts(m.payload, m.len) };
            assert!(payload.iter().enumerate().all(|(i, b)| *b == prepared_byte(i, m.args[0])));
            // ORDER: Relaxed; a count.
            count.fetch_add(1, Relaxed);
        }),
    )
    .unwrap();
    (answers, arrived)
}

/// Requests and replies that are made where they are sent from, of every route: to oneself, over a link, in a
/// frame; committed whole and in part, and dropped, which sends nothing.
fn prepared(rank: &Rank, _: &[&[u32]]) {
    const SIZES: [usize; 6] = [0, 1, 64, 65, 4000, gasnet::am::MAX_MEDIUM];
    const ROOM: usize = 1 << 17;
    let (answers, arrived) = register_for_prepared(rank);
    rank.attach(rank.size() as usize * ROOM, None).unwrap();
    rank.barrier();
    let place = u64::from(rank.id().0) * ROOM as u64;
    let (mut sent, mut long) = (0, 0);
    for step in 0..rank.size() {
        // Each rank gets one message at a time.
        let to = RankId((rank.id().0 + step) % rank.size());
        for len in SIZES {
            for more in [0, 100] {
                let round = (sent + long) as u32;
                let room = (len + more).min(gasnet::am::MAX_MEDIUM);
                drop(rank.messages().prepare_medium(to, room, 1, false).unwrap());
                let mut m = loop {
                    match rank.messages().prepare_medium(to, room, 1, more > 0).unwrap() {
                        Some(m) => break m,
                        None => drop(rank.poll()),
                    }
                };
                assert_eq!((m.capacity(), m.address() as usize % 16), (room, 0));
                fill(&mut m.payload()[..len], round);
                m.commit(200, &[round], len, 0).unwrap();
                sent += 1;
                rank.wait_until("an answer", || answers.load(Relaxed) == sent);
                let mut m = rank.messages().prepare_long(to, len + more, 2, false).unwrap().unwrap();
                fill(&mut m.payload()[..len], round);
                m.commit(202, &[round, len as u32], len, place).unwrap();
                long += 1;
                // The place is used again.
                rank.barrier();
                rank.wait_until("a message", || arrived.load(Relaxed) == long);
                rank.barrier();
            }
        }
    }
    let refused =
        |m: gasnet::am::Prepared<'_>, handler, args: &[u32], len| m.commit(handler, args, len, 0).is_err();
    let one = || rank.messages().prepare_medium(rank.id(), 8, 1, false).unwrap().unwrap();
    assert!(refused(one(), 200, &[1], 9) && refused(one(), 200, &[], 8) && refused(one(), 3, &[1], 8));
    let outside = rank.messages().prepare_long(rank.id(), 8, 0, false).unwrap().unwrap();
    assert!(outside.commit(202, &[], 8, u64::MAX).is_err());
    assert!(rank.messages().prepare_medium(RankId(rank.size()), 0, 0, false).is_err());
    assert!(rank.messages().prepare_medium(rank.id(), gasnet::am::MAX_MEDIUM + 1, 0, false).is_err());
    rank.barrier();
}

#[test]
fn prepared_messages_arrive_by_every_route() {
    job(&[&[0, 2], &[1]], false, u32::MAX, prepared);
}
