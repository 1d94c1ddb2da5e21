//! `gasnetrun --replay`: becomes a rank that was recorded, or starts all ranks of a recording of the order
//! again.
//!
//! What the rank does follows from its recording if its memory lies where it lay: programs send addresses to
//! each other. So it gets the arguments and the environment that it had, at the same length to the byte,
//! since the stack begins below them, and the system does not choose addresses at random. The descriptor of
//! the recording is passed in the variable that names the rank's place otherwise.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::ORDER_VARIABLE;
use crate::command::find;
use crate::keeper::MARK_VARIABLE;
use crate::start::MESSAGE_VARIABLE;
use gasnet_decorators::record::{Kept, file_of};
use gasnet_decorators::replay::Facts;
use gasnet_sys::process::{become_program, keep_addresses};

/// The message to a program that it is to replay, before the number of a descriptor.
pub(crate) const MESSAGE: &str = "replay:";
/// What makes the message as long as that to a rank.
pub(crate) const PADDING: char = ':';

/// The library by which ranks get random numbers from a seed, and times that are recorded; empty if there was
/// no C compiler.
const INPUTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/inputs.so"));
/// Its name in the folder of a recording.
const INPUTS_FILE: &str = "inputs.so";
/// Commands for gdb, and the name of their file.
const SEE: &str = include_str!("see.py");
const SEE_FILE: &str = "see.py";
/// The variable that has libraries loaded before all others.
const PRELOAD: &str = "LD_PRELOAD";
/// The variable with the seed of a rank's random numbers.
const SEED: &str = "GASNETI_SEED";
/// The variable that says whether a rank whose order is recorded writes its recording, or follows it. To a
/// rank under gdb it says at which event to stop. The words have the same length, as the whole environment
/// should.
const TAPE: &str = "GASNETI_TAPE";
const WRITE: &str = "write...............";
const AGAIN: &str = "again...............";

/// Whether the ranks follow the recording in their environment.
pub fn is_again() -> bool {
    std::env::var_os(TAPE).is_some_and(|value| value == AGAIN)
}

/// The job that the ranks are again, if this process was told to run one.
pub(crate) fn followed_job() -> Option<u64> {
    let folder = is_again().then(|| std::env::var_os(ORDER_VARIABLE)).flatten()?;
    let file = File::open(file_of(folder.as_ref(), Kept::Order, 0)).ok()?;
    Some(Facts::of(file).ok()?.0.job)
}

/// Prepares the folder of a recording on this host, and returns what a rank needs in its environment.
pub(crate) fn variables(folder: &Path, job: u64, rank: u32) -> std::io::Result<Vec<(OsString, OsString)>> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let library = folder.join(INPUTS_FILE);
    // It takes a list.
    if INPUTS.is_empty() || library.as_os_str().as_bytes().iter().any(|b| b" :".contains(b)) {
        return Ok(Vec::new());
    }
    if std::fs::read(&library).ok().as_deref() != Some(INPUTS) {
        // By its whole name at once: ranks of a host that share the folder with another may be loading it.
        let made = folder.join(format!("{INPUTS_FILE}.{}", std::process::id()));
        std::fs::write(&made, INPUTS)?;
        std::fs::rename(&made, &library)?;
    }
    let mut libraries = library.into_os_string();
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    let seed = seed_of(job, rank);
    let tape = if is_again() { AGAIN } else { WRITE };
    Ok(vec![
        (PRELOAD.into(), libraries),
        (SEED.into(), format!("{seed:016x}").into()),
        (TAPE.into(), tape.into()),
    ])
}

