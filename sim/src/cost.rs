//! Cost models: the time that operations take, on historical machines and on present ones.
//!
//! A model has three parts: the network, the costs of calls to a host's processor, and the costs of
//! registration. `gm-myrinet2000` consists of *components* only (its paper lists them as the anatomy of its
//! costs). The duration of an operation is written down nowhere: it follows from the components and from what
//! the ranks do.

use crate::firmware::{FirmwareCosts, LanaiInputs};
use crate::net::Network;
use crate::time::Time;

/// The time that calls take of the processor that makes them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostCosts {
    /// An empty poll, in a program that polls by itself.
    pub poll: Time,
    /// Sending an active message.
    pub am_send: Time,
    /// Receiving an active message and running its handler.
    pub am_handle: Time,
    /// Posting a one-sided operation.
    pub post: Time,
    /// From the arrival of a put's bytes until its initiator can know of it.
    pub put_back: Time,
    /// Copying a byte.
    pub copy: Time,
}

/// The time that registration takes of the processor that does it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinCosts {
    /// A call that pins.
    pub pin: Time,
    /// Each page it pins.
    pub pin_page: Time,
    /// A call that unpins.
    pub unpin: Time,
    /// Each page it unpins.
    pub unpin_page: Time,
    /// Looking up a bucket at the initiator.
    pub lookup: Time,
    /// Handling a move request, without the pins.
    pub move_request: Time,
    /// Each bucket of a move request beyond the first.
    pub move_bucket: Time,
}

impl PinCosts {
    /// Pinning `pages` pages in one call.
    pub fn pinning(&self, pages: u64) -> Time {
        self.pin + self.pin_page * pages
    }
    /// Unpinning `pages` pages in one call.
    pub fn unpinning(&self, pages: u64) -> Time {
        self.unpin + self.unpin_page * pages
    }
}

/// The cost model of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct CostModel {
    /// Its name.
    pub name: &'static str,
    /// The network.
    pub network: Network,
    /// Costs of calls.
    pub host: HostCosts,
    /// Costs of registration.
    pub pin: PinCosts,
    /// The NIC's firmware, on machines whose NIC locks pages.
    pub firmware: FirmwareCosts,
    /// Up to this many bytes travel with a descriptor instead of being fetched.
    pub inline: usize,
    /// Bytes of a page.
    pub page: u64,
}

/// The component costs of Bell and Bonachea (2003), section "cost anatomy", for GM on Myrinet 2000 with
/// Pentium III hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GmComponents {
    /// A one-sided put of 8 bytes, from the call until its completion.
    pub one_sided_us: f64,
    /// A round trip of an active message whose handler does nothing.
    pub am_round_trip_us: f64,
    /// At the target: a move of a bucket that is pinned already.
    pub move_reuse_us: f64,
    /// At the target: a move of a bucket that has to be pinned.
    pub move_pin_us: f64,
    /// Unpinning a page.
    pub unpin_us: f64,
    /// The initiator's bookkeeping ("< 1").
    pub bookkeeping_us: f64,
    /// The link, in MB/s (the data sheet's 2 Gb/s).
    pub link_mb_s: f64,
}

impl GmComponents {
    /// As published.
    pub const PAPER: GmComponents = GmComponents {
        one_sided_us: 14.0,
        am_round_trip_us: 20.0,
        move_reuse_us: 5.0,
        move_pin_us: 40.0,
        unpin_us: 6000.0,
        bookkeeping_us: 0.5,
        link_mb_s: 250.0,
    };
}

impl CostModel {
    /// GM on Myrinet 2000 from its components.
    pub fn gm(c: &GmComponents) -> CostModel {
        let per_byte = Time::us(1.0 / c.link_mb_s);
        let (am_send, am_handle, post) = (Time::us(1.0), Time::us(1.0), Time::us(0.6));
        let gap = Time::us(0.2);
        // One way of an active message of a cache line, without the time of processors and ports.
        let way = Time::us(c.am_round_trip_us / 2.0);
        let latency = way.since(am_send + am_handle + gap + per_byte.bytes(64));
        let there = post + latency + gap + per_byte.bytes(crate::event::HEADER_BYTES + 8);
        CostModel {
            name: "gm-myrinet2000",
            network: Network::new(latency, per_byte, gap),
            host: HostCosts {
                poll: Time::us(0.5),
                am_send,
                am_handle,
                post,
                put_back: Time::us(c.one_sided_us).since(there),
                copy: Time::ns(2),
            },
            pin: PinCosts {
                pin: Time::ZERO,
                pin_page: Time::us(c.move_pin_us - c.move_reuse_us),
                unpin: Time::ZERO,
                unpin_page: Time::us(c.unpin_us),
                lookup: Time::us(c.bookkeeping_us),
                move_request: Time::us(c.move_reuse_us),
                move_bucket: Time::us(1.0),
            },
            firmware: FirmwareCosts::lanai(&LanaiInputs::PAPER),
            // GM fetches all sources by DMA.
            inline: 0,
            page: 4096,
        }
    }

