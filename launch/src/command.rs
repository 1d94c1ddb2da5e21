//! The description of a job, and the search for its program.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;
use crate::bind::Bind;
use crate::job::OnDeath;
use crate::place::Host;
use crate::rank_name::RankName;
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
    /// Write each rank's number before its lines.
    pub label: bool,
    /// The name of ranks in messages.
    pub called: RankName,
    /// End the job with status 124 after this time.
    pub limit: Option<Duration>,
    /// The effect of a rank's death.
    pub on_death: OnDeath,
    /// The hosts; `None` for this one.
    pub hosts: Option<Vec<Host>>,
}

/// Finds the executable file: in the current directory, else as a shell would. So a mistake gives one message
/// instead of one per rank.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf, Error> {
    let path = Path::new(program);
    if path.components().count() > 1 || path.is_absolute() || program.as_encoded_bytes().contains(&b'/') {
        return match path.metadata() {
            Err(_) => Err(Error::NotFound(path.into(), String::new())),
            Ok(_) => runnable(path),
        };
    }
    // A program of the current directory comes first, since `gasnetrun sum` hardly means coreutils' `sum`;
    // but not one that somebody else has put there.
    let here = Path::new(".").join(path);
    if here.metadata().is_ok_and(|file| file.is_file() && is_trusted(file.uid())) && executable(&here) {
        return Ok(here);
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
    if let Some(error) = refused {
        return Err(error);
    }
    let hint = if here.exists() {
        runnable(&here)?;
        format!(" in PATH; did you mean {}, which belongs to another user?", here.display())
    } else {
        format!(": there is no {}, and PATH ({}) has none", here.display(), search.display())
    };
    Err(Error::NotFound(path.into(), hint))
}

/// Whether a file of this user is run without being asked for by its path.
fn is_trusted(owner: u32) -> bool {
    owner == 0 || std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == owner)
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
