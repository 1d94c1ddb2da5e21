//! CLAN: the tables and quoted figures of Riddoch's thesis (2002), from the events of the modelled cards and
//! switch ([`gasnet_sim::ClanCards`]).
//!
//! **Honesty.** Component costs go in ([`ClanInputs`]); rows that went in print without `paper`. The
//! commercial card that the thesis compares with is not modelled: its rows are published only, or have its
//! round trip as an input.

mod message;
#[cfg(test)]
mod tests;

use super::chart::{Chart, Curve};
use super::table::Row;
use gasnet_sim::{
    Arbitration, Bare, Burst, ClanCards, ClanCosts, ClanInputs, Machine, Report, Rng, Time, WORD,
};
use message::{Connection, MessageWay};

/// The inputs and the sizes of the runs.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// The inputs.
    pub inputs: ClanInputs,
    /// Repetitions.
    pub times: u32,
    /// The seed.
    pub seed: u64,
}

/// One host of the network.
type Host<'a> = Machine<'a, ClanCards>;

/// Blocks of the switch.
const BLOCKS: Arbitration = Arbitration { block: 512, cut_through: true };

impl Setup {
    /// The thesis's inputs.
    pub fn paper(quick: bool) -> Setup {
        Setup { inputs: ClanInputs::PAPER, times: if quick { 20 } else { 200 }, seed: 1 }
    }

    fn cards(&self, hosts: u32, switches: usize) -> ClanCards {
        ClanCards::new(ClanCosts::new(&self.inputs), hosts as usize, switches, BLOCKS)
    }

