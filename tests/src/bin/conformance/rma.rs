//! Puts, gets and memsets of every family: lengths, alignments, many at once.
#![expect(unsafe_code, reason = "calls the unsafe put and get; each section says why it may")]

use crate::support::{Cx, Rng, same};
use gasnet::am::MAX_MEDIUM;
use gasnet::{Advice, Categories, Event, GlobalPtr, Local, RankId, Refused};

/// How a transfer is made and completed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    Blocking,
    Event,
    TestedEvent,
    Implicit,
    TestedImplicit,
    Region,
    Slice,
    Pending,
    /// The source is written again when the leaf is done.
    Leaf,
    /// When those of the thread are.
    Group,
    /// When the leaf of the region is.
    RegionGroup,
    /// Tried until it is not refused.
    Immediate,
}

pub const WAYS: [Way; 12] = [
    Way::Blocking,
    Way::Event,
    Way::TestedEvent,
    Way::Implicit,
    Way::TestedImplicit,
    Way::Region,
    Way::Slice,
    Way::Pending,
    Way::Leaf,
    Way::Group,
    Way::RegionGroup,
    Way::Immediate,
];

const LENGTHS: &[usize] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    63,
    64,
    65,
    127,
    1000,
    4095,
    4096,
    4097,
    MAX_MEDIUM - 1,
    MAX_MEDIUM,
    MAX_MEDIUM + 1,
    2 * MAX_MEDIUM + 3,
];

fn until(cx: &Cx, mut done: impl FnMut() -> bool) {
    let mut tries = 0u32;
    while !done() {
        tries += 1;
        if tries.is_multiple_of(16) {
            std::thread::yield_now();
        }
    }
    let _ = cx;
}

fn complete(cx: &Cx, way: Way, event: Event) {
    match way {
        Way::TestedEvent => until(cx, || cx.rank.test(event)),
        _ => cx.rank.wait(event),
    }
}

/// Puts `data`; on return it is in place.
pub fn put(cx: &Cx, way: Way, to: RankId, at: u64, data: &[u8]) {
    let r = cx.rank;
    let (p, n) = (data.as_ptr(), data.len());
    // SAFETY: the source is a slice; nobody else uses the destination (the callers' layout).
    unsafe {
        match way {
            Way::Blocking => r.put(to, at, p, n),
            Way::Event | Way::TestedEvent => complete(cx, way, r.put_nb(to, at, p, n)),
            Way::Implicit => {
                r.implicit().put(to, at, p, n);
                r.implicit().wait(Categories::PUTS);
            }
            Way::TestedImplicit => {
                r.implicit().put(to, at, p, n);
                until(cx, || r.implicit().test(Categories::ALL));
            }
            Way::Region => {
                r.implicit().begin_access_region();
                r.implicit().put(to, at, p, n);
                let event = r.implicit().end_access_region();
                r.wait(event);
            }
            Way::Slice => r.write_slice(GlobalPtr::new(to, at), data),
            Way::Pending => same(&r.write_nb(GlobalPtr::new(to, at), data.to_vec()).wait(), data, "source"),
            Way::Leaf | Way::Group | Way::RegionGroup | Way::Immediate => {
                put_and_reuse(cx, way, to, at, data.to_vec())
            }
        }
    }
}

/// Puts `data`, which is overwritten as soon as that is allowed and before the put is complete.
fn put_and_reuse(cx: &Cx, way: Way, to: RankId, at: u64, mut data: Vec<u8>) {
    let r = cx.rank;
    let (p, n) = (data.as_ptr(), data.len());
    // SAFETY: the source is left alone until it may be written; nobody else uses the destination (the
    // callers' layout).
    unsafe {
        match way {
            Way::Leaf => {
                let event = r.start_put(to, at, p, n, Local::Leaf, false).expect("not immediate");
                let leaf = r.events().leaf(event);
                if leaf == Event::DONE {
                    assert_eq!(r.events().leaf(event), Event::DONE);
                }
                r.wait(leaf);
                r.wait(leaf);
                data.fill(0xBB);
                r.wait(event);
            }
            Way::Group => {
                r.implicit().start_put(to, at, p, n, Local::Group, false).expect("not immediate");
                r.implicit().wait(Categories::LOCAL);
                data.fill(0xBB);
                r.implicit().wait(Categories::PUTS);
            }
            Way::RegionGroup => {
                r.implicit().begin_access_region();
                r.implicit().start_put(to, at, p, n, Local::Group, false).expect("not immediate");
                let event = r.implicit().end_access_region();
                let mut list = [event, r.events().leaf(event)];
                while list[1] != Event::DONE {
                    r.poll();
                    r.events().test_each(&mut list);
                }
                data.fill(0xBB);
                r.wait(list[0]);
            }
            _ => {
                let event = loop {
                    match r.start_put(to, at, p, n, Local::Now, true) {
                        Ok(event) => break event,
                        Err(Refused) => r.poll(),
                    };
                };
                data.fill(0xBB);
                complete(cx, Way::Event, event);
            }
        }
    }
}

