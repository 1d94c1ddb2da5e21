//! Jobs on several hosts: network namespaces joined by a bridge, as root. Plain, with losses, with a cut
//! link, with hosts that die or are cut off, with hosts that are not alike, and with an attacker on the wire.
//!
//! Prints a line `ok NAME` or `FAILED NAME` for each test, as the suites do, or says what is missing to make
//! namespaces. With a task as its first argument it is a part of a test: a rank, or the attacker.

mod attack;
mod partition;
mod unequal;

use gasnet_tests::hosts::Hosts;
use gasnet_tests::run::{Outcome, run, signal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// A test: its name and what it does.
type Test = (&'static str, fn(&Net) -> Result<String, String>);

const TESTS: &[Test] = &[
    ("plain", plain),
    ("upc", upc),
    ("unequal", unequal::unequal),
    ("ofi", ofi),
    ("loss", loss),
    ("firewall", firewall),
    ("narrow", narrow),
    ("firewall-later", firewall_later),
    ("recorded", recorded),
    ("no-way", no_way),
    ("doctor", doctor),
    ("cut-link", cut_link),
    ("dead-host", dead_host),
    ("deaths", deaths),
    ("partition", partition::partition),
    ("attacker", attacker),
    ("netvm", netvm),
    ("netvm-loss", netvm_loss),
    ("netvm-dead-host", netvm_dead_host),
    ("again", plain),
];

/// The environment of the tests.
struct Net {
    hosts: Hosts,
    /// The installed tools.
    prefix: PathBuf,
    /// The executable of the test `upc`, if one was given.
    program: Option<PathBuf>,
    /// A command that does what ssh does, with namespaces.
    ssh: PathBuf,
}

impl Net {
    /// A job over all hosts, or the first few.
    fn job(&self, hosts: usize, ranks: u32, program: &Path) -> Command {
        let mut command = Command::new(self.prefix.join("bin/gasnetrun"));
        command.arg("--hosts").arg(self.hosts.names()[..hosts].join(","));
        command.arg("-n").arg(ranks.to_string()).arg(program);
        command.env("GASNET_SSH", &self.ssh).env("GASNET_CONDUIT", "udp").env("GASNET_MAX_SEGSIZE", "64M");
        command
    }

    fn conformance(&self, hosts: usize, ranks: u32, tests: &[&str]) -> Command {
        let mut command = self.job(hosts, ranks, &beside("conformance"));
        command.arg("--quick").args(tests);
        command
    }
}

/// A program of this package.
fn beside(name: &str) -> PathBuf {
    std::env::current_exe().map(|own| own.with_file_name(name)).unwrap_or_else(|_| name.into())
}

fn passes(command: Command, limit: u64) -> Result<Outcome, String> {
    let outcome = run(command, "", Duration::from_secs(limit)).map_err(|e| e.to_string())?;
    if outcome.status == Some(0) { Ok(outcome) } else { Err(outcome.report()) }
}

const SHORT: &[&str] = &["rma", "flood-mixed", "barriers", "oracle", "collectives"];

fn plain(net: &Net) -> Result<String, String> {
    passes(net.conformance(4, 8, &[]), 200).map(|_| String::new())
}

/// A job over two hosts is recorded. Then each rank alone, or all of them on one host, print what they
/// printed.
fn recorded(net: &Net) -> Result<String, String> {
    const RANKS: u32 = 4;
    let folder = std::env::temp_dir().join(format!("gasnet-recorded-{}", std::process::id()));
    let of_rank = |outcome: &Outcome, rank: u32| -> Vec<String> {
        let mark = format!("rank {rank} ");
        outcome.stdout.lines().filter(|line| line.starts_with(&mark)).map(String::from).collect()
    };
    for (variable, name) in [("GASNET_RECORD", "frames"), ("GASNET_RECORD_ORDER", "order")] {
        let folder = folder.join(name);
        let mut job = net.job(2, RANKS, &beside("relay"));
        let job = passes(
            {
                job.env(variable, &folder);
                job
            },
            120,
        )?;
        let replay = |rank: Option<u32>| {
            let mut command = Command::new(net.prefix.join("bin/gasnetrun"));
            command.arg("--replay").arg(&folder);
            rank.map(|rank| command.arg("--rank").arg(rank.to_string()));
            passes(command, 120)
        };
        let all = if variable == "GASNET_RECORD" { None } else { Some(replay(None)?) };
        for rank in 0..RANKS {
            let again = match &all {
                Some(all) => of_rank(all, rank),
                None => of_rank(&replay(Some(rank))?, rank),
            };
            let then = of_rank(&job, rank);
            if again != then || then.len() != 2 {
                return Err(format!("{name}: rank {rank} printed {then:?}, and in its replay {again:?}"));
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(String::new())
}

fn upc(net: &Net) -> Result<String, String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Some(program) = &net.program {
        return passes(net.job(4, 4, program), 120).map(|_| String::new());
    }
    let program = std::env::temp_dir().join(format!("gasnet-heat-{}", std::process::id()));
    let mut compile = Command::new(net.prefix.join("bin/upcc"));
    compile.arg("-o").arg(&program).arg(root.join("examples/upc/heat.upc"));
    passes(compile, 120)?;
    let outcome = passes(net.job(4, 4, &program), 120);
    let _ = std::fs::remove_file(&program);
    outcome.map(|_| String::new())
}

/// The same hosts over libfabric's tcp.
fn ofi(net: &Net) -> Result<String, String> {
    let plugins = net.prefix.join("lib");
    let mut remarks = Vec::new();
    for (hosts, ranks, neighborhood) in [(4, 4, "on"), (2, 4, "on"), (4, 5, "off")] {
        let mut job = net.conformance(hosts, ranks, SHORT);
        job.env("GASNET_CONDUIT", "ofi").env("GASNET_OFI_PROVIDER", "tcp");
        job.env("GASNET_PLUGIN_PATH", &plugins).env("GASNET_NEIGHBORHOOD", neighborhood);
        passes(job, 200)?;
        remarks.push(format!("{ranks} ranks on {hosts} hosts"));
    }
    Ok(remarks.join(", "))
}

fn loss(net: &Net) -> Result<String, String> {
    net.hosts.lose(100)?;
    let outcome = passes(net.conformance(4, 4, SHORT), 200);
    net.hosts.lose(0)?;
    outcome.map(|_| String::new())
}

/// How a job that was disturbed while its ranks worked may end: by itself, not well, and saying why.
fn ends(net: &Net, settings: &[(&str, &str)], says: &str, disturb: impl FnOnce()) -> Result<String, String> {
    let works = std::env::temp_dir().join(format!("gasnet-works-{}", std::process::id()));
    drop(std::fs::remove_file(&works));
    let mut command = net.job(2, 2, &beside("namespaces"));
    command.arg("forever").arg(&works).env("GASNET_UDP_TIMEOUT", "2s").envs(settings.iter().copied());
    let job = std::thread::spawn(move || run(command, "", Duration::from_secs(60)));
    while !works.exists() && !job.is_finished() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let disturbed = std::fs::remove_file(&works).is_ok();
    disturb();
    let start = Instant::now();
    let outcome = job.join().map_err(|_| "no outcome")?.map_err(|e| e.to_string())?;
    let took = start.elapsed();
    let well = !disturbed || outcome.timed_out || outcome.status == Some(0) || !outcome.stderr.contains(says);
    if well {
        return Err(format!(
            "{took:?} after the disturbance; wanted an end that says '{says}':\n{}",
            outcome.report()
        ));
    }
    Ok(format!("ended after {:.1} s", took.as_secs_f64()))
}

/// Bytes of their puts.
const LARGE: u64 = 10_000;

/// Ranks that work with each other until somebody ends the job; a file says that they have begun.
fn forever_rank(works: &str) -> ! {
    gasnet_conduits::run(|rank| {
        rank.barrier();
        if rank.id().0 == 0
            && let Err(why) = std::fs::write(works, "")
        {
            rank.fatal(&format!("{works}: {why}"));
        }
        let large = rank.allocate(LARGE, 64).expect("room");
        let (bytes, next) = (vec![1; LARGE as usize], gasnet::RankId((rank.id().0 + 1) % rank.size()));
        loop {
            rank.write_slice(gasnet::GlobalPtr::<u8>::new(next, large), &bytes);
            rank.barrier();
        }
    })
}

/// Only some ports pass, which the ranks are told.
fn firewall(net: &Net) -> Result<String, String> {
    net.hosts.firewall(1, "udp dport != 50000-50019")?;
    let mut job = net.conformance(3, 6, SHORT);
    job.env("GASNET_UDP_PORTS", "50000-50019");
    let through = passes(job, 200);
    // Without the setting the job does not start, and says why.
    let refused =
        run(net.conformance(3, 6, SHORT), "", Duration::from_secs(60)).map_err(|e| e.to_string())?;
    net.hosts.firewall(1, "")?;
    through?;
    let says = ["but those back arrive", "firewall", "GASNET_UDP_PORTS", "10.77.0.2"];
    match refused.status {
        Some(code) if code != 0 && says.iter().all(|part| refused.stderr.contains(part)) => Ok(String::new()),
        _ => Err(refused.report()),
    }
}

/// Datagrams above 1200 bytes vanish.
fn narrow(net: &Net) -> Result<String, String> {
    net.hosts.firewall(1, "meta length > 1200")?;
    let outcome = passes(net.conformance(2, 4, SHORT), 200);
    net.hosts.firewall(1, "")?;
    outcome.map(|_| String::new())
}

/// A firewall comes up during the job: it drops datagrams of some ports one way, or all large ones, or those
/// of one port both ways, while the host answers for others.
fn firewall_later(net: &Net) -> Result<String, String> {
    let mut took = Vec::new();
    for words in ["udp dport 32768-60999", "meta length > 400"] {
        let filter = || drop(net.hosts.firewall(1, words));
        let end = ends(net, &[], "firewall", filter);
        net.hosts.firewall(1, "")?;
        took.push(end?);
    }
    // The first of the ports is the one that ranks have; at the others hosts and ranks answer.
    let filter = || (0..2).for_each(|host| drop(net.hosts.firewall(host, "udp dport 50000")));
    let end = ends(net, &[("GASNET_UDP_PORTS", "50000-50005")], "its process runs", filter);
    (0..2).try_for_each(|host| net.hosts.firewall(host, ""))?;
    took.push(end?);
    Ok(took.join(", "))
}

/// `gasnetrun --doctor` tries the network between hosts.
fn doctor(net: &Net) -> Result<String, String> {
    let look = || {
        let mut doctor = Command::new(net.prefix.join("bin/gasnetrun"));
        doctor.args(["--doctor", "--hosts", &net.hosts.names()[..3].join(",")]).env("GASNET_SSH", &net.ssh);
        run(doctor, "", Duration::from_secs(100)).map_err(|e| e.to_string())
    };
    let well = look()?;
    net.hosts.firewall(1, "udp dport != 50000-50019")?;
    let dropped = look();
    net.hosts.firewall(1, "")?;
    let dropped = dropped?;
    let between = net.hosts.names()[..3].join(",");
    let fine = well.stdout.contains(&format!("ok       datagrams: pass between each pair of {between}"));
    let told = dropped.stdout.contains(&format!("TROUBLE  datagrams between {between}: "))
        && dropped.stdout.contains("GASNET_UDP_PORTS");
    match (fine, told) {
        (true, true) => Ok(String::new()),
        (true, false) => Err(dropped.report()),
        (false, _) => Err(well.report()),
    }
}

/// Two hosts that are not connected, but for an address that both have.
fn no_way(net: &Net) -> Result<String, String> {
    net.hosts.link(1, false)?;
    let outcome = run(net.conformance(2, 2, SHORT), "", Duration::from_secs(60)).map_err(|e| e.to_string());
    net.hosts.link(1, true)?;
    let outcome = outcome?;
    let says = ["no datagram passes between", "172.17.0.1, 10.77.0.1", "GASNET_UDP_INTERFACE"];
    match outcome.status {
        Some(code) if code != 0 && says.iter().all(|part| outcome.stderr.contains(part)) => Ok(String::new()),
        _ => Err(outcome.report()),
    }
}

fn cut_link(net: &Net) -> Result<String, String> {
    let end = ends(net, &[], "nothing was heard", || drop(net.hosts.link(1, false)));
    net.hosts.link(1, true)?;
    end
}

fn dead_host(net: &Net) -> Result<String, String> {
    ends(net, &[], "", || drop(net.hosts.kill_all(1)))
}

/// Jobs that go on when a rank dies, or a host with all of its ranks.
fn deaths(net: &Net) -> Result<String, String> {
    for (on_death, role) in
        [("shrink", "random"), ("heal", "heals"), ("shrink", "host-dies"), ("heal", "host-dies")]
    {
        let mut job = Command::new(net.prefix.join("bin/gasnetrun"));
        job.args(["--hosts", &net.hosts.names()[..3].join(","), "-n", "6", "--on-death", on_death]);
        job.arg(beside("mortal")).args([role, "7"]).env("GASNET_LEASE", "5s");
        job.env("GASNET_SSH", &net.ssh).env("GASNET_MAX_SEGSIZE", "16M");
        passes(job, 100)?;
    }
    Ok(String::new())
}

/// Whatever two hosts send is seen by somebody who sends it again, sends it changed, and sends rubbish in its
/// place.
fn attacker(net: &Net) -> Result<String, String> {
    let mut attacks = Vec::new();
    for host in 0..2 {
        let mut attack = Command::new("ip");
        attack.args(["netns", "exec", &net.hosts.names()[host]]).arg(beside("namespaces"));
        attack.args(["attack", net.hosts.interface()]).stdout(std::process::Stdio::piped());
        attacks.push(attack.spawn().map_err(|e| e.to_string())?);
    }
    std::thread::sleep(Duration::from_millis(300));
    let outcome = passes(net.conformance(2, 2, SHORT), 200);
    let mut all = Vec::new();
    for attack in attacks {
        // It stops when asked, and says what it did.
        signal(attack.id(), "TERM");
        let said = attack.wait_with_output().map_err(|e| e.to_string())?;
        all.push(String::from_utf8_lossy(&said.stdout).trim().to_string());
    }
    outcome?;
    let enough = |said: &String| said.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0u64) > 1000;
    if all.iter().all(enough) { Ok(all.join("; ")) } else { Err(format!("hardly an attack: {all:?}")) }
}

/// NICs of several hosts, with little memory: pages come and go at both ends of the network. The program
/// looks at its counters.
fn netvm(net: &Net) -> Result<String, String> {
    for mode in ["shadow-lock", "firehose"] {
        let mut job = net.conformance(3, 6, SHORT);
        job.arg("nic").env("GASNET_CONDUIT", "netvm").env("GASNET_NETVM_REGISTRATION", mode);
        job.env("GASNET_NETVM_MEMORY", "2M");
        passes(job, 200)?;
    }
    // Two by two on a host, by rings there.
    let mut job = net.conformance(3, 6, SHORT);
    job.env("GASNET_CONDUIT", "netvm").env("GASNET_STATS", "1");
    let outcome = passes(job, 200)?;
    let mut far =
        outcome.stderr.split(", ").filter_map(|entry| entry.trim().strip_prefix("packets from other hosts "));
    let least = far.try_fold(u64::MAX, |least, n| n.parse().map(|n: u64| n.min(least)));
    match least {
        Ok(least) if least > 0 && least < u64::MAX => {
            Ok(format!("at least {least} packets from other hosts"))
        }
        _ => Err(outcome.report()),
    }
}

fn netvm_loss(net: &Net) -> Result<String, String> {
    net.hosts.lose(100)?;
    let mut job = net.conformance(2, 4, SHORT);
    job.env("GASNET_CONDUIT", "netvm");
    let outcome = passes(job, 200);
    net.hosts.lose(0)?;
    outcome.map(|_| String::new())
}

fn netvm_dead_host(net: &Net) -> Result<String, String> {
    ends(net, &[("GASNET_CONDUIT", "netvm")], "", || drop(net.hosts.kill_all(1)))
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let first = args.next().unwrap_or_default();
    let second = args.next().unwrap_or_default();
    match first.as_str() {
        "forever" => forever_rank(&second),
        "attack" => return attack::run(&second),
        "serve" => return partition::serve(&second),
        "connect" => return partition::connect(&second, &args.collect::<Vec<_>>().join(" ")),
        "unequal-rank" => unequal::rank(),
        _ => {}
    }
    let mut prefix = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/stage");
    let mut program = None;
    let mut filters = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--prefix" => prefix = args.next().unwrap_or_default().into(),
            "--program" => program = args.next().map(PathBuf::from),
            "--ranks" => drop(args.next()),
            _ => filters.push(arg),
        }
    }
    let hosts = match Hosts::new(4) {
        Ok(hosts) => hosts,
        Err(why) => {
            println!("not tested: jobs on several hosts: no network namespaces: {why}");
            return ExitCode::SUCCESS;
        }
    };
    let ssh = match hosts.ssh() {
        Ok(ssh) => ssh,
        Err(why) => {
            println!("FAILED namespaces\n{why}");
            return ExitCode::FAILURE;
        }
    };
    let net = Net { hosts, prefix, program, ssh };
    let mut failed = false;
    for (name, test) in TESTS {
        // Who has built the plugin asks for its test by name.
        let wanted =
            filters.iter().any(|f| name.contains(f.as_str())) || filters.is_empty() && *name != "ofi";
        if !wanted {
            continue;
        }
        match test(&net) {
            Ok(remark) => println!("ok namespaces/{name} {remark}"),
            Err(why) if why.starts_with("not tested: ") => println!("{why}"),
            Err(why) => {
                failed = true;
                println!("FAILED namespaces/{name}\n---- {name}\n{why}");
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
