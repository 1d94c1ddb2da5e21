//! Makes a failure small, and says what is left of it.

use crate::plan::SimulationPlan;
use crate::run::RunOutcome;
use gasnet_sim::{Chooser, HeldStep, Pick};
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// Bounds of the search.
const MOST_RUNS: u32 = 1000;
const LONGEST_SEARCH: Duration = Duration::from_secs(20);

/// The part of a failure that matters.
#[derive(Debug, Default)]
pub(crate) struct Small {
    /// Steps, each with the step that it has to wait for.
    pub(crate) holds: Vec<HeldStep>,
    /// Or, if the failure has not come again under its holds, the choices.
    pub(crate) picks: Vec<Pick>,
    /// The run with these alone; `None` if nothing repeats the failure.
    pub(crate) outcome: Option<RunOutcome>,
    pub(crate) runs: u32,
}

/// The order of a run that is made again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Repetition<'a> {
    Holds(&'a [HeldStep]),
    Picks(&'a [Pick]),
}

impl Repetition<'_> {
    pub(crate) fn chooser(self) -> Chooser {
        match self {
            Repetition::Holds(holds) => Chooser::holding(holds),
            Repetition::Picks(picks) => Chooser::again(picks.to_vec(), false),
        }
    }
}

/// Makes a failure small: leaves out what has to wait for what as long as it stays the same failure (ddmin,
/// Zeller and Hildebrandt 2002), all of one rank first; then lets one wait of a rank stand for several.
pub(crate) fn shrink(failure: &RunOutcome, again: &mut dyn FnMut(Repetition<'_>) -> RunOutcome) -> Small {
    let mut search = Search { failure, again, began: Instant::now(), runs: 0, best: None };
    let mut small = Small::default();
    if !search.fails(Repetition::Holds(&[])) {
        if search.fails(Repetition::Holds(&failure.holds)) {
            small.holds = search.fewer_holds(failure.holds.clone());
        } else {
            let of = |picks: &[Pick], search: &mut Search<'_>| search.fails(Repetition::Picks(picks));
            small.picks = fewer(failure.picks.clone(), &mut search, &of);
            if search.best.is_none() {
                search.fails(Repetition::Picks(&small.picks));
            }
        }
    }
    Small { outcome: search.best, runs: search.runs, ..small }
}

struct Search<'a> {
    failure: &'a RunOutcome,
    again: &'a mut dyn FnMut(Repetition<'_>) -> RunOutcome,
    began: Instant,
    runs: u32,
    /// The last run that failed as the first one did.
    best: Option<RunOutcome>,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.runs >= MOST_RUNS || self.began.elapsed() >= LONGEST_SEARCH
    }

    fn fails(&mut self, order: Repetition<'_>) -> bool {
        self.runs += 1;
        let outcome = (self.again)(order);
        let fails = outcome.fails_like(self.failure);
        if fails {
            self.best = Some(outcome);
        }
        fails
    }

    /// Whether the failure comes under these holds; takes out those that nothing has waited for.
    fn fails_under(&mut self, holds: &mut Vec<HeldStep>) -> bool {
        let fails = !self.is_over() && self.fails(Repetition::Holds(holds));
        if let Some(best) = self.best.as_ref().filter(|_| fails) {
            let waited: HashSet<_> = best.holds.iter().map(|hold| hold.step.name()).collect();
            holds.retain(|hold| waited.contains(&hold.step.name()));
        }
        fails
    }

    fn fewer_holds(&mut self, mut holds: Vec<HeldStep>) -> Vec<HeldStep> {
        let who = |hold: &HeldStep| (hold.is_of_program(), hold.step.rank);
        let all: BTreeSet<_> = holds.iter().map(who).collect();
        for one in all {
            let mut without: Vec<HeldStep> = holds.iter().filter(|hold| who(hold) != one).cloned().collect();
            if without.len() < holds.len() && self.fails_under(&mut without) {
                holds = without;
            }
        }
        let of = |holds: &[HeldStep], search: &mut Search<'_>| search.fails(Repetition::Holds(holds));
        holds = fewer(holds, self, &of);
        // Whoever has waited twice, and the second time for what came later, may do so once.
        let pairs = |holds: &[HeldStep]| {
            let of = |i: usize| (i + 1..holds.len()).map(move |j| (i, j));
            let all = (0..holds.len()).flat_map(of).filter(|(i, j)| who(&holds[*i]) == who(&holds[*j]));
            all.collect::<Vec<_>>()
        };
        while !self.is_over() {
            let once = pairs(&holds).into_iter().find_map(|(i, j)| {
                let mut once = holds.clone();
                let later = once.remove(j);
                once[i].until = later.until;
                self.fails_under(&mut once).then_some(once)
            });
            match once {
                Some(once) => holds = fewer(once, self, &of),
                None => break,
            }
        }
        holds
    }
}

