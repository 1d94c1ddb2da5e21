//! Upcalls: one section for each item of their list. The oracle is what every rank knows of the signals that
//! all ranks send.

use gasnet::GlobalPtr;
use gasnet_clan::{Notification, Upcalls};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::{Cx, Rng};

/// Counts that are raised.
const NUMBERS: usize = 4;

/// A signal of a rank: to whom, and which number.
fn signal(rng: &mut Rng, ranks: u32) -> (u32, u32) {
    (rng.below(ranks as usize) as u32, rng.below(NUMBERS) as u32)
}

/// NET-1: however numbers are armed, disarmed, held and taken meanwhile, each signal makes one call or is
/// taken once. Handlers do not nest; none runs while held.
pub fn net_01_each_signal_makes_one_call(cx: &Cx) {
    let (me, ranks) = (cx.me(), cx.size());
    let rounds = if cx.quick { 200 } else { 2000 };
    let mut notes = Notification::new(cx.rank, NUMBERS as u32, 0).expect("room");
    let upcalls = Upcalls::start(&notes).expect("a thread");
    assert!(Upcalls::start(&notes).is_err(), "one at a time");
    let calls: [Arc<AtomicU64>; NUMBERS] = Default::default();
    let running = Arc::new(AtomicBool::new(false));
    let handler = |number: usize| {
        let (calls, running) = (calls[number].clone(), running.clone());
        move |called: u32| {
            assert_eq!(called as usize, number);
            assert!(!running.swap(true, Ordering::AcqRel), "handlers nest");
            calls.fetch_add(1, Ordering::Relaxed);
            running.store(false, Ordering::Release);
        }
    };
    assert!(upcalls.arm(NUMBERS as u32, |_| ()).is_err() && upcalls.disarm(NUMBERS as u32).is_err());
    let (mut signals, mut random) = (cx.rng_of("upcalls", me), cx.rng("steps"));
    let mut taken = [0; NUMBERS];
    for _ in 0..rounds {
        let (to, number) = signal(&mut signals, ranks);
        notes.notify(gasnet::RankId(to), number).expect("a count");
        let own = random.below(NUMBERS);
        match random.below(8) {
            0 | 1 => upcalls.arm(own as u32, handler(own)).expect("a count"),
            2 => {
                upcalls.disarm(own as u32).expect("a count");
                let before = calls[own].load(Ordering::Relaxed);
                taken[own] += u64::from(notes.take(own as u32));
                assert_eq!(calls[own].load(Ordering::Relaxed), before, "a call of a number that is disarmed");
            }
            3 => {
                let held = upcalls.hold();
                let second = upcalls.hold();
                let count = || calls.iter().map(|c| c.load(Ordering::Relaxed)).sum::<u64>();
                let before = count();
                drop(held);
                (0..random.below(200)).for_each(|_| std::hint::spin_loop());
                assert!(!running.load(Ordering::Acquire), "a handler runs while held");
                assert_eq!(count(), before, "a call while held");
                drop(second);
            }
            // Taken by the program, though it may be armed.
            4 => taken[own] += u64::from(notes.take(own as u32)),
            _ => {}
        }
    }
    cx.rank.barrier();
    (0..NUMBERS).for_each(|n| upcalls.arm(n as u32, handler(n)).expect("a count"));
    let mut sent = [0u64; NUMBERS];
    for rank in cx.rank.ranks() {
        let mut theirs = cx.rng_of("upcalls", rank.0);
        (0..rounds)
            .map(|_| signal(&mut theirs, ranks))
            .filter(|s| s.0 == me)
            .for_each(|s| sent[s.1 as usize] += 1);
    }
    let made = |n: usize| calls[n].load(Ordering::Relaxed) + taken[n];
    cx.rank.wait_until("all upcalls", || (0..NUMBERS).all(|n| made(n) >= sent[n]));
    cx.rank.barrier();
    drop(upcalls);
    (0..NUMBERS).for_each(|n| assert_eq!(made(n), sent[n], "calls of number {n}"));
    cx.rank.barrier();
    // Later notifications stay pending, and go to the upcalls that are started next.
    notes.notify(cx.right(1), 0).expect("a count");
    cx.rank.barrier();
    cx.rank.wait_until("a signal", || notes.pending(0) == 1);
    let again = Upcalls::start(&notes).expect("the last ones are over");
    again.arm(0, handler(0)).expect("a count");
    cx.rank.wait_until("a call", || made(0) == sent[0] + 1);
    drop(again);
    cx.rank.barrier();
}

