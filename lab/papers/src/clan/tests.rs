use super::*;

fn setup() -> Setup {
    Setup::paper(true)
}

fn within(here: f64, paper: f64, percent: f64) {
    assert!((here - paper).abs() / paper * 100.0 <= percent, "{here} for {paper}");
}

fn value(rows: &[Row], name: &str) -> f64 {
    rows.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("{name}")).here
}

/// The formulas that the thesis's numbers suggest, for the rows that are no inputs.
#[test]
fn fig_01_round_trips() {
    let s = setup();
    within(words_round_trip(&s, Time::ZERO, Time::ZERO).unwrap(), 4.8, 0.1);
    for (octets, [engine, stores, _]) in TABLE_5_1 {
        let (by_engine, by_stores) = (
            round_trip(&s, 1, octets, MessageWay::Engine).unwrap(),
            round_trip(&s, 1, octets, MessageWay::Stores).unwrap(),
        );
        if octets <= 4 {
            within(by_engine, engine, 0.2);
            within(by_stores, stores, 0.2);
            continue;
        }
        let more = octets as f64 - 4.0;
        within(by_stores, 10.0 + 2.0 * more * (21.1 + 10.0) / 1e3, 0.5);
        within(by_engine, 13.1 + 2.0 * more * (7.58 + 8.0 + 10.0) / 1e3, 0.5);
    }
    within(round_trip(&s, 0, 0, MessageWay::Stores).unwrap(), 6.7, 0.2);
}

#[test]
fn fig_01_tables_hold_or_are_explained() {
    let s = setup();
    let mut rows = tables(&s).unwrap();
    rows.extend(rate_rows(&s).unwrap());
    rows.extend(crossover_rows(&s).unwrap());
    rows.extend(switch_rows(&s).unwrap());
    for row in &rows {
        assert!(row.holds(), "{}", row.line());
    }
    within(value(&rows, "table41_connection_time"), 115.0, 1.0);
    within(value(&rows, "table61_clan_single_copy"), 16.1, 0.1);
    within(value(&rows, "table61_emulex_via"), 14.6 + 11.3 + 3.0, 0.1);
    within(value(&rows, "one_busy_via"), 1e3 / (10.0 + 1e3 / 114.0), 1.0);
    within(value(&rows, "orb_5_clients"), 145.0, 1.0);
    within(value(&rows, "stores_cheaper_up_to_copying"), 42.0, 1.0);
    within(value(&rows, "stores_cheaper_up_to_in_place"), 54.0, 1.0);
    within(value(&rows, "alpha_half_of_peak"), 72.0, 1.5);
    within(value(&rows, "alpha_share_at_1024"), 0.93, 1.0);
    within(value(&rows, "switch_jitter"), 16.4, 10.0);
    within(value(&rows, "cut_through_512_saves"), 8.2, 1.0);
    assert!(value(&rows, "peak_raw") > 3.0 * value(&rows, "peak_via"));
}

/// An ORB's server is full from three clients on.
#[test]
fn fig_01_saturation() {
    let s = setup();
    for clients in 1..=6 {
        let formula = (f64::from(clients) / 16.1).min(1.0 / 6.9) * 1e6;
        within(rate(&s, clients, Served::Orb).unwrap(), formula, 2.0);
    }
}

#[test]
fn fig_01_curves() {
    let charts = figures(&setup()).unwrap();
    let names: Vec<&str> = charts.iter().map(|c| c.file.as_str()).collect();
    assert_eq!(names, ["clan-table51", "clan-bandwidth", "clan-rates"]);
    let [latency, bandwidth, rates] = &charts[..] else { panic!("three") };
    // Small messages are faster by stores, and the engine catches up.
    let [stores, engine] = [&latency.curves[0], &latency.curves[2]];
    assert!(stores.at(40.0) < engine.at(40.0) && stores.at(400.0) > engine.at(400.0));
    assert!(bandwidth.curves[0].at(100.0) > bandwidth.curves[1].at(100.0));
    assert!(bandwidth.curves[0].at(512.0) < bandwidth.curves[1].at(512.0));
    assert!(rates.curves.iter().all(|c| c.points.windows(2).all(|w| w[1].1 > 0.98 * w[0].1)));
}

#[test]
fn fig_07_the_same_seed_gives_the_same_trace() {
    let trace = |seed| {
        let s = Setup { seed, ..setup() };
        let report = s.run(2, 1, |m| {
            let mut end = Connection::new(1 - m.id(), 0, 40);
            for _ in 0..20 {
                if m.id() == 0 {
                    end.post(m, MessageWay::Engine);
                }
                end.receive(m);
                if m.id() == 1 {
                    end.post(m, MessageWay::Stores);
                }
            }
        });
        report.unwrap().trace
    };
    assert_eq!(trace(5), trace(5));
    assert_ne!(trace(5), trace(6));
}

/// The inputs are the inputs.
#[test]
fn a_wrong_constant_moves_the_results() {
    let s = setup();
    let with = |inputs| Setup { inputs, ..s };
    let slow = with(ClanInputs { octets: [8.0, 7.58, 40.0], ..s.inputs });
    assert!(round_trip(&slow, 1, 400, MessageWay::Stores).unwrap() > 45.0);
    assert!(bandwidth(&slow, 3200).unwrap() < 200.0);
    let late = with(ClanInputs { events: 50_000.0, ..s.inputs });
    assert!(rate(&late, 1, Served::Events).unwrap() < 35_000.0);
}
