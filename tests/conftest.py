"""Small jobs on scikit-learn's digits: real data, real training, seconds. And a browser that reads reports."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from siloseal.federation.job.job import Job

torch.set_num_threads(1)

SMALL_JOB: dict[str, Any] = {
    "name": "small",
    "seed": 3,
    "data": {"kind": "digits"},
    "silos": {"names": ["north", "east", "south"], "partition": {"kind": "iid"}},
    "learner": {"kind": "gan", "latent": 8},
    "optimizer": {"kind": "dp_adam", "learning_rate": 2e-3},
    "privacy": {"kind": "example_level", "epsilon": 10, "delta": 1e-5},
    "warm_start": {"kind": "none"},
    "schedule": {"kind": "two_phase", "batch": 48, "local_steps": 60, "tuning_rounds": 2, "tuning_steps": 5},
    "secure_sum": {"kind": "plain"},
    "evaluation": {"classifiers": ["logistic"], "samples": 300, "silo_alone": False},
}


@pytest.fixture(scope="session")
def small_sections() -> dict[str, Any]:
    """The small job's sections, for fixtures of a wider scope."""
    return SMALL_JOB


@pytest.fixture
def small_job() -> Callable[..., Job]:
    """The small job with some sections replaced."""

    def make(**sections: Any) -> Job:
        return Job.model_validate({**SMALL_JOB, **sections})

    return make


@pytest.fixture(scope="module", autouse=True)
def no_code_of_another_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a file's tests import from their folders is forgotten: another file may have code of the same name."""
    before, folders = set(sys.modules), str(tmp_path_factory.getbasetemp())
    yield
    for name in set(sys.modules) - before:
        if folders in str(getattr(sys.modules[name], "__file__", None) or sys.modules[name].__spec__):
            del sys.modules[name]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Headless Chromium. A machine without it skips the test; continuous integration must have it."""
    chromium, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        if os.environ.get("CI"):
            pytest.fail("CI is set, but there is no chromium with a chromedriver; install both")
        pytest.skip("no chromium with a chromedriver on this machine")
    webdriver = pytest.importorskip("selenium.webdriver")
    webdriver_errors = pytest.importorskip("selenium.common.exceptions")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
                   "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
                   "window-size=1100,900", f"user-data-dir={tmp_path / 'profile'}"):  # fmt: skip
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    except webdriver_errors.SessionNotCreatedException:  # on a busy machine the first start may take too long
        running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield running
    finally:
        running.quit()
