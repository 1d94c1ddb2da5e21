//! Acknowledgements, loss, and timers of a [`Link`].

use super::{ACK_DELAY_NS, Fate, Link, NO_CHUNK, Overdue, PeerState, Progress, Refused, Sent, World};
use crate::path::{NS_PER_MS, Time};
use crate::wire::{Header, expand};

/// Longest time between probes of a silent peer, in nanoseconds.
pub(super) const MAX_PROBE_INTERVAL_NS: u64 = 250 * NS_PER_MS;
/// While packets are under way, this end looks at least this often (to probe, or as the keeper of a rank that
/// computes), unless it cannot run.
const MAX_LOOK_INTERVAL_NS: u64 = 4 * MAX_PROBE_INTERVAL_NS;
/// Most packets that may lie between a lost one and an acknowledged one.
const MAX_REORDERING_PACKETS: u64 = 256;
/// Most packets that are remembered: late acknowledgements of older ones are ignored.
const MAX_REMEMBERED_PACKETS: usize = 16384;

impl Link {
    pub(super) fn acknowledged(
        &mut self,
        now: Time,
        header: &Header,
        ranges: impl Iterator<Item = (u16, u16)>,
        world: &mut dyn World,
    ) -> Result<(), Refused> {
        let largest = expand(header.acked, self.next_packet);
        if largest >= self.next_packet {
            return Err(Refused::Broken("an acknowledgement of what was not sent"));
        }
        let full = self.in_flight + self.in_flight / 2 >= self.congestion.window();
        let sampled = largest
            .checked_sub(self.sent_base)
            .and_then(|i| self.sent.get(i as usize))
            .filter(|s| s.fate == Fate::Flying)
            .map(|s| now.saturating_sub(s.at));
        let mut news = self.range(largest, header.run, full, world);
        let mut at = largest.saturating_sub(u64::from(header.run));
        for (gap, run) in ranges {
            let Some(end) = at.checked_sub(u64::from(gap)) else { break };
            if end < self.sent_base {
                break;
            }
            news |= self.range(end, run, full, world);
            at = end.saturating_sub(u64::from(run));
        }
        self.judge_timeout(now);
        if let Some(rtt) = sampled {
            self.rtt.sample(rtt.max(1), u64::from(header.delay) * 16_000);
        }
        if news {
            self.backoff = 0;
            self.probes = 0;
            self.probe_from = now;
        }
        self.largest_acked = self.largest_acked.max(largest);
        if news || self.lost_after.is_some() {
            self.find_losses(now);
            self.congestion.round(self.largest_acked, self.next_packet);
        }
        self.forget(now);
        Ok(())
    }

    /// Packets `largest - run + 1 ..= largest` have arrived; returns whether one of them was not known to
    /// have.
    fn range(&mut self, largest: u64, run: u16, full: bool, world: &mut dyn World) -> bool {
        let first = (largest + 1).saturating_sub(u64::from(run)).max(self.sent_base);
        // The ranges name arrived packets again and again while something else is missing.
        let (flying, from) = (first.max(self.flying_from), self.missing.partition_point(|n| *n < first));
        let late =
            (from..self.missing.len()).map(|i| self.missing[i]).take_while(|n| *n <= largest && *n < flying);
        let late: Vec<u64> =
            late.filter(|n| self.sent[(*n - self.sent_base) as usize].fate == Fate::Lost).collect();
        let mut news = false;
        for number in late.into_iter().chain(flying..=largest) {
            let Some(sent) = self.sent.get_mut((number - self.sent_base) as usize) else { break };
            let (fate, chunk, bytes, probe) = (sent.fate, sent.chunk, sent.bytes, sent.probe);
            match fate {
                Fate::Flying => {
                    sent.fate = Fate::Acked;
                    news = true;
                    if probe {
                        self.mtu.passed(bytes as usize);
                    } else {
                        self.in_flight -= u64::from(bytes);
                        self.mtu.arrived(number, bytes as usize);
                        self.congestion.acked(u64::from(bytes), full);
                    }
                }
                Fate::Lost => {
                    sent.fate = Fate::Acked;
                    if probe {
                        self.mtu.passed(bytes as usize);
                        continue;
                    }
                    // It was late, not lost: wait for more packets from now on.
                    self.counters.spurious += 1;
                    let late = self.largest_acked.saturating_sub(number) + 1;
                    self.reordering = self.reordering.max(late.min(MAX_REORDERING_PACKETS));
                }
                Fate::Acked | Fate::Silent => continue,
            }
            if chunk != NO_CHUNK {
                self.arrived(chunk, world);
            }
        }
        if self.in_flight == 0 {
            self.looked_at = None;
        }
        news
    }

    /// Says of the last timeout, once that is known, whether it was too early. An acknowledgement that comes
    /// soon after the probe answers the probe, and says nothing about when the packet arrived.
    fn judge_timeout(&mut self, now: Time) {
        let Some(overdue) = self.overdue.take() else { return };
        let fate = overdue
            .packet
            .checked_sub(self.sent_base)
            .and_then(|i| self.sent.get(i as usize))
            .map(|s| s.fate);
        match fate {
            Some(Fate::Flying) => self.overdue = Some(overdue),
            Some(Fate::Lost) => self.rtt.lost(),
            Some(Fate::Acked) if now.saturating_sub(overdue.probed_at) > 4 * self.rtt.smoothed() => {
                self.rtt.answered_late(now.saturating_sub(overdue.sent_at));
            }
            Some(Fate::Acked | Fate::Silent) | None => {}
        }
    }

