//! Tripwires, event queues, ordered connections: one section for each item of CLAN's acceptance list that
//! fits here.

use gasnet::RankId;
use gasnet_clan::{
    Access, Endpoints, EventQueue, MAX_MESSAGE_BYTES, PolledQueues, RING_MESSAGES, Trips, Tripwire, Watch,
};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::Cx;

fn rounds(cx: &Cx) -> u64 {
    if cx.quick { 30 } else { 300 }
}

fn left(cx: &Cx) -> RankId {
    cx.right(cx.size() - 1)
}

/// A8: what one rank writes to another is seen in the order of writing: words, blocks before their flag, and
/// words after blocks.
pub fn a08_writes_of_a_pair_are_seen_in_order(cx: &Cx) {
    const BLOCK: usize = 9000;
    let slot = |r: u32| u64::from(r) * 32768;
    let watch = Watch::new(cx.rank, slot(cx.size()), 0).expect("room");
    let mut ends = Endpoints::new(cx.rank).expect("room");
    let n = rounds(cx).min(100);
    if cx.me() > 0 {
        let mut end = ends.open(RankId(0)).expect("once");
        let at = slot(cx.me());
        for i in 1..=n {
            end.put(&watch, at, &[i]).expect("open");
            end.put(&watch, at + 4096, &[i]).expect("open");
            end.put_signal(&watch, at + 8192, &[i as u8; BLOCK], at + 8, i).expect("open");
            end.put(&watch, at + 4104, &[i]).expect("open");
        }
    } else {
        assert!(ends.open(RankId(cx.size())).is_err());
        let peers: Vec<u32> = (1..cx.size()).collect();
        let word = |at: u64| watch.word(at).expect("inside");
        let mut block = [0u8; BLOCK];
        let mut last = vec![0; peers.len()];
        cx.rank.wait_until("all writes", || {
            for (last, &r) in last.iter_mut().zip(&peers) {
                let at = slot(r);
                // Later words first: what came before them is there.
                let after = word(at + 4104);
                let flag = word(at + 8);
                cx.rank.read_slice(watch.memory(RankId(0)).add(at as usize + 8192), &mut block);
                let second = word(at + 4096);
                let first = word(at);
                assert!(
                    after <= flag && flag <= second && second <= first,
                    "{r}: {after} {flag} {second} {first}"
                );
                assert!(block.iter().all(|b| u64::from(*b) >= flag), "{r}: a block before its flag");
                assert!(flag >= *last, "never back");
                *last = flag;
            }
            last.iter().all(|l| *l == n)
        });
    }
    cx.rank.barrier();
}

/// A13: a tripwire looks at addresses, whatever is written; not at those beside it; reads, writes or both;
/// ranges and strides; of many in a page only the one touched.
pub fn a13_tripwires_are_on_addresses(cx: &Cx) {
    let mut watch = Watch::new(cx.rank, 8192, 40).expect("room");
    let mut wire = |range, access| watch.tripwire(range, access).expect("room");
    let (mut word, beside) =
        (wire(40..48, Access::Write), [wire(32..40, Access::Any), wire(48..56, Access::Any)]);
    let (reads, both) = (wire(40..48, Access::Read), wire(40..48, Access::Any));
    let far = wire(4000..8192, Access::Write);
    let mut all: Vec<Tripwire<'_>> = (0..30).map(|i| wire(512 + 8 * i..520 + 8 * i, Access::Write)).collect();
    let mut strided = watch.strided(1024..2048, 64, 8, Access::Write).expect("room");
    assert!(
        watch.tripwire(8190..8193, Access::Write).is_err()
            && watch.strided(0..64, 8, 9, Access::Read).is_err()
    );
    for wire in beside.iter().chain([&word, &reads, &both, &far, &strided]).chain(&all) {
        assert!(!wire.is_armed());
    }
    let mut rest = beside.into_iter().chain([reads, both, far]).collect::<Vec<_>>();
    rest.iter_mut().chain([&mut word, &mut strided]).chain(&mut all).for_each(|w| w.arm(Trips::Always));
    cx.rank.barrier();
    let peer = left(cx);
    // The same value as before: what counts is that it was written.
    watch.put(peer, 40, &[0u64]).expect("inside");
    watch.put(peer, 47, &[0u8]).expect("inside");
    let mut value = [1u64];
    watch.get(peer, 40, &mut value).expect("inside");
    watch.put(peer, 512 + 8 * 17, &[9u64]).expect("inside");
    (0..16).for_each(|i| watch.put(peer, 1024 + 64 * i + 8, &[1u64; 7]).expect("inside"));
    watch.put(peer, 1024 + 64 * 5 + 4, &[1u8; 2]).expect("inside");
    watch.put(peer, 3996, &[1u32; 2]).expect("inside");
    cx.rank.barrier();
    assert_eq!(value, [0]);
    let counts: Vec<u64> = rest.iter().map(|w| w.pending()).collect();
    assert_eq!((word.pending(), counts), (2, vec![0, 0, 1, 3, 1]));
    assert_eq!(strided.pending(), 1);
    assert!(all.iter().enumerate().all(|(i, w)| w.pending() == u64::from(i == 17)));
    cx.rank.barrier();
}

