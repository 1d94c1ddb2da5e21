//! Identifiers of nodes, ports, pages and frames.

use core::num::NonZeroU32;

/// Bytes of a page.
pub const PAGE: u32 = 4096;

/// A NIC with its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub u32);

/// A process on a node, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u16);

/// A page frame of a host, numbered from 1, because 0 ends a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ppn(NonZeroU32);

impl Ppn {
    /// The frame with this number; `None` for 0.
    #[inline]
    pub fn new(number: u32) -> Option<Ppn> {
        NonZeroU32::new(number).map(Ppn)
    }

    /// The frame at this index of an array of frames.
    #[inline]
    pub fn at(index: usize) -> Ppn {
        Ppn(NonZeroU32::MIN.saturating_add(index as u32))
    }

    /// Its number.
    #[inline]
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Its index in arrays of frames.
    #[inline]
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A page of a port's memory, unique on its node: port (16 bits), page number (48 bits). Never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vpn(pub u64);

impl Vpn {
    /// The page of `port` with this number.
    #[inline]
    pub fn new(port: PortId, page: u64) -> Vpn {
        Vpn((u64::from(port.0) << 48) | (page & 0xffff_ffff_ffff))
    }

    /// The page of `port` that holds this address.
    #[inline]
    pub fn of(port: PortId, address: u64) -> Vpn {
        Vpn::new(port, address / u64::from(PAGE))
    }

    /// The port that the page belongs to.
    #[inline]
    pub fn port(self) -> PortId {
        PortId((self.0 >> 48) as u16)
    }

    /// Its number among the port's pages.
    #[inline]
    pub fn page(self) -> u64 {
        self.0 & 0xffff_ffff_ffff
    }

    /// The hash that selects its row of the table.
    #[inline]
    pub fn hash(self) -> Hash {
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Hash((x >> 32) as u32)
    }
}

/// Hash of a [`Vpn`]. Libraries compute it, so that NICs need not. Tables reduce it to a row, so any value is
/// in range, and a wrong one only fails to find the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub u32);

/// The right to use a segment: a random number made by its export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

/// The address of a byte in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameAddress {
    /// The frame.
    pub ppn: Ppn,
    /// Bytes from its start.
    pub offset: u32,
}
