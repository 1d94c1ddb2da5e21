//! LAPI's messages over real ranks: VIA-18.

use gasnet::{GlobalPtr, RankId};
use gasnet_via::lapi::{CounterId, Header, HeaderHandlers, Landing, Lapi, Raises};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::support::{Cx, Rng, same};

/// The messages of this process: there are some for each rank.
static LAPI: OnceLock<&'static Lapi> = OnceLock::new();
/// How many messages have been compared with what they should be, and noted.
static COMPARED: AtomicU64 = AtomicU64::new(0);
static NOTED: AtomicU64 = AtomicU64::new(0);

const ORIGIN: CounterId = CounterId(0);
const TARGET: CounterId = CounterId(1);
const COMPLETION: CounterId = CounterId(2);
const OTHER: CounterId = CounterId(3);
const LAST: CounterId = CounterId(4);
/// The header handlers: the bytes are those of a seed; they go to a place of the segment; a counter is as
/// high as the header says; the message is noted.
const COMPARE: u32 = 0;
const STORE: u32 = 1;
const CHECK: u32 = 2;
const NOTE: u32 = 3;

fn word(header: &Header<'_>) -> u64 {
    u64::from_le_bytes(header.bytes.try_into().expect("a word"))
}

fn compare(header: &Header<'_>) -> Landing {
    let (seed, len) = (word(header), header.len);
    // Longer than it has to be.
    Landing::buffer(vec![0xee; len + 3]).then(move |arrived| {
        same(&arrived.buffer[..len], &Rng::new(seed).bytes(len), "a message of LAPI");
        same(&arrived.buffer[len..], &[0xee; 3], "what is behind it");
        assert_eq!(arrived.len, len);
        // Messages come meanwhile, and may not find the counter raised.
        let start = Instant::now();
        while seed % 8 == 0 && start.elapsed() < Duration::from_millis(1) {
            arrived.lapi.rank().poll();
        }
        COMPARED.fetch_add(1, Relaxed);
    })
}

fn lapi(cx: &Cx) -> &'static Lapi {
    LAPI.get_or_init(|| {
        let handlers = HeaderHandlers::default()
            .and(compare)
            .and(|header| Landing::segment(GlobalPtr::new(header.lapi.rank().id(), word(header))))
            .and(|header| {
                let (is, least) = (header.lapi.get(TARGET), word(header));
                assert!(is >= least, "the target's counter is {is}, completed were {least}");
                Landing::nowhere()
            })
            .and(|_| Landing::nowhere().then(|_| _ = NOTED.fetch_add(1, Relaxed)));
        Lapi::start(cx.rank, 5, handlers).expect("the first")
    })
}

const ALL: Raises = Raises { origin: Some(ORIGIN), target: Some(TARGET), completion: Some(COMPLETION) };
const NONE: Raises = Raises { origin: None, target: None, completion: None };

fn len(rng: &mut Rng) -> usize {
    match rng.below(6) {
        0 => 0,
        1 => rng.below(400_000),
        _ => rng.below(3000),
    }
}

/// The origin's counter rises first, then the target's, then that of completion; waiting subtracts. With and
/// without a completion handler.
pub fn via_18_counters_rise_in_order(cx: &Cx) {
    let lapi = lapi(cx);
    let (to, messages) = (cx.right(1), if cx.quick { 20 } else { 60 });
    let at = cx.take(400_000);
    let mut rng = cx.rng("lapi");
    for i in 1..=messages {
        let seed = rng.next();
        let bytes = Rng::new(seed).bytes(len(&mut rng));
        let (handler, header) = if i % 2 == 0 { (COMPARE, seed) } else { (STORE, at) };
        lapi.send(to, handler, &header.to_le_bytes(), &bytes, ALL).expect("arguments as they may be");
        assert_eq!(lapi.get(ORIGIN), i, "the bytes may be changed");
        lapi.wait(COMPLETION, 1);
        let other = Raises { completion: Some(OTHER), ..NONE };
        lapi.send(to, CHECK, &i.to_le_bytes(), &[], other).expect("as above");
        lapi.wait(OTHER, 1);
    }
    // The counter that is checked stays as it is until the sender is through.
    let last = Raises { target: Some(LAST), ..NONE };
    lapi.send(to, CHECK, &messages.to_le_bytes(), &[], last).expect("as above");
    lapi.wait(LAST, 1);
    lapi.wait(ORIGIN, 3);
    assert_eq!(lapi.get(ORIGIN), messages - 3);
    lapi.wait(ORIGIN, messages - 3);
    lapi.wait(TARGET, messages);
    cx.rank.barrier();
    let all = [ORIGIN, TARGET, COMPLETION, OTHER].map(|counter| lapi.get(counter));
    assert_eq!(all, [0; 4], "every message raises each counter once");
}

/// The messages that a rank sends: to whom, to which handler, the seed of the bytes, how many.
fn sent_by(cx: &Cx, rank: u32) -> Vec<(RankId, u32, u64, usize)> {
    let mut rng = cx.rng_of("lapi messages", rank);
    let one = |_| {
        let to = RankId(rng.below(cx.size() as usize) as u32);
        let handler = *rng.pick(&[COMPARE, STORE, NOTE]);
        (to, handler, rng.next(), len(&mut rng))
    };
    (0..if cx.quick { 40 } else { 150 }).map(one).collect()
}

