"""An adaptive cluster of up to two workers, which prints how many there are whenever that changes."""

import time

from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit=0,
                      worker_dashboard_address=None, silence_logs=50) as local:
        local.adapt(minimum=0, maximum=2, interval="200ms", wait_count=3, target_duration="200ms")
        print("at", local.scheduler_address, flush=True)
        before = None
        while True:
            now = len(local.scheduler.workers)
            if now != before:
                print("workers", now, flush=True)
            before = now
            time.sleep(0.05)
