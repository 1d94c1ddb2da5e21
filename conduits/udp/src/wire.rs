//! The wire form of a datagram.
//!
//! Every datagram is a header of [`HEADER_BYTES`] bytes and a payload. Little endian:
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0 | version | [`VERSION`] |
//! | 1 | kind | [`PacketKind`]; other values are reserved |
//! | 2 | flags | [`REPLY`], [`ACK_NOW`], [`ACK`], [`WANTS`]; other bits are zero |
//! | 3 | share | what the peer may have under way, as [`crate::share::encode`] writes it; 0: its first share |
//! | 4..8 | sender | rank |
//! | 8..16 | number | of the packet: counts every transmission of a sender to a receiver from 1, never reused |
//! | 16..20 | seq | of the chunk, low half: counts what is delivered reliably; a chunk sent again keeps it |
//! | 20..24 | len | bytes of payload |
//! | 24..28 | acked | largest packet number received, low half, with [`ACK`] |
//! | 28..30 | run | packets received without a gap up to and with `acked`, with [`ACK`] |
//! | 30..32 | delay | since `acked` was received, in units of 16 us |
//! | 32..40 | limits | how far the peer may send on each channel, in units of 64 bytes from the start, low half |
//! | 40..44 | id | message (frames), operation (puts, gets) |
//! | 44..48 | total | bytes of the whole frame, or to be got |
//! | 48..56 | at | where the payload belongs: in the frame, the segment, the operation |
//! | 56..64 | tag | authenticates all of the above and the payload, except bulk data if the job excludes it ([`crate::auth`]) |
//!
//! The payload of a [`PacketKind::Ack`] is a list of pairs of `u16`: packets missing below those listed so
//! far, packets received below those.

/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;
/// The version of this protocol.
pub const VERSION: u8 = 2;
/// The payload belongs to the reply channel.
pub const REPLY: u8 = 1;
/// The sender waits for the acknowledgement.
pub const ACK_NOW: u8 = 2;
/// `acked`, `run` and `delay` are valid.
pub const ACK: u8 = 4;
/// The sender has more to send than it may.
pub const WANTS: u8 = 8;
/// Bytes of the header that its tag covers.
pub const TAGGED_BYTES: usize = field::TAG.start;
/// Most ranges that an acknowledgement lists beyond the first.
pub const MAX_RANGES: usize = 64;

mod field {
    use core::ops::Range;
    pub(super) const VERSION: usize = 0;
    pub(super) const KIND: usize = 1;
    pub(super) const FLAGS: usize = 2;
    pub(super) const SHARE: usize = 3;
    pub(super) const SENDER: Range<usize> = 4..8;
    pub(super) const NUMBER: Range<usize> = 8..16;
    pub(super) const SEQ: Range<usize> = 16..20;
    pub(super) const LEN: Range<usize> = 20..24;
    pub(super) const ACKED: Range<usize> = 24..28;
    pub(super) const RUN: Range<usize> = 28..30;
    pub(super) const DELAY: Range<usize> = 30..32;
    pub(super) const LIMITS: [Range<usize>; 2] = [32..36, 36..40];
    pub(super) const ID: Range<usize> = 40..44;
    pub(super) const TOTAL: Range<usize> = 44..48;
    pub(super) const AT: Range<usize> = 48..56;
    pub(super) const TAG: Range<usize> = 56..64;
}

/// The purpose of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// Only the fields of every header, and ranges received. It is not acknowledged itself.
    Ack = 1,
    /// Asks for an acknowledgement.
    Ping = 2,
    /// A ping padded to a size, to find out whether the path carries it.
    Probe = 3,
    /// A frame or a part of one. Delivered reliably, as are the following.
    Frame = 4,
    /// Bytes for the receiver's segment.
    Put = 5,
    /// A request for bytes of the receiver's segment.
    Get = 6,
    /// Bytes that were got.
    Data = 7,
    /// The sender leaves, and will neither send nor receive any more.
    Close = 8,
}

