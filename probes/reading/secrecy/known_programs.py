"""The one table of programs: which options of theirs take a secret, which take none, which start another program.

A program that stands here has a known place for each secret, so its plain words elsewhere say what runs.
"""

# ruff: noqa: SIM905
import re
from collections.abc import Sequence
from typing import NamedTuple


class Takes(NamedTuple):
    """`word` holds the secret itself, `value` where the word before is `option`; it begins behind their first group."""

    word: str = "(?!)"
    option: str = "(?!)"
    value: str = "()(?!-).+"


_ATTACHED = Takes(word="(-p).+")
_TAKES_SECRETS: tuple[tuple[str, Takes], ...] = (
    ("mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlpump mysqlslap mysqlsh", _ATTACHED),
    ("mariadb mariadb-dump mariadb-admin mariadb-import mariadb-check 7z 7za 7zz", _ATTACHED),
    ("rar unrar", Takes("(-h?p).+")),
    ("sshpass mongo mongodump mongorestore mongostat mycli youtube-dl yt-dlp", Takes("(-p).+", "-p")),
    ("docker:login podman:login buildah:login skopeo:login oc:login az:login", Takes("(-p).+", "-p")),
    (
        "curl",
        Takes(
            "(-[uU][^:]+:|--(?:proxy-)?user=[^:]+:|-b[^=]+=|--cookie=[^=]+=).+",
            r"-\w*[uU]|--(?:proxy-)?user|-b|--cookie|-E|--cert",
            "([^:=]*[:=]).+",
        ),
    ),
    ("http https xh", Takes("(-a[^:]+:|--auth=[^:]+:).+", "-a|--auth", "([^:]*:).+")),
    ("smbclient smbget rpcclient", Takes("(-U[^%]+%|--user=[^%]+%).+", "-U|--user", "([^%]*%).+")),
    ("redis-cli valkey-cli", Takes("(-a).+", "(?i:-a|auth)")),
    ("redis-benchmark valkey-benchmark", Takes("(-a).+", "-a")),
    (
        "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare ldapmodrdn ldapexop ldapvi",
        Takes("(-[wsa]).+", "-[wsa]"),
    ),
    ("ipmitool", Takes("(-[PKky]).+", "-[PKky]")),
    ("sqlcmd bcp tsql zip unzip osql", Takes("(-P).+", "-P")),
    # FreeIPMI
    (
        "ipmipower ipmi-power ipmi-sensors ipmi-sel ipmi-fru ipmi-chassis ipmi-raw ipmi-oem ipmi-dcmi ipmiconsole "
        "bmc-config bmc-info ipmi-config",
        Takes("(-[pk]).+", "-[pk]"),
    ),
    (
        "racadm ilorest redfishtool sum wsman cqlsh beeline",
        Takes("(-p).{5,}", "-p"),
    ),
    (
        "fence_ipmilan fence_idrac fence_ilo fence_ilo4 fence_ilo5 fence_apc fence_apc_snmp fence_drac5 fence_redfish",
        Takes("(-p).+", "-p"),
    ),
    (
        "mydumper cypher-shell hammer esxcli twine helm uemcli condor_store_cred dcache rabbitmqadmin openfortivpn "
        "ncftpput ncftpget pcs couchbase-cli cbbackupmgr ipa-server-install mongosh kpwd check_mysql check_pgsql "
        "check_ldap smbmap",
        Takes(option="-p"),
    ),
    ("kdb5_util mosquitto_pub mosquitto_sub knife check_ipmi_sensor check_ldap", Takes(option="-P")),
    ("vsql kadmin dsconf dsidm ldapvi", Takes(option="-w")),
    ("slappasswd", Takes(option="-s")),
    ("ss-server ss-local keepassxc-cli nuget", Takes(option="-k")),
    ("nvme", Takes(option="-[sSC]|--dhchap-(?:ctrl-)?secret", value="()(?!-)(?=.*[A-Za-z]).{8,}")),
    ("frpc zerotier-cli", Takes("(-T).+", "-t")),
    ("gitlab-runner", Takes(option="-(?:r|-registration-token)")),
    ("ceph rbd rados ceph-fuse", Takes("(--key=).+", "--key")),
    ("swaks", Takes(option="-ap")),
    ("sedutil-cli", Takes("()(?!-)(?!/)(?!(?:on|off|RW|RO|LK|Y|N)$)(?=.*[A-Za-z]).+|()[0-9]{4,}")),
    ("hdparm", Takes(option="--security-(?:unlock|set-pass|disable|erase(?:-enhanced)?)")),
    ("vault:operator", Takes(option="unseal")),
    (
        "bw:unlock cargo:login ngrok:authtoken rclone:obscure neo4j-admin:set-initial-password",
        Takes("()(?!-).+"),
    ),
    ("bw:login", Takes("()(?!-)(?!.*@).+")),
    ("radtest", Takes("()(?!-)(?=.*[A-Za-z!#$%^&*?~])(?=.*[\\d!#$%^&*?~]).{6,}")),
    ("kaggle", Takes(option="-v")),
    ("az aws", Takes(option="--value|--secret-string")),
    ("mosquitto_passwd", Takes("()(?!-)(?!/)(?=.*[A-Za-z])(?=.*[\\d\\W]).{6,}")),
    ("swift", Takes(option="-K")),
    ("doctl", Takes(option="-t")),
    ("sendemail", Takes(option="-xp")),
    ("snmpget snmpwalk snmpbulkwalk snmptable snmpset snmpgetnext snmptrap", Takes("(-[AXc]).+", "-[AXc]")),
    ("keytool jarsigner", Takes(option="-(?:store|key|new|src|dest|srcstore|deststore|srckey|destkey)pass")),
    ("openssl", Takes(option="-(?:passin|passout|pass|k|K|password|macopt|srp_pass|psk)")),
    ("ssh-keygen", Takes(option="-[NP]")),
    ("xfreerdp wlfreerdp", Takes("(/p:).+")),
    ("x11vnc vncviewer rdesktop", Takes(option="-(?:passwd|p|password)")),
    ("useradd usermod", Takes(option="-p|--password")),
    ("wpa_passphrase mkpasswd", Takes("()(?!-).{8,}")),
    ("net winexe wmic", Takes("(-U[^%]+%|--user=[^%]+%).+", "-U|--user", "([^%]*%).+")),
    ("lftp", Takes("(-u[^,]+,).+", "-u", "([^,]*,).+")),
    ("sqlplus rman expdp impdp exp imp sqlldr", Takes(r"((?:userid=)?[\w$#]+/)(?:[^/@\s]+|\".*\")(?:@\S+)?")),
    ("etcdctl", Takes("(--user=[^:]+:).+", "--user", "([^:]*:).+")),
    ("vault:login", Takes(r"()(?!-)(?!\w+=[^=]).+")),
    ("kubectl oc", Takes("(--from-literal=[^=]+=).+", "--from-literal", "([^=]*=).+")),
    ("iscsiadm", Takes("(--value=).+", "-v|--value")),
    ("htpasswd", Takes(word=r"()(?!-)(?!/)(?=.*[A-Za-z])(?=.*[\d\W]).{6,}")),
    ("rucio", Takes(option="-pwd|--pwd")),
    ("ssh scp sftp rsync", Takes()),  # behind sshpass, with a port
    ("oathtool", Takes("()(?!-)[A-Z2-7]{8,}=*")),
    ("dsmadmc dsmc", Takes("(-pa(?:ssword)?=).+", "-pa(?:ssword)?")),
    ("psql pg_dump pg_dumpall pg_restore pg_basebackup pgbench createdb sqlite3 clickhouse-client", Takes()),
    ("bareos-fd bareos-sd bareos-dir bacula-fd bacula-sd bacula-dir", Takes(option="-p")),
    ("arcproxy", Takes(option="-p")),
    ("rclone", Takes()),
    ("cvmfs_server", Takes(option="-t")),
    ("influx", Takes(option="-t|--token")),
    ("ip ansible ansible-playbook storcli storcli64 perccli64 MegaCli64 ssacli arcconf", Takes()),
    ("mount mount.cifs mount.nfs mount.lustre cryptsetup losetup dmsetup multipath lvm hostdx", Takes()),
)
_BY_NAME = {name: takes for names, takes in _TAKES_SECRETS for name in names.split()}
TAKING_SECRETS = tuple(name.partition(":")[0] for name, takes in _BY_NAME.items() if takes != Takes())

