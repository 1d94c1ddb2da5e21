//! `gasnet::sync` and `gasnet_clan`: locks, queues, semaphores, monitors; channels, notifications.

use gasnet::sync::{Cells, McsLock, Monitor, NicAtomics, PlacedLock, PlacedSemaphore, Semaphore, WaitQueue};
use gasnet::{GlobalPtr, RankId};
use gasnet_clan::{Channel, FIRST_ONE_SHOT, Notification};

use crate::support::Cx;

fn rounds(cx: &Cx) -> u64 {
    if cx.quick { 20 } else { 200 }
}

/// Words at rank 0 that everybody uses, zero.
fn words(cx: &Cx, n: usize) -> GlobalPtr<u64> {
    let at = cx.rank.allocate(8 * n as u64, 64).expect("room");
    cx.rank.write_slice(GlobalPtr::new(cx.rank.id(), at), &vec![0u64; n]);
    cx.rank.barrier();
    GlobalPtr::new(RankId(0), at)
}

/// Adds without atomicity: right only if nobody else does at the same time.
fn add(cx: &Cx, at: GlobalPtr<u64>, n: u64) -> u64 {
    let value = cx.rank.read(at).wrapping_add(n);
    cx.rank.write(at, value);
    value
}

/// Every object by its contract.
pub fn objects(cx: &Cx) {
    atomics(cx);
    lock(cx);
    semaphore(cx);
    queue(cx);
    monitor(cx);
    channel(cx);
    notifications(cx);
}

/// Locks and semaphores whose words the caller has placed, where there are NICs for them: several at a time
/// in each rank's hands.
pub fn placed(cx: &Cx) {
    let at = words(cx, 64);
    let cells_at = cx.rank.allocate(16 * 8, 64).expect("room");
    cx.rank.write_slice(GlobalPtr::new(cx.rank.id(), cells_at), &[0u64; 16]);
    cx.rank.barrier();
    let cells = Cells::new(cells_at, 16, 3);
    let Some(first) = PlacedLock::new(cx.rank, at, cells) else { return };
    placed_locks(cx, at, cells, first);
    placed_semaphore(cx, PlacedSemaphore::new(cx.rank, at.add(40), cells).expect("NICs"));
    let [bell, answer] = [48, 56].map(|i| PlacedSemaphore::new(cx.rank, at.add(i), cells).expect("NICs"));
    placed_bells(cx, bell, answer);
}

fn placed_locks(cx: &Cx, at: GlobalPtr<u64>, cells: Cells, first: PlacedLock<'_>) {
    const LOCKS: usize = 3;
    let lock =
        |i: usize| if i == 0 { first } else { PlacedLock::new(cx.rank, at.add(8 * i), cells).expect("NICs") };
    for round in 0..rounds(cx) {
        // All of them, in one order, with a cell for each.
        for i in 0..LOCKS {
            let cell = (i + round as usize) as u32 % 8;
            if let Some(before) = lock(i).join(cell) {
                lock(i).follow(cell, before, "a placed lock");
            }
            add(cx, at.add(32 + i), 1);
        }
        for i in 0..LOCKS {
            lock(i).release((i + round as usize) as u32 % 8);
        }
    }
    cx.rank.barrier();
    let total = rounds(cx) * u64::from(cx.size());
    for i in 0..LOCKS {
        assert_eq!(cx.rank.read(at.add(32 + i)), total);
    }
    assert!(cx.me() != 0 || first.try_acquire(5));
    cx.rank.barrier();
    assert!(cx.me() == 0 || !first.try_acquire(5));
    cx.rank.barrier();
    if cx.me() == 0 {
        first.release(5);
    }
    cx.rank.barrier();
}

/// One rank releases a semaphore in portions and the others acquire it in portions. All of it is used, and
/// no rank starves.
fn placed_semaphore(cx: &Cx, sem: PlacedSemaphore<'_>) {
    let takers = u64::from(cx.size()) - 1;
    let each = 6 * rounds(cx);
    if cx.me() == 0 {
        let mut left = takers * each;
        while left > 0 {
            let n = left.min(1 + left % 5) as u32;
            sem.give(n).expect("few");
            left -= u64::from(n);
        }
    } else {
        let mut left = each;
        while left > 0 {
            match (u64::from(cx.me()) + left) % 3 {
                0 if left >= 3 => cx.rank.wait_until("three", || sem.try_take(3)),
                _ => {
                    sem.wait((left % 8) as u32, "one");
                    left += 2;
                }
            }
            left -= 3;
        }
    }
    cx.rank.barrier();
    assert_eq!(sem.value(), 0);
    assert!(!sem.try_take(1));
    cx.rank.barrier();
    if cx.me() == 0 {
        sem.give(65535).expect("the largest value");
        assert!(sem.give(1).is_err() && sem.give(2).is_err());
        assert!(sem.try_take(65535) && sem.value() == 0);
    }
    cx.rank.barrier();
}

