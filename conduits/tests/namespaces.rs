//! Hosts that are network namespaces with a link between them, which can be cut. The command in place of
//! ssh uses that link, as ssh would: a relay in each namespace runs the command it is sent. Needs root and
//! `ip`; says so where they are missing.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const RANK: &str = env!("CARGO_BIN_EXE_gasnet-launch-test-rank");
const RUN: &str = env!("CARGO_BIN_EXE_gasnetrun");

fn ip(words: &str) -> bool {
    let output = Command::new("ip").args(words.split(' ')).output();
    output.is_ok_and(|o| o.status.success())
}

/// Two namespaces with a link, a relay in the far one; all gone when dropped.
struct Net {
    names: [String; 2],
    relay: Option<Child>,
}

impl Net {
    /// `None` where namespaces cannot be made.
    fn new(mark: &str) -> Option<Net> {
        let names = ["near", "far"].map(|end| format!("gasnet-{mark}-{end}-{}", std::process::id()));
        let mut net = Net { names, relay: None };
        let [near, far] = &net.names;
        if !ip(&format!("netns add {near}")) || !ip(&format!("netns add {far}")) {
            eprintln!("not tested: network namespaces need root and the ip command");
            return None;
        }
        assert!(ip(&format!("link add gn0 netns {near} type veth peer name gn1 netns {far}")));
        for (name, end, address) in [(near, "gn0", "10.77.0.1/24"), (far, "gn1", "10.77.0.2/24")] {
            assert!(ip(&format!("-n {name} addr add {address} dev {end}")));
            assert!(ip(&format!("-n {name} link set {end} up")) && ip(&format!("-n {name} link set lo up")));
        }
        let mut relay = Command::new("ip");
        relay.args(["netns", "exec", far, RANK, "relay", "10.77.0.2:7077"]).stdout(Stdio::piped());
        let mut relay = relay.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(relay.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "listening\n");
        net.relay = Some(relay);
        Some(net)
    }

    fn run(&self, role: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[0], RUN, "-n", "2", "-H", "10.77.0.2", RANK]).args(role);
        command.env("GASNET_SSH", format!("{RANK} through 7077")).stdin(Stdio::null());
        command
    }

    fn cut(&self) {
        assert!(ip(&format!("-n {} link set gn0 down", self.names[0])));
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        if let Some(relay) = &mut self.relay {
            let _ = relay.kill();
            let _ = relay.wait();
        }
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_job_on_another_host_over_a_network() {
    let Some(net) = Net::new("job") else { return };
    let output = net.run(&["hello"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let lines: BTreeSet<String> = text(&output).lines().map(|l| l[..14].to_string()).collect();
    assert_eq!(lines, BTreeSet::from(["hello 0 of 2 j".into(), "hello 1 of 2 j".into()]));
    assert_eq!(net.run(&["exit", "0", "7"]).status().unwrap().code(), Some(7));
}

#[test]
fn a_cut_network_leaves_nothing_behind() {
    let Some(net) = Net::new("cut") else { return };
    let mut monitor = net.run(&["sleep"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(monitor.stdout.take().unwrap());
    let mut ranks = Vec::new();
    for _ in 0..2 {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        ranks.push(line.split(' ').nth(1).unwrap().to_string());
    }
    let start = Instant::now();
    net.cut();
    let output = monitor.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("host 10.77.0.2 is lost: nothing was heard of it"), "{}", text(&output));
    let alive = |pid: &String| {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|s| s.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z')))
    };
    while ranks.iter().any(alive) {
        // By themselves they would end after a minute.
        assert!(start.elapsed() < Duration::from_secs(30), "left behind: {ranks:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("gone {:?} after the cut", start.elapsed());
}