# File and disk tools, network tests, batch systems' queries, file systems, science, daemons: none has an option for a
# secret.
WITHOUT_SECRETS = frozenset(
    "ls cp mv rm ln du df stat touch mkdir rmdir chmod chown chgrp tar xz gzip gunzip bzip2 zstd pigz pbzip2 lz4 "
    "cpio sort uniq wc cut tr split shuf tee cat less more tail head md5sum sha1sum sha256sum sha512sum adler32 "
    "cksum xxhsum b3sum dd find locate updatedb sync rsyncd vim vi nano emacs diff cmp patch file which readlink "
    "dirname make ninja gcc g++ cc1 cc1plus as ld ar gfortran f951 cmake ctest ccache distcc meson bazel nvcc clang "
    "clang++ rustc javac gdb valgrind pytest Rscript R ffmpeg ffprobe grep egrep fgrep rg awk gawk mawk sed "
    "jupyter sbatch qsub bsub condor_submit mmlsquota mmapplypolicy cmsDriver.py fio ior mdtest mdworkbench io500 "
    "iozone bonnie++ dbench sysbench stress stress-ng iperf3 iperf netperf netserver qperf ib_write_bw ib_read_bw "
    "ib_send_bw ib_write_lat ib_read_lat osu_bw osu_latency osu_bibw osu_allreduce hpcg xhpl hpl stream stream_c "
    "hepscore hs23 elbencho vdbench filebench ping ping6 fping tracepath traceroute mtr ethtool ss netstat arp "
    "tcpdump tc bridge nft iptables lspci lscpu lsblk lsusb lsmod modprobe modinfo lsof fuser ps pgrep pkill kill "
    "killall top htop atop iostat vmstat sar sadc sadf pidstat mpstat dstat numastat turbostat cpupower tuned-adm "
    "tuned free uptime uname who w last date sleep watch perf strace ltrace bpftrace blktrace blkparse btrace "
    "ftrace trace-cmd smartctl smartd nvidia-smi nvidia-persistenced dcgmi nv-hostengine rocm-smi amd-smi zpool zfs "
    "zed zdb lctl lfs lnetctl llstat mmfsd mmlsfs mmdiag mmlscluster mmgetstate mmfsadm mmlsdisk mmlsmount mmchfs "
    "mmcrsnapshot mmrestripefs xfs_repair xfs_db xfs_fsr xfs_growfs xfs_quota mkfs mkfs.xfs mkfs.ext4 mkfs.btrfs "
    "fsck fsck.ext4 fsck.xfs e2fsck e4defrag tune2fs resize2fs dumpe2fs debugfs xfs_info btrfs mdadm lvcreate lvs "
    "lvextend lvremove lvconvert lvchange vgs vgcreate vgchange pvs pvcreate pvmove fstrim blkdiscard badblocks "
    "parted sgdisk partprobe wipefs sg_inq sg_readcap sg_ses sg_format lsscsi multipathd mtx mt umount swapon "
    "swapoff sinfo squeue sacct salloc sprio sshare sstat sreport scancel scontrol sdiag condor_q condor_status "
    "condor_rm condor_master condor_startd condor_starter condor_schedd condor_shadow condor_negotiator "
    "condor_collector condor_history condor_hold condor_release condor_ssh_to_job condor_ce_q condor_ce_status "
    "condor_gpu_discovery condor_token_list condor_procd condor_who qstat qdel qhold pbsnodes bjobs bkill bhosts "
    "bqueues slurmd slurmctld slurmdbd slurmstepd pbs_mom pbs_server sge_execd lsf cvmfs2 cvmfs_config "
    "cvmfs_swissknife journalctl systemctl systemd-analyze systemd-cgtop systemd-cgls loginctl dmesg root root.exe "
    "hadd athena.py cmsRun gmx gmx_mpi lmp lammps lmp_mpi namd2 namd3 pw.x cp.x vasp vasp_std cp2k cp2k.psmp nwchem "
    "orca siesta dalton gamess g16 octopus abinit wrf.exe real.exe simpleFoam pimpleFoam snappyHexMesh decomposePar "
    "blockMesh foamRun mdrun matlab octave julia blastn blastp bwa samtools bcftools STAR salmon hisat2 bowtie2 "
    "gatk fastqc snakemake nextflow nginx httpd apache2 haproxy squid varnishd unbound named dnsmasq chronyd ntpd "
    "postgres postmaster mysqld mariadbd mongod redis-sentinel etcd conmon containerd containerd-shim "
    "containerd-shim-runc-v2 runc crun dockerd kubelet kube-proxy kube-scheduler kube-apiserver "
    "kube-controller-manager starter-suid starter ceph-osd ceph-mon ceph-mds ceph-mgr radosgw ceph-volume glusterd "
    "glusterfsd glusterfs gluster beegfs-ctl beegfs-storage beegfs-meta beegfs-mgmtd beegfs-helperd beegfs-df "
    "beegfs-fsck orangefs pvfs2-server ganesha.nfsd rpc.nfsd rpc.mountd rpc.statd rpc.gssd exportfs showmount "
    "nfsstat nfsiostat mountstats xrootd cmsd frm_xfrd frm_purged xrdfs xrdcp xrdadler32 xrdmapc gfal-ls gfal-sum "
    "gfal-stat gfal-copy gfal-rm gfal-mkdir gfal-xattr davix-get davix-ls davix-put globus-gridftp-server "
    "fts_server fts_url_copy fts-transfer-status storm-webdav cta-taped cta-frontend cta-rmcd eos eosd eosxd pnfs "
    "arched gm-jobs a-rex-backend-wrapper bdii bdii-update slapd sshd crond cron atd rsyslogd auditd irqbalance "
    "rngd systemd-journald systemd-udevd systemd-logind systemd-networkd systemd-resolved systemd-timesyncd systemd "
    "dbus-daemon dbus-broker polkitd lldpd snmpd snmptrapd gmond gmetad collectd telegraf node_exporter prometheus "
    "alertmanager grafana grafana-server influxd carbon-cache elasticsearch filebeat metricbeat logstash "
    "zabbix_agentd zabbix_agent2 zabbix_server nrpe icinga2 nagios mcelog rasdaemon opensm ibacm ibstat "
    "ibstatus ibnetdiscover ibdiagnet perfquery iblinkinfo ibqueryerrors mlxlink mlxconfig mlxfwmanager mst "
    "keepalived corosync pacemakerd crm_mon drbdadm drbdsetup amandad "
    "runpilot2-wrapper.sh pilot.py Reco_tf.py AtlasG4_tf.py Sim_tf.py Gen_tf.py Derivation_tf.py runTheMatrix.py "
    "dirac-wms-job-status dirac-dms-lfn-replicas rucio-conveyor-poller rucio-judge-evaluator crab lb-run alien.py "
    "aliroot o2-sim gaudirun.py hostname tput stty clear env printenv id groups getfacl setfacl getfattr quota "
    "repquota setquota edquota xfsdump xfsrestore dump restore lsattr chattr namei tree pv nethogs iftop "
    "iotop nmon powertop automount rpcbind rpc.idmapd munged nslcd sssd sssd_be sssd_nss krb5kdc kadmind dhcpd "
    "xinetd cupsd ypbind Xorg gunicorn uvicorn uwsgi celery php-fpm jupyter-lab jupyter-notebook "
    "jupyterhub jupyterhub-singleuser dask-worker dask-scheduler ray torchrun deepspeed accelerate vllm tensorboard "
    "mlflow gsutil duplicity rdiff-backup rsnapshot dsmcad amdump voms-proxy-info grid-proxy-info arcstat arcls "
    "arcget arcsub glite-ce-job-status srmcp srmls dpm-qryconf lfc-ls condor_ping condor_config_val "
    "condor_submit_dag condor_dagman condor_wait condor_drain condor_userprio condor_tail condor_ssh_start ldmsd "
    "pmcd pmlogger collectl ganglia mpiexec.hydra hydra_pmi_proxy hydra_bstrap_proxy orted prted pmix ucx_info "
    "fi_info fi_pingpong nccl-tests all_reduce_perf all_gather_perf gpu_burn gpu-burn bandwidthTest "
    "dcgmproftester12 likwid-perfctr likwid-bench likwid-pin lstopo hwloc-bind memhog mlc mbw sparse linpack hpcc "
    "graph500 nas mprime prime95 cyclictest rteval hackbench schbench unixbench UnixBench geekbench7 7zr "
    "openssl-speed fs_mark postmark smallfile compilebench dbt2 blogbench ioping ioblazer diskspd seeker lmdd sg_dd "
    "ddrescue ddpt gdisk fdisk sfdisk cfdisk blkid blockdev findmnt lsns lslocks lsipc ipcs ipcrm sysctl udevadm "
    "dracut grubby grub2-mkconfig kdumpctl makedumpfile crash vmcore-dmesg abrtd sosreport sos tuna irqtop rdma "
    "devlink dcb ibv_devinfo ibv_rc_pingpong rping rstream mstflint opafmconf opainfo hfi1_control show_gids "
    "nvidia-cuda-mps-control nvidia-cuda-mps-server nvidia-modprobe nsys ncu nsight-sys rocprof vtune advixe-cl "
    "amplxe-cl scorep scalasca tau_exec hpcrun extrae paraver darshan-parser darshan-job-summary.pl recorder-viz "
    "iostat-cli ceph-fuse-top crushtool osdmaptool monmaptool ceph-bluestore-tool ceph-objectstore-tool "
    "ceph-kvstore-tool ceph-conf ceph-crash radosgw-admin-top lnet mkfs.lustre tunefs.lustre llobdstat lustre_rmmod "
    "l_getidentity obdfilter-survey ost-survey sgpdd-survey lshowmount mmbackup mmgetacl mmlsattr mmlspool mmlsnsd "
    "mmpmon mmperfmon mmhealth mmsysmon mmccrmonitor tsapolicy nsdperf gpfsperf sas2ircu sas3ircu sas3flash "
    "nvme-cli".split()
)
# The words right behind these name a command of theirs and what it is about.
WITH_SUBCOMMANDS = frozenset(
    "ceph rados rbd kubectl oc docker podman git hdfs hadoop yarn conda mamba pip pip3 restic borg puppet helm npm "
    "cargo go dnf yum apt apt-get zypper spack module apptainer singularity virsh nvme hostnamectl timedatectl gmx "
    "rclone nmcli sacctmgr crictl ctr nerdctl nomad terraform salt salt-call systemd-run".split()
)
# Programs that start another one, each with those of its options whose value is a word of its own.
_ANY_OPTION = r"-.*"
_OPTIONS_WITH_VALUE = {
    "srun": _ANY_OPTION, "mpirun": _ANY_OPTION, "mpiexec": _ANY_OPTION, "orterun": _ANY_OPTION,
    "aprun": _ANY_OPTION, "prun": _ANY_OPTION, "jsrun": _ANY_OPTION, "flux": _ANY_OPTION, "perf": _ANY_OPTION,
    "nice": "-n", "ionice": "-[cnp]", "taskset": "", "numactl": "-[CNmilp]",
    "timeout": "-[sk]|--signal|--kill-after", "time": "-[fo]", "setsid": "", "nohup": "", "stdbuf": "-[ioe]",
    "chrt": "-[TPD]", "strace": "-[eopsSPEUauI]", "ltrace": "-[eopsuaAnlF]", "xargs": "-[IEnPdLasi]",
    "env": "-[uCS]", "sudo": "-[ugUhCpDRTrt]", "watch": "-[nq]", "systemd-inhibit": "", "catchsegv": "",
    "valgrind": "", "gdb": "-[xpcd]", "unshare": "", "nsenter": "-[tSG]", "conda": "-[np]|--name|--prefix",
    "ssh": "-[iopLRDlFJWbcemOQSwEIB]", "pdsh": "-[wxglRftu]", "clush": "-[wxgXlft]", "python": "-[mWXc]",
    "perl": "-[IMe]", "bash": "-[oOc]", "sh": "-[oc]", "zsh": "-[oc]", "ruby": "-[Ire]", "php": "-[cdfr]",
    "node": "-[re]",
}  # fmt: skip
LAUNCHERS = frozenset(_OPTIONS_WITH_VALUE) - {
    "ssh",
    "python",
    "perl",
    "bash",
    "sh",
    "zsh",
    "ruby",
    "php",
    "node",
    "sudo",
}
_BEHIND_A_HOST = frozenset(("ssh",))
# What these are given behind the option is a text of code, whose names of functions and tables say what runs.
CODE_OPTIONS = {
    "python": "-c", "perl": "-[ep]*e", "ruby": "-e", "node": "-e", "psql": "-c|--command",
    "mysql": "-e|--execute", "mariadb": "-e|--execute", "sqlite3": "", "root": "",
    "clickhouse-client": "-q|--query", "julia": "-e", "octave": "--eval", "Rscript": "-e", "R": "-e",
    "matlab": "-r|-batch", "sqlcmd": "-[qQ]", "awk": "", "mongosh": "--eval", "mongo": "--eval",
}  # fmt: skip
KNOWN_PROGRAMS = WITHOUT_SECRETS | {name for name in _BY_NAME if ":" not in name} | {"ssh", "java"}
SEPARATORS = frozenset(
    ["|", "||", "&&", ";", "&", ">", ">>", "<", "2>&1", "--", "{", "}", "(", ")", "[", "]", "!"]
)
WHERE_PROGRAMS_START = re.compile(r"[;|&\n(`]+")
_BETWEEN = re.compile(r"[;|&\n]+")
_ASSIGNMENT = re.compile(r"-{0,2}[A-Za-z][\w./:-]*=(?!=?$).+", re.DOTALL)
_SHELL = frozenset(("do", "then", "else", "while", "if"))
_TWO_WORDS = re.compile(r"--?g?mca|-genv")  # options with a name and a value
_STARTED = re.compile(r"[\w./+~$-]+")
_VERSION = re.compile(r"[\d.]+$")  # python3.11


