//! The home word of wait queues and semaphores: head and tail of the line, how many wait, wake-ups that are
//! promised, and a semaphore's value. All in 64 bits, so that a compare-and-swap does an operation.
//!
//! Who is woken makes the one behind it the head. Until it has done so the head is *in flux*: whoever signals
//! then leaves a promise, which the new head is woken by. Promises are only made to waiters that have none
//! (`count - promised`): promising more is what loses wake-ups in the published algorithm.

/// The most ranks a line can name.
pub(super) const RANKS: u32 = 4095;
/// The largest value of a semaphore.
pub(super) const VALUE: u64 = 0xffff;

/// The word, unpacked. Ranks are processes: from 1, 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueueWord {
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) count: u64,
    pub(super) promised: u64,
    pub(super) value: u64,
}

/// The result of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// This process must be woken, and told how many it leaves behind.
    Wake(u64, u64),
    /// Whoever becomes the head will be woken.
    Promised,
    /// Nobody waits.
    Nobody,
}

impl QueueWord {
    pub(super) fn unpack(word: u64) -> QueueWord {
        let field = |shift: u32| word >> shift & 0xfff;
        QueueWord {
            head: field(0),
            tail: field(12),
            count: field(24),
            promised: field(36),
            value: word >> 48,
        }
    }

    pub(super) fn pack(self) -> u64 {
        self.head | self.tail << 12 | self.count << 24 | self.promised << 36 | self.value << 48
    }

    /// Appends a process; returns the one before it, or 0.
    pub(super) fn enqueue(&mut self, process: u64) -> u64 {
        self.count += 1;
        let before = if self.count == 1 {
            self.head = process;
            0
        } else {
            self.tail
        };
        self.tail = process;
        before
    }

    pub(super) fn dequeue(&mut self) -> Signal {
        if self.count == self.promised {
            return Signal::Nobody;
        }
        if self.head == 0 {
            self.promised += 1;
            return Signal::Promised;
        }
        self.count -= 1;
        Signal::Wake(core::mem::take(&mut self.head), self.count)
    }

    /// This process is the head now. `Some(left)`: it must be woken at once, and leaves so many behind.
    pub(super) fn new_head(&mut self, process: u64) -> Option<u64> {
        if self.promised == 0 {
            self.head = process;
            return None;
        }
        self.promised -= 1;
        self.count -= 1;
        Some(self.count)
    }

    /// Takes one from the value. `None`: it is 0, and the process was appended; else as for
    /// [`enqueue`](Self::enqueue).
    pub(super) fn take(&mut self, process: u64) -> Option<u64> {
        if self.value > 0 {
            self.value -= 1;
            return None;
        }
        Some(self.enqueue(process))
    }