    /// `gm-myrinet2000`.
    pub fn gm_myrinet2000() -> CostModel {
        CostModel::gm(&GmComponents::PAPER)
    }

    /// `lanai9-netvm`: Ong's (2003) machines: LANai 9.2 at 132 MHz, hosts at 1 GHz, a 160 MB/s link.
    pub fn lanai9_netvm() -> CostModel {
        let per_byte = Time::ps(6250);
        CostModel {
            name: "lanai9-netvm",
            network: Network::new(Time::ns(100), per_byte, Time::ZERO),
            host: HostCosts {
                poll: Time::us(0.1),
                am_send: Time::us(1.0),
                am_handle: Time::us(1.0),
                post: Time::us(0.6),
                put_back: Time::us(2.5),
                copy: Time::ns(2),
            },
            // Table 25, syscall: 3.38 + 0.885 n for pin and unpin together; halves.
            pin: PinCosts {
                pin: Time::us(1.69),
                pin_page: Time::us(0.4425),
                unpin: Time::us(1.69),
                unpin_page: Time::us(0.4425),
                lookup: Time::us(0.33),
                move_request: Time::us(1.0),
                move_bucket: Time::us(0.2),
            },
            firmware: FirmwareCosts::lanai(&LanaiInputs::PAPER),
            inline: 96,
            page: 4096,
        }
    }

    /// `modern-ib`: a present-day network. Puts take 1.2 us, the link carries 25 GB/s, registration takes
    /// about 4 us + 0.3 us a page.
    pub fn modern_ib() -> CostModel {
        CostModel {
            name: "modern-ib",
            network: Network::new(Time::ns(600), Time::ps(40), Time::ns(20)),
            host: HostCosts {
                poll: Time::ns(30),
                am_send: Time::ns(150),
                am_handle: Time::ns(150),
                post: Time::ns(100),
                put_back: Time::ns(480),
                copy: Time::ps(100),
            },
            pin: PinCosts {
                pin: Time::us(4.0),
                pin_page: Time::us(0.3),
                unpin: Time::us(1.5),
                unpin_page: Time::us(0.12),
                lookup: Time::us(0.18),
                move_request: Time::us(0.3),
                move_bucket: Time::us(0.05),
            },
            firmware: FirmwareCosts::modern(),
            inline: 220,
            page: 4096,
        }
    }

    /// `this-host`: the network of `modern-ib`, with registration as measured on this machine.
    pub fn this_host(measured: &crate::measure::Measured) -> CostModel {
        let ib = CostModel::modern_ib();
        let pin = measured.best().map_or(ib.pin, |m| PinCosts {
            pin: m.pin_call,
            pin_page: m.pin_page,
            unpin: m.unpin_call,
            unpin_page: m.unpin_page,
            ..ib.pin
        });
        CostModel { name: "this-host", pin, ..ib }
    }

    /// The names of all models.
    pub const NAMES: [&'static str; 6] =
        ["gm-myrinet2000", "lanai9-netvm", "modern-ib", "this-host", "clan-piii", "trapeze-alpha"];

    /// The model with that name.
    pub fn named(name: &str) -> Option<CostModel> {
        Some(match name {
            "gm-myrinet2000" => CostModel::gm_myrinet2000(),
            "lanai9-netvm" => CostModel::lanai9_netvm(),
            "modern-ib" => CostModel::modern_ib(),
            "this-host" => CostModel::this_host(&crate::measure::Measured::take()),
            "clan-piii" => CostModel::clan_piii(),
            "trapeze-alpha" => CostModel::trapeze_alpha(),
            _ => return None,
        })
    }
}
