//! Conduits in shared objects: each is built if its library is found, and left out with a message if not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::{files, sh};

/// Time limit of a build.
const BUILD_LIMIT: Duration = Duration::from_secs(1500);
/// Time limit of a query to a compiler.
const QUERY_LIMIT: Duration = Duration::from_secs(20);

/// An MPI that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mpi {
    /// `openmpi` or `mpich`.
    pub name: &'static str,
    /// Its compiler.
    pub mpicc: PathBuf,
    /// Its launcher.
    pub mpirun: PathBuf,
}

/// The MPIs of this machine, one of each kind.
pub fn mpis() -> Vec<Mpi> {
    let find = |name: &'static str| {
        let one = |suffix: &str| {
            let (mpicc, mpirun) =
                (sh::which(&format!("mpicc{suffix}"))?, sh::which(&format!("mpirun{suffix}"))?);
            (kind(&mpicc)? == name).then_some(Mpi { name, mpicc, mpirun })
        };
        // Debian's names if both are installed, then the first in the path.
        one(&format!(".{name}")).or_else(|| one(""))
    };
    ["openmpi", "mpich"].into_iter().filter_map(find).collect()
}

/// The MPI that a compiler is for.
fn kind(mpicc: &Path) -> Option<&'static str> {
    let mut ask = Command::new(mpicc);
    ask.arg("-show");
    let shown = sh::capture(ask, QUERY_LIMIT).ok()?.stdout;
    ["openmpi", "mpich"].into_iter().find(|name| shown.contains(name))
}

/// Builds the plugin of an MPI and puts it into `PREFIX/lib`.
pub fn stage_mpi(prefix: &Path, mpi: &Mpi) -> Result<PathBuf, String> {
    // Two plugins of this conduit would be made at one place, and cargo sees only whether one is there.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().map_err(|e| e.to_string())?;
    let _ = fs::remove_file(sh::target().join("release/deps/libgasnet_mpi.so"));
    let mut build = build("mpi");
    build.env("MPICC", &mpi.mpicc);
    if mpi.name != "openmpi" {
        // The crate of MPI's declarations does not notice another `MPICC`. With another level of optimisation
        // it is another crate to cargo; there is nothing to optimise in declarations.
        build.args(["--config", "profile.release.package.mpi-sys.opt-level=2"]);
    }
    stage_one(prefix, "mpi", build, &format!("libgasnet_mpi-{}.so", mpi.name))
}

/// The command that builds the plugin of a conduit upon what other plugins and the stage have built.
fn build(conduit: &str) -> Command {
    sh::cargo(&["build", "--release", "--quiet", "-p", &format!("gasnet-{conduit}"), "--features", "link"])
}

/// Builds the plugin of a conduit and puts it into `PREFIX/lib` as `file`.
fn stage_one(prefix: &Path, conduit: &str, build: Command, file: &str) -> Result<PathBuf, String> {
    let outcome = sh::capture(build, BUILD_LIMIT)?;
    if outcome.status != Some(0) {
        return Err(outcome.report());
    }
    let plugin = prefix.join("lib").join(file);
    let built = sh::target().join(format!("release/libgasnet_{conduit}.so"));
    files::copy(&built, &plugin)?;
    Ok(plugin)
}

/// Whether libfabric's headers are installed.
pub fn has_libfabric() -> bool {
    let mut ask = Command::new("cc");
    ask.args(["-E", "-include", "rdma/fabric.h", "-x", "c", "/dev/null"]);
    sh::capture(ask, QUERY_LIMIT).is_ok_and(|outcome| outcome.status == Some(0))
}

/// Builds the plugin over libfabric and puts it into `PREFIX/lib`.
pub fn stage_ofi(prefix: &Path) -> Result<PathBuf, String> {
    stage_one(prefix, "ofi", build("ofi"), "libgasnet_ofi.so")
}

/// Builds every plugin that can be built; prints which, and why others cannot.
pub fn stage_all(prefix: &Path) {
    let mpis = mpis();
    if mpis.is_empty() {
        say!(
            "conduit mpi: left out, no mpicc found (Debian's: libopenmpi-dev or libmpich-dev, and libclang-dev)"
        );
    }
    for mpi in mpis {
        match stage_mpi(prefix, &mpi) {
            Ok(plugin) => say!("conduit mpi for {}: {}", mpi.name, plugin.display()),
            Err(why) => say!(
                "conduit mpi for {}: left out, it does not build (libclang-dev is needed)\n{why}",
                mpi.name
            ),
        }
    }
    if !has_libfabric() {
        say!("conduit ofi: left out, no libfabric found (Debian's: libfabric-dev and libclang-dev)");
        return;
    }
    match stage_ofi(prefix) {
        Ok(plugin) => say!("conduit ofi: {}", plugin.display()),
        Err(why) => say!("conduit ofi: left out, it does not build (libclang-dev is needed)\n{why}"),
    }
}

/// Compiles the program that uses both an MPI and the staged C interface, in a mode of the latter (`SEQ`,
/// `PAR`).
pub fn compile_both(prefix: &Path, mpi: &Mpi, mode: &str, program: &Path) -> Result<(), String> {
    let mut compile = Command::new(&mpi.mpicc);
    compile.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(prefix.join("include"));
    compile.arg(format!("-DGASNET_{mode}=1"));
    compile.arg("-o").arg(program).arg(sh::root().join("tests/mpi/both.c"));
    compile.arg("-L").arg(prefix.join("lib")).args(["-l:libgasnet.a", "-lpthread", "-ldl", "-lm", "-lgcc_s"]);
    sh::pass(compile, BUILD_LIMIT)
}

/// Compiles the library that injects faults into an MPI.
pub fn compile_faults(mpi: &Mpi, library: &Path) -> Result<(), String> {
    let mut compile = Command::new(&mpi.mpicc);
    compile.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(library);
    compile.arg(sh::root().join("tests/mpi/faults.c"));
    sh::pass(compile, BUILD_LIMIT)
}

/// Settings for Open MPI to run as root, with more ranks than processors, and beside others of its kind: two
/// that begin at once may both find that their common folder is missing, and one then fails to make it.
pub fn oversubscribed(run: &mut Command) {
    static JOBS: AtomicUsize = AtomicUsize::new(0);
    run.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    run.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    // ORDER: Relaxed; a number of its own for each job is all that is asked.
    let job = JOBS.fetch_add(1, Ordering::Relaxed);
    let own = sh::target().join("openmpi").join(job.to_string());
    if std::fs::create_dir_all(&own).is_ok() {
        run.env("OMPI_MCA_orte_tmpdir_base", own);
    }
}
