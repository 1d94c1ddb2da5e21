//! Makes a failure small, and says what is left of it.

use crate::plan::SimulationPlan;
use crate::run::RunOutcome;
use gasnet_sim::Pick;
use std::time::{Duration, Instant};

/// Bounds of the search.
const MOST_RUNS: u32 = 1000;
const LONGEST_SEARCH: Duration = Duration::from_secs(20);

/// The picks of a failure that matter.
#[derive(Debug)]
pub(crate) struct Small {
    pub(crate) picks: Vec<Pick>,
    /// The run with these alone; `None` if no picks repeat the failure.
    pub(crate) outcome: Option<RunOutcome>,
    pub(crate) runs: u32,
}

/// Leaves picks out of a failure as long as it stays the same one (ddmin, Zeller and Hildebrandt 2002).
pub(crate) fn shrink(failure: &RunOutcome, again: &mut dyn FnMut(Vec<Pick>) -> RunOutcome) -> Small {
    let began = Instant::now();
    let mut runs = 0;
    let mut picks = failure.picks.clone();
    let mut best = None;
    let mut fails = |picks: &[Pick], runs: &mut u32| {
        *runs += 1;
        let outcome = again(picks.to_vec());
        outcome.fails_like(failure).then_some(outcome)
    };
    if let Some(outcome) = fails(&[], &mut runs) {
        return Small { picks: Vec::new(), outcome: Some(outcome), runs };
    }
    let mut parts = 2;
    while !picks.is_empty() && runs < MOST_RUNS && began.elapsed() < LONGEST_SEARCH {
        let size = picks.len().div_ceil(parts);
        let fewer = (0..picks.len()).step_by(size).find_map(|from| {
            let rest = [&picks[..from], &picks[(from + size).min(picks.len())..]].concat();
            // Bounds hold inside of a round, too.
            if runs >= MOST_RUNS || began.elapsed() >= LONGEST_SEARCH {
                return None;
            }
            fails(&rest, &mut runs).map(|outcome| (rest, outcome))
        });
        match fewer {
            Some((rest, outcome)) => {
                (picks, best) = (rest, Some(outcome));
                parts = parts.saturating_sub(1).max(2);
            }
            None if size == 1 => break,
            None => parts = (parts * 2).min(picks.len()),
        }
    }
    if best.is_none() {
        best = fails(&picks, &mut runs);
    }
    // What these picks mean in this run.
    let picks = best.as_ref().map_or(picks, |best| best.picks.clone());
    Small { picks, outcome: best, runs }
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

/// What is said about a failure.
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
    match small.picks.len() {
        0 => text += "\n  cause:  it fails whatever the order: the costs' own order fails too",
        n => {
            let matter = if n == 1 { "1".into() } else { n.to_string() };
            let verb = if n == 1 { "matters" } else { "matter" };
            text += &format!("\n  cause:  {matter} of {all} choices {verb} (shrunk in {runs} runs):");
        }
    }
    const MOST_SHOWN: usize = 12;
    for pick in small.picks.iter().take(MOST_SHOWN) {
        text += &format!("\n          choice {}: {}", pick.choice, pick.text);
    }
    if small.picks.len() > MOST_SHOWN {
        text += &format!("\n          and {} more", small.picks.len() - MOST_SHOWN);
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

    fn pick(choice: u64) -> Pick {
        Pick { choice, way: 1, ways: 0, text: String::new() }
    }

    fn outcome(ended: Ended, picks: Vec<Pick>) -> RunOutcome {
        RunOutcome { picks, choices: 1000, ..RunOutcome::bare(ended, "text".into()) }
    }

    #[test]
    fn what_matters_is_left() {
        for needed in [vec![], vec![17], vec![3, 700], vec![0, 1, 500, 999]] {
            let all: Vec<Pick> = (0..1000).map(pick).collect();
            let mut again = |picks: Vec<Pick>| {
                let has = |n: &u64| picks.iter().any(|pick| pick.choice == *n);
                let ended = if needed.iter().all(has) { Ended::Panic } else { Ended::Well };
                outcome(ended, picks)
            };
            let small = shrink(&outcome(Ended::Panic, all), &mut again);
            assert_eq!(small.picks.iter().map(|p| p.choice).collect::<Vec<_>>(), needed);
            assert!(small.outcome.is_some() && small.runs < 300, "{} runs", small.runs);
        }
    }

    #[test]
    fn numbers_are_read_easily() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1000, 12_345_678].map(thousands));
    }
}
