//! Hosts that are network namespaces: each with one interface, on one bridge in a namespace of its own. As on
//! many real hosts, the first interface of each is a `docker0`, which leads nowhere and has the same address
//! everywhere.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// They vanish with this value.
#[derive(Debug)]
pub struct Hosts {
    names: Vec<String>,
    bridge: String,
    ssh: PathBuf,
}

const INTERFACE: &str = "eth0";

fn sh(line: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", line]).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Waits until the interface has its carrier, which comes a moment after both of its ends are up. Libfabric
/// passes over interfaces that have none.
fn connected(name: &str) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(10);
    while !sh(&format!("ip -n {name} link show {INTERFACE}"))?.contains("state UP") {
        if Instant::now() > until {
            return Err(format!("{INTERFACE} of {name} gets no carrier"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl Hosts {
    /// Makes this many hosts, 10.77.0.1 and so on.
    ///
    /// # Errors
    /// Something could not be made.
    pub fn new(count: usize) -> Result<Hosts, String> {
        let id = std::process::id();
        let names: Vec<String> = (0..count).map(|i| format!("gasnet{id}-{i}")).collect();
        let hosts = Hosts {
            bridge: format!("gasnet{id}-b"),
            ssh: std::env::temp_dir().join(format!("gasnet-ssh-{id}")),
            names,
        };
        let bridge = &hosts.bridge;
        sh(&format!("ip netns add {bridge}"))?;
        sh(&format!("ip -n {bridge} link add br0 type bridge && ip -n {bridge} link set br0 up"))?;
        for (i, name) in hosts.names.iter().enumerate() {
            sh(&format!("ip netns add {name}"))?;
            sh(&format!("ip -n {name} link add docker0 type bridge"))?;
            sh(&format!(
                "ip -n {name} addr add 172.17.0.1/16 dev docker0 && ip -n {name} link set docker0 up"
            ))?;
            sh(&format!("ip -n {name} link add {INTERFACE} type veth peer name p{i} netns {bridge}"))?;
            sh(&format!("ip -n {bridge} link set p{i} master br0 up"))?;
            sh(&format!("ip -n {name} addr add 10.77.0.{}/24 dev {INTERFACE}", i + 1))?;
            sh(&format!("ip -n {name} link set {INTERFACE} up && ip -n {name} link set lo up"))?;
            // Packets as large as on a wire, so that a loss is one of a packet.
            if let Err(why) = sh(&format!(
                "ip netns exec {name} ethtool -K {INTERFACE} tso off gso off gro off tx-udp-segmentation off"
            )) {
                return Err(format!("no packets of the size of a wire's: {why}"));
            }
        }
        hosts.names.iter().try_for_each(|name| connected(name))?;
        Ok(hosts)
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Their addresses.
    pub fn addresses(&self) -> Vec<String> {
        (1..=self.names.len()).map(|i| format!("10.77.0.{i}")).collect()
    }

    /// The interface of each host.
    pub fn interface(&self) -> &'static str {
        INTERFACE
    }

    /// A program that runs a command on a host.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn ssh(&self) -> Result<PathBuf, String> {
        let text = "#!/bin/sh\nhost=$1\nshift\nif [ -f \"$0.$host\" ]; then . \"$0.$host\"; fi\n\
                    exec ip netns exec \"$host\" sh -c \"$*\"\n";
        std::fs::write(&self.ssh, text).map_err(|e| e.to_string())?;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&self.ssh, executable).map_err(|e| e.to_string())?;
        Ok(self.ssh.clone())
    }

    /// Sets the variables that only this host's environment has, from now on.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn set(&self, host: usize, variables: &[(&str, &str)]) -> Result<(), String> {
        let lines = variables.iter().map(|(name, value)| format!("export {name}='{value}'\n"));
        std::fs::write(self.environment_of(&self.names[host]), lines.collect::<String>())
            .map_err(|e| e.to_string())
    }

    /// The file that the program for commands reads.
    fn environment_of(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}.{name}", self.ssh.display()))
    }

    /// Each host drops UDP datagrams that arrive and that these words of nftables describe; none if there are
    /// no words.
    ///
    /// # Errors
    /// There is no nftables, which starts with `not tested: `.
    pub fn firewall(&self, host: usize, words: &str) -> Result<(), String> {
        let name = &self.names[host];
        let nft = |line: &str| sh(&format!("ip netns exec {name} nft '{line}'"));
        let missing = |why: String| format!("not tested: firewalls: no nftables: {why}");
        let _ = nft("delete table inet firewall");
        if words.is_empty() {
            return Ok(());
        }
        nft("add table inet firewall").map_err(missing)?;
        nft("add chain inet firewall in { type filter hook input priority 0; }").map_err(missing)?;
        nft(&format!("add rule inet firewall in iif {INTERFACE} meta l4proto udp {words} drop"))
            .map(drop)
            .map_err(missing)
    }

    /// Makes each host lose this many of 10 000 packets that arrive.
    ///
    /// # Errors
    /// There is no nftables, which starts with `not tested: `.
    pub fn lose(&self, of_10000: u32) -> Result<(), String> {
        for name in &self.names {
            let nft = |line: &str| sh(&format!("ip netns exec {name} nft '{line}'"));
            let _ = nft("delete table inet losses");
            if of_10000 > 0 {
                let missing = |why: String| format!("not tested: losses: no nftables: {why}");
                nft("add table inet losses").map_err(missing)?;
                // Not where they leave: batches are cut into packets after that.
                nft("add chain inet losses in { type filter hook input priority 0; }").map_err(missing)?;
                nft(&format!(
                    "add rule inet losses in iif {INTERFACE} numgen random mod 10000 < {of_10000} drop"
                ))
                .map_err(missing)?;
            }
        }
        Ok(())
    }

    /// Cuts a host's link, or joins it again.
    ///
    /// # Errors
    /// The words of `ip`.
    pub fn link(&self, host: usize, up: bool) -> Result<(), String> {
        let state = if up { "up" } else { "down" };
        sh(&format!("ip -n {} link set p{host} {state}", self.bridge)).map(drop)
    }

    /// Whether a process of a host runs a program of this name.
    pub fn runs(&self, host: usize, program: &str) -> bool {
        let all = sh(&format!("ip netns pids {}", self.names[host])).unwrap_or_default();
        let is = |process: &str| {
            std::fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe.ends_with(program))
        };
        all.split_whitespace().any(is)
    }

    /// Kills every process of a host.
    ///
    /// # Errors
    /// The words of `ip`.
    pub fn kill_all(&self, host: usize) -> Result<(), String> {
        let all = sh(&format!("ip netns pids {}", self.names[host]))?;
        for process in all.split_whitespace() {
            let _ = sh(&format!("kill -KILL {process}"));
        }
        Ok(())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in self.names.iter().chain([&self.bridge]) {
            let _ = sh(&format!("ip netns del {name}"));
            let _ = std::fs::remove_file(self.environment_of(name));
        }
        let _ = std::fs::remove_file(&self.ssh);
    }
}