class Place(NamedTuple):
    """Where a word stands: the program that it is given to ("" of none), how many words behind it; 0: the program."""

    program: str
    behind: int


def find_places(words: Sequence[str]) -> list[Place]:
    """Return the place of each word of a command line, as far as the launchers' options are known."""
    places: list[Place] = []
    program, behind, hosts, earlier, before = "", 0, False, "", ""
    for word in words:
        behind += 1
        if word in SEPARATORS or word in _SHELL or WHERE_PROGRAMS_START.fullmatch(word):
            is_redirection = word.startswith((">", "<", "2")) or word in ("--", "{", "}", "[", "]", "!")
            program, behind = (program, behind) if is_redirection else ("", 0)
            places.append(Place(program, max(behind, 1)))
        elif not program and not word.startswith("-") and not _ASSIGNMENT.fullmatch(word):
            program, behind = program_name(word), 0
            hosts = program in _BEHIND_A_HOST
            places.append(Place(program, 0))
        elif not _TWO_WORDS.fullmatch(earlier) and _is_program_behind(word, before, program):
            if hosts:
                hosts = False
                places.append(Place(program, behind))
            else:
                program, behind = program_name(word), 0
                hosts = program in _BEHIND_A_HOST
                places.append(Place(program, 0))
        else:
            places.append(Place(program, behind))
            if program == "python" and before == "-m":
                program = word
        earlier, before = before, word
    return places