/// A14: look, arm, look again: no touch is lost, whenever it comes. (The protocol itself is explored in all
/// orders by `loom_a14_look_arm_look_again_loses_no_touch`.)
pub fn a14_look_arm_look_again_loses_no_wake_up(cx: &Cx) {
    let mut watch = Watch::new(cx.rank, 64, 1).expect("room");
    let mut wire = watch.tripwire(0..8, Access::Write).expect("room");
    let mut own = cx.rng("a14");
    for i in 1..=rounds(cx) {
        (0..own.below(30)).for_each(|_| std::hint::spin_loop());
        if own.below(8) == 0 {
            std::thread::yield_now();
        }
        watch.put(left(cx), 0, &[i]).expect("inside");
        wire.wait_for(|| watch.word(0).expect("inside") >= i);
    }
    assert!(!wire.is_armed());
    cx.rank.barrier();
}

/// A15: armed once, a tripwire goes off once, however often it is touched, until it is armed again.
pub fn a15_once_is_once(cx: &Cx) {
    let mut watch = Watch::new(cx.rank, 64, 2).expect("room");
    let mut once = watch.tripwire(0..64, Access::Write).expect("room");
    let mut always = watch.tripwire(0..64, Access::Write).expect("room");
    always.arm(Trips::Always);
    for round in 1..=4u64 {
        once.arm(Trips::Once);
        cx.rank.barrier();
        // Everybody writes to everybody: one of all trips it.
        for rank in cx.rank.ranks() {
            (0..5).for_each(|_| watch.put(rank, 8, &[round]).expect("inside"));
        }
        cx.rank.barrier();
        assert_eq!((once.pending(), once.is_armed()), (1, false));
        assert!(once.test() && !once.test());
        assert_eq!(always.pending(), round * 5 * u64::from(cx.size()));
        cx.rank.barrier();
    }
}

/// A16: a tripwire in the middle of a message wakes its receiver before the message is published; the rest is
/// still to be waited for.
pub fn a16_early_wake_up(cx: &Cx) {
    const BYTES: usize = 3 * 4096;
    const FLAG: u64 = BYTES as u64;
    let mut watch = Watch::new(cx.rank, FLAG + 64, 2).expect("room");
    let mut middle = watch.tripwire(4096 + 100..4096 + 101, Access::Write).expect("room");
    let mut flag = watch.tripwire(FLAG..FLAG + 8, Access::Write).expect("room");
    middle.arm(Trips::Once);
    flag.arm(Trips::Once);
    cx.rank.barrier();
    let (to, from) = (left(cx), cx.right(1));
    watch.put(to, 0, &[7u8; 2 * 4096]).expect("inside");
    // The receiver is awake already; it says so before we go on.
    middle.wait();
    assert_eq!((watch.word(FLAG).expect("inside"), flag.pending()), (0, 0), "not published");
    watch.put(from, FLAG + 8, &[1u64]).expect("inside");
    cx.rank.wait_until("an early wake-up", || watch.word(FLAG + 8).expect("inside") == 1);
    watch.put_signal(to, 2 * 4096, &[7u8; 4096], FLAG, 1).expect("inside");
    flag.wait();
    let mut message = vec![0u8; BYTES];
    cx.rank.read_slice(watch.memory(cx.rank.id()), &mut message);
    assert!(message.iter().all(|b| *b == 7));
    cx.rank.barrier();
}

