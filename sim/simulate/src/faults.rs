//! Faults: delays, stalls and losses beyond the costs of the machine.

use gasnet_sim::{CostModel, Hardships, Moment, Network, Time};

/// Faults of ranks and of the network.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults {
    text: String,
    hardships: Hardships,
    delay: f64,
    by: Option<Time>,
    loss: f64,
    duplicate: f64,
    kills: Vec<(Victim, Moment)>,
}

/// Who dies.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Rank(u32),
    /// All ranks of a host.
    Host(u32),
}

impl Faults {
    /// Reads a list divided by commas:
    ///
    /// ```text
    /// slow=3@10x        calls of rank 3 take ten times as long
    /// stall=2@1ms..3ms  rank 2 does nothing between these times
    /// delay=1%          of the packets are late ...
    /// by=50us           ... by up to this much (default: ten times the latency)
    /// loss=1%           of the transmissions are lost, and repeated after 100 us
    /// duplicate=1%      of the transmissions arrive twice; the second one is dropped
    /// kill=2@3ms        rank 2 dies at this time
    /// kill=2@event:812  rank 2 dies when so many events have happened
    /// kill=host:1@3ms   all ranks of host 1 die
    /// tight             room for 2 messages to a peer and 8 one-sided operations
    /// ```
    ///
    /// # Errors
    /// A sentence about what is none of these.
    pub fn read(text: &str) -> Result<Faults, String> {
        let mut faults = Faults { text: text.to_string(), ..Faults::default() };
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let wrong = || {
                format!(
                    "--faults: '{part}' is no fault: slow=3@10x, stall=2@1ms..3ms, delay=1%, by=50us, loss=1%, duplicate=1%, kill=2@3ms, tight"
                )
            };
            match (name, value.is_empty()) {
                ("slow", false) => faults.hardships.slow.push(slow(value).ok_or_else(wrong)?),
                ("stall", false) => faults.hardships.stalls.push(stall(value).ok_or_else(wrong)?),
                ("kill", false) => faults.kills.push(kill(value).ok_or_else(wrong)?),
                ("delay", false) => faults.delay = share(value).ok_or_else(wrong)?,
                ("by", false) => faults.by = Some(time(value).ok_or_else(wrong)?),
                ("loss", false) => faults.loss = share(value).ok_or_else(wrong)?,
                ("duplicate", false) => faults.duplicate = share(value).ok_or_else(wrong)?,
                ("tight", true) => (faults.hardships.frames, faults.hardships.operations) = (2, 8),
                _ => return Err(wrong()),
            }
        }
        Ok(faults)
    }

    /// The list that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The hardships of ranks, so many of which are on a host.
    pub(crate) fn hardships(&self, per_host: u32) -> Hardships {
        let victims = |victim| match victim {
            Victim::Rank(rank) => rank..rank.saturating_add(1),
            Victim::Host(host) => {
                host.saturating_mul(per_host)..host.saturating_add(1).saturating_mul(per_host)
            }
        };
        let kills = self.kills.iter().flat_map(|(victim, at)| victims(*victim).map(|rank| (rank, *at)));
        Hardships { kills: kills.collect(), ..self.hardships.clone() }
    }

    /// The network of a machine with these faults.
    pub(crate) fn network(&self, model: &CostModel) -> Network {
        let mut network = model.network.clone();
        network.reorder = self.delay;
        network.jitter = self.by.unwrap_or(network.latency * 10);
        network.loss = self.loss;
        network.duplicate = self.duplicate;
        network
    }
}

/// `3@10x`
fn slow(text: &str) -> Option<(u32, u32)> {
    let (rank, times) = text.split_once('@')?;
    Some((rank.parse().ok()?, times.strip_suffix('x')?.parse().ok().filter(|times| *times > 0)?))
}

/// `2@1ms..3ms`
fn stall(text: &str) -> Option<(u32, Time, Time)> {
    let (rank, times) = text.split_once('@')?;
    let (from, to) = times.split_once("..")?;
    Some((rank.parse().ok()?, time(from)?, time(to)?))
}

/// `2@1ms`, `2@event:812`, `host:1@1ms`
fn kill(text: &str) -> Option<(Victim, Moment)> {
    let (who, when) = text.split_once('@')?;
    let victim = match who.strip_prefix("host:") {
        Some(host) => Victim::Host(host.parse().ok()?),
        None => Victim::Rank(who.parse().ok()?),
    };
    let moment = match when.strip_prefix("event:") {
        Some(event) => Moment::Event(event.parse().ok()?),
        None => Moment::At(time(when)?),
    };
    Some((victim, moment))
}

/// `1%`
fn share(text: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=90.0).contains(&number).then_some(number / 100.0)
}

/// As settings have times, but with a unit: a bare number is as often meant in microseconds.
fn time(text: &str) -> Option<Time> {
    text.ends_with('s').then_some(())?;
    Some(Time::us(gasnet_wire::config::parse_time(text)? as f64 / 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read() {
        let all =
            Faults::read("slow=3@10x,stall=2@1ms..3ms,delay=1%,by=50us,loss=2%,duplicate=3%,tight").unwrap();
        let network = all.network(&CostModel::modern_ib());
        assert_eq!((network.reorder, network.loss, network.duplicate), (0.01, 0.02, 0.03));
        assert_eq!(network.jitter, Time::us(50.0));
        let hardships = all.hardships(1);
        assert_eq!(hardships.slow, [(3, 10)]);
        assert_eq!(hardships.stalls, [(2, Time::us(1000.0), Time::us(3000.0))]);
        assert_eq!((hardships.frames, hardships.operations), (2, 8));
        let kills = Faults::read("kill=1@2ms,kill=3@event:812,kill=host:2@5us").unwrap().hardships(2).kills;
        let at = |us| Moment::At(Time::us(us));
        assert_eq!(kills, [(1, at(2000.0)), (3, Moment::Event(812)), (4, at(5.0)), (5, at(5.0))]);
        assert_eq!(Faults::read("").unwrap(), Faults::default());
        for wrong in [
            "slow",
            "slow=3",
            "slow=3@0x",
            "delay=1",
            "delay=99%",
            "by=5",
            "kill=1",
            "kill=1@2",
            "kill=host:a@2ms",
            "kill=1@event:x",
            "tight=2",
            "stall=2@1ms",
        ] {
            let said = Faults::read(wrong).unwrap_err();
            assert!(said.contains(wrong), "{said}");
        }
    }
}
