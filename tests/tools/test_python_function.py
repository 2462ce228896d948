from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from abi.errors import ArgumentError, Invalid, QueryRefused, QuerySyntaxError, ToolFailed, Untrusted
from abi.graph.oxigraph import OxigraphStore
from abi.graph.rows import Rows
from abi.records.reader import ReadContext, read_file
from abi.records.record import PythonFunction
from abi.records.scan import scan
from abi.settings import Settings
from abi.tools.descendants import is_guarded
from abi.tools.json_values import rows_of
from abi.tools.python_function import job_of, run
from abi.tools.python_process import call_apart, end_processes
from abi.tools.runner import RunContext


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    modules, path, stdout = set(sys.modules), list(sys.path), sys.stdout
    yield
    end_processes()
    assert sys.path == path
    assert sys.stdout is stdout
    assert not {n for n in set(sys.modules) - modules if n.startswith(("agentc", "abi_tool_"))}


class Workspace:
    """Files and their tools."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def tools(self, settings: Settings | None = None) -> dict[str, PythonFunction]:
        settings = settings or Settings(base_iri="https://example.org/w/")
        files = scan(self.root, ["."], None, settings).files
        records = [r for f in files for r in read_file(f, ReadContext.of(settings)).records]
        return {r.name: r for r in records if isinstance(r, PythonFunction)}

    def call(self, name: str, /, **arguments: Any) -> Any:
        return call_apart(job_of(self.tools()[name], self.root), arguments, seconds=60)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_an_untrusted_workspace_runs_nothing(workspace: Workspace, context: RunContext) -> None:
    workspace.write("t.py", 'open("ran", "w")\nfrom abi import tool\n@tool\ndef f():\n    "x"\n')
    with pytest.raises(Untrusted) as caught:
        run(workspace.tools()["f"], {}, replace(context, trusted=False))
    assert "abi trust" in caught.value.hint
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    "form",
    [
        "from abi import tool\n@tool",
        "from agentc import tool\n@tool",
        "from agentc.catalog import tool\n@tool()",
        "from agentc_core.tool import tool\n@tool()",
        "import agentc\n@agentc.tool(annotations={'a': 'b'})",
        "import agentc_core.tool\n@agentc_core.tool.tool",
        "from agentc import catalog\n@catalog.tool",
    ],
)
def test_every_form_runs_without_agent_catalog(workspace: Workspace, form: str) -> None:
    workspace.write("t.py", f'{form}\ndef add(a: int, b: int = 2) -> int:\n    "Adds."\n    return a + b\n')
    assert workspace.call("add", a=1) == 3
    assert workspace.call("add", a="5", b=5) == 10


def test_the_stand_in_says_what_it_is(workspace: Workspace) -> None:
    workspace.write("t.py", 'from agentc import tool, Catalog\n@tool\ndef f():\n    "x"\n')
    with pytest.raises(ToolFailed, match=r"t\.py:1: ImportError"):
        workspace.call("f")


MODELS = """
from __future__ import annotations
from dataclasses import dataclass
from datetime import datetime
from typing import Optional
from pydantic import BaseModel, Field
from abi import tool
from shapes import Size

class Sales(BaseModel):
    sources: list[str]
    formula: str = "x"

@dataclass
class Point:
    x: float
    y: float = 0.5

@tool(name="kinds")
async def with_kinds(
    sales: Sales, point: Point, when: datetime, size: Size, /, n: int = Field(3), *, maybe: Optional[int] = None
):
    "x"
    return {"sales": sales, "point": point, "year": when.year, "area": size.area(), "n": n, "maybe": maybe}
