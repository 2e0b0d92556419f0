import asyncio

from support import run

from spoolwire.spool import Spool


def lines(n, size=10):
    return [f"{i:0{size}}".encode() for i in range(n)]


async def drained(spool):
    got = []
    while not spool.empty():
        got += spool.take(35, 100)
    return got


def test_lines_come_out_as_they_went_in():
    async def main():
        spool = Spool()
        for line in lines(20):
            await spool.put(line)
        assert spool.take(35, 100) == lines(3)
        assert spool.take(1000, 2) == lines(5)[3:]
        assert await drained(spool) == lines(20)[5:]
    run(main())


def test_a_line_that_is_larger_than_a_batch_is_a_batch():
    async def main():
        spool = Spool()
        await spool.put(b"x" * 100)
        assert spool.take(35, 100) == [b"x" * 100]
    run(main())


def test_what_memory_does_not_hold_goes_through_a_file(tmp_path):
    async def main():
        spool = Spool(memory=50, folder=str(tmp_path))
        got = []
        for i, line in enumerate(lines(60)):
            await asyncio.wait_for(spool.put(line), 1)
            if i == 20:
                got += spool.take(35, 100)
        got += await drained(spool)
        assert got == lines(60)
        await spool.put(b"again")
        assert await drained(spool) == [b"again"]
        spool.close()
    run(main())


def test_without_room_a_writer_waits_for_the_reader():
    async def main():
        spool = Spool(memory=30)
        for line in lines(3):
            await spool.put(line)
        blocked = asyncio.ensure_future(spool.put(b"late"))
        await asyncio.sleep(0)
        assert not blocked.done()
        assert spool.take(35, 100) == lines(3)
        await asyncio.wait_for(blocked, 1)
        assert await drained(spool) == [b"late"]
    run(main())


def test_who_cannot_wait_is_not_refused():
    async def main():
        spool = Spool(memory=30)
        for line in lines(9):
            spool.put_now(line)
        assert await drained(spool) == lines(9)
    run(main())
