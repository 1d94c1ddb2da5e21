//! Apertures and queues of RDMA requests: one section for each item of CLAN's list that they fulfil. Ranks go
//! in pairs; the odd one has the memory.

use gasnet::region::{Modes, Region, RegionError, RegionKey};
use gasnet::{GlobalPtr, RankId};
use gasnet_clan::{Aperture, QueueFull, RdmaEngine, RequestId};

use crate::support::{Cx, same};

/// Bytes of a region: words for signals, then data.
const BYTES: usize = 64 << 10;
const DATA: usize = 64;

/// Memory of the odd rank, and its key at the even one.
struct Pair<'r> {
    partner: RankId,
    writes: bool,
    memory: GlobalPtr<u8>,
    /// The own region; at the even rank of no use.
    region: Region<'r>,
    key: RegionKey,
}

impl<'r> Pair<'r> {
    /// `None`: the last of an odd number of ranks has no partner.
    fn new(cx: &Cx) -> Option<Pair<'static>> {
        let at = cx.take_zeroed(BYTES as u64 + 64);
        let (rank, partner) = (cx.rank, RankId(cx.me() ^ 1));
        let memory = GlobalPtr::<u8>::new(rank.id(), at);
        let region =
            rank.regions().export_segment(memory, BYTES, Modes::READ | Modes::WRITE).expect("inside");
        let key_at = memory.add(BYTES);
        if partner.0 < cx.size() {
            rank.write_slice(key_at.on(partner), bytemuck::bytes_of(&region.key()));
        }
        rank.barrier();
        let mut key = [0; size_of::<RegionKey>()];
        rank.read_slice(key_at, &mut key);
        let key = bytemuck::pod_read_unaligned(&key);
        (partner.0 < cx.size()).then_some(Pair { partner, writes: cx.me() & 1 == 0, memory, region, key })
    }

    fn word(&self, cx: &Cx, at: usize) -> u64 {
        cx.rank.atomics().load(self.memory.add(at).cast())
    }

    fn data(&self, cx: &Cx, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        cx.rank.read_slice(self.memory.add(DATA), &mut bytes);
        bytes
    }
}

/// CLAN-7, first part, and CLAN-2: stores of an aperture are seen in their order, words in one piece; what is
/// not aligned, or outside, is refused; the protocol of two flags needs no remote load, and a load is
/// counted.
pub fn clan_07_stores_are_seen_in_order(cx: &Cx) {
    let rounds = if cx.quick { 30u64 } else { 300 };
    let pair = Pair::new(cx);
    let flags = cx.take_zeroed(64);
    for on_segment in [false, true] {
        if let Some(pair) = &pair {
            let flag = |of| GlobalPtr::<u8>::new(of, flags);
            // The way back: a flag in the writer's segment.
            let mut back = Aperture::segment(cx.rank, flag(pair.partner), 64).expect("inside");
            let mut there = match on_segment {
                true => {
                    Aperture::segment(cx.rank, pair.memory.on(pair.partner), BYTES as u64).expect("inside")
                }
                false => Aperture::bind(cx.rank, pair.key),
            };
            assert_eq!((there.owner(), there.len()), (pair.partner, BYTES as u64));
            let own_flag = || cx.rank.atomics().load(flag(cx.rank.id()).cast());
            let base = if on_segment { rounds } else { 0 };
            for i in base + 1..=base + rounds {
                if pair.writes {
                    there.fill(DATA as u64, &[i as u8; 3000]).expect("inside");
                    there.store_u32(12, i as u32).expect("inside");
                    there.store(0, i).expect("inside");
                    cx.rank.wait_until("an answer", || own_flag() == i);
                } else {
                    cx.rank.wait_until("a message", || pair.word(cx, 0) == i);
                    assert_eq!(pair.word(cx, 8), i << 32, "the word before the signal");
                    same(&pair.data(cx, 3000), &[i as u8; 3000], "the bytes before the signal");
                    back.store(0, i).expect("inside");
                }
            }
            assert_eq!((there.remote_loads(), back.remote_loads()), (0, 0), "no message needs a remote load");
            there.flush().expect("live");
            if pair.writes {
                for (at, why) in
                    [(4, "aligned to 8"), (BYTES as u64, "of an aperture of"), (u64::MAX - 7, "at")]
                {
                    let refusal = there.store(at, 1).expect_err("refused").to_string();
                    assert!(refusal.contains(why), "{refusal}");
                }
                assert!(there.store_u32(2, 1).is_err() && there.fill(BYTES as u64 - 1, &[0; 2]).is_err());
                assert_eq!(there.load(0).expect("it may be read"), base + rounds);
                assert_eq!(there.remote_loads(), 1);
            }
        }
        cx.rank.barrier();
    }
    let size = cx.rank.table().get(cx.rank.id()).expect("attached").size as u64;
    assert!(Aperture::segment(cx.rank, GlobalPtr::new(cx.rank.id(), size - 8), 16).is_err());
    // The region is revoked: the store that it meets, or the next one, says so.
    let key = pair.map(|Pair { region, key, writes, .. }| {
        region.revoke();
        (key, writes)
    });
    cx.rank.barrier();
    if let Some((key, true)) = key {
        let mut gone = Aperture::bind(cx.rank, key);
        gone.store(0, 1).expect("on its way");
        let refusal = gone.flush().expect_err("revoked").to_string();
        assert!(refusal.contains("revoked"), "{refusal}");
    }
    cx.rank.barrier();
}

