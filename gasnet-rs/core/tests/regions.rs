//! Regions and bound segments in whole jobs: among neighbours, between hosts, and both, with the same
//! results.
#![expect(unsafe_code, reason = "calls the unsafe put and get, and looks at memory that others write")]

mod toy;

use gasnet::am::MAX_MEDIUM;
use gasnet::atomics::{Function, Operation, WordType};
use gasnet::vis::{Piece, Shape};
use gasnet::{GlobalPtr, Handler, Modes, Rank, RankId, RegionError, RegionKey};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use toy::job;

/// Hosts of every kind.
const JOBS: [&[&[u32]]; 4] = [&[&[0, 1, 2]], &[&[0], &[1], &[2]], &[&[0, 2], &[1], &[3, 4]], &[&[0, 1]]];

/// Runs `body` over neighbours and networks, with and without one-sided operations of the network's own.
fn everywhere(body: fn(&Rank, &[&[u32]])) {
    for hosts in JOBS {
        for native in [false, true] {
            job(hosts, native, u32::MAX, body);
        }
    }
}

fn right(rank: &Rank) -> RankId {
    RankId((rank.id().0 + 1) % rank.size())
}

/// The keys of all ranks, which travel as plain data through rank 0's segment.
fn exchange(rank: &Rank, mine: RegionKey) -> Vec<RegionKey> {
    let at = |r: u32| GlobalPtr::<RegionKey>::new(RankId(0), u64::from(r) * size_of::<RegionKey>() as u64);
    rank.write(at(rank.id().0), mine);
    rank.barrier();
    let all = (0..rank.size()).map(|r| rank.read(at(r))).collect();
    rank.barrier();
    all
}

const ADD: Operation = Operation { function: Function::Add, word: WordType::U64 };
/// Bytes of a region: several messages, no multiple of anything.
const LEN: usize = 150_001;

/// Random puts, gets and atomic operations agree with a copy that is kept here.
fn random(rank: &Rank, _: &[&[u32]]) {
    rank.attach(1 << 16, None).unwrap();
    let mine = rank.regions().export_vec(vec![0u8; LEN], Modes::ALL).unwrap();
    // The rank to the right is nobody else's to write.
    let key = exchange(rank, mine.key())[right(rank).0 as usize];
    let mut oracle = vec![0u8; LEN];
    let mut rng = fastrand::Rng::with_seed(u64::from(rank.id().0));
    for i in 0..150 {
        let len = if i % 10 == 0 { rng.usize(..LEN) } else { rng.usize(..300) };
        let at = rng.usize(..LEN - len + 1);
        match rng.usize(..6) {
            0 | 1 => {
                let data: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
                rank.region(&key).write(at as u64, &data).unwrap();
                oracle[at..at + len].copy_from_slice(&data);
            }
            2 => {
                let data: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
                oracle[at..at + len].copy_from_slice(&data);
                assert_eq!(rank.region(&key).write_nb(at as u64, data).wait().unwrap().len(), len);
            }
            3 => {
                let data = vec![rng.u8(..); len];
                oracle[at..at + len].copy_from_slice(&data);
                // SAFETY: the source may go when the call returns.
                let event = unsafe { rank.region(&key).put_nb(at as u64, data.as_ptr(), len) };
                drop(data);
                rank.wait(event);
            }
            4 => {
                let mut got = rank.region(&key).read_nb::<u8>(at as u64, len);
                while !got.test() {}
                assert!(got.wait().unwrap() == oracle[at..at + len], "get of {len} at {at}");
            }
            _ => {
                let mut got = vec![0u8; len];
                // SAFETY: the buffer stays until the gets of this thread are synchronised.
                unsafe { rank.region(&key).get_nbi(got.as_mut_ptr(), at as u64, len) };
                rank.implicit().wait(gasnet::Categories::ALL);
                assert!(got == oracle[at..at + len], "get of {len} at {at}");
            }
        }
    }
    rank.barrier();
    // All of them together count in one word.
    let first = exchange(rank, mine.key())[0];
    let cell = rank.regions().export_vec(vec![0u64; 4], Modes::ATOMIC | Modes::READ).unwrap();
    let counter = exchange(rank, cell.key())[0];
    for _ in 0..20 {
        rank.region(&counter).atomic(8, ADD, 3, 0).unwrap();
    }
    assert_eq!(rank.region(&counter).atomic(4, ADD, 3, 0), Err(RegionError::Unaligned));
    assert_eq!(rank.region(&counter).write(8, &[1u64]), Err(RegionError::Access));
    rank.barrier();
    let mut words = [0u64; 4];
    rank.region(&counter).read(0, &mut words).unwrap();
    assert_eq!(words, [0, 60 * u64::from(rank.size()), 0, 0]);
    let mut got = vec![0u8; LEN];
    rank.region(&key).read(0, &mut got).unwrap();
    assert!(got == oracle);
    assert_eq!(first.len(), LEN as u64);
    rank.barrier();
    assert_eq!(mine.into_vec().len(), LEN);
}

