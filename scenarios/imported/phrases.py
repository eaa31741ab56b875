"""What each contradiction and trouble of an import means, by its id: how grave, what it says, what to do.

One sentence an id, made here and nowhere else; the figures come as evidence.
"""

from __future__ import annotations

from typing import NamedTuple

from scenarios.finding import Severity


class Phrase(NamedTuple):
    severity: Severity
    title: str
    advice: str = ""


CONTRADICTIONS: dict[str, Phrase] = {
    "io500.total-is-product": Phrase(
        "warning",
        "TOTAL is bandwidth × metadata score, not the square root of it",
        "Use the recomputed score when you compare with other results.",
    ),
    "io500.score": Phrase("warning", "the printed IO500 score does not follow from its phases"),
    "io500.hash": Phrase(
        "warning",
        "the score hash does not match: version, phases or score were changed after the run",
        "Ask for the original result.txt.",
    ),
    "fio.bandwidth": Phrase(
        "warning", "fio's bandwidth is not the bytes moved ÷ run time: the file was edited or damaged"
    ),
    "fio.iops": Phrase(
        "warning", "fio's IOPS are not the operations ÷ run time: the file was edited or damaged"
    ),
    "fio.all-clients": Phrase("warning", "fio's entry for all clients is not the sum of the clients"),
    "hepscore.score": Phrase("warning", "the stored HEPscore does not follow from its own runs"),
    "hepscore.workload-score": Phrase("warning", "a stored workload score lies outside its own runs"),
    "prmon.hundredfold": Phrase(
        "notice",
        "prmon's average I/O rates are 100 times too high (known of version 3.2.0); the recomputed rates are used",
        "Do not use the Avg values of I/O and network from this file.",
    ),
    "prmon.average": Phrase("warning", "prmon's average rates do not follow from its totals"),
    "prmon.other-run": Phrase(
        "warning",
        "the prmon summary is of another run than the series of the same name",
        "Import the two files separately.",
    ),
    "ior.row-is-not-max": Phrase(
        "notice", "IOR's maximum and its last row differ: the repetitions do not agree"
    ),
    "ior.max-not-in-rows": Phrase("warning", "IOR's maximum is in none of its rows"),
    "ior.bandwidth": Phrase("warning", "IOR's bandwidth is not the planned bytes ÷ total time"),
    "ior.iops": Phrase(
        "notice", "IOR's IOPS differ between table and summary (the table leaves open and close out)"
    ),
    "mdtest.mean-outside": Phrase("warning", "mdtest's mean lies outside its minimum and maximum"),
    "mdtest.rate": Phrase("warning", "mdtest's rate is not the items ÷ time of the phase"),
    "sysstat.average": Phrase(
        "warning", "the printed average lies outside the rows: rows are missing from the file"
    ),
    "iperf3.rate": Phrase("warning", "iperf3's rate is not its bytes ÷ seconds"),
    "iperf3.bytes": Phrase("warning", "iperf3's bytes are not the sum over the intervals"),
    "sysbench.rate": Phrase("warning", "sysbench's rate is not its events ÷ total time"),
    "stream.rate": Phrase("warning", "STREAM's rate is not array size ÷ least time"),
    "stress-ng.rate": Phrase("warning", "stress-ng's rate is not its operations ÷ time"),
    "unixbench.index": Phrase("warning", "UnixBench's index is not the geometric mean of its tests"),
    "darshan.histogram": Phrase(
        "notice", "Darshan's size histogram does not hold as many calls as were counted"
    ),
    "numactl.nodes": Phrase("warning", "numactl names another number of nodes than it lists"),
    "numactl.local-distance": Phrase("warning", "a node's distance to itself is not 10"),
}