/// Gets `len` bytes into a buffer at this misalignment.
pub fn get(cx: &Cx, way: Way, from: RankId, at: u64, len: usize, skew: usize) -> Vec<u8> {
    let r = cx.rank;
    let mut buffer = vec![0xA5u8; len + 32];
    let p = buffer.as_mut_ptr().wrapping_add(16 + skew);
    // SAFETY: inside `buffer`, which is not used before the transfer is complete.
    unsafe {
        match way {
            Way::Blocking => r.get(p, from, at, len),
            Way::Event | Way::TestedEvent => complete(cx, way, r.get_nb(p, from, at, len)),
            Way::Implicit | Way::Group => {
                r.implicit().get(p, from, at, len);
                r.implicit().wait(Categories::GETS);
            }
            Way::Leaf => {
                let event = r.get_nb(p, from, at, len);
                // A get has no source of this rank's.
                assert_eq!(r.events().leaf(event), Event::DONE);
                r.wait(event);
            }
            Way::Immediate => {
                let event = loop {
                    match r.start_get(p, from, at, len, true) {
                        Ok(event) => break event,
                        Err(Refused) => r.poll(),
                    };
                };
                r.wait(event);
            }
            Way::TestedImplicit => {
                r.implicit().get(p, from, at, len);
                until(cx, || r.implicit().test(Categories::GETS));
            }
            Way::Region | Way::RegionGroup => {
                r.implicit().begin_access_region();
                r.implicit().get(p, from, at, len);
                let event = r.implicit().end_access_region();
                r.wait(event);
            }
            Way::Slice => {
                r.read_slice(GlobalPtr::new(from, at), &mut buffer[16 + skew..16 + skew + len]);
            }
            Way::Pending => return r.read_nb(GlobalPtr::<u8>::new(from, at), len).wait(),
        }
    }
    let (before, rest) = buffer.split_at(16 + skew);
    let (data, after) = rest.split_at(len);
    assert!(
        before.iter().chain(after).all(|b| *b == 0xA5),
        "a get of {len} bytes wrote outside its destination"
    );
    data.to_vec()
}

fn memset(cx: &Cx, way: Way, to: RankId, at: u64, value: u8, len: usize) {
    let r = cx.rank;
    // SAFETY: nobody else uses the destination.
    unsafe {
        match way {
            Way::Event | Way::TestedEvent | Way::Pending | Way::Leaf | Way::Immediate => {
                complete(cx, way, r.memset_nb(to, at, value, len))
            }
            Way::Implicit | Way::TestedImplicit | Way::Group => {
                r.implicit().memset(to, at, value, len);
                r.implicit().wait(Categories::ALL);
            }
            Way::Region | Way::RegionGroup => {
                r.implicit().begin_access_region();
                r.implicit().memset(to, at, value, len);
                let event = r.implicit().end_access_region();
                r.wait(event);
            }
            Way::Blocking | Way::Slice => r.memset(to, at, value, len),
        }
    }
}

/// Every way x length x alignment, with guard bytes on both sides, at several targets.
pub fn families(cx: &Cx) {
    const GUARD: usize = 24;
    let slot = (2 * MAX_MEDIUM as u64 + 256).next_multiple_of(4096);
    let base = cx.take(slot * u64::from(cx.size()));
    let at = base + slot * u64::from(cx.me());
    let mut rng = cx.rng("rma");
    for target in cx.targets() {
        for &len in LENGTHS {
            for (i, way) in WAYS.into_iter().enumerate() {
                if cx.quick && len > MAX_MEDIUM && i > 2 {
                    continue;
                }
                let (to_skew, from_skew) = (rng.below(16), rng.below(16));
                let other = WAYS[(i + 1 + rng.below(WAYS.len() - 1)) % WAYS.len()];
                let start = at + to_skew as u64;
                let whole = len + 2 * GUARD;
                let what = format!(
                    "{way:?} then {other:?}, {len} bytes to rank {target}, skew {to_skew}/{from_skew}"
                );
                memset(cx, other, target, start, 0xEE, whole);
                let data = rng.bytes(len + from_skew);
                put(cx, way, target, start + GUARD as u64, &data[from_skew..]);
                let mut want = vec![0xEE; whole];
                want[GUARD..GUARD + len].copy_from_slice(&data[from_skew..]);
                same(&get(cx, other, target, start, whole, from_skew), &want, &what);
                memset(cx, way, target, start + GUARD as u64, i as u8, len);
                want[GUARD..GUARD + len].fill(i as u8);
                same(&get(cx, way, target, start, whole, 0), &want, &what);
            }
        }
    }
    values(cx, at);
    ends(cx);
}