/// NET-2: signals that come while upcalls are held make no call, and all of them afterwards.
pub fn net_02_none_while_held_and_all_after(cx: &Cx) {
    let signals = if cx.quick { 20 } else { 200 };
    let mut notes = Notification::new(cx.rank, 2, 0).expect("room");
    let upcalls = Upcalls::start(&notes).expect("a thread");
    let calls = Arc::new(AtomicU64::new(0));
    for number in 0..2 {
        let calls = calls.clone();
        upcalls.arm(number, move |_| _ = calls.fetch_add(1, Ordering::Relaxed)).expect("a count");
    }
    let held = upcalls.hold();
    cx.rank.barrier();
    for i in 0..signals {
        notes.notify(cx.right(1), i % 2).expect("a count");
    }
    cx.rank.barrier();
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    drop(held);
    cx.rank.wait_until("calls", || calls.load(Ordering::Relaxed) >= u64::from(signals));
    cx.rank.barrier();
    assert_eq!(calls.load(Ordering::Relaxed), u64::from(signals));
    drop(upcalls);
    cx.rank.barrier();
}

/// NET-3: a handler puts and notifies back, arms, disarms and holds, while the program of its rank calls
/// nothing.
pub fn net_03_a_handler_puts_and_notifies_back(cx: &Cx) {
    const ASK: u32 = 0;
    const ANSWER: u32 = 1;
    let rounds = if cx.quick { 30 } else { 300 };
    let left = cx.right(cx.size() - 1);
    let notes = Notification::new(cx.rank, 2, 0).expect("room");
    let at = cx.rank.allocate(64, 64).expect("room");
    let (rank, word) = (cx.rank, move |of| GlobalPtr::<u64>::new(of, at));
    rank.write(word(rank.id()), 0);
    let notes = Arc::new(std::sync::Mutex::new(notes));
    let upcalls = Arc::new(Upcalls::start(&notes.lock().expect("whole")).expect("a thread"));
    let (theirs, asked) = (notes.clone(), AtomicU64::new(0));
    let own = Arc::downgrade(&upcalls);
    let answer = move |_| {
        let upcalls = own.upgrade().expect("they are there");
        drop(upcalls.hold());
        upcalls.disarm(2).expect_err("no count");
        let n = 1 + asked.fetch_add(1, Ordering::Relaxed);
        theirs.lock().expect("whole").put(word(left), &[n], ANSWER).expect("a count");
    };
    upcalls.arm(ASK, answer).expect("a count");
    let answered = Arc::new(AtomicU64::new(0));
    let seen = answered.clone();
    let check = move |_| {
        let n = seen.load(Ordering::Relaxed) + 1;
        assert_eq!(rank.read(word(rank.id())), n, "the value before its signal");
        seen.store(n, Ordering::Release);
    };
    upcalls.arm(ANSWER, check).expect("a count");
    rank.barrier();
    for i in 1..=rounds {
        notes.lock().expect("whole").notify(cx.right(1), ASK).expect("a count");
        // It computes: nothing here calls the runtime.
        while answered.load(Ordering::Acquire) < i {
            std::thread::yield_now();
        }
    }
    rank.barrier();
    // The handlers have upcalls of their own no more.
    (0..2).for_each(|number| upcalls.disarm(number).expect("a count"));
    drop(upcalls);
    rank.barrier();
}
