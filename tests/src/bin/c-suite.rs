//! Runs the C test programs. See `tests/c/README.md`.

use std::process::ExitCode;
use std::time::Duration;

use gasnet_tests::c_suite;
use gasnet_tests::suite::Suite;

fn main() -> ExitCode {
    let limit = Duration::from_secs(300);
    Suite { name: "c-suite", programs: "c", limit, list: c_suite::list, run: c_suite::suite }.main()
}
