//! `gasnetrun --doctor`: looks for problems that could keep jobs from running here, and says what to do.

use std::fmt::Display;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cgroup;
use crate::hosts;
use crate::place::Host;
use crate::plugin_folder::PluginFolder;
use crate::pmix;
use crate::wire::GREETING;
use gasnet_sys::limits::{Limited, is_root, limit, raise_file_limit};
use gasnet_sys::{fd, limits, process, processors};

/// How long another host may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// How long the job between hosts may take.
const TRIAL_LIMIT_SECONDS: &str = "60";

/// A result of a check.
enum Finding {
    /// It works.
    Fine(String),
    /// It works but could be better, or matters for some jobs only; and what to do.
    Note(String, String),
    /// It does not work; and what to do.
    Trouble(String, String),
}
use Finding::{Fine, Note, Trouble};

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_string())
}

fn number(path: &str) -> Option<u64> {
    read(path)?.parse().ok()
}

/// The folder of `PATH` that has this command.
fn which(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| process::executable(p))?;
    Some(found.display().to_string())
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    let unit =
        [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(bits, _)| bytes >> bits > 0);
    unit.map_or(format!("{bytes} bytes"), |(bits, unit)| {
        format!("{:.1} {unit}", bytes as f64 / (1u64 << bits) as f64).replace(".0 ", " ")
    })
}

fn limits() -> Vec<Finding> {
    let mut all = Vec::new();
    let (soft, hard) = raise_file_limit(0);
    let ranks = hard.saturating_sub(544) / 3;
    all.push(if ranks >= 64 {
        Fine(format!(
            "descriptors: limit {soft}, can be raised to {hard}: enough for {} ranks",
            ranks.min(1024)
        ))
    } else {
        Trouble(
            format!("descriptors: at most {hard}: enough for {ranks} ranks"),
            "raise it: ulimit -Hn 4096".into(),
        )
    });
    let processors = processors::numbers(&processors::allowed()).collect::<Vec<_>>().len();
    let group = cgroup::limits();
    all.push(match group.processors {
        Some(share) if share < processors as f64 => Note(
            format!("processors: {processors} may be used, and the control group gives them the time of {share:.1}"),
            "ranks that wait for each other are slow when there are more of them: use fewer ranks, or ask for more processors"
                .into(),
        ),
        _ => Fine(format!("processors: {processors} may be used")),
    });
    let processes = [limit(Limited::Processes), group.processes].into_iter().flatten().min();
    all.push(match processes {
        Some(most) if most < 256 => Note(
            format!("processes: at most {most}"),
            "each rank is one: raise it (ulimit -u 4096, or pids.max)".into(),
        ),
        Some(most) => Fine(format!("processes: at most {most}")),
        None => Fine("processes: no limit".into()),
    });
    all.push(match limit(Limited::LockedMemory) {
        Some(bytes) if bytes < 1 << 30 => Note(
            format!("locked memory: at most {}", size(bytes)),
            "network cards that need memory pinned (ofi: verbs, efa) take more: ulimit -l unlimited, and memlock in \
             /etc/security/limits.conf"
                .into(),
        ),
        Some(bytes) => Fine(format!("locked memory: at most {}", size(bytes))),
        None => Fine("locked memory: no limit".into()),
    });
    all.push(match read("/proc/sys/vm/overcommit_memory").as_deref() {
        Some("2") => Note(
            "memory: the system promises no more than it has".into(),
            "large segments may be refused; sysctl vm.overcommit_memory=0, or set GASNET_MAX_SEGSIZE".into(),
        ),
        _ => Fine("memory: segments take only what is touched".into()),
    });
    all
}