/// Typed values.
fn values(cx: &Cx, at: u64) {
    let to = cx.right(1);
    macro_rules! check {
        ($($t:ty = $v:expr),* $(,)?) => {$(
            for skew in [0, 1, 3] {
                let p = GlobalPtr::<$t>::new(to, at + 64 + skew);
                cx.rank.write(p, $v);
                assert_eq!(cx.rank.read(p), $v);
            }
        )*};
    }
    check!(
        u8 = 7,
        i8 = -7,
        u16 = 60_000,
        i16 = -3,
        u32 = u32::MAX,
        i32 = i32::MIN,
        u64 = u64::MAX - 1,
        i64 = -5
    );
    check!(
        f32 = 1.5,
        f64 = -0.25,
        u128 = u128::MAX / 3,
        [u32; 5] = [1, 2, 3, 4, 5],
        [u8; 3] = [9, 8, 7],
        () = ()
    );
    let p = GlobalPtr::<u32>::new(to, at);
    cx.rank.write_slice(p, &[1, 2, 3, 4]);
    assert_eq!(cx.rank.read(p.add(2)), 3);
    assert_eq!(cx.rank.read(p.cast::<[u16; 2]>().add(1)), [2, 0]);
    assert_eq!((p.on(cx.rank.id()).rank(), p.add(3).offset()), (cx.rank.id(), at + 12));
}

/// The first and last bytes of segments, and nothing at their ends.
fn ends(cx: &Cx) {
    cx.rank.barrier();
    let to = cx.right(1);
    let size = cx.rank.table().get(to).expect("a rank of the job").size as u64;
    for way in WAYS {
        put(cx, way, to, size - 5, b"tail!");
        same(&get(cx, way, to, size - 5, 5, 1), b"tail!", "end of segment");
        put(cx, way, to, size, b"");
        same(&get(cx, way, to, size, 0, 0), b"", "nothing at the end");
    }
}

/// Transfers of megabytes, at odd addresses.
pub fn huge(cx: &Cx) {
    let len = if cx.quick { (1 << 20) + 12_345 } else { (4 << 20) + 12_345 };
    let at = cx.take(2 * len as u64 + 64) + 3;
    let data = cx.rng("huge").bytes(len);
    let to = cx.right(1);
    for way in [Way::Blocking, Way::Region, Way::Pending] {
        put(cx, way, to, at, &data);
        same(&get(cx, way, to, at, len, 5), &data, "huge");
        memset(cx, way, to, at, 0, len);
    }
    // From and to one's own segment, overlapping: as memmove.
    cx.rank.barrier();
    let n = 100_000;
    put(cx, Way::Blocking, cx.rank.id(), at, &data[..n]);
    let own = cx.rank.table().get(cx.rank.id()).expect("itself").local;
    let here = own.wrapping_add(at as usize);
    // SAFETY: inside the own segment, used by nobody else.
    unsafe { cx.rank.put(cx.rank.id(), at + 1000, here, n) };
    same(&get(cx, Way::Blocking, cx.rank.id(), at + 1000, n, 0), &data[..n], "overlap");
    cx.rank.barrier();
    // Between segments: the local side of a put may be one's own segment.
    // SAFETY: as above.
    unsafe { cx.rank.put(to, at + len as u64, here.wrapping_add(1000), n) };
    cx.rank.barrier();
    let left = cx.right(cx.size() - 1).0;
    let theirs = cx.rng_of("huge", left).bytes(n);
    same(&get(cx, Way::Event, cx.rank.id(), at + len as u64, n, 0), &theirs, "segment to segment");
}

/// Advice on the own segment changes nothing but bytes that are about to be overwritten, whatever peers do
/// meanwhile.
pub fn advice(cx: &Cx) {
    let (len, third) = if cx.quick { (96 << 10, 32 << 10) } else { (1536 << 10, 512 << 10) };
    let at = cx.take(len as u64 + 16) + 5;
    let me = cx.rank.id();
    let part = |n: usize| GlobalPtr::<u8>::new(me, at + (n * third) as u64);
    let mut data = cx.rng("advice").bytes(len);
    put(cx, Way::Blocking, me, at, &data);
    cx.rank.barrier();
    let (left, right) = (cx.right(cx.size() - 1), cx.right(1));
    let theirs = cx.rng_of("advice", right.0).bytes(len);
    for advice in [Advice::Leaving, Advice::Coming, Advice::Leaving] {
        cx.rank.segments().advise(part(0), len, advice);
        same(&get(cx, Way::Event, right, at, len, 0), &theirs, "what a peer has advised on");
        cx.rank.segments().advise(part(2), 100, advice);
        cx.rank.segments().advise(part(1), 0, advice);
    }
    cx.rank.barrier();
    // The second third is overwritten; a peer writes to the last one meanwhile.
    cx.rank.segments().advise(part(1), third, Advice::Overwrite);
    let news = cx.rng_of("advice", me.0 + 1000).bytes(third);
    put(cx, Way::Blocking, me, at + third as u64, &news);
    put(cx, Way::Event, right, at + 2 * third as u64, &vec![7; third]);
    cx.rank.segments().advise(part(0), len, Advice::Leaving);
    cx.rank.barrier();
    data[third..2 * third].copy_from_slice(&news);
    data[2 * third..].fill(7);
    same(&get(cx, Way::Blocking, me, at, len, 0), &data, "what was overwritten");
    let of_left = cx.rng_of("advice", left.0).bytes(len);
    same(&get(cx, Way::Blocking, left, at, third, 0), &of_left[..third], "what was not");
    cx.rank.barrier();
}

