"""Ten jobs, forty readers, one graceful restart: for the thread sanitizer."""

import asyncio
import os

import gateway
from harness import PROGRAM, case, equal
from weather import Storm

SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.supp")


async def blow(storm):
    submits = [asyncio.create_task(storm.submit(f"{agent}-{i}", agent, 0, (5, 10)))
               for agent in ("pull", "exec") for i in range(5)]
    await asyncio.sleep(0)
    storm.start_workers("pull", 5)
    readers = storm.start_readers(40)
    await asyncio.gather(*submits)
    await asyncio.sleep(storm.random.uniform(1, 4))
    await asyncio.to_thread(storm.server.restart)
    rows = await storm.all_final(90)
    await asyncio.wait_for(asyncio.gather(*readers), 60)
    return rows, await storm.read_all()


@case
def ten_jobs_forty_readers_and_the_thread_sanitizer():
    agents = {"pull": {"pull": True}, "exec": {"command": [PROGRAM, "demo-agent"], "attempts": 3}}
    env = {"TSAN_OPTIONS": f"suppressions={SUPPRESSIONS} report_signal_unsafe=1 halt_on_error=0"}
    with gateway.Server("--access-log", "off", "--shutdown-window", "2s", agents=agents, env=env,
                        port=gateway.fixed_port()) as server:
        storm = Storm(server, "small storm")
        try:
            rows, whole = asyncio.run(blow(storm))
            storm.stop_workers()
        finally:
            storm.end_workers()
        storm.check_readers(whole)
        for job, row in rows.items():
            equal(row["state"], "succeeded", f"{row}")
            storm.check_job(job, row, whole)
        print(f"     {storm.summary(rows)}")
        server.terminate()  # and looks for reports
