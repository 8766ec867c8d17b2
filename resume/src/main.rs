//! `resume`: see `lib.rs`.

fn main() -> std::process::ExitCode {
    resume::main()
}