#[test]
fn random_operations_agree_with_a_copy() {
    everywhere(random);
}

/// The same program has the same refusals on every network, and what is refused leaves the memory alone.
fn refusals(rank: &Rank, _: &[&[u32]]) {
    use RegionError::{Access, Gone, Range, Revoked};
    rank.attach(1 << 16, None).unwrap();
    let inside = |modes| rank.regions().export_vec(vec![7u8; 100], modes).unwrap();
    let (both, read, write) = (inside(Modes::ALL), inside(Modes::READ), inside(Modes::WRITE));
    for peer in rank.ranks().map(|r| r.0 as usize) {
        let [both, read, write] = [&both, &read, &write].map(|r| exchange(rank, r.key())[peer]);
        let put = |key: &RegionKey, at, n: usize| rank.region(key).write(at, &vec![7u8; n]);
        let get = |key: &RegionKey, at, n: usize| rank.region(key).read(at, &mut vec![0u8; n]);
        assert_eq!([put(&both, 0, 101), put(&both, 100, 1), put(&both, u64::MAX, 1)], [Err(Range); 3]);
        assert_eq!([get(&both, 0, 101), get(&both, 100, 1), get(&both, u64::MAX, 1)], [Err(Range); 3]);
        assert_eq!([put(&read, 0, 1), get(&write, 0, 1)], [Err(Access); 2]);
        assert_eq!(
            [put(&both, 99, 1), put(&write, 0, 100), get(&read, 0, 100), put(&both, 100, 0)],
            [Ok(()); 4]
        );
        for bit in 0..256 {
            let mut bytes: [u8; 32] = bytemuck::cast(both);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let forged: RegionKey = bytemuck::cast(bytes);
            let refused = rank.region(&forged).write(3, &[0u8; 9]).unwrap_err();
            assert!([Revoked, Gone, Access, Range].contains(&refused), "bit {bit}: {refused}");
        }
    }
    rank.barrier();
    for vec in [both, read, write] {
        assert_eq!(vec.into_vec(), [7u8; 100]);
    }
}

#[test]
fn what_is_refused_touches_nothing() {
    everywhere(refusals);
}

