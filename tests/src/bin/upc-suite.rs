//! Runs the UPC test programs. See `tests/upc/README.md`.

use std::process::ExitCode;
use std::time::Duration;

use gasnet_tests::suite::Suite;
use gasnet_tests::upc_suite;

fn main() -> ExitCode {
    let limit = Duration::from_secs(300);
    Suite { name: "upc-suite", programs: "upc", limit, list: upc_suite::list, run: upc_suite::suite }.main()
}