"""


def test_arguments_are_built_from_json_and_results_become_json(workspace: Workspace) -> None:
    workspace.write("a/t.py", MODELS)
    workspace.write(
        "a/shapes.py",
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom decimal import Decimal\n"
        "@dataclass\nclass Size:\n    w: Decimal\n    def area(self): return float(self.w) ** 2\n",
    )
    arguments: dict[str, Any] = {
        "sales": {"sources": ["a"]},
        "point": {"x": 1},
        "when": "2024-05-01T10:00:00Z",
        "size": {"w": 3},
        "maybe": None,
    }
    assert workspace.call("kinds", **arguments) == {
        "sales": {"sources": ["a"], "formula": "x"},
        "point": {"x": 1.0, "y": 0.5},
        "year": 2024,
        "area": 9.0,
        "n": 3,
        "maybe": None,
    }
    with pytest.raises(ArgumentError) as caught:
        workspace.call("kinds", **{**arguments, "sales": {"sources": "a"}, "point": {}, "other": 1})
    assert {f["argument"] for f in caught.value.details["faults"]} == {"sales.sources", "point.x", "other"}
    with pytest.raises(ArgumentError, match="when: it is missing"):
        workspace.call("kinds", sales={"sources": []}, point={"x": 1}, size={"w": 1})


def test_same_named_files_and_their_neighbours_do_not_meet(workspace: Workspace) -> None:
    for folder in ("a", "b"):
        workspace.write(
            f"{folder}/search.py",
            f'import geo\nfrom abi import tool\n@tool\ndef {folder}():\n    "x"\n    return geo.NAME\n',
        )
        workspace.write(f"{folder}/geo.py", f"NAME = '{folder}'\n")
    assert [workspace.call("a"), workspace.call("b"), workspace.call("a")] == ["a", "b", "a"]
    assert "geo" not in sys.modules
    assert not list(workspace.root.rglob("__pycache__"))


def test_a_file_is_loaded_once_and_again_when_it_or_its_neighbour_changes(workspace: Workspace) -> None:
    workspace.write(
        "t.py",
        "import near\nfrom abi import tool\nN = [0]\n"
        '@tool\ndef f():\n    "x"\n    N[0] += 1\n    return N[0], near.X\n',
    )
    workspace.write("near.py", "X = 'one'\n")
    assert workspace.call("f") == [1, "one"]
    assert workspace.call("f") == [2, "one"]
    workspace.write("near.py", "X = 'three'\n")
    assert workspace.call("f") == [1, "three"]
    workspace.write("t.py", (workspace.root / "t.py").read_text().replace("+= 1", "+= 5"))
    assert workspace.call("f") == [5, "three"]


def test_prints_go_to_stderr_also_from_calls_at_the_same_time(
    workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    text = (
        'import time\nfrom abi import tool\nprint("loading")\n'
        '@tool\ndef f(n: int):\n    "x"\n    print("in", n)\n    time.sleep(n / 50)\n    return n\n'
    )
    workspace.write("t.py", text)
    job = job_of(workspace.tools()["f"], workspace.root)
    threads = [threading.Thread(target=lambda n=n: call_apart(job, {"n": n}, seconds=60)) for n in (3, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("after")
    captured = capfd.readouterr()
    assert captured.out == "after\n"
    assert captured.err.count("loading") == 3 and captured.err.count("in ") == 3


def test_a_coroutine_runs_inside_a_running_loop(workspace: Workspace) -> None:
    workspace.write(
        "t.py",
        "import asyncio\nfrom abi import tool\n"
        '@tool\nasync def f(n: int):\n    "x"\n    await asyncio.sleep(0)\n    return 1 / n\n',
    )

    async def main() -> Any:
        with pytest.raises(ToolFailed, match="ZeroDivisionError"):
            workspace.call("f", n=0)
        return workspace.call("f", n=2)

    assert asyncio.run(main()) == 0.5 == workspace.call("f", n=2)


def test_what_is_no_json_becomes_json(workspace: Workspace) -> None:
    body = 'yield b"\\xff"\n    yield {1, 2}\n    yield float("nan")\n    yield object\n    yield {"k": (1, None)}'
    workspace.write("t.py", f'from abi import tool\n@tool\ndef f():\n    "x"\n    {body}\n')
    result = workspace.call("f")
    assert result[:3] == ["_w==", [1, 2], "nan"] and result[4] == {"k": [1, None]}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return 1 / 0", r"f failed at t\.py:5: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", r"failed at t\.py:5: SystemExit: 3"),
        ("import json\n    return json.loads('{')", r"failed at t\.py:6: JSONDecodeError"),
        ("import later", r"failed at t\.py:5: ModuleNotFoundError"),
    ],
)
def test_a_failing_tool_is_told_with_its_line(workspace: Workspace, body: str, says: str) -> None:
    workspace.write("t.py", f'from abi import tool\n@tool\ndef f():\n    "x"\n    {body}\n')
    workspace.write("later.py", "")
    with pytest.raises(ToolFailed, match=says) as caught:
        workspace.call("f")
    assert caught.value.details["tool"] == "f"
    if "later" in body:
        assert "top of the file" in caught.value.hint


def test_a_file_that_does_not_load(workspace: Workspace) -> None:
    workspace.write("t.py", 'from abi import tool\nimport nowhere_at_all\n@tool\ndef f():\n    "x"\n')
    with pytest.raises(ToolFailed, match=r"could not be loaded at t\.py:2: ModuleNotFoundError") as caught:
        workspace.call("f")
    assert caught.value.hint == "Install what it imports."


def test_only_marked_functions_of_files_inside_the_workspace_run(workspace: Workspace, tmp_path_factory: Any) -> None:
    workspace.write("t.py", 'from os import getcwd\nfrom abi import tool\n@tool\ndef f():\n    "x"\n')
    record = workspace.tools()["f"]
    assert record.source is not None

    def run(function: str = "f", path: str = "t.py") -> None:
        assert record.source is not None
        changed = {"function": function, "source": record.source.model_copy(update={"path": path})}
        call_apart(job_of(record.model_copy(update=changed), workspace.root), {}, seconds=60)

    run()
    with pytest.raises(ToolFailed, match="marked"):
        run("getcwd")
    with pytest.raises(ToolFailed, match="no Python file"):
        run(path="agents.ttl")
    with pytest.raises(ToolFailed, match="cannot be read"):
        run(path="gone.py")
    outside = tmp_path_factory.mktemp("outside") / "t.py"
    outside.write_text((workspace.root / "t.py").read_text())
    (workspace.root / "link.py").symlink_to(outside)
    for path in ("link.py", str(outside), f"../{outside.parent.name}/t.py"):
        with pytest.raises(ToolFailed, match="outside the workspace"):
            run(path=path)


GRAPH = """
@prefix fl: <https://example.org/fl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
fl:BOI a fl:Airport ; rdfs:label "Boise Airport" ; skos:altLabel "Boise" ; fl:runways 2 .
fl:SEA a fl:Airport ; rdfs:label "Seattle-Tacoma" ; fl:runways 3 .
"""

RUNWAYS = '''
from __future__ import annotations
from typing import Annotated, Optional
from abi import Entity, Graph, tool

@tool(answer="{{ airport.label }} has {{ result.count }} runways{% if other %}, {{ other.label }} others{% endif %}.")
def runways(airport: Annotated[str, Entity("fl:Airport")], graph: Graph,
            other: Optional[Annotated[str, Entity(value_class="fl:Airport")]] = None, least: int = 0) -> dict:
    """How many runways an airport has."""
    rows = graph.query("SELECT ?n { ?airport fl:runways ?n FILTER(?n >= ?least) }", airport=airport, least=least)
    again = graph.query("ASK { ?airport rdfs:label ?name }", airport=airport, name="Boise Airport")
    back = graph.query("SELECT ?a { ?a fl:runways ?n }", n=rows[0]["n"])
    known = graph.query("ASK { ?a a fl:Airport }", a=back[0]["a"])
    return {"count": rows[0]["n"], "boise": again[0]["boolean"], "known": known[0]["boolean"], "other": other}
'''


@pytest.fixture
def context(workspace: Workspace) -> RunContext:
    store = OxigraphStore.memory()
    quads = [
        ox.Quad(t.subject, t.predicate, t.object, ox.NamedNode("urn:g")) for t in ox.parse(GRAPH, ox.RdfFormat.TURTLE)
    ]
    store.apply([], quads)
    settings = Settings(base_iri="https://example.org/w/", prefixes={"fl": "https://example.org/fl#"})

    def query(text: str, *, rows: int | None = None) -> Rows:
        return store.query(text, max_rows=rows)

    return RunContext(query=query, settings=settings, root=workspace.root, trusted=True)


def test_a_tool_takes_things_of_the_graph_and_asks_it(workspace: Workspace, context: RunContext) -> None:
    workspace.write("t.py", RUNWAYS)
    record = workspace.tools(context.settings)["runways"]
    assert [(p.name, p.value_class, p.required) for p in record.parameters] == [
        ("airport", "https://example.org/fl#Airport", True),
        ("other", "https://example.org/fl#Airport", False),
        ("least", None, False),
    ]
    assert "graph" not in record.input_schema["properties"]
    result = run(record, {"airport": "Boise", "least": "1"}, context)
    assert result.arguments == {"airport": "https://example.org/fl#BOI", "least": 1}
    assert result.result == {"count": 2, "boise": True, "known": True, "other": None}
    assert result.answer == "Boise Airport has 2 runways."
    assert result.citations == [("https://example.org/fl#BOI", "Boise Airport")]
    assert result.rows is not None and result.rows.python()[0]["count"] == 2
    assert result.document()["row_count"] == 1
    other = run(record, {"airport": "https://example.org/fl#SEA", "other": "Boise Airport"}, context)
    assert other.answer == "Seattle-Tacoma has 3 runways, Boise Airport others."
    assert other.result["other"] == "https://example.org/fl#BOI"


def test_faults_of_arguments_come_before_anything_runs(workspace: Workspace, context: RunContext) -> None:
    workspace.write("t.py", RUNWAYS)
    record = workspace.tools(context.settings)["runways"]
    with pytest.raises(ArgumentError) as caught:
        run(record, {"airport": "Nowhere", "least": "many", "graph": 1}, context)
    assert {f["argument"] for f in caught.value.details["faults"]} == {"airport", "least", "graph"}
    with pytest.raises(Untrusted):
        run(record, {}, replace(context, trusted=False))


def test_a_tools_query_is_guarded_and_its_values_are_terms(workspace: Workspace, context: RunContext) -> None:
    workspace.write(
        "t.py",
        'from abi import Graph, tool\n@tool\ndef f(q: str, graph: Graph, x: str = ""):\n    "x"\n'
        "    return graph.query(q, x=x) if x else graph.query(q)\n",
    )
    record = workspace.tools(context.settings)["f"]
    hostile = 'x" } UNION { ?s ?p ?o } #'
    found = run(record, {"q": "SELECT ?s { ?s rdfs:label ?x }", "x": hostile}, context)
    assert (found.result, found.row_count) == ([], 0)
    for text in ("SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }", "SELECT nonsense"):
        with pytest.raises((Invalid, QueryRefused, QuerySyntaxError)):
            run(record, {"q": text}, context)


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (None, []),
        (3.5, [{"result": 3.5}]),
        ([1, "a"], [{"result": 1}, {"result": "a"}]),
        ([{"a": 1}, {"a": None, "b": True}], [{"a": 1, "b": None}, {"a": None, "b": True}]),
        ({"a": {"b": [1]}}, [{"a": '{"b": [1]}'}]),
    ],
)
def test_results_as_rows(value: Any, rows: list[dict[str, Any]]) -> None:
    assert rows_of(value).python() == rows


HANGS = """
import asyncio, os, subprocess, sys, time
from pathlib import Path
from abi import tool

