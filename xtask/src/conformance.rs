//! Records which tests have passed, and checks `docs/upc-conformance.md` against that.
//!
//! Every step that runs named tests writes the names of those that passed to a file of its own under
//! `target/passed`. The document has a table row for each rule. A row with the status `yes` must name tests,
//! and each of them must have passed:
//!
//! - `folder/test` or `folder/test:rule`: a program under `tests/upc`, or one rule in it;
//! - `c/test`: a program under `tests/c`;
//! - `rust/test`: a test function of a crate of the workspace, by its path in the crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::sh;

fn folder() -> PathBuf {
    sh::target().join("passed")
}

/// Removes what a step recorded before.
pub fn forget(step: &str) {
    // It may have recorded nothing.
    drop(fs::remove_file(folder().join(step)));
}

/// Records the names of the tests that passed in a step.
pub fn record(step: &str, names: &BTreeSet<String>) -> Result<(), String> {
    let path = folder().join(step);
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    let written = fs::create_dir_all(folder()).and_then(|()| fs::write(&path, text));
    written.map_err(|e| format!("{}: {e}", path.display()))
}

/// The step that runs the tests of a name's kind, over the default conduit.
fn step_of(name: &str) -> &'static str {
    match name.split_once('/') {
        Some(("c", _)) => "c-clients",
        Some(("rust", _)) => "unit",
        _ => "upc-tests",
    }
}

/// Steps that have recorded names.
fn steps() -> BTreeSet<String> {
    let files = fs::read_dir(folder()).into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().into_string().ok()).collect()
}

/// All recorded names.
fn passed() -> BTreeSet<String> {
    let files = fs::read_dir(folder()).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.flat_map(|text| text.lines().map(String::from).collect::<Vec<_>>()).collect()
}

/// The result of the check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Rows with the status yes.
    pub yes: usize,
    /// The rules of rows with the status no.
    pub no: Vec<String>,
    /// The errors, by line.
    pub problems: Vec<String>,
    /// Steps that have to run before their tests can be checked.
    pub missing: BTreeSet<&'static str>,
}

/// Checks the document against the tests that passed.
pub fn check() -> Result<Standing, String> {
    let path = sh::root().join("docs/upc-conformance.md");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(judge(&text, &steps(), &passed()))
}

fn judge(text: &str, steps: &BTreeSet<String>, passed: &BTreeSet<String>) -> Standing {
    let mut standing = Standing::default();
    let mut rules = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some(row) = line.strip_prefix('|') else { continue };
        // `\|` is a stroke within a cell.
        let row = row.replace("\\|", "\u{0}");
        let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect();
        let mut problem = |what: String| standing.problems.push(format!("line {number}: {what}"));
        let [rule, spec, tests, status, _] = &cells[..] else {
            problem("a row has four cells: rule, spec section, test, status".to_string());
            continue;
        };
        if rule == "rule" || rule.starts_with("---") {
            continue;
        }
        if rule.is_empty() || spec.is_empty() {
            problem("no rule or no section".to_string());
        }
        if !rules.insert(rule.clone()) {
            problem(format!("the rule is there twice: {rule}"));
        }
        match status.as_str() {
            "no" => standing.no.push(rule.clone()),
            "yes" => {
                standing.yes += 1;
                // Names are in backquotes.
                let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
                if names.is_empty() {
                    problem(format!("no test for: {rule}"));
                }
                for name in names {
                    if passed.contains(name) {
                        continue;
                    }
                    if !steps.contains(step_of(name)) {
                        standing.missing.insert(step_of(name));
                    } else {
                        problem(format!("the test {name} has not passed"));
                    }
                }
            }
            other => problem(format!("the status is yes or no, not {other:?}")),
        }
    }
    standing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str], passed: &[&str]) -> Standing {
        let head = "| rule | spec | test | status |\n|---|---|---|---|\n";
        judge(
            &format!("# T\n\n{head}{}\n", rows.join("\n")),
            &BTreeSet::from(["upc-tests".into()]),
            &passed.iter().map(|s| s.to_string()).collect(),
        )
    }

    #[test]
    fn rows_are_counted() {
        let standing =
            rows(&["| a \\| b | 6.1 | `x/y`, `x/z:r` | yes |", "| c | 6.2 | | no |"], &["x/y", "x/z:r"]);
        assert_eq!(standing, Standing { yes: 1, no: vec!["c".into()], ..Standing::default() });
    }

    #[test]
    fn tests_that_did_not_run_are_no_mistake() {
        let standing = rows(&["| a | 6.1 | `x/y`, `c/rma`, `rust/barrier::rules`, `c/am` | yes |"], &["x/y"]);
        assert_eq!(standing.problems, Vec::<String>::new());
        assert_eq!(standing.missing, BTreeSet::from(["c-clients", "unit"]));
        // One of a step that did run is.
        assert_eq!(rows(&["| a | 6.1 | `x/z`, `c/rma` | yes |"], &["x/y"]).problems.len(), 1);
    }

    #[test]
    fn a_yes_needs_tests_that_passed() {
        for row in [
            "| a | 6.1 | `x/y` | yes |",
            "| a | 6.1 | `ran`, `x/y` | yes |",
            "| a | 6.1 | | yes |",
            "| a | 6.1 | ran | yes |",
            "| a | 6.1 | `ran` | perhaps |",
            "| a | 6.1 | `ran` |",
            "| | 6.1 | `ran` | yes |",
            "| a | 6.1 | `ran` | yes |\n| a | 6.1 | `ran` | yes |",
        ] {
            assert_eq!(rows(&[row], &["ran"]).problems.len(), 1, "{row}");
        }
    }
}
