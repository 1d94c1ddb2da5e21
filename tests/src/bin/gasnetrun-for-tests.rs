//! The launcher `gasnetrun`, for tests that start more than one program in a job.

fn main() {
    let conduits: Vec<&str> = gasnet_conduits::names().collect();
    std::process::exit(gasnet_launch::cli::main(gasnet_conduits::unknown_settings, &conduits));
}
