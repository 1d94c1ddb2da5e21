//! Runs the Fortran test programs. See `tests/fortran/README.md`.

use std::process::ExitCode;
use std::time::Duration;

use gasnet_tests::fortran_suite;
use gasnet_tests::suite::Suite;

fn main() -> ExitCode {
    let limit = Duration::from_secs(200);
    let (list, run) = (fortran_suite::list, fortran_suite::suite);
    Suite { name: "fortran-suite", programs: "fortran", limit, list, run }.main()
}
