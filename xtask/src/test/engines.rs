//! Steps for the conduits over engines that users have: each MPI, and libfabric.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::suites::suite;
use super::{CARGO_LIMIT, Context, End, RUN_LIMIT};
use crate::plugins;
use crate::sh;
use crate::stage::{self, Parts};

/// Builds the programs of these steps.
const PROGRAMS: [&str; 8] =
    ["build", "--quiet", "-p", "gasnet-tests", "--bin", "conformance", "--bin", "misbehave"];

fn misbehave() -> PathBuf {
    sh::target().join("debug/misbehave")
}

/// Runs jobs of two in which one rank leaves and the other needs it: they end with a message, beside a
/// progress thread, too. `start` begins a command for the program; who waits in a barrier is told `in_vain`.
/// How many jobs.
fn departures(in_vain: &str, start: &(dyn Fn() -> Command + Sync)) -> Result<usize, String> {
    let gone = |what: &str| format!("rank 0 of 2: {what} needs rank 1, which has left the job");
    let jobs = [
        ("gone-put", gone("a put")),
        ("gone-get", gone("a get")),
        ("gone-atomic", gone("an atomic operation")),
        ("gone-message", gone("a message for handler 132")),
        ("leaves-a-barrier-out", in_vain.to_string()),
    ];
    // Each of them waits for most of its time: together they take as long as one.
    let each = &|role: &str, says: &str, progress: &str| -> Result<(), String> {
        let mark = format!("engines-{}-{role}-{progress}", std::process::id());
        let mut run = start();
        run.args([role, &*mark]).env("GASNET_PROGRESS", progress).env("GASNET_NEIGHBORHOOD", "off");
        run.env("GASNET_MAX_SEGSIZE", "1M");
        let shown = sh::show(&run);
        let outcome = sh::capture(run, RUN_LIMIT)?;
        drop(std::fs::remove_file(std::env::temp_dir().join(format!("gasnet-misbehave-{mark}-left"))));
        if outcome.status != Some(1) || !outcome.stderr.contains(says) || !outcome.stdout.is_empty() {
            return Err(format!("{shown}\n{}", outcome.report()));
        }
        Ok(())
    };
    let meter = sh::Meter::here();
    std::thread::scope(|scope| {
        let all =
            jobs.iter().flat_map(|(role, says)| ["none", "thread"].map(|progress| (*role, says, progress)));
        let running: Vec<_> = all
            .map(|(role, says, progress)| {
                let meter = meter.clone();
                scope.spawn(move || {
                    meter.install();
                    each(role, says, progress)
                })
            })
            .collect();
        let runs = running.len();
        let ends = running
            .into_iter()
            .map(|job| job.join().unwrap_or_else(|_| Err("a job's thread has panicked".into())));
        ends.collect::<Result<Vec<()>, String>>().map(|_| runs)
    })
}

