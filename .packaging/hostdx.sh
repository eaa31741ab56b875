#!/bin/sh
# hostdx as the distribution's packages have it: a private tree, any Python that it has compiled parts for.
tree=${0%/bin/hostdx}/lib/hostdx
[ -d "$tree" ] || tree=/usr/lib/hostdx
export HOSTDX_STARTED_AS="$0"
for version in 3.14 3.13 3.12 3.11; do
  if [ -x "/usr/bin/python$version" ]; then
    exec "/usr/bin/python$version" -I "$tree/hostdx/probes/children/start.py" hostdx.app.cli "$@"
  fi
done
echo "hostdx: needs Python 3.11, 3.12, 3.13 or 3.14 in /usr/bin, and there is none; install python3.12" >&2
exit 3