/// Of two values: what is set again before it was taken counts once.
fn placed_bells(cx: &Cx, bell: PlacedSemaphore<'_>, answer: PlacedSemaphore<'_>) {
    if cx.me() == 0 {
        (0..5).for_each(|_| bell.set());
        assert_eq!(bell.value(), 1);
        assert!(bell.try_take(1) && !bell.try_take(1));
    }
    cx.rank.barrier();
    if cx.size() > 1 {
        for _ in 0..rounds(cx) {
            match cx.me() {
                0 => {
                    bell.set();
                    answer.wait(0, "an answer");
                }
                1 => {
                    bell.wait(1, "a bell");
                    answer.set();
                }
                _ => break,
            }
        }
    }
    cx.rank.barrier();
    assert_eq!((bell.value(), answer.value()), (0, 0));
    cx.rank.barrier();
}

fn atomics(cx: &Cx) {
    let word = words(cx, 4).cast::<u32>();
    let atomics = NicAtomics::new(cx.rank);
    let mut last = None;
    for _ in 0..rounds(cx) {
        let old = atomics.incr(word);
        assert!(last.is_none_or(|last| old > last), "a counter goes up");
        last = Some(old);
    }
    cx.rank.barrier();
    assert_eq!(u64::from(cx.rank.read(word)), rounds(cx) * u64::from(cx.size()));
    if atomics.test_and_set(word.add(1)) {
        cx.rank.atomics().fetch_add(word.add(2).cast(), 1);
    }
    cx.rank.barrier();
    assert_eq!(cx.rank.read(word.add(2)), 1, "one of all sets it");
    assert!(!atomics.test_and_set(word.add(1)));
    (0..rounds(cx)).for_each(|_| {
        atomics.decr(word);
    });
    cx.rank.barrier();
    assert_eq!(cx.rank.read(word), 0);
    cx.rank.barrier();
    if cx.me() == 0 {
        assert_eq!(
            (atomics.swap(word, 7), atomics.compare_swap(word, 6, 8), atomics.compare_swap(word, 7, 8)),
            (0, 7, 7)
        );
        assert_eq!(cx.rank.read(word), 8);
    }
    cx.rank.barrier();
}

fn lock(cx: &Cx) {
    let home = RankId(cx.size() - 1);
    let mut lock = McsLock::new(cx.rank, home).expect("room");
    let counter = words(cx, 1);
    for _ in 0..rounds(cx) {
        lock.acquire();
        add(cx, counter, 1);
        lock.release();
    }
    cx.rank.barrier();
    assert_eq!(cx.rank.read(counter), rounds(cx) * u64::from(cx.size()));
    cx.rank.barrier();
    if cx.me() == 0 {
        assert!(lock.try_acquire());
    }
    cx.rank.barrier();
    if cx.me() != 0 {
        assert!(!lock.try_acquire(), "it is taken");
    }
    cx.rank.barrier();
    if cx.me() == 0 {
        lock.release();
        assert!(lock.try_acquire(), "and free again");
        lock.release();
    }
    cx.rank.barrier();
}

fn semaphore(cx: &Cx) {
    for value in [1, 2] {
        let mut room = Semaphore::new(cx.rank, RankId(0), value).expect("room");
        let inside = words(cx, 1);
        for _ in 0..rounds(cx) {
            room.wait();
            assert!(cx.rank.atomics().fetch_add(inside, 1) < u64::from(value), "no more than {value} inside");
            cx.rank.atomics().fetch_add(inside, u64::MAX);
            room.signal().expect("a small value");
        }
        cx.rank.barrier();
        assert_eq!(room.value(), value);
        cx.rank.barrier();
        // As many as there are, and no more, without waiting.
        let got = words(cx, 1);
        let mine = (0..value + 1).filter(|_| room.try_wait()).count() as u64;
        cx.rank.atomics().fetch_add(got, mine);
        cx.rank.barrier();
        assert_eq!(cx.rank.read(got), u64::from(value));
        cx.rank.barrier();
    }
    let mut full = Semaphore::new(cx.rank, RankId(0), 65535).expect("the largest value");
    assert!(full.signal().is_err());
    assert!(Semaphore::new(cx.rank, RankId(0), 65536).is_err());
    cx.rank.barrier();
}