/// Messages of all sizes, of all to all, come once and whole, wherever the header handlers send them.
pub fn via_18_headers_lose_nothing(cx: &Cx) {
    let lapi = lapi(cx);
    let before = [COMPARED.load(Relaxed), NOTED.load(Relaxed)];
    // Messages from each sender are stored at a place of their own, large enough for the longest.
    let room = 400_000 + 4096;
    let at = cx.take(room * u64::from(cx.size()));
    cx.rank.barrier();
    let mut last = vec![None; cx.size() as usize];
    let raises = Raises { target: Some(TARGET), ..NONE };
    for (to, handler, seed, len) in sent_by(cx, cx.me()) {
        let bytes = Rng::new(seed).bytes(len);
        let header = if handler == STORE { at + room * u64::from(cx.me()) } else { seed };
        if handler == STORE {
            // The place is written to again only when the last message is there.
            lapi.fence(to);
            last[to.0 as usize] = Some((seed, len));
        }
        lapi.send(to, handler, &header.to_le_bytes(), &bytes, raises).expect("arguments as they may be");
    }
    let mine = |handler: u32| {
        let all = (0..cx.size()).flat_map(|rank| sent_by(cx, rank));
        all.filter(|(to, h, ..)| to.0 == cx.me() && *h == handler).count() as u64
    };
    let expected = [COMPARE, STORE, NOTE].map(mine);
    lapi.wait(TARGET, expected.iter().sum());
    lapi.fence_all();
    cx.rank.barrier();
    assert_eq!(lapi.get(TARGET), 0);
    let now = [COMPARED.load(Relaxed) - before[0], NOTED.load(Relaxed) - before[1]];
    assert_eq!(now, [expected[0], expected[2]], "completion handlers run once for each message");
    for (to, last) in cx.rank.ranks().zip(last) {
        if let Some((seed, len)) = last {
            let mut there = vec![0; len];
            cx.rank.read_slice(GlobalPtr::new(to, at + room * u64::from(cx.me())), &mut there);
            same(&there, &Rng::new(seed).bytes(len), "what was stored last");
        }
    }
}

/// Of two puts to one place each byte is of one or the other; of two with a fence between, the second stays.
pub fn via_18_what_comes_after_a_fence_stays(cx: &Cx) {
    const ROOM: usize = 200_000;
    let lapi = lapi(cx);
    let at = cx.take((ROOM * cx.size() as usize) as u64);
    let mut rng = cx.rng("lapi fences");
    for round in 0..if cx.quick { 10 } else { 40 } {
        let to = cx.right(rng.below(cx.size() as usize) as u32);
        let place = GlobalPtr::<u8>::new(to, at + ROOM as u64 * u64::from(cx.me()));
        let len = 1 + rng.below(ROOM);
        let fenced = round % 2 == 0;
        lapi.put(place, &vec![1; len], NONE).expect("room");
        if fenced {
            lapi.fence(to);
        }
        lapi.put(place, &vec![2; len], NONE).expect("room");
        lapi.fence(to);
        let mut there = vec![0; len];
        cx.rank.read_slice(place, &mut there);
        let may_be: &[u8] = if fenced { &[2] } else { &[1, 2] };
        let wrong = there.iter().position(|byte| !may_be.contains(byte));
        assert_eq!(wrong, None, "after {len} bytes twice, with a fence between: {fenced}");
    }
}

/// A rank that computes runs no completion handler, unless its interrupts are on.
pub fn via_18_a_rank_that_computes_completes_by_interrupts(cx: &Cx) {
    let lapi = lapi(cx);
    let send = || lapi.send(cx.right(1), NOTE, &[], &[7; 100], ALL).expect("arguments as they may be");
    let computes = |enough: &dyn Fn(Duration) -> bool| {
        let start = Instant::now();
        while !enough(start.elapsed()) {
            std::hint::spin_loop();
        }
    };
    let before = NOTED.load(Relaxed);
    cx.rank.barrier();
    send();
    // It polls, so the message comes, but it does not call LAPI.
    for _ in 0..10 {
        cx.rank.barrier();
    }
    computes(&|since| since > Duration::from_millis(2));
    assert_eq!(NOTED.load(Relaxed), before, "a completion handler has run by itself");
    lapi.wait(TARGET, 1);
    assert_eq!(NOTED.load(Relaxed), before + 1);
    lapi.wait(COMPLETION, 1);
    cx.rank.barrier();

    let on = lapi.interrupts().expect("a thread");
    send();
    computes(&|since| {
        if NOTED.load(Relaxed) == before + 1 {
            std::thread::yield_now();
        }
        NOTED.load(Relaxed) > before + 1 || since > Duration::from_secs(60)
    });
    assert_eq!(NOTED.load(Relaxed), before + 2, "no completion handler ran while the rank computed");
    lapi.wait(COMPLETION, 1);
    lapi.wait(TARGET, 1);
    lapi.wait(ORIGIN, 2);
    drop(on);
}