/// A17: at most one entry of each source, first in first out, no overflow with ten thousand sources; what
/// happens after an entry was taken makes a new one.
pub fn a17_event_queues_cannot_overflow(cx: &Cx) {
    let sources = if cx.quick { 1000 } else { 10_000 };
    let mut queue = EventQueue::new(cx.rank, sources).expect("room");
    let handles: Vec<_> = (0..sources).map(|i| queue.attach(i.into()).expect("a source")).collect();
    assert!(queue.attach(0).is_err(), "places are reserved");
    // In order, and a second raise makes no second entry.
    (0..2).for_each(|_| handles.iter().for_each(|h| h.deliver(cx.rank)));
    for i in 0..u64::from(sources) {
        assert_eq!(queue.get().and_then(|e| e.cookie), Some(i));
    }
    assert!(queue.is_empty() && queue.get().is_none());
    // Two threads raise at random while this one takes; each source's state is a number that goes up.
    let versions: Vec<AtomicU32> = (0..sources).map(|_| AtomicU32::new(0)).collect();
    let over = AtomicU32::new(0);
    let mut seen = vec![0; sources as usize];
    let (mut entries, mut raised) = (0u64, 0u64);
    std::thread::scope(|s| {
        for thread in 0..2u32 {
            let (versions, handles, over, mut rng) = (&versions, &handles, &over, cx.rng_of("a17", thread));
            let rank = cx.rank;
            s.spawn(move || {
                for _ in 0..20_000 {
                    let i = rng.below(handles.len());
                    versions[i].fetch_add(1, Ordering::AcqRel);
                    handles[i].deliver(rank);
                }
                over.fetch_add(1, Ordering::AcqRel);
            });
        }
        loop {
            let done = over.load(Ordering::Acquire) == 2;
            let Some(event) = queue.get() else {
                if done {
                    break;
                }
                std::thread::yield_now();
                continue;
            };
            entries += 1;
            seen[event.source as usize] = versions[event.source as usize].load(Ordering::Acquire);
        }
    });
    for (version, seen) in versions.iter().zip(&seen) {
        let version = version.load(Ordering::Acquire);
        raised += u64::from(version);
        assert_eq!(version, *seen, "the last change of every source was announced");
    }
    assert!(raised == 40_000 && entries <= raised);
    // From afar: wires that everybody trips, all in one queue.
    let mut watch = Watch::new(cx.rank, 1024, 16).expect("room");
    let mut far = EventQueue::new(cx.rank, 16).expect("room");
    let mut wires: Vec<_> = (0..16)
        .map(|i| {
            let mut wire = watch.tripwire(64 * i..64 * i + 8, Access::Write).expect("room");
            wire.attach(&far.attach(i).expect("a source"));
            wire.arm(Trips::Always);
            wire
        })
        .collect();
    cx.rank.barrier();
    let mut rng = cx.rng("a17 from afar");
    for i in 0..rounds(cx) {
        let to = RankId(rng.below(cx.size() as usize) as u32);
        watch.put(to, 64 * rng.below(16) as u64, &[i]).expect("inside");
    }
    cx.rank.barrier();
    let mut of = [0; 16];
    while let Some(event) = far.get() {
        of[event.cookie.expect("a source that is there") as usize] += 1;
    }
    for (wire, entries) in wires.iter_mut().zip(of) {
        assert_eq!(entries, u64::from(wire.pending() > 0), "one entry for however many touches");
    }
    cx.rank.barrier();
}

/// A18: what it takes to get an event does not depend on how many sources are idle; looking at them all does.
pub fn a18_idle_sources_cost_nothing(cx: &Cx) {
    for idle in [1, 10, 100, 1000] {
        let mut queue = EventQueue::new(cx.rank, idle + 1).expect("room");
        let handles: Vec<_> = (0..=idle).map(|i| queue.attach(i.into()).expect("a source")).collect();
        let active = &handles[idle as usize / 2];
        for _ in 0..100 {
            active.deliver(cx.rank);
            assert_eq!(queue.get().map(|e| e.source), Some(active.number()));
        }
        assert_eq!(queue.looked(), 100, "one place for each event, among {idle} idle sources");
    }
    cx.rank.barrier();
}

