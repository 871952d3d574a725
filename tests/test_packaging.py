"""The constraints files and pyproject.toml tell the same story."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def requirements(lines):
    return [Requirement(line) for line in lines]


def pins(name):
    return requirements((ROOT / name).read_text().splitlines())


def exact_version(pin):
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    return specifier.version


def lower_bound(requirement):
    (specifier,) = requirement.specifier
    assert specifier.operator == ">=", f"{requirement} is not a lower bound alone"
    return specifier.version


def test_floor_pins_are_the_lower_bounds():
    promised = requirements(PROJECT["dependencies"] + EXTRAS["test"])
    floor = {pin.name: exact_version(pin) for pin in pins("constraints-floor.txt")}
    assert floor == {requirement.name: lower_bound(requirement) for requirement in promised}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_extra_has_lower_bounds(extra):
    for requirement in requirements(EXTRAS[extra]):
        if requirement.name != PROJECT["name"]:
            assert lower_bound(requirement)


@pytest.mark.parametrize("python_version", ["3.11", "3.12", "3.13", "3.14"])
def test_constraints_pin_each_dependency_once(python_version):
    chosen = [
        pin
        for pin in pins("constraints.txt")
        if pin.marker is None or pin.marker.evaluate({"python_version": python_version})
    ]
    versions = {canonicalize_name(pin.name): exact_version(pin) for pin in chosen}
    assert len(versions) == len(chosen)
    direct = requirements(PROJECT["dependencies"] + EXTRAS["test"] + EXTRAS["dev"])
    for requirement in direct:
        if requirement.name != PROJECT["name"]:
            assert versions[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-floor.txt"])
def test_constraints_name_no_place(name):
    text = (ROOT / name).read_text()
    assert not any(sign in text for sign in ("/", "@", "--"))