fn queue(cx: &Cx) {
    let mut queue = WaitQueue::new(cx.rank, RankId(0)).expect("room");
    let state = words(cx, 2);
    let (joined, woken) = (state, state.add(1));
    let others = u64::from(cx.size()) - 1;
    for round in 1..=rounds(cx) / 10 {
        if cx.me() == 0 {
            cx.rank.wait_until("all to join", || cx.rank.read(joined) == round * others);
            let half = others / 2;
            assert!((0..half).all(|_| queue.signal()));
            assert_eq!(u64::from(queue.broadcast()), others - half);
            assert!(!queue.signal(), "nobody is left, so the signal is lost");
            cx.rank.wait_until("all to wake", || cx.rank.read(woken) == round * others);
        } else {
            queue.insert();
            cx.rank.atomics().fetch_add(joined, 1);
            queue.wait();
            cx.rank.atomics().fetch_add(woken, 1);
        }
        cx.rank.barrier();
    }
}

fn monitor(cx: &Cx) {
    buffer(cx, 3, rounds(cx) / 4);
}

/// A buffer of `size` numbers in a monitor. Half of the ranks put numbers in and the others take them out;
/// `numbers` for each pair of ranks.
fn buffer(cx: &Cx, size: u64, numbers: u64) {
    let mut monitor = Monitor::new(cx.rank, RankId(0)).expect("room");
    let mut room = WaitQueue::new(cx.rank, RankId(0)).expect("room");
    let state = words(cx, 2);
    let (fill, sum) = (state, state.add(1));
    let (putters, takers) = (cx.size().div_ceil(2), cx.size() / 2);
    if takers > 0 {
        // Both sides handle the same total.
        let each = numbers * u64::from(if cx.me().is_multiple_of(2) { takers } else { putters });
        for _ in 0..each {
            monitor.enter();
            if cx.me().is_multiple_of(2) {
                while cx.rank.read(fill) == size {
                    monitor.wait_for(&mut room);
                }
                add(cx, fill, 1);
                add(cx, sum, 1);
                monitor.signal();
            } else {
                while cx.rank.read(fill) == 0 {
                    monitor.wait();
                }
                add(cx, fill, u64::MAX);
                room.signal();
            }
            monitor.leave();
        }
    }
    cx.rank.barrier();
    assert_eq!(cx.rank.read(fill), 0);
    assert_eq!(cx.rank.read(sum), numbers * u64::from(takers * putters));
    cx.rank.barrier();
}

fn channel(cx: &Cx) {
    if cx.size() == 1 {
        assert!(Channel::<u64>::new(cx.rank, RankId(0), RankId(0), 4, 1).is_err());
        return;
    }
    for (slots, len) in [(2, 1), (5, 100), (16, 3)] {
        let (from, to) = (RankId(cx.size() - 1), RankId(0));
        let message = |n: u64| (0..len as u64).map(|i| n << 32 | i).collect::<Vec<u64>>();
        match Channel::<u64>::new(cx.rank, from, to, slots, len).expect("room") {
            Channel::Sender(mut sender) => {
                assert!(sender.send(&vec![0; len + 1]).is_err());
                (0..rounds(cx)).for_each(|n| sender.send(&message(n)).expect("of the right length"));
            }
            Channel::Receiver(mut receiver) => {
                let mut values = vec![0; len];
                for n in 0..rounds(cx) {
                    if n % 2 == 0 {
                        let at = receiver.receive();
                        // In place: nothing comes over it while it is read.
                        for _ in 0..3 {
                            cx.rank.poll();
                            cx.rank.read_slice(at, &mut values);
                            assert_eq!(values, message(n));
                        }
                    } else {
                        receiver.receive_into(&mut values).expect("of the right length");
                        assert_eq!(values, message(n));
                    }
                }
                assert!(!receiver.is_ready());
            }
            Channel::Other => {}
        }
        cx.rank.barrier();
    }
}