/// Builds the conduit for each MPI, installing those first where this may, and runs the conformance program
/// and a UPC program on it.
pub(super) fn mpi(_: &mut Context) -> End {
    if plugins::mpis().len() < 2 {
        sh::install_debian(&["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "libclang-dev"]);
    }
    let mpis = plugins::mpis();
    if mpis.is_empty() {
        return End::Untested("no MPI; Debian's: libopenmpi-dev libmpich-dev libclang-dev".to_string());
    }
    let prefix = stage::folder();
    let heat = sh::target().join("mpi-heat");
    let mut compile = Command::new(prefix.join("bin/upcc"));
    compile.arg("-o").arg(&heat).arg(sh::root().join("examples/upc/heat.upc"));
    let built = stage::stage(&prefix, Parts::ALL)
        .and_then(|()| sh::pass(sh::cargo(&PROGRAMS), CARGO_LIMIT))
        .and_then(|()| sh::pass(compile, RUN_LIMIT));
    if let Err(why) = built {
        return End::Failed(why);
    }
    let conformance = sh::target().join("debug/conformance");
    let mut runs = 0;
    for mpi in &mpis {
        let both = sh::target().join(format!("mpi-both-{}", mpi.name));
        let both_par = sh::target().join(format!("mpi-both-par-{}", mpi.name));
        let built = plugins::stage_mpi(&prefix, mpi)
            .and_then(|_| plugins::compile_both(&prefix, mpi, "SEQ", &both))
            .and_then(|()| plugins::compile_both(&prefix, mpi, "PAR", &both_par));
        if let Err(why) = built {
            return End::Failed(why);
        }
        match mpi_jobs(mpi, &prefix, [&conformance, &heat, &both, &both_par]) {
            Ok(passed) => runs += passed,
            Err(why) => return End::Failed(why),
        }
    }
    for mpi in &mpis {
        for inside in [false, true] {
            match mpi_by_gasnetrun(mpi, &prefix, inside) {
                Ok(()) => runs += 1,
                Err(why) => return End::Failed(why),
            }
        }
        match mpi_coarrays(mpi, &prefix) {
            Ok(passed) => runs += passed,
            Err(why) => return End::Failed(why),
        }
        match mpi_faults(mpi, &prefix, &conformance) {
            Ok(faults) => runs += faults,
            Err(why) => return End::Failed(why),
        }
        let left = departures("others have not for 12 s", &|| {
            let mut run = Command::new(&mpi.mpirun);
            run.args(["-n", "2"]).arg(misbehave()).env("GASNET_CONDUIT", "mpi");
            run.env("GASNET_PLUGIN_PATH", prefix.join("lib"));
            plugins::oversubscribed(&mut run);
            run
        });
        match left {
            Ok(left) => runs += left,
            Err(why) => return End::Failed(format!("{}: {why}", mpi.name)),
        }
    }
    let names: Vec<_> = mpis.iter().map(|mpi| mpi.name).collect();
    End::Passed(format!("{runs} jobs over {}", names.join(", ")))
}

/// Runs programs over an MPI: the conformance program, one of UPC, and the one that uses MPI too, for
/// `GASNET_SEQ` and for `GASNET_PAR`. How many jobs.
fn mpi_jobs(mpi: &plugins::Mpi, prefix: &Path, programs: [&Path; 4]) -> Result<usize, String> {
    let [conformance, heat, both, both_par] = programs;
    let mut runs = 0;
    let (whole, pairs) = ([("2", "off"), ("3", "off"), ("3", "2")], [("2", "off"), ("3", "2")]);
    let thread = ("GASNET_PROGRESS", "thread");
    // Program, arguments, (ranks, neighbourhood), settings, what it says.
    type Job<'a> = (&'a Path, &'a [&'a str], &'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], &'a str);
    let jobs: [Job<'_>; 14] = [
        (conformance, &["--quick"], &whole, &[], "conformance: passed"),
        (conformance, &["--quick"], &pairs, &[thread], "conformance: passed"),
        (heat, &["64", "64", "20"], &whole, &[], "verification: passed"),
        (both, &["mpi", "program"], &pairs, &[], "both: passed"),
        (both, &["gasnet", "gasnet"], &pairs, &[], "both: passed"),
        (both, &["mpi", "gasnet"], &[("2", "2"), ("2", "off")], &[], "both: passed"),
        (both, &["gasnet", "program"], &pairs, &[], "both: passed"),
        (both, &["gasnet", "program"], &pairs[..1], &[thread], "both: passed"),
        (both, &["mpi", "program"], &pairs[..1], &[thread], "MPI_Init_thread for MPI_THREAD_MULTIPLE"),
        (both, &["mpi", "program", "3"], &pairs[..1], &[thread], "both: passed"),
        (both_par, &["mpi", "program"], &pairs[..1], &[], "compile for GASNET_SEQ"),
        (
            both_par,
            &["mpi", "program", "1"],
            &pairs[..1],
            &[],
            "(MPI_THREAD_FUNNELED), and uses GASNet from several",
        ),
        (both_par, &["mpi", "program", "2"], &pairs[..1], &[], "both: passed"),
        (both_par, &["mpi", "program", "3"], &pairs, &[], "both: passed"),
    ];
    for (program, args, shapes, settings, says) in jobs {
        for (ranks, neighborhood) in shapes {
            let mut run = Command::new(&mpi.mpirun);
            run.args(["-n", ranks]).arg(program).args(args);
            run.env("GASNET_CONDUIT", "mpi").env("GASNET_NEIGHBORHOOD", neighborhood);
            run.env("GASNET_PLUGIN_PATH", prefix.join("lib")).env("GASNET_MAX_SEGSIZE", "64M");
            run.envs(settings.iter().copied());
            plugins::oversubscribed(&mut run);
            let shown = sh::show(&run);
            let outcome = sh::capture(run, RUN_LIMIT)?;
            let said = outcome.stdout.contains(says) || outcome.stderr.contains(says);
            if !said || (outcome.status == Some(0)) != says.ends_with("passed") {
                return Err(format!("{}: {shown}\n{}", mpi.name, outcome.report()));
            }
            runs += 1;
        }
    }
    Ok(runs)
}

