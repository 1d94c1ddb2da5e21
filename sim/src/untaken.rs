//! Frames of a rank that their receivers have not taken yet. Most ranks have some at few others, so these
//! counts are part of the rank's state, and a frame touches no more memory than that.

use gasnet_wire::conduit::Channel;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Counts that are part of the rank's state.
const FEW: usize = 6;

/// Frames to one receiver on one channel.
#[derive(Debug, Clone, Copy)]
struct Lane {
    to: u32,
    channel: Channel,
    /// 0 if nothing is counted here.
    count: u16,
}

/// Counts by receiver and channel.
#[derive(Debug)]
pub(crate) struct Untaken {
    few: [Lane; FEW],
    many: FxHashMap<(u32, Channel), u16>,
}

impl Untaken {
    pub(crate) fn new() -> Untaken {
        let lane = Lane { to: 0, channel: Channel::Request, count: 0 };
        Untaken { few: [lane; FEW], many: FxHashMap::default() }
    }

    /// Counts one more, unless there are `most`; whether it did.
    pub(crate) fn add(&mut self, to: u32, channel: Channel, most: u16) -> bool {
        let count = match self.lane(to, channel) {
            Some(count) => count,
            None => match self.few.iter_mut().find(|lane| lane.count == 0) {
                Some(lane) if !self.many.contains_key(&(to, channel)) => {
                    (lane.to, lane.channel) = (to, channel);
                    &mut lane.count
                }
                _ => self.many.entry((to, channel)).or_default(),
            },
        };
        let has_room = *count < most;
        *count += u16::from(has_room);
        has_room
    }

    /// Counts one less; whether there were `most`.
    pub(crate) fn take(&mut self, to: u32, channel: Channel, most: u16) -> bool {
        if let Some(count) = self.lane(to, channel) {
            *count -= 1;
            return *count + 1 >= most;
        }
        let Entry::Occupied(mut count) = self.many.entry((to, channel)) else { return false };
        *count.get_mut() -= 1;
        let left = *count.get();
        if left == 0 {
            count.remove();
        }
        left + 1 >= most
    }

    fn lane(&mut self, to: u32, channel: Channel) -> Option<&mut u16> {
        let is_it = |lane: &&mut Lane| lane.count > 0 && (lane.to, lane.channel) == (to, channel);
        self.few.iter_mut().find(is_it).map(|lane| &mut lane.count)
    }

    /// All of them.
    pub(crate) fn sum(&self) -> u32 {
        self.few.iter().map(|lane| lane.count).chain(self.many.values().copied()).map(u32::from).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn counts_are_those_of_a_map() {
        const MOST: u16 = 3;
        let (mut rng, mut untaken) = (Rng::new(1), Untaken::new());
        let mut model: FxHashMap<(u32, Channel), u16> = FxHashMap::default();
        for _ in 0..20_000 {
            let to = rng.below(12) as u32;
            let channel = if rng.chance(0.5) { Channel::Request } else { Channel::Reply };
            let count = model.entry((to, channel)).or_default();
            if rng.chance(0.5) {
                assert_eq!(untaken.add(to, channel, MOST), *count < MOST);
                *count = (*count + 1).min(MOST);
            } else if *count > 0 {
                assert_eq!(untaken.take(to, channel, MOST), *count == MOST);
                *count -= 1;
            }
            assert_eq!(untaken.sum(), model.values().map(|count| u32::from(*count)).sum::<u32>());
        }
        assert!(untaken.many.values().all(|count| *count > 0));
    }
}
