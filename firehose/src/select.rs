//! Makes the strategy of a given kind.

use crate::bounce::Bounce;
use crate::config::{Config, ConfigError};
use crate::firehose::Firehose;
use crate::rendezvous::Rendezvous;
use crate::strategy::{Strategy, StrategyKind};

impl StrategyKind {
    /// Makes one node's half of the strategy.
    pub fn build(self, config: Config) -> Result<Box<dyn Strategy>, ConfigError> {
        Ok(match self {
            StrategyKind::Firehose => Box::new(Firehose::new(config)?),
            StrategyKind::Bounce => Box::new(Bounce::new(config)?),
            kind => Box::new(Rendezvous::new(kind, config)?),
        })
    }
}