/// More than 2^16 events outstanding at once, completed in another order.
pub fn many_events(cx: &Cx) {
    let n = if cx.quick { 5_000usize } else { 70_000 };
    let base = cx.take_zeroed(8 * n as u64 * 2);
    // Ranks outnumber processors: more than three busy ranks would only repeat the same.
    if cx.me() < 3 {
        let at = base + 8 * n as u64 * u64::from(cx.me() & 1);
        let to = cx.right(if cx.size() > 3 { 3 } else { 1 });
        let values: Vec<u64> = (0..n as u64).map(|i| crate::support::mix(i ^ cx.seed)).collect();
        let mut rng = cx.rng("events");
        let mut events: Vec<Event> = Vec::with_capacity(n);
        for (i, v) in values.iter().enumerate() {
            // SAFETY: the source lives; each word has one writer (ranks 0 and 2 would share, but target
            // different ranks).
            events.push(unsafe { cx.rank.put_nb(to, at + 8 * i as u64, std::ptr::from_ref(v).cast(), 8) });
        }
        finish(cx, &mut rng, events);
        let mut back = vec![0u64; n];
        let p: *mut u64 = back.as_mut_ptr();
        // SAFETY: the buffer is not used before all events are done.
        let events = (0..n)
            .map(|i| unsafe { cx.rank.get_nb(p.wrapping_add(i).cast(), to, at + 8 * i as u64, 8) })
            .collect();
        finish(cx, &mut rng, events);
        assert!(back == values, "some of {n} events were done too early");
    }
}

fn finish(cx: &Cx, rng: &mut Rng, mut events: Vec<Event>) {
    while !events.is_empty() {
        let i = rng.below(events.len());
        cx.rank.wait(events.swap_remove(i));
    }
}

/// Access regions: what belongs to one, several outstanding at once, empty ones, implicit operations outside.
pub fn regions(cx: &Cx) {
    let to = cx.right(1);
    let base = cx.take_zeroed(1 << 20);
    let data = cx.rng("regions").bytes(1 << 16);
    let r = cx.rank;
    let mut back = vec![vec![0u8; 1 << 12]; 16];
    // SAFETY: sources and destinations live and are left alone until the region's event is done.
    unsafe {
        r.implicit().put(to, base + (1 << 17), data.as_ptr(), 1000);
        let mut open = Vec::new();
        for k in 0..16usize {
            r.implicit().begin_access_region();
            r.implicit().put(to, base + (k as u64) * 4096, data.as_ptr().add(k * 4096), 4096);
            r.implicit().memset(to, base + (1 << 18) + k as u64, k as u8, 1);
            open.push(r.implicit().end_access_region());
        }
        r.implicit().begin_access_region();
        let empty = r.implicit().end_access_region();
        r.wait(empty);
        while let Some(e) = open.pop() {
            r.wait(e);
        }
        let mut open = Vec::new();
        for (k, b) in back.iter_mut().enumerate() {
            r.implicit().begin_access_region();
            r.implicit().get(b.as_mut_ptr(), to, base + (k as u64) * 4096, 4096);
            open.push(r.implicit().end_access_region());
        }
        while !open.is_empty() {
            open.retain(|e| !r.test(*e));
        }
        r.implicit().wait(Categories::ALL);
    }
    for (k, b) in back.iter().enumerate() {
        same(b, &data[k * 4096..(k + 1) * 4096], "region");
        let mark: u8 = r.read(GlobalPtr::new(to, base + (1 << 18) + k as u64));
        assert_eq!(mark, k as u8);
    }
    same(&get(cx, Way::Blocking, to, base + (1 << 17), 1000, 0), &data[..1000], "outside the region");
    // Nothing outstanding: all of these return at once.
    r.implicit().wait(Categories::PUTS);
    r.implicit().wait(Categories::GETS);
    assert!(r.implicit().test(Categories::ALL));
    r.wait(Event::DONE);
    assert!(r.test(Event::DONE));
}
