//! Makes the strategy of a kind.

use crate::bounce::Bounce;
use crate::config::{Config, ConfigError};
use crate::firehose::Firehose;
use crate::rendezvous::Rendezvous;
use crate::strategy::{Kind, Strategy};

impl Kind {
    /// One node's half of it.
    pub fn build(self, config: Config) -> Result<Box<dyn Strategy>, ConfigError> {
        Ok(match self {
            Kind::Firehose => Box::new(Firehose::new(config)?),
            Kind::Bounce => Box::new(Bounce::new(config)?),
            kind => Box::new(Rendezvous::new(kind, config)?),
        })
    }
}