/// Which of two descriptors can be read within a time.
#[expect(unsafe_code, reason = "poll")]
fn readable(fds: [i32; 2], wait: Duration) -> [bool; 2] {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: two entries.
    unsafe { libc::poll(polled.as_mut_ptr(), 2, wait.as_millis() as i32) };
    polled.map(|p| p.revents & libc::POLLIN != 0)
}

/// A19: a queue is a descriptor that is readable if there is an entry, to be waited for with others; an entry
/// of a source that was given back since shows.
pub fn a19_a_queue_is_a_descriptor(cx: &Cx) {
    let mut queue = EventQueue::new(cx.rank, 2).expect("room");
    let first = queue.attach(5).expect("a source");
    let fd = queue.descriptor().expect("a descriptor").as_raw_fd();
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    let both = [fd, reader.as_raw_fd()];
    let soon = Duration::from_secs(20);
    assert_eq!(readable(both, Duration::ZERO), [false, false]);
    first.deliver(cx.rank);
    assert!(readable(both, soon)[0], "an entry");
    writer.write_all(b"x").expect("room");
    assert!(readable(both, soon)[1], "the pipe, too");
    reader.read_exact(&mut [0]).expect("a byte");
    assert_eq!(queue.get().and_then(|e| e.cookie), Some(5));
    assert_eq!(readable(both, Duration::ZERO), [false, false], "taken");
    // An entry of the last owner of a number.
    first.deliver(cx.rank);
    let (number, generation) = (first.number(), first.generation());
    queue.detach(first);
    let second = queue.attach(6).expect("a source");
    assert_eq!((second.number(), second.generation()), (number, generation + 1));
    // It makes no entry, as there is one of that number.
    second.deliver(cx.rank);
    let stale = queue.get().expect("an entry");
    assert_eq!((stale.source, stale.cookie), (number, None));
    assert!(readable(both, soon)[0], "the event is not lost");
    assert_eq!(queue.get().and_then(|e| e.cookie), Some(6));
    assert!(queue.is_empty());
    cx.rank.barrier();
}

/// A21: messages that find the ring full are dropped and the rest is intact; a close wakes all that sleep,
/// and whoever would block afterwards gets an error at once.
pub fn a21_a_close_is_sticky(cx: &Cx) {
    let mut ends = Endpoints::new(cx.rank).expect("room");
    let mut watch = Watch::new(cx.rank, 64, 1).expect("room");
    let mut wire = watch.tripwire(0..8, Access::Write).expect("room");
    wire.arm(Trips::Once);
    let queue = EventQueue::new(cx.rank, 1).expect("room");
    if cx.size() == 1 {
        return;
    }
    match cx.me() {
        0 => {
            let mut end = ends.open(RankId(1)).expect("once");
            assert!(ends.open(RankId(1)).is_err());
            assert!(end.message(&[0; MAX_MESSAGE_BYTES + 1]).is_err());
            let sent: Vec<bool> =
                (0..RING_MESSAGES + 3).map(|i| end.message(&[i as u8; 9]).expect("open")).collect();
            assert!(
                sent.iter().enumerate().all(|(i, sent)| *sent == ((i as u64) < RING_MESSAGES)),
                "{sent:?}"
            );
            cx.rank.barrier();
            end.last_words(b"not said").expect("short");
            end.close(b"good bye").expect("open");
        }
        1 => {
            let mut end = ends.open(RankId(0)).expect("once");
            cx.rank.barrier();
            for i in 0..RING_MESSAGES {
                assert_eq!(end.wait_message().expect("in the ring"), [i as u8; 9]);
            }
            // Two threads asleep on different things, and this one.
            let woken = AtomicU32::new(0);
            std::thread::scope(|s| {
                let (end, woken, queue) = (&end, &woken, &queue);
                s.spawn(|| {
                    assert!(end.wait_event(queue).is_err());
                    woken.fetch_add(1, Ordering::AcqRel);
                });
                s.spawn(|| {
                    assert!(end.wait_until("nothing", || false).is_err());
                    woken.fetch_add(1, Ordering::AcqRel);
                });
                assert!(end.wait(&mut wire).is_err());
            });
            assert_eq!(woken.into_inner(), 2);
            for _ in 0..3 {
                assert!(end.wait_event(&queue).is_err() && end.wait_message().is_err(), "and ever after");
                assert!(end.put(&watch, 0, &[1u64]).is_err() && end.message(b"").is_err());
            }
            assert_eq!(end.closing_message().as_deref(), Some(&b"good bye"[..]), "exactly one");
            assert!(end.close(b"").is_err());
        }
        _ => cx.rank.barrier(),
    }
    cx.rank.barrier();
}

