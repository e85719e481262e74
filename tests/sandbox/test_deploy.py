"""sandbox/deploy: what its files say must be what the service takes."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from madrl.grading.programs.fleet import check_source
from sandbox.__main__ import parse
from sandbox.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "sandbox" / "deploy"


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (FOLDER / "Containerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    return {manifest["kind"]: manifest for manifest in yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())}


def settings(manifests: dict[str, Any]) -> ServiceSettings:
    """The service's, as a replica starts it."""
    (entrypoint,) = (yaml.safe_load(rest) for name, rest in instructions() if name == "ENTRYPOINT")
    (container,) = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    words = [*entrypoint[entrypoint.index("sandbox") + 1 :], *container["args"]]
    return parse([word.replace("$(SLOTS)", container["resources"]["requests"]["cpu"]) for word in words])


def test_the_image_copies_what_is_there_and_its_service_takes_its_options(manifests: dict[str, Any]) -> None:
    for name, rest in instructions():
        if name == "COPY":
            assert (ROOT / shlex.split(rest)[0]).exists(), rest
    (port,) = (int(rest) for name, rest in instructions() if name == "EXPOSE")
    found = settings(manifests)
    assert (found.host, found.port, found.slots, found.java_loop) == ("0.0.0.0", port, 16, True)
    (volume,) = (rest for name, rest in instructions() if name == "VOLUME")
    assert volume == "/var/cache/madrl-sandbox"  # root's state folder


def test_a_replica_has_its_token_its_port_and_time_to_drain(manifests: dict[str, Any]) -> None:
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    found, mounts = settings(manifests), {mount["name"]: mount for mount in container["volumeMounts"]}
    assert found.token_file == Path(mounts["token"]["mountPath"]) / "token"
    assert mounts["state"]["mountPath"] == "/var/cache/madrl-sandbox"
    assert {volume["name"] for volume in pod["volumes"]} == mounts.keys()
    assert container["ports"] == [{"name": "http", "containerPort": found.port}]
    assert pod["terminationGracePeriodSeconds"] > found.drain_s
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}


def test_the_replicas_are_found_under_one_name(manifests: dict[str, Any]) -> None:
    deployment, service = manifests["Deployment"], manifests["Service"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == labels
    for kind, selector in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        assert manifests[kind]["spec"][selector]["matchLabels"] == labels
    said = (FOLDER / "kubernetes.yaml").read_text()
    (url,) = re.findall(r"SANDBOX_URL=(\S+?),", said)
    check_source(url)
    assert url == f"dns+http://{service['metadata']['name']}.NAMESPACE:{service['spec']['ports'][0]['port']}"