/// The seed of a rank's random numbers. The library adds a number to it for each that is drawn, so seeds that
/// differ by multiples of it would give ranks the same numbers, one after the other.
fn seed_of(job: u64, rank: u32) -> u64 {
    let mixed = (job ^ job >> 29).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let seed = (mixed ^ u64::from(rank)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (seed ^ seed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// What is said at the end of a job that began then and was recorded; nothing if no rank of this host was.
pub(crate) fn summary(folder: &Path, kept: Kept, ranks: u32, since: SystemTime) -> Option<String> {
    if is_again() {
        return None;
    }
    let size = |rank| {
        let file = file_of(folder, kept, rank).metadata().ok()?;
        (file.modified().ok()? >= since).then_some(file.len())
    };
    let (files, bytes) =
        (0..ranks).filter_map(size).fold((0, 0), |(files, bytes), size| (files + 1, bytes + size));
    let folder = std::env::current_dir()
        .ok()
        .and_then(|here| Some(folder.strip_prefix(here).ok()?.to_path_buf()))
        .unwrap_or_else(|| folder.into());
    let rank = if kept == Kept::Frames { " --rank N" } else { "" };
    (files > 0).then(|| {
        format!(
            "recorded {files} ranks in {} KiB; they shared no memory, so the job may have taken longer than usual\n  again:  gasnetrun --replay {}{rank} PROGRAM",
            bytes >> 10,
            folder.display()
        )
    })
}

/// A rank to replay, or a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// The folder of the recording.
    pub folder: PathBuf,
    /// The rank; none for all ranks of a recording of the order.
    pub rank: Option<u32>,
    /// The options of `gasnetrun` for all ranks.
    pub options: Vec<OsString>,
    /// Whether to start it under gdb.
    pub gdb: bool,
    /// Its program and arguments; none for those of the recording.
    pub program: Option<(OsString, Vec<OsString>)>,
}

/// The variables of the recorded environment.
fn variables_of(facts: &Facts) -> impl Iterator<Item = (OsString, OsString)> {
    facts.environment.iter().filter_map(|variable| {
        let at = variable.iter().position(|b| *b == b'=')?;
        Some((OsString::from_vec(variable[..at].to_vec()), OsString::from_vec(variable[at + 1..].to_vec())))
    })
}

/// The recorded environment, with the message to replay in place of that to the rank.
fn environment(facts: &Facts, fd: i32) -> Vec<(OsString, OsString)> {
    let mut message = format!("{MESSAGE}{fd}");
    let mut pairs: Vec<_> = variables_of(facts).collect();
    pairs.retain(|(name, value)| {
        let told = name == MESSAGE_VARIABLE;
        if told {
            message.extend(std::iter::repeat_n(PADDING, value.len().saturating_sub(message.len())));
        }
        !told
    });
    pairs.push((MESSAGE_VARIABLE.into(), message.into()));
    pairs
}

impl Replay {
    /// Becomes the rank. Returns why it cannot.
    pub fn start(&self) -> String {
        self.try_start().err().unwrap_or_default()
    }

    fn try_start(&self) -> Result<(), String> {
        match self.rank {
            Some(rank) => self.start_rank(rank),
            None => self.start_all(),
        }
    }

    /// The program and its arguments.
    fn program(&self, facts: &Facts) -> Result<(PathBuf, Vec<OsString>), String> {
        let recorded = || facts.arguments.iter().skip(1).map(|word| OsString::from_vec(word.clone()));
        let (program, arguments) = match &self.program {
            Some((program, arguments)) => (find(program).map_err(|e| e.to_string())?, arguments.clone()),
            None => (Path::new(OsStr::from_bytes(&facts.program)).into(), recorded().collect()),
        };
        Ok((std::path::absolute(program).map_err(|e| e.to_string())?, arguments))
    }

    /// Becomes a `gasnetrun` in the environment that the job had.
    fn start_all(&self) -> Result<(), String> {
        let folder = std::path::absolute(&self.folder).map_err(|e| format!("--replay: {e}"))?;
        let path = file_of(&folder, Kept::Order, 0);
        if !path.exists() {
            return Err(if file_of(&folder, Kept::Frames, 0).exists() {
                "--replay: which rank? Give --rank N".into()
            } else {
                format!("--replay: there is no recording: no {}", path.display())
            });
        }
        let failed = |why: &dyn std::fmt::Display| format!("--replay: {}: {why}", path.display());
        let file = File::open(&path).map_err(|e| failed(&e))?;
        let (label, facts) = Facts::of(file).map_err(|why| failed(&why))?;
        let lacking: Vec<u32> =
            (0..label.size).filter(|rank| !file_of(&folder, Kept::Order, *rank).exists()).collect();
        if let Some(first) = lacking.first() {
            return Err(format!(
                "--replay: there is no recording of {} of the {} ranks, the first {}; if the job ran on several hosts, copy their files into this folder, since here all ranks run on one host",
                lacking.len(),
                label.size,
                file_of(&self.folder, Kept::Order, *first).display()
            ));
        }
        let (program, arguments) = self.program(&facts)?;
        let own = std::env::current_exe().map_err(|e| failed(&e))?;
        let mut command = Command::new(own);
        command.args(&self.options).arg("-n").arg(label.size.to_string()).arg(program).args(arguments);
        command.env_clear().envs(
            variables_of(&facts)
                .filter(|(name, _)| ![MESSAGE_VARIABLE, MARK_VARIABLE, SEED].iter().any(|own| name == own)),
        );
        if let Some((_, libraries)) = variables_of(&facts).find(|(name, _)| name == PRELOAD) {
            // The first is this project's, and comes anew.
            let others = libraries.as_bytes().splitn(2, |b| *b == b':').nth(1).unwrap_or_default();
            command.env(PRELOAD, OsStr::from_bytes(others));
        }
        command.env(TAPE, AGAIN).env(ORDER_VARIABLE, &folder);
        let directory = Path::new(OsStr::from_bytes(&facts.directory));
        if directory.is_dir() {
            command.current_dir(directory);
        }
        let why = become_program(&mut command, &[]);
        Err(failed(&why))
    }

    fn start_rank(&self, rank: u32) -> Result<(), String> {
        let path = file_of(&self.folder, Kept::Frames, rank);
        let failed = |why: &dyn std::fmt::Display| format!("--replay: {}: {why}", path.display());
        let open = || File::open(&path).map_err(|e| failed(&e));
        if !path.exists() && file_of(&self.folder, Kept::Order, rank).exists() {
            return Err("--replay: this recording has the order of messages only, so all ranks run again: leave --rank out".into());
        }
        if !path.exists() {
            let hint = "the folder is the one that was given to --record, and has a file for each rank";
            return Err(format!(
                "--replay: there is no recording of rank {rank}: no {}; {hint}",
                path.display()
            ));
        }
        let (label, facts) = Facts::of(open()?).map_err(|why| failed(&why))?;
        let tape = open()?;
        let (program, arguments) = self.program(&facts)?;
        let mut command = if self.gdb { under_gdb(&program, &self.folder)? } else { Command::new(&program) };
        command.args(arguments).env_clear().envs(environment(&facts, tape.as_raw_fd()));
        let directory = Path::new(OsStr::from_bytes(&facts.directory));
        if directory.is_dir() {
            command.current_dir(directory);
        }
        if label.rank > 0 && !self.gdb {
            command.stdin(Stdio::null());
        }
        if let Err(why) = keep_addresses() {
            eprintln!("gasnetrun: warning: addresses differ from those of the recording: {why}");
        }
        let why = become_program(&mut command, &[tape.as_fd()]);
        Err(format!("--replay: {}: {why}", Path::new(command.get_program()).display()))
    }
}

/// gdb, which adds nothing to the program's environment.
fn under_gdb(program: &Path, folder: &Path) -> Result<Command, String> {
    let script = std::path::absolute(folder.join(SEE_FILE)).map_err(|e| e.to_string())?;
    std::fs::write(&script, SEE).map_err(|e| format!("--gdb: {}: {e}", script.display()))?;
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-ex", "set startup-with-shell off", "-x"]).arg(script);
    gdb.args(["-ex", "unset environment LINES", "-ex", "unset environment COLUMNS", "--args"]).arg(program);
    Ok(gdb)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of two ranks have nothing to do with each other.
    #[test]
    fn seeds_of_ranks_are_no_steps_apart() {
        // What the library adds for each number drawn.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let steps: Vec<u64> = (0..1000u64).map(|n| n.wrapping_mul(STEP)).collect();
        for job in [0, 1, 0x1234_5678_9abc_def0] {
            let first = seed_of(job, 0);
            for rank in 1..64 {
                let apart = seed_of(job, rank).wrapping_sub(first);
                let near = |steps: &u64| *steps == apart || *steps == apart.wrapping_neg();
                assert!(!steps.iter().any(near), "job {job}, rank {rank}");
            }
        }
    }
}
