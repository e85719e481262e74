"""The compile cache by itself: one compiles, the others wait, the oldest goes first."""

import asyncio
import contextlib
from pathlib import Path

from sandbox.cache import ArtifactCache
from sandbox.jobs import Compiled


def _compiled(size: int = 10) -> Compiled:
    return Compiled("ok", "main", 0, b"", b"", 0.1, 0.1, size)


async def test_only_the_first_to_ask_compiles_and_the_others_get_its_result(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, 1000)
    claims = []

    async def ask() -> Compiled | None:
        with cache.use("key") as (entry, first):
            claims.append(first)
            if first:
                await asyncio.sleep(0.01)
                cache.fill("key", entry, _compiled())
            return await entry.result

    results = await asyncio.gather(*(ask() for _ in range(5)))
    assert claims == [True, False, False, False, False]
    assert len(set(map(id, results))) == 1
    assert cache.size_bytes == 10


async def test_when_whoever_compiles_gives_up_the_others_are_told_and_the_next_may_try(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, 1000)

    async def wait() -> Compiled | None:
        with cache.use("key") as (entry, first):
            assert not first
            return await entry.result

    with contextlib.suppress(RuntimeError), cache.use("key") as (_, first):
        assert first
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        raise RuntimeError
    assert await waiting is None
    with cache.use("key") as (_, first):
        assert first


async def test_what_is_kept_stays_under_its_key_whoever_fills_it_and_however_small_the_cache(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, 0)
    with cache.keep("key"):
        with contextlib.suppress(RuntimeError), cache.use("key"):
            raise RuntimeError
        for first_now in (True, False):
            with cache.use("key") as (entry, first):
                assert first == first_now
                cache.fill("key", entry, _compiled())
        assert cache.size_bytes == 10
    assert cache.size_bytes == 0
    with cache.use("key") as (_, first):
        assert first


async def test_the_least_recently_used_goes_first_and_what_is_in_use_stays(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, 25)
    with cache.use("held") as (held, _):
        held.folder.mkdir()
        cache.fill("held", held, _compiled())
        for key in ("old", "new"):
            with cache.use(key) as (entry, _):
                entry.folder.mkdir()
                cache.fill(key, entry, _compiled())
        assert held.folder.exists()
        assert len(list(tmp_path.iterdir())) == 2
        with cache.use("new") as (entry, _):
            assert entry.result.done()
