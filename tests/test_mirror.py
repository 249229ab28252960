"""Every source file has a test: the one that mirrors it, or a named one that covers several files together.

`aggregator/journal.py` is mirrored by `tests/aggregator/test_journal.py`. What a contract, a whole run or another
test covers stands in `COVERED`: the named test imports the file, or a file that uses it directly.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("aggregator", "benchmarks", "experiments", "federation", "models", "silo", "siloseal")
LINKED = {"aggregator", "experiments", "federation", "models", "silo"}
"""Folders that `siloseal` has links to, by which they are imported."""
GENERATED = ("*_pb2.py", "*_pb2_grpc.py")

COVERED: dict[str, tuple[str, ...]] = {
    "tests/aggregator/test_coordinator.py": ("federation/transport/engine.py",),
    "tests/aggregator/test_entering.py": ("aggregator/enrolment.py", "aggregator/training.py", "aggregator/work.py"),
    "tests/contracts/test_kinds.py": ("federation/job/sections/learners.py", "federation/job/sections/mechanisms.py"),
    "tests/contracts/test_learners.py": (
        "federation/job/sections/learner_kind.py", "models/building.py", "models/learner.py", "models/meta/building.py",
        "models/meta/tasks.py", "silo/data/units.py",
    ),
    "tests/contracts/test_mechanisms.py": (
        "federation/privacy/mechanism.py", "federation/privacy/mechanisms/gaussian.py",
        "federation/privacy/mechanisms/integer_noise.py", "federation/sums/encoding.py", "federation/sums/noisy_sum.py",
    ),
    "tests/contracts/test_sealed_pieces.py": ("federation/sums/masked/silo_side.py",),
    "tests/contracts/test_secure_sums.py": (
        "federation/sums/*/*_sum.py", "federation/sums/*/config.py", "federation/sums/ckks/*_side.py",
        "federation/sums/joint_key/*_side.py", "federation/sums/one_key/*_side.py",
        "federation/sums/config*.py", "federation/sums/secure_sum.py",
        "federation/sums/threshold.py",
    ),
    "tests/contracts/test_server_optimizers.py": ("federation/job/sections/server_optimizers.py",),
    "tests/contracts/test_session_rounds.py": ("federation/errors.py", "federation/sums/*/statements.py"),
    "tests/deployment/test_rosters.py": (
        "aggregator/admission.py", "aggregator/deployed.py", "aggregator/model_files.py", "aggregator/service.py",
    ),
    "tests/deployment/test_versions.py": ("silo/client.py", "siloseal/runs/status.py"),
    "tests/deployment/test_watching.py": (
        "federation/transport/tls.py", "silo/status.py", "siloseal/runs/deployment.py", "siloseal/runs/prometheus.py",
    ),
    "tests/experiments/attacks/test_accomplice_controls.py": (
        "experiments/attacks/joint_key_cheats.py", "experiments/attacks/list_cheats.py",
        "experiments/attacks/lying_aggregators.py", "experiments/attacks/upload_cheats.py",
        "experiments/attacks/upload_formats.py",
    ),
    "tests/experiments/attacks/test_attack_measurements.py": ("experiments/comparison/measurements/attacks.py",),
    "tests/experiments/attacks/test_flaws.py": (
        "experiments/attacks/audited_training.py", "experiments/attacks/softmax_learner.py",
    ),
    "tests/experiments/attacks/test_cheating.py": (
        "experiments/attacks/attacked_sum.py", "experiments/attacks/cheat*.py", "experiments/attacks/key_*cheats.py",
        "experiments/attacks/opening_cheats.py", "experiments/attacks/readings.py",
    ),
    "tests/experiments/attacks/test_inversion.py": ("experiments/attacks/protections.py",),
    "tests/experiments/attacks/test_key_recovery.py": ("experiments/attacks/joint_key_recovery.py",),
    "tests/experiments/comparison/test_compare.py": (
        "experiments/comparison/runner.py", "experiments/comparison/table.py", "siloseal/cli/compare.py",
    ),
    "tests/experiments/comparison/test_grid.py": (
        "experiments/comparison/config.py", "experiments/comparison/fingerprints.py",
    ),
    "tests/experiments/comparison/test_measurements.py": (
        "experiments/comparison/cell.py", "experiments/comparison/measurements/[!a]*.py",
        "experiments/comparison/memory.py", "experiments/comparison/rows.py",
    ),
    "tests/experiments/report/test_chapters.py": (
        "experiments/report/chapter.py", "experiments/report/chapters/__init__.py",
        "experiments/report/chapters/overview.py", "experiments/report/chapters/traffic.py",
    ),
    "tests/experiments/report/test_messages.py": (
        "experiments/report/chapters/[aciow]*.py", "experiments/report/chapters/silos.py",
        "experiments/report/chapters/starts.py",
    ),
    "tests/experiments/report/test_messages_of_sums.py": (
        "experiments/report/chapters/[dn]*.py", "experiments/report/chapters/slides.py",
        "experiments/report/chapters/sums*.py",
    ),
    "tests/experiments/sparse/test_sparse_sum.py": ("experiments/sparse/errors.py",),
    "tests/federation/analytics/test_sensitivities.py": (
        "federation/analytics/counting.py", "federation/analytics/[dhimq]*.py",
    ),
    "tests/federation/analytics/test_answers.py": ("federation/analytics/shared_noise.py",),
    "tests/federation/averages/test_config.py": ("federation/averages/outcome.py",),
    "tests/federation/job/sections/test_few_shot.py": ("federation/job/sections/evaluation.py",),
    "tests/federation/job/sections/test_fitting_noise.py": ("federation/job/noise_on_sums.py", "federation/job/planning.py"),
    "tests/federation/job/test_job.py": (
        "federation/config/*.py", "federation/job/sections/data.py", "federation/job/sections/s[ci]*.py",
    ),
    "tests/federation/privacy/mechanisms/test_calibration.py": ("federation/privacy/mechanisms/lattice_calibration.py",),
    "tests/federation/privacy/test_accounting.py": ("federation/privacy/event*.py",),
    "tests/federation/run_events/test_lines.py": ("federation/run_events/*.py",),
    "tests/federation/sums/joint_key/test_secret_share.py": ("federation/secret.py", "federation/sums/joint_key/keys.py"),
    "tests/federation/sums/joint_key/test_polynomial_wire.py": (
        "federation/sums/joint_key/moduli.py", "federation/sums/joint_key/wire.py",
    ),
    "tests/federation/sums/additive/test_protocol.py": ("federation/sums/additive/sides.py",),
    "tests/federation/sums/ckks/test_parameters.py": ("federation/sums/rlwe/wide.py",),
    "tests/federation/sums/ckks/test_protocol.py": ("federation/sums/ckks/setting.py",),
    "tests/federation/sums/one_key/test_protocol.py": ("federation/sums/one_key/cipher.py",),
    "tests/federation/sums/one_key/test_paillier.py": ("federation/sums/one_key/paillier_parameters.py",),
    "tests/federation/sums/one_key/test_stock_ckks.py": ("federation/sums/one_key/stock_parameters.py",),
    "tests/federation/sums/ring/test_protocol.py": ("federation/sums/ring/sides.py", "federation/sums/rounds.py"),
    "tests/federation/sums/secagg/test_hiding.py": ("federation/sums/secagg/shares.py",),
    "tests/federation/sums/secagg/test_lying_aggregator.py": ("federation/sums/secagg/survivors.py",),
    "tests/federation/sums/secagg/test_protocol.py": ("federation/sums/secagg/*_side.py", "federation/sums/secagg/plan.py"),
    "tests/federation/sums/test_in_process.py": ("federation/sums/exchanges.py", "federation/sums/new_session.py"),
    "tests/federation/transport/pki/test_revocations.py": ("federation/transport/pki/newest_list.py",),
    "tests/federation/transport/pki/test_tls.py": ("federation/transport/pki/profiles.py",),
    "tests/federation/transport/test_diagnosis.py": ("federation/transport/config.py",),
    "tests/models/evaluation/test_evaluator.py": ("models/evaluation/*.py",),
    "tests/models/evaluation/test_few_shot.py": ("models/meta/model.py",),
    "tests/models/gan/test_discriminators.py": ("models/gan/labels.py",),
    "tests/models/gan/test_learner.py": (
        "federation/job/sections/gan.py", "models/gan/[bcgs]*.py", "models/running_average.py",
    ),
    "tests/models/meta/test_meta_lstm.py": ("models/initial_weights.py", "models/meta/inner_loop.py"),
    "tests/models/meta/test_prototypes.py": ("models/meta/network.py", "models/meta/wavelets.py"),
    "tests/silo/promises/test_checking.py": ("silo/promises/*.py",),
    "tests/silo/data/test_cache.py": ("silo/data/named_images.py",),
    "tests/silo/data/test_class_folders.py": ("silo/data/pictures.py",),
    "tests/silo/data/test_loading.py": ("silo/data/embedded.py",),
    "tests/silo/data/test_mini_imagenet.py": ("silo/data/pixels.py",),
    "tests/silo/data/test_omniglot.py": ("silo/data/zip_pictures.py",),
    "tests/silo/data/test_partition.py": ("federation/job/sections/partition.py",),
    "tests/silo/data/test_safe_pickle.py": ("silo/data/pickle*.py",),
    "tests/silo/test_participation.py": (
        "federation/job/contributions.py", "silo/config.py", "silo/joining.py",
    ),
    "tests/silo/test_public_start.py": ("federation/job/sections/warm_start.py",),
    "tests/silo/test_queries.py": (
        "federation/analytics/[grw]*.py",
    ),
    "tests/silo/test_runtime.py": (
        "silo/enrolment.py", "silo/opening.py", "silo/work.py",
    ),
    "tests/silo/training/clipping/test_books.py": (
        "silo/training/clipping/layers/*.py", "silo/training/clipping/parts.py", "silo/training/clipping/recording.py",
    ),
    "tests/silo/training/clipping/test_plan.py": ("silo/training/clipping/way.py",),
    "tests/silo/training/clipping/test_row_by_row.py": ("silo/training/clipping/chunks.py",),
    "tests/silo/training/test_device.py": ("silo/device_name.py",),
    "tests/silo/training/test_optimizers.py": ("federation/job/sections/optimizers.py", "silo/training/noising.py"),
    "tests/silo/training/test_trainer.py": ("models/checkpoints.py",),
    "tests/siloseal/cli/test_app.py": ("siloseal/cli/[adeop]*.py",),
    "tests/siloseal/cli/test_console.py": (
        "siloseal/report/result_table.py", "siloseal/report/sentences.py", "siloseal/runs/progress.py",
    ),
    "tests/siloseal/cli/test_narrow_terminals.py": ("siloseal/cli/status_table.py",),
    "tests/siloseal/runs/test_plan_table.py": ("siloseal/runs/plan.py",),
    "tests/siloseal/provisioning/test_kits.py": ("siloseal/provisioning/*.py",),
    "tests/siloseal/privacy_audit/test_job.py": (
        "siloseal/privacy_audit/job_releases.py", "siloseal/privacy_audit/training_parts.py",
    ),
    "tests/siloseal/privacy_audit/test_training.py": (
        "siloseal/privacy_audit/attackers.py", "siloseal/privacy_audit/stepping.py",
    ),
    "tests/siloseal/reference/test_pages.py": ("siloseal/reference/*.py",),
    "tests/siloseal/report/test_charts.py": ("siloseal/report/intervals.py",),
    "tests/siloseal/report/test_page.py": ("siloseal/report/document.py", "siloseal/report/page_tables.py"),
    "tests/siloseal/report/test_report_classifier.py": (
        "siloseal/report/classifier_*.py", "siloseal/report/reliability_chart.py", "siloseal/run_folder/classification.py",
    ),
    "tests/siloseal/report/test_report_few_shot.py": ("siloseal/report/score_table.py", "siloseal/report/silo_table.py"),
    "tests/siloseal/report/test_run_report.py": (
        "siloseal/report/accuracy_chart.py", "siloseal/report/costs.py", "siloseal/report/sections.py",
    ),
    "tests/siloseal/runs/test_analytics.py": ("siloseal/runs/closing_queries.py", "siloseal/runs/stopwatch.py"),
    "tests/siloseal/runs/test_averaging.py": ("aggregator/averages.py", "siloseal/runs/averaging_session.py"),
    "tests/siloseal/runs/test_crash_in_a_sum.py": ("federation/sums/driving.py", "silo/received.py", "silo/training/work.py"),
    "tests/siloseal/runs/test_demo.py": ("siloseal/runs/notes.py", "siloseal/runs/closing.py", "siloseal/runs/processes.py"),
    "tests/siloseal/runs/test_few_shot_runs.py": (
        "federation/job/sections/privacy.py", "models/meta/learners.py", "siloseal/runs/scoring.py",
    ),
    "tests/siloseal/runs/test_predicting.py": ("siloseal/runs/prediction_inputs.py",),
    "tests/siloseal/runs/test_record_scoring.py": (
        "siloseal/runs/class_names.py", "siloseal/runs/record_notes.py",
    ),
    "tests/siloseal/runs/test_run.py": (
        "siloseal/run_folder/location.py", "siloseal/runs/federation_of_one.py", "siloseal/runs/recorder.py", "siloseal/runs/result.py", "siloseal/runs/simulation.py", "siloseal/runs/stages.py",
    ),
    "tests/siloseal/run_folder/test_run.py": (
        "siloseal/run_folder/json_files.py", "siloseal/run_folder/metrics.py", "siloseal/run_folder/record.py",
        "siloseal/run_folder/summary.py",
    ),
    "tests/siloseal/test_public_api.py": ("silo/ledger_reading.py", "siloseal/*.py", "siloseal/runs/drawing.py"),
}  # fmt: skip
"""Source files without a mirrored test, by the test that covers them; a star stays within one folder."""


def is_source(path: Path) -> bool:
    """Whether a file has code of its own: neither generated nor an `__init__` that only says what its folder holds."""
    if any(fnmatch(path.name, pattern) for pattern in GENERATED):
        return False
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    return not (len(statements) <= 1 and all(isinstance(node, ast.Expr) for node in statements))


def sources() -> Iterator[Path]:
    """Source files, relative to the root."""
    for folder in FOLDERS:
        linked = [ROOT / folder / name for name in LINKED] if folder == "siloseal" else []
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(path.is_relative_to(link) for link in linked) and is_source(path):
                yield path.relative_to(ROOT)


def mirror(source: Path) -> Path:
    return Path("tests") / source.parent / f"test_{source.stem.strip('_')}.py"


def module_of(source: Path) -> str:
    """Name by which a file is imported."""
    parts = (source.parent if source.name == "__init__.py" else source.with_suffix("")).parts
    return ".".join(parts if parts[0] == "siloseal" else ("siloseal", *parts))


UNMIRRORED = [source for source in sources() if not (ROOT / mirror(source)).exists()]


def fits(source: Path, pattern: str) -> bool:
    """Whether a path fits a pattern, part by part: a star does not cross folders."""
    parts = pattern.split("/")
    return len(parts) == len(source.parts) and all(map(fnmatch, source.parts, parts))


def covered_by(source: Path) -> list[str]:
    return [test for test, patterns in COVERED.items() if any(fits(source, pattern) for pattern in patterns)]


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules that a file imports, wherever in it, or starts as a command; names in a module count as modules, too."""
    text = path.read_text(encoding="utf-8")
    found = {"siloseal.__main__"} if '"-m", "siloseal"' in text else set[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and path.is_relative_to(ROOT / "tests"):
                beside = path.relative_to(ROOT).parts[: -node.level]
                base = ".".join([*beside, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(found)


@cache
def files_by_module() -> dict[str, Path]:
    found = {module_of(source): ROOT / source for source in sources()}
    for path in (ROOT / "tests").rglob("*.py"):
        found[".".join(path.relative_to(ROOT).with_suffix("").parts)] = path
    return found


def imported(path: Path) -> set[Path]:
    return {files_by_module()[name] for name in imports(path) if name in files_by_module()}


@cache
def exercised(test: str) -> frozenset[Path]:
    """Source files that a test imports, itself or by helpers of tests, and those that one of these files imports.

    The second step is for files that are used through another one: a silo's side of a sum through its scheme.
    """
    left, seen, direct = [ROOT / test], set[Path](), set[Path]()
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            found = imported(path)
            direct |= {each for each in found if not each.is_relative_to(ROOT / "tests")}
            left += [each for each in found if each.is_relative_to(ROOT / "tests")]
            left += [each for each in (path.parent / "conftest.py",) if each.exists()]
    return frozenset(direct.union(*map(imported, direct)))


def test_a_test_that_mirrors_nothing_is_not_mistaken_for_one() -> None:
    assert mirror(Path("aggregator/journal.py")) == Path("tests/aggregator/test_journal.py")
    assert Path("aggregator/journal.py") in set(sources()) - set(UNMIRRORED)


@pytest.mark.parametrize("source", UNMIRRORED, ids=str)
def test_a_source_without_a_mirrored_test_is_covered_by_a_named_one(source: Path) -> None:
    tests = covered_by(source)
    assert tests, f"add {mirror(source)}, or name the test that covers {source} in COVERED"
    for test in tests:
        assert (ROOT / test).is_file(), f"COVERED names {test} for {source}, but there is no such test"
        assert ROOT / source in exercised(test), f"{test} imports neither {source} nor a file that imports it"


def test_no_entry_is_left_of_a_file_that_is_gone_or_mirrored() -> None:
    patterns = [pattern for each in COVERED.values() for pattern in each]
    assert [pattern for pattern in patterns if not any(fits(source, pattern) for source in UNMIRRORED)] == []


def test_a_star_stays_within_a_folder() -> None:
    assert fits(Path("federation/sums/session.py"), "federation/sums/s*.py")
    assert not fits(Path("federation/sums/ckks/security.py"), "federation/sums/*.py")
    assert not fits(Path("federation/sums/session.py"), "federation/*.py")


def test_a_test_does_not_cover_what_is_two_files_further() -> None:
    """A test of the policy imports much of the project in the end, and covers what it names."""
    covered = exercised("tests/silo/test_policy.py")
    assert ROOT / "federation/job/phase_sums.py" in covered
    assert ROOT / "federation/sums/ckks/encryption.py" not in covered
