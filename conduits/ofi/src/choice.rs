//! Chooses the provider of a job, the same on all ranks.
//!
//! A provider is identified by libfabric's name for it, with its layers: `tcp;ofi_rxm`. Every rank lists the
//! providers that can do what the conduit needs; the first in the order of preference that all ranks have is
//! chosen.

/// The order of preference: networks first; providers for one host, or for tests, last.
const PREFERENCE: &[&str] = &[
    "cxi", "efa", "verbs", "ucx", "psm3", "psm2", "psm", "opx", "tcp", "net", "udp", "shm", "sm2", "lpp",
    "sockets",
];

/// Providers that do not leave the host.
const ONE_HOST: &[&str] = &["shm", "sm2", "lpp"];

/// The lowest layer's name.
fn base(name: &str) -> &str {
    name.split(';').next().unwrap_or(name)
}

/// The position of a provider in the order; `None` for one that is not a network by itself.
fn place(name: &str) -> Option<usize> {
    let base = base(name);
    let known = PREFERENCE.iter().position(|p| *p == base);
    known.or_else(|| (!base.starts_with("ofi_") && !base.starts_with("off_")).then_some(PREFERENCE.len()))
}

/// Whether the user who asks for `wanted` means this provider.
pub(crate) fn is_meant(wanted: &str, name: &str) -> bool {
    wanted.eq_ignore_ascii_case(name) || wanted.eq_ignore_ascii_case(base(name))
}

/// Whether atomics must not even be tried: a fetching atomic over the layer rxd ends the process (libfabric
/// 1.17).
pub(crate) fn breaks_atomics(name: &str) -> bool {
    name.contains("ofi_rxd")
}

/// Chooses from the lists of all ranks; `Err` has the reason why there is none.
pub(crate) fn pick(have: &[Vec<String>], wanted: Option<&str>, one_host: bool) -> Result<String, String> {
    let of =
        |rank: usize| have[rank].iter().filter(|name| wanted.is_none_or(|wanted| is_meant(wanted, name)));
    let Some(first) = (0..have.len()).next() else { return Err("no ranks".to_string()) };
    if let Some(lacks) = (0..have.len()).find(|rank| of(*rank).next().is_none()) {
        let names = if have[lacks].is_empty() { "none".to_string() } else { have[lacks].join(", ") };
        return Err(match wanted {
            Some(wanted) => format!(
                "GASNET_OFI_PROVIDER={wanted}: rank {lacks} has no such provider that can send reliable datagrams; it has: {names} \
                 (fi_info -l lists what libfabric knows)"
            ),
            None => format!(
                "rank {lacks} has no provider that can send reliable datagrams (fi_info -t FI_EP_RDM shows what it has)"
            ),
        });
    }
    let mut common: Vec<&String> = of(first)
        .filter(|name| (0..have.len()).all(|rank| have[rank].contains(name)))
        .filter(|name| place(name).is_some() && (one_host || !ONE_HOST.contains(&base(name))))
        .collect();
    common.sort_by_key(|name| place(name));
    match common.first() {
        Some(name) => Ok((*name).clone()),
        None => Err(match wanted {
            Some(wanted) if !one_host && ONE_HOST.contains(&wanted) => {
                format!("GASNET_OFI_PROVIDER={wanted}: it does not leave the host, and this job has several")
            }
            _ => "the ranks have no provider in common: fi_info -t FI_EP_RDM on each host shows what it has, and \
                  GASNET_OFI_PROVIDER chooses"
                .to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| n.to_string()).collect()
    }

    #[test]
    fn the_best_common_one() {
        let a = names(&["shm", "tcp;ofi_rxm", "udp;ofi_rxd", "verbs;ofi_rxm"]);
        let b = names(&["udp;ofi_rxd", "tcp;ofi_rxm", "sockets"]);
        assert_eq!(pick(&[a.clone(), b.clone()], None, false).unwrap(), "tcp;ofi_rxm");
        assert_eq!(pick(&[a.clone(), a.clone()], None, false).unwrap(), "verbs;ofi_rxm");
        assert_eq!(pick(&[a.clone(), b.clone()], Some("UDP"), false).unwrap(), "udp;ofi_rxd");
        assert_eq!(pick(&[a.clone(), b], Some("tcp;ofi_rxm"), true).unwrap(), "tcp;ofi_rxm");
        assert_eq!(pick(&[names(&["shm", "sockets"])], None, true).unwrap(), "shm");
        assert_eq!(pick(&[names(&["shm", "sockets"])], None, false).unwrap(), "sockets");
        assert_eq!(pick(&[names(&["next_year", "sockets"])], None, false).unwrap(), "sockets");
        assert_eq!(pick(&[names(&["next_year", "ofi_mrail"])], None, false).unwrap(), "next_year");
    }

    #[test]
    fn what_is_missing_is_said() {
        let (a, b) = (names(&["tcp;ofi_rxm"]), names(&["udp;ofi_rxd"]));
        assert!(pick(&[a.clone(), b.clone()], None, false).unwrap_err().contains("in common"));
        let text = pick(&[a.clone(), b], Some("tcp"), false).unwrap_err();
        assert!(text.contains("rank 1") && text.contains("udp;ofi_rxd"), "{text}");
        assert!(pick(&[a, Vec::new()], None, false).unwrap_err().contains("rank 1"));
        let text = pick(&[names(&["shm"]), names(&["shm"])], Some("shm"), false).unwrap_err();
        assert!(text.contains("does not leave the host"), "{text}");
    }

    #[test]
    fn atomics_that_crash_are_left_alone() {
        assert!(breaks_atomics("udp;ofi_rxd") && !breaks_atomics("tcp;ofi_rxm"));
    }
}
