"""Snapshots in a key-value store: whole or not at all, one run a site, nobody else's store."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING, Any

from tests.apify.home import ActorRun, Home, pages
from tests.apify.test_delivery import expected
from tests.world import Site, World, index, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    import pytest

    from sitemon_spider.apify.record import Records


def in_a_store(folder: Path, work: Callable[[Records, Any], Awaitable[None]]) -> None:
    """Work on a fresh store of the SDK's local storage."""
    from crawlee.configuration import Configuration
    from crawlee.storage_clients import FileSystemStorageClient
    from crawlee.storages import KeyValueStore

    from sitemon_spider.apify.record import Records

    async def main() -> None:
        configuration = Configuration(storage_dir=str(folder), purge_on_start=False)
        store = await KeyValueStore.open(
            name="test", configuration=configuration, storage_client=FileSystemStorageClient()
        )
        await work(Records(store), store)

    asyncio.run(main())


def test_a_large_record_is_split_and_comes_back_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The platform limits a record; parts are no keys of their own, and go with their head."""
    monkeypatch.setattr("sitemon_spider.apify.record.MAX_RECORD", 100)

    async def work(records: Records, store: Any) -> None:
        for data in (bytes(range(250)), b"x" * 100, b"y" * 101, b""):
            await records.put("a.s.1", data)
            assert await records.get("a.s.1") == data
            assert await records.keys("a.") == ["a.s.1"]
        await records.put("a.s.1", b"z" * 1000)
        names = [key.key async for key in store.iterate_keys()]
        assert len(names) == 1 + 10
        await records.delete("a.s.1")
        assert [key.key async for key in store.iterate_keys()] == []

    in_a_store(tmp_path, work)


def test_a_record_that_is_not_whole_is_damaged_not_missing(tmp_path: Path) -> None:
    """[D7]: one wrong byte, a cut, a lost part, or other content is never taken for valid."""

    async def work(records: Records, store: Any) -> None:
        await records.put("a", b"content")
        whole = await store.get_value("a")
        for broken in (whole[:-1], whole + b"!", whole.replace(b"content", b"contemt"), b"", b"{}"):
            await store.set_value("a", broken, content_type="application/octet-stream")
            assert await records.get("a") == b""
        await store.set_value("a", {"json": 1})
        assert await records.get("a") == b""
        assert await records.get("b") is None

    in_a_store(tmp_path, work)


def test_a_foreign_store_is_not_touched(site: Site, tmp_path: Path) -> None:
    """The first record names the owner; what is not ours is neither read nor written."""
    home = Home(tmp_path, sites=[site.url])
    folder = home.storage / "key_value_stores/sitemon-default"
    folder.mkdir(parents=True)
    (folder / "theirs").write_bytes(b"something")
    (folder / "theirs.__metadata__.json").write_text(
        json.dumps({"key": "theirs", "content_type": "text/plain", "size": 9})
    )
    run = home.run()
    assert run.exit_code == 1
    assert "sitemon-default holds something else" in run.message
    assert run.rows == []
    assert set(home.store()) == {"theirs"}
    assert home.run(monitor="other").exit_code == 0


def test_a_damaged_manifest_is_left_alone(site: Site, home: Home) -> None:
    """[D7]: the site fails and says the way out; startOver begins anew."""
    (path,) = [path for key, path in home.store().items() if key.endswith(".manifest")]
    damaged = path.read_bytes().replace(b'"generation":1', b'"generation":7')
    path.write_bytes(damaged)
    run = home.run()
    assert (run.site["status"], run.site["errorType"]) == ("failed", "snapshot_damaged")
    assert run.exit_code == 1
    assert path.read_bytes() == damaged
    again = home.run(startOver=True)
    assert (again.site["status"], again.site["baseline"]) == ("ok", "created")


def test_old_generations_and_their_segments_are_dropped(site: Site, tmp_path: Path) -> None:
    """[D7]: the last generations that are kept, the segments that they need, and nothing else."""
    home = Home(tmp_path, sites=[site.url])
    for day in range(5):
        site.serve(pages(day + 2))
        home.run(env={"SITEMON_TEST_KEPT": "3"})
    (manifest,) = [key for key in home.store() if key.endswith(".manifest")]
    names = [key.removeprefix(manifest.removesuffix("manifest")) for key in home.store()]
    assert sorted(n for n in names if n.startswith("g0")) == [f"g{n:08}" for n in (3, 4, 5)]
    assert len([n for n in names if n.startswith("s.")]) == 3


def test_of_two_runs_on_one_site_one_wins(site: Site, home: Home, tmp_path: Path) -> None:
    """[D6]: the lease is read back after two seconds; the loser is `locked` and leaves nothing."""
    site.serve(pages(5) | {"/robots.txt": robots(["/s.xml"]).but(delay=3.0)})
    before = len(site.requests)
    first = home.start(env={"SITEMON_TEST_LEASE": "real"}, run_id="first")
    deadline = time.monotonic() + 20
    while not any(request.target == "/robots.txt" for request in site.requests[before:]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (tmp_path / "other/storage/key_value_stores").mkdir(parents=True)
    other = Home(tmp_path / "other", sites=[site.url])
    (other.storage / "key_value_stores/sitemon-default").symlink_to(
        home.storage / "key_value_stores/sitemon-default"
    )
    loser = other.run(run_id="second")
    assert (loser.site["status"], loser.site["errorType"]) == ("skipped", "locked")
    assert loser.told() == []
    first.join(30)
    winner = home.left(first)
    assert winner.told() == expected(site, 3, 5)
    assert other.run(run_id="third").site["status"] == "ok"  # the lease ended with its run


def test_a_lease_taken_at_the_same_time_is_seen_when_it_is_read_back(
    site: Site, home: Home
) -> None:
    """[D6]: both saw no lease and wrote one; the run whose lease was written over leaves nothing."""
    site.serve(pages(5) | {"/robots.txt": robots(["/s.xml"]).but(delay=1.0)})
    (path,) = [path for key, path in home.store().items() if key.endswith(".lease")]
    before, process = path.read_bytes(), home.start()
    deadline = time.monotonic() + 20
    while path.read_bytes() == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    path.write_bytes(before)
    process.join(30)
    run = home.left(process)
    assert (run.site["status"], run.site["errorType"], run.told()) == ("skipped", "locked", [])
    assert home.run().told() == expected(site, 3, 5)


def test_a_snapshot_saved_by_another_run_is_noticed(site: Site, home: Home) -> None:
    """[D6]: a commit replaces the manifest that was compared with, or none."""
    site.serve(pages(5))
    (path,) = [path for key, path in home.store().items() if key.endswith(".manifest")]

    def meddle() -> None:
        while not any(".prepared" in key for key in home.store()):
            time.sleep(0.001)
        path.write_bytes(path.read_bytes() + b" ")

    thread = threading.Thread(target=meddle, daemon=True)
    thread.start()
    run: ActorRun = home.run()
    thread.join(5)
    assert (run.site["status"], run.site["errorType"]) == ("partial", "locked")


def test_200_000_urls_fit_into_512_mb(tmp_path: Path) -> None:
    """A site at the default limit, first read and then changed, in the smallest memory."""
    files = {
        f"/s{n}.xml": urlset([(f"/p/{n}/{i:06}", "2026-09-01") for i in range(50_000)])
        for n in range(4)
    }
    tree = {"/robots.txt": robots(["/i.xml"]), "/i.xml": index(list(files)), **files}
    with World(Site(tree)) as world:
        site = world.sites[0]
        home = Home(tmp_path, sites=[site.url])
        home.run()
        site.set("/s0.xml", urlset([(f"/p/0/{i:06}", "2026-09-01") for i in range(100, 50_100)]))
        run = home.run()
        assert (run.site["urlsFound"], run.site["added"]) == (200_000, 100)
        assert run.peak_mb < 512