/// Leaves out what can be left out, in larger parts first.
fn fewer<T: Clone>(
    mut items: Vec<T>,
    search: &mut Search<'_>,
    fails: &dyn Fn(&[T], &mut Search<'_>) -> bool,
) -> Vec<T> {
    let mut parts = 2;
    while !items.is_empty() && !search.is_over() {
        let size = items.len().div_ceil(parts);
        let rest = (0..items.len()).step_by(size).find_map(|from| {
            let rest = [&items[..from], &items[(from + size).min(items.len())..]].concat();
            // Bounds hold inside of a round, too.
            (!search.is_over() && fails(&rest, search)).then_some(rest)
        });
        match rest {
            Some(rest) => {
                items = rest;
                parts = parts.saturating_sub(1).max(2);
            }
            None if size == 1 => break,
            None => parts = (parts * 2).min(items.len()),
        }
    }
    items
}

/// A number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The report of a failure.
pub(crate) fn report(
    plan: &SimulationPlan,
    seed: u64,
    outcome: &RunOutcome,
    small: &Small,
    how: &str,
    took: Duration,
) -> String {
    let place = if outcome.place.is_empty() { String::new() } else { format!(" ({})", outcome.place) };
    let (ranks, machine, explore) = (plan.ranks, &plan.machine, plan.how());
    let last = plan.seeds().end - 1;
    let of = if plan.runs > 1 { format!(" of {last}") } else { String::new() };
    let mut text = format!(
        "seed {seed}{of} fails ({ranks} ranks, {machine}, {explore}): {}{place}\n  again:  {how}",
        outcome.text
    );
    if small.outcome.is_none() {
        return text;
    }
    let (all, runs) = (thousands(outcome.choices), small.runs);
    match small.holds.len() + small.picks.len() {
        0 => text += "\n  cause:  it fails whatever the order: the costs' own order fails too",
        n => {
            let matter = if n == 1 { "1".into() } else { n.to_string() };
            let verb = if n == 1 { "matters" } else { "matter" };
            text += &format!("\n  cause:  {matter} of {all} choices {verb} (shrunk in {runs} runs):");
        }
    }
    const MOST_SHOWN: usize = 12;
    let picks = small.picks.iter().map(|pick| format!("choice {}: {}", pick.choice, pick.text));
    let lines: Vec<String> = small.holds.iter().map(HeldStep::to_string).chain(picks).collect();
    for line in lines.iter().take(MOST_SHOWN) {
        text += &format!("\n          {line}");
    }
    if lines.len() > MOST_SHOWN {
        text += &format!("\n          and {} more", lines.len() - MOST_SHOWN);
    }
    let others = seed - plan.seed;
    if others > 0 {
        let seconds = took.as_secs_f64();
        text += &format!("\n  known:  {} other seeds ended well; all took {seconds:.1} s", thousands(others));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Ended;
    use gasnet_sim::{Kind, NextStep};

    fn step(rank: u32, number: u32) -> NextStep {
        NextStep { chain: 0, step: 0, rank, from: rank, number, turn: 0, spins: false, kind: Kind::GoesOn }
    }

    /// The n-th step of one of ten ranks waits for another one of rank 11.
    fn hold(n: u32) -> HeldStep {
        HeldStep { step: step(n % 10, n), until: step(11, n) }
    }

    fn outcome(ended: Ended, holds: Vec<HeldStep>) -> RunOutcome {
        RunOutcome { holds, choices: 1000, ..RunOutcome::bare(ended, "text".into()) }
    }

    #[test]
    fn what_matters_is_left() {
        for needed in [vec![], vec![17], vec![3, 700], vec![0, 1, 502, 999]] {
            let all: Vec<HeldStep> = (0..1000).map(hold).collect();
            let mut again = |order: Repetition<'_>| {
                let Repetition::Holds(holds) = order else { panic!("holds are enough") };
                let has = |n: &u32| holds.contains(&hold(*n));
                let ended = if needed.iter().all(has) { Ended::Panic } else { Ended::Well };
                outcome(ended, holds.to_vec())
            };
            let small = shrink(&outcome(Ended::Panic, all), &mut again);
            assert_eq!(small.holds, needed.iter().copied().map(hold).collect::<Vec<_>>());
            assert!(small.outcome.is_some() && small.runs < 300, "{} runs", small.runs);
        }
    }

    #[test]
    fn one_wait_of_a_rank_stands_for_several() {
        // It fails if rank 3 takes its step 3 when rank 11 has taken 103, and its step 13 after 593 of them.
        let waits = |number, until| HeldStep { step: step(3, number), until: step(11, until) };
        let mut again = |order: Repetition<'_>| {
            let Repetition::Holds(holds) = order else { panic!("holds are enough") };
            let until =
                |number| holds.iter().find(|hold| hold.step.number == number).map(|hold| hold.until.number);
            let first = until(3).unwrap_or(0);
            let second = until(13).unwrap_or(0).max(first);
            outcome(if first >= 103 && second >= 593 { Ended::Panic } else { Ended::Well }, holds.to_vec())
        };
        let all = vec![waits(3, 103), hold(7), waits(13, 593), hold(15)];
        let small = shrink(&outcome(Ended::Panic, all), &mut again);
        assert_eq!(small.holds, [waits(3, 593)]);
    }

    #[test]
    fn choices_are_left_out_where_holds_repeat_nothing() {
        let pick = |choice| Pick { choice, way: 1, ways: 0, text: String::new() };
        let mut again = |order: Repetition<'_>| {
            let fails = matches!(order, Repetition::Picks(picks) if picks.contains(&pick(17)));
            outcome(if fails { Ended::Panic } else { Ended::Well }, Vec::new())
        };
        let failure =
            RunOutcome { picks: (0..100).map(pick).collect(), ..outcome(Ended::Panic, vec![hold(1)]) };
        assert_eq!(shrink(&failure, &mut again).picks, [pick(17)]);
    }

    #[test]
    fn numbers_are_read_easily() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1000, 12_345_678].map(thousands));
    }
}