/// A Fortran program with coarrays that calls MPI, too; nothing where there is no compiler for both. How many
/// jobs.
fn mpi_coarrays(mpi: &plugins::Mpi, prefix: &Path) -> Result<usize, String> {
    let wrapper = mpi.mpicc.to_string_lossy().replace("mpicc", "mpifort");
    if sh::which("gfortran").is_none() || !Path::new(&wrapper).is_file() {
        return Ok(0);
    }
    let folder = sh::target().join(format!("mpi-coarrays-{}", mpi.name));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut compile = Command::new(wrapper);
    compile
        .current_dir(&folder)
        .env("OMPI_FC", prefix.join("bin/caf"))
        .env("MPICH_FC", prefix.join("bin/caf"));
    compile.arg(prefix.join("share/caf-gasnet/opencoarrays.F90"));
    compile.arg(sh::root().join("tests/mpi/coarrays.F90")).args(["-o", "program"]);
    sh::pass(compile, RUN_LIMIT)?;
    let shapes = [("3", "on"), ("3", "off"), ("4", "2")];
    for (images, neighborhood) in shapes {
        let mut run = Command::new(&mpi.mpirun);
        run.args(["-n", images]).arg(folder.join("program"));
        run.env("GASNET_CONDUIT", "mpi").env("GASNET_NEIGHBORHOOD", neighborhood);
        run.env("GASNET_PLUGIN_PATH", prefix.join("lib")).env("GASNET_MAX_SEGSIZE", "64M");
        plugins::oversubscribed(&mut run);
        let shown = sh::show(&run);
        let outcome = sh::capture(run, RUN_LIMIT)?;
        if outcome.status != Some(0) || !outcome.stdout.contains("coarrays: passed") {
            return Err(format!("{}: {shown}\n{}", mpi.name, outcome.report()));
        }
    }
    Ok(shapes.len())
}

/// Starts a statically linked program, which is not in `PREFIX/bin`, by the installed launcher: nobody but
/// that knows where the plugin is. `inside`: a rank of another MPI job does that.
fn mpi_by_gasnetrun(mpi: &plugins::Mpi, prefix: &Path, inside: bool) -> Result<(), String> {
    let gasnetrun = prefix.join("bin/gasnetrun");
    let mut run = Command::new(if inside { &mpi.mpirun } else { &gasnetrun });
    if inside {
        run.args(["-n", "1"]).arg(&gasnetrun);
    }
    run.args(["-n", "2", "--conduit", "mpi"]).arg(sh::target().join(format!("mpi-both-{}", mpi.name)));
    run.args(["gasnet", "gasnet"]).env("GASNET_MPIRUN", &mpi.mpirun).env("GASNET_MAX_SEGSIZE", "64M");
    run.env("GASNET_NEIGHBORHOOD", "off").env_remove("GASNET_PLUGIN_PATH");
    plugins::oversubscribed(&mut run);
    let shown = sh::show(&run);
    let outcome = sh::capture(run, RUN_LIMIT)?;
    match outcome.status == Some(0) && outcome.stdout.contains("both: passed") {
        true => Ok(()),
        false => Err(format!("{}: {shown}\n{}", mpi.name, outcome.report())),
    }
}

/// Runs the conformance program over an MPI that does not do what it should: it must do without, or end with
/// a message. How many jobs.
fn mpi_faults(mpi: &plugins::Mpi, prefix: &Path, conformance: &Path) -> Result<usize, String> {
    const MESSAGES: &str = "puts and gets go by messages";
    const WINDOWS: &str = "puts and gets through windows";
    let layer = sh::target().join(format!("mpi-faults-{}.so", mpi.name));
    plugins::compile_faults(mpi, &layer)?;
    // The fault (see `tests/mpi/faults.c`), whether the job passes, what it says.
    let faults = [
        ("none", true, WINDOWS),
        ("busy", true, WINDOWS),
        ("lost", true, MESSAGES),
        ("failing", true, MESSAGES),
        ("separate", true, MESSAGES),
        ("refused", false, "MPI_Rput: "),
        ("create", false, "MPI_Win_create"),
        ("single", false, "called from one thread only"),
    ];
    for (fault, passes, says) in faults {
        let mut run = Command::new(&mpi.mpirun);
        run.args([
            "-n",
            "2",
            "env",
            &format!("LD_PRELOAD={}", layer.display()),
            &format!("MPI_FAULT={fault}"),
        ]);
        run.arg(conformance).args(["--quick", "rma", "huge"]);
        run.env("GASNET_CONDUIT", "mpi").env("GASNET_NEIGHBORHOOD", "off").env("GASNET_STATS", "1");
        run.env("GASNET_PLUGIN_PATH", prefix.join("lib")).env("GASNET_MAX_SEGSIZE", "64M");
        plugins::oversubscribed(&mut run);
        let shown = sh::show(&run);
        let outcome = sh::capture(run, RUN_LIMIT)?;
        let passed = outcome.status == Some(0) && outcome.stdout.contains("conformance: passed");
        let windows = outcome.stderr.contains(WINDOWS);
        if passed != passes || windows != (says == WINDOWS) || !outcome.stderr.contains(says) {
            return Err(format!("{}: {shown}\n{}", mpi.name, outcome.report()));
        }
    }
    Ok(faults.len())
}

