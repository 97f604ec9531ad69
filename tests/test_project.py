"""The project as a whole: what importing costs, what it exports, and who may import whom."""

import ast
import inspect
import re
import subprocess
import sys

import pytest

import labkit
from labkit import errors
from tests.checkout import ROOT

HEAVY = ["sqlalchemy", "hypothesis", "httpx", "pydantic", "IPython", "psycopg", "cloudpickle", "jupyterlab"]


def loaded_by(code):
    """The modules that a fresh interpreter holds after `code`."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sorted(sys.modules))"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def test_import_is_light():
    """`import labkit` loads no library and none of labkit's own parts."""
    loaded = loaded_by("import labkit")
    assert [name for name in loaded if name.startswith("labkit")] == ["labkit"]
    assert [name for name in HEAVY if name in loaded] == []


def test_command_line_is_light():
    """Building the command line loads no library either."""
    loaded = loaded_by("from labkit import cli; cli.build()")
    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.parametrize("name", labkit.__all__)
def test_every_name_resolves(name):
    """Each exported name is there, and is the thing of that name in its module."""
    value = getattr(labkit, name)
    assert value.__name__ == name
    assert name in dir(labkit)


def test_all_is_sorted_and_holds_every_error():
    """`__all__` is sorted, without doubles, and no error is missing in it."""
    assert labkit.__all__ == sorted(set(labkit.__all__))
    every = {name for name, _ in inspect.getmembers(errors, inspect.isclass) if issubclass(getattr(errors, name), errors.LabkitError)}
    assert every <= set(labkit.__all__)


def test_unknown_name_is_an_attribute_error():
    """A name that is not exported fails as in any module."""
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        labkit.Nonsense  # noqa: B018


def layers():
    """Top-level module -> its row in the README's table of layers."""
    table = (ROOT / "README.md").read_text().split("| layer | modules |")[1].split("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[2]) for line in table.splitlines()[2:]]
    return {name: number for number, row in enumerate(rows) for name in row}


def imported(path):
    """The top-level modules of labkit that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [home(alias.name) for alias in node.names] if node.module == "labkit" else [node.module]
        yield from (name.split(".")[1] for name in names if name.startswith("labkit."))


def home(name):
    """The module that `from labkit import name` brings: that of the name, or the module of this name."""
    return f"labkit.{labkit._HOME.get(name, name)}"


def test_names_of_the_package_bring_their_modules(tmp_path):
    """A library module that takes `sweep` from the package imports the simulator, whatever it looks like."""
    (tmp_path / "sly.py").write_text("from labkit import sweep, errors, Task\nimport labkit.lab\n")
    assert ["faults", "errors", "task", "lab"] == list(imported(tmp_path / "sly.py"))


def test_modules_import_only_upwards():
    """A module imports from its own row of the README's layers or from a row above; every module has its row."""
    row, wrong = layers(), []
    package = ROOT / "labkit"
    for path in sorted(package.rglob("*.py")):
        own = path.relative_to(package).parts[0].removesuffix(".py")
        if own != "__init__":
            wrong += [f"{own} is in no row"] if own not in row else []
            wrong += [f"{path.name} imports {name}" for name in imported(path) if row.get(name, -1) > row.get(own, 99)]
    assert sorted(set(wrong)) == []


def test_map_names_only_what_is_there():
    """Every module in the README's layers exists."""
    package = ROOT / "labkit"
    assert [name for name in layers() if not (package / f"{name}.py").exists() and not (package / name).is_dir()] == []
