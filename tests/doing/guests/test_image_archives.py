"""Docker nodes from archives of images: what `docker save` writes, and OCI archives."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from delaylab import images
from delaylab.errors import BadInput
from delaylab.images import archives, cache
from delaylab.progress import silent
from tests.doing.conftest import Run, skip_unless_runnable

MARK = b"from the image"
SETTINGS = {
    "Entrypoint": ["/bin/false"],
    "Cmd": ["never"],
    "User": "nobody",
    "Healthcheck": {"Test": ["CMD", "/bin/false"], "Interval": 1_000_000_000},
    "WorkingDir": "/tmp",
}
LAB = """\
lab: saved
nodes:
  a: {{kind: docker, image: {docker}}}
  b: {{kind: docker, image: {oci}}}
links: [{{between: [a, b]}}]
"""


def tarred(path: Path, content: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in content.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))
    return path


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def config_of(layers: list[bytes]) -> bytes:
    ids = [f"sha256:{digest(layer)}" for layer in layers]
    about = {"architecture": "amd64", "os": "linux", "config": SETTINGS}
    return json.dumps({**about, "rootfs": {"type": "layers", "diff_ids": ids}}).encode()


def saved(path: Path, layers: list[bytes], more: list[dict[str, Any]] | None = None) -> Path:
    """Write what `docker save` writes."""
    about = {
        "Config": "config.json",
        "RepoTags": ["precious:latest"],
        "Layers": [f"{n}/layer.tar" for n, _ in enumerate(layers)],
    }
    parts = {f"{n}/layer.tar": layer for n, layer in enumerate(layers)}
    manifest = json.dumps([about, *(more or [])]).encode()
    repositories = json.dumps({"precious": {"latest": "0"}}).encode()
    return tarred(
        path,
        {
            **parts,
            "config.json": config_of(layers),
            "manifest.json": manifest,
            "repositories": repositories,
        },
    )


def oci(path: Path, layers: list[bytes]) -> Path:
    """Write an OCI archive with an index of two platforms and its last layer compressed."""
    blobs = {}

    def blob(content: bytes) -> dict[str, Any]:
        blobs[f"blobs/sha256/{digest(content)}"] = content
        return {"digest": f"sha256:{digest(content)}", "size": len(content)}

    config = blob(config_of(layers))
    files = [blob(layer) for layer in layers[:-1]] + [blob(gzip.compress(layers[-1], 1))]
    manifest = blob(json.dumps({"schemaVersion": 2, "config": config, "layers": files}).encode())
    here = {**manifest, "platform": {"architecture": "amd64", "os": "linux"}}
    other = {**manifest, "platform": {"architecture": "arm64", "os": "linux"}}
    nested = blob(json.dumps({"schemaVersion": 2, "manifests": [other, here]}).encode())
    index = json.dumps({"schemaVersion": 2, "manifests": [nested]}).encode()
    return tarred(path, {"oci-layout": b"{}", "index.json": index, **blobs})


@pytest.mark.root
def test_saved_images_run_whatever_they_would_start(delaylab: Run, tmp_path: Path) -> None:
    skip_unless_runnable("docker")
    mark = tarred(tmp_path / "mark.tar", {"mark": MARK}).read_bytes()
    layers = [images.require("container")["tar"].read_bytes(), mark]
    docker, other = saved(tmp_path / "a.tar", layers), oci(tmp_path / "b.tar", layers)
    (tmp_path / "lab.yaml").write_text(LAB.format(docker=docker, oci=other))
    delaylab("up", "lab.yaml")
    for node in ("a", "b"):
        assert delaylab("exec", node, "--", "cat", "/mark").stdout == MARK.decode()
        assert delaylab("exec", node, "--", "id", "-u").stdout == "0\n"
    delaylab("exec", "a", "--", "ping", "-c", "1", "b")


def test_an_archive_is_told_from_a_root_file_system(tmp_path: Path) -> None:
    assert archives.is_archive(saved(tmp_path / "saved.tar", [b"x"]))
    assert archives.is_archive(oci(tmp_path / "oci.tar", [b"x"]))
    root = {"./etc/passwd": b"", "./manifest.json": b"a file of the root file system"}
    assert not archives.is_archive(tarred(tmp_path / "root.tar", root))
    (tmp_path / "no.tar").write_bytes(b"not a tar")
    with pytest.raises(BadInput, match="cannot be read"):
        archives.is_archive(tmp_path / "no.tar")


def test_the_copy_has_no_names_that_an_engine_would_move(tmp_path: Path) -> None:
    for path in (saved(tmp_path / "s.tar", [b"x"]), oci(tmp_path / "o.tar", [b"x"])):
        archives.write_nameless(path, tmp_path / "copy.tar")
        with tarfile.open(tmp_path / "copy.tar") as tar:
            names = tar.getnames()
            about = tar.extractfile("manifest.json")
            assert about is not None
            (image,) = json.load(about)
        assert names[0] == "manifest.json"
        assert image["RepoTags"] is None
        assert {image["Config"], *image["Layers"]} <= set(names)
        assert not {"repositories", "index.json", "oci-layout"} & set(names)


def test_a_copy_is_made_once_for_each_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYLAB_CACHE", str(tmp_path / "cache"))
    root = tarred(tmp_path / "root.tar", {"./etc/passwd": b""})
    assert archives.for_engine(root) == root
    first = archives.for_engine(saved(tmp_path / "a.tar", [b"x"]))
    made = first.stat().st_mtime_ns
    assert archives.for_engine(saved(tmp_path / "b.tar", [b"x"])) == first
    assert first.stat().st_mtime_ns == made
    assert archives.for_engine(saved(tmp_path / "a.tar", [b"y"])) != first
    two = saved(tmp_path / "c.tar", [b"x"], [{"Config": "config.json", "Layers": []}])
    with pytest.raises(BadInput, match="holds 2 images"):
        archives.for_engine(two)
    assert [layer.name for layer in images.layers()] == ["docker-image"] * 2


def test_a_layer_that_another_program_has_made_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYLAB_CACHE", str(tmp_path))

    def publish(content: str) -> Path:
        with cache.building(silent), cache.partial("a") as made:
            (made / "file").write_text(content)
            return cache.publish(made, "a", "0" * cache.KEY_LENGTH, "recipe", []).path / "file"

    first = publish("first")
    assert publish("second") == first
    assert first.read_text() == "first"
    assert not list(tmp_path.glob(f"{cache.PARTIAL}*"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"manifest.json": b"[]"}, "holds 0 images"),
        ({"manifest.json": b'[{"Config": 1}]'}, "is not an image"),
        ({"manifest.json": b"{"}, "is not an image"),
        ({"oci-layout": b"{}"}, "no readable index.json"),
        ({"oci-layout": b"{}", "index.json": b'{"manifests": []}'}, "holds 0 images"),
        (
            {"oci-layout": b"{}", "index.json": b'{"manifests": [{"digest": "../../etc:a"}]}'},
            "is not an image",
        ),
    ],
)
def test_what_is_no_image_is_one_line(tmp_path: Path, content: dict[str, bytes], says: str) -> None:
    path = tarred(tmp_path / "bad.tar", content)
    with pytest.raises(BadInput, match=says) as refused:
        archives.write_nameless(path, tmp_path / "copy.tar")
    assert len(str(refused.value).splitlines()) == 1


def test_a_header_that_names_gigabytes_is_one_line(tmp_path: Path) -> None:
    """A few bytes of a compressed archive would otherwise take all memory."""
    path = tmp_path / "bad.tar.gz"
    large = tarfile.TarInfo("././@LongLink")
    large.type, large.size = tarfile.GNUTYPE_LONGLINK, 64 << 30
    path.write_bytes(gzip.compress(large.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    with pytest.raises(BadInput, match="cannot be read") as refused:
        archives.is_archive(path)
    assert "68719476736 bytes belong to it" in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
