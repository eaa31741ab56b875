"""A fleet on this machine: an `ssh` that is a shell here, and a small program in the bundle's place."""

import io
import json
import os
import sys
import zipfile
from pathlib import Path

SSH = """#!/bin/sh
# ssh [OPTION]... NODE COMMAND: by its name a node hangs, refuses, talks rubbish or without end, says at once what
# one does (light), or is this machine
for word; do node=$command; command=$word; done
echo "$node" >> "${0%/*}/log"
case $node in
    proxy*) sleep 600 & echo $! >> "${0%/*}/proxy"; exec sleep 600 ;;
    hang*) exec sleep 600 ;;
    mute*) echo $$ >> "${0%/*}/mute"; exec >&- 2>&-; exec sleep 600 ;;
    gone*) echo "ssh: connect to host $node port 22: No route to host" >&2; exit 255 ;;
    deny*) echo "$node: Permission denied (publickey)." >&2; exit 255 ;;
    rubbish*) echo '#hostdx-fleet {"shell":1}'; echo '#hostdx-fleet {nonsense'; exit 0 ;;
    flood*) exec yes ;;
    zeros*) exec cat /dev/zero ;;
    light*) for word in '"shell":1' '"hello":1,"python":"PYTHON"' '"began":1' '' '"exit":0'; do
        if [ "$word" ]; then echo "#hostdx-fleet {$word}"; else echo 'TRIAGE'; fi; done; exit 0 ;;
esac
NODE=$node exec sh -c "$command"
"""
# `plan` and `run` of a scenario `fake`, or the recordings in prepared/NODE-ROUND.jsonl, and `triage`; a
# node `old…` has another value, `other…` another plan by then
PROGRAM = """
import json, os, signal, sys, time
from pathlib import Path
node, words = os.environ["NODE"], sys.argv[1:]
digest = "0123456789abcdef"
if words[0] == "triage":
    print(json.dumps({"schema": "hostdx/1", "scenario": "triage", "status": "done", "facts": {"host name": node}}))
elif words[0] == "plan":
    action = {"kind": "attribute", "title": "switch", "target": "/sys/x", "new": "b", "consent": True}
    action["old"] = "c" if node.startswith("old") else "a"
    actions = [action] if node.startswith(("old", "ask")) else []
    print(json.dumps({"scenario": words[1], "title": "", "question": "", "actions": actions, "digest": digest,
                      "shares": ["nfs:/x (nfs4)"] if node.startswith("share") else []}))
elif prepared := sorted(Path(PLACE, "prepared").glob(node + "-*.jsonl")):
    text = prepared[0].read_text()  # a round takes the next one
    prepared[0].unlink()
    sys.stdout.write(text)
else:
    def tell(**event):
        os.write(1, json.dumps(event).encode() + b"\\n")
    def end(status, code, reason=None):
        tell(type="end", t=1.0, status=status, reason=reason, exit=code)
        os._exit(code)
    signal.signal(signal.SIGINT, lambda *_: end("interrupted", 130, "told-by-node"))
    tell(type="run", t=0.0, schema="hostdx/1", version="0", scenario=words[1], command=words, host=node, wall="",
         seed=1, pid=1, pid_start=1, boot_id="")
    if "--consent=" + digest not in words or node.startswith("other"):
        end("skipped", 3, "the plan is now another one")
    if node.startswith("held"):
        end("skipped", 3, "another run measures on this host: already running: pid 7")
    while node.startswith("slow"):
        tell(type="note", t=0.5, text="at work")
        time.sleep(0.05)
    end("done", 0)
"""


class FakeFleet:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.ssh = place / "ssh"
        python = f"cp3{sys.version_info[1]}{sys.abiflags}-{os.uname().machine}"
        triage = json.dumps({"schema": "hostdx/1", "scenario": "triage", "status": "done", "facts": {}})
        self.ssh.write_text(SSH.replace("PYTHON", python).replace("TRIAGE", triage))
        self.ssh.chmod(0o755)
        self.bundle = place / "hostdx.pyz"
        bytes_i_o = io.BytesIO()
        with zipfile.ZipFile(bytes_i_o, "w") as archive:
            archive.writestr("__main__.py", f"PLACE = {str(place)!r}\n{PROGRAM}")
            archive.writestr("manifest.json", f'{{"parts": {{"{python}": {{}}}}}}')
        self.bundle.write_bytes(bytes_i_o.getvalue())

    def vendor_names(self) -> list[str]:
        """The nodes, in the order of the connections."""
        log = self.place / "log"
        return log.read_text().split() if log.exists() else []