/// Writers hammer on a region that its owner takes back and uses for something else at once.
fn storm(rank: &Rank, _: &[&[u32]]) {
    rank.attach(1 << 16, None).unwrap();
    for round in 0..30u64 {
        if rank.id().0 == 0 {
            let memory = rank.regions().export_vec(vec![0u8; 1000], Modes::WRITE | Modes::READ).unwrap();
            let key = memory.key();
            exchange(rank, key);
            // Some writes come, others are under way.
            let mut first = [0u8];
            while first[0] == 0 {
                rank.poll();
                rank.region(&key).read(0, &mut first).unwrap();
            }
            let mut memory = memory.into_vec();
            memory.fill(0xee);
            // Operations in flight arrive.
            rank.barrier();
            assert!(memory.iter().all(|b| *b == 0xee), "round {round}: written after it was revoked");
            assert_eq!(rank.region(&key).write(0, &[1u8]), Err(RegionError::Revoked));
        } else {
            let key = exchange(rank, bytemuck::Zeroable::zeroed())[0];
            let mut written = 0;
            let refused = loop {
                match rank.region(&key).write(0, &[1u8; 1000]) {
                    Ok(()) => written += 1,
                    Err(e) => break e,
                }
            };
            assert_eq!(refused, RegionError::Revoked, "after {written}");
            rank.barrier();
        }
    }
}

#[test]
fn revocation_under_traffic() {
    everywhere(storm);
}

/// All race for the one access.
fn once(rank: &Rank, _: &[&[u32]]) {
    rank.attach(1 << 16, None).unwrap();
    let counter = rank.regions().export_vec(vec![0u64], Modes::ATOMIC | Modes::READ).unwrap();
    let total = exchange(rank, counter.key())[0];
    for round in 1..=20 {
        let mine = rank.regions().export_vec(vec![0u8; 64], Modes::WRITE | Modes::ONCE).unwrap();
        let keys = exchange(rank, mine.key());
        for key in &keys {
            match rank.region(key).write(0, &[rank.id().0 as u8 + 1; 64]) {
                Ok(()) => _ = rank.region(&total).atomic(0, ADD, 1, 0).unwrap(),
                Err(e) => assert_eq!(e, RegionError::Used),
            }
        }
        rank.barrier();
        let mut count = [0u64];
        rank.region(&total).read(0, &mut count).unwrap();
        assert_eq!(count[0], round * u64::from(rank.size()), "each region took one");
        let mine = mine.into_vec();
        assert!((1..=rank.size() as u8).contains(&mine[0]) && mine.iter().all(|b| *b == mine[0]));
        rank.barrier();
    }
}

#[test]
fn one_access_lands_once() {
    everywhere(once);
}

/// Absent, present, removed, no such rank; another region of the same name.
fn names(rank: &Rank, _: &[&[u32]]) {
    rank.attach(1 << 16, None).unwrap();
    let (peer, name) = (right(rank), 0xdead_beef_0000_0001);
    assert_eq!(rank.regions().import(peer, name), Ok(None));
    rank.barrier();
    let mine = rank.regions().export_vec(vec![rank.id().0; 10], Modes::READ).unwrap();
    rank.regions().publish(name, mine.region(), 77).unwrap();
    rank.regions().publish(name, mine.region(), 78).unwrap();
    let other = rank.regions().export_vec(vec![0u8], Modes::READ).unwrap();
    assert_eq!(rank.regions().publish(name, other.region(), 0), Err(RegionError::NameTaken));
    rank.barrier();
    for of in [peer, rank.id()] {
        let (key, note) = rank.regions().import(of, name).unwrap().unwrap();
        assert_eq!((key.rank(), key.len(), note), (of, 40, 78));
        let mut got = [9u32; 10];
        rank.region(&key).read(0, &mut got).unwrap();
        assert_eq!(got, [of.0; 10]);
    }
    assert_eq!(rank.regions().import(RankId(rank.size()), name), Err(RegionError::Gone));
    rank.barrier();
    drop(mine);
    rank.barrier();
    assert_eq!(
        [rank.regions().import(peer, name), rank.regions().import(rank.id(), name)],
        [Err(RegionError::Revoked); 2]
    );
    rank.barrier();
    rank.regions().publish(name, other.region(), 1).unwrap();
    rank.barrier();
    assert_eq!(rank.regions().import(peer, name).unwrap().unwrap().1, 1);
    rank.barrier();
}

#[test]
fn names_have_four_outcomes() {
    everywhere(names);
}

