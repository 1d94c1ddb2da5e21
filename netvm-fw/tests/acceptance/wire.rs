//! Heads: there and back; and what a NIC does with any bits at all.

use std::sync::Arc;

use gasnet_ops::home::HomeOp;
use netvm_fw::nic::{Nic, NicAction, NicConfig, NicEvent};
use netvm_fw::port::PortMemory;
use netvm_fw::shadow::{Geometry, table};
use netvm_fw::wire::{BadHead, HEAD_BYTES, HEAD_WORDS, Head, HeadKind, MAX_INLINE_BYTES, Span};
use netvm_fw::{Hash, Key, Node, PAGE, PortId, Ppn, Vpn};
use proptest::prelude::*;

const KINDS: [HeadKind; 11] = [
    HeadKind::Write,
    HeadKind::Read,
    HeadKind::ReadReply,
    HeadKind::Atomic,
    HeadKind::AtomicReply,
    HeadKind::Ack,
    HeadKind::Done,
    HeadKind::Refused,
    HeadKind::Message,
    HeadKind::Lease,
    HeadKind::EndLease,
];

fn span() -> impl Strategy<Value = Span> {
    (any::<u64>(), any::<u64>(), any::<u32>(), any::<u16>(), any::<u16>()).prop_map(
        |(vpn, key, hash, offset, len)| Span { vpn: Vpn(vpn), key: Key(key), hash: Hash(hash), offset, len },
    )
}

fn head() -> impl Strategy<Value = Head> {
    let numbers = (any::<u16>(), any::<[u32; 6]>());
    (0..KINDS.len(), 0u16..8, numbers, span(), span()).prop_map(|(kind, flags, (port, n), src, dst)| Head {
        kind: KINDS[kind],
        flags,
        port: PortId(port),
        from: Node(n[0]),
        to: Node(n[1]),
        seq: n[2],
        cookie: n[3],
        notification: n[4],
        op: n[5],
        src,
        dst,
    })
}

/// A head near to good ones: nodes that exist, pages that are mapped, numbers in or just out of their bounds.
fn near() -> impl Strategy<Value = Head> {
    let bytes = || (prop_oneof![0u16..10, 4000u16..4100], prop_oneof![0u16..100, 4090u16..4100]);
    let page = (0u64..4).prop_map(|n| Vpn::new(PortId((n % 2) as u16), n));
    let key = (0u64..2).prop_map(|k| Key(42 + k / 2 * 2 + k % 2));
    (
        head(),
        (0u32..3, 0u32..3, 0u32..80, 0u32..12),
        (page.clone(), page),
        (key.clone(), key),
        (bytes(), bytes()),
    )
        .prop_map(|(head, (from, to, seq, op), (a, b), (k, l), ((o, n), (p, m)))| {
            let same = if head.cookie % 4 == 0 { m } else { n };
            let src = Span { hash: a.hash(), vpn: a, key: k, offset: o, len: n };
            let dst = Span { hash: b.hash(), vpn: b, key: l, offset: p, len: same };
            let port = PortId(head.port.0 % 3);
            Head { from: Node(from), to: Node(to), seq, op, src, dst, port, ..head }
        })
}

fn nic() -> (netvm_fw::shadow::HostTable, Nic, Arc<PortMemory>) {
    let (mut host, table) = table(Geometry::new(4), 1);
    for n in 0..3 {
        host.map(Vpn::new(PortId((n % 2) as u16), n + 1), Ppn::at(n as usize), Key(42));
    }
    let mut nic = Nic::new(NicConfig::new(Node(0), 2), table);
    let memory = Arc::new(PortMemory::new(16, 16));
    nic.open_port(PortId(1), memory.clone());
    (host, nic, memory)
}

/// Carries out what a NIC asks for, checking each DMA; the host refuses nothing and brings nothing.
fn drive(nic: &mut Nic, event: NicEvent) {
    let mut events = vec![event];
    while let Some(event) = events.pop() {
        let mut out = Vec::new();
        nic.handle(0, event, &mut out);
        for action in out {
            match action {
                NicAction::DmaRead { op, from, mut into } => {
                    assert!(from.at.offset + from.len <= PAGE && from.len > 0);
                    assert!(nic.table().count(from.at.ppn).0 > 0);
                    into.resize(from.len as usize, 0);
                    events.push(NicEvent::DmaRead { op, data: into });
                }
                NicAction::DmaWrite { op, to, data } => {
                    assert!(to.offset + data.len() as u32 <= PAGE && !data.is_empty());
                    assert!(nic.table().count(to.ppn).0 > 0);
                    events.push(NicEvent::DmaWritten { op, data });
                }
                NicAction::Send { head, payload, .. } => {
                    assert_eq!(
                        head.check_packet(2, payload.len()),
                        Ok(()),
                        "what a NIC sends is good: {head:?}"
                    );
                    assert_eq!(head.from, Node(0));
                }
                _ => {}
            }
        }
    }
}