    fn run<T>(
        &self,
        hosts: u32,
        switches: usize,
        program: impl Fn(&Host<'_>) -> T,
    ) -> Result<Report<T>, String> {
        Bare::new(hosts, self.seed).run(self.cards(hosts, switches), program).map_err(|e| e.to_string())
    }
}

impl Setup {
    /// Runs a program on one of two hosts.
    fn alone<T>(&self, program: impl Fn(&Host<'_>) -> T) -> Result<T, String> {
        let mut report = Bare::new(1, self.seed).run(self.cards(2, 1), program).map_err(|e| e.to_string())?;
        report.results.pop().ok_or_else(|| "no program".into())
    }
}

/// A word that a program stores in another host's memory.
fn store_word(m: &Host<'_>, to: u32, at: u64, word: u32) {
    let busy = m.device(|cards, clock| cards.store(clock, m.id(), Burst::new(to, at, &word.to_le_bytes())));
    m.work(busy);
}

/// Waits until a word of the own memory has a value.
fn spin(m: &Host<'_>, at: u64, word: u32) {
    m.until("a word", |cards, _| (cards.word(m.id(), at) == word).then_some(()));
}

/// Microseconds of a round trip of words, with `client` and `server` of work at the two ends.
fn words_round_trip(s: &Setup, client: Time, server: Time) -> Result<f64, String> {
    let report = s.run(2, 1, |m| {
        let begin = m.now();
        for i in 1..=s.times {
            if m.id() == 0 {
                m.work(client);
                store_word(m, 1, 0, i);
                spin(m, 0, i);
            } else {
                spin(m, 0, i);
                m.work(server);
                store_word(m, 0, 0, i);
            }
        }
        m.now().since(begin).as_us() / f64::from(s.times)
    })?;
    Ok(report.results[0])
}

/// Microseconds of a round trip of messages between two VIs.
fn round_trip(s: &Setup, switches: usize, octets: usize, way: MessageWay) -> Result<f64, String> {
    let report = s.run(2, switches, |m| {
        let mut end = Connection::new(1 - m.id(), 0, octets);
        let begin = m.now();
        for _ in 0..s.times {
            if m.id() == 1 {
                end.receive(m);
            }
            end.post(m, way);
            // While the message is under way.
            end.send_done(m);
            end.post_receive(m);
            if m.id() == 0 {
                end.receive(m);
            }
        }
        m.now().since(begin).as_us() / f64::from(s.times)
    })?;
    Ok(report.results[0])
}

/// Table 5.1: octets; CLAN by the engine, by stores, and Emulex: medians, and 95th percentiles.
const TABLE_5_1: [(usize, [f64; 3]); 4] =
    [(0, [9.7, 7.5, 12.7]), (4, [13.1, 10.0, 14.6]), (40, [14.3, 10.6, 18.7]), (400, [33.4, 33.0, 26.2])];

const WRITE_BUFFER: &str = "the paper's 36 octets more take 0.3 us one way, less than their stores at the rate of long messages \
                            (0.76 us): a write buffer hides them, whose depth and drain are not published";

/// Tables 4.1, 5.1, 5.2 and 6.1.
pub fn tables(s: &Setup) -> Result<Vec<Row>, String> {
    let mut rows = table_4_1(s)?;
    rows.push(
        Row::new("raw_rtt_4", "us", 2, words_round_trip(s, Time::ZERO, Time::ZERO)?)
            .explained("calibration: 4.8"),
    );
    for (octets, [engine, stores, emulex]) in TABLE_5_1 {
        for (way, name, paper) in [(MessageWay::Engine, "dma", engine), (MessageWay::Stores, "pio", stores)] {
            let row = Row::new(format!("table51_{name}_{octets}"), "us", 2, round_trip(s, 1, octets, way)?);
            rows.push(match (octets, way) {
                (0 | 4, _) => row.explained(format!("calibration: {paper}")),
                (40, MessageWay::Stores) => row.paper(paper).explained(WRITE_BUFFER),
                _ => row.paper(paper),
            });
        }
        rows.push(Row::published(format!("table51_emulex_{octets}"), "us", emulex));
    }
    rows.push(
        Row::new("pio_0_without_switch", "us", 2, round_trip(s, 0, 0, MessageWay::Stores)?)
            .explained("calibration: 6.7"),
    );
    let names = ["post_recv", "recv_done", "recv_not_done", "send_done", "send_not_done"];
    for ((name, cycles), emulex) in
        names.into_iter().zip(s.inputs.calls).zip([408.0, 330.0, 202.0, 537.0, 209.0])
    {
        rows.push(Row::new(format!("table52_{name}"), "cycles", 1, cycles).explained("input"));
        rows.push(
            Row::new(format!("table52_{name}_locked"), "cycles", 1, cycles + s.inputs.lock)
                .explained("input"),
        );
        rows.push(Row::published(format!("table52_{name}_emulex"), "cycles", emulex));
    }
    rows.extend(table_6_1(s)?);
    Ok(rows)
}

/// Table 4.1, in cycles: endpoint with its queues, local aperture, outgoing aperture, tripwires.
const RESOURCES: [(&str, f64); 4] = [
    ("endpoint_and_queues", 8_138.0),
    ("local_aperture", 15_769.0),
    ("outgoing_aperture", 32_575.0),
    ("tripwires", 18_019.0),
];

fn table_4_1(s: &Setup) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = RESOURCES
        .iter()
        .map(|(name, cycles)| Row::new(format!("table41_{name}"), "cycles", 1, *cycles).explained("input"))
        .collect();
    let us = s.alone(|m| {
        RESOURCES.iter().for_each(|(_, cycles)| m.work(Time::us(cycles / s.inputs.mhz)));
        m.now().as_us()
    })?;
    rows.push(Row::new("table41_connection", "cycles", 1, us * s.inputs.mhz).paper(74_501.0));
    rows.push(Row::new("table41_connection_time", "us", 1, us).paper(115.0));
    rows.push(Row::published("table41_tcp_socket", "us", 11.0));
    Ok(rows)
}

/// An ORB's call without arguments: what it adds to a round trip, what of that its server does; the strand of
/// VIs, and marshalling into remote memory. In microseconds.
const ORB: f64 = 11.3;
const ORB_SERVER: f64 = 6.9;
const VIA_STRAND: f64 = 3.0;
const IN_PLACE: f64 = 1.1;
/// Round trip of 4 octets on the Emulex card.
const EMULEX: f64 = 14.6;

/// An ORB's call over cards with that round trip of a word, and more work of the client.
fn orb(s: &Setup, raw: f64, more: f64) -> Result<f64, String> {
    let cards = Setup { inputs: ClanInputs { raw, ..s.inputs }, ..*s };
    words_round_trip(&cards, Time::us(ORB - ORB_SERVER + more), Time::us(ORB_SERVER))
}

fn table_6_1(s: &Setup) -> Result<Vec<Row>, String> {
    let mut rows = vec![
        Row::new("table61_clan_single_copy", "us", 2, orb(s, s.inputs.raw, 0.0)?)
            .explained("calibration: 16.1"),
        Row::new("table61_clan_zero_copy", "us", 2, orb(s, s.inputs.raw, IN_PLACE)?)
            .explained("calibration: 17.2"),
        Row::new("table61_emulex_via", "us", 2, orb(s, EMULEX, VIA_STRAND)?).paper(28.3),
    ];
    for (name, us) in [("loopback", 55.2), ("fast_ethernet", 127.0), ("gigabit_ethernet", 149.0)] {
        rows.push(Row::published(format!("table61_{name}"), "us", us));
    }
    for (name, us) in [("clan", 1807.0), ("clan_cached", 641.0), ("tcp", 762.0)] {
        rows.push(Row::published(format!("first_call_{name}"), "us", us));
    }
    for (name, us) in [("m_via_gigabit_ethernet", 38.0), ("berkeley_via", 46.0)] {
        rows.push(Row::published(format!("rtt_{name}"), "us", us));
    }
    Ok(rows)
}

/// How a server learns of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Served {
    /// Messages of VIs whose completion queue is fed by interrupts.
    Events,
    /// Words; it looks at the connections that were active recently.
    ActiveList,
    /// Words, and an ORB's call for each.
    Orb,
}