impl PacketKind {
    #[inline]
    fn from_u8(v: u8) -> Option<PacketKind> {
        use PacketKind::*;
        [Ack, Ping, Probe, Frame, Put, Get, Data, Close].into_iter().find(|k| *k as u8 == v)
    }

    /// Whether it carries a chunk, which has a `seq`.
    pub fn reliable(self) -> bool {
        matches!(self, PacketKind::Frame | PacketKind::Put | PacketKind::Get | PacketKind::Data)
    }

    /// Whether its receiver has to acknowledge it.
    pub fn eliciting(self) -> bool {
        !matches!(self, PacketKind::Ack | PacketKind::Close)
    }
}

/// The fields of a header, without the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Its purpose.
    pub kind: PacketKind,
    /// [`REPLY`], [`ACK_NOW`], [`ACK`], [`WANTS`].
    pub flags: u8,
    /// Bytes that the peer may have in flight, as a code.
    pub share: u8,
    /// The sending rank.
    pub sender: u32,
    /// Packet number.
    pub number: u64,
    /// Low half of the chunk's number.
    pub seq: u32,
    /// Bytes of payload.
    pub len: u32,
    /// Largest packet number received, low half.
    pub acked: u32,
    /// Length of the run of received packets that ends there.
    pub run: u16,
    /// Delay of the acknowledgement in units of 16 us.
    pub delay: u16,
    /// Limits by channel.
    pub limits: [u32; 2],
    /// Message or operation.
    pub id: u32,
    /// Bytes of the whole frame, or to get.
    pub total: u32,
    /// Location of the payload.
    pub at: u64,
}

impl Header {
    /// Writes the header with a zero tag.
    #[inline]
    pub fn emit(&self, out: &mut [u8; HEADER_BYTES]) {
        out[field::VERSION] = VERSION;
        out[field::KIND] = self.kind as u8;
        out[field::FLAGS] = self.flags;
        out[field::SHARE] = self.share;
        out[field::SENDER].copy_from_slice(&self.sender.to_le_bytes());
        out[field::NUMBER].copy_from_slice(&self.number.to_le_bytes());
        out[field::SEQ].copy_from_slice(&self.seq.to_le_bytes());
        out[field::LEN].copy_from_slice(&self.len.to_le_bytes());
        out[field::ACKED].copy_from_slice(&self.acked.to_le_bytes());
        out[field::RUN].copy_from_slice(&self.run.to_le_bytes());
        out[field::DELAY].copy_from_slice(&self.delay.to_le_bytes());
        for (range, limit) in field::LIMITS.into_iter().zip(self.limits) {
            out[range].copy_from_slice(&limit.to_le_bytes());
        }
        out[field::ID].copy_from_slice(&self.id.to_le_bytes());
        out[field::TOTAL].copy_from_slice(&self.total.to_le_bytes());
        out[field::AT].copy_from_slice(&self.at.to_le_bytes());
        out[field::TAG].fill(0);
    }
}

/// A datagram whose form has been checked. Its contents must not be trusted before its tag has been verified.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_BYTES],
    payload: &'a [u8],
}

/// The bytes are not a datagram of this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

fn u32_at(bytes: &[u8; HEADER_BYTES], range: core::ops::Range<usize>) -> u32 {
    let mut v = [0; 4];
    v.copy_from_slice(&bytes[range]);
    u32::from_le_bytes(v)
}

fn u16_at(bytes: &[u8; HEADER_BYTES], range: core::ops::Range<usize>) -> u16 {
    let mut v = [0; 2];
    v.copy_from_slice(&bytes[range]);
    u16::from_le_bytes(v)
}

fn u64_at(bytes: &[u8; HEADER_BYTES], range: core::ops::Range<usize>) -> u64 {
    let mut v = [0; 8];
    v.copy_from_slice(&bytes[range]);
    u64::from_le_bytes(v)
}

