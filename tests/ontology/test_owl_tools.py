"""Other people's tools open the ontology: the OWL API (the library under most ontology editors) and Horned OWL."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pyoxigraph as ox
import pytest

from abi import terms
from tests.ontology.conftest import CORE, MAPPINGS

JARS = Path("/usr/share/java")
BROKEN = f"""
@prefix : <https://example.org/> . @prefix owl: <{terms.OWL}> . @prefix rdfs: <{terms.RDFS}> .
<https://example.org/broken> a owl:Ontology .
:Known a owl:Class ; rdfs:subClassOf :Unknown .
"""


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that judges files, its own arguments still to come."""
    java, javac = shutil.which("java"), shutil.which("javac")
    if java is None or javac is None:
        pytest.skip("no JDK here (java and javac)")
    if not list(JARS.glob("owlapi-*.jar")):
        pytest.skip("no OWL API here (Debian: libowlapi-java)")
    classes = tmp_path_factory.mktemp("classes")
    classpath = f"{classes}{os.pathsep}{JARS}/*"
    source = Path(__file__).with_name("Profile.java")
    subprocess.run([javac, "-cp", classpath, "-d", str(classes), str(source)], check=True, capture_output=True)
    imports = [f"{iri}={path}" for iri, path in zip((terms.ABI_ONTOLOGY, terms.BFO_MODULE), CORE, strict=True)]
    return [java, "-XX:TieredStopAtLevel=1", "-cp", classpath, "Profile", *imports, "--"]


def lines(command: list[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_owl_api_finds_owl_2_dl_and_nothing_undeclared(profile: list[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.ttl"
    broken.write_text(BROKEN)
    files = [*CORE, *MAPPINGS]
    found = lines([*profile, *map(str, [*files, broken])])
    assert [line.split()[2] for line in found if line.startswith("ok ")] == [p.name for p in files]
    # And it would have told.
    bad = [line for line in found if line.startswith("bad ")]
    assert bad and all(line.split()[1] == "broken.ttl" for line in bad)
    assert any("Unknown" in line for line in bad)


@pytest.mark.parametrize("path", [*CORE, *MAPPINGS], ids=lambda p: p.name)
def test_horned_owl_parses(path: Path, tmp_path: Path) -> None:
    pyhornedowl = pytest.importorskip("pyhornedowl", reason="py-horned-owl is not installed")
    xml = tmp_path / "o.owl"
    triples = (q.triple for q in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE))
    xml.write_bytes(ox.serialize(triples, format=ox.RdfFormat.RDF_XML))
    ontology = pyhornedowl.open_ontology(str(xml))
    assert str(ontology.get_iri()).startswith(terms.ABI)
    assert len(ontology.get_axioms()) > 20
