"""Devices behind TVM's own tracker: its processes run here, on loopback."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from rpc_park import LOADING

import workbench as wb
from workbench.errors import MeasureError, NoServer
from workbench.measurement.row import COLUMNS

pytestmark = pytest.mark.one_dialect


class Watch:
    """A progress that remembers which server each row went to, and may do something when it is the n-th."""

    def __init__(self, when=0, act=lambda server: None):
        self.servers, self.when, self.act = [], when, act
        self.lock = threading.Lock()

    def __call__(self, what, fraction):
        if what.startswith(LOADING):
            with self.lock:
                self.servers.append(what.removeprefix(LOADING))
                if len(self.servers) == self.when:
                    self.act(self.servers[-1])


def test_rows_are_measured_on_both_servers_and_one_that_dies_halfway_loses_none(park, small, tell):
    before = park.with_servers(2)
    watch = Watch(3, park.kill)
    rows = wb.measure(small, [0, 1, 2, 3], budget=0.02, remote=park.tracker, progress=watch)
    assert list(rows["status"]) == ["ok"] * 4, list(rows["message"])
    assert list(rows["config"]) == ["opt 0", "opt 1", "opt 2", "opt 3"]
    assert list(rows["check"]) == ["ok"] * 4
    assert set(watch.servers) == set(before), "several devices at once"
    killed = watch.servers[2]
    assert len(watch.servers) > 4, "the row of the killed server was tried again"
    assert park.offered() == [server for server in before if server != killed]
    tell(f"{len(watch.servers)} sessions for 4 rows on 2 servers, of which one was killed")

    assert list(rows.columns) == list(COLUMNS)
    assert list(rows["remote"]) == [str(park.tracker)] * 4
    assert set(rows["server"]) <= set(before)
    assert (rows["median_us"] > 0).all()
    assert (rows["threads"] >= 1).all()
    assert rows["cpu"].isna().all(), "a server does not tell its CPU, and it is not said to be this one"
    assert list(rows["target"]) == ["llvm -mcpu=generic"] * 4

    here = wb.measure(small, [3], ["llvm -mcpu=generic"], budget=0.02).iloc[0]
    assert here["kernels"] == rows["kernels"].iloc[3]
    assert here["machine"] not in set(rows["machine"])
    assert set(wb.history(small, everywhere=True)["machine"]) >= {here["machine"], *rows["machine"]}
    assert not set(wb.history(small)["machine"]) & set(rows["machine"])


@pytest.mark.long
def test_kernels_one_by_one_cannot_be_timed_there_and_it_says_so(park, small):
    park.with_servers(1)
    row = wb.measure(small, [3], budget=0.02, per_kernel=True, remote=park.tracker).iloc[0]
    assert row["per_kernel"] is None
    assert "TVM's RPC" in row["kernel_method"]
    assert row["status"] == "ok"


def test_a_row_that_fails_there_gives_the_device_back(park, small):
    park.with_servers(1)
    rows = wb.measure(small, [3], ["cuda -arch=sm_80", "cuda", "llvm"], budget=0.02, remote=park.tracker)
    assert list(rows["status"]) == ["not measured", "failed", "ok"]
    assert "has no cuda device" in rows["message"].iloc[0]
    assert rows["kernels"].iloc[0] > 0
    assert "write the architecture" in rows["message"].iloc[1]


def test_a_key_that_nobody_offers_is_an_error_that_names_those_there_are(park, small):
    park.with_servers(1)
    with pytest.raises(MeasureError, match=r"no server offers the key 'nothing' .*it has 'board'"):
        wb.measure(small, [0], remote=dataclasses.replace(park.tracker, key="nothing"))


@pytest.mark.long
def test_a_session_that_takes_too_long_is_ended_by_the_server_and_said(park, small):
    from workbench.jobs.remote import at_device

    park.with_servers(1)

    def for_ever(session):
        while True:
            session.remote.get_function("runtime.NumThreads")()

    with pytest.raises(MeasureError, match="ended the session after 1 s"):
        at_device(dataclasses.replace(park.tracker, session_timeout=1), for_ever, wait=30, progress=lambda what: None)


@pytest.mark.long
def test_what_is_cancelled_is_a_row_and_the_device_is_free_again(park, small):
    park.with_servers(1)
    asked = []
    rows = wb.measure(
        small, [0, 3], budget=0.02, remote=park.tracker, cancelled=lambda: len(asked) > 0 or asked.append(1)
    )
    assert list(rows["status"]) == ["cancelled"] * 2
    assert wb.measure(small, [3], budget=0.02, remote=park.tracker)["status"].iloc[0] == "ok"


@pytest.mark.long
def test_the_last_server_gone_is_said_for_each_row_that_is_left(park, small):
    first, *others = park.with_servers(1)
    for server in others:
        park.kill(server)
    assert park.offered() == [first]
    rows = wb.measure(small, [0, 3], budget=0.02, remote=park.tracker, check=False, progress=Watch(1, park.kill))
    assert list(rows["status"]) == ["no server"] * 2
    assert all("no server offers the key" in message for message in rows["message"])


@pytest.mark.long
def test_a_race_runs_both_on_one_device_in_turn(park, small, tell):
    park.with_servers(1)
    loading = []
    raced = wb.race(small, 0, 3, budget=0.3, remote=park.tracker, progress=lambda what, fraction: loading.append(what))
    assert raced.rounds >= 10
    assert raced.target == "llvm -mcpu=generic"
    assert raced.low <= raced.ratio <= raced.high
    assert any(what == f"Racing on {server}" for what in loading for server in park.offered())
    assert not raced.note, "both outputs were checked"
    tell(f"on a device: {raced}")
    with pytest.raises(MeasureError, match="write the architecture"):
        wb.race(small, 0, 3, "cuda", remote=park.tracker)
    with pytest.raises(NoServer, match="no server offers the key 'nothing'"):
        wb.race(small, 0, 3, remote=dataclasses.replace(park.tracker, key="nothing"))
