//! Who shares memory with whom.
//!
//! A *host* is a set of ranks that map the same memory files. Its ranks form *neighbourhoods*: normally one,
//! with `GASNET_NEIGHBORHOOD=K` one of K ranks each, and with `off` one per rank. Neighbours map each other's
//! segments and talk through shared memory; everybody else is reached through the conduit, whether on this
//! host or not. The lowest rank of a neighbourhood *leads* it: it speaks for it in the barrier.

use crate::{Error, Gathered, RankId};
use std::sync::Arc;

/// Marks a rank between two neighbours that is none.
const NOT_A_NEIGHBOUR: u32 = u32::MAX;

/// This rank's view of all neighbourhoods of the job.
#[derive(Debug)]
pub struct Neighbourhood {
    /// Ranks in it, ascending.
    members: Box<[u32]>,
    /// The first of them, and how many follow each other from there on if those are all; else 0.
    first: u32,
    dense: u32,
    /// Unless they follow each other: the number in `members`, or [`NOT_A_NEIGHBOUR`], of every rank from the
    /// first to the last of them.
    index: Box<[u32]>,
    /// Number of this rank in `members`.
    pub(crate) me: u32,
    /// Which of the host's neighbourhoods this is, and ranks in a full one.
    pub(crate) part: (u32, u32),
    all: Arc<Everybody>,
}

/// The part of the tables that is the same on all ranks.
#[derive(Debug)]
struct Everybody {
    /// Number of the neighbourhood of every rank, and the lowest rank of each neighbourhood, ascending.
    of: Box<[u32]>,
    leaders: Box<[u32]>,
    /// Number of the host of every rank.
    hosts: Box<[u32]>,
}

/// Numbers of equal leaders: the distinct ones in ascending order, and for every rank the number of its own.
fn numbered(leaders: &[u32]) -> (Box<[u32]>, Box<[u32]>) {
    let mut distinct = leaders.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let number = |l: &u32| distinct.partition_point(|d| d < l) as u32;
    (leaders.iter().map(number).collect(), distinct.into())
}

impl Everybody {
    /// From what each rank says: the lowest rank of its host, and that of its neighbourhood.
    fn new(size: u32, said: &Gathered) -> Result<Everybody, Error> {
        let word = |text: &[u8], at: usize| {
            let bytes = text.get(at..at + 4).and_then(|b| b.try_into().ok());
            bytes
                .map(u32::from_le_bytes)
                .ok_or_else(|| Error::job("an exchange at start gave an invalid result"))
        };
        let column = |at| said.parts().map(|text| word(text, at)).collect::<Result<Vec<u32>, Error>>();
        let (hosts, (of, leaders)) = (numbered(&column(0)?).0, numbered(&column(4)?));
        if said.ranks() != size as usize {
            return Err(Error::job(format!("an exchange among {size} ranks gave {} answers", said.ranks())));
        }
        Ok(Everybody { of, leaders, hosts })
    }
}

impl Neighbourhood {
    /// The neighbourhoods of a job as `rank` sees them: `host` are the ranks of its host, `limit` is the
    /// largest neighbourhood. `all_gather` tells all ranks what each says; it is called only if somebody is
    /// away.
    pub(crate) fn new(
        rank: u32,
        size: u32,
        host: &[u32],
        limit: u32,
        all_gather: impl FnOnce(&[u8]) -> Result<Arc<Gathered>, Error>,
    ) -> Result<Neighbourhood, Error> {
        let sorted = host.windows(2).all(|w| w[0] < w[1]) && host.last().is_some_and(|r| *r < size);
        let Some(at) = host.iter().position(|r| *r == rank).filter(|_| sorted) else {
            return Err(Error::job(format!("the launcher gave rank {rank} wrong neighbours: {host:?}")));
        };
        let full = (limit.max(1) as usize).min(host.len());
        let members: Box<[u32]> = host.chunks(full).nth(at / full).unwrap_or_default().into();
        let first = members[0];
        let span = members.last().map_or(0, |last| last - first + 1);
        let dense = if span as usize == members.len() { span } else { 0 };
        let mut index = vec![NOT_A_NEIGHBOUR; (span - dense) as usize].into_boxed_slice();
        if dense == 0 {
            (0..).zip(&members).for_each(|(i, r)| index[(*r - first) as usize] = i);
        }
        let me = (at % full) as u32;
        let part = ((at / full) as u32, full as u32);
        let all = if members.len() == size as usize {
            let same = || vec![0; size as usize].into_boxed_slice();
            Arc::new(Everybody { leaders: [first].into(), of: same(), hosts: same() })
        } else {
            let mine = [host[0].to_le_bytes(), first.to_le_bytes()].concat();
            all_gather(&mine)?.derive(|said| Everybody::new(size, said))?
        };
        Ok(Neighbourhood { me, members, first, dense, index, part, all })
    }

