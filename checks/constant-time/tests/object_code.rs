//! The shipped object code: control flow and addresses of kernels do not depend on data. The check
//! also finds deliberate leaks, in code from the same compiler.

#![cfg(target_arch = "x86_64")]

use std::hint::black_box;
use std::path::Path;

use constant_time::{Image, LANES, Origin, Report, SPONGE_LANES, check, check_where, is_kernel};
use lanes::{Backend, Kernel, Lanes};

const SNTRUP: [&str; 6] =
    ["Sntrup653", "Sntrup761", "Sntrup857", "Sntrup953", "Sntrup1013", "Sntrup1277"];
const ML_KEM: [&str; 3] = ["MlKem512", "MlKem768", "MlKem1024"];

fn image(file: &Path) -> Image {
    let image = Image::read(&std::fs::read(file).unwrap());
    image.unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the findings, a line each.
fn findings(reports: &[Report]) -> String {
    let mut lines = String::new();
    for report in reports {
        for finding in &report.findings {
            let (what, place) = (&finding.what, finding.address);
            lines += &format!("\n{}: {place:x} {}: {what}", report.name, finding.text);
        }
    }
    lines
}

fn summary(what: &str, reports: &[&Report]) -> String {
    let sum = |count: fn(&Report) -> usize| -> usize { reports.iter().map(|r| count(r)).sum() };
    let jumps = |origin: Origin| -> usize {
        let jumps = reports.iter().flat_map(|report| &report.jumps);
        jumps.filter(|jump| jump.origin == origin && !jump.guards_a_panic).count()
    };
    format!(
        "{what}: {} kernels, {} instructions; {} jumps on counters, pointers and lengths, {} that panic or go on, \
         {} jumps and {} addresses that are not followed, {} divisions of public numbers",
        reports.len(),
        sum(|report| report.instructions),
        jumps(Origin::Public),
        sum(|report| report.jumps.iter().filter(|jump| jump.guards_a_panic).count()),
        jumps(Origin::Unknown),
        sum(|report| report.unknown_addresses),
        sum(|report| report.divisions),
    )
}

/// Returns true if symbols contain generic arguments. They do unless the environment's compiler
/// flags replaced the project's.
fn names_are_whole(reports: &[Report]) -> bool {
    let whole = reports.iter().any(|report| report.name.contains('<'));
    if !whole {
        artifacts::skipped(
            "names in the object code (no -Csymbol-mangling-version=v0 among the compiler's flags)",
        );
    }
    whole
}

/// Checks a library's kernels, without some of them, and that each parameter set has kernels.
fn assert_clean(file: &Path, without: &[&str], sets: &[&str]) {
    let name = file.file_name().unwrap().to_string_lossy();
    let is_wanted = |name: &str| !without.iter().any(|kernel| name.contains(kernel));
    let reports = check_where(&image(file), is_wanted);
    let wrong = findings(&reports);
    assert!(wrong.is_empty(), "{name}:{wrong}");
    // A list of all jumps, to look at after the test.
    let table: String = reports.iter().map(Report::to_string).collect();
    let path = file.with_file_name(format!("{name}.jumps.txt"));
    std::fs::write(&path, table).unwrap();
    for lanes in LANES {
        let here: Vec<_> = reports
            .iter()
            .filter(|report| report.name.contains(&format!("lanes::{lanes}::run")))
            .collect();
        artifacts::say(&summary(&format!("{name}, {lanes}"), &here));
        assert!(here.len() >= sets.len(), "{name} has {} kernels on {lanes}", here.len());
        if !names_are_whole(&reports) {
            continue;
        }
        for set in sets {
            let count = here.iter().filter(|report| report.name.contains(&format!("::{set}")));
            assert!(count.count() > 0, "{name}, {lanes}: no kernel of {set}");
        }
    }
}

#[test]
fn no_data_steers_the_kernels() {
    assert_clean(&artifacts::build("sntrup-capi", "libsntrup.so").unwrap(), &[], &SNTRUP);
}

/// Checks all kernels of ML-KEM except the two that sample the matrix. They branch on the contents
/// of streams, and address by them. The streams are public: anyone computes them from the
/// encapsulation key.
#[test]
fn no_data_steers_ml_kem() {
    const VARTIME: [&str; 2] =
        ["mlkem::matrix::SampleVartime>", "mlkem::matrix::SampleMoreVartime>"];
    let file = artifacts::build("mlkem-capi", "libmlkem.so").unwrap();
    assert_clean(&file, &VARTIME, &ML_KEM);
    let reports = check(&image(&file));
    if !names_are_whole(&reports) {
        return;
    }
    for lanes in SPONGE_LANES {
        let path = format!("lanes::{lanes}::run");
        let here: Vec<_> = reports.iter().filter(|report| report.name.contains(&path)).collect();
        artifacts::say(&summary(&format!("sponges, {lanes}"), &here));
        for kernel in ["Squeeze>", "Absorb>", "Hash512>", "Derive<"] {
            assert!(here.iter().any(|report| report.name.contains(kernel)), "{lanes}: no {kernel}");
        }
    }
    for kernel in VARTIME {
        let here = reports.iter().filter(|report| report.name.contains(kernel));
        let found = here.map(|report| report.findings.len()).sum::<usize>();
        assert!(found > 0, "{kernel} need not be left out");
    }
}

/// The curves are in the provider. Checks their kernels except the one for public scalars, which
/// uses table lookups.
#[test]
fn no_data_steers_the_curves() {
    const VARTIME: &str = "curve25519::vector::double::";
    let file = artifacts::module().unwrap();
    let reports =
        check_where(&image(&file), |name| name.contains("curve25519::") && !name.contains(VARTIME));
    let wrong = findings(&reports);
    assert!(wrong.is_empty(), "{wrong}");
    if !names_are_whole(&reports) {
        return;
    }
    let kernels: Vec<_> = reports.iter().filter(|report| is_kernel(&report.name)).collect();
    for lanes in LANES {
        let here =
            kernels.iter().filter(|report| report.name.contains(&format!("lanes::{lanes}::")));
        let here: Vec<_> = here.copied().collect();
        artifacts::say(&summary(&format!("curves, {lanes}"), &here));
        for kernel in ["ladder::Eight<", "ladder::One<", "fixed::Eight<", "fixed::One<"] {
            assert!(here.iter().any(|report| report.name.contains(kernel)), "{lanes}: no {kernel}");
        }
    }
}

/// So large that comparing the words is a call.
const WORDS: usize = 512;

/// A kernel that misuses its words as `HOW` says.
struct Leak<'a, const HOW: usize>(&'a mut [i16; WORDS]);