/// The server's time for a request on a connection of its active list, in microseconds (2.5 M/s).
const ACTIVE: f64 = 0.4;

/// Requests of 4 octets that a server answers in a second; each client has one under way.
fn rate(s: &Setup, clients: u32, served: Served) -> Result<f64, String> {
    let each = s.times.max(40);
    let place = |client: u32| 64 * u64::from(client);
    let report = s.run(clients + 1, 1, |m| {
        let (c, me) = (ClanCosts::new(&s.inputs), m.id());
        let begin = m.now();
        if me > 0 {
            let mut end = Connection::new(0, me, WORD);
            for i in 1..=each {
                if served == Served::Events {
                    end.post(m, MessageWay::Stores);
                    end.send_done(m);
                    end.post_receive(m);
                    end.receive(m);
                } else {
                    m.work(if served == Served::Orb { Time::us(ORB - ORB_SERVER) } else { Time::ZERO });
                    store_word(m, 0, place(me), i);
                    spin(m, place(me), i);
                }
            }
            return 0.0;
        }
        let mut ends: Vec<Connection> = (1..=clients).map(|k| Connection::new(k, k, WORD)).collect();
        ends.iter().for_each(|end| m.device(|cards, _| cards.watch(0, end.pointer())));
        let mut seen = vec![0; clients as usize + 1];
        let mut next = 0;
        for _ in 0..each * clients {
            if served == Served::Events {
                let at = m.until("an event", |cards, _| cards.event(0));
                m.work(c.event);
                if let Some(end) = ends.iter_mut().find(|end| end.pointer() == at) {
                    end.receive(m);
                    end.post(m, MessageWay::Stores);
                    end.send_done(m);
                    end.post_receive(m);
                }
                continue;
            }
            // The next connection with a request, round robin.
            let client = m.until("a request", |cards, _| {
                let of = |i: u32| (next + i) % clients + 1;
                (0..clients).map(of).find(|k| cards.word(0, place(*k)) != seen[*k as usize])
            });
            next = client;
            seen[client as usize] += 1;
            let work = if served == Served::Orb { ORB_SERVER } else { ACTIVE };
            m.work(Time::us(work).since(c.store.bytes(WORD)));
            store_word(m, client, place(client), seen[client as usize]);
        }
        f64::from(each * clients) / m.now().since(begin).as_s()
    })?;
    Ok(report.results[0])
}

/// Enough clients to keep any server busy.
const MANY: u32 = 20;

