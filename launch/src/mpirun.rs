//! `gasnetrun --conduit mpi`: MPI has to start its processes itself, so this process becomes `mpirun`, with
//! the same options in its words.
//!
//! A rank of an MPI job may start another job. Open MPI's `mpirun` refuses that, and its processes would take
//! themselves for ranks of the job outside, so it does not get what that job's launcher has put into the
//! environment.

use std::ffi::{OsStr, OsString};
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
    if command.label {
        words.push(if open_mpi { "--tag-output" } else { "-prepend-rank" }.into());
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
    let version = outside_of_jobs(name.as_ref()).arg("--version").output().map_err(|e| {
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

/// Variables that say that this process is a rank of an MPI job: of Open MPI, of PMIx, of Hydra.
const RANK_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];

/// The beginnings of names of variables that launchers of MPI set for their ranks. Settings of the user
/// begin with `OMPI_MCA_`, too.
const LAUNCHER_PREFIXES: [&str; 20] = [
    "PMIX_",
    "PMI_",
    "PRTE_",
    "HYDI_",
    "MPI_LOCAL",
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_FILE_LOCATION",
    "OMPI_FIRST_RANKS",
    "OMPI_APP_CTX_",
    "OMPI_NUM_APP_CTX",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "OMPI_MCA_orte_",
    "OMPI_MCA_ess",
    "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_rmaps_base_oversubscribe",
    "OMPI_MCA_mpi_oversubscribe",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
];

/// The variables, of those with these names, that belong to the MPI job that this process is a rank of.
fn of_job_outside(names: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let begins = |name: &OsStr, with: &str| name.as_encoded_bytes().starts_with(with.as_bytes());
    let names: Vec<OsString> = names.collect();
    if !names.iter().any(|name| RANK_VARIABLES.iter().any(|rank| name == rank)) {
        return Vec::new();
    }
    names.into_iter().filter(|name| LAUNCHER_PREFIXES.iter().any(|with| begins(name, with))).collect()
}

/// A command that does not learn of the MPI job that this process is a rank of.
fn outside_of_jobs(program: &OsStr) -> process::Command {
    let mut command = process::Command::new(program);
    for name in of_job_outside(std::env::vars_os().map(|(name, _)| name)) {
        command.env_remove(name);
    }
    command
}

/// Becomes `mpirun`. Returns only if that fails.
pub(crate) fn run(command: &Command) -> Result<i32, Error> {
    let words = plan(command)?;
    let error = outside_of_jobs(&words[0]).args(&words[1..]).exec();
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
    fn a_job_inside_another_is_its_own() {
        let left = |names: &[&str]| of_job_outside(names.iter().map(OsString::from));
        let users = ["PATH", "OMPI_MCA_btl", "OMPI_ALLOW_RUN_AS_ROOT", "PMIX_MCA_psec"];
        assert!(left(&users).is_empty(), "nobody's rank");
        assert_eq!(
            left(&["PATH", "OMPI_MCA_btl", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_app_num", "PMIX_RANK"]),
            ["OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_app_num", "PMIX_RANK"]
        );
        assert_eq!(
            left(&["HOME", "PMI_RANK", "PMI_FD", "MPI_LOCALRANKID"]),
            ["PMI_RANK", "PMI_FD", "MPI_LOCALRANKID"]
        );
    }

    #[test]
    fn the_same_in_other_words() {
        let mut command = Command {
            label: false,
            called: crate::rank_name::RankName::default(),
            ranks: 3,
            program: "prog".into(),
            arguments: vec!["-n".into()],
            environment: vec![("GASNET_CONDUIT".into(), "mpi".into())],
            bind: crate::bind::Bind::Core,
            verbose: false,
            limit: None,
            on_death: crate::job::OnDeath::End,
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
