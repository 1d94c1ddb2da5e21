//! The trees along which members of a team send messages.
//!
//! Members of a team on one host send messages through shared memory, where a message costs little and a hop
//! costs a turn of the scheduler. They are connected to the *leader* of their host directly, in groups of
//! [`ARITY`]. Between hosts the number of rounds counts, so that leaders form a binomial tree over the hosts,
//! or exchange rounds.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Number of children of a member within its host.
const ARITY: usize = 8;

/// The hosts of a team's members. Every member is on one host; the members of a host are in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// On each host are so many members that follow each other; on the last one, what is left of all. Most
    /// jobs are such, and it takes no memory.
    Rows { members: usize, each: usize },
    /// The members of each host, and the host of each member.
    Listed { hosts: Vec<Vec<usize>>, of: Vec<u32> },
}

/// A member's position in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TreePosition {
    pub(crate) parent: Option<usize>,
    /// Members on other hosts first; among them, those with larger subtrees first.
    pub(crate) children: Vec<usize>,
}

impl Hosts {
    /// Groups members by the name of their host.
    pub(crate) fn new<T: Copy + Ord + Hash>(names: &[T]) -> Hosts {
        let each = names.iter().take_while(|name| **name == names[0]).count().max(1);
        let rows = names.chunks(each);
        let mut seen = HashSet::new();
        // Names mostly ascend: then nothing need be remembered.
        let ascend = rows.clone().is_sorted_by(|a, b| a[0] < b[0]);
        let mut is_new = |name| ascend || seen.insert(name);
        if rows.clone().all(|row| row.iter().all(|name| *name == row[0]) && is_new(row[0])) {
            return Hosts::Rows { members: names.len(), each };
        }
        let mut hosts: Vec<Vec<usize>> = Vec::new();
        let mut of = Vec::with_capacity(names.len());
        let mut numbers = HashMap::new();
        for (m, name) in names.iter().enumerate() {
            let host = *numbers.entry(*name).or_insert(hosts.len());
            if host == hosts.len() {
                hosts.push(Vec::new());
            }
            hosts[host].push(m);
            of.push(host as u32);
        }
        Hosts::Listed { hosts, of }
    }

    /// Number of hosts.
    pub(crate) fn count(&self) -> usize {
        match self {
            Hosts::Rows { members, each } => members.div_ceil(*each),
            Hosts::Listed { hosts, .. } => hosts.len(),
        }
    }

    /// Whether all members are on one host.
    pub(crate) fn one(&self) -> bool {
        self.count() == 1
    }

    /// The host of a member.
    pub(crate) fn of(&self, m: usize) -> usize {
        match self {
            Hosts::Rows { each, .. } => m / each,
            Hosts::Listed { of, .. } => of[m] as usize,
        }
    }

    /// Number of members on a host.
    pub(crate) fn size(&self, host: usize) -> usize {
        match self {
            Hosts::Rows { members, each } => (members - host * each).min(*each),
            Hosts::Listed { hosts, .. } => hosts[host].len(),
        }
    }

    /// A member of a host. The first is its leader.
    pub(crate) fn member(&self, host: usize, index: usize) -> usize {
        match self {
            Hosts::Rows { each, .. } => host * each + index,
            Hosts::Listed { hosts, .. } => hosts[host][index],
        }
    }

    /// The index of a member on its host.
    fn index(&self, m: usize) -> usize {
        match self {
            Hosts::Rows { each, .. } => m % each,
            Hosts::Listed { hosts, of } => hosts[of[m] as usize].partition_point(|&other| other < m),
        }
    }

