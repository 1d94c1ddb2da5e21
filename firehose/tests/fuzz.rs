//! Messages that no sane peer sends: whatever comes, no strategy panics, takes for ever, or leaves its bound.
//!
//! `PROPTEST_CASES` says how many programs; `cargo xtask soak` runs many.

use firehose::{
    Action, Change, Config, Direction, Granted, Held, Keys, LocalMemory, Message, OpId, Outcome, PinError,
    Purpose, Request, Run, StrategyKind,
};
use proptest::prelude::*;

const PAGE: u64 = 4096;

fn bucket() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..24u64, 1 => 0..(1u64 << 43)]
}

fn run() -> impl Strategy<Value = Run> {
    let count = prop_oneof![8 => 1..6u64, 1 => 1..(1u64 << 42)];
    (bucket(), count).prop_map(|(first, count)| Run { first, count })
}

fn held() -> impl Strategy<Value = Vec<Held>> {
    prop::collection::vec((run(), 0..4u64).prop_map(|(run, key)| Held { run, key }), 0..4)
}

fn keys() -> impl Strategy<Value = Keys> {
    let each = prop::collection::vec(0..4u64, 0..6).prop_map(|keys| Keys::Each(keys.into()));
    prop_oneof![(0..4u64).prop_map(Keys::Uniform), each]
}

fn granted() -> impl Strategy<Value = Granted> {
    let failed = prop::collection::vec((bucket(), Just(PinError::Unmapped)), 0..2);
    (keys(), failed).prop_map(|(keys, failed)| Granted { keys, failed })
}

fn message() -> impl Strategy<Value = Message> {
    let id = || 0..6u64;
    let purpose = prop_oneof![Just(Purpose::Once), Just(Purpose::Keep)];
    let direction = prop_oneof![Just(Direction::Put), Just(Direction::Get)];
    let acquire = prop::collection::vec(run(), 0..4);
    prop_oneof![
        4 => (id(), held(), acquire).prop_map(|(id, release, acquire)| Message::Move { id, release, acquire }),
        2 => (id(), granted()).prop_map(|(id, granted)| Message::Moved { id, granted }),
        1 => held().prop_map(|held| Message::Invalidate { held }),
        2 => (id(), run(), purpose).prop_map(|(id, run, purpose)| Message::Ask { id, run, purpose }),
        2 => (id(), granted()).prop_map(|(id, granted)| Message::Answer { id, granted }),
        1 => (run(), keys()).prop_map(|(run, keys)| Message::Finish { run, keys }),
        1 => (id(), any::<u64>(), any::<u64>()).prop_map(|(id, addr, len)| Message::Store { id, addr, len }),
        1 => (id(), any::<u64>(), any::<u64>()).prop_map(|(id, addr, len)| Message::Load { id, addr, len }),
        1 => (id(), direction).prop_map(|(id, direction)| Message::Bounced { id, direction }),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Message(u32, Message),
    /// A put or get of the node's own.
    Start(u32, u64, u64, bool),
    /// The oldest pin or unpin ends; well, or not.
    Pinned(bool),
    /// The oldest transfer ends.
    Transferred,
    Changed(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..5u32, message()).prop_map(|(from, message)| Step::Message(from, message)),
        2 => (1..3u32, 0..24 * PAGE, 1..5 * PAGE, any::<bool>()).prop_map(|(p, a, l, put)| Step::Start(p, a, l, put)),
        6 => prop::bool::weighted(0.9).prop_map(Step::Pinned),
        2 => Just(Step::Transferred),
        1 => (0..24 * PAGE, 1..4 * PAGE).prop_map(|(addr, len)| Step::Changed(addr, len)),
    ]
}

/// Actions that a node was asked for and has not carried out.
#[derive(Default)]
struct Todo {
    pins: Vec<(Run, bool)>,
    transfers: Vec<OpId>,
}

fn program(kind: StrategyKind, steps: &[Step]) -> Result<(), TestCaseError> {
    let config = Config {
        nodes: 3,
        m_bytes: 8 * PAGE,
        victim_bytes: 4 * PAGE,
        segment: Some((0, 24 * PAGE)),
        ..Config::default()
    };
    let mut node = kind.build(config).expect("a good configuration");
    let (mut out, mut todo) = (Vec::new(), Todo::default());
    node.open(&mut out);
    for step in steps {
        match step.clone() {
            Step::Message(from, message) => node.receive(from, message, &mut out),
            Step::Start(peer, remote, len, put) => {
                let direction = if put { Direction::Put } else { Direction::Get };
                let request =
                    Request { tag: 0, peer, direction, remote, local: LocalMemory::At(remote / 2), len };
                let _ = node.start(request, &mut out);
            }
            Step::Pinned(well) if !todo.pins.is_empty() => match todo.pins.remove(0) {
                (run, true) => node.pinned(run, if well { Ok(()) } else { Err(PinError::Limit) }, &mut out),
                (run, false) => node.unpinned(run, &mut out),
            },
            Step::Transferred if !todo.transfers.is_empty() => {
                node.transferred(todo.transfers.remove(0), Outcome::Done, &mut out);
            }
            Step::Changed(addr, len) => node.changed(Change::Removed { addr, len }, &mut out),
            _ => {}
        }
        for action in out.drain(..) {
            match action {
                Action::Pin(run) => todo.pins.push((run, true)),
                Action::Unpin(run) => todo.pins.push((run, false)),
                Action::Transfer(t) => todo.transfers.push(t.op),
                _ => {}
            }
        }
        node.audit();
        let usage = node.usage();
        prop_assert!(usage.bound_bytes.is_none_or(|bound| usage.pinned_bytes <= bound), "{usage:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_messages_are_survived(steps in prop::collection::vec(step(), 0..60)) {
        for kind in StrategyKind::ALL {
            program(kind, &steps)?;
        }
    }
}

/// A peer gives back a bucket that was pinned for it but not granted yet, since others are not pinned; then
/// its mapping changes.
#[test]
fn what_was_not_granted_is_not_given_back() {
    let run = |first, count| Run { first, count };
    let move_of = |release, acquire| Message::Move { id: 0, release, acquire };
    let steps = [
        Step::Changed(0, 1),
        Step::Message(1, move_of(vec![], vec![run(19, 1), run(0, 1), run(2, 2)])),
        Step::Pinned(true),
        Step::Pinned(false),
        Step::Message(1, move_of(vec![Held { run: run(16, 4), key: 2 }], vec![])),
        Step::Changed(67269, 10556),
    ];
    for kind in StrategyKind::ALL {
        program(kind, &steps).unwrap();
    }
}
