//! Atomics and synchronisation: Tables 30 and 31 of the thesis.

use super::*;

/// Published times of Table 30: application, NIC.
const ATOMICS: [(&str, HomeOp, f64, f64); 10] = [
    ("test_and_set", HomeOp::TestAndSet, 10.50, 4.20),
    ("incr", HomeOp::Incr, 10.55, 4.31),
    ("decr", HomeOp::Decr, 10.55, 4.31),
    ("swap", HomeOp::Swap, 10.52, 4.19),
    ("cswap", HomeOp::CompareSwap, 10.50, 4.30),
    ("enqueue", HomeOp::Enqueue, 10.52, 4.30),
    ("dequeue", HomeOp::Dequeue, 10.74, 4.30),
    ("newhead", HomeOp::NewHead, 10.52, 4.28),
    ("semp", HomeOp::SemP, 10.52, 4.37),
    ("semv", HomeOp::SemV, 10.80, 4.54),
];

pub(super) fn atomic_rows(s: &Setup, progress: &mut Progress) -> Result<Vec<Row>, String> {
    progress.step("Table 30: atomics");
    let mut rows = Vec::new();
    for (name, op, app, nic) in ATOMICS {
        let (took, worked) = at_home(s, s.times.min(50), |netvm, _| {
            netvm.atomic(1, 4096, op, [1, 1, 0, 0]);
        })?;
        let (a, n) = (
            Row::new(format!("table30_{name}"), "us", 2, took),
            Row::new(format!("table30_{name}_nic"), "us", 2, worked),
        );
        if op == HomeOp::TestAndSet {
            rows.extend([
                a.explained(format!("calibration: {app}")),
                n.explained(format!("calibration: {nic}")),
            ]);
        } else {
            rows.extend([a.paper(app), n.paper(nic)]);
        }
    }
    let (_, worked) = at_home(s, s.times.min(50), |netvm, _| {
        netvm.read(1, INBOX, SOURCE, 4);
        netvm.flush_reads();
    })?;
    rows.push(doubtful(Row::new("table30_read_nic", "us", 2, worked).paper(2.72), READ_SERVED));
    Ok(rows)
}

/// Operands that stay on the NIC in [`operand_rows`].
const OPERANDS: u32 = 64;

/// Operands that stay on the NIC, as the thesis suggests for later work. Words are incremented in turn; the
/// rows are the time of a call, the NIC's time for it, and the calls that fit in a second. With one word
/// more than the NIC has room for, no operand is found on the NIC.
pub(super) fn operand_rows(s: &Setup, progress: &mut Progress) -> Result<Vec<Row>, String> {
    progress.step("operands on the NIC");
    let mut rows = Vec::new();
    for (operands, words) in [(0, 1), (OPERANDS, 1), (OPERANDS, OPERANDS), (OPERANDS, OPERANDS + 1)] {
        let words = u64::from(words);
        let incr = |rounds: u64| {
            let s = Setup { operands, ..*s };
            at_home(&s, rounds * words, |netvm, i| {
                netvm.atomic(1, 4096 + i % words * 8, HomeOp::Incr, [0; 4]);
            })
        };
        // The first round finds none of them.
        let ([once, once_nic], [twice, twice_nic]) = (incr(1)?.into(), incr(2)?.into());
        let (took, worked) = (2.0 * twice - once, 2.0 * twice_nic - once_nic);
        let name = |what: &str| format!("operands_{operands}_words_{words}{what}");
        rows.extend([
            Row::new(name(""), "us", 2, took),
            Row::new(name("_nic"), "us", 2, worked),
            Row::new(name("_group"), "k/s", 2, 1000.0 / worked),
        ]);
    }
    Ok(rows)
}

/// One call of a synchronization object that is at home on rank 1, in microseconds.
fn sync_call(
    s: &Setup,
    prepare: impl Fn(&Netvm, Cell, u64),
    call: impl Fn(&Netvm, Cell, u64),
) -> Result<f64, String> {
    let times = s.times.min(20);
    s.run(false, |rank, netvm| {
        if rank.id().0 != 0 {
            netvm.spin(SOURCE, 1);
            return 0.0;
        }
        let mut took = Time::ZERO;
        for i in 0..times {
            // A fresh object each time.
            let cell = Cell { home: 1, object: 8192 + i * 64, cell: 1024, notification: 8 };
            prepare(netvm, cell, i);
            gasnet_sim::compute(Time::us(60.0));
            let begin = clock();
            call(netvm, cell, i);
            took += clock().since(begin);
            gasnet_sim::compute(Time::us(60.0));
        }
        netvm.store(64, 1);
        netvm.write(1, SOURCE, 64, 4, 0);
        took.as_us() / times as f64
    })
}

pub(super) fn sync_rows(s: &Setup, progress: &mut Progress) -> Result<Vec<Row>, String> {
    progress.step("Table 31: locks, queues, semaphores");
    let me = 1;
    let other = 2;
    let nothing = |_: &Netvm, _: Cell, _: u64| {};
    let enqueue = move |n: &Netvm, c: Cell, _: u64| {
        n.atomic(c.home, c.object, HomeOp::Enqueue, [other, 0, 0, 0]);
    };
    let mut rows = Vec::new();
    let mut add = |name: &str, here: f64, paper: f64| {
        rows.push(doubtful(Row::new(format!("table31_{name}"), "us", 2, here).paper(paper), LIBRARY));
    };
    let acquire = |n: &Netvm, c: Cell, _: u64| {
        sync::run(sync::Acquire::new(me), &mut c.on(n));
    };
    let release = |n: &Netvm, c: Cell, _: u64| {
        sync::run(sync::Release::new(me), &mut c.on(n));
    };
    add("acquire", sync_call(s, nothing, acquire)?, 10.53);
    add("release", sync_call(s, acquire, release)?, 10.55);
    let held = move |n: &Netvm, c: Cell, i: u64| {
        acquire(n, c, i);
        // Somebody has queued up behind.
        n.atomic(c.home, c.object, HomeOp::Swap, [other, 0, 0, 0]);
        n.store(c.cell, other);
    };
    add("release_hand_over", sync_call(s, held, release)?, 0.67);
    let insert = |n: &Netvm, c: Cell, _: u64| {
        sync::run(sync::Insert::new(me), &mut c.on(n));
    };
    add("insert_first", sync_call(s, nothing, insert)?, 11.87);
    add("insert_append", sync_call(s, enqueue, insert)?, 12.47);
    let remove = |n: &Netvm, c: Cell, _: u64| {
        sync::run(sync::Remove::new(), &mut c.on(n));
    };
    add("remove", sync_call(s, enqueue, remove)?, 11.64);
    let give = |n: &Netvm, c: Cell, _: u64| {
        n.atomic(c.home, c.object, HomeOp::SemV, [0; 4]);
    };
    let sem_wait = |n: &Netvm, c: Cell, _: u64| {
        sync::run(sync::SemWait::new(me), &mut c.on(n));
    };
    let sem_signal = |n: &Netvm, c: Cell, _: u64| {
        sync::run(sync::SemSignal::new(), &mut c.on(n));
    };
    let waits = move |n: &Netvm, c: Cell, _: u64| {
        n.atomic(c.home, c.object, HomeOp::SemP, [other, 0, 0, 0]);
    };
    add("semaphore_wait", sync_call(s, give, sem_wait)?, 10.55);
    add("semaphore_signal", sync_call(s, nothing, sem_signal)?, 10.55);
    add("semaphore_signal_wakes", sync_call(s, waits, sem_signal)?, 11.88);
    Ok(rows)
}