fn memory() -> Vec<Finding> {
    let mut all = vec![match fd::memory_file("gasnet-doctor") {
        Ok(_) => Fine("shared memory: memory files can be made (nothing in /dev/shm is needed)".into()),
        Err(e) => Trouble(
            format!("shared memory: {e}"),
            "a kernel from 3.17 on is needed, and a sandbox must allow memfd_create".into(),
        ),
    }];
    all.push(match limits::free_space("/dev/shm") {
        Ok(bytes) if bytes < 64 << 20 => Note(
            format!("/dev/shm: {} free", size(bytes)),
            "MPI and libfabric's shm provider keep shared memory there: mount -o remount,size=1G /dev/shm (a container's \
             --shm-size)"
                .into(),
        ),
        Ok(bytes) => Fine(format!("/dev/shm: {} free", size(bytes))),
        Err(e) => Note(
            format!("/dev/shm: {e}"),
            "MPI and libfabric's shm provider keep shared memory there: mount -t tmpfs tmpfs /dev/shm".into(),
        ),
    });
    if let Some(bytes) = cgroup::limits().memory {
        all.push(Note(
            format!("memory: the control group of this process may use {}", size(bytes)),
            "segments of all ranks count; GASNET_MAX_SEGSIZE keeps them within it".into(),
        ));
    }
    if number("/proc/sys/vm/unprivileged_userfaultfd") == Some(0)
        && !is_root()
        && !process::writable(Path::new("/dev/userfaultfd"))
    {
        all.push(Note(
            "userfaultfd: for root only".into(),
            "needed by the netvm conduit only: sysctl vm.unprivileged_userfaultfd=1".into(),
        ));
    }
    let setting = read("/sys/kernel/mm/transparent_hugepage/shmem_enabled").unwrap_or_default();
    let chosen = setting.split(['[', ']']).nth(1).unwrap_or("unknown").to_string();
    all.push(match chosen.as_str() {
        "always" | "within_size" | "advise" | "force" => Fine(format!("huge pages for shared memory: {chosen}")),
        _ => Note(
            format!("huge pages for shared memory: {chosen}"),
            "large segments are faster with: echo within_size > /sys/kernel/mm/transparent_hugepage/shmem_enabled".into(),
        ),
    });
    if let Some(scope) = number("/proc/sys/kernel/yama/ptrace_scope").filter(|scope| *scope > 1) {
        all.push(Note(
            format!("processes may not look into each other (ptrace_scope {scope})"),
            "ranks started by mpirun or srun on one host then use the network: sysctl kernel.yama.ptrace_scope=1".into(),
        ));
    }
    all
}

fn networks() -> Vec<Finding> {
    let mut all = Vec::new();
    let mut names: Vec<String> = fs::read_dir("/sys/class/net")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let mut outside = false;
    for name in names {
        let about = |what: &str| read(&format!("/sys/class/net/{name}/{what}")).unwrap_or_default();
        let flags = about("flags");
        let up = u32::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 1 == 1);
        outside |= up && name != "lo";
        let state = if up { "up" } else { "down" };
        all.push(Fine(format!("interface {name}: {state}, packets of {} bytes", about("mtu"))));
    }
    if !outside {
        all.push(Note(
            "interfaces: none but the loop-back is up".into(),
            "jobs on several hosts need one: ip link set INTERFACE up, and an address".into(),
        ));
    }
    let loopback = || -> std::io::Result<bool> {
        // A host may have no IPv4 at all.
        let bind = || {
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).or_else(|_| UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)))
        };
        let (a, b) = (bind()?, bind()?);
        b.set_read_timeout(Some(Duration::from_secs(1)))?;
        a.send_to(b"x", b.local_addr()?)?;
        Ok(b.recv(&mut [0; 8])? == 1)
    };
    all.push(match loopback() {
        Ok(true) => Fine("datagrams: pass on the loop-back interface".into()),
        other => Trouble(
            format!("datagrams do not pass on the loop-back interface: {other:?}"),
            "bring it up (ip link set lo up), or look at the firewall; the udp conduit needs it".into(),
        ),
    });
    for what in ["rmem_max", "wmem_max"] {
        if let Some(bytes) = number(&format!("/proc/sys/net/core/{what}")).filter(|bytes| *bytes < 4 << 20) {
            all.push(Note(
                format!("socket buffers: net.core.{what} is {bytes}"),
                format!("the udp conduit loses fewer packets with: sysctl -w net.core.{what}=4194304"),
            ));
        }
    }
    all
}