/// Providers of libfabric that run on any machine.
const PROVIDERS: [&str; 4] = ["tcp", "shm", "sockets", "udp"];

/// Builds the conduit over libfabric, installing that first where this may, and runs the conformance program
/// over each provider, plain and with faults, and UPC programs.
pub(super) fn ofi(context: &mut Context) -> End {
    if !plugins::has_libfabric() || sh::which("fi_info").is_none() {
        sh::install_debian(&["libfabric-dev", "libfabric-bin", "libclang-dev"]);
    }
    if !plugins::has_libfabric() {
        return End::Untested("no libfabric; Debian's: libfabric-dev libclang-dev".to_string());
    }
    let prefix = stage::folder();
    let heat = sh::target().join("ofi-heat");
    let mut compile = Command::new(prefix.join("bin/upcc"));
    compile.arg("-o").arg(&heat).arg(sh::root().join("examples/upc/heat.upc"));
    let built = stage::stage(&prefix, Parts::UPC)
        .and_then(|()| sh::pass(sh::cargo(&PROGRAMS), CARGO_LIMIT))
        .and_then(|()| plugins::stage_ofi(&prefix))
        .and_then(|_| sh::pass(compile, RUN_LIMIT));
    if let Err(why) = built {
        return End::Failed(why);
    }
    let conformance = sh::target().join("debug/conformance");
    let jobs = ofi_jobs(&conformance, &heat);
    if let Err(why) = jobs.iter().try_for_each(|job| ofi_job(&prefix, job)) {
        return End::Failed(why);
    }
    let mut left = 0;
    let before = ownerless_memory();
    for provider in ["tcp", "shm", "sockets"] {
        let ended = departures("nobody else can go on: rank 1 waits in barrier 1", &|| {
            let mut run = Command::new(prefix.join("bin/gasnetrun"));
            run.args(["-n", "2", "--conduit", "ofi"]).arg(misbehave()).env("GASNET_OFI_PROVIDER", provider);
            run.env("GASNET_PLUGIN_PATH", prefix.join("lib"));
            run
        });
        match ended {
            Ok(ended) => left += ended,
            Err(why) => return End::Failed(why),
        }
    }
    if let Some(name) = ownerless_memory().difference(&before).next() {
        return End::Failed(format!("/dev/shm/{name} is left, and its process is gone"));
    }
    // Programs of the language, over the provider that is most likely to be used here.
    let path = format!("GASNET_PLUGIN_PATH={}", prefix.join("lib").display());
    let mut arguments = vec!["--ranks", "3"];
    for setting in ["GASNET_CONDUIT=ofi", "GASNET_NEIGHBORHOOD=off", "GASNET_OFI_PROVIDER=tcp", &path] {
        arguments.extend(["--env", setting]);
    }
    arguments.extend([
        "sync/",
        "library/atomics",
        "library/collectives",
        "library/nonblocking",
        "library/teams",
    ]);
    let programs = match suite(context, "upc-suite", &arguments) {
        End::Passed(remark) => remark,
        end => return end,
    };
    sh::install_namespaces();
    let hosts = match suite(context, "namespaces", &["ofi"]) {
        End::Passed(_) => "4 hosts".to_string(),
        End::Untested(why) => why,
        end => return end,
    };
    let providers = PROVIDERS.join(", ");
    let jobs = jobs.len() + left;
    End::Passed(format!("{jobs} jobs over {providers}; UPC programs: {programs}; tcp: {hosts}"))
}

/// Memory of libfabric's provider `shm`, `PID:DOMAIN:ENDPOINT`, of processes that are gone.
fn ownerless_memory() -> BTreeSet<String> {
    let names = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let gone = |name: &String| {
        let pid = name.split(':').next().filter(|_| name.split(':').count() == 3);
        pid.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists())
    };
    names.filter(gone).collect()
}