/// CLAN-7, second part: a store overtakes requests that were made before; an immediate does not, however the
/// requests are split and grouped.
pub fn clan_07_immediates_follow_and_stores_overtake(cx: &Cx) {
    const STORED: usize = 8;
    let pair = Pair::new(cx);
    let engine = RdmaEngine::new(cx.rank);
    let mut queue = engine.queue(16);
    let (mut random, mut shared) = (cx.rng("pieces"), cx.rng_of("rdma", cx.me() & !1));
    for i in 1..=if cx.quick { 5u32 } else { 30 } {
        let len = 1 + shared.below(BYTES - DATA);
        let data = vec![i as u8; len];
        let mut last = None;
        if let Some(pair) = pair.as_ref().filter(|pair| pair.writes) {
            let mut at = 0;
            while at < len {
                // At most 15 pieces, and the immediate.
                let n = (len / 14 + random.below(len)).clamp(1, len - at);
                let is_last = random.below(3) == 0;
                let piece = data[at..at + n].to_vec();
                queue.write(piece, pair.key, (DATA + at) as u64, is_last).expect("room");
                at += n;
            }
            last = Some(queue.immediate(pair.key, 0, i).expect("room"));
            // The engine has not begun: a publish by a store comes too early.
            let mut early = Aperture::bind(cx.rank, pair.key);
            early.store(STORED as u64, i.into()).expect("inside");
            early.flush().expect("live");
        }
        cx.rank.barrier();
        if let Some(pair) = pair.as_ref().filter(|pair| !pair.writes) {
            assert_eq!(pair.word(cx, STORED), i.into(), "the store has overtaken");
            assert_eq!(pair.word(cx, 0) as u32, i - 1, "the immediate has not");
            let before = pair.data(cx, len).iter().filter(|byte| **byte == i as u8).count();
            assert_eq!(before, 0, "nothing of the data is there");
        }
        cx.rank.barrier();
        match (&pair, last) {
            (Some(_), Some(last)) => assert_eq!(queue.wait(last, None), Some(Ok(()))),
            (Some(pair), None) => {
                cx.rank.wait_until("an immediate", || pair.word(cx, 0) as u32 == i);
                same(&pair.data(cx, len), &data, "the data before the immediate");
            }
            _ => {}
        }
        cx.rank.barrier();
    }
    drop(queue);
    drop(engine);
    cx.rank.barrier();
}

