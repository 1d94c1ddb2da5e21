use super::*;
use crate::ids::{Hash, Vpn};
use crate::wire::{Head, Span};
use proptest::prelude::*;
use std::collections::HashMap;

const BYTES: u64 = 16 * PAGE as u64;

fn fragments(total: u32) -> impl Iterator<Item = AppendPart> {
    (0..total.div_ceil(PAGE)).map(move |index| AppendPart { queue: 0, index, total })
}

fn sender(n: u32) -> Sender {
    (Node(n), PortId(1))
}

/// Bytes of a fragment.
fn len(of: AppendPart) -> u32 {
    (of.total - of.index * PAGE).min(PAGE)
}

#[test]
fn fragments_stay_in_a_page_and_in_the_queue() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut at = 0;
    for _ in 0..if cfg!(miri) { 50 } else { 10_000 } {
        let total = random.u32(1..=BYTES as u32 / 2);
        let start = start_of(at, total, BYTES);
        assert!(start >= at && start.is_multiple_of(APPEND_ALIGNMENT_BYTES));
        assert!(start % BYTES + room_for(total) <= BYTES, "{total} bytes at {start}");
        for of in fragments(total) {
            let first = (start + u64::from(of.index * PAGE)) % u64::from(PAGE);
            assert!(first + u64::from(len(of)) <= u64::from(PAGE), "{of:?} at {start}");
        }
        assert!(start + room_for(total) - at <= BYTES, "the longest message fits in an empty queue");
        at = start + room_for(total);
    }
}

#[test]
fn heads_with_numbers_that_disagree_are_no_fragments() {
    let head = |index: u64, total, len| {
        let mut head = Head::new(crate::wire::HeadKind::Append, PortId(1), Node(0), Node(1));
        head.dst = Span { vpn: Vpn(index), hash: Hash(total), len, ..Span::NONE };
        AppendPart::of(&head)
    };
    assert_eq!(head(1, PAGE + 5, 5), Some(AppendPart { queue: 0, index: 1, total: PAGE + 5 }));
    for (index, total, len) in [(0, 0, 0), (0, 5, 4), (1, PAGE, 1), (1 << 32, 5, 5), (u64::MAX, u32::MAX, 9)]
    {
        assert_eq!(head(index, total, len), None, "{index} {total} {len}");
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A sender's next fragment takes effect. The number decides the length of a new message.
    Send(u32, u32),
    /// A sender gives its message up and begins another.
    Restart(u32, u32),
    /// The oldest fragment under way is in place; or it failed.
    Done(bool),
    /// The port reads what has come, and frees it.
    Read(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let len = || prop_oneof![3 => 1..200u32, 1 => 1..BYTES as u32 / 2];
    prop_oneof![
        8 => (0..4u32, len()).prop_map(|(who, len)| Step::Send(who, len)),
        1 => (0..4u32, len()).prop_map(|(who, len)| Step::Restart(who, len)),
        8 => prop::num::u8::ANY.prop_map(|n| Step::Done(n > 10)),
        4 => (0..8u8).prop_map(Step::Read),
    ]
}

/// A queue with senders that obey its words, and a reader.
struct Twin {
    queue: AppendQueue<u32>,
    /// For each sender: fragments of its message that it did not send yet, and the number of its message.
    left: HashMap<u32, (VecDeque<AppendPart>, u32)>,
    stopped: HashMap<u32, bool>,
    under_way: VecDeque<(u32, AppendPart)>,
    /// Messages whose loss a sender or the memory caused.
    broken: Vec<(u32, u32)>,
    /// Message numbers by the queue's.
    names: HashMap<u32, (u32, u32)>,
    posted: VecDeque<(AppendEntry, (u32, u32))>,
    read: Vec<(u32, u32)>,
    posts: u32,
}

impl Twin {
    fn new() -> Twin {
        Twin {
            queue: AppendQueue::new(BYTES),
            left: HashMap::new(),
            stopped: HashMap::new(),
            under_way: VecDeque::new(),
            broken: Vec::new(),
            names: HashMap::new(),
            posted: VecDeque::new(),
            read: Vec::new(),
            posts: 0,
        }
    }

    fn settle(&mut self, who: u32, of: AppendPart, verdict: Verdict<u32>) {
        match verdict {
            Verdict::Place { item, at, message } => {
                let name = (who, item);
                assert_eq!(*self.names.entry(message).or_insert(name), name);
                assert!(at % u64::from(PAGE) + u64::from(len(of)) <= u64::from(PAGE));
                self.under_way.push_back((message, of));
            }
            Verdict::Kept { first } => {
                assert_eq!(first, !self.stopped.insert(who, true).unwrap_or(false));
            }
            Verdict::Refused(item) => panic!("message {item} of {who} is refused"),
        }
    }

    fn send(&mut self, who: u32, total: u32) {
        let (left, number) = self.left.entry(who).or_default();
        if left.is_empty() {
            *number += 1;
            left.extend(fragments(total));
        }
        let (of, number) = (left.pop_front().unwrap(), *number);
        let verdict = self.queue.offer(sender(who), of, number);
        self.settle(who, of, verdict);
    }

    fn restart(&mut self, who: u32, total: u32) {
        if let Some((left, number)) = self.left.get_mut(&who)
            && !left.is_empty()
        {
            left.clear();
            self.broken.push((who, *number));
        }
        self.send(who, total);
    }

    fn done(&mut self, well: bool) {
        if let Some((message, of)) = self.under_way.pop_front() {
            if well {
                self.queue.done(message, len(of));
            } else {
                self.broken.push(self.names[&message]);
                self.queue.fail(message, len(of));
            }
        }
        while let Some(entry) = self.queue.post() {
            let name = self.names.remove(&self.posts).unwrap();
            self.posts += 1;
            assert_eq!(entry.lost, self.broken.contains(&name), "{name:?}");
            assert_eq!(entry.from, Node(name.0));
            self.posted.push_back((entry, name));
        }
    }

    fn read(&mut self, most: u8) {
        for (entry, name) in self.posted.drain(..self.posted.len().min(most.into())) {
            self.queue.free(entry.end());
            self.read.push(name);
        }
        while let Some(fragment) = self.queue.next_fragment() {
            let Some(Resumed { verdict, go }) = self.queue.resume() else { break };
            let who = fragment.0.0.0;
            if let Some(go) = go {
                assert_eq!(self.stopped.insert(go.0.0, false), Some(true));
            }
            self.settle(who, fragment.1, verdict);
        }
    }
}

impl<T> AppendQueue<T> {
    fn next_fragment(&self) -> Option<(Sender, AppendPart)> {
        let (sender, items) = self.kept.front()?;
        Some((*sender, items.front()?.0))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 300 }))]

    /// NET-7: every message comes once, in the order of its sender, or is lost by its own fault; a queue that
    /// was full recovers.
    #[test]
    fn net_07_messages_come_once_and_in_order(steps in prop::collection::vec(step(), 1..if cfg!(miri) { 60 } else { 400 })) {
        let mut twin = Twin::new();
        for step in steps {
            match step {
                Step::Send(who, total) => twin.send(who, total),
                Step::Restart(who, total) => twin.restart(who, total),
                Step::Done(well) => twin.done(well),
                Step::Read(most) => twin.read(most),
            }
        }
        // Everything that was begun ends, and all is read.
        for _ in 0..if cfg!(miri) { 300 } else { 10_000 } {
            for who in 0..4 {
                if twin.left.get(&who).is_some_and(|(left, _)| !left.is_empty()) {
                    twin.send(who, 0);
                }
            }
            twin.done(true);
            twin.read(u8::MAX);
        }
        prop_assert!(twin.queue.is_idle() && !twin.queue.is_short());
        prop_assert!(twin.stopped.values().all(|stopped| !stopped));
        for (who, (_, sent)) in &twin.left {
            let read: Vec<u32> = twin.read.iter().filter(|name| name.0 == *who).map(|name| name.1).collect();
            prop_assert_eq!(read, (1..=*sent).collect::<Vec<_>>());
        }
    }
}