    /// Wakes one, or adds one to the value (which must be below [`VALUE`]).
    pub(super) fn give(&mut self) -> Signal {
        let signal = self.dequeue();
        if signal == Signal::Nobody {
            self.value += 1;
        }
        signal
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn words_hold_lines() {
        for line in [
            QueueWord::default(),
            QueueWord { head: 4095, tail: 1, count: 4095, promised: 7, value: VALUE },
            QueueWord { head: 1, tail: 4095, count: 2, promised: 4095, value: 3 },
        ] {
            assert_eq!(QueueWord::unpack(line.pack()), line);
        }
    }

    #[test]
    fn promises_go_to_waiters_only() {
        let mut line = QueueWord::default();
        assert_eq!(line.take(1), Some(0));
        assert_eq!(line.take(2), Some(1));
        assert_eq!(line.give(), Signal::Wake(1, 1));
        assert_eq!(line.give(), Signal::Promised);
        assert_eq!(line.give(), Signal::Nobody, "counted, and not promised to nobody");
        assert_eq!(line.new_head(2), Some(0));
        assert_eq!(line.take(3), None);
        assert_eq!(line, QueueWord { tail: 2, ..QueueWord::default() });
    }

    /// One process after the other: a line is a queue.
    #[test]
    fn lines_are_queues() {
        let mut line = QueueWord::default();
        let mut queue = std::collections::VecDeque::new();
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = 0;
        for _ in 0..if cfg!(miri) { 100 } else { 10_000 } {
            if random.bool() && queue.len() < 4000 {
                next = next % 4095 + 1;
                assert_eq!(line.enqueue(next), queue.back().copied().unwrap_or(0));
                queue.push_back(next);
                continue;
            }
            match queue.pop_front() {
                None => assert_eq!(line.dequeue(), Signal::Nobody),
                Some(head) => {
                    assert_eq!(line.dequeue(), Signal::Wake(head, queue.len() as u64));
                    if let Some(&second) = queue.front() {
                        assert_eq!(line.new_head(second), None);
                    }
                }
            }
        }
    }

    /// The operations of NICs (`netvm-fw`) and those of this word are two texts of one algorithm (decision
    /// 11): every state that five processes can bring about, and every operation in it, give the same in
    /// both.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes there")]
    fn nics_do_the_same() {
        use gasnet_ops::home::{HomeOp, MAX_OPERAND_WORDS, NO_PROCESS, QUEUE_WAS_EMPTY};
        const PROCESSES: u64 = 5;
        const MOST: u64 = 3;
        fn words(line: &QueueWord) -> [u32; MAX_OPERAND_WORDS] {
            [line.head, line.tail, line.count, line.promised, line.value].map(|word| word as u32)
        }
        fn reply(signal: Signal) -> [u32; 2] {
            match signal {
                Signal::Wake(process, left) => [process as u32, left as u32],
                Signal::Promised => [NO_PROCESS, 0],
                Signal::Nobody => [NO_PROCESS, QUEUE_WAS_EMPTY],
            }
        }
        let mut seen = std::collections::HashSet::from([0]);
        let mut open = vec![QueueWord::default()];
        let mut compared = 0;
        while let Some(before) = open.pop() {
            // The word after an operation here, and whether the NIC's left the same words and said the same.
            let mut compare = |op: HomeOp, process: u64, here: &dyn Fn(&mut QueueWord) -> [u32; 2]| {
                let (mut line, mut nic) = (before, words(&before));
                let said = here(&mut line);
                let [first, mut second, _] = op.apply(&mut nic, [process as u32, 0, 0, 0]);
                match op {
                    HomeOp::Enqueue => second = 0,
                    // A promise: how many wait is of no concern to who gave it. Nor is it to a head that
                    // waits.
                    HomeOp::Dequeue | HomeOp::SemV if first == NO_PROCESS && second != QUEUE_WAS_EMPTY => {
                        second = 0;
                    }
                    HomeOp::NewHead if first == 0 => second = 0,
                    _ => {}
                }
                assert_eq!((said, words(&line)), ([first, second], nic), "{op:?} of {process} in {before:?}");
                compared += 1;
                if seen.insert(line.pack()) {
                    open.push(line);
                }
            };
            for process in 1..=PROCESSES {
                if before.count < PROCESSES {
                    compare(HomeOp::Enqueue, process, &|line| [line.enqueue(process) as u32, 0]);
                    compare(HomeOp::SemP, process, &|line| {
                        let value = line.value as u32;
                        line.take(process).map_or([NO_PROCESS, value], |before| [before as u32, 0])
                    });
                }
                if before.head == 0 && before.count > 0 {
                    compare(HomeOp::NewHead, process, &|line| {
                        line.new_head(process).map_or([0, 0], |left| [1, left as u32])
                    });
                }
            }
            compare(HomeOp::Dequeue, 0, &|line| reply(line.dequeue()));
            if before.value < MOST {
                compare(HomeOp::SemV, 0, &|line| reply(line.give()));
            }
        }
        assert!(seen.len() > 500 && compared > 5000, "{} states, {compared} operations", seen.len());
    }

    /// A rank in a call of `queue.rs`, between two of its operations on shared words.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    enum At {
        Start,
        /// To link itself behind this one.
        Link(u64),
        /// To wait for its wake-up.
        Wait,
        /// Woken, with some behind: to wait for its link.
        Next,
        /// To wake this one, which leaves so many behind.
        Wake(u64, u64),
        Done,
    }

    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct State {
        word: u64,
        /// Waiters: where, next, woken.
        waiters: Vec<(At, u64, u64)>,
        signallers: Vec<At>,
        order: Vec<u64>,
    }

