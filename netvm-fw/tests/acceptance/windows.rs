//! Sequence windows on a network that reorders, loses and duplicates; what is lost is sent again by whoever
//! carries packets, with the same number. And a naive twin.

use std::collections::BTreeSet;

use netvm_fw::window::{Arrival, HALF_WINDOW_MESSAGES, RecvWindow, SendWindow, WINDOW_MESSAGES};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Luck {
    Deliver(u8),
    Copy(u8),
    Lose(u8),
    /// A message that is waiting for its page is placed now.
    FrameAddress(u8),
    Send,
    Ack(u8),
}

fn luck() -> impl Strategy<Value = Luck> {
    prop_oneof![
        4 => any::<u8>().prop_map(Luck::Deliver),
        1 => any::<u8>().prop_map(Luck::Copy),
        1 => any::<u8>().prop_map(Luck::Lose),
        2 => any::<u8>().prop_map(Luck::FrameAddress),
        4 => Just(Luck::Send),
        2 => any::<u8>().prop_map(Luck::Ack),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn windows_deliver_once_and_in_order(
        start in prop_oneof![Just(0u32), Just(u32::MAX - 40), any::<u32>()],
        events in prop::collection::vec(luck(), 1..1500),
    ) {
        let mut sender = SendWindow::starting_at(start);
        let mut receiver = RecvWindow::starting_at(start);
        let (mut flying, mut bounced, mut acks) = (Vec::new(), Vec::<u32>::new(), Vec::<u32>::new());
        let mut notes: Vec<u32> = Vec::new();
        let mut fresh = BTreeSet::new();
        let mut placed = 0u32;
        let mut sent = 0u32;
        let mut arrive = |seq: u32, bounced: &mut Vec<u32>, receiver: &mut RecvWindow<u32>| {
            match receiver.arrive(seq) {
                Arrival::Fresh => {
                    assert!(fresh.insert(seq.wrapping_sub(start)), "{seq} twice");
                    bounced.push(seq);
                }
                Arrival::Duplicate => assert!(fresh.contains(&seq.wrapping_sub(start)), "{seq} was never here"),
                Arrival::Outside => panic!("{seq} is outside of the window at {}", receiver.floor()),
            }
            assert!(bounced.len() as u32 <= WINDOW_MESSAGES, "the bounce buffer overflows");
        };
        let pick = |n: u8, len: usize| usize::from(n) % len;
        let end = [Luck::Deliver(0), Luck::FrameAddress(0), Luck::Ack(0)].into_iter().cycle().take(20_000);
        for event in events.into_iter().chain(end) {
            match event {
                Luck::Send => if let Some(seq) = sender.take() {
                    prop_assert_eq!(seq, start.wrapping_add(sent));
                    sent += 1;
                    flying.push(seq);
                },
                Luck::Deliver(n) if !flying.is_empty() => {
                    let seq = flying.swap_remove(pick(n, flying.len()));
                    arrive(seq, &mut bounced, &mut receiver);
                }
                Luck::Copy(n) if !flying.is_empty() => {
                    let seq = flying[pick(n, flying.len())];
                    arrive(seq, &mut bounced, &mut receiver);
                }
                // Lost: it goes to the end of the line, as one that is sent again.
                Luck::Lose(n) if !flying.is_empty() => {
                    let seq = flying.remove(pick(n, flying.len()));
                    flying.push(seq);
                }
                Luck::FrameAddress(n) if !bounced.is_empty() => {
                    let seq = bounced.swap_remove(pick(n, bounced.len()));
                    let before = receiver.floor();
                    let ack = receiver.complete(seq, Some(seq), |note| notes.push(note));
                    placed += 1;
                    let halves = |floor: u32| floor / HALF_WINDOW_MESSAGES;
                    prop_assert_eq!(ack.is_some(), halves(before) != halves(receiver.floor()));
                    acks.extend(ack);
                }
                // Acknowledgements may be late, lost or doubled too.
                Luck::Ack(n) if !acks.is_empty() => {
                    let floor = acks[pick(n, acks.len())];
                    if n % 3 == 0 && acks.len() > 1 {
                        acks.retain(|&a| a != floor);
                    }
                    sender.acknowledge(floor);
                }
                _ => {}
            }
            prop_assert!(sender.credits() <= WINDOW_MESSAGES);
            let outstanding = sender.outstanding();
            prop_assert_eq!(WINDOW_MESSAGES - sender.credits(), outstanding.1.wrapping_sub(outstanding.0));
            // Everything before the floor has been placed, and has had its notification.
            prop_assert_eq!(receiver.floor().wrapping_sub(start), notes.len() as u32);
        }
        prop_assert!(notes.iter().zip(0..).all(|(&note, i): (&u32, u32)| note == start.wrapping_add(i)), "in order");
        prop_assert_eq!(placed, sent);
        prop_assert_eq!(notes.len() as u32, sent);
    }
}

#[test]
fn acknowledgements_of_what_was_not_sent_do_nothing() {
    let mut sender = SendWindow::starting_at(u32::MAX - 3);
    for _ in 0..10 {
        sender.take();
    }
    for floor in [11, 1000, u32::MAX / 2, u32::MAX - 4] {
        assert_eq!(sender.acknowledge(floor), 0);
    }
    assert_eq!(sender.acknowledge(2), 6);
    assert_eq!(sender.acknowledge(u32::MAX), 0, "stale");
}
