"""Fifty jobs, two hundred readers, and a server that is killed four times."""

import asyncio
import time

import gateway
from chance import chance
from harness import PROGRAM, case, check, equal
from weather import Storm

KILLS = 4
DEMO = [PROGRAM, "demo-agent"]


async def kill_at_times(storm, random):
    for _ in range(KILLS):
        await asyncio.sleep(random.uniform(1, 3))
        await asyncio.to_thread(storm.server.kill)
        await asyncio.sleep(random.choice([0, random.uniform(0, 0.5)]))
        await asyncio.to_thread(storm.server.start)


async def blow(storm):
    jobs = ([(f"pull-{i}", "pull") for i in range(25)] +
            [(f"twice-{i}", "twice") for i in range(12)] + [(f"often-{i}", "often") for i in range(13)])
    storm.random.shuffle(jobs)
    submits = []
    for job, agent in jobs:
        late = storm.random.uniform(0, 9) if storm.random.random() < 0.3 else 0
        if job in ("twice-0", "twice-1", "twice-2", "twice-3"):
            late = storm.random.uniform(6, 10)  # when most kills are over: some shall live
        submits.append(asyncio.create_task(storm.submit(job, agent, late, (5, 11))))
    await asyncio.sleep(0)  # they note their jobs
    storm.start_workers("pull", 25)
    readers = storm.start_readers(200)
    await asyncio.gather(*submits, kill_at_times(storm, chance("kills")))
    rows = await storm.all_final(90)
    await asyncio.wait_for(asyncio.gather(*readers), 60)
    return rows, await storm.read_all()


@case
def fifty_jobs_two_hundred_readers_and_kill_9():
    began = time.monotonic()
    agents = {"pull": {"pull": True, "lease": "60s", "attempts": 1},
              "twice": {"command": DEMO, "attempts": 2, "concurrency": 25},
              "often": {"command": DEMO, "attempts": KILLS + 2, "concurrency": 25}}
    with gateway.Server("--access-log", "off", agents=agents, port=gateway.fixed_port()) as server:
        storm = Storm(server, "storm")
        try:
            rows, whole = asyncio.run(blow(storm))
            storm.stop_workers()
        finally:
            storm.end_workers()
        equal(set(rows), set(storm.inputs), "the jobs")
        storm.check_readers(whole)
        for job, row in rows.items():
            agent = storm.agents[job]
            if agent == "twice" and row["state"] == "failed":
                check(row["error"] and row["attempt"] == 2, f"a failure with its reason: {row}")
            else:
                equal(row["state"], "succeeded", f"{row}")
            storm.check_job(job, row, whole)
        pull = [j for j in rows if storm.agents[j] == "pull"]
        equal([rows[j]["attempt"] for j in pull], [1] * 25, "attempts of jobs whose workers live through the kills")
        for job in pull[:5]:
            storm.check_content(job, whole)
        storm.check_no_processes()
        seconds = time.monotonic() - began
        print(f"     {storm.summary(rows)}, {seconds:.0f} s")
        check(seconds < 180, f"it took {seconds:.0f} s")  # 50 on a machine that is not busy