    fn after(signal: Signal) -> At {
        match signal {
            Signal::Wake(process, left) => At::Wake(process, left),
            Signal::Promised | Signal::Nobody => At::Done,
        }
    }

    fn with_line<R>(s: &mut State, f: impl FnOnce(&mut QueueWord) -> R) -> R {
        let mut line = QueueWord::unpack(s.word);
        let result = f(&mut line);
        s.word = line.pack();
        result
    }

    impl State {
        fn wake(&mut self, process: u64, left: u64) {
            let woken = &mut self.waiters[process as usize - 1].2;
            assert_eq!(*woken, 0, "{process} is woken twice");
            *woken = 1 + left;
        }

        fn step_waiter(&self, i: usize) -> Option<State> {
            let mut s = self.clone();
            let me = i as u64 + 1;
            let (at, next, woken) = self.waiters[i];
            s.waiters[i].0 = match at {
                At::Start => match with_line(&mut s, |line| line.take(me)) {
                    None => At::Done,
                    Some(before) => {
                        s.order.push(me);
                        if before == 0 { At::Wait } else { At::Link(before) }
                    }
                },
                At::Link(before) => {
                    s.waiters[before as usize - 1].1 = me;
                    At::Wait
                }
                At::Wait if woken == 0 => return None,
                At::Wait => {
                    s.waiters[i].2 = 0;
                    if woken == 1 { At::Done } else { At::Next }
                }
                At::Next if next == 0 => return None,
                At::Next => match with_line(&mut s, |line| line.new_head(next)) {
                    Some(left) => At::Wake(next, left),
                    None => At::Done,
                },
                At::Wake(process, left) => {
                    s.wake(process, left);
                    At::Done
                }
                At::Done => return None,
            };
            Some(s)
        }

        fn step_signaller(&self, i: usize) -> Option<State> {
            let mut s = self.clone();
            s.signallers[i] = match self.signallers[i] {
                At::Start => after(with_line(&mut s, QueueWord::give)),
                At::Wake(process, left) => {
                    s.wake(process, left);
                    At::Done
                }
                _ => return None,
            };
            // They are alike.
            s.signallers.sort();
            Some(s)
        }
    }

    /// Every interleaving of four ranks that wait and four that signal: none waits for ever, none is passed
    /// over.
    #[test]
    #[cfg_attr(miri, ignore = "explores many states, without unsafe code")]
    fn semaphores_lose_no_wake_up() {
        for (waiters, signals, value) in [(1, 1, 0), (2, 3, 0), (3, 3, 0), (4, 3, 1), (4, 4, 0)] {
            let first = State {
                word: QueueWord { value, ..QueueWord::default() }.pack(),
                waiters: vec![(At::Start, 0, 0); waiters],
                signallers: vec![At::Start; signals],
                order: Vec::new(),
            };
            let mut seen = std::collections::HashSet::from([first.clone()]);
            let mut stack = vec![first];
            while let Some(s) = stack.pop() {
                let steps = (0..waiters).filter_map(|i| s.step_waiter(i));
                let next: Vec<State> =
                    steps.chain((0..signals).filter_map(|i| s.step_signaller(i))).collect();
                if next.is_empty() {
                    let through = |p: u64| s.waiters[p as usize - 1].0 == At::Done;
                    let n = (1..=waiters as u64).filter(|&p| through(p)).count();
                    assert_eq!(n, waiters.min(signals + value as usize), "{s:?}");
                    let woken = s.order.iter().take_while(|&&p| through(p)).count();
                    assert!(s.order[woken..].iter().all(|&p| !through(p)), "out of turn: {s:?}");
                    let line = QueueWord::unpack(s.word);
                    assert_eq!(line.promised, 0);
                    assert_eq!(line.value as usize, value as usize + signals - n);
                }
                stack.extend(next.into_iter().filter(|s| seen.insert(s.clone())));
            }
        }
    }
}