impl<'a> Packet<'a> {
    /// Checks version, kind, flags and length.
    ///
    /// # Errors
    /// It is not a datagram of this protocol.
    #[inline]
    pub fn new_checked(datagram: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let (header, payload) = datagram.split_first_chunk::<HEADER_BYTES>().ok_or(Malformed)?;
        Packet::of_parts(header, payload)
    }

    /// [`Packet::new_checked`] of a datagram in two parts.
    ///
    /// # Errors
    /// It is not a datagram of this protocol.
    #[inline]
    pub fn of_parts(header: &'a [u8; HEADER_BYTES], payload: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let known = REPLY | ACK_NOW | ACK | WANTS;
        if header[field::VERSION] != VERSION
            || PacketKind::from_u8(header[field::KIND]).is_none()
            || header[field::FLAGS] & !known != 0
            || u32_at(header, field::LEN) as usize != payload.len()
        {
            return Err(Malformed);
        }
        Ok(Packet { header, payload })
    }

    /// Length of the first of several datagrams of equal length, according to its header; `None` if that is
    /// impossible.
    #[inline]
    pub fn length(datagrams: &[u8]) -> Option<usize> {
        let (header, rest) = datagrams.split_first_chunk::<HEADER_BYTES>()?;
        let len = u32_at(header, field::LEN) as usize;
        (len <= rest.len()).then_some(HEADER_BYTES + len)
    }

    /// The rank that it claims to be from.
    #[inline]
    pub fn sender(&self) -> u32 {
        u32_at(self.header, field::SENDER)
    }

    /// Its packet number.
    #[inline]
    pub fn number(&self) -> u64 {
        u64_at(self.header, field::NUMBER)
    }

    /// Its tag.
    #[inline]
    pub fn tag(&self) -> u64 {
        u64_at(self.header, field::TAG)
    }

    /// The part of the header that the tag covers.
    #[inline]
    pub fn tagged(&self) -> &'a [u8; TAGGED_BYTES] {
        tagged(self.header)
    }

    /// The kind that it claims to be.
    #[inline]
    pub fn kind(&self) -> Option<PacketKind> {
        kind(self.tagged())
    }

    /// The bytes behind the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Decodes the header.
    ///
    /// # Errors
    /// The fields contradict each other.
    #[inline]
    pub fn header(&self) -> Result<Header, Malformed> {
        let h = self.header;
        let header = Header {
            kind: PacketKind::from_u8(h[field::KIND]).ok_or(Malformed)?,
            flags: h[field::FLAGS],
            share: h[field::SHARE],
            sender: self.sender(),
            number: self.number(),
            seq: u32_at(h, field::SEQ),
            len: self.payload.len() as u32,
            acked: u32_at(h, field::ACKED),
            run: u16_at(h, field::RUN),
            delay: u16_at(h, field::DELAY),
            limits: field::LIMITS.map(|range| u32_at(h, range)),
            id: u32_at(h, field::ID),
            total: u32_at(h, field::TOTAL),
            at: u64_at(h, field::AT),
        };
        let len = u64::from(header.len);
        let fits = match header.kind {
            PacketKind::Frame => {
                len > 0 && header.at.checked_add(len).is_some_and(|end| end <= u64::from(header.total))
            }
            PacketKind::Put | PacketKind::Data => len > 0 && header.at.checked_add(len).is_some(),
            PacketKind::Get => len == 0 && header.total > 0,
            PacketKind::Ack => len.is_multiple_of(4) && len <= MAX_RANGES as u64 * 4,
            PacketKind::Ping | PacketKind::Close => len == 0,
            PacketKind::Probe => true,
        };
        let acks = header.flags & ACK == 0 || header.run > 0;
        if fits && acks && header.number > 0 { Ok(header) } else { Err(Malformed) }
    }

    /// The ranges of an acknowledgement: packets missing, packets received below those.
    pub fn ranges(&self) -> impl Iterator<Item = (u16, u16)> + 'a {
        let pairs = self.payload.chunks_exact(4);
        pairs.map(|b| (u16::from_le_bytes([b[0], b[1]]), u16::from_le_bytes([b[2], b[3]])))
    }
}