/// The version that a program prints.
fn version(program: &str) -> String {
    let said = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map(|o| o.stdout)
        .unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let numbered = said.lines().find(|line| line.bytes().any(|b| b.is_ascii_digit()));
    numbered.map_or(String::new(), |line| format!(", {}", line.trim()))
}

fn libraries() -> Vec<Finding> {
    let mut all = Vec::new();
    let mut library = |what: &str, names: &[&str], fix: &str| {
        let there: Vec<&str> = names.iter().copied().filter(|name| pmix::can_load(name).is_ok()).collect();
        all.push(match there.is_empty() {
            false => Fine(format!("{what}: {}", there.join(", "))),
            true => Note(format!("{what}: not found"), fix.to_string()),
        });
    };
    library("PMIx", &["libpmix.so.2"], "needed inside mpirun of Open MPI and srun only: install libpmix2");
    library(
        "MPI",
        &["libmpi.so.40", "libmpich.so.12", "libmpi.so.12"],
        "needed by the mpi conduit only: install Open MPI or MPICH",
    );
    library("libfabric", &["libfabric.so.1"], "needed by the ofi conduit only: install libfabric1");
    for (command, fix) in
        [("mpirun", "needed by the mpi conduit only"), ("cc", "needed to compile UPC programs: install gcc")]
    {
        all.push(match which(command) {
            Some(path) => Fine(format!("{command}: {path}{}", version(&path))),
            None => Note(format!("{command}: not found in PATH"), fix.to_string()),
        });
    }
    all.push(match Command::new("fi_info").arg("-l").output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let names: Vec<&str> = text.lines().filter_map(|l| l.strip_suffix(':')).collect();
            Fine(format!("libfabric providers: {}", names.join(", ")))
        }
        Err(_) => Note(
            "libfabric providers: fi_info, which lists them, is not in PATH".into(),
            "wanted for the ofi conduit only: install libfabric-bin".into(),
        ),
    });
    all.extend(plugins());
    all
}

/// The conduits that are shared objects: where the installed programs look for them.
fn plugins() -> Vec<Finding> {
    let is_plugin = |name: &str| name.starts_with("libgasnet_") && name.ends_with(".so");
    let inside = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| is_plugin(name));
        names.sort();
        names
    };
    let report = |shown: &Path, name: &Path| match pmix::can_load(&name.to_string_lossy()) {
        Ok(()) => Fine(format!("conduit {}", shown.display())),
        Err(why) => Note(
            format!(
                "conduit {}: {}",
                shown.display(),
                why.replace(&*name.to_string_lossy(), &shown.to_string_lossy())
            ),
            "install the library that it needs, or build it again".into(),
        ),
    };
    let mut all = Vec::new();
    let listed = std::env::var_os("GASNET_PLUGIN_PATH").unwrap_or_default();
    for folder in std::env::split_paths(&listed) {
        all.extend(inside(&folder).iter().map(|name| folder.join(name)).map(|file| report(&file, &file)));
    }
    if let Some(place) = PluginFolder::beside_program() {
        for name in inside(place.folder()) {
            match place.open(&name) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    all.push(report(&found.path, &found.name()));
                    found.keep();
                }
                Err(why) => all.push(Note(
                    format!("conduit {name}: {why}"),
                    "correct that, or name the folder in GASNET_PLUGIN_PATH if you trust it".into(),
                )),
            }
        }
    }
    if all.is_empty() {
        return vec![Note(
            "conduits mpi and ofi: not installed".into(),
            "to have them: cargo xtask install on a machine with MPI or libfabric; GASNET_PLUGIN_PATH says where they are".into(),
        )];
    }
    all
}

