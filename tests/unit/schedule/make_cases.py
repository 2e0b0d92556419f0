#!/usr/bin/env python3
"""Writes cron_cases.tsv, with the Python package croniter (pip install croniter==6.2.4).

A line is: expression, zone, start in seconds since 1970, then the next four ticks; or `invalid`
when croniter refuses the expression, or fewer ticks and `never`.
"""
import itertools
import random
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, croniter

COMMON = """
* * * * *|*/5 * * * *|0 * * * *|30 2 * * *|0 9 * * 1-5|0 0 1 * *|0 0 1 1 *|15 14 1 * *|0 22 * * 1-5|23 0-20/2 * * *
5 4 * * sun|0 0 29 2 *|0 0 31 * *|0 0 l * *|0 0 L * *|0 0 15,L * *|0 0 * * l5|0 0 * * L1|0 0 * * fri#2|0 0 * * 1#5
0 0 * * mon#1,mon#3|0 0 * * mon-fri#1|0 0 15w * *|0 0 1W * *|0 0 w31 * *|0 12 15w * mon|0 0 13 * fri|0 0 13 * fri#2|0 0 1-7 * mon
0 0 */2 * mon|0 0 1-31 * mon|0 0 ? * 0-6|0 0 1 * 0-6|0 0 ? * ?|0 0 * * 7|0 0 * * 0-7|0 0 * * 5-7|0 0 * * fri-mon|0 0 * * sat-sun/2
0 0 1 nov-feb *|0 0 1 apr-jan/3 *|0 0 1 oct-mar/2 *|50-10 * * * *|50-10/7 * * * *|5-5 * * * *|5-5/10 * * * *|10/20 * * * *|3/7 1/5 * * *
0 0 1 jan-jan *|0 0 * jan,mar,DEC TUE|*,5 * * * *|0-59 0-23 1-31 1-12 0-6|0 2 * * *|30 1 * * *|0 1,2,3 * * *|*/30 1-3 * * *|30 * * * *|0 */2 * * *
15 1 * * *|0 3 * * *|59 23 * * *|0 0 * 3 0|30 2 l 3 *|30 2 29 3 sun|45 1 25 10 *|0 0 28-l * *|*/15 0-6,22-23 * * 1,3,5|0 0 30 2 *
@hourly|@daily|@midnight|@weekly|@monthly|@yearly|@annually|@Daily
* * * * * *|* * * * * */15|30 2 * * * 15|0 0 * * * 10-5/20|0 0 0 * * 0|* * * * * 59|0 12 * * * 0 2030|0 0 1 1 * 0 2027-2031/2|0 0 1 1 * 0 */10|0 0 1 1 * 0 *
0 0 29 2 * 0 2028-2040|0 0 1 1 * 0 2020|*/20 * * * * 5,10 2026-2027|0 0 0-5 * * 0
""".replace("\n", "|").strip("|").split("|")

WRONG = """
|*|* * * *|60 * * * *|* 24 * * *|* * 0 * *|* * 32 * *|* * * 0 *|* * * 13 *|* * * * 8|*/0 * * * *|5-10/0 * * * *|-5 * * * *|5- * * * *
1,,2 * * * *|, * * * *|a * * * *|* * * foo *|* * * * monday|? * * * *|* ? * * *|* * 1,? * *|* * * * ?,1|1-2-3 * * * *|*/5/2 * * * *|*5 * * * *
* * * * 5#0|* * * * 5#6|* * * * 1-5#1|* * * * 1,fri#2|* * * * l|* * * * 5l|* * l5 * *|* * 15w,1 * *|* * 1,15w * *|* * 0w * *|* * 32w * *|* * w * *
* * * * * 60|* * * * 7 0|* * * * * 0 1969|* * * * * 0 2100|* * * * * 0 2026 1|@never|@daily x|1.5 * * * *|+5 * * * *|*/-5 * * * *|* * l/2 * *|* * l-5 * *
0-60 * * * *|* 5-24 * * *|* * 0-5 * *|* * * 0-5 *|mon * * * *|* * * mon *|* * * * jan|99999999999999999999 * * * *|*/x * * * *|5/ * * * *|/5 * * * *
""".replace("\n", "|").strip("|").split("|")

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata",
         "America/St_Johns", "America/Santiago", "Europe/Dublin"]
# Around changes of clocks, ends of months and years; the far future, for which only the zones' rules count.
STARTS = ["2026-03-28T23:30:15", "2026-03-29T00:59:59", "2026-10-24T23:10:00", "2026-10-25T00:15:00", "2026-10-25T01:05:00",
          "2026-03-08T06:30:00", "2026-11-01T05:10:00", "2026-11-01T06:30:00", "2026-12-31T23:59:30", "2028-02-28T12:00:00",
          "2026-04-04T14:40:00", "2026-10-03T15:20:00", "2045-03-25T22:00:00", "2045-10-28T23:45:00", "2026-11-17T10:00:00"]


def ticks(expression, zone, start):
    if not croniter.is_valid(expression):
        return "invalid"
    it = croniter(expression, datetime.fromtimestamp(start, timezone.utc).astimezone(ZoneInfo(zone)))
    found = []
    try:
        for _ in range(4):
            found.append(str(int(it.get_next(datetime).timestamp())))
    except CroniterBadDateError:
        found.append("never")
    return "\t".join(found)


def main():
    rng = random.Random(17)
    starts = [int(datetime.fromisoformat(s + "+00:00").timestamp()) for s in STARTS]
    cases = [(e, "UTC", starts[-1]) for e in COMMON + WRONG]
    pairs = list(itertools.product(COMMON, ZONES[1:], starts))
    cases += rng.sample(pairs, 700)
    with open("cron_cases.tsv", "w") as out:
        for expression, zone, start in cases:
            out.write(f"{expression}\t{zone}\t{start}\t{ticks(expression, zone, start)}\n")


main()
