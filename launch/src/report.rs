//! Reports which rank waits for which: it combines the ranks' answers to the question what they are blocked
//! in. No system calls.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::rank_name::RankName;
use gasnet_wire::boot::Blocked;

/// How long ranks may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

/// A report under way.
#[derive(Debug)]
pub struct Report {
    /// The waits of each rank: several if the rank has several threads.
    waits: Vec<Vec<Blocked>>,
    due: Instant,
}

impl Report {
    /// A report that begins now, for a job of `size` ranks.
    pub fn new(size: u32, now: Instant) -> Report {
        Report { waits: vec![Vec::new(); size as usize], due: now + ANSWER_LIMIT }
    }

    /// The time at which it is printed.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// A rank has answered.
    pub fn add(&mut self, rank: u32, wait: Blocked) {
        let waits = &mut self.waits[rank as usize];
        // A rank that reported its wait by itself, without the place, is asked again by the report that this
        // starts.
        let same = |w: &&mut Blocked| {
            let place = if w.place.is_empty() { wait.place.clone() } else { w.place.clone() };
            Blocked { seconds: wait.seconds, place, ..(**w).clone() } == wait
        };
        match waits.iter_mut().find(same) {
            Some(known) => *known = wait,
            None => waits.push(wait),
        }
    }

    /// The ranks that a wait is for: its peer, or those that are not in the barrier.
    fn targets(&self, wait: &Blocked) -> Vec<u32> {
        match (wait.peer, wait.barrier) {
            (Some(peer), _) => vec![peer],
            (None, Some(phase)) => {
                let inside = |r: &u32| self.waits[*r as usize].iter().any(|w| w.barrier == Some(phase));
                (0..self.waits.len() as u32).filter(|r| !inside(r)).collect()
            }
            (None, None) => Vec::new(),
        }
    }

    /// The lines of the report, with this name for ranks; `gone` tells which ones have left.
    pub fn lines(&self, called: RankName, gone: impl Fn(u32) -> bool) -> Vec<String> {
        let mut lines = vec![format!("what the {} are blocked in:", called.several())];
        for (rank, waits) in (0..).zip(&self.waits) {
            if waits.is_empty() {
                let state =
                    if gone(rank) { "has left" } else { "is not blocked in the runtime, or has just begun" };
                lines.push(format!("  {} {state}", called.rank(rank)));
            }
            for wait in waits {
                let mut line = format!("  {} {}", called.rank(rank), called.wait(wait));
                if wait.peer.is_none() && wait.barrier.is_some() {
                    let missing = self.targets(wait);
                    line += &match missing.len() {
                        0 => format!("; all {} are in it", called.several()),
                        _ => format!("; not in it: {}", called.numbers(&missing)),
                    };
                }
                lines.push(line);
            }
        }
        let edges: Vec<String> = (0..self.waits.len() as u32)
            .filter_map(|rank| {
                let to: BTreeSet<u32> = self.waits[rank as usize]
                    .iter()
                    .flat_map(|w| self.targets(w))
                    .filter(|t| *t != rank)
                    .collect();
                let to: Vec<u32> = to.into_iter().collect();
                (!to.is_empty()).then(|| format!("{} -> {}", called.number(rank), called.numbers(&to)))
            })
            .collect();
        if !edges.is_empty() {
            lines.push(format!("who waits for whom: {}", edges.join("; ")));
        }
        if let Some(cycle) = self.cycle() {
            let numbers = cycle.iter().chain(cycle.first()).map(|rank| called.number(*rank));
            let names: Vec<String> = numbers.map(|number| number.to_string()).collect();
            lines.push(format!("they wait for each other: {}", names.join(" -> ")));
        }
        lines
    }

    /// A cycle of ranks that wait for one another, if there is one.
    fn cycle(&self) -> Option<Vec<u32>> {
        let next = |rank: u32| -> Vec<u32> {
            self.waits.get(rank as usize).into_iter().flatten().flat_map(|w| self.targets(w)).collect()
        };
        let size = self.waits.len();
        let mut done = vec![false; size];
        for start in 0..size as u32 {
            // Depth first; `path` holds each rank and the ranks it waits for that are not visited yet.
            let mut path: Vec<(u32, Vec<u32>)> = vec![(start, next(start))];
            while let Some((rank, rest)) = path.last_mut() {
                let rank = *rank;
                match rest.pop() {
                    Some(to) if to as usize >= size || done[to as usize] => {}
                    Some(to) => match path.iter().position(|(r, _)| *r == to) {
                        Some(at) => return Some(path[at..].iter().map(|(r, _)| *r).collect()),
                        None => path.push((to, next(to))),
                    },
                    None => {
                        done[rank as usize] = true;
                        path.pop();
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(peer: Option<u32>, barrier: Option<u32>) -> Blocked {
        let (place, what) = ("main (a.c:7)".into(), "an operation".into());
        Blocked { peer, barrier, seconds: 2, place, what, ..Blocked::default() }
    }

    #[test]
    fn a_cycle_is_named() {
        let mut r = Report::new(4, Instant::now());
        r.add(0, wait(Some(2), None));
        r.add(2, wait(Some(3), None));
        r.add(3, wait(Some(2), None));
        r.add(3, Blocked { place: String::new(), ..wait(Some(0), None) });
        r.add(3, wait(Some(0), None));
        assert_eq!(r.waits[3].len(), 2, "a wait without its place, and with it, is one");
        r.waits[3].pop();
        let images = RankName::of("cafrun");
        assert_eq!(r.lines(images, |_| false)[6], "they wait for each other: 3 -> 4 -> 3");
        let lines = r.lines(RankName::default(), |_| false);
        assert_eq!(lines[1], "  rank 0 waits for rank 2: an operation, for 2 s, in main (a.c:7)");
        assert_eq!(lines[2], "  rank 1 is not blocked in the runtime, or has just begun");
        assert_eq!(lines[5], "who waits for whom: 0 -> 2; 2 -> 3; 3 -> 2");
        assert_eq!(lines[6], "they wait for each other: 2 -> 3 -> 2");
    }

    #[test]
    fn who_is_missing_in_a_barrier() {
        let mut r = Report::new(4, Instant::now());
        for rank in [0, 2] {
            r.add(rank, wait(None, Some(7)));
        }
        r.add(3, wait(None, Some(6)));
        let lines = r.lines(RankName::default(), |rank| rank == 1);
        assert!(
            lines[1].ends_with("waits in barrier 7, for 2 s, in main (a.c:7); not in it: 1,3"),
            "{}",
            lines[1]
        );
        assert_eq!(lines[2], "  rank 1 has left");
        // Different phases: each waits for the other.
        assert!(lines.last().unwrap().starts_with("they wait for each other: "));
    }

    #[test]
    fn a_line_of_waits_is_no_cycle() {
        let mut r = Report::new(300, Instant::now());
        for rank in 0..299 {
            r.add(rank, wait(Some(rank + 1), None));
        }
        r.add(299, wait(Some(4711), None));
        assert_eq!(r.cycle(), None);
    }
}
