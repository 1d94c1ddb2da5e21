//! `gasnetrun -n N program`: see `gasnetrun --help`.

use gasnet::{GlobalPtr, RankId};

fn main() {
    if std::env::args_os().nth(1).is_some_and(|word| word == gasnet_launch::NETWORK_TRIAL) {
        try_network();
    }
    #[cfg(feature = "simulate")]
    if std::env::args_os().nth(1).is_some_and(|word| word == "--simulate") {
        std::process::exit(gasnet_simulate::main(std::env::args_os().skip(2)));
    }
    let conduits: Vec<&str> = gasnet_conduits::names().collect();
    std::process::exit(gasnet_launch::cli::main(gasnet_conduits::unknown_settings, &conduits));
}

/// A rank of the job by which `gasnetrun --doctor` tries the network between hosts: every pair exchanges
/// data.
fn try_network() -> ! {
    gasnet_conduits::run(|rank| {
        let word = |of: RankId| u64::from(of.0) + 1;
        let words: GlobalPtr<u64> = match rank.allocate_array(rank.size() as usize) {
            Ok(words) => words,
            Err(why) => rank.fatal(&why.to_string()),
        };
        let own = words.add(rank.id().0 as usize);
        rank.ranks().for_each(|to| rank.write(own.on(to), word(rank.id())));
        rank.barrier();
        if let Some(from) = rank.ranks().find(|from| rank.read(words.add(from.0 as usize)) != word(*from)) {
            rank.fatal(&format!("what rank {from} wrote is not here"));
        }
    })
}