/// Message rates.
pub fn rate_rows(s: &Setup) -> Result<Vec<Row>, String> {
    let row = |name: &str, clients: u32, served| {
        Ok::<Row, String>(Row::new(name, "k/s", clients + 1, rate(s, clients, served)? / 1e3))
    };
    let mut rows = vec![
        row("one_busy_raw", 1, Served::ActiveList)?.paper(204.0).explained(
            "the round trip of 4.8 us, and the server's 0.4 us for a connection of its list: the latter is that \
             of a full server",
        ),
        row("one_busy_via", 1, Served::Events)?.paper(53.3),
        row("peak_raw", MANY, Served::ActiveList)?.explained("calibration: 2500"),
        row("peak_via", MANY, Served::Events)?.explained(
            "published: 114, from which the time of an event is taken. That is the whole time of a request of a \
             full server, its own work for it included: how much is the interrupt's is not published",
        ),
        row("orb_5_clients", 5, Served::Orb)?.paper(145.0),
    ];
    for (name, value) in
        [("one_busy_emulex", 51.6), ("peak_emulex", 200.0), ("orb_fast_ethernet_8_clients", 21.5)]
    {
        rows.push(Row::published(name, "k/s", value));
    }
    Ok(rows)
}

/// Ways of a sender to spend its processor's time on a message.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sender {
    /// Stores, formed in place.
    InPlace,
    /// Stores from a buffer that the caller may share.
    Copying,
    /// A descriptor for the Emulex card, and taking its completion.
    Descriptor,
}

/// The fixed part of a send by stores, in microseconds: chosen.
const STORES: f64 = 0.30;
/// Cycles of posting to the Emulex card, and of taking the completion.
const EMULEX_POST: [f64; 2] = [408.0, 537.0];

/// Microseconds of the sender's processor.
fn overhead(s: &Setup, octets: usize, sender: Sender) -> Result<f64, String> {
    s.alone(|m| {
        let c = ClanCosts::new(&s.inputs);
        let begin = m.now();
        match sender {
            Sender::Descriptor => m.work(Time::us(EMULEX_POST.iter().sum::<f64>() / s.inputs.mhz)),
            _ => {
                m.work(Time::us(STORES));
                m.work(if sender == Sender::Copying { c.lock } else { Time::ZERO });
                let octets = Burst::new(1, 0, &vec![1; octets]);
                let busy = m.device(|cards, clock| cards.store(clock, 0, octets));
                m.work(busy);
            }
        }
        m.now().since(begin).as_us()
    })
}

/// The largest number of octets for which something holds that holds for less.
fn last(most: usize, holds: impl Fn(usize) -> Result<bool, String>) -> Result<f64, String> {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if holds(middle)? {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low as f64)
}

/// Mb/s of messages in a row between two VIs, by stores.
fn bandwidth(s: &Setup, octets: usize) -> Result<f64, String> {
    // With this many the first and the last do not matter.
    let times = s.times.max(400);
    let report = s.run(2, 1, |m| {
        let mut end = Connection::new(1 - m.id(), 0, octets);
        let begin = m.now();
        for _ in 0..times {
            if m.id() == 0 {
                end.room(m);
                end.post(m, MessageWay::Stores);
                end.send_done(m);
            } else {
                end.receive(m);
                end.post_receive(m);
                end.give_credit(m);
            }
        }
        if m.id() == 0 {
            end.drained(m);
        }
        (8 * octets) as f64 * f64::from(times) / m.now().since(begin).as_us()
    })?;
    Ok(report.results[0])
}

/// Mb/s of the Emulex card: 750, half of that at 300 octets.
fn emulex_bandwidth(octets: usize) -> f64 {
    750.0 * octets as f64 / (octets as f64 + 300.0)
}

/// The Alpha's octet on its bus, in ns (950 Mb/s), and the octets with half of that rate.
const ALPHA_OCTET: f64 = 8.0 / 0.95;
const ALPHA_HALF: f64 = 72.0;

