//! Decides which faults happen, from a seed, so that a run can be repeated.

/// The rate of each fault, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultRates {
    /// The frame vanishes.
    pub drop: u32,
    /// The frame arrives twice.
    pub duplicate: u32,
    /// The frame arrives after later ones.
    pub reorder: u32,
    /// The frame arrives late.
    pub delay: u32,
    /// The frame arrives with a bit changed.
    pub corrupt: u32,
    /// Length of a delay, in nanoseconds.
    pub by: u64,
    /// The seed of the sequence of faults.
    pub seed: u64,
}

/// A part of a list of faults that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFault {
    /// The part, as it was written.
    pub part: String,
}

impl std::fmt::Display for UnknownFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: not understood; it takes a list such as \
             drop=1%,duplicate=0.5%,reorder=5%,delay=2%,by=200us,corrupt=1%,seed=7",
            self.part
        )
    }
}

impl std::error::Error for UnknownFault {}

impl FaultRates {
    /// Parses a list like `drop=1%,reorder=5%,delay=2%,by=200us,seed=7`.
    ///
    /// # Errors
    /// The part that was not understood.
    pub fn parse(text: &str) -> Result<FaultRates, UnknownFault> {
        let mut plan = FaultRates { by: 200_000, seed: 1, ..FaultRates::default() };
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let bad = || UnknownFault { part: part.into() };
            let (name, value) = part.split_once('=').ok_or_else(bad)?;
            let (name, value) = (name.trim(), value.trim());
            let share = || -> Option<u32> {
                let (number, unit) = match value.strip_suffix('%') {
                    Some(number) => (number, 1e4),
                    None => (value, 1e6),
                };
                let share = number.trim().parse::<f64>().ok()? * unit;
                (0.0..=1e6).contains(&share).then_some(share as u32)
            };
            match name {
                "drop" => plan.drop = share().ok_or_else(bad)?,
                "duplicate" => plan.duplicate = share().ok_or_else(bad)?,
                "reorder" => plan.reorder = share().ok_or_else(bad)?,
                "delay" => plan.delay = share().ok_or_else(bad)?,
                "corrupt" => plan.corrupt = share().ok_or_else(bad)?,
                "by" => plan.by = gasnet_wire::config::parse_time(value).ok_or_else(bad)?,
                "seed" => plan.seed = value.parse().map_err(|_| bad())?,
                _ => return Err(bad()),
            }
        }
        Ok(plan)
    }

    /// The plan for one rank: the same rates, and another sequence.
    pub fn of_rank(self, rank: u32) -> FaultRates {
        FaultRates {
            seed: self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(rank)),
            ..self
        }
    }
}

/// The faults of one frame or datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// It vanishes; nothing else happens to it.
    pub drop: bool,
    /// It arrives twice.
    pub duplicate: bool,
    /// The bit with this index, modulo its length, is changed.
    pub corrupt: Option<u64>,
    /// It arrives later.
    pub late: Option<Late>,
}

/// When a late frame arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// When so many others have arrived.
    After(u32),
    /// When so many nanoseconds have passed.
    By(u64),
}

/// A sequence of fates.
#[derive(Debug, Clone)]
pub struct Faults {
    plan: FaultRates,
    random: fastrand::Rng,
}

impl Faults {
    /// The sequence of faults of a plan.
    pub fn new(plan: FaultRates) -> Faults {
        Faults { plan, random: fastrand::Rng::with_seed(plan.seed) }
    }

    fn next(&mut self) -> u64 {
        self.random.u64(..)
    }

    fn chance(&mut self, millionths: u32) -> bool {
        self.random.u32(..1_000_000) < millionths
    }

    /// The faults of the next frame or datagram.
    pub fn fate(&mut self) -> Fate {
        let FaultRates { drop, duplicate, reorder, delay, corrupt, by, .. } = self.plan;
        if self.chance(drop) {
            return Fate { drop: true, ..Fate::default() };
        }
        let late = if self.chance(reorder) {
            Some(Late::After(1 + self.random.u32(..8)))
        } else if self.chance(delay) {
            Some(Late::By(by / 2 + self.next() % by.max(1)))
        } else {
            None
        };
        let corrupt = self.chance(corrupt).then(|| self.next());
        Fate { drop: false, duplicate: self.chance(duplicate), corrupt, late }
    }
}

impl Fate {
    /// Changes the bit that the fate names.
    pub fn apply(&self, bytes: &mut [u8]) {
        if let (Some(bit), false) = (self.corrupt, bytes.is_empty()) {
            let bit = (bit % (bytes.len() as u64 * 8)) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read() {
        let plan =
            FaultRates::parse("drop=1%, duplicate=0.5%,reorder=0.25 ,delay=2%,by=1ms,corrupt=100%,seed=9")
                .unwrap();
        let expected = FaultRates {
            drop: 10_000,
            duplicate: 5_000,
            reorder: 250_000,
            delay: 20_000,
            corrupt: 1_000_000,
            by: 1_000_000,
            seed: 9,
        };
        assert_eq!(plan, expected);
        for bad in ["drop", "drop=", "drop=101%", "drop=-1", "drop=x", "loss=1%", "by=1day", "seed=-1"] {
            let problem = FaultRates::parse(bad).unwrap_err().to_string();
            assert!(problem.contains(bad) && problem.contains("duplicate="), "{problem}");
        }
    }

    #[test]
    fn shares_are_kept_and_seeds_repeat() {
        let plan = FaultRates::parse("drop=10%,duplicate=20%,reorder=30%,delay=40%,corrupt=50%").unwrap();
        let count = 100_000;
        let run = |plan| {
            let mut faults = Faults::new(plan);
            (0..count).map(|_| faults.fate()).collect::<Vec<Fate>>()
        };
        let fates = run(plan);
        assert_eq!(fates, run(plan));
        assert_ne!(fates, run(plan.of_rank(1)));
        let share =
            |what: &dyn Fn(&Fate) -> bool| fates.iter().filter(|f| what(f)).count() as f64 / f64::from(count);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.01, "{a}, not {b}");
        near(share(&|f| f.drop), 0.1);
        near(share(&|f| f.duplicate), 0.9 * 0.2);
        near(share(&|f| matches!(f.late, Some(Late::After(1..=8)))), 0.9 * 0.3);
        near(share(&|f| matches!(f.late, Some(Late::By(100_000..300_000)))), 0.9 * 0.7 * 0.4);
        near(share(&|f| f.corrupt.is_some()), 0.9 * 0.5);
        assert!(run(FaultRates::parse("").unwrap()).iter().all(|f| *f == Fate::default()));
    }
}
