//! Items 12 to 16: commands, completion, protection.

use netvm_fw::Key;
use netvm_fw::library::Transfer;
use netvm_fw::nic::NicWork;
use netvm_fw::port::{COMMAND_SLOTS, COUNTER_UPDATE_COMMANDS, Counter, Post};
use netvm_fw::wire::HeadKind;

use crate::rig::{Area, P, Rig, Weather};

fn pair(weather: Weather, pages: u64) -> (Rig, Area, Area) {
    let mut rig = Rig::new(2, 256, weather, 7);
    let (a, b) = (rig.port(0, 1, pages), rig.port(1, 1, pages));
    rig.touch(a, 0, pages * P);
    rig.touch(b, 0, pages * P);
    rig.nodes.iter_mut().for_each(|n| n.work.clear());
    (rig, a, b)
}

#[test]
fn item_12_fragments_stay_in_their_pages() {
    for (from, at, size, fragments) in [
        (0, 0, P, 1),
        (100, 100, P - 100, 1),
        (100, 0, P, 2),
        (100, 200, P, 3),
        (100, 100, P, 2),
        (0, 0, 3 * P, 3),
        (1, 2, 3 * P, 7),
    ] {
        let (mut rig, a, b) = pair(Weather::CALM, 5);
        rig.poke(a, from, &vec![7; size as usize]);
        rig.write(a, from, b, at, size);
        rig.run();
        let writes: Vec<_> = rig.packets.iter().filter(|h| h.kind == HeadKind::Write).collect();
        assert_eq!(writes.len(), fragments, "from {from} to {at}, {size} bytes");
        assert!(writes.iter().all(|h| h.src.in_page() && h.dst.in_page() && h.src.len == h.dst.len));
        assert_eq!(rig.peek(b, at, size as usize), vec![7; size as usize]);
    }
}

#[test]
fn item_13_short_writes_go_with_the_command() {
    for (size, locks, dma) in [(1, 0, 0), (96, 0, 0), (97, 1, 97)] {
        let (mut rig, a, b) = pair(Weather::CALM, 1);
        rig.write(a, 0, b, 0, size);
        rig.run();
        let at_source = rig.nodes[0].work.iter().filter(|w| **w == NicWork::Lock).count();
        assert_eq!((at_source, rig.nodes[0].dma_bytes), (locks, dma), "{size} bytes");
    }
}

#[test]
fn item_14_fences_are_of_the_source_for_writes_and_of_data_for_reads() {
    // The target is cut off and the window full: sources can be used again all the same.
    let (mut rig, a, b) = pair(Weather::ROUGH, 4);
    rig.cut.insert(1);
    for _ in 0..100 {
        rig.write(a, 0, b, 0, 200);
    }
    rig.fence(a, Counter::Commands);
    rig.run();
    assert!(rig.peek(b, 0, 200).iter().all(|&byte| byte == 0));

    // A read's fence means that the data of it and all before is there, in whatever order the replies came.
    let (mut rig, a, b) = pair(Weather::ROUGH, 4);
    rig.poke(b, 0, &[9; 4 * P as usize]);
    for n in 0..40 {
        rig.read(a, n * 100, b, n * 100, 100);
        if n % 8 == 7 {
            rig.fence(a, Counter::Reads);
            assert_eq!(rig.peek(a, 0, 100 * (n as usize + 1)), vec![9; 100 * (n as usize + 1)]);
        }
    }
}

#[test]
fn item_15_the_queue_is_bounded_and_its_counter_renewed_at_halves() {
    let (mut rig, a, b) = pair(Weather::CALM, 1);
    // Without the NIC, 64 commands fit.
    let mut transfers: Vec<Transfer> = (0..COMMAND_SLOTS + 1).map(|_| rig.write_of(a, 0, b, 0, 8)).collect();
    let library = rig.library(a);
    let fits =
        transfers.iter_mut().map(|t| library.issue(t, |_, _| {}).unwrap()).filter(|&done| done).count();
    assert_eq!(fits, COMMAND_SLOTS as usize);
    assert_eq!(library.room(), 0);
    rig.ring(0);
    rig.run();
    let renewals: Vec<_> =
        rig.nodes[0].posts.iter().filter(|p| matches!(p.1, Post::Count(Counter::Commands, _))).collect();
    let expected = [COUNTER_UPDATE_COMMANDS, 2 * COUNTER_UPDATE_COMMANDS]
        .map(|n| (a.port, Post::Count(Counter::Commands, n)));
    assert_eq!(renewals, expected.iter().collect::<Vec<_>>());
    assert_eq!(rig.library(a).room(), COMMAND_SLOTS);
}

