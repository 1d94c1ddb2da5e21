//! Every interleaving of NIC and port, as far as loom goes.

use loom::sync::Arc;
use loom::thread;

use super::*;

/// Runs a NIC that raises number 1 `signals` times, posting as a driver would.
fn nic(counts: &Arc<Notifications>, signals: u32) -> thread::JoinHandle<u32> {
    let counts = counts.clone();
    thread::spawn(move || {
        let mut interrupts = 0;
        for _ in 0..signals {
            let raised = counts.raise(1);
            if let Some(count) = raised.mirror {
                counts.mirror(1, count);
            }
            if raised.notice {
                assert!(counts.push(1), "one entry for a count at a time");
                interrupts += 1;
            }
        }
        interrupts
    })
}

/// A port that arms while signals come: each is handled exactly once, by the arming or by the dispatcher.
#[test]
fn loom_arm_loses_no_signal() {
    loom::model(|| {
        let counts = Arc::new(Notifications::new(2, 4));
        let t = nic(&counts, 2);
        let mut calls = 0;
        let mut pending = counts.arm(1);
        while pending > 0 {
            calls += 1;
            pending = counts.acknowledge(1);
        }
        t.join().unwrap();
        calls += counts.dispatch(|_| {});
        assert_eq!(calls, 2);
        assert_eq!(counts.pending(1), 0);
    });
}

/// A dispatcher at work while signals come: none is left without an entry, none is handled twice.
#[test]
fn loom_dispatch_loses_no_signal() {
    loom::model(|| {
        let counts = Arc::new(Notifications::new(2, 4));
        counts.arm(1);
        let t = nic(&counts, 2);
        let mut calls = counts.dispatch(|_| {});
        let interrupts = t.join().unwrap();
        // An interrupt that came after the dispatcher runs it again.
        calls += counts.dispatch(|_| {});
        assert_eq!(calls, 2);
        assert!((1..=2).contains(&interrupts));
    });
}

/// A port that asks for the mirror and then spins on it, or sees at once that the signal was there.
#[test]
fn loom_mirror_loses_no_signal() {
    loom::model(|| {
        let counts = Arc::new(Notifications::new(2, 2));
        let t = nic(&counts, 1);
        counts.want_mirror(1, true);
        let there = counts.pending(1) > 0;
        t.join().unwrap();
        assert!(there || counts.mirrored(1) == 1);
    });
}
