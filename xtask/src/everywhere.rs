//! One executable on every network: a UPC program is compiled once, its hash printed, and the same file runs
//! over each conduit, under each MPI's own launcher, and on four hosts, which are network namespaces.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::plugins;
use crate::sh;

/// Time limit of a run.
const RUN_LIMIT: Duration = Duration::from_secs(600);
/// Time limit of a build.
const BUILD_LIMIT: Duration = Duration::from_secs(1500);
/// The program prints this when its answer is right.
const RIGHT: &str = "verification: passed";

/// A way to start a program: the command without the program.
struct StartWay {
    name: String,
    command: Command,
}

/// Runs the executable in every way that is possible here. Returns its hash, the ways it ran, and the ways
/// that could not be tried, with the reason.
pub fn run(prefix: &Path) -> Result<(String, Vec<String>, Vec<String>), String> {
    let program = sh::target().join("everywhere").join("heat");
    if let Some(folder) = program.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut compile = Command::new(prefix.join("bin/upcc"));
    compile.arg("-o").arg(&program).arg(sh::root().join("examples/upc/heat.upc"));
    sh::pass(compile, RUN_LIMIT)?;
    links_no_network(&program)?;
    let before = hash(&program)?;
    say!("sha256 {before} {}", program.display());

    let mut ran = Vec::new();
    let (ways, mut untested) = ways(prefix);
    for StartWay { name, mut command } in ways {
        command.arg(&program).env("GASNET_MAX_SEGSIZE", "64M");
        sh::restore_loader_path(&mut command);
        finds_the_answer(command).map_err(|why| format!("{name}: {why}"))?;
        ran.push(name);
    }
    match on_hosts(prefix, &program)? {
        Ok(()) => ran.push("udp on 4 hosts".to_string()),
        Err(why) => untested.push(why),
    }
    let after = hash(&program)?;
    if after != before {
        return Err(format!("the executable changed while it ran: {before}, then {after}"));
    }
    Ok((before, ran, untested))
}

fn ways(prefix: &Path) -> (Vec<StartWay>, Vec<String>) {
    let mut untested = Vec::new();
    let upcrun = |conduit: Option<&str>| {
        let mut command = Command::new(prefix.join("bin/upcrun"));
        command.args(["-q", "-n", "4"]);
        if let Some(conduit) = conduit {
            // Otherwise neighbours would never use the conduit.
            command.args(["--conduit", conduit]).env("GASNET_NEIGHBORHOOD", "off");
        }
        StartWay { name: conduit.unwrap_or("upcrun").to_string(), command }
    };
    let mut ways = vec![upcrun(None), upcrun(Some("smp")), upcrun(Some("udp")), upcrun(Some("netvm"))];
    let mpis: Vec<_> =
        plugins::mpis().into_iter().filter(|mpi| plugins::stage_mpi(prefix, mpi).is_ok()).collect();
    for mpi in &mpis {
        let mut command = Command::new(&mpi.mpirun);
        command.args(["-n", "4"]).env("GASNET_CONDUIT", "mpi").env("GASNET_NEIGHBORHOOD", "off");
        plugins::oversubscribed(&mut command);
        ways.push(StartWay { name: format!("{} -n 4 ({})", mpi.mpirun.display(), mpi.name), command });
    }
    if mpis.is_empty() {
        untested.push("mpi: no plugin was built".to_string());
    } else {
        let mut way = upcrun(Some("mpi"));
        plugins::oversubscribed(&mut way.command);
        ways.push(way);
    }
    if plugins::has_libfabric() && plugins::stage_ofi(prefix).is_ok() {
        ways.push(upcrun(Some("ofi")));
    } else {
        untested.push("ofi: no plugin was built".to_string());
    }
    (ways, untested)
}

fn finds_the_answer(command: Command) -> Result<(), String> {
    let shown = sh::show(&command);
    let outcome = sh::capture(command, RUN_LIMIT)?;
    if outcome.status == Some(0) && outcome.stdout.contains(RIGHT) {
        return Ok(());
    }
    Err(format!("{shown}\n{}", outcome.report()))
}

/// Runs it on four hosts. The inner error says why this machine cannot.
fn on_hosts(prefix: &Path, program: &Path) -> Result<Result<(), String>, String> {
    sh::install_namespaces();
    sh::pass(sh::cargo(&["build", "--quiet", "-p", "gasnet-tests", "--bin", "namespaces"]), BUILD_LIMIT)?;
    let mut job = Command::new(sh::target().join("debug/namespaces"));
    job.arg("upc").arg("--prefix").arg(prefix).arg("--program").arg(program);
    let outcome = sh::capture(job, RUN_LIMIT * 2)?;
    if outcome.status != Some(0) {
        return Err(outcome.report());
    }
    match outcome.stdout.lines().find(|line| line.starts_with("not tested: ")) {
        Some(line) => Ok(Err(line.to_string())),
        None => Ok(Ok(())),
    }
}

/// If the executable itself had a network's library, it would only run on machines with that library.
fn links_no_network(program: &Path) -> Result<(), String> {
    let mut ask = Command::new("readelf");
    ask.arg("-d").arg(program);
    let outcome = sh::capture(ask, RUN_LIMIT)?;
    let strange = ["libmpi", "libmpich", "libfabric", "libucp"];
    match strange.into_iter().find(|name| outcome.stdout.contains(name)) {
        Some(name) => Err(format!("{} needs {name}", program.display())),
        None if outcome.stdout.contains("NEEDED") => Ok(()),
        None => Err(format!("readelf says nothing of {}: {}", program.display(), outcome.report())),
    }
}

fn hash(program: &Path) -> Result<String, String> {
    let mut sum = Command::new("sha256sum");
    sum.arg(program);
    let outcome = sh::capture(sum, RUN_LIMIT)?;
    let hash = outcome.stdout.split_whitespace().next().map(str::to_string);
    hash.filter(|hash| hash.len() == 64).ok_or_else(|| outcome.report())
}