/// A22, the orderly half: a close delivers its own message, not the last words, and a connection without a
/// close stays open. (The other half, a process that is killed, is `failures::last_words_of_a_killed_rank`.)
pub fn a22_orderly_ends_say_it_once(cx: &Cx) {
    let mut ends = Endpoints::new(cx.rank).expect("room");
    if cx.size() == 1 {
        return;
    }
    let mut end = (cx.me() < 2).then(|| ends.open(RankId(1 - cx.me())).expect("once"));
    if let Some(end) = &mut end {
        end.last_words(b"I died").expect("short");
        assert_eq!((end.is_closed(), end.closing_message()), (false, None));
    }
    cx.rank.barrier();
    match end {
        Some(end) if cx.me() == 0 => end.close(b"").expect("open"),
        Some(end) => {
            assert!(end.wait_until("the other end", || false).is_err());
            assert_eq!(end.closing_message().as_deref(), Some(&b""[..]));
            // Both ends close: the second finds it closed.
            assert!(end.close(b"late").is_err());
        }
        None => {}
    }
    cx.rank.barrier();
}

/// CLAN-13: ends are opened again and again, by whoever is first. Each connection has a number, and finds
/// nothing of the one before: neither messages that were not taken, nor the end.
pub fn clan_13_reopened_ends_refuse_what_is_old(cx: &Cx) {
    let mut ends = Endpoints::new(cx.rank).expect("room");
    let partner = RankId(cx.me() ^ 1);
    if partner.0 < cx.size() {
        let mut shared = cx.rng_of("a23", cx.me() & !1);
        for i in 1..=rounds(cx) as u32 {
            let mut end = None;
            cx.rank.wait_until("the other end to be opened", || {
                // Refused while the partner has yet to open the last one.
                end = ends.open(partner).ok();
                end.is_some()
            });
            let mut end = end.expect("open");
            assert_eq!(end.number(), i);
            assert!(ends.open(partner).expect_err("once").to_string().contains("is open"));
            let (me, closes) = (cx.me() & 1, shared.below(3) as u32);
            let sent = 1 + shared.below(RING_MESSAGES as usize);
            // If both just drop it, all of them: so the partner has sent them.
            let taken = if closes == 2 { sent } else { shared.below(4) };
            let message = |kind: u8| [&[kind][..], &i.to_le_bytes()].concat();
            end.last_words(b"not said").expect("short");
            // Until the other end is open it has no room.
            let mut told = false;
            cx.rank.wait_until("room for a message", || {
                told = told || end.message(&message(0)).expect("open");
                told
            });
            (1..sent).for_each(|_| assert!(end.message(&message(1)).expect("open"), "the ring is empty"));
            assert_eq!(end.wait_message().expect("open"), message(0));
            for _ in 0..taken.min(sent - 1) {
                assert_eq!(end.wait_message().expect("open"), message(1));
            }
            // Both have taken: now one of them closes, and goes on to the next.
            if closes < 2 {
                // The one that closes waits until the other has all it wants.
                let mut done = closes != me;
                cx.rank.wait_until("an answer", || {
                    done = match closes == me {
                        true => done || end.receive().is_some_and(|m| m == message(2)),
                        false => end.message(&message(2)).expect("open"),
                    };
                    done
                });
            }
            if closes == me {
                end.close(&message(3)).expect("open");
            } else if closes < 2 {
                assert!(end.wait_until("the end", || false).is_err());
                assert_eq!(end.closing_message(), Some(message(3)));
                assert!(end.message(b"").is_err());
            } else {
                // Both drop it: who is second finds it closed.
                drop(end);
            }
        }
    }
    cx.rank.barrier();
}