/// Starts an agent on a host, and checks whether it answers.
fn reach(host: &str) -> Finding {
    let fix =
        "ssh to it must work without questions, and gasnetrun be installed there under the path it has here";
    let trouble = |why: &dyn Display| Trouble(format!("host {host}: {why}"), fix.to_string());
    let words = match hosts::spawner(host) {
        Ok(words) => words,
        Err(e) => return trouble(&e),
    };
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) => return trouble(&format!("{}: {e}", words[0])),
    };
    // Without input the agent sends its greeting and ends.
    let until = Instant::now() + ANSWER_LIMIT;
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    if matches!(child.try_wait(), Ok(None)) {
        let _ = child.kill();
        let _ = child.wait();
        return trouble(&format!("no answer for {} s", ANSWER_LIMIT.as_secs()));
    }
    let Ok(output) = child.wait_with_output() else { return trouble(&"gasnetrun does not answer there") };
    if output.stdout.windows(GREETING.len()).any(|w| w == GREETING) {
        return Fine(format!("host {host}: reached, the same version is there"));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().rfind(|line| !line.trim().is_empty()) {
        Some(why) => trouble(&format!("gasnetrun does not answer there: {}", why.trim())),
        None => trouble(&"gasnetrun does not answer there"),
    }
}

/// Runs a job with a rank on each host, in which every pair exchanges datagrams.
fn between(named: &[Host]) -> Finding {
    let names = named.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(",");
    let fix = "without this, jobs on these hosts do not start over the udp conduit, which is the default between hosts";
    let trouble = |why: &dyn Display| Trouble(format!("datagrams between {names}: {why}"), fix.to_string());
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(e) => return trouble(&e),
    };
    let mut job = Command::new(&own);
    job.args(["--hosts", &names, "-n", &named.len().to_string(), "-t", TRIAL_LIMIT_SECONDS]).arg(&own);
    job.arg(crate::NETWORK_TRIAL).env("GASNET_CONDUIT", "udp").env("GASNET_MAX_SEGSIZE", "1M");
    match job.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => {
            Fine(format!("datagrams: pass between each pair of {names}"))
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let mut lines = said.lines().filter(|line| !line.trim().is_empty());
            let why = lines.clone().find(|line| line.contains("udp")).or_else(|| lines.next_back());
            trouble(&why.unwrap_or("they do not pass").trim())
        }
        Err(e) => trouble(&e),
    }
}

fn spawners(named: Option<&[Host]>) -> Vec<Finding> {
    let mut all = vec![match (which("ssh"), std::env::var("GASNET_SSH")) {
        (_, Ok(words)) if !words.trim().is_empty() => Fine(format!("other hosts: by GASNET_SSH={words}")),
        (Some(path), _) => Fine(format!("ssh: {path}")),
        (None, _) => {
            Note("ssh: not found".into(), "needed for other hosts only: install openssh-client".into())
        }
    }];
    match named {
        Some(named) => {
            all.extend(named.iter().map(|host| reach(&host.name)));
            if named.len() > 1 && !all.iter().any(|finding| matches!(finding, Trouble(..))) {
                all.push(between(named));
            }
        }
        None => all.push(Note(
            "other hosts: none were named".into(),
            "to try some: gasnetrun --doctor --hosts A,B".into(),
        )),
    }
    all
}

fn settings(unknown: &[String]) -> Vec<Finding> {
    if unknown.is_empty() {
        return vec![Fine("settings: all GASNET_ names in the environment are known".into())];
    }
    let note = |name: &String| Note(name.clone(), "docs/environment.md lists what there is".into());
    unknown.iter().map(note).collect()
}

/// Checks, prints the results, and returns the exit status: 1 if something will not work.
pub fn main(named: Option<&[Host]>, unknown_settings: &[String]) -> i32 {
    let mut status = 0;
    if let Ok(own) = std::env::current_exe() {
        println!("gasnetrun {} ({})", env!("CARGO_PKG_VERSION"), Path::new(&own).display());
    }
    let settings = settings(unknown_settings);
    let all =
        limits().into_iter().chain(memory()).chain(networks()).chain(libraries()).chain(spawners(named));
    for finding in all.chain(settings) {
        match finding {
            Fine(what) => println!("ok       {what}"),
            Note(what, fix) => println!("note     {what}\n           {fix}"),
            Trouble(what, fix) => {
                status = 1;
                println!("TROUBLE  {what}\n           {fix}");
            }
        }
    }
    status
}