const NOTHING: usize = 0;
const BRANCH: usize = 1;
const INDEX: usize = 2;
const DIVISION: usize = 3;
const CALL: usize = 4;
const COMPARISON: usize = 5;
const TRIPS: usize = 6;
const ANY: usize = 7;

/// Numbers that the compiler cannot replace by a computation.
static TABLE: [i16; 256] = {
    let mut table = [0; 256];
    let (mut i, mut numbers) = (0, artifacts::Numbers::new(1));
    while i < table.len() {
        table[i] = numbers.bits() as i16;
        i += 1;
    }
    table
};

#[inline(never)]
fn callee(word: i16) -> i16 {
    black_box(word)
}

impl<L: Lanes<Word = i16>, const HOW: usize> Kernel<L> for Leak<'_, HOW> {
    type Output = i16;

    #[inline(always)]
    fn run(self, lanes: L) -> i16 {
        let words = self.0;
        for i in (0..words.len()).step_by(L::WORDS) {
            let x = lanes.load(&words[i..]);
            lanes.store(&mut words[i..], lanes.add(x, x));
        }
        match HOW {
            BRANCH => {
                if words[3] > 5 {
                    words.reverse();
                }
                0
            }
            INDEX => TABLE[usize::from(words[3] as u8)],
            DIVISION => words[3] / (words[4] | 1),
            CALL => callee(words[3]),
            COMPARISON => i16::from(words[..WORDS / 2] == words[WORDS / 2..]),
            TRIPS => {
                let mut word = words[3] as u16;
                while word & 1 == 0 {
                    word = word >> 1 | 1 << 15;
                }
                word as i16
            }
            ANY => {
                let bits = words.iter().fold(0, |bits, word| bits | word);
                if bits > 5 {
                    words.reverse();
                }
                0
            }
            _ => 0,
        }
    }
}

/// Makes the compiler generate the kernels. They run only on processors that support them.
fn run_leaks<L: Lanes<Word = i16>>(lanes: L) {
    let mut words = black_box([1; WORDS]);
    black_box(lanes.run(Leak::<NOTHING>(&mut words)));
    black_box(lanes.run(Leak::<BRANCH>(&mut words)));
    black_box(lanes.run(Leak::<INDEX>(&mut words)));
    black_box(lanes.run(Leak::<DIVISION>(&mut words)));
    black_box(lanes.run(Leak::<CALL>(&mut words)));
    black_box(lanes.run(Leak::<COMPARISON>(&mut words)));
    black_box(lanes.run(Leak::<TRIPS>(&mut words)));
    black_box(lanes.run(Leak::<ANY>(&mut words)));
}

#[test]
fn leaks_are_found() {
    for backend in Backend::available() {
        match backend {
            Backend::Avx2(lanes) => run_leaks(lanes),
            Backend::Avx512(lanes) => run_leaks(lanes),
            _ => {}
        }
    }
    let reports = check(&image(&std::env::current_exe().unwrap()));
    if !names_are_whole(&reports) {
        return;
    }
    for lanes in LANES {
        for (how, expected) in [
            (NOTHING, None),
            (BRANCH, Some("jumps on what is not public")),
            (INDEX, Some("address from a secret")),
            (DIVISION, Some("division of what is not public")),
            (CALL, Some("calls object_code::callee")),
            (COMPARISON, Some("calls bcmp")),
            (TRIPS, Some("jumps on what is not public")),
            (ANY, Some("jumps on what is not public")),
        ] {
            let name = format!("lanes::{lanes}::run::<object_code::Leak<{how}>>");
            let report = reports.iter().find(|report| report.name == name);
            let report = report.unwrap_or_else(|| panic!("no {name}"));
            let found: Vec<_> = report.findings.iter().map(|finding| &*finding.what).collect();
            match expected {
                None => assert!(found.is_empty() && !report.jumps.is_empty(), "{name}: {found:?}"),
                Some(what) => assert!(found.contains(&what), "{name}: {found:?}"),
            }
        }
    }
}