/// Long requests and replies to regions, of every number of parts.
fn longs(rank: &Rank, _: &[&[u32]]) {
    static SIZES: [usize; 7] = [0, 1, 900, MAX_MEDIUM - 64, MAX_MEDIUM, 200_000, 290_000];
    let to = right(rank);
    let (asked, answered) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let keys: Arc<std::sync::OnceLock<Vec<RegionKey>>> = Arc::default();
    let (count, all) = (asked.clone(), keys.clone());
    let base = Arc::new(AtomicU64::new(0));
    let own = base.clone();
    let looks_right = move |m: &gasnet::Message<'_>, place: usize| {
        assert_eq!(m.payload as u64, own.load(Relaxed) + place as u64);
        assert_eq!((m.len, m.args.len()), (SIZES[m.args[0] as usize], 16));
        // SAFETY: the payload has `len` bytes, which nobody writes now.
        (0..m.len).for_each(|i| assert_eq!(unsafe { m.payload.add(i).read() }, (i % 251) as u8));
    };
    let request = looks_right.clone();
    rank.register(
        200,
        Handler::new(move |token, m| {
            request(m, 3);
            let key = all.get().unwrap()[token.source().0 as usize];
            // SAFETY: the payload stays while the handler runs.
            unsafe { token.reply_region_long(&key, 300_005, 201, m.args, m.payload, m.len) }.unwrap();
            count.fetch_add(1, Relaxed);
        }),
    )
    .unwrap();
    let count = answered.clone();
    rank.register(
        201,
        Handler::new(move |_, m| {
            looks_right(m, 300_005);
            count.fetch_add(1, Relaxed);
        }),
    )
    .unwrap();
    rank.attach(1 << 16, None).unwrap();
    let mine = rank.regions().export_pages(700_000, Modes::ALL).unwrap();
    assert_eq!((mine.address() as usize % 4096, mine.key().len() % 4096), (0, 0));
    base.store(mine.address() as u64, Relaxed);
    keys.set(exchange(rank, mine.key())).unwrap();
    rank.barrier();
    let data: Vec<u8> = (0..300_000).map(|i| (i % 251) as u8).collect();
    for (i, n) in SIZES.into_iter().enumerate() {
        let mut args = [9; 16];
        args[0] = i as u32;
        let key = keys.get().unwrap()[to.0 as usize];
        // SAFETY: the vector is valid.
        unsafe { rank.region(&key).request_long(3, 200, &args, data.as_ptr(), n) }.unwrap();
        rank.wait_until("the answer", || answered.load(Relaxed) == i as u64 + 1);
        rank.barrier();
    }
    assert_eq!(asked.load(Relaxed), SIZES.len() as u64);
    // SAFETY: as above.
    unsafe {
        let key = keys.get().unwrap()[to.0 as usize];
        assert!(rank.region(&key).request_long(key.len() - 3, 200, &[], data.as_ptr(), 4).is_err());
        assert!(rank.region(&key).request_long(0, 20, &[], data.as_ptr(), 4).is_err());
    }
    rank.barrier();
}

#[test]
fn long_messages_go_to_regions() {
    everywhere(longs);
}

