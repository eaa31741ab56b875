"""A finding's remedies, carried out in a private namespace: the rule falls silent, undoing brings it back."""

import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.probes.system.firewall.firewalld import CONF
from tests.needs import NET_NAMESPACE, need, not_here, program

pytestmark = [pytest.mark.real]
RULESETS = Path(__file__).parents[2] / "fixtures" / "rulesets" / "with"
LOADS = {
    "nft": f"sed s/firewalld/mine/ {RULESETS}/firewalld-1.3.nft | nft -f -",
    "firewalld's table": f"nft -f {RULESETS}/firewalld-1.3.nft",
    "nixos": f"nft -f {RULESETS}/nixos.nft",
    "ip6tables": "ip6tables-nft -t mangle -A PREROUTING -m rpfilter --validmark --invert -j DROP",
    "narrowed": f"nft -f {RULESETS}/plain-narrowed.nft",
    "a port, an exception, a log": (
        "nft 'table inet mine { chain pre { type filter hook prerouting priority -150; }; }';"
        " nft add rule inet mine pre iifname wg0 accept;"
        " nft 'add rule inet mine pre udp dport 53 fib saddr oif missing counter"
        """ log prefix "no way" drop comment "x"'"""
    ),
    "before connection tracking": (
        "nft 'table ip6 mine { chain pre { type filter hook prerouting priority -300; }; }';"
        " nft 'add rule ip6 mine pre icmpv6 type { nd-router-advert, nd-neighbor-solicit } accept';"
        """ nft 'add rule ip6 mine pre iifname "eth1" fib saddr . iif oif missing log prefix "it is" drop'"""
    ),
    "ip6tables, one interface": (
        "ip6tables-nft -t mangle -A PREROUTING -i lo -j ACCEPT;"
        " ip6tables-nft -t mangle -A PREROUTING -i eth1 -m comment --comment 'mine too' -m rpfilter --invert -j DROP"
    ),
    "legacy": "ip6tables-legacy -t raw -A PREROUTING -m rpfilter --invert -j DROP",
}
INSIDE = r"""
import shutil, subprocess, sys
from pathlib import Path
from hostdx.probes.reading.host import Host
from hostdx.scenarios.rpfilter.rules import check_loaded_reverse_path_rules

own, load = sys.argv[1], sys.argv[2]
assert str(Path("/proc/self/ns/net").readlink()) != own, "this is the namespace of the tests"

def sh(line):
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout

def carry_out(lines):
    handle = ""
    for line in lines:
        said = sh(line.replace("HANDLE", handle).replace("NUMBER", handle))
        for listed in said.splitlines() if "--line-numbers" in line else ():
            if "rpfilter" in listed:
                handle = listed.split()[0]
        for listed in said.splitlines() if " -a list chain" in line else ():
            if "fib saddr" in listed or "ct state established" in listed:
                handle = listed.rsplit("handle", 1)[1].strip()
                break

sh(load)
listing = ("nft --stateless list ruleset", "ip6tables-save -t mangle", "ip6tables-legacy-save -t raw")
there = [command for command in listing if shutil.which(command.split()[0])]
def rules():
    lines = [x for command in there for x in sh(command).splitlines() if not x.startswith((":", "#"))]
    return [x for x in lines if "fib" in x or "accept" in x or "-A" in x]

was = rules()
(before,) = check_loaded_reverse_path_rules(Host())
remedy = before.remedy[0]
carry_out(remedy.commands)
assert list(check_loaded_reverse_path_rules(Host())) == [], "the remedy changed nothing"
for line in remedy.verify:
    subprocess.run(["sh", "-c", line], capture_output=True)
carry_out(remedy.undo)
(after,) = check_loaded_reverse_path_rules(Host())
assert after.evidence[0] == before.evidence[0], "undoing did not bring it back"
assert rules() == was, (was, rules())
print("done")
"""


@pytest.mark.parametrize("form", LOADS)
def test_a_remedy_works_and_can_be_undone(form: str) -> None:
    loaders = {"ip6tables-nft", "ip6tables-legacy", "ip6tables-save"} if "ip6tables" in LOADS[form] else ()
    need(program("nft", *sorted(loaders)), NET_NAMESPACE)
    if form == "firewalld's table" and Path(CONF).exists():
        not_here("firewalld is configured here: the remedy would be its own, and change this host")
    namespace = str(Path("/proc/self/ns/net").readlink())
    script = [sys.executable, "-c", INSIDE, namespace, LOADS[form]]
    done = subprocess.run(
        ["unshare", "--net", "--", *script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
