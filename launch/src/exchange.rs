//! The exchange between all ranks of a job, over their links to the monitor.
//!
//! A rank sends its contribution in packets ([`ToMonitor::Exchange`]); when the monitor has all
//! contributions, each rank gets the result back on its link, in packets whose first byte is 1 in the last
//! one. The result is every contribution in order of rank, each preceded by its length (u32, little endian).
//!
//! When a rank has died, no exchange of its world has a result any more. Each rank that has contributed gets
//! [`BROKEN`] in its place, so that every contribution has one answer.

use gasnet_sys::mutex::lock;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};

use gasnet_sys::fd;
use gasnet_wire::Error;
use gasnet_wire::boot::{Exchange, MAX_EXCHANGE, MAX_PACKET, ToMonitor};

/// The answer to a contribution to an exchange that cannot end.
pub(crate) const BROKEN: &[u8] = &[2];

/// A rank's side of exchanges.
pub struct LinkExchange {
    link: Mutex<Arc<OwnedFd>>,
    size: u32,
}

impl LinkExchange {
    /// Exchanges over this link, in a job of `size` ranks.
    pub fn new(link: Arc<OwnedFd>, size: u32) -> LinkExchange {
        LinkExchange { link: Mutex::new(link), size }
    }
}

impl Exchange for LinkExchange {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let failed = |e: std::io::Error| Error::job(format!("exchange with the other hosts: {e}"));
        let link = lock(&self.link);
        let mut rest = mine;
        loop {
            let (part, more) = rest.split_at(rest.len().min(MAX_EXCHANGE));
            let packet = ToMonitor::Exchange(more.is_empty(), part.to_vec()).encode();
            fd::send_waiting(link.as_fd(), &packet).map_err(failed)?;
            if more.is_empty() {
                break;
            }
            rest = more;
        }
        let mut result = Vec::new();
        let mut packet = [0; MAX_PACKET];
        loop {
            let n = fd::receive_waiting(link.as_fd(), &mut packet).map_err(failed)?;
            if &packet[..n] == BROKEN {
                return Err(Error::job("exchange with the other hosts: a rank has died"));
            }
            let Some((last, part)) = packet[..n].split_first() else {
                return Err(Error::job("exchange with the other hosts: the monitor is gone"));
            };
            result.extend_from_slice(part);
            if *last == 1 {
                break;
            }
        }
        split(&result, self.size).ok_or_else(|| Error::job("exchange with the other hosts: a broken result"))
    }
}

/// The contributions in a result.
fn split(mut result: &[u8], size: u32) -> Option<Vec<Vec<u8>>> {
    let mut all = Vec::with_capacity(size as usize);
    for _ in 0..size {
        let (len, rest) = result.split_first_chunk::<4>()?;
        let (one, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        all.push(one.to_vec());
        result = rest;
    }
    result.is_empty().then_some(all)
}

/// The monitor's side: the contributions to the exchange under way.
#[derive(Debug)]
pub struct Gathering {
    parts: Vec<Vec<u8>>,
    complete: Vec<bool>,
    /// A rank has died.
    broken: bool,
}

/// What follows from a part of a contribution.
#[derive(Debug, PartialEq, Eq)]
pub enum Gathered {
    /// Others are missing.
    Waits,
    /// All ranks get this.
    Result(Vec<u8>),
    /// This rank is to be told that there will be no result.
    Broken,
}

impl Gathering {
    /// For a job of `size` ranks.
    pub fn new(size: u32) -> Gathering {
        let n = size as usize;
        Gathering { parts: vec![Vec::new(); n], complete: vec![false; n], broken: false }
    }

    /// A rank has died. Returns those that have contributed and are to be told.
    pub fn breaks(&mut self) -> Vec<u32> {
        self.broken = true;
        let all = (0..).zip(&mut self.complete);
        all.filter_map(|(rank, complete)| std::mem::take(complete).then_some(rank)).collect()
    }

    /// Adds a part of a rank's contribution.
    pub fn add(&mut self, rank: u32, last: bool, part: &[u8]) -> Gathered {
        if self.broken {
            return if last { Gathered::Broken } else { Gathered::Waits };
        }
        let r = rank as usize;
        self.parts[r].extend_from_slice(part);
        self.complete[r] |= last;
        if !self.complete.iter().all(|c| *c) {
            return Gathered::Waits;
        }
        self.complete.fill(false);
        let mut result = Vec::new();
        for part in &mut self.parts {
            result.extend((part.len() as u32).to_le_bytes());
            result.append(part);
        }
        Gathered::Result(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contributions_come_out_by_rank() {
        let mut g = Gathering::new(3);
        for round in 0..3u8 {
            assert_eq!(g.add(2, true, &[round; 5]), Gathered::Waits);
            assert_eq!(g.add(0, false, &[1]), Gathered::Waits);
            assert_eq!(g.add(1, true, &[]), Gathered::Waits);
            let Gathered::Result(result) = g.add(0, true, &[2]) else { panic!("complete") };
            assert_eq!(split(&result, 3), Some(vec![vec![1, 2], vec![], vec![round; 5]]));
            assert_eq!(split(&result, 2), None);
            assert_eq!(split(&result[1..], 3), None);
        }
    }
    /// Every contribution has one answer, whether it comes before the death or after it.
    #[test]
    fn a_death_breaks_exchanges_once() {
        let mut g = Gathering::new(3);
        assert_eq!(g.add(2, true, &[1]), Gathered::Waits);
        assert_eq!(g.add(0, false, &[1]), Gathered::Waits);
        assert_eq!((g.breaks(), g.breaks()), (vec![2], vec![]));
        assert_eq!(g.add(0, true, &[2]), Gathered::Broken);
        assert_eq!((g.add(2, false, &[2]), g.add(2, true, &[2])), (Gathered::Waits, Gathered::Broken));
    }
}