TROUBLES: dict[str, Phrase] = {
    "io500.phase-invalid": Phrase("warning", "IO500 marks phases as invalid"),
    "io500.run-invalid": Phrase(
        "warning", "IO500 calls the whole run invalid: the score cannot be published"
    ),
    "io500.no-score": Phrase(
        "notice", "the file has no score line; the score was recomputed from the phases"
    ),
    "io500.phase-dropped": Phrase(
        "warning", "a phase of 0 was left out of the mean: the score is higher than with that phase"
    ),
    "io500.error-line": Phrase("notice", "IO500 wrote an error line, but does not mark the run as invalid"),
    "io500.line-broken": Phrase("warning", "result lines without a readable value were left out"),
    "io500.several-runs": Phrase("notice", "the file holds several runs; the last one was imported"),
    "fio.message": Phrase("notice", "fio printed messages beside its result"),
    "fio.interrupted": Phrase("warning", "fio was interrupted: the run is shorter than planned"),
    "fio.error": Phrase("critical", "fio reports an error: the result is not that of the whole job"),
    "fio.nothing": Phrase("critical", "fio measured nothing: no direction moved a byte"),
    "fio.options-unknown": Phrase("notice", "the file does not say block size, queue depth and pattern"),
    "fio.option-assumed": Phrase("notice", "options the file does not name have fio's default"),
    "fio.status-documents": Phrase("notice", "the file holds interim results; the last one was imported"),
    "fio.p99-below-mean": Phrase("notice", "the mean latency lies above p99: a few very long stalls"),
    "fio.summed": Phrase(
        "notice", "entries of one job were summed; their percentiles cannot be and were left out"
    ),
    "fio.left-out": Phrase(
        "notice", "the file holds more jobs than are imported one by one; totals hold all of them"
    ),
    "fio.terse-broken": Phrase("warning", "terse lines with too few fields were left out"),
    "hepscore.not-measured": Phrase(
        "critical", "no HEPscore was measured: the score is that of a failed or empty run"
    ),
    "hepscore.status": Phrase("warning", "hep-score does not call the run a success"),
    "hepscore.not-recomputed": Phrase(
        "notice", "the HEPscore could not be recomputed: values or references are missing"
    ),
    "hepscore.workload-log": Phrase("warning", "a workload's log is not ok"),
    "hepscore.workload-without-score": Phrase("warning", "a workload has no score"),
    "hepscore.runs-missing": Phrase("warning", "a workload ran less often than it should"),
    "hepscore.copies-failed": Phrase("warning", "not all copies of the workload succeeded"),
    "suite.profile-without-score": Phrase("warning", "a benchmark of the suite has no score"),
    "suite.nothing": Phrase("critical", "the suite measured nothing"),
    "prmon.malformed": Phrase("warning", "lines that are no sample were left out"),
    "prmon.time-goes-back": Phrase("warning", "the wall time goes back within the series"),
    "prmon.counter-decreases": Phrase(
        "notice", "a cumulative counter decreases: processes of the job ended between samples"
    ),
    "prmon.no-duration": Phrase("notice", "the job lasted less than a second: there are no rates"),
    "ior.runs-without-result": Phrase("warning", "IOR runs without a result were left out"),
    "ior.errors": Phrase("warning", "IOR or MPI wrote error lines"),
    "mdtest.not-computed": Phrase(
        "warning", "mdtest took time but printed a rate of 0: the rate was not computed"
    ),
    "mdtest.unfinished": Phrase("notice", "the mdtest output ends before its last line"),
    "mdtest.runs-without-result": Phrase("warning", "mdtest runs without a result were left out"),
    "darshan.partial": Phrase("warning", "Darshan ran out of memory for records: totals are lower bounds"),
    "darshan.negative-time": Phrase(
        "notice", "the log holds negative times (a fault of old releases); they were left out"
    ),
    "sysstat.since-boot": Phrase("notice", "the file holds one report only, which is the mean since boot"),
    "sysstat.restart": Phrase("notice", "the host restarted within the series"),
    "sysstat.left-out": Phrase("notice", "not all subjects were imported"),
    "iperf3.error": Phrase("warning", "iperf3 reports an error"),
    "iperf3.several-runs": Phrase("notice", "the file holds several runs; the last one was imported"),
    "iperf3.retransmits": Phrase("notice", "TCP segments were retransmitted"),
    "sysbench.errors": Phrase("notice", "sysbench ignored errors"),
    "sysbench.unfinished": Phrase("warning", "sysbench runs without their statistics were left out"),
    "stream.not-validated": Phrase("warning", "STREAM did not validate its result"),
    "stress-ng.nothing-done": Phrase("warning", "a stressor did no operation"),
    "perf.multiplexed": Phrase("notice", "counters shared the hardware: their counts are scaled estimates"),
    "perf.bad-lines": Phrase("warning", "lines that are no JSON were left out"),
    "unixbench.partial": Phrase("notice", "UnixBench ran a part of its tests only"),
    "import.not-dated": Phrase(
        "notice", "not every result has a date: the order given is taken for the order of time"
    ),
    "import.left-out": Phrase("notice", "the file has more workloads than a recording holds"),
    "import.several-hosts": Phrase("notice", "the results are of several hosts: no trend was looked for"),
}

UNKNOWN = Phrase("notice", "the file contradicts itself")