/// Mb/s of stores on the Alpha, whose bus takes the time.
fn alpha_bandwidth(s: &Setup, octets: usize) -> Result<f64, String> {
    let inputs = ClanInputs { octets: [s.inputs.octets[0], s.inputs.octets[1], ALPHA_OCTET], ..s.inputs };
    Setup { inputs, ..*s }.alone(|m| {
        for _ in 0..s.times {
            m.work(Time::us(ALPHA_HALF * ALPHA_OCTET / 1e3));
            let burst = Burst::new(1, 0, &vec![1; octets]);
            let busy = m.device(|cards, clock| cards.store(clock, 0, burst));
            m.work(busy);
        }
        (8 * octets) as f64 * f64::from(s.times) / m.now().as_us()
    })
}

/// Where one way overtakes another.
pub fn crossover_rows(s: &Setup) -> Result<Vec<Row>, String> {
    let cheaper = |sender| last(400, |n| Ok(overhead(s, n, sender)? <= overhead(s, n, Sender::Descriptor)?));
    let row = |name: &str, unit, here: f64| Row::new(name, unit, 2, here);
    let alpha_half = last(400, |n| Ok(alpha_bandwidth(s, n)? <= 950.0 / 2.0))?;
    Ok(vec![
        row("stores_cheaper_up_to_copying", "octets", cheaper(Sender::Copying)?).paper(40.0),
        row("stores_cheaper_up_to_in_place", "octets", cheaper(Sender::InPlace)?).paper(56.0),
        row(
            "via_pio_ahead_up_to",
            "octets",
            last(400, |n| Ok(n == 0 || bandwidth(s, n)? >= emulex_bandwidth(n)))?,
        )
        .paper(180.0),
        row("pio_ceiling", "Mb/s", bandwidth(s, 3200)?).paper(380.0),
        row("alpha_half_of_peak", "octets", alpha_half).explained("calibration: 72"),
        row("alpha_share_at_1024", "of peak", alpha_bandwidth(s, 1024)? / 950.0)
            .explained("published: almost full"),
        row("alpha_gain_at_32", "times", alpha_bandwidth(s, 32)? / emulex_bandwidth(32))
            .paper(4.5)
            .explained(
                "the text names neither host nor engine; taken as the Alpha's stores beside the Emulex card",
            ),
        Row::published("emulex_bandwidth", "Mb/s", 750.0),
    ])
}

/// The longest wait for a switch of `ports` ports, all of which send to one of them; in microseconds.
fn jitter(s: &Setup, ports: u32, block: usize, seed: u64) -> Result<f64, String> {
    let arbitration = Arbitration { block, cut_through: true };
    let cards = ClanCards::new(ClanCosts::new(&s.inputs), ports as usize, 1, arbitration);
    let report = Bare::new(ports, seed).run(cards, |m: &Host<'_>| {
        let mut rng = Rng::new(seed * u64::from(ports) + u64::from(m.id()));
        for _ in 0..40 {
            let octets = if m.id() == 1 { 64 } else { 4 * block };
            m.device(|cards, clock| {
                let now = clock.now();
                cards.send(clock, m.id(), Burst::new(0, 4096 * u64::from(m.id()), &vec![1; octets]), now);
            });
            m.work(Time::us(20.0 + rng.unit() * 60.0));
        }
        m.device(|cards, _| cards.stats().longest_wait.as_us())
    });
    let report = report.map_err(|e| e.to_string())?;
    Ok(report.results.into_iter().fold(0.0, f64::max))
}

/// When 512 octets are in memory, two switches away.
fn two_hops(s: &Setup, cut_through: bool) -> Result<f64, String> {
    let cards = ClanCards::new(ClanCosts::new(&s.inputs), 2, 2, Arbitration { cut_through, ..BLOCKS });
    let report = Bare::new(1, s.seed).run(cards, |m: &Host<'_>| {
        m.device(|cards, clock| cards.send(clock, 0, Burst::new(1, 0, &[1; 512]), Time::ZERO));
        m.work(Time::us(100.0));
        m.device(|cards, _| cards.arrivals(1).last().map_or(0.0, |a| a.1.as_us()))
    });
    Ok(report.map_err(|e| e.to_string())?.results[0])
}