/// Segments that are memory of the program, in place of attached ones: whatever works with those works with
/// these.
fn bound(rank: &Rank, _: &[&[u32]]) {
    const BYTES: usize = 500_000;
    let answers = Arc::new(AtomicU64::new(0));
    let count = answers.clone();
    rank.register(
        200,
        Handler::new(|token, m| {
            // SAFETY: the payload has `len` bytes, which nobody writes now.
            let data = unsafe { std::slice::from_raw_parts(m.payload, m.len) }.to_vec();
            token.reply_long(201, m.args, &data, u64::from(m.args[0])).unwrap();
        }),
    )
    .unwrap();
    rank.register(201, Handler::new(move |_, _| _ = count.fetch_add(1, Relaxed))).unwrap();
    let mut memory = vec![0u64; BYTES / 8 + 2];
    // Not at a page, nor at a word.
    let base = memory.as_mut_ptr().cast::<u8>().wrapping_add(5);
    // SAFETY: the vector outlives all traffic, which ends with the last barrier, and is accessed by the
    // runtime alone.
    unsafe { rank.segments().bind(base, BYTES) }.unwrap();
    // SAFETY: as above; refused.
    assert!(unsafe { rank.segments().bind(base, BYTES) }.is_err() && rank.attach(4096, None).is_err());
    for (r, addr) in (0..).zip(gather(rank, base as u64)) {
        if r != rank.id().0 {
            rank.segments().learn(RankId(r), addr as usize, BYTES).unwrap();
        }
    }
    assert!(rank.segments().learn(RankId(rank.size()), 0, 0).is_err());
    assert!(rank.segments().learn(rank.id(), 0, 0).is_err());
    rank.barrier();
    let to = right(rank);
    assert_eq!(rank.address(GlobalPtr::<u8>::new(to, 0), 1).is_some(), to == rank.id());
    let data: Vec<u8> = (0..200_000).map(|i| (i % 241) as u8).collect();
    let mut back = vec![0u8; 200_000];
    // SAFETY: the vectors are valid until the waits.
    unsafe {
        rank.put(to, 1, data.as_ptr(), 1000);
        rank.implicit().put(to, 1001, data.as_ptr().add(1000), 70_000);
        rank.wait(rank.put_nb_bulk(to, 71_001, data.as_ptr().add(71_000), 129_000));
        rank.implicit().wait(gasnet::Categories::ALL);
        rank.get(back.as_mut_ptr(), to, 1, 200_000);
        assert!(back == data);
        rank.memset(to, 0, 9, 1);
        let places: Vec<Piece> = (0..100).map(|i| Piece { at: 300_000 + 40 * i, len: 20 }).collect();
        let here = [Piece { at: data.as_ptr() as usize, len: 2000 }];
        rank.shapes().put(to, Shape::Vector(&places), 0, Shape::Vector(&here));
        let mut got = vec![0u8; 2000];
        let room = [Piece { at: got.as_mut_ptr() as usize, len: 2000 }];
        rank.shapes().get(Shape::Vector(&room), to, Shape::Vector(&places), 0);
        assert!(got == data[..2000]);
    }
    for n in [0, 8, 60_000, 66_000, 120_000] {
        let before = answers.load(Relaxed);
        rank.request_long(to, 200, &[250_000], &data[..n], 100_000).unwrap();
        rank.wait_until("the answer", || answers.load(Relaxed) > before);
        let mut here = vec![0u8; n];
        rank.read_slice(GlobalPtr::new(rank.id(), 250_000), &mut here);
        assert!(here == data[..n], "{n}");
        rank.barrier();
    }
    let word = gather(rank, (base as u64).wrapping_neg() % 8)[0];
    for _ in 0..10 {
        rank.atomics().apply(RankId(0), 400_000 + word, ADD, 1, 0);
    }
    rank.barrier();
    assert_eq!(rank.read(GlobalPtr::<u64>::new(RankId(0), 400_000 + word)), 10 * u64::from(rank.size()));
    rank.barrier();
    // Operations in flight have ended.
    drop(memory);
}

/// A number of every rank, before there are segments to put it in.
fn gather(rank: &Rank, mine: u64) -> Vec<u64> {
    let region = rank.regions().export_vec(vec![mine], Modes::READ).unwrap();
    rank.regions().publish(1, region.region(), mine).unwrap();
    rank.barrier();
    let all = rank.ranks().map(|r| rank.regions().import(r, 1).unwrap().unwrap().1).collect();
    rank.barrier();
    all
}

#[test]
fn segments_of_the_programs_own_memory() {
    everywhere(bound);
}
