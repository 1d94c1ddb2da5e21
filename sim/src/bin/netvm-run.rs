//! `netvm-run`: runs a C or UPC program on the simulated cluster.
#![expect(unsafe_code, reason = "runs programs that the user vouches for")]

use gasnet_sim::{Budget, Cause, Cluster, CostModel, EMBED_C, Registration, StrategyKind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Runs a program on simulated hosts, one for each rank, in virtual time.

usage: netvm-run -n N [options] PROGRAM [arguments]

PROGRAM is a shared object, a .c file that includes gasnet.h, or a .upc file. Sources are compiled first.

  -n N              number of ranks
  --model NAME      simulated machine: gm-myrinet2000, lanai9-netvm, modern-ib (default), this-host,
                    clan-piii, trapeze-alpha
  --mode NAME       registration mode: none (default), shadow-lock, firehose, firehose-over-locks, pin-everything, rendezvous,
                    rendezvous-nounpin, bounce, pindown-cache
  --seed N          seed of the random numbers (default 1)
  --unreliable      simulate a network that loses, duplicates and reorders packets
  --prefix DIR      directory of the compiler, headers and libraries (default target/stage)
";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(text) => {
            eprintln!("netvm-run: {text}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, String> {
    use lexopt::prelude::*;
    let (mut ranks, mut model, mut seed, mut unreliable) = (0u32, "modern-ib".to_string(), 1u64, false);
    let mut mode = "none".to_string();
    let mut prefix = PathBuf::from("target/stage");
    let mut program = None::<PathBuf>;
    let mut arguments = Vec::new();
    let mut parser = lexopt::Parser::from_env();
    let text = |e: lexopt::Error| format!("{e}\n\n{USAGE}");
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Short('n') => ranks = parser.value().and_then(|v| v.parse()).map_err(text)?,
            Long("model") => model = parser.value().and_then(|v| v.string()).map_err(text)?,
            Long("mode") => mode = parser.value().and_then(|v| v.string()).map_err(text)?,
            Long("seed") => seed = parser.value().and_then(|v| v.parse()).map_err(text)?,
            Long("unreliable") => unreliable = true,
            Long("prefix") => prefix = parser.value().map_err(text)?.into(),
            Short('h') | Long("help") => {
                print!("{USAGE}");
                return Ok(ExitCode::SUCCESS);
            }
            Value(file) => {
                program = Some(file.into());
                let rest = parser.raw_args().map_err(text)?;
                arguments = rest.map(|a| a.to_string_lossy().into_owned()).collect();
                break;
            }
            other => return Err(text(other.unexpected())),
        }
    }
    let program = program.ok_or_else(|| format!("which program?\n\n{USAGE}"))?;
    if ranks == 0 {
        return Err(format!("how many ranks?\n\n{USAGE}"));
    }
    let model = CostModel::named(&model).ok_or_else(|| format!("no machine called {model}\n\n{USAGE}"))?;
    let budget = Budget::PAPER;
    let mode = match mode.as_str() {
        "none" => Registration::None,
        "shadow-lock" => Registration::ShadowLock { frames: 0 },
        "firehose-over-locks" => Registration::FirehoseOverLocks { budget, frames: 0 },
        other => {
            let kind = StrategyKind::parse(other)
                .ok_or_else(|| format!("no registration mode called {other}\n\n{USAGE}"))?;
            Registration::Pinned(kind, budget)
        }
    };
    let network = if unreliable { model.network.clone().unreliable() } else { model.network.clone() };
    let cluster = Cluster::new(ranks, model).seed(seed).network(network).registration(mode).stack(8 << 20);
    let object = compile(&program, &prefix)?;
    // Every rank thinks the host's memory is its own.
    for (name, size) in
        [("UPC_SHARED_HEAP_SIZE", "16MB"), ("GASNET_MAX_SEGSIZE", "64MB"), ("GASNET_QUIET", "1")]
    {
        if std::env::var_os(name).is_none() {
            // SAFETY: no other thread yet.
            unsafe { std::env::set_var(name, size) };
        }
    }
    // SAFETY: the user's program, linked as `run_object` says.
    let report = match unsafe { cluster.run_object(&object.file, &arguments) } {
        Ok(report) => report,
        Err(failure) => {
            let Cause::Crash { signal, .. } = failure.what else { return Err(failure.to_string()) };
            // As a shell says it of a process.
            eprintln!("netvm-run: {failure}");
            return Ok(ExitCode::from(128 + signal as u8));
        }
    };
    let stats = &report.stats;
    eprintln!(
        "netvm-run: {} of virtual time, {} events, {} packets, trace {:016x}",
        report.time, stats.events, stats.packets, report.trace
    );
    let code = report.results.into_iter().find(|c| *c != 0).unwrap_or(0);
    Ok(ExitCode::from(code as u8))
}

/// A shared object, perhaps one of our own making.
struct Made {
    file: PathBuf,
    folder: Option<PathBuf>,
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The shared object of a program.
fn compile(program: &Path, prefix: &Path) -> Result<Made, String> {
    let kind = program.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if kind != "c" && kind != "upc" {
        let file = std::fs::canonicalize(program).map_err(|e| format!("{}: {e}", program.display()))?;
        return Ok(Made { file, folder: None });
    }
    let folder = std::env::temp_dir().join(format!("netvm-run-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let made = Made { file: folder.join("program.so"), folder: Some(folder.clone()) };
    let (embed, embed_object) = (folder.join("embed.c"), folder.join("embed.o"));
    std::fs::write(&embed, EMBED_C).map_err(|e| format!("{}: {e}", embed.display()))?;
    let cc = || Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    pass(cc().args(["-O2", "-fPIC", "-fno-builtin", "-c", "-o"]).arg(&embed_object).arg(&embed))?;
    let shared = ["-O2", "-fPIC", "-shared", "-Wl,-Bsymbolic"];
    if kind == "c" {
        let mut command = cc();
        command.args(shared).arg("-DGASNET_SEQ=1").arg("-I").arg(prefix.join("include"));
        command.arg("-o").arg(&made.file).arg(program).arg(&embed_object).arg(prefix.join("lib/libgasnet.a"));
        pass(command.args(["-lpthread", "-ldl", "-lm", "-lgcc_s"]))?;
    } else {
        let mut command = Command::new(prefix.join("bin/upcc"));
        pass(command.args(shared).arg("-embed").arg("-o").arg(&made.file).arg(program).arg(&embed_object))?;
    }
    Ok(made)
}

fn pass(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}: {status}")),
        Err(e) => Err(format!("{shown}: {e}")),
    }
}
