"""wb.tune on a tracker's devices: TVM's own tracker and servers on loopback, killed and brought back; builds on Dask."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest
from rpc_park import LOADING, Overheard

import workbench as wb
from workbench.errors import NoServer
from workbench.experiments.tuning import evaluate
from workbench.experiments.tuning.run import TuneOptions, prepared
from workbench.measurement.remote.tracker import REQUEST

pytestmark = pytest.mark.one_dialect

QUICK = {"each": 0.02, "race": 0, "store": False, "prune": None, "method": "exhaustive"}


def of_different_programs(switches=3):
    """A space in which no two candidates compile to the same: code generation asks for each setting."""
    import tvm

    known = tvm.transform.PassContext.list_configs()
    wanted = (".disable_vectorize", ".disable_assert", ".disable_cse_tir")[:switches]
    return wb.Space(config={next(name for name in known if name.endswith(end)): (None, True) for end in wanted})


@pytest.fixture
def sessions(monkeypatch):
    """The servers that candidates were loaded on, in turn; and what is done at the n-th, in the thread of that candidate."""
    usual, lock = evaluate.measured_rows, threading.Lock()

    class Sessions(list):
        def __init__(self):
            super().__init__()
            self.acts = {}

        def __call__(self, what, fraction):
            if what.startswith(LOADING):
                with lock:
                    self.append(what.removeprefix(LOADING))
                    place = len(self)
                self.acts.get(place, lambda server: None)(self[place - 1])

    seen = Sessions()

    def measured_rows(workload, asked, how, **store):
        return usual(workload, asked, dataclasses.replace(how, progress=seen), **store)

    monkeypatch.setattr(evaluate, "measured_rows", measured_rows)
    return seen


@pytest.mark.long
def test_a_server_is_killed_and_one_comes_back_and_each_candidate_is_measured_once(
    park, small, sessions, tmp_path, tell
):
    before = park.with_servers(2)
    overheard = Overheard(dataclasses.replace(park.tracker, priority=7))
    back = threading.Thread(target=park.with_servers, args=(2,))

    def kill(server):
        park.kill(server)
        back.start()

    # the last ones wait until the farm is whole again
    sessions.acts = {3: kill, 6: lambda server: back.join(60)}
    space = of_different_programs()
    run = prepared(small, space, options=TuneOptions(remote=overheard.tracker, log=tmp_path / "log", **QUICK))
    found = run.run()
    overheard.close()
    assert found.table["status"].tolist() == ["ok"] * 8, found.table["reason"].tolist()
    assert found.table["number"].tolist() == list(range(8))
    assert found.table["checked"].all()
    assert found.table["like"].isna().all()
    assert len(sessions) == 9, "8 candidates, of which the killed server's was tried again"
    assert set(sessions[:2]) == set(before), "two at once"
    new = set(park.offered()) - set(before)
    assert len(new) == 1
    assert new <= set(sessions), "the server that came was used"
    asked = [message for message in overheard.messages if message[0] == REQUEST]
    assert len(asked) >= 9
    assert all(message[1:] == ["board", "", 7] for message in asked), (
        "each with its key and the priority that was given"
    )
    tell(f"{len(asked)} requests to the tracker for 8 candidates, one server of two killed and one brought back")

    again = prepared(small, space, options=TuneOptions(remote=park.tracker, log=tmp_path / "log", **QUICK))
    assert again.run().trials == found.trials
    assert len(sessions) == 9


@pytest.mark.long
def test_the_last_server_goes_and_the_search_waits_until_there_is_one(park, small, sessions):
    first, *others = park.with_servers(1)
    for server in others:
        park.kill(server)
    sessions.acts = {2: park.kill}
    run = prepared(
        small, of_different_programs(2), options=TuneOptions(remote=park.tracker, budget=300, **QUICK)
    ).start()
    deadline = time.monotonic() + 120
    while run.doing != "Waiting for a device" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert run.doing == "Waiting for a device"
    assert len(run.trials) == 1
    park.with_servers(1)
    assert run.wait(120)
    assert [trial.status for trial in run.result().trials] == ["ok"] * 4
    assert first not in sessions[2:]


@pytest.mark.long
def test_pause_begins_no_new_one_and_stop_gives_up_those_under_way(park, small, sessions, tmp_path):
    park.with_servers(2)
    held = threading.Event()
    sessions.acts = dict.fromkeys((3, 4), lambda server: held.wait(60))
    run = prepared(
        small, of_different_programs(), options=TuneOptions(remote=park.tracker, log=tmp_path / "log", **QUICK)
    ).start()
    deadline = time.monotonic() + 60
    while not (len(sessions) == 4 and run.doing.startswith("Trials ")) and time.monotonic() < deadline:
        time.sleep(0.02)
    # which two of the four are held depends on which of the first two was done sooner
    assert (len(sessions), len(run.doing.partition(":")[0].split(","))) == (4, 2)
    run.pause()
    held.set()
    while len(run.trials) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not run.wait(1)
    assert run.status == "paused"
    assert len(sessions) == len(run.trials) == 4
    sessions.acts = dict.fromkeys((5, 6), lambda server: run.stop())
    run.resume()
    assert run.wait(60)
    assert run.status == "stopped"
    assert [trial.number for trial in run.trials] == [0, 1, 2, 3]
    # a server of today's TVM stops listening when its client ends in the midst of a message: _serving raises for the exit code
    park.with_servers(2)
    rest = prepared(
        small, of_different_programs(), options=TuneOptions(remote=park.tracker, log=tmp_path / "log", **QUICK)
    ).run()
    assert len({trial.key for trial in rest.trials}) == len(rest.trials) == 8
    assert all(trial.ok for trial in rest.trials)


def test_a_key_that_nobody_offers_ends_the_run_at_once_with_those_there_are(park, small):
    park.with_servers(1)
    with pytest.raises(NoServer, match=r"no server offers the key 'nothing' .*it has 'board'"):
        wb.tune(small, remote=dataclasses.replace(park.tracker, key="nothing"), **QUICK)


@pytest.mark.long
def test_of_two_users_of_one_server_the_one_with_the_higher_priority_is_served_first(park, small, sessions):
    """Both have a candidate waiting while a third user has the only server."""
    from tvm import rpc

    _first, *others = park.with_servers(1)
    for server in others:
        park.kill(server)
    overheard = [Overheard(dataclasses.replace(park.tracker, priority=priority)) for priority in (1, 9)]
    lent = park.tracker.lent(10)
    holder = rpc.connect(lent.host, lent.port, lent.match)
    ended = []
    runs = []
    for each in overheard:
        runs.append(prepared(small, wb.Space(), options=TuneOptions(remote=each.tracker, **QUICK)))
        runs[-1].listen(lambda run: ended.append(run) if run.trials and run not in ended else None)
        runs[-1].start()
        deadline = time.monotonic() + 60
        while not any(message[0] == REQUEST for message in each.messages) and time.monotonic() < deadline:
            time.sleep(0.02)
    del holder
    assert all(run.wait(120) for run in runs)
    assert [run.result().best.status for run in ended] == ["ok", "ok"]
    assert ended == [runs[1], runs[0]]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed.*", "ignore::DeprecationWarning:dask.*")
def test_builds_of_a_farm_run_on_dask(park, small, sessions):
    distributed = pytest.importorskip("distributed", reason="Dask is in the main environment only (the extra `dev`)")
    park.with_servers(2)
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        executor = client.get_executor()
        space = of_different_programs(2)
        found = wb.tune(small, space, remote=park.tracker, executor=executor, **QUICK)
        here = wb.tune(small, space, trials=2, executor=executor, **QUICK)
    assert found.table["status"].tolist() == ["ok"] * 4, found.table["reason"].tolist()
    assert len(sessions) == 4
    assert here.table["status"].tolist() == ["ok"] * 2, here.table["reason"].tolist()
    assert here.table["kernels"].tolist() == found.table["kernels"].tolist()[:2]