/// NET-7: when there is room again, each sender has its turn, however much the first one has sent.
#[test]
fn net_07_no_sender_starves_another() {
    let mut queue = AppendQueue::new(u64::from(PAGE));
    let message = AppendPart { queue: 0, index: 0, total: 2048 };
    let place = |queue: &mut AppendQueue<u32>, who: u32| queue.offer(sender(who), message, who);
    for _ in 0..20 {
        place(&mut queue, 0);
    }
    for who in 1..5 {
        assert_eq!(place(&mut queue, who), Verdict::Kept { first: true });
    }
    let mut turns = Vec::new();
    for _ in 0..10 {
        queue.done(queue.first, 2048);
        let end = queue.post().expect("in place").end();
        queue.free(end);
        while let Some(Resumed { verdict: Verdict::Place { item, .. }, .. }) = queue.resume() {
            turns.push(item);
        }
    }
    assert_eq!(turns[..10], [0, 1, 2, 3, 4, 0, 0, 0, 0, 0]);
}

/// A message that is longer than half the queue would not always fit, and is refused at once.
#[test]
fn what_can_never_fit_is_refused() {
    let mut queue = AppendQueue::new(BYTES);
    let long = AppendPart { queue: 0, index: 0, total: BYTES as u32 / 2 + 1 };
    assert_eq!(queue.offer(sender(1), long, 5), Verdict::Refused(5));
    let orphan = AppendPart { queue: 0, index: 1, total: 2 * PAGE };
    assert_eq!(queue.offer(sender(1), orphan, 6), Verdict::Refused(6));
    assert!(queue.is_idle());
}

/// A port that names a position which it cannot have read gets no room by it.
#[test]
fn positions_that_cannot_be_right_are_ignored() {
    let mut queue = AppendQueue::new(u64::from(PAGE));
    let message = AppendPart { queue: 0, index: 0, total: 2048 };
    for _ in 0..2 {
        assert!(matches!(queue.offer(sender(1), message, ()), Verdict::Place { .. }));
    }
    queue.free(u64::MAX);
    queue.free(u64::from(PAGE) + 1);
    assert!(!queue.fits(1));
    queue.free(2048);
    queue.free(64);
    assert!(queue.fits(2048) && !queue.fits(2049));
}

#[test]
fn late_words_do_nothing() {
    let stops = Stops::new(2, 3);
    for (number, stopped) in [(1, true), (1, true), (4, false), (3, false), (7, true), (6, true)] {
        stops.told(Node(1), 2, number);
        assert_eq!(stops.is_stopped(Node(1), 2), stopped, "after {number}");
    }
    stops.told(Node(9), 9, 1);
    assert!(!stops.is_stopped(Node(9), 9) && !stops.is_stopped(Node(1), 1));
}