/// The switch.
pub fn switch_rows(s: &Setup) -> Result<Vec<Row>, String> {
    let waits = (0..10).map(|i| jitter(s, 5, 512, s.seed + i)).collect::<Result<Vec<f64>, String>>()?;
    let saved = two_hops(s, false)? - two_hops(s, true)?;
    Ok(vec![
        Row::new("switch_jitter", "us", 5, waits.into_iter().fold(0.0, f64::max)).paper(16.4),
        Row::new("cut_through_512_saves", "us", 2, saved).paper(8.0),
    ])
}

/// The machine of the figures.
const SIMULATED: &str = "simulated: Pentium III hosts at 650 MHz on CLAN with one switch, as in the thesis";

/// Latency, bandwidth and rates as curves.
pub fn figures(s: &Setup) -> Result<Vec<Chart>, String> {
    let s = &Setup { times: s.times.min(40), ..*s };
    let chart = |file: &str, title: &str, x, y| Chart {
        file: file.into(),
        setting: SIMULATED.into(),
        title: title.into(),
        x,
        y,
        ..Chart::default()
    };
    let curve = |name: &str, points: Vec<(f64, f64)>| Curve { name: name.into(), points };
    let over = |values: &[usize], of: &dyn Fn(usize) -> Result<f64, String>| {
        values.iter().map(|n| Ok((*n as f64, of(*n)?))).collect::<Result<Vec<_>, String>>()
    };
    let sizes: Vec<usize> = [0, 4].into_iter().chain((1..=20).map(|i| 20 * i)).collect();
    let published = |i: usize| TABLE_5_1.map(|(octets, us)| (octets as f64, us[i])).to_vec();
    let latency = Chart {
        curves: vec![
            curve("stores", over(&sizes, &|n| round_trip(s, 1, n, MessageWay::Stores))?),
            curve("stores, published", published(1)),
            curve("engine", over(&sizes, &|n| round_trip(s, 1, n, MessageWay::Engine))?),
            curve("engine, published", published(0)),
            curve("Emulex, published", published(2)),
        ],
        ..chart(
            "clan-table51",
            "Round trip of a message between two VIs",
            "payload (octets)",
            "round trip (us)",
        )
    };
    let sizes = [8, 16, 32, 64, 100, 128, 180, 256, 512, 1024, 2048];
    let bandwidth = Chart {
        log: (true, false),
        curves: vec![
            curve("VIs by stores", over(&sizes, &|n| bandwidth(s, n))?),
            curve("Emulex (from 2 figures)", over(&sizes, &|n| Ok(emulex_bandwidth(n)))?),
            curve("stores, Alpha", over(&sizes, &|n| alpha_bandwidth(s, n))?),
        ],
        ..chart("clan-bandwidth", "Bandwidth of messages in a row", "message (octets)", "Mb/s")
    };
    let clients = [1, 2, 3, 5, 8, 12, 16, 20];
    let rates = |served| over(&clients, &|n| Ok(rate(s, n as u32, served)? / 1e3));
    let rate = Chart {
        log: (false, true),
        curves: vec![
            curve("words, list of active", rates(Served::ActiveList)?),
            curve("ORB", rates(Served::Orb)?),
            curve("VIs, interrupts", rates(Served::Events)?),
        ],
        ..chart("clan-rates", "Requests of 4 octets that a server answers", "clients", "thousands a second")
    };
    Ok(vec![latency, bandwidth, rate])
}

/// Remarks that are printed after the tables.
pub fn notes() -> Vec<String> {
    [
        "virtual time has no noise: medians and 95th percentiles coincide. Published 95th percentiles of Table 5.1 for 0, 4, 40, 400 octets: \
         stores 7.8 10.4 11.1 33.7, engine 10.0 13.4 14.7 34.9, Emulex 13.3 15.2 18.9 26.7; of Table 6.1 in the order printed: 16.4 17.4 28.8 \
         55.5 128 178",
        "Table 5.2 has no unit: at 650 MHz its 408 for posting are 0.63 us, as the text says, so it is in cycles",
        "the abstract has CLAN's VIs faster than the card's: not at 400 octets (33.0 against 26.2)",
        "live beside tables 4.1 and 5.2: the figures endpoint_cold and vi_* of the set clan, of this project's own endpoints and interfaces",
    ]
    .map(|line| format!("- {line}"))
    .into()
}
