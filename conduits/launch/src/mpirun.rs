//! `gasnetrun --conduit mpi`: MPI has to start its processes itself, so this process becomes `mpirun`, with
//! the same options in its words.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process;

use crate::Error;
use crate::command::{Command, find};
use crate::place;

/// Names the command that starts MPI programs.
const MPIRUN_VARIABLE: &str = "GASNET_MPIRUN";

/// Whether MPI has to start this job.
pub(crate) fn is_asked_for(command: &Command) -> bool {
    let given = command.environment.iter().rev().find(|(name, _)| name == "GASNET_CONDUIT");
    let name = given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("GASNET_CONDUIT"));
    name.is_some_and(|name| name.eq_ignore_ascii_case("mpi"))
}

/// The command that starts the job: the words of `GASNET_MPIRUN` or `mpirun`, and the options for `open_mpi`
/// (or else Hydra).
fn words(mpirun: &str, open_mpi: bool, command: &Command) -> Result<Vec<OsString>, Error> {
    let mut words: Vec<OsString> = mpirun.split_whitespace().map(OsString::from).collect();
    words.extend(["-n".into(), command.ranks.to_string().into()]);
    if let Some(named) = &command.hosts {
        let placed = place::place(named, command.ranks)?;
        let list: Vec<String> =
            placed.iter().map(|(host, ranks)| format!("{host}:{}", ranks.len())).collect();
        words.extend([if open_mpi { "--host" } else { "-hosts" }.into(), list.join(",").into()]);
    } else if open_mpi {
        // As under other launchers, ranks may outnumber processors.
        words.push("--oversubscribe".into());
    }
    for (name, value) in &command.environment {
        if open_mpi {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            words.extend(["-x".into(), pair]);
        } else {
            words.extend(["-env".into(), name.clone(), value.clone()]);
        }
    }
    words.push(command.program.clone());
    words.extend(command.arguments.iter().cloned());
    Ok(words)
}

/// The words that would start this job.
pub(crate) fn plan(command: &Command) -> Result<Vec<OsString>, Error> {
    find(&command.program)?;
    let given = std::env::var(MPIRUN_VARIABLE).ok().filter(|words| !words.trim().is_empty());
    let mpirun = given.unwrap_or_else(|| "mpirun".to_string());
    let name = mpirun.split_whitespace().next().unwrap_or("mpirun");
    let version = process::Command::new(name).arg("--version").output().map_err(|e| {
        Error::Mpirun(format!(
            "{name}: {e}; install Open MPI or MPICH, or name its mpirun in {MPIRUN_VARIABLE}"
        ))
    })?;
    words(&mpirun, is_open_mpi(&String::from_utf8_lossy(&version.stdout)), command)
}

/// Whether this version text is Open MPI's. Under another name than `mpirun`, Open MPI calls itself its
/// runtime.
fn is_open_mpi(version: &str) -> bool {
    ["Open MPI", "OpenRTE", "PRRTE"].iter().any(|name| version.contains(name))
}

/// Becomes `mpirun`. Returns only if that fails.
pub(crate) fn run(command: &Command) -> Result<i32, Error> {
    let words = plan(command)?;
    let error = process::Command::new(&words[0]).args(&words[1..]).exec();
    Err(Error::Mpirun(format!("{}: {error}", words[0].display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_open_mpi_is_known() {
        let known =
            ["mpirun (Open MPI) 4.1.4\n", "mpirun.openmpi (OpenRTE) 4.1.4\n", "prterun (PRRTE) 3.0.2\n"];
        assert!(known.into_iter().all(is_open_mpi));
        assert!(!is_open_mpi("HYDRA build details:\n    Version:  4.0.2\n"));
    }

    #[test]
    fn the_same_in_other_words() {
        let mut command = Command {
            ranks: 3,
            program: "prog".into(),
            arguments: vec!["-n".into()],
            environment: vec![("GASNET_CONDUIT".into(), "mpi".into())],
            bind: crate::bind::Bind::Core,
            verbose: false,
            limit: None,
            hosts: None,
        };
        assert!(is_asked_for(&command));
        let line = |open_mpi, command: &Command| {
            let words = words("mpirun -q", open_mpi, command).unwrap();
            words.iter().map(|w| w.to_str().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line(true, &command), "mpirun -q -n 3 --oversubscribe -x GASNET_CONDUIT=mpi prog -n");
        assert_eq!(line(false, &command), "mpirun -q -n 3 -env GASNET_CONDUIT mpi prog -n");
        command.hosts = Some(place::parse_list("a,b").unwrap());
        assert_eq!(line(false, &command), "mpirun -q -n 3 -hosts a:2,b:1 -env GASNET_CONDUIT mpi prog -n");
    }
}