proptest! {
    // 256 programs, or PROPTEST_CASES.
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn heads_survive_the_wire(head in head(), payload in prop::collection::vec(any::<u8>(), 0..20)) {
        let bytes = [&head.to_bytes()[..], &payload].concat();
        prop_assert_eq!(Head::from_bytes(&bytes), Ok((head, &payload[..])));
        prop_assert_eq!(Head::decode(&head.encode()), Ok(head));
    }

    #[test]
    fn any_bytes_are_a_head_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        match Head::from_bytes(&bytes) {
            Ok((head, rest)) => prop_assert_eq!([&head.to_bytes()[..], rest].concat(), bytes),
            Err(BadHead::Short) => prop_assert!(bytes.len() < HEAD_BYTES),
            Err(_) => {}
        }
    }

    /// Good heads with some bytes changed: what is accepted is exactly what was there, and within its bounds
    /// once checked.
    #[test]
    fn damaged_heads_are_read_or_refused(
        head in prop_oneof![head(), near()],
        changes in prop::collection::vec((0..HEAD_BYTES, any::<u8>()), 1..6),
        payload in 0usize..5000,
    ) {
        let mut bytes = head.to_bytes();
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        if let Ok((head, rest)) = Head::from_bytes(&bytes) {
            prop_assert_eq!((head.to_bytes(), rest.len()), (bytes, 0));
            if head.check_packet(2, payload).is_ok() {
                prop_assert!(head.from.0 < 2 && head.to.0 < 2 && head.payload_len() == payload);
                prop_assert!(payload <= PAGE as usize);
                if matches!(head.kind, HeadKind::Write | HeadKind::Read | HeadKind::ReadReply) {
                    prop_assert!(head.src.in_page() && head.dst.in_page() && head.src.len == head.dst.len);
                }
            }
            if head.check_command(2).is_ok() {
                prop_assert!(head.kind.is_command() && (head.flags & 1 == 0 || head.payload_len() <= MAX_INLINE_BYTES));
            }
        }
    }

    #[test]
    fn any_packets_are_survived(packets in prop::collection::vec((prop_oneof![head(), near()], any::<bool>()), 1..60)) {
        let (host, mut nic, _memory) = nic();
        for (head, announced) in packets {
            let mut payload = vec![1; head.payload_len().min(5000)];
            // Sometimes not what the head announced.
            payload.truncate(payload.len() - usize::from(head.seq % 7 == 0 && !payload.is_empty()));
            if announced && head.check_packet(2, head.payload_len()).is_ok() {
                drive(&mut nic, NicEvent::Head(head));
            }
            drive(&mut nic, NicEvent::Packet { head, payload });
        }
        for i in 0..4 {
            prop_assert_eq!(nic.table().count(Ppn::at(i)), (0, 0));
            prop_assert!(!host.locked(Ppn::at(i)), "nothing stays locked");
        }
    }

    #[test]
    fn any_commands_are_survived(
        commands in prop::collection::vec(prop_oneof![
            2 => near().prop_map(|h| h.encode()),
            1 => head().prop_map(|h| h.encode()),
            1 => any::<[u64; HEAD_WORDS]>(),
        ], 1..60),
    ) {
        let (_host, mut nic, memory) = nic();
        for (i, words) in commands.iter().enumerate() {
            memory.put_command(i as u32, words, &[3; MAX_INLINE_BYTES]);
            drive(&mut nic, NicEvent::Doorbell(PortId(1)));
        }
        let stats = nic.stats();
        prop_assert_eq!(stats.commands, commands.len() as u64);
    }
}

#[test]
fn operands_stay_in_their_page_and_on_their_alignment() {
    let good = |op: HomeOp, offset: u32| {
        let mut head = Head::new(HeadKind::Atomic, PortId(1), Node(0), Node(1));
        head.op = op as u32;
        head.dst = Span::new(Vpn::new(PortId(1), 5), Key(1), offset, op.operand_bytes() as u32);
        head.check(2).is_ok()
    };
    for op in HomeOp::ALL {
        let step = op.alignment() as u32;
        assert!((0..PAGE).all(|offset| good(op, offset) == (offset % step == 0)), "{op:?}");
        assert_eq!(HomeOp::parse(op as u32), Some(op));
        assert!(op.reply_words() <= gasnet_ops::home::REPLY_WORDS);
    }
    assert_eq!((HomeOp::parse(0), HomeOp::parse(11), HomeOp::parse(u32::MAX)), (None, None, None));
}