def child_says(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)

@tool
def hang():
    "x"
    while True:
        pass

@tool
async def wait():
    "x"
    await asyncio.sleep(600)

@tool
def fork(path: str):
    "x"
    if os.fork() == 0:
        child_says(path)
    time.sleep(600)

def daemon(path):
    "Twice forked and in a session of its own, as daemons are."
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork() == 0:
            child_says(path)
        os._exit(0)
    os.waitpid(first, 0)
    while not (Path(path).exists() and Path(path).read_text()):
        time.sleep(0.01)

@tool
def leave(path: str):
    "x"
    daemon(path)
    os._exit(7)

@tool
def leave_and_hang(path: str):
    "x"
    daemon(path)
    time.sleep(600)

@tool
def leave_and_answer(path: str):
    "x"
    daemon(path)
    return 3

@tool
def shout():
    "x"
    os.write(1, b"to the file descriptor\\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return sys.stdin.read()

@tool
def kept(name: str):
    "x"
    return [os.environ.get(name), os.getcwd(), os.getpid()]
"""


def gone(pid: int) -> bool:
    """Whether the process has ended; one that nobody has waited for yet has, too."""
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def limited(workspace: Workspace, tool: str, seconds: float = 0.5, /, **arguments: Any) -> Any:
    return call_apart(job_of(workspace.tools()[tool], workspace.root), arguments, seconds=seconds)


@pytest.mark.parametrize("name", ["hang", "wait"])
def test_a_tool_that_hangs_is_ended_and_the_next_call_works(workspace: Workspace, name: str) -> None:
    workspace.write("t.py", HANGS)
    before = limited(workspace, "kept", 60, name="HOME")[2]
    with pytest.raises(ToolFailed, match=rf"{name} took longer than 0\.5 s and was ended") as caught:
        limited(workspace, name)
    assert "python_seconds" in caught.value.hint
    assert gone(before)
    assert limited(workspace, "kept", 60, name="HOME")[2] != before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_what_a_tool_has_started_is_ended_with_it(workspace: Workspace) -> None:
    workspace.write("t.py", HANGS)
    note = workspace.root / "pid"
    with pytest.raises(ToolFailed, match="took longer"):
        limited(workspace, "fork", 5, path=str(note))
    assert gone(int(note.read_text()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_tool_that_ends_its_process_is_told_although_it_has_left_a_daemon(workspace: Workspace) -> None:
    workspace.write("t.py", HANGS)
    note = workspace.root / "pid"
    with pytest.raises(ToolFailed, match=r"leave ended its process \(exit code 7\)"):
        limited(workspace, "leave", 120, path=str(note))
    if not is_guarded():
        os.kill(int(note.read_text()), signal.SIGKILL)
    assert gone(int(note.read_text()))


@pytest.mark.skipif(not is_guarded(), reason="only Linux tells whose child a daemon was")
def test_a_daemon_ends_with_the_tool_that_is_out_of_time(workspace: Workspace) -> None:
    workspace.write("t.py", HANGS)
    note = workspace.root / "pid"
    with pytest.raises(ToolFailed, match="took longer"):
        limited(workspace, "leave_and_hang", 10, path=str(note))
    assert gone(int(note.read_text()))


@pytest.mark.skipif(not is_guarded(), reason="only Linux tells whose child a daemon was")
def test_a_daemon_of_a_tool_ends_with_the_workspace(workspace: Workspace) -> None:
    workspace.write("t.py", HANGS)
    note = workspace.root / "pid"
    assert limited(workspace, "leave_and_answer", 120, path=str(note)) == 3
    os.kill(int(note.read_text()), 0)
    end_processes(workspace.root)
    assert gone(int(note.read_text()))


@pytest.mark.skipif(not is_guarded(), reason="only Linux tells whose child a daemon was")
def test_a_daemon_of_a_tool_ends_with_an_abi_that_is_killed(workspace: Workspace) -> None:
    workspace.write("t.py", HANGS)
    note = workspace.root / "pid"
    script = (
        "import os, signal, sys; from pathlib import Path; from abi.tools.python_process import PythonJob, call_apart; "
        "root, note = Path(sys.argv[1]), sys.argv[2]; "
        "job = PythonJob(root, 'leave_and_answer', 't.py', 'leave_and_answer', (root / 't.py').read_bytes()); "
        "call_apart(job, {'path': note}, seconds=120); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(workspace.root), str(note)], timeout=240, check=False)
    assert done.returncode == -signal.SIGKILL
    assert gone(int(note.read_text()))


def test_nothing_that_a_tool_or_its_children_write_gets_on_stdout(
    workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    workspace.write("t.py", HANGS)
    assert limited(workspace, "shout", 60) == ""
    captured = capfd.readouterr()
    assert captured.out == "" and "to the file descriptor" in captured.err and "from a child" in captured.err


def test_a_kept_process_sees_the_environment_and_the_folder_of_each_call(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("t.py", HANGS)
    first = limited(workspace, "kept", 60, name="ABI_TRY")
    monkeypatch.setenv("ABI_TRY", "there")
    monkeypatch.chdir(workspace.root)
    second = limited(workspace, "kept", 60, name="ABI_TRY")
    assert first[0] is None and second[:2] == ["there", str(workspace.root.resolve())]
    assert first[2] == second[2]


def test_a_process_ends_with_the_one_that_started_it(workspace: Workspace) -> None:
    workspace.write("t.py", HANGS)
    text = (
        "import os, sys, threading, time\nfrom pathlib import Path\n"
        "from abi.tools.python_process import PythonJob, call_apart\n"
        "root = Path(sys.argv[1])\n"
        "job = lambda name: PythonJob(root, name, 't.py', name, (root / 't.py').read_bytes())\n"
        "print(call_apart(job('kept'), {'name': 'x'}, seconds=60)[2], flush=True)\n"
        "threading.Thread(target=lambda: call_apart(job('hang'), {}, seconds=600), daemon=True).start()\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", text, str(workspace.root)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.3)
        parent.kill()
    assert gone(pid)


MUCH = """\
from abi import tool


@tool
def letters(count: int) -> str:
    "Letters."
    return "\u00e4" * count


@tool
def complain(count: int) -> str:
    "Complains at length."
    raise ValueError("x" * count)
"""


def test_a_result_that_is_too_large_is_refused_and_the_process_stays(workspace: Workspace, context: RunContext) -> None:
    workspace.write("t.py", MUCH)
    here = replace(
        context, root=workspace.root, trusted=True, settings=context.settings.model_copy(update={"python_bytes": 1000})
    )
    letters = workspace.tools()["letters"]
    assert run(letters, {"count": 499}, here).result == "\u00e4" * 499  # two bytes each, and the quotes
    with pytest.raises(ToolFailed, match=r"letters gave back 1,002 bytes, more than the 1,000 that") as told:
        run(letters, {"count": 500}, here)
    assert told.value.details == {"tool": "letters", "path": "t.py", "bytes": 1002}
    assert "raise python_bytes" in told.value.hint
    assert run(letters, {"count": 1}, here).result == "\u00e4"


def test_of_a_long_exception_only_the_beginning_is_told(workspace: Workspace) -> None:
    workspace.write("t.py", MUCH)
    with pytest.raises(ToolFailed, match=r"ValueError: x{2000}\.\.\.$"):
        workspace.call("complain", count=1_000_000)
