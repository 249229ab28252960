"""Whole runs of classifiers: what is measured for whom, what the notes say of it, and what the folder keeps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import siloseal
from siloseal.federation.errors import DataError
from siloseal.federation.job.job import Job
from siloseal.federation.job.sections.data import ClassFolders, Digits
from siloseal.models.model_files import read_model
from siloseal.run_folder.run import read_run
from siloseal.runs.class_names import class_names
from siloseal.runs.record_notes import notes_of_classes, notes_of_gains
from siloseal.runs.record_scoring import RecordScorer, mean_metric, mix_of
from siloseal.runs.run import run_job
from siloseal.runs.simulation import deal
from siloseal.silo.data.examples import Examples, joined
from siloseal.silo.data.loading import load

CLASSIFIER: dict[str, Any] = {
    "name": "named", "seed": 1,
    "data": {"kind": "digits", "limit": 600},
    "silos": {"names": ["north", "east", "south"], "partition": {"kind": "by_class", "classes_per_silo": 4}},
    "learner": {"kind": "classifier", "model": "logistic"},
    "optimizer": {"kind": "dp_adam", "learning_rate": 0.02},
    "privacy": {"kind": "none"},
    "warm_start": {"kind": "none"},
    "schedule": {"kind": "fedavg", "rounds": 3, "local_epochs": 2, "batch": 32},
    "secure_sum": {"kind": "plain"},
    "evaluation": {"silo_alone": True, "pooled": True},
}  # fmt: skip


def run(folder: Path, **sections: Any) -> siloseal.Run:
    run_job(Job.model_validate({**CLASSIFIER, **sections}), folder)
    return read_run(folder)


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> siloseal.Run:
    """Three silos of four classes each."""
    return run(tmp_path_factory.mktemp("skewed") / "run")


@pytest.fixture(scope="module")
def personal(tmp_path_factory: pytest.TempPathFactory) -> siloseal.Run:
    """The same silos, each with a last layer of its own."""
    return run(
        tmp_path_factory.mktemp("personal") / "run", learner={"kind": "classifier", "model": "mlp", "local": ["5.*"]}
    )


def scores(found: siloseal.Run) -> Mapping[tuple[str, str | None], siloseal.QualityMetric]:
    return {(metric.stage, metric.silo): metric for metric in found.quality}


class TestARun:
    def test_every_model_has_the_same_measures(self, skewed: siloseal.Run) -> None:
        assert {tuple(metric.accuracy) for metric in skewed.quality} == {("accuracy", "balanced accuracy", "AUC")}
        stages = {"warm_start", "round_1", "round_2", "round_3", "final", "silo_alone", "pooled"}
        assert {metric.stage for metric in skewed.quality} == stages
        assert skewed.summary.classifier == "accuracy"

    def test_details_are_kept_for_what_is_read_and_not_for_rounds_that_others_follow(
        self, skewed: siloseal.Run
    ) -> None:
        without = [stage for (stage, _), metric in scores(skewed).items() if metric.classification is None]
        assert without == ["round_1", "round_2"]

    def test_accuracy_follows_from_the_confusion_matrix(self, skewed: siloseal.Run) -> None:
        for metric in skewed.quality:
            if (details := metric.classification) is not None:
                counts = np.array(details.confusion)
                assert counts.trace() / counts.sum() == pytest.approx(metric.accuracy["accuracy"])
                assert counts.sum(1).tolist() == details.records
                assert sum(one.records for one in details.reliability) == counts.sum()

    def test_a_silos_accuracy_is_the_chance_that_one_of_its_records_is_named_rightly(
        self, skewed: siloseal.Run
    ) -> None:
        """By the records themselves: each stands for the recall of its class."""
        job = Job.model_validate(CLASSIFIER)
        final = scores(skewed)["final", None].classification
        assert final is not None
        for name, part in deal(job, load(job.data)[0]).items():
            chances = [final.recall[label] for label in part.labels.tolist()]
            assert final.by_silo[name] == pytest.approx(sum(chance or 0.0 for chance in chances) / len(chances))

    def test_a_silo_alone_serves_its_own_mix_better_than_all_records(self, skewed: siloseal.Run) -> None:
        for silo in ("north", "east", "south"):
            metric = scores(skewed)["silo_alone", silo]
            assert metric.classification is not None
            assert metric.classification.by_silo[silo] > metric.accuracy["accuracy"] + 0.2

    def test_notes_tell_gains_the_worst_silo_and_silos_that_lose(self, skewed: siloseal.Run) -> None:
        found = scores(skewed)
        final = found["final", None]
        assert final.classification is not None
        gain = final.accuracy["accuracy"] - max(s.accuracy_alone or 0.0 for s in skewed.summary.silos)
        texts = [note.text for note in skewed.notes]
        assert any(f"{gain:+.3f}" in text for text in texts)
        assert any(f"{final.classification.worst_silo} worst" in text for text in texts)
        assert any(f"{final.classification.calibration_error:.3f}" in text for text in texts)
        lost = [
            name
            for name, served in final.classification.by_silo.items()
            if (own := found["silo_alone", name].classification) is not None and own.by_silo[name] > served + 0.3
        ]
        assert lost
        assert all(any(f"{name} (" in text and " against " in text for text in texts) for name in lost)

    def test_a_resumed_run_measures_nothing_twice(self, skewed: siloseal.Run) -> None:
        (skewed.directory / "report.html").unlink()
        run_job(Job.model_validate(CLASSIFIER), skewed.directory)
        assert scores(read_run(skewed.directory)) == scores(skewed)


class TestPartsOfTheSilosOwn:
    def test_the_headline_is_the_mean_of_the_silos_own_models(self, personal: siloseal.Run) -> None:
        found = scores(personal)
        own = [found["final", silo].accuracy["accuracy"] for silo in ("north", "east", "south")]
        assert personal.summary.final_accuracy == pytest.approx(np.mean(own))
        assert list(personal.summary.accuracy) == ["final"]
        assert personal.summary.personal

    def test_each_is_measured_on_its_own_mix(self, personal: siloseal.Run) -> None:
        for silo in personal.summary.silos:
            details = scores(personal)["final", silo.name].classification
            assert details is not None
            assert [label for label, count in enumerate(details.records) if count] == silo.labels
            assert details.by_silo == {silo.name: scores(personal)["final", silo.name].accuracy["accuracy"]}

    def test_what_silos_would_have_alone_has_their_own_part_too(self, personal: siloseal.Run) -> None:
        """Without its trained part a model of four of ten classes is hardly better than chance on them."""
        assert all((silo.accuracy_alone or 0) > 0.8 for silo in personal.summary.silos)

    def test_the_shared_file_says_that_it_is_not_whole(self, personal: siloseal.Run) -> None:
        assert not read_model(personal.directory / "global.safetensors").whole
        assert read_model(personal.directory / "silos" / "north" / "global.safetensors").whole


def rows(labels: list[int], classes: int) -> Examples:
    return Examples(torch.eye(classes)[labels], torch.tensor(labels, dtype=torch.int64), classes)


def always_0() -> nn.Linear:
    """A network that takes everything for class 0."""
    network = nn.Linear(2, 2)
    with torch.no_grad():
        network.weight.zero_()
        network.bias.copy_(torch.tensor([1.0, 0.0]))
    return network


class TestAScorer:
    def test_a_mix_is_the_share_of_each_class(self) -> None:
        assert mix_of(rows([0, 0, 2, 2, 2, 2], 4)).tolist() == pytest.approx([1 / 3, 0, 2 / 3, 0])

    def test_a_model_of_everybody_is_measured_on_every_mix_where_parts_are_personal(self) -> None:
        parts = {"north": rows([0] * 3 + [1], 2), "east": rows([1], 2)}
        scorer = RecordScorer(rows([0, 1, 1], 2), parts, held_out_of={}, bins=5, personal=True, most_silos=20)
        found = scorer.score("pooled", None, always_0(), (), Path())
        assert found.accuracy["accuracy"] == pytest.approx((0.75 + 0.0) / 2)
        assert found.classification is not None
        assert found.classification.by_silo == pytest.approx({"north": 0.75, "east": 0.0})
        assert found.classification.silo_records == {"north": 1, "east": 2}
        assert not found.classification.own_records
        assert scorer.score("final", "north", always_0(), (), Path()).accuracy["accuracy"] == pytest.approx(0.75)

    @pytest.mark.parametrize("personal", [False, True])
    def test_a_silo_with_held_out_records_of_its_own_is_measured_on_them(self, personal: bool) -> None:
        """Both hold one half of either class; what is held out of them differs, as institutions do."""
        parts = {"north": rows([0, 1], 2), "east": rows([0, 1], 2), "south": rows([0, 1], 2)}
        own = {"north": rows([0, 0, 0, 1], 2), "east": rows([1], 2), "south": rows([0, 1], 2)}
        scorer = RecordScorer(
            joined(list(own.values())), parts, held_out_of=own, bins=5, personal=personal, most_silos=20
        )
        found = scorer.score("pooled", None, always_0(), (), Path())
        assert found.classification is not None
        assert found.classification.by_silo == pytest.approx({"north": 0.75, "east": 0.0, "south": 0.5})
        assert found.classification.silo_records == {"north": 4, "east": 1, "south": 2}
        assert found.classification.own_records
        assert found.accuracy["accuracy"] == pytest.approx(1.25 / 3 if personal else 4 / 7)
        alone = scorer.score("silo_alone", "north", always_0(), (), Path())
        assert alone.accuracy["accuracy"] == pytest.approx(0.75 if personal else 4 / 7)
        assert alone.classification is not None
        assert alone.classification.by_silo["north"] == pytest.approx(0.75)

    def test_a_silo_of_which_nothing_is_held_out_has_no_number(self) -> None:
        parts, own = {"north": rows([0], 2), "east": rows([1], 2)}, {"north": rows([0], 2), "east": rows([], 2)}
        whole = joined(list(own.values()))
        found = RecordScorer(whole, parts, held_out_of=own, bins=5, personal=False, most_silos=20).score(
            "final", None, always_0(), (), Path()
        )
        assert found.classification is not None
        assert found.classification.by_silo == {"north": 1.0}
        with pytest.raises(DataError, match="east"):
            RecordScorer(whole, parts, held_out_of=own, bins=5, personal=True, most_silos=20)

    def test_a_silo_none_of_whose_classes_is_held_out_is_refused_before_the_run(self) -> None:
        with pytest.raises(DataError, match="east"):
            RecordScorer(rows([0], 2), {"east": rows([1], 2)}, held_out_of={}, bins=5, personal=True, most_silos=20)

    def test_measured_targets_are_refused_before_the_run(self) -> None:
        targets = Examples(torch.zeros(2, 3), torch.tensor([0.5, 0.1]), 0)
        with pytest.raises(DataError):
            RecordScorer(targets, {}, held_out_of={}, bins=5, personal=False, most_silos=20)


def measured(
    stage: str, recall: list[float | None], silo: str | None = None, **by_silo: float
) -> siloseal.QualityMetric:
    details = siloseal.ClassificationMetric(
        recall=recall, precision=recall, records=[5] * len(recall), calibration_error=0.2, by_silo=by_silo,
        silo_records=dict.fromkeys(by_silo, 50),
    )  # fmt: skip
    known = [value for value in recall if value is not None]
    return siloseal.QualityMetric(
        stage=stage, silo=silo, accuracy={"accuracy": sum(known) / len(known)}, classification=details
    )


class TestNotes:
    FINAL = measured("final", [0.9, 0.4, None, 0.1], north=0.9, east=0.3)

    def test_missed_classes_are_listed_with_their_recall(self) -> None:
        texts = " ".join(notes_of_classes({("final", None): self.FINAL}))
        assert "1 (0.40), 3 (0.10)" in texts
        assert "0 (0.90)" not in texts
        assert "0.600" in texts  # best minus worst

    def test_a_silo_that_would_do_better_alone_is_named_with_both_numbers(self) -> None:
        alone = {(s, n): measured(s, [0.5], n, **{n: value}) for s, n, value in
                 (("silo_alone", "north", 0.5), ("silo_alone", "east", 0.7))}  # fmt: skip
        texts = notes_of_classes({("final", None): self.FINAL, **alone})
        assert [text for text in texts if "east (0.700 against 0.300)" in text and "north (" not in text]

    def test_a_silo_that_would_do_better_alone_by_one_record_is_not_named(self) -> None:
        alone = {("silo_alone", n): measured("silo_alone", [0.5], n, **{n: 0.92}) for n in ("north", "east")}
        texts = notes_of_classes({("final", None): measured("final", [0.9], north=0.9, east=0.9), **alone})
        assert not [text for text in texts if "against" in text or "worst" in text]

    def test_gains_are_over_the_best_and_the_mean_silo(self) -> None:
        alone = {("silo_alone", n): measured("silo_alone", [value], n) for n, value in (("north", 0.4), ("east", 0.2))}
        final = {("final", None): measured("final", [0.5]), ("pooled", None): measured("pooled", [0.75])}
        first, second = notes_of_gains({**final, **alone}, "accuracy", personal=False)
        assert "+0.100" in first
        assert "+0.200" in first
        assert "+0.250" in second
        (own, _) = notes_of_gains({**final, **alone}, "accuracy", personal=True)
        assert "+0.100" not in own

    def test_what_was_not_measured_has_no_note(self) -> None:
        assert notes_of_gains({}, "accuracy", personal=False) == notes_of_classes({}) == []


def test_a_mean_over_silos_leaves_out_those_that_lack_a_class() -> None:
    mean = mean_metric(
        "final", [measured("final", [1.0, None], "north", north=1.0), measured("final", [0.5, 0.2], "east", east=0.4)]
    )
    assert mean.classification is not None
    assert mean.classification.recall == pytest.approx([0.75, 0.2])
    assert mean.classification.by_silo == {"north": 1.0, "east": 0.4}
    assert mean.classification.silo_records == {"north": 50, "east": 50}


def test_a_metric_reads_back_as_it_was_written(skewed: siloseal.Run) -> None:
    for metric in skewed.quality:
        assert siloseal.QualityMetric.model_validate_json(metric.model_dump_json()) == metric


class TestNamesOfClasses:
    def test_are_those_of_the_folders_or_of_the_config(self, tmp_path: Path) -> None:
        for name in ("sick", "well"):
            (tmp_path / name).mkdir()
        assert class_names(ClassFolders(path=tmp_path, side=8)) == ("sick", "well")
        assert class_names(ClassFolders(path=tmp_path, side=8, class_names=("well", "sick"))) == ("well", "sick")

    def test_are_none_where_classes_are_numbers(self) -> None:
        assert class_names(Digits()) == ()

    def test_stand_in_the_summary_of_a_run_on_pictures(self, tmp_path: Path) -> None:
        generator = np.random.default_rng(0)
        for name, light in (("dark", 40), ("light", 200)):
            for number in range(12):
                path = tmp_path / "pictures" / name / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(generator.integers(light - 30, light + 30, (8, 8), dtype=np.uint8)).save(path)
        found = run(
            tmp_path / "run", data={"kind": "folder", "path": str(tmp_path / "pictures"), "side": 8},
            silos={"names": ["north", "east"]}, evaluation={},
        )  # fmt: skip
        assert found.summary.model is not None
        assert found.summary.model.class_names == ("dark", "light")
        assert "light" in (tmp_path / "run" / "report.html").read_text()
