"""The wheel has all that is needed: installed into an empty environment, it pings."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from delaylab.extras import PACKAGES

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def test_the_agent_and_the_studies_are_inside(wheel: Path) -> None:
    content = zipfile.ZipFile(wheel)
    names = content.namelist()
    (agent,) = (name for name in names if name.endswith("scripts/delaylab-agent"))
    (library,) = (name for name in names if name.endswith("lib/delaylab/libdelaylab_replay.so"))
    for place in (Path.home(), ROOT):
        for binary in (agent, library):
            assert f"{place}/".encode() not in content.read(binary), "the builder's own folders"
    studies = sorted((ROOT / "src" / "delaylab_papers").glob("*/*.yaml"))
    assert studies
    for study in studies:
        assert f"delaylab_papers/{study.parent.name}/{study.name}" in names
    assert "delaylab/py.typed" in names
    for text in ("LICENSE", "LICENCES-OF-CRATES.txt"):
        assert any(name.endswith(f".dist-info/licenses/{text}") for name in names)
    assert wheel.name.startswith("delaylab-")


def test_its_files_are_those_that_git_has(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    names = zipfile.ZipFile(wheel).namelist()
    inside = {f"src/{name}" for name in names if not name.startswith("delaylab-")}
    assert inside == set(listed)


def test_its_tag_names_the_oldest_c_library_that_can_load_it(wheel: Path, tmp_path: Path) -> None:
    """Compared with what readelf(1) says; docs/record-and-replay.md names the version, too."""
    content = zipfile.ZipFile(wheel)
    (name,) = (name for name in content.namelist() if name.endswith("libdelaylab_replay.so"))
    library = content.extract(name, tmp_path)
    said = subprocess.run(["readelf", "-V", library], check=True, capture_output=True, text=True)
    needed = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", said.stdout))
    assert f"-none-manylinux_2_{needed}_" in wheel.name
    page = (ROOT / "docs/record-and-replay.md").read_text()
    assert f"whose C library is glibc 2.{needed} or newer" in page


def installed(what: str, place: Path) -> Path:
    """Install a wheel into an environment of its own; return the folder of its programs."""
    empty = place / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(empty)], check=True)
    tools = empty / "bin"
    requirements = (ROOT / "requirements.txt").read_text()
    # Versions alone: pip refuses hashes beside the ranges that the wheel itself asks for. So the
    # hashes are compared afterwards, before anything that was installed runs.
    pins = place / "pins.txt"
    pins.write_text("\n".join(re.findall(r"^\S+==\S+", requirements, re.MULTILINE)))
    report = place / "report.json"
    # What is not imported need not be compiled.
    options = ["--quiet", "--no-compile", "--only-binary", ":all:", "--constraint", str(pins)]
    pip = [sys.executable, "-m", "pip", "--python", str(tools / "python")]
    subprocess.run([*pip, "install", *options, "--report", str(report), what], check=True)
    for item in json.loads(report.read_text())["install"]:
        # `hash` is the older form of `hashes` (PEP 610), which pip 23.0 writes alone.
        archive = item["download_info"]["archive_info"]
        digest = archive.get("hashes", {}).get("sha256") or archive["hash"].partition("=")[2]
        own = item["metadata"]["name"] == "delaylab"
        assert own or f"--hash=sha256:{digest}" in requirements, item["metadata"]["name"]
    return tools


def run(tools: Path, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of an environment where nothing else is."""
    return subprocess.run(
        [tools / "delaylab", *argv],
        check=False,
        capture_output=True,
        text=True,
        cwd=tools.parent,
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", **env},
    )


PING = ("ping", "-c", "3", "-i", "10ms", "--json")


@pytest.mark.slow
def test_with_its_extra_it_pings_and_has_studies(wheel: Path, tmp_path: Path) -> None:
    tools = installed(f"{wheel}[study]", tmp_path)
    assert json.loads(run(tools, *PING, "127.0.0.1").stdout)["replied"] == 3
    assert "quickstart" in run(tools, "run", "--list").stdout


@pytest.mark.slow
@pytest.mark.root
def test_without_the_extra_a_lab_is_brought_up_and_pinged_in(wheel: Path, tmp_path: Path) -> None:
    tools = installed(str(wheel), tmp_path)
    assert not [each for each in PACKAGES if list(tools.parent.glob(f"lib/*/site-packages/{each}"))]
    (tmp_path / "lab.yaml").write_text(
        "lab: l\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n"
    )
    with tempfile.TemporaryDirectory(prefix="dl-") as directory:
        up = run(tools, "up", str(tmp_path / "lab.yaml"), DELAYLAB_RUN=directory)
        assert up.returncode == 0, up.stderr
        try:
            inside = str(tools / "delaylab"), *PING, "b"
            answer = run(tools, "exec", "a", "--", *inside, DELAYLAB_RUN=directory)
            assert json.loads(answer.stdout)["replied"] == 3, answer.stderr
        finally:
            down = run(tools, "down", "--all", DELAYLAB_RUN=directory)
    assert down.returncode == 0, down.stderr
    refused = run(tools, "run", "quickstart")
    assert refused.returncode == 3
    assert refused.stderr.endswith(", which is not installed (pip install 'delaylab[study]')\n")
