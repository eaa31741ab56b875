"""Programs whose words say what runs: those without secrets, those with subcommands, those that start others."""

# ruff: noqa: SIM905

# File and disk tools, network tests, batch systems' queries, file systems, science: none has an option for a secret.
WITHOUT_SECRETS = frozenset(
    "ls cp mv rm ln du df stat touch mkdir rmdir chmod chown tar xz gzip bzip2 zstd pigz pbzip2 lz4 sort uniq wc "
    "cat less tail head md5sum sha256sum cksum xxhsum dd find sync rsyncd vim vi nano make ninja gcc g++ cc1 "
    "cc1plus ld gfortran cmake ctest nvcc clang "
    "clang++ rustc gdb valgrind pytest Rscript ffmpeg ffprobe grep egrep "
    "fgrep awk gawk sed jupyter sbatch condor_submit mmlsquota mmapplypolicy cmsDriver.py "
    "fio ior mdtest mdworkbench io500 iozone bonnie++ dbench sysbench stress stress-ng iperf3 "
    "iperf ping tracepath traceroute mtr ethtool ip ss netstat lspci lscpu lsblk lsof ps top htop iostat vmstat sar "
    "mpstat dstat perf strace ltrace smartctl nvidia-smi dcgmi rocm-smi zpool zfs lctl lfs lnetctl mmfsd mmlsfs "
    "mmdiag mmlscluster mmgetstate xfs_repair mkfs.xfs mkfs.ext4 fsck.ext4 e2fsck tune2fs xfs_info mdadm lvcreate "
    "lvs vgs pvs fstrim blkdiscard badblocks mount umount sinfo squeue sacct salloc sprio sshare scancel sdiag "
    "condor_q condor_status condor_rm condor_master condor_startd condor_starter condor_schedd qstat bjobs slurmd "
    "slurmctld slurmstepd cvmfs2 cvmfs_config journalctl systemctl dmesg root root.exe hadd athena.py cmsRun gmx "
    "gmx_mpi lmp lammps namd2 namd3 pw.x matlab octave nginx postgres conmon ceph-osd ceph-mon ceph-mds ceph-mgr "
    "xrootd cmsd xrdfs gfal-ls gfal-sum gfal-stat".split()
)
# The word right behind these names a command of theirs; where that one is a group, so does the next.
WITH_SUBCOMMANDS = frozenset(
    "ceph rados rbd kubectl oc docker podman git hdfs hadoop yarn conda mamba pip pip3 restic borg dsmc puppet helm "
    "npm cargo go dnf yum apt apt-get zypper spack module apptainer singularity virsh nvme hostnamectl timedatectl "
    "gmx rclone xrdfs".split()
)
# Their own options are as harmless; the first word behind them is the program that they start.
LAUNCHERS = frozenset(
    "srun mpirun mpiexec orterun aprun prun jsrun nice ionice taskset numactl timeout time setsid nohup stdbuf chrt "
    "perf strace ltrace flux xargs".split()
)