    /// The number of a neighbour among its like; `None` if the rank is none.
    #[inline]
    pub fn index(&self, rank: RankId) -> Option<u32> {
        let from_first = rank.0.wrapping_sub(self.first);
        if from_first < self.dense {
            return Some(from_first);
        }
        self.index.get(from_first as usize).copied().filter(|i| *i != NOT_A_NEIGHBOUR)
    }

    /// The number among the ranks of the host of a neighbour, given by its number among the neighbours.
    #[inline]
    pub fn on_host(&self, index: u32) -> u32 {
        self.part.0 * self.part.1 + index
    }

    /// The neighbours in ascending order, this rank among them.
    #[inline]
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Ranks in the neighbourhood.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "it has this rank at least")]
    pub fn len(&self) -> u32 {
        self.members.len() as u32
    }

    /// Whether all ranks of the job are neighbours.
    #[inline]
    pub fn is_whole_job(&self) -> bool {
        self.all.leaders.len() == 1
    }

    /// Whether this rank leads a neighbourhood among several.
    #[inline]
    pub(crate) fn leads(&self) -> bool {
        self.me == 0 && !self.is_whole_job()
    }

    /// Leaders of all neighbourhoods, and which of them is this one's.
    pub(crate) fn leaders(&self) -> (&[u32], usize) {
        (&self.all.leaders, self.all.of[self.members[0] as usize] as usize)
    }

    /// Number of the neighbourhood of a rank.
    pub(crate) fn of(&self, rank: RankId) -> Option<u32> {
        self.all.of.get(rank.0 as usize).copied()
    }

    /// Number of the host of a rank.
    pub(crate) fn host_of(&self, rank: RankId) -> Option<u32> {
        self.all.hosts.get(rank.0 as usize).copied()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The views of all ranks of a job with these hosts.
    fn all(hosts: &[&[u32]], limit: u32) -> Vec<Neighbourhood> {
        let size = hosts.iter().map(|h| h.len()).sum::<usize>() as u32;
        let host = |r: u32| *hosts.iter().find(|h| h.contains(&r)).unwrap();
        let said: Vec<Vec<u8>> = (0..size)
            .map(|r| {
                let mut mine = Vec::new();
                let _ = Neighbourhood::new(r, size, host(r), limit, |m| {
                    mine = m.to_vec();
                    Err(Error::job(""))
                });
                mine
            })
            .collect();
        (0..size)
            .map(|r| {
                Neighbourhood::new(r, size, host(r), limit, |_| Ok(Arc::new(Gathered::new(&said)))).unwrap()
            })
            .collect()
    }

    #[test]
    fn hosts_that_take_turns() {
        let n = all(&[&[0, 2, 4], &[1, 3]], u32::MAX);
        assert_eq!(n[2].members(), [0, 2, 4]);
        assert_eq!((n[2].me, n[2].index(RankId(4)), n[2].index(RankId(3))), (1, Some(2), None));
        assert_eq!(n[3].leaders(), (&[0, 1][..], 1));
        assert!(n[0].leads() && n[1].leads() && !n[2].leads());
        assert_eq!((0..5).map(|r| n[0].of(RankId(r)).unwrap()).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_host_taken_apart() {
        let n = all(&[&[0, 1, 2], &[3, 4, 5, 6, 7]], 2);
        let members: Vec<_> = n.iter().map(|n| n.members().to_vec()).collect();
        assert_eq!(members[..3], [vec![0, 1], vec![0, 1], vec![2]]);
        assert_eq!(members[3..], [vec![3, 4], vec![3, 4], vec![5, 6], vec![5, 6], vec![7]]);
        assert_eq!(n[7].leaders(), (&[0, 2, 3, 5, 7][..], 4));
        assert_eq!((n[6].part, n[6].on_host(n[6].me)), ((1, 2), 3));
        assert_eq!((n[0].host_of(RankId(2)), n[0].host_of(RankId(7))), (Some(0), Some(1)));
    }

    #[test]
    fn one_host_needs_no_exchange() {
        let n = Neighbourhood::new(1, 3, &[0, 1, 2], u32::MAX, |_| Err(Error::job("asked"))).unwrap();
        assert!(n.is_whole_job() && !n.leads() && n.len() == 3);
    }

    #[test]
    fn wrong_neighbours_are_refused() {
        for host in [&[0, 2][..], &[], &[1, 0], &[0, 1, 5]] {
            let nobody = |_: &[u8]| Ok(Arc::new(Gathered::new([[0u8; 0]; 0])));
            assert!(Neighbourhood::new(1, 3, host, 9, nobody).is_err(), "{host:?}");
        }
    }
}