fn notifications(cx: &Cx) {
    let n = rounds(cx);
    let mut notes = Notification::new(cx.rank, 8, 64).expect("room");
    let (right, left) = (cx.right(1), (cx.me() + cx.size() - 1) % cx.size());
    let data = cx.rank.allocate(8 * n, 64).expect("room");
    let at = |rank: RankId| GlobalPtr::<u64>::new(rank, data);
    cx.rank.write_slice(at(cx.rank.id()), &vec![0u64; n as usize]);
    cx.rank.barrier();
    // Data before its notification, in whatever order the two ranks go.
    let mut seen = 0;
    for i in 0..n {
        let value = u64::from(cx.me()) << 32 | i;
        notes.put(at(right).add(i as usize), &[value], 3).expect("a count");
        if i % 3 == 0 {
            continue;
        }
        // Behind by a third, then by none.
        check(cx, &mut notes, at(cx.rank.id()), &mut seen, left);
    }
    while seen < n {
        check(cx, &mut notes, at(cx.rank.id()), &mut seen, left);
    }
    cx.rank.barrier();
    assert!(!notes.take(3));
    // Handlers: once for each, those before the arming included.
    let calls = std::sync::atomic::AtomicU64::new(0);
    {
        let mut armed = Notification::new(cx.rank, 2, 0).expect("room");
        armed.notify(right, 1).expect("a count");
        cx.rank.barrier();
        armed.arm(1, |number| {
            assert_eq!(number, 1);
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        (1..n).for_each(|_| armed.notify(right, 1).expect("a count"));
        let mut total = 0;
        cx.rank.wait_until("handlers", || {
            total += armed.dispatch();
            total == n
        });
        cx.rank.barrier();
        assert_eq!(armed.dispatch(), 0);
        armed.disarm(1);
        assert!(armed.notify(right, 2).is_err() && armed.notify(right, FIRST_ONE_SHOT).is_err());
    }
    assert_eq!(calls.into_inner(), n);
    // One-shot: in the order of sending, for each sender.
    let ids = |rank: u32| (0..20).map(move |i| FIRST_ONE_SHOT + rank * 1000 + i);
    ids(cx.me()).for_each(|id| notes.notify(right, id).expect("a number"));
    let mut got = Vec::new();
    cx.rank.wait_until("one-shot notifications", || {
        got.extend(notes.next_one_shot());
        got.len() == 20
    });
    assert!(got.into_iter().eq(ids(left)));
    assert_eq!(notes.next_one_shot(), None);
    cx.rank.barrier();
    // More than there is room for: the last ones are kept.
    (0..100).for_each(|i| notes.notify(right, FIRST_ONE_SHOT + i).expect("a number"));
    cx.rank.barrier();
    let kept: Vec<u32> = std::iter::from_fn(|| notes.next_one_shot()).collect();
    assert!(kept.into_iter().eq((36..100).map(|i| FIRST_ONE_SHOT + i)));
    cx.rank.barrier();
}

/// Waits for a notification of the left neighbour, and finds the data before it.
fn check(cx: &Cx, notes: &mut Notification<'_>, at: GlobalPtr<u64>, seen: &mut u64, left: u32) {
    notes.wait(3);
    assert_eq!(cx.rank.read(at.add(*seen as usize)), u64::from(left) << 32 | *seen);
    *seen += 1;
}

/// A hunt for lost wake-ups: all ranks take turns in every way that waits, with random pauses.
pub fn hunt(cx: &Cx) {
    let mut random = fastrand::Rng::with_seed(cx.seed ^ u64::from(cx.me()) << 17);
    let mut below = |n: u64| random.u64(..n);
    let home = RankId(cx.size() / 2);
    let mut lock = McsLock::new(cx.rank, home).expect("room");
    let mut two = Semaphore::new(cx.rank, home, 2).expect("room");
    let mut given = Semaphore::new(cx.rank, home, 0).expect("room");
    let counter = words(cx, 1);
    // All wait for the same: what they do together takes as long with many ranks as with few.
    for _ in 0..(20 * rounds(cx)).div_ceil(u64::from(cx.size())) {
        (0..below(4)).for_each(|_| {
            cx.rank.poll();
        });
        if below(2) == 0 || !two.try_wait() {
            two.wait();
        }
        if below(2) == 0 {
            lock.acquire();
            add(cx, counter, 1);
            lock.release();
        }
        two.signal().expect("a small value");
        // Whoever gives, takes: in any order, nobody is left waiting.
        given.signal().expect("a small value");
        if below(2) == 0 || !given.try_wait() {
            given.wait();
        }
    }
    cx.rank.barrier();
    assert_eq!((two.value(), given.value()), (2, 0));
    cx.rank.barrier();
    // Where nobody else takes, what is there is found.
    if cx.me() == 0 {
        for _ in 0..10 * rounds(cx) {
            assert!(two.try_wait() && two.try_wait() && !two.try_wait());
            (0..2).for_each(|_| two.signal().expect("a small value"));
        }
    }
    cx.rank.barrier();
    // With room for one number hardly anybody gets by without being woken.
    buffer(cx, 1, 4 * rounds(cx));
}
