//! The launcher `gasnetrun`, for tests that start more than one program in a job.

fn main() {
    if std::env::args_os().nth(1).is_some_and(|word| word == "--simulate") {
        std::process::exit(gasnet_simulate::main(std::env::args_os().skip(2)));
    }
    let conduits: Vec<&str> = gasnet_conduits::names().collect();
    std::process::exit(gasnet_launch::cli::main(gasnet_conduits::unknown_settings, &conduits));
}
