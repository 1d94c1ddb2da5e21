//! Programs over many ranks in `#[test]`s.
//!
//! A test must not call [`crate::run`]: it ends the process and with it the test harness, which would look
//! like success. The functions here start a job of separate processes for each call. The output of the
//! ranks becomes the output of the test. The test fails if a rank panics or exits with a status other than
//! 0.
//! ```no_run
//! # #[cfg(test)] mod tests { // what follows is in a file of tests
//! #[test]
//! fn everybody_is_counted() {
//!     pgas::testing::run(4, |world| {
//!         assert_eq!(world.reduce(1u32, |a, b| a + b), 4);
//!     });
//! }
//! # }
//! ```
//! **How.** The processes of the job run the test's executable again, only this test, and only up to this
//! call. Code of the test before the call therefore runs in them too, and the closure finds the same
//! captured values.

use crate::world::{World, program};
use core::cell::RefCell;
use gasnet_conduits::OnDeath;
use std::collections::HashMap;
use std::process::{Child, Command, Stdio};

/// Says to a process which call of which test it is to run. Like the boot's variable it is no setting.
const WHICH: &str = "PGAS_TESTING_CALL";
/// The line that the lowest rank prints when it has found the call.
const BEGUN: &str = "pgas-testing: the call was found";

/// Runs `body` on this many ranks of this host, and returns when it has returned on all of them.
///
/// # Panics
/// The job has ended with another status than 0. See [`Job::run`].
pub fn run<F: FnOnce(World)>(ranks: u32, body: F) {
    Job::new(ranks).run(body);
}

/// A job of a test: how many ranks, and settings.
#[derive(Debug, Clone)]
#[must_use = "a job is run"]
pub struct Job {
    ranks: u32,
    settings: Vec<(String, String)>,
    test: Option<String>,
    on_death: OnDeath,
}

impl Job {
    /// A job of `ranks` ranks.
    pub fn new(ranks: u32) -> Job {
        Job { ranks, settings: Vec::new(), test: None, on_death: OnDeath::End }
    }

    /// With this setting, an environment variable: `GASNET_CONDUIT`, or one of the program's own.
    pub fn setting(mut self, name: &str, value: &str) -> Job {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Whose ranks survive the death of others, as with `gasnetrun --on-death shrink`: the job has passed if
    /// those that are left have.
    pub fn survives(mut self) -> Job {
        self.on_death = OnDeath::Shrink(u32::MAX);
        self
    }

    /// Whose ranks survive the death of others, and are replaced, as with `gasnetrun --on-death heal`.
    pub fn heals(mut self) -> Job {
        self.on_death = OnDeath::Heal(u32::MAX);
        self
    }

    /// The test that runs this, as the harness names it (`module::name`). It need not be said where the
    /// test's own thread calls [`Job::run`], or where the closure is written in the test.
    pub fn test(mut self, name: &str) -> Job {
        self.test = Some(name.into());
        self
    }

    /// Runs `body` on all ranks.
    ///
    /// # Panics
    /// A rank has panicked, or the job has ended with another status than 0. The processes cannot be started,
    /// or do not find the test.
    pub fn run<F: FnOnce(World)>(self, body: F) {
        let test = self.test.clone().unwrap_or_else(name_of_test::<F>);
        let call = format!("{test}#{}", nth_call(&test));
        if let Ok(wanted) = std::env::var(WHICH) {
            if wanted != call {
                return; // an earlier call of the same test
            }
            gasnet_conduits::run_tested(self.ranks, self.on_death, World::first, |world| {
                if world.rank() == 0 {
                    println!("{BEGUN}");
                }
                program(world, body);
            });
        }
        let mut job = Command::new(std::env::current_exe().expect("a test has an executable"));
        job.args(["--exact", &test, "--include-ignored", "--nocapture", "--test-threads=1"]);
        job.env(WHICH, &call).envs(self.settings);
        job.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let job = gasnet_conduits::start_tested(job).and_then(Child::wait_with_output);
        let job = job.expect("the test's executable can be started");
        let (said, begun) = said(&String::from_utf8_lossy(&job.stdout), &test);
        // By macros: the harness keeps what these write.
        print!("{said}");
        eprint!("{}", String::from_utf8_lossy(&job.stderr));
        assert!(
            begun || !job.status.success(),
            "there is no test `{test}` that calls this: `Job::test` says which one it is"
        );
        assert!(
            job.status.success(),
            "a job of {} ranks has failed: {}. What its ranks have written is above",
            self.ranks,
            job.status
        );
    }
}

/// The output of the ranks, without lines of the test harness; and whether the call was found.
fn said(output: &str, test: &str) -> (String, bool) {
    let (mut said, mut begun) = (String::new(), false);
    for line in output.split_inclusive('\n') {
        let own = line.strip_prefix(&format!("test {test} ... ")).unwrap_or(line);
        match own.trim_end() {
            BEGUN => begun = true,
            "running 1 test" | "" => {}
            _ => said.push_str(own),
        }
    }
    (said, begun)
}

/// The test that the thread runs, which the harness names it by; else the function that has the closure.
fn name_of_test<F>() -> String {
    match std::thread::current().name() {
        Some(name) if name != "main" => name.into(),
        _ => {
            let path = core::any::type_name::<F>();
            let path = path.split_once("::{{closure}}").map_or(path, |(function, _)| function);
            path.split_once("::").map_or(path, |(_krate, path)| path).into()
        }
    }
}

/// How many calls of a test this thread has made before.
fn nth_call(test: &str) -> u32 {
    thread_local! {
        static CALLS: RefCell<HashMap<String, u32>> = RefCell::default();
    }
    CALLS.with_borrow_mut(|calls| {
        let count = calls.entry(test.into()).or_default();
        *count += 1;
        *count - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_is_left_out() {
        let output = format!("\nrunning 1 test\ntest a::b ... {BEGUN}\nhello\n\ntest x ... y\n");
        assert_eq!(said(&output, "a::b"), ("hello\ntest x ... y\n".to_string(), true));
        assert!(!said("\nrunning 0 tests\n", "a::b").1);
    }

    #[test]
    fn closures_name_their_tests() {
        fn name<F>(_: F) -> String {
            std::thread::scope(|s| {
                let main = std::thread::Builder::new().name("main".into());
                main.spawn_scoped(s, name_of_test::<F>).unwrap().join().unwrap()
            })
        }
        assert_eq!(name(|_: World| ()), "testing::tests::closures_name_their_tests");
    }
}