/// CLAN-11: raised by tripwires of other ranks, events come to the queue of their source, each source once at
/// a time; whoever looks distributes for all, more at a time the more there are; a sleeper is woken.
pub fn clan_11_whoever_has_nothing_to_do_distributes(cx: &Cx) {
    /// A rank has one.
    static QUEUES: std::sync::OnceLock<PolledQueues<'static>> = std::sync::OnceLock::new();
    const SOURCES: u32 = 8;
    let queues = QUEUES.get_or_init(|| PolledQueues::new(cx.rank, SOURCES).expect("the first"));
    assert!(PolledQueues::new(cx.rank, 1).is_err());
    let [even, odd] = [queues.queue(), queues.queue()];
    let mut watch = Watch::new(cx.rank, 64, SOURCES).expect("room");
    let mut wires = Vec::new();
    let sources: Vec<_> = (0..SOURCES)
        .map(|i| {
            let queue = if i % 2 == 0 { &even } else { &odd };
            let source = queue.attach(u64::from(i) + 100).expect("a place");
            let at = 8 * u64::from(i);
            let mut wire = watch.tripwire(at..at + 8, Access::Write).expect("room");
            wire.attach(&source);
            wire.arm(Trips::Always);
            wires.push(wire);
            source
        })
        .collect();
    assert!(even.attach(0).is_err());
    cx.rank.barrier();
    // Each of the left neighbour's words twice or more, before it looks.
    for round in 0..2 {
        for i in 0..SOURCES {
            watch.put(left(cx), 8 * u64::from(i), &[round]).expect("inside");
        }
    }
    cx.rank.barrier();
    for queue in [&even, &odd] {
        let first = u32::from(!std::ptr::eq(queue, &even));
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < SOURCES as usize / 2 {
            let event = queue.wait();
            let number = event.cookie.expect("attached") - 100;
            assert_eq!(number as u32 % 2, first, "of this queue");
            seen.insert(number);
        }
    }
    cx.rank.barrier();
    // Notes that are still in flight are for sources that are closed here; they must be dropped.
    wires.iter_mut().for_each(|wire| wire.detach());
    sources.into_iter().for_each(|source| even.detach(source));
    for queue in [&even, &odd] {
        while queue.get().is_some() {}
    }
    let mut sources: Vec<_> = (0..SOURCES)
        .map(|i| if i % 2 == 0 { &even } else { &odd }.attach(u64::from(i) + 100).expect("a place"))
        .collect();
    // One at a time, and all at once: as many events, fewer distributions.
    let count = |all_at_once: bool| {
        let before = queues.distributions();
        let mut left = 0;
        for _ in 0..10 {
            for source in sources.iter().step_by(2) {
                source.deliver(cx.rank);
                left += 1;
                while !all_at_once && left > 0 {
                    left -= u32::from(even.get().is_some());
                }
            }
            while left > 0 {
                left -= u32::from(even.get().is_some());
            }
        }
        let after = queues.distributions();
        (after.0 - before.0, after.1 - before.1)
    };
    let (one_by_one, together) = (count(false), count(true));
    assert_eq!((one_by_one.1, together.1), (40, 40));
    assert_eq!(one_by_one.0, 40);
    assert!(together.0 < 40, "{together:?}");
    // A sleeper on one queue, while the other one is polled.
    std::thread::scope(|threads| {
        let sleeper = threads.spawn(|| odd.wait().cookie);
        std::thread::sleep(Duration::from_millis(2));
        sources[1].deliver(cx.rank);
        while !sleeper.is_finished() {
            assert_eq!(even.get(), None);
        }
        assert_eq!(sleeper.join().expect("no panic"), Some(101));
    });
    // Given back with an event: it comes without a cookie, and then the number is free.
    let given = sources.remove(0);
    let (number, generation) = (given.number(), given.generation());
    given.deliver(cx.rank);
    while cx.rank.poll() > 0 {}
    even.detach(given);
    if let Some(event) = even.get() {
        assert_eq!((event.source, event.cookie), (number, None));
    }
    let again = even.attach(7).expect("a place");
    assert_eq!((again.number(), again.generation()), (number, generation + 1));
    sources.into_iter().for_each(|source| even.detach(source));
    even.detach(again);
    cx.rank.barrier();
}
