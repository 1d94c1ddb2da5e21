//! The hosts of a job, and which ranks run where.
//!
//! Hosts come from `--hosts`, `--hostfile`, or the settings `GASNET_HOSTS` and `GASNET_HOSTFILE`. Ranks go to
//! hosts in blocks: as many as a host has *slots* if any host has a number of slots, else as equal as
//! possible.

use crate::Error;

/// A host to run ranks on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name for ssh.
    pub name: String,
    /// Number of ranks it should have, if given.
    pub slots: Option<u32>,
}

/// Reads a list of hosts: `a,b:2,[::1]:4`. A host named twice has two slots.
///
/// # Errors
/// A message for the user.
pub fn parse_list(text: &str) -> Result<Vec<Host>, String> {
    let words = text.split([',', ' ', '\t']).filter(|w| !w.is_empty());
    gather(words.map(parse_host).collect::<Result<_, _>>()?)
}

/// Reads a file of hosts: one a line, followed by `:N` or `slots=N` if given; `#` starts a comment.
///
/// # Errors
/// A message for the user.
pub fn parse_file(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let mut host = parse_host(first)?;
        for word in words {
            // Other launchers' files have more words (`max_slots`), which are ignored.
            if let Some(n) = word.strip_prefix("slots=") {
                host.slots = Some(parse_slots(first, n)?);
            }
        }
        hosts.push(host);
    }
    gather(hosts)
}

fn parse_slots(host: &str, text: &str) -> Result<u32, String> {
    let slots = text.parse().ok().filter(|n| (1..=crate::MAX_RANKS).contains(n));
    slots.ok_or_else(|| {
        format!("host {host}: '{text}' is not a number of ranks; use 1 to {}", crate::MAX_RANKS)
    })
}

fn parse_host(word: &str) -> Result<Host, String> {
    // An IPv6 address has colons of its own.
    let (name, slots) = match word.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':')),
        None if word.matches(':').count() > 1 => (word, None),
        None => word.split_once(':').map_or((word, None), |(name, n)| (name, Some(n))),
    };
    // ssh would take a name that begins with '-' for an option.
    let sound = !name.is_empty() && !name.starts_with('-') && name.chars().all(|c| c.is_ascii_graphic());
    if !sound {
        return Err(format!("'{word}' is not a host; give names or addresses, as in a,b:2"));
    }
    let slots = slots.map(|n| parse_slots(name, n)).transpose()?;
    Ok(Host { name: name.to_string(), slots })
}

/// Merges the entries of each host.
pub(crate) fn gather(named: Vec<Host>) -> Result<Vec<Host>, String> {
    let mut hosts: Vec<Host> = Vec::new();
    for host in named {
        match hosts.iter_mut().find(|h| h.name == host.name) {
            Some(known) => known.slots = Some(known.slots.unwrap_or(1) + host.slots.unwrap_or(1)),
            None => hosts.push(host),
        }
    }
    if hosts.is_empty() { Err("the list of hosts is empty".to_string()) } else { Ok(hosts) }
}

/// The ranks of each host; hosts without ranks are left out.
///
/// # Errors
/// There are not as many slots as ranks.
pub fn place(hosts: &[Host], ranks: u32) -> Result<Vec<(String, Vec<u32>)>, Error> {
    let shares: Vec<u32> = if hosts.iter().any(|h| h.slots.is_some()) {
        hosts.iter().map(|h| h.slots.unwrap_or(1)).collect()
    } else {
        let n = hosts.len() as u32;
        (0..n).map(|i| ranks / n + u32::from(i < ranks % n)).collect()
    };
    let slots: u32 = shares.iter().sum();
    if slots < ranks {
        return Err(Error::Hosts(format!(
            "{ranks} ranks, and the hosts have {slots} slots: name more hosts, or more slots as in HOST:N"
        )));
    }
    let mut first = 0;
    let mut placed = Vec::new();
    for (host, share) in hosts.iter().zip(shares) {
        let end = (first + share).min(ranks);
        if end > first {
            placed.push((host.name.clone(), (first..end).collect()));
        }
        first = end;
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(list: &str, ranks: u32) -> Vec<(String, Vec<u32>)> {
        place(&parse_list(list).unwrap(), ranks).unwrap()
    }

    #[test]
    fn ranks_go_to_hosts_in_blocks() {
        let is = |list, ranks, expected: &[(&str, &[u32])]| {
            let expected: Vec<_> = expected.iter().map(|(h, r)| (h.to_string(), r.to_vec())).collect();
            assert_eq!(placed(list, ranks), expected, "{list}");
        };
        is("a,b", 5, &[("a", &[0, 1, 2]), ("b", &[3, 4])]);
        is("a,b,c", 2, &[("a", &[0]), ("b", &[1])]);
        is("a:1,b:3", 3, &[("a", &[0]), ("b", &[1, 2])]);
        is("a,a,b", 3, &[("a", &[0, 1]), ("b", &[2])]);
        is("[::1]:2,fe80::1", 3, &[("::1", &[0, 1]), ("fe80::1", &[2])]);
        assert!(place(&parse_list("a:1,b").unwrap(), 3).unwrap_err().to_string().contains("2 slots"));
    }

    #[test]
    fn files_of_hosts() {
        let hosts = parse_file("# nodes\nnode1 slots=2 max_slots=4\n\nnode2:3 # big\nnode1\n").unwrap();
        let all: Vec<_> = hosts.iter().map(|h| (h.name.as_str(), h.slots)).collect();
        assert_eq!(all, [("node1", Some(3)), ("node2", Some(3))]);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for list in ["", ",", "a,-oProxyCommand=x", "a:0", "a:x", ":3", "a:99999", "[::1"] {
            let refused = parse_list(list);
            assert!(refused.is_err() || list == "[::1", "{list}: {refused:?}");
        }
        assert!(parse_file("# nothing\n").is_err());
        assert!(parse_file("a slots=many").is_err());
    }
}
