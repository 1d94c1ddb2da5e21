//! The trees along which members of a team send messages.
//!
//! Members of a team on one host send messages through shared memory, where a message costs little and a hop
//! costs a turn of the scheduler. They are connected to the *leader* of their host directly, in groups of
//! [`ARITY`]. Between hosts the number of rounds counts, so that leaders form a binomial tree over the hosts,
//! or exchange rounds.

/// Number of children of a member within its host.
const ARITY: usize = 8;

/// Which members are on one host: `hosts[h]` are the members of host `h` in ascending order; every member is
/// in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hosts {
    hosts: Vec<Vec<usize>>,
    of: Vec<usize>,
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
    pub(crate) fn new<T: PartialEq>(names: &[T]) -> Hosts {
        let mut hosts: Vec<Vec<usize>> = Vec::new();
        let mut of = Vec::with_capacity(names.len());
        for (m, name) in names.iter().enumerate() {
            match hosts.iter().position(|h| names[h[0]] == *name) {
                Some(h) => {
                    hosts[h].push(m);
                    of.push(h);
                }
                None => {
                    of.push(hosts.len());
                    hosts.push(vec![m]);
                }
            }
        }
        Hosts { hosts, of }
    }

    /// Whether all members are on one host.
    pub(crate) fn one(&self) -> bool {
        self.hosts.len() == 1
    }

    /// The leaders, and the members of `m`'s host with its leader first.
    pub(crate) fn leaders(&self, m: usize) -> (Vec<usize>, &[usize]) {
        (self.hosts.iter().map(|h| h[0]).collect(), &self.hosts[self.of[m]])
    }

    /// The place of `m` in the tree rooted at `root`.
    pub(crate) fn place(&self, root: usize, m: usize) -> TreePosition {
        let (home, count) = (self.of[root], self.hosts.len());
        let leader = |h: usize| if h == home { root } else { self.hosts[h][0] };
        let host = &self.hosts[self.of[m]];
        let lead = leader(self.of[m]);
        // Position among the host's members with the leader first.
        let order = |i: usize| match i {
            0 => lead,
            i => {
                let at = host.iter().position(|&x| x == lead).unwrap_or(0);
                host[if i <= at { i - 1 } else { i }]
            }
        };
        let mut place = TreePosition::default();
        let index = (0..host.len()).find(|&i| order(i) == m).unwrap_or(0);
        if index > 0 {
            place.parent = Some(order((index - 1) / ARITY));
        } else {
            let v = (self.of[m] + count - home) % count;
            let back = |v: usize| leader((v + home) % count);
            let tree = binomial(v, count);
            place.parent = tree.0.map(back);
            place.children.extend(tree.1.into_iter().map(|(c, _)| back(c)));
        }
        place
            .children
            .extend((index * ARITY + 1..=index * ARITY + ARITY).take_while(|&i| i < host.len()).map(order));
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