/// The part of a header that its tag covers.
#[inline]
pub fn tagged(header: &[u8; HEADER_BYTES]) -> &[u8; TAGGED_BYTES] {
    header.first_chunk().expect("the tag comes last")
}

/// The kind in a header.
#[inline]
pub fn kind(header: &[u8; TAGGED_BYTES]) -> Option<PacketKind> {
    PacketKind::from_u8(header[field::KIND])
}

/// Writes a datagram's tag.
#[inline]
pub fn set_tag(header: &mut [u8; HEADER_BYTES], tag: u64) {
    header[field::TAG].copy_from_slice(&tag.to_le_bytes());
}

/// The number with this low half that is nearest to a known one.
#[inline]
pub fn expand(low: u32, near: u64) -> u64 {
    let ahead = low.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_header() -> impl Strategy<Value = Header> {
        let kinds = prop_oneof![
            Just(PacketKind::Ack),
            Just(PacketKind::Ping),
            Just(PacketKind::Probe),
            Just(PacketKind::Frame),
            Just(PacketKind::Put),
            Just(PacketKind::Get),
            Just(PacketKind::Data),
            Just(PacketKind::Close)
        ];
        let small = (any::<u32>(), 1u64.., any::<u32>(), any::<u32>(), 1u16.., any::<u16>());
        (kinds, (0u8..16, any::<u8>()), small, any::<[u32; 2]>(), any::<u32>(), 1u32.., any::<u64>())
            .prop_map(
                |(kind, (flags, share), (sender, number, seq, acked, run, delay), limits, id, total, at)| {
                    Header {
                        kind,
                        flags,
                        share,
                        sender,
                        number,
                        seq,
                        len: 0,
                        acked,
                        run,
                        delay,
                        limits,
                        id,
                        total,
                        at,
                    }
                },
            )
    }

    proptest! {
        /// Every header that is written can be read, with every length of payload that its kind allows, and
        /// with no other length.
        #[test]
        fn what_is_written_is_read(header in any_header(), len in 0u32..600) {
            let header = Header { len, at: header.at % 1000, ..header };
            let mut bytes = [0; HEADER_BYTES];
            header.emit(&mut bytes);
            let mut datagram = bytes.to_vec();
            datagram.resize(HEADER_BYTES + len as usize, 7);
            let packet = Packet::new_checked(&datagram).unwrap();
            if let Ok(read) = packet.header() {
                prop_assert_eq!(read, header);
            }
            for cut in [0, 1, HEADER_BYTES - 1, HEADER_BYTES] {
                if cut < datagram.len() {
                    prop_assert!(Packet::new_checked(&datagram[..cut]).is_err());
                }
            }
        }

        /// Any bytes are handled, and accepted ones are consistent.
        #[test]
        fn any_bytes_are_handled(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), fix in any::<bool>()) {
            if fix && bytes.len() >= HEADER_BYTES {
                let len = (bytes.len() - HEADER_BYTES) as u32;
                bytes[0] = VERSION;
                bytes[1] %= 10;
                bytes[2] &= 15;
                bytes[20..24].copy_from_slice(&len.to_le_bytes());
            }
            let Ok(packet) = Packet::new_checked(&bytes) else { return Ok(()) };
            let Ok(header) = packet.header() else { return Ok(()) };
            prop_assert_eq!(header.len as usize, bytes.len() - HEADER_BYTES);
            prop_assert!(header.kind != PacketKind::Frame || header.at + u64::from(header.len) <= u64::from(header.total));
            prop_assert!(packet.ranges().count() <= bytes.len());
            let mut again = [0; HEADER_BYTES];
            header.emit(&mut again);
            prop_assert_eq!(tagged(&again), packet.tagged());
        }

        #[test]
        fn halves_are_expanded(near in any::<u64>(), away in -1_000_000i64..1_000_000) {
            let near = near.clamp(1 << 33, 1 << 60);
            let number = near.wrapping_add_signed(away);
            prop_assert_eq!(expand(number as u32, near), number);
        }
    }
}