    /// The place of `m` in the tree rooted at `root`.
    pub(crate) fn place(&self, root: usize, m: usize) -> TreePosition {
        let (home, own, count) = (self.of(root), self.of(m), self.count());
        let leader = |host: usize| if host == home { root } else { self.member(host, 0) };
        // The host's members with the leader first, whose index is `first`.
        let first = if own == home { self.index(root) } else { 0 };
        let in_order = |i: usize| match i {
            0 => leader(own),
            i => self.member(own, if i <= first { i - 1 } else { i }),
        };
        let mut place = TreePosition::default();
        let index = match self.index(m) {
            i if i == first => 0,
            i if i < first => i + 1,
            i => i,
        };
        if index > 0 {
            place.parent = Some(in_order((index - 1) / ARITY));
        } else {
            let v = (own + count - home) % count;
            let back = |v: usize| leader((v + home) % count);
            let tree = binomial(v, count);
            place.parent = tree.0.map(back);
            place.children.extend(tree.1.into_iter().map(|(c, _)| back(c)));
        }
        let below = (index * ARITY + 1..=index * ARITY + ARITY).take_while(|&i| i < self.size(own));
        place.children.extend(below.map(in_order));
        place
    }
}

/// The binomial tree over `0..count` rooted at 0, in which every subtree is a range: the parent of `v`, and
/// its children with the number of nodes below and including each, largest first.
pub(crate) fn binomial(v: usize, count: usize) -> (Option<usize>, Vec<(usize, usize)>) {
    let low = if v == 0 { count.next_power_of_two() } else { v & v.wrapping_neg() };
    let mut children = Vec::new();
    let mut k = low / 2;
    while k > 0 {
        if v + k < count {
            children.push((v + k, k.min(count - v - k)));
        }
        k /= 2;
    }
    ((v > 0).then(|| v - low), children)
}

/// Nodes of the subtree of `v`, itself included.
pub(crate) fn below(v: usize, count: usize) -> usize {
    let low = if v == 0 { count } else { v & v.wrapping_neg() };
    low.min(count - v)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Every member is reached once, and parents and children agree.
    fn check(hosts: &Hosts, n: usize, root: usize) {
        let places: Vec<TreePosition> = (0..n).map(|m| hosts.place(root, m)).collect();
        let mut reached = vec![false; n];
        let mut todo = vec![root];
        assert_eq!(places[root].parent, None);
        while let Some(m) = todo.pop() {
            assert!(!std::mem::replace(&mut reached[m], true), "{m} twice");
            for &c in &places[m].children {
                assert_eq!(places[c].parent, Some(m));
                todo.push(c);
            }
        }
        assert!(reached.iter().all(|r| *r), "{hosts:?} root {root}: {reached:?}");
    }

    #[test]
    fn trees_reach_everybody_once() {
        for n in 1..if cfg!(miri) { 5 } else { 40usize } {
            for kind in 0..5usize {
                let names: Vec<usize> = (0..n)
                    .map(|m| match kind {
                        0 => 0,
                        1 => m,
                        2 => m / 3,
                        3 => m % 4,
                        _ => (m * m) % 5,
                    })
                    .collect();
                let hosts = Hosts::new(&names);
                for m in 0..n {
                    let host = hosts.of(m);
                    assert!((0..hosts.size(host)).any(|i| hosts.member(host, i) == m));
                    let same = (0..n).filter(|&other| names[other] == names[m]);
                    assert!(same.eq((0..hosts.size(host)).map(|i| hosts.member(host, i))), "{hosts:?}");
                }
                for root in 0..n {
                    check(&hosts, n, root);
                }
            }
        }
    }

    #[test]
    fn binomial_subtrees_are_ranges() {
        for n in 1..if cfg!(miri) { 10 } else { 70 } {
            for v in 0..n {
                let (_, children) = binomial(v, n);
                let total: usize = children.iter().map(|c| c.1).sum();
                assert_eq!(total + 1, below(v, n));
                for (c, b) in children {
                    assert_eq!((binomial(c, n).0, below(c, n)), (Some(v), b));
                }
            }
        }
    }

    #[test]
    fn between_hosts_one_message_each() {
        let names: Vec<usize> = (0..24).map(|m| m / 6).collect();
        let hosts = Hosts::new(&names);
        for root in 0..24 {
            let crossing =
                (0..24).filter(|&m| hosts.place(root, m).parent.is_some_and(|p| p / 6 != m / 6)).count();
            assert_eq!(crossing, 3);
        }
    }
}