/// No more can be registered than what is there at the start, and a little.
const LIMITED: (&str, &str) = ("GASNET_TEST_OFI_REGISTER", "limit:5000000");

/// A job over libfabric: provider, program, arguments, ranks, settings.
type OfiJob<'a> = (&'a str, &'a Path, &'a [&'a str], &'a str, Vec<(&'a str, &'a str)>);

/// The jobs over libfabric: the conformance program and one of UPC.
fn ofi_jobs<'a>(conformance: &'a Path, heat: &'a Path) -> Vec<OfiJob<'a>> {
    let (late, all) =
        (("GASNET_FAULTY", "reorder=10%,delay=5%,by=100us,seed=3"), ("GASNET_OFI_NATIVE", "all"));
    let (whole, few): (&[&str], &[&str]) =
        (&["--quick"], &["--quick", "rma", "atomics", "am", "flood", "barriers", "oracle"]);
    let (messages, registered) = (("GASNET_OFI_NATIVE", "none"), ("GASNET_TEST_OFI_REGISTER", "1"));
    let mut jobs = Vec::new();
    for provider in PROVIDERS {
        jobs.push((provider, conformance, few, "3", vec![late]));
        jobs.push((provider, heat, &["64", "64", "20"][..], "2", vec![]));
    }
    // The layer under udp repairs losses with timers of a second: little is enough.
    jobs.push(("udp", conformance, few, "2", vec![]));
    for provider in ["tcp", "shm", "sockets"] {
        jobs.push((provider, conformance, whole, "2", vec![]));
        jobs.push((provider, conformance, few, "3", vec![messages]));
        jobs.push((provider, conformance, few, "2", vec![all]));
        for way in ["firehose", "provider", "bounce"] {
            let registration = ("GASNET_OFI_REGISTRATION", way);
            jobs.push((provider, conformance, few, "2", vec![registered, registration]));
        }
    }
    let large: &[&str] = &["--quick", "rma", "huge", "am", "flood"];
    for (provider, way) in [("tcp", "provider"), ("tcp", "firehose"), ("shm", "provider"), ("shm", "bounce")]
    {
        jobs.push((provider, conformance, large, "2", vec![LIMITED, ("GASNET_OFI_REGISTRATION", way)]));
    }
    // The way that is found the cheapest.
    jobs.push(("tcp", conformance, whole, "3", vec![registered]));
    jobs.push(("tcp", conformance, whole, "8", vec![]));
    jobs.push(("shm", conformance, few, "8", vec![]));
    jobs.push(("tcp", conformance, few, "4", vec![("GASNET_NEIGHBORHOOD", "2")]));
    jobs.push(("tcp", conformance, few, "1", vec![]));
    jobs.push(("tcp", heat, &["64", "64", "20"][..], "5", vec![]));
    jobs
}

/// Runs a job over libfabric. It must pass, and registered memory must be used as its settings say.
fn ofi_job(prefix: &Path, (provider, program, args, ranks, settings): &OfiJob<'_>) -> Result<(), String> {
    let mut run = Command::new(prefix.join("bin/gasnetrun"));
    run.args(["-n", ranks, "--conduit", "ofi"]).arg(program).args(*args);
    run.env("GASNET_OFI_PROVIDER", provider).env("GASNET_NEIGHBORHOOD", "off");
    run.env("GASNET_PLUGIN_PATH", prefix.join("lib")).env("GASNET_MAX_SEGSIZE", "64M");
    run.envs(settings.iter().copied()).env("GASNET_STATS", "1");
    let chosen = settings.iter().find(|(name, _)| *name == "GASNET_OFI_REGISTRATION");
    let chosen = chosen.map(|(_, way)| format!("way to registered memory: {way} 1"));
    let short = settings.contains(&LIMITED) && chosen.as_ref().is_some_and(|way| !way.contains("bounce"));
    let says = |text: &str| {
        chosen.as_ref().is_none_or(|chosen| text.contains(chosen))
            && (!short || text.contains("copied for want of registration"))
    };
    let shown = sh::show(&run);
    let outcome = sh::capture(run, RUN_LIMIT)?;
    let passed =
        outcome.stdout.contains("verification: passed") || outcome.stdout.contains("conformance: passed");
    match outcome.status == Some(0) && passed && says(&outcome.stderr) {
        true => Ok(()),
        false => Err(format!("{shown}\n{}", outcome.report())),
    }
}
