//! Credits of the program's own, over VIs that have no flow control: a credit for each buffer of the peer.

use super::*;

const BUFFERS: u32 = 4;

struct End {
    credits: u32,
    owed: u32,
    sent: u32,
    received: u32,
}

/// Sends messages both ways, as fast as credits allow. `keep_last`: the last credit is kept for a message
/// that carries credits. Returns how many have come; fewer than all if nothing moves any more.
fn talk(messages: u32, keep_last: bool, seed: u64) -> [u32; 2] {
    let mut net = Net::new();
    let vis = [0, 1].map(|r| net.vi(r, Reliability::Delivery));
    let memory = [0, 1].map(|r| net.memory(r, vec![0; 8], false).0);
    for r in 0..2 {
        (0..BUFFERS).for_each(|_| net.receive(r, vis[r], message(memory[r], 0, 4)));
    }
    net.connect(vis);
    let mut ends = [(); 2].map(|()| End { credits: BUFFERS, owed: 0, sent: 0, received: 0 });
    let mut rng = fastrand::Rng::with_seed(seed);
    // Rounds without anything: a side that draws no number waits, and goes on in a later one.
    let mut idle = 0;
    loop {
        let mut moved = false;
        for r in 0..2 {
            // Without a seed, both send what they can before anything arrives.
            while seed == 0 || rng.bool() {
                let End { credits, owed, sent, .. } = &mut ends[r];
                let text = *sent < messages;
                let may = *credits > 1 || *credits == 1 && (!keep_last || *owed > 0);
                if !may || !text && *owed < BUFFERS / 2 {
                    break;
                }
                let work = message(memory[r], 4, if text { 4 } else { 0 });
                net.send(r, vis[r], work.with_immediate(std::mem::take(owed)));
                (*credits, *sent) = (*credits - 1, *sent + u32::from(text));
                moved = true;
            }
        }
        net.collect();
        moved |= !net.flying.is_empty();
        while !net.flying.is_empty() {
            net.deliver(rng.usize(..net.flying.len()));
        }
        for r in 0..2 {
            for (_, errors, len, credits) in net.taken(r, vis[r], true) {
                assert_eq!(errors, Errors::NONE, "seed {seed}");
                ends[r].received += u32::from(len > 0);
                ends[r].credits += credits.expect("credits");
                ends[r].owed += 1;
                net.receive(r, vis[r], message(memory[r], 0, 4));
                moved = true;
            }
            assert!(net.taken(r, vis[r], false).iter().all(|send| send.1.is_none()), "seed {seed}");
        }
        let over = ends.iter().all(|end| end.received == messages);
        idle = if moved { 0 } else { idle + 1 };
        if over || idle == 100 {
            return ends.map(|end| end.received);
        }
    }
}

/// VIA-12: with the last credit kept for credits nothing overruns and all comes; without it both sides may
/// spend all, and neither can return any.
#[test]
fn via_12_the_last_credit_is_kept() {
    for seed in 0..20 {
        assert_eq!(talk(2000, true, seed), [2000; 2], "seed {seed}");
    }
    assert_eq!(talk(100, false, 0), [BUFFERS; 2], "both have spent all");
}
