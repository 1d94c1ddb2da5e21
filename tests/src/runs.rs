//! The `run:` comments of test programs: on how many ranks a program runs, and how that must end.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::run::{Outcome, run};
use crate::suite::{Options, uncounted};

/// One `run:` comment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Numbers of ranks, a job for each.
    pub ranks: Vec<u32>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables of the job.
    pub env: Vec<(String, String)>,
    /// Exit status that must come out.
    pub status: i32,
    /// Texts that must appear in the output.
    pub says: Vec<String>,
    /// Texts that must not.
    pub never: Vec<String>,
    /// Seconds it may take.
    pub within: Option<f64>,
    /// Start with a launcher instead of the environment.
    pub launcher: bool,
    /// Options of that.
    pub options: Vec<String>,
}

impl Run {
    /// `1 2 4 | args a b | env NAME=value | status 3 | says text | never text | within 2 | launcher --option`
    ///
    /// # Errors
    /// The mistake in the text.
    pub fn parse(text: &str) -> Result<Run, String> {
        let mut run = Run::default();
        let mut parts = text.split('|');
        for word in parts.next().unwrap_or_default().split_whitespace() {
            run.ranks.push(word.parse().map_err(|_| format!("bad number of ranks '{word}'"))?);
        }
        for part in parts {
            let (key, value) = part.trim().split_once(' ').unwrap_or((part.trim(), ""));
            match key {
                "args" => run.args = value.split_whitespace().map(String::from).collect(),
                "env" => {
                    let (name, value) =
                        value.split_once('=').ok_or_else(|| format!("env without '=': {value}"))?;
                    if value.contains(' ') {
                        return Err(format!(
                            "several settings in one part: 'env {name}={value}'; write | env ... | env ..."
                        ));
                    }
                    run.env.push((name.into(), value.into()));
                }
                "status" => {
                    run.status = value.trim().parse().map_err(|_| format!("bad status '{value}'"))?;
                }
                "says" => run.says.push(value.trim().into()),
                "never" => run.never.push(value.trim().into()),
                "within" => {
                    run.within = Some(value.trim().parse().map_err(|_| format!("bad time '{value}'"))?);
                }
                "launcher" => {
                    run.launcher = true;
                    run.options = value.split_whitespace().map(String::from).collect();
                }
                _ => return Err(format!("unknown part '{part}' of a run")),
            }
        }
        Ok(run)
    }

    /// The numbers of ranks that the options leave.
    pub fn jobs(&self, options: &Options) -> Vec<u32> {
        let wanted = |n: &u32| options.ranks.is_empty() || options.ranks.contains(n);
        match self.has_network_of_its_own(options) {
            true => Vec::new(),
            false => self.ranks.iter().copied().filter(wanted).collect(),
        }
    }

    /// The run names its conduit, and all are to go over some other one: it belongs to a suite that leaves it
    /// the choice.
    fn has_network_of_its_own(&self, options: &Options) -> bool {
        let names = |env: &[(String, String)]| env.iter().any(|(name, _)| name == "GASNET_CONDUIT");
        names(&self.env) && names(&options.env)
    }

    /// Runs a program on this many ranks, by the launcher if the run asks for one, in this folder if in one.
    ///
    /// # Errors
    /// The mistake, and the output of the program.
    pub fn execute(
        &self,
        options: &Options,
        launcher: &Path,
        program: &Path,
        ranks: u32,
        input: &str,
        folder: Option<&Path>,
    ) -> Result<(), String> {
        let mut command = if self.launcher {
            let mut launched = Command::new(launcher);
            launched.args(["-n", &ranks.to_string()]).args(&self.options).arg(program);
            launched
        } else {
            let mut direct = Command::new(program);
            direct.env("GASNET_PSHM_NODES", ranks.to_string());
            direct
        };
        command.args(&self.args);
        forget_cargo(&mut command);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        for (name, value) in options.env.iter().chain(&self.env) {
            command.env(name, value);
        }
        let start = Instant::now();
        let outcome = run(command, input, options.limit).map_err(|error| error.to_string())?;
        let uncounted = || match (ranks, outcome.status) {
            (2.., Some(0)) => uncounted(&outcome.stderr, &options.counts),
            _ => None,
        };
        match self.complaint(&outcome, start.elapsed()).or_else(uncounted) {
            None => Ok(()),
            Some(why) => Err(format!("{why}\n{}", outcome.report())),
        }
    }

    /// The first deviation of a run's end or output from its expectations.
    pub fn complaint(&self, outcome: &Outcome, took: Duration) -> Option<String> {
        // A shell would report death by a signal as 128 + its number; a job that runs in this process has no
        // shell.
        if outcome.status.is_some_and(|status| status != self.status)
            || (outcome.status.is_none() && self.status < 128)
            || outcome.timed_out
        {
            return Some(format!("exit status {} expected", self.status));
        }
        let output = format!("{}{}", outcome.stdout, outcome.stderr);
        if let Some(text) = self.says.iter().find(|text| !output.contains(text.as_str())) {
            return Some(format!("the output must contain: {text}"));
        }
        if let Some(text) = self.never.iter().find(|text| output.contains(text.as_str())) {
            return Some(format!("the output must not contain: {text}"));
        }
        if self.status == 0 && output.contains("ERROR") {
            return Some("the program reports an ERROR".into());
        }
        if let Some(limit) = self.within.filter(|&limit| took.as_secs_f64() > limit) {
            return Some(format!("took {:.2} s; at most {limit} s allowed", took.as_secs_f64()));
        }
        None
    }
}

/// Takes out of the loader's path what cargo put there for this program: its own builds of the libraries,
/// where those of the installation are meant.
fn forget_cargo(command: &mut Command) {
    const PATH: &str = "LD_LIBRARY_PATH";
    let own = std::env::current_exe().unwrap_or_default();
    let builds = own.parent().and_then(Path::parent).unwrap_or(&own);
    let Some(path) = std::env::var_os(PATH) else { return };
    let others = std::env::split_paths(&path).filter(|folder| !folder.starts_with(builds));
    match std::env::join_paths(others) {
        Ok(path) if !path.is_empty() => command.env(PATH, path),
        _ => command.env_remove(PATH),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_comments() {
        let run = Run::parse(" 1 4 | args a b | env X=1 | status 3 | says one two | within 2.5").unwrap();
        assert_eq!(run.ranks, [1, 4]);
        assert_eq!(run.args, ["a", "b"]);
        assert_eq!(run.env, [("X".to_string(), "1".to_string())]);
        assert_eq!((run.status, run.within), (3, Some(2.5)));
        assert_eq!(run.says, ["one two"]);
        assert!(Run::parse("1 | what").is_err());
        assert!(Run::parse("one").is_err());
    }

    #[test]
    fn complaints() {
        let outcome = |status, stdout: &str| Outcome {
            status,
            timed_out: false,
            stdout: stdout.into(),
            stderr: String::new(),
            command: String::new(),
        };
        let run = Run::parse("1 | says yes").unwrap();
        let soon = Duration::ZERO;
        assert_eq!(run.complaint(&outcome(Some(0), "yes"), soon), None);
        assert!(run.complaint(&outcome(Some(0), "no"), soon).is_some());
        assert!(run.complaint(&outcome(Some(1), "yes"), soon).is_some());
        assert!(run.complaint(&outcome(None, "yes"), soon).is_some());
        assert!(run.complaint(&outcome(Some(0), "yes ERROR"), soon).is_some());
    }
}
