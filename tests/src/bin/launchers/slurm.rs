//! `srun`: a Slurm of one node, made for the test, without accounting and with everybody trusted.

use super::{Test, beside, ended, find, free_port, outcome, scratch, soon, write};
use gasnet_tests::run::{Outcome, signal};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const TESTS: &[Test<Slurm>] = &[
    ("pmix", pmix),
    ("pmi", pmi),
    ("codes", codes),
    ("killed-rank", killed_rank),
    ("without", without),
    ("compiled", compiled),
];

/// The daemons and what belongs to them; ended, and the folder removed, when dropped.
pub struct Slurm {
    folder: PathBuf,
    daemons: Vec<Child>,
    prefix: PathBuf,
}

impl Slurm {
    /// Starts it. The inner error says why that cannot be done here.
    pub fn start(prefix: &Path) -> Result<Result<Slurm, String>, String> {
        let (Some(control), Some(node), Some(_)) = (find("slurmctld"), find("slurmd"), find("srun")) else {
            return Ok(Err("jobs of Slurm: there is none; Debian's: slurm-wlm".to_string()));
        };
        let mut id = Command::new("id");
        id.arg("-u");
        if outcome(id, 10)?.stdout.trim() != "0" {
            return Ok(Err("jobs of Slurm: its daemons need root".to_string()));
        }
        let folder = scratch("slurm")?;
        let at = |name: &str| folder.join(name).display().to_string();
        for part in ["state", "spool"] {
            std::fs::create_dir(at(part)).map_err(|e| e.to_string())?;
        }
        let (one, two) = (free_port()?, free_port()?);
        // Its daemons go by the name of the machine.
        let host = outcome(Command::new("hostname"), 10)?
            .stdout
            .trim()
            .split('.')
            .next()
            .unwrap_or_default()
            .to_string();
        let settings = format!(
            "ClusterName=gasnet\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/none\nCredType=cred/none\nSlurmctldPort={one}\nSlurmdPort={two}\n\
             SlurmctldPidFile={}\nSlurmdPidFile={}\nStateSaveLocation={}\nSlurmdSpoolDir={}\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
             SchedulerType=sched/builtin\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             MpiDefault=none\nReturnToService=2\nSlurmdParameters=config_overrides\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             MailProg=/bin/true\nKillWait=2\nUnkillableStepTimeout=10\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\n\
             PartitionName=test Nodes={host} Default=YES MaxTime=10 State=UP\n",
            at("control.pid"),
            at("node.pid"),
            at("state"),
            at("spool"),
        );
        write(&folder.join("slurm.conf"), &settings)?;
        write(&folder.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n")?;
        let mut slurm = Slurm { folder: folder.clone(), daemons: Vec::new(), prefix: prefix.to_path_buf() };
        for (program, name, words) in
            [(control, "control", &["-D"][..]), (node, "node", &["-D", "-N", &host][..])]
        {
            let log = std::fs::File::create(at(&format!("{name}.log"))).map_err(|e| e.to_string())?;
            let mut daemon = Command::new(&program);
            daemon.args(words).arg("-f").arg(at("slurm.conf")).env("SLURM_CONF", at("slurm.conf"));
            daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            slurm.daemons.push(daemon.spawn().map_err(|e| format!("{}: {e}", program.display()))?);
        }
        let mut said = String::new();
        let up = soon("a node of Slurm is up", Duration::from_secs(40), || {
            let ready = outcome(slurm.srun(&["-n", "1", "--immediate=5", "true"]), 20);
            said = ready.as_ref().map_or_else(String::clone, Outcome::report);
            ready.is_ok_and(|o| o.status == Some(0))
        });
        match up {
            Ok(()) => Ok(Ok(slurm)),
            Err(why) => Err(format!("{why}\n{said}{}", slurm.logs())),
        }
    }

    fn logs(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        format!("{}{}", read("control.log"), read("node.log"))
    }

    fn srun(&self, words: &[&str]) -> Command {
        let mut command = Command::new("srun");
        command.arg("-O").args(words).env("SLURM_CONF", self.folder.join("slurm.conf"));
        // Variables that the user's own session may have set.
        for name in ["GASNET_PSHM_NODES", "PMIX_NAMESPACE", "PMI_FD", "PMI_PORT"] {
            command.env_remove(name);
        }
        command.env("GASNET_MAX_SEGSIZE", "64M");
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The node's daemon first: its steps end with it.
        for daemon in self.daemons.iter_mut().rev() {
            signal(daemon.id(), "TERM");
            let gone = soon("a daemon of Slurm ends", Duration::from_secs(10), || {
                daemon.try_wait().is_ok_and(|status| status.is_some())
            });
            if gone.is_err() {
                let _ = daemon.kill();
                let _ = daemon.wait();
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn conformance(slurm: &Slurm, words: &[&str], settings: &[(&str, &str)]) -> Result<(), String> {
    let program = beside("conformance").display().to_string();
    let mut all = words.to_vec();
    all.extend([program.as_str(), "--quick", "rma", "am", "barriers", "collectives"]);
    let mut job = slurm.srun(&all);
    job.envs(settings.iter().copied());
    ended(&outcome(job, 120)?, 0, &["conformance: passed"])
}

/// Slurm's PMIx, over shared memory and over udp.
fn pmix(slurm: &Slurm) -> Result<(), String> {
    conformance(slurm, &["-n", "4", "--mpi=pmix"], &[])?;
    conformance(
        slurm,
        &["-n", "3", "--mpi=pmix"],
        &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off")],
    )
}

/// The first version of PMI, which Slurm speaks where it is asked for the second.
fn pmi(slurm: &Slurm) -> Result<(), String> {
    conformance(slurm, &["-n", "4", "--mpi=pmi2"], &[])?;
    conformance(
        slurm,
        &["-n", "3", "--mpi=pmi2"],
        &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off")],
    )
}

fn codes(slurm: &Slurm) -> Result<(), String> {
    let program = beside("misbehave").display().to_string();
    for mpi in ["--mpi=pmix", "--mpi=pmi2"] {
        ended(&outcome(slurm.srun(&["-n", "3", mpi, &program, "fine"]), 60)?, 0, &[])?;
        let wrong = outcome(slurm.srun(&["-n", "2", mpi, &program, "put-nowhere"]), 60)?;
        let says = "rank 0 of 2: put to rank 2: the job has 2 ranks";
        if wrong.status == Some(0) || !wrong.stderr.contains(says) {
            return Err(format!("wanted an error that says '{says}'\n{}", wrong.report()));
        }
    }
    Ok(())
}

/// One rank dies, and Slurm ends the others, as `-K` asks.
fn killed_rank(slurm: &Slurm) -> Result<(), String> {
    let program = beside("misbehave").display().to_string();
    for mpi in ["--mpi=pmix", "--mpi=pmi2"] {
        let killed = outcome(slurm.srun(&["-n", "3", "-K", mpi, &program, "kill"]), 60)?;
        if killed.status == Some(0) {
            return Err(killed.report());
        }
    }
    Ok(())
}

/// Processes that know nothing of each other: each says that it is alone, and one warns.
fn without(slurm: &Slurm) -> Result<(), String> {
    let program = beside("misbehave").display().to_string();
    let job = outcome(slurm.srun(&["-n", "2", "--mpi=none", &program, "fine"]), 60)?;
    ended(&job, 0, &["srun started 2 processes, and each of them is a job of one rank"])?;
    if job.stderr.matches("warning").count() == 1 { Ok(()) } else { Err(job.report()) }
}

/// A UPC program.
fn compiled(slurm: &Slurm) -> Result<(), String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let program = slurm.folder.join("heat");
    let mut compile = Command::new(slurm.prefix.join("bin/upcc"));
    compile.arg("-o").arg(&program).arg(root.join("examples/upc/heat.upc"));
    ended(&outcome(compile, 120)?, 0, &[])?;
    let words = ["-n", "4", "--mpi=pmix", &program.display().to_string(), "64", "64", "20"];
    ended(&outcome(slurm.srun(&words), 120)?, 0, &["verification: passed"])
}