/// Commands with DMA end later than those without, so the count jumps over a multiple of 32; it is renewed
/// all the same.
#[test]
fn item_15_the_counter_is_renewed_when_the_count_jumps() {
    let (mut rig, a, b) = pair(Weather::CALM, 1);
    for n in 0..COMMAND_SLOTS - 1 {
        let long = n % COUNTER_UPDATE_COMMANDS >= COUNTER_UPDATE_COMMANDS - 2;
        rig.write(a, 0, b, 0, if long { 2000 } else { 8 });
    }
    rig.run();
    assert!(rig.library(a).room() >= COUNTER_UPDATE_COMMANDS, "without a wish");
}

#[test]
fn item_16_a_wrong_key_moves_nothing() {
    let (mut rig, a, b) = pair(Weather::ROUGH, 2);
    rig.poke(a, 0, &[7; 200]);
    let bad_there = netvm_fw::host::Segment { key: Key(b.segment.key.0 ^ 1), ..b.segment };
    let bad_here = netvm_fw::host::Segment { key: Key(a.segment.key.0 ^ 1), ..a.segment };
    let (mine, theirs) = (rig.handle(a, a), rig.handle(a, b));
    let (bad_mine, bad_theirs) = {
        let library = rig.library(a);
        (library.add_segment(netvm_fw::Node(0), bad_here), library.add_segment(netvm_fw::Node(1), bad_there))
    };
    let good = (mine, theirs);
    let refused = |rig: &mut Rig| rig.library(a).memory().refused();
    rig.issue(a, Transfer::write((mine, 0), (bad_theirs, 0), 200).acknowledge());
    rig.issue(a, Transfer::write((bad_mine, 0), (theirs, 0), 200).acknowledge());
    rig.issue(a, Transfer::write((mine, 0), (bad_theirs, 0), 50).notify(3).acknowledge());
    rig.issue(a, Transfer::read((mine, 4000), (bad_theirs, 0), 50));
    rig.issue(a, Transfer::read((bad_mine, 4000), (theirs, 0), 50));
    let cookie = rig.library(a).atomic((bad_theirs, 0), gasnet_ops::home::HomeOp::Incr, [0; 4]).unwrap();
    rig.ring(0);
    rig.issue(a, Transfer::write((good.0, 0), (good.1, P), 200).notify(4));
    // No fence hangs.
    for which in [Counter::Commands, Counter::Reads, Counter::Written] {
        rig.fence(a, which);
    }
    rig.run();
    assert_eq!(rig.library(a).reply(cookie), Some(None));
    assert_eq!(refused(&mut rig), 6);
    assert!(rig.peek(b, 0, P as usize).iter().all(|&byte| byte == 0), "nothing written there");
    assert!(rig.peek(a, 4000, 50).iter().all(|&byte| byte == 0), "nothing written here");
    assert_eq!(rig.peek(b, P, 200), [7; 200], "other traffic goes on");
    let events = &rig.nodes[1].ports[&b.port].events;
    assert_eq!((events.pending(3), events.pending(4)), (0, 1));

    // An unexport stops later fragments at once; those before it are whole.
    let (mut rig, a, b) = pair(Weather::ROUGH, 8);
    rig.poke(a, 0, &[7; 8 * P as usize]);
    let transfer = rig.write_of(a, 0, b, 0, 8 * P).acknowledge();
    rig.issue(a, transfer);
    while rig.peek(b, 0, 8 * P as usize).iter().all(|&byte| byte == 0) {
        assert!(rig.step());
    }
    let mut out = Vec::new();
    assert!(rig.nodes[1].host.unexport(&b.segment, &mut out));
    rig.host_actions(1, out);
    while rig.nodes[1].unexported.is_empty() {
        assert!(rig.step());
    }
    let then = rig.peek(b, 0, 8 * P as usize);
    rig.fence(a, Counter::Written);
    rig.run();
    assert!(rig.peek(b, 0, 8 * P as usize) == then, "nothing arrives after the unexport");
    assert!(then.chunks(P as usize).all(|page| page.iter().all(|&b| b == page[0])));
    assert!(rig.library(a).memory().refused() > 0);
}