/// CLAN-8: ids wrap, any number of threads test them, a full queue says so and has room again, a request that
/// is refused breaks its queue and no other.
pub fn clan_08_ids_wrap_and_anybody_may_test(cx: &Cx) {
    const DEPTH: u32 = 4;
    let requests = if cx.quick { 60 } else { 400 };
    let pair = Pair::new(cx);
    let engine = RdmaEngine::start(cx.rank).expect("a thread");
    if let Some(pair) = pair.as_ref().filter(|pair| pair.writes) {
        let mut queue = engine.queue(DEPTH);
        let mut ids: Vec<RequestId> = Vec::new();
        for i in 0..requests {
            let data = vec![i as u8; 100];
            let mut made = queue.write(data, pair.key, DATA as u64, true);
            while let Err(QueueFull(data)) = made {
                assert_eq!(data.len(), 100, "it is given back");
                assert!(queue.wait_space(None));
                made = queue.write(data, pair.key, DATA as u64, true);
            }
            let id = made.expect("room");
            assert!(!ids.contains(&id));
            ids.push(id);
            // All that are too old to be under way are done, on both sides of the wrap.
            let done = ids.len().saturating_sub(DEPTH as usize);
            assert!(ids[done.saturating_sub(20)..done].iter().all(|id| queue.test(*id) == Some(Ok(()))));
        }
        let last = *ids.last().expect("some");
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    while queue.test(last).is_none() {
                        std::thread::yield_now();
                    }
                    assert!(ids.iter().all(|id| queue.test(*id) == Some(Ok(()))));
                });
            }
        });
        // A group that is not complete is not carried out, and a wait for it does not wait.
        let open = queue.write(vec![1], pair.key, 0, false).expect("room");
        assert_eq!(queue.wait(open, None), None);
        assert_eq!(queue.wait(open, Some(std::time::Duration::ZERO)), None);
        let closed = queue.immediate(pair.key, 0, 2).expect("room");
        assert_eq!([queue.wait(closed, None), queue.test(open)], [Some(Ok(())); 2]);
        // Refused: outside.
        let mut other = engine.queue(DEPTH);
        let bad = queue.write(vec![0; 9], pair.key, BYTES as u64 - 8, true).expect("room");
        let after = queue.immediate(pair.key, 0, 99).expect("room");
        let apart = other.immediate(pair.key, 4, 3).expect("room");
        let outside = Some(Err(RegionError::Range));
        assert_eq!([queue.wait(bad, None), queue.wait(after, None)], [outside; 2]);
        assert_eq!(queue.test(closed), Some(Ok(())), "what was done before stays done");
        assert_eq!(other.wait(apart, None), Some(Ok(())));
    }
    cx.rank.barrier();
    if let Some(pair) = pair.as_ref().filter(|pair| !pair.writes) {
        assert_eq!(pair.word(cx, 0), 3 << 32 | 2, "the request after the refused one was not carried out");
        same(&pair.data(cx, 100), &[(requests - 1) as u8; 100], "the last of them");
    }
    drop(engine);
    cx.rank.barrier();
}

/// CLAN-9 and CLAN-10: one kick for many requests of a queue that stays active; queues have turns, of a group
/// each.
pub fn clan_10_groups_stay_together_and_queues_have_turns(cx: &Cx) {
    const QUEUES: usize = 3;
    let pair = Pair::new(cx);
    let mut random = cx.rng("groups");
    if let Some(pair) = pair.as_ref().filter(|pair| pair.writes) {
        for _ in 0..if cx.quick { 3 } else { 20 } {
            let engine = RdmaEngine::new(cx.rank);
            let mut queues: Vec<_> = (0..QUEUES).map(|_| engine.queue(64)).collect();
            // The ids of each queue, by group.
            let mut groups = vec![Vec::new(); QUEUES];
            for (queue, groups) in queues.iter_mut().zip(&mut groups) {
                for _ in 0..1 + random.below(6) {
                    let len = 1 + random.below(4);
                    let request =
                        |i| queue.write(vec![7; 10], pair.key, DATA as u64, i == len).expect("room");
                    groups.push((1..=len).map(request).collect::<Vec<_>>());
                }
            }
            assert_eq!(engine.kicks(), QUEUES as u64, "one for each queue");
            // By turns, as long as a queue has any.
            let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
            let turns = (0..longest).flat_map(|turn| (0..QUEUES).map(move |queue| (turn, queue)));
            let in_turns = turns.filter(|(turn, queue)| *turn < groups[*queue].len());
            let expected: Vec<(usize, RequestId)> = in_turns
                .flat_map(|(turn, queue)| groups[queue][turn].iter().map(move |id| (queue, *id)))
                .collect();
            let mut done = 0;
            while done < expected.len() {
                engine.progress();
                while expected.get(done).is_some_and(|(queue, id)| queues[*queue].test(*id).is_some()) {
                    done += 1;
                }
                // None out of turn.
                assert!(expected[done..].iter().all(|(queue, id)| queues[*queue].test(*id).is_none()));
                cx.rank.poll();
            }
            // A request to an active queue needs no kick: the engine has not seen the queue empty.
            let busy = &mut queues[expected.last().expect("some").0];
            let id = busy.immediate(pair.key, 0, 1).expect("room");
            assert_eq!(engine.kicks(), QUEUES as u64);
            assert_eq!(busy.wait(id, None), Some(Ok(())));
        }
    }
    cx.rank.barrier();
}
