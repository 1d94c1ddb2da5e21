//! The launcher `gasnetrun`, for tests that start more than one program in a job.

fn main() {
    std::process::exit(gasnet_launch::cli::main(gasnet_conduits::unknown_settings));
}