def program_name(word: str) -> str:
    """Return the name of a program without its folder; `python` for each version of it."""
    name = re.split(r"[/(`]", word)[-1].removesuffix(":")
    return "python" if name.startswith("python") and _VERSION.sub("", name) == "python" else name


def _is_program_behind(word: str, before: str, program: str) -> bool:
    """True of the word that a launcher starts: no option, no number, no assignment, and no option's value."""
    with_value = _OPTIONS_WITH_VALUE.get(program)
    if with_value is None or word.startswith("-") or word[:1].isdigit() or not _STARTED.fullmatch(word):
        return False
    is_value = before.startswith("-") and "=" not in before and re.fullmatch(with_value, before) is not None
    is_clear = word.startswith(("./", "/")) or program_name(word) in WITHOUT_SECRETS
    return not is_value or (with_value == _ANY_OPTION and is_clear)


def find_secret_starts(words: Sequence[str]) -> list[int | None]:
    """For each word of a command where the secret in it begins; None where none is known."""
    starts: list[int | None] = []
    takes, before = Takes(), ""
    for word in words:
        name = word.rpartition("/")[2]
        secret = re.fullmatch(takes.word, word, re.DOTALL)
        if re.fullmatch(takes.option, before):
            secret = re.fullmatch(takes.value, word, re.DOTALL)
        starts.append(secret.end(1) if secret else None)
        if _BETWEEN.fullmatch(word):
            takes = Takes()
        elif secret is None:
            takes = _BY_NAME.get(f"{before.rpartition('/')[2]}:{name}") or _BY_NAME.get(name, takes)
        before = word
    return starts