    /// The oldest packet under way that is not a try of a size.
    fn oldest_flying(&self) -> Option<(u64, Time)> {
        let start = self.flying_from.saturating_sub(self.sent_base);
        let is_due = |sent: &Sent| sent.fate == Fate::Flying && !sent.probe;
        let (index, sent) =
            self.sent.iter().enumerate().skip(start as usize).find(|(_, sent)| is_due(sent))?;
        Some((self.sent_base + index as u64, sent.at))
    }

    /// Declares packets lost that later ones have overtaken.
    fn find_losses(&mut self, now: Time) {
        self.lost_after = None;
        let patience = self.rtt.reordering();
        let end = self.largest_acked.saturating_sub(self.sent_base).min(self.sent.len() as u64);
        let is_flying = |sent: &Sent| sent.fate == Fate::Flying;
        let start = self.flying_from.max(self.sent_base) - self.sent_base;
        let landed = self.sent.range(start as usize..).position(is_flying);
        let start = start + landed.map_or(self.sent.len() as u64 - start, |n| n as u64);
        self.flying_from = self.sent_base + start;
        for index in start as usize..end as usize {
            let number = self.sent_base + index as u64;
            let Sent { at, bytes, fate, chunk, probe } = self.sent[index];
            if fate != Fate::Flying {
                continue;
            }
            let late = at + patience;
            if self.largest_acked - number < self.reordering && now < late {
                self.lost_after = Some(self.lost_after.map_or(late, |t| t.min(late)));
                continue;
            }
            self.sent[index].fate = Fate::Lost;
            self.missing.push_back(number);
            if probe {
                continue;
            }
            self.counters.lost += 1;
            self.mtu.lost(now, number, bytes as usize);
            self.in_flight -= u64::from(bytes);
            self.congestion.lost(u64::from(bytes));
            self.send_again(chunk, number);
        }
        if self.in_flight == 0 {
            self.looked_at = None;
        }
    }

    /// Queues a chunk again if packet `number` was its last.
    fn send_again(&mut self, chunk: u64, number: u64) {
        if chunk == NO_CHUNK {
            return;
        }
        let Some(entry) = chunk.checked_sub(self.chunk_base).and_then(|i| self.chunks.get_mut(i as usize))
        else {
            return;
        };
        if entry.progress == Progress::Flying && entry.packet == number {
            entry.progress = Progress::Waiting;
            self.lost.push_back(chunk);
        }
    }

    /// Forgets old packets.
    fn forget(&mut self, now: Time) {
        let old = 3 * self.rtt.probe_timeout(ACK_DELAY_NS);
        while let Some(sent) = self.sent.front() {
            let drop = match sent.fate {
                Fate::Acked | Fate::Silent => true,
                Fate::Lost => now > sent.at + old || self.sent.len() > MAX_REMEMBERED_PACKETS,
                Fate::Flying => false,
            };
            if !drop {
                break;
            }
            self.sent.pop_front();
            self.sent_base += 1;
        }
        while self.missing.front().is_some_and(|n| *n < self.sent_base) {
            self.missing.pop_front();
        }
    }

    fn probe_at(&self) -> Option<Time> {
        (self.in_flight > 0).then(|| {
            let wait = self.rtt.probe_timeout(ACK_DELAY_NS) << self.backoff.min(12);
            self.probe_from + wait.min(MAX_PROBE_INTERVAL_NS)
        })
    }

    fn ask_for_room_at(&self) -> Option<Time> {
        self.wants_room.map(|since| since + self.rtt.probe_timeout(ACK_DELAY_NS).min(MAX_PROBE_INTERVAL_NS))
    }

    /// When [`Link::timeout`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        let timers =
            [self.ack_at, self.lost_after, self.probe_at(), self.ask_for_room_at(), self.paced_until];
        timers.into_iter().flatten().min()
    }

    /// Whether a timer may be due within [`ACK_DELAY_NS`] of now.
    #[inline]
    pub fn is_pressed(&self) -> bool {
        self.lost_after.is_some() || self.paced_until.is_some()
    }

    /// Counts the peer's silence up to now.
    pub(super) fn look(&mut self, now: Time) {
        match self.looked_at.replace(now) {
            Some(at) => self.silence += now.saturating_sub(at).min(MAX_LOOK_INTERVAL_NS),
            None => self.silence = 0,
        }
    }

    /// Handles timers that are due; call [`Link::transmit`] afterwards.
    pub fn timeout(&mut self, now: Time) {
        if self.state != PeerState::Open {
            return;
        }
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if due(self.ack_at) {
            self.ack_at = None;
            self.ack_now = true;
        }
        if due(self.paced_until) {
            self.paced_until = None;
        }
        if due(self.lost_after) {
            self.find_losses(now);
        }
        if due(self.ask_for_room_at()) {
            self.wants_room = None;
            self.probes = self.probes.max(1);
        }
        if due(self.probe_at()) {
            self.counters.timeouts += 1;
            if self.overdue.is_none() {
                self.overdue =
                    self.oldest_flying().map(|(packet, sent_at)| Overdue { packet, sent_at, probed_at: now });
            }
            self.probes = 1;
            self.probe_from = now;
            self.backoff += 1;
            self.look(now);
            if self.setup.patience > 0 && self.backoff >= 3 && self.silence > self.setup.patience {
                self.state = PeerState::Dead;
            }
        }
    }
}
