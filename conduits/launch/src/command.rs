//! What a job is made of, and where its program is.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::bind::Bind;
use crate::place::Host;
use gasnet_sys::process::executable;

/// A job to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Number of ranks.
    pub ranks: u32,
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables added to the environment of the ranks.
    pub environment: Vec<(OsString, OsString)>,
    /// Placement of the ranks.
    pub bind: Bind,
    /// Print where ranks run.
    pub verbose: bool,
    /// End the job with status 124 after this time.
    pub limit: Option<Duration>,
    /// The hosts; `None` for this one.
    pub hosts: Option<Vec<Host>>,
}

/// Finds the executable file as a shell would, so that a mistake gives one message instead of one per rank.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf, Error> {
    let path = Path::new(program);
    if path.components().count() > 1 || path.is_absolute() || program.as_encoded_bytes().contains(&b'/') {
        return match path.metadata() {
            Err(_) => Err(Error::NotFound(path.into(), String::new())),
            Ok(_) => runnable(path),
        };
    }
    let search = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut refused = None;
    for folder in env::split_paths(&search) {
        let candidate = folder.join(path);
        if candidate.is_file() {
            match runnable(&candidate) {
                Ok(found) => return Ok(found),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
    }
    let hint =
        if path.is_file() { format!(" in PATH; did you mean ./{}?", path.display()) } else { String::new() };
    Err(refused.unwrap_or_else(|| Error::NotFound(path.into(), hint)))
}

fn runnable(path: &Path) -> Result<PathBuf, Error> {
    if path.is_dir() {
        Err(Error::NotExecutable(path.into(), "is a directory"))
    } else if !executable(path) {
        let source = path.extension().is_some_and(|e| e == "upc");
        let why = if source { "is a source; upcrun compiles and runs it" } else { "is not executable" };
        Err(Error::NotExecutable(path.into(), why))
    } else {
        Ok(path.into())
    }
}
