//! Runs UPC programs.
fn main() -> std::process::ExitCode {
    upcc::driver::run::main()
}
