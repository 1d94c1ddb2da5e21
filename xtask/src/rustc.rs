//! The compiler as cargo calls it for the tests: a test program is compiled without optimisation.
//!
//! That takes a third of the processor time. A profile cannot say so, since it cannot tell the test program
//! of a package from the library, which the jobs of other packages run and which stays optimised. So cargo
//! is told to call this program instead of the compiler (`RUSTC_WRAPPER`), as `xtask PATH/rustc ARGUMENTS`.
//! Cargo does not look at the wrapper when it decides whether something is up to date: what others have
//! built serves, too.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Test programs that stay optimised, by the source that cargo names.
const OPTIMISED: [&str; 4] = [
    // They compute for longer than they take to compile.
    "conduits/netvm/src/lib.rs",
    "firehose/tests/adversary.rs",
    "lab/papers/src/main.rs",
    // A test fills the stack as far as it may, and without optimisation a call needs more of it.
    "pgas/src/lib.rs",
];

/// Whether a task is this one.
pub fn is_compiler(task: &OsStr) -> bool {
    Path::new(task).file_name().is_some_and(|name| name == "rustc")
}

/// Becomes the compiler. Comes back with an error only.
pub fn main(compiler: &OsStr, words: &[OsString]) -> String {
    let error = Command::new(compiler).args(words).args(further(words)).exec();
    format!("{}: {error}", Path::new(compiler).display())
}

/// What the compiler is told beside what cargo says: of two levels it takes the last.
fn further(words: &[OsString]) -> &'static [&'static str] {
    let is_test = words.iter().any(|word| word == "--test");
    let stays = words.iter().any(|word| OPTIMISED.iter().any(|source| word == source));
    if is_test && !stays { &["-C", "opt-level=0"] } else { &[] }
}

/// Lets a cargo command call this program for the compiler, unless the user has another one in its place.
pub fn for_tests(mut cargo: Command) -> Command {
    let users = ["RUSTC", "RUSTC_WRAPPER"].iter().any(|name| std::env::var_os(name).is_some());
    if let (false, Ok(own)) = (users, std::env::current_exe()) {
        cargo.env("RUSTC_WRAPPER", own);
    }
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> bool {
        !further(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).is_empty()
    }

    #[test]
    fn test_programs_alone_are_compiled_without_optimisation() {
        assert!(told("--crate-name gasnet --edition=2024 gasnet-rs/core/src/lib.rs -C opt-level=1 --test"));
        assert!(!told(
            "--crate-name gasnet --edition=2024 gasnet-rs/core/src/lib.rs --crate-type lib -C opt-level=1"
        ));
        assert!(!told("--crate-name gasnet_netvm conduits/netvm/src/lib.rs -C opt-level=1 --test"));
        assert!(!told("-vV"));
        assert!(is_compiler(OsStr::new("/toolchain/bin/rustc")) && is_compiler(OsStr::new("rustc")));
        assert!(!is_compiler(OsStr::new("run")));
    }

    #[test]
    fn programs_that_stay_optimised_are_there() {
        for source in OPTIMISED {
            assert!(crate::sh::root().join(source).is_file(), "{source}");
        }
    }
}
