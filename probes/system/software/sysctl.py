"""The kernel settings under /proc/sys that are known to change how fast a host is."""

from probes.host import Host
from probes.types import Absent

# Documentation/admin-guide/sysctl/ and Documentation/networking/ip-sysctl.rst. Names as sysctl(8) has them.
SPEED = """
    kernel.numa_balancing kernel.sched_autogroup_enabled kernel.sched_rt_runtime_us
    kernel.sched_min_granularity_ns kernel.sched_wakeup_granularity_ns kernel.sched_migration_cost_ns
    kernel.nmi_watchdog kernel.watchdog kernel.randomize_va_space kernel.perf_event_paranoid
    kernel.unprivileged_bpf_disabled kernel.timer_migration kernel.pid_max kernel.threads-max
    kernel.io_uring_disabled vm.swappiness vm.dirty_ratio vm.dirty_background_ratio vm.dirty_bytes
    vm.dirty_background_bytes vm.dirty_expire_centisecs vm.dirty_writeback_centisecs vm.vfs_cache_pressure
    vm.zone_reclaim_mode vm.overcommit_memory vm.min_free_kbytes vm.watermark_scale_factor vm.max_map_count
    vm.nr_hugepages vm.compaction_proactiveness vm.page-cluster vm.stat_interval fs.aio-max-nr fs.file-max
    fs.protected_hardlinks fs.protected_symlinks fs.inotify.max_user_watches net.core.rmem_max net.core.wmem_max
    net.core.rmem_default net.core.wmem_default net.core.netdev_max_backlog net.core.netdev_budget
    net.core.netdev_budget_usecs net.core.somaxconn net.core.default_qdisc net.core.busy_poll net.core.busy_read
    net.core.bpf_jit_enable net.core.bpf_jit_harden net.ipv4.tcp_rmem net.ipv4.tcp_wmem
    net.ipv4.tcp_congestion_control net.ipv4.tcp_timestamps net.ipv4.tcp_sack net.ipv4.tcp_mtu_probing
    net.ipv4.tcp_window_scaling net.ipv4.tcp_fastopen net.ipv4.tcp_autocorking
    net.ipv4.tcp_slow_start_after_idle net.ipv4.conf.all.rp_filter net.ipv4.ip_forward
    net.netfilter.nf_conntrack_max
""".split()  # noqa: SIM905


def path_of(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")


def speed_settings(host: Host) -> dict[str, str | Absent]:
    """By name; one that this kernel does not have is left out, one that may not be read is absent."""
    found: dict[str, str | Absent] = {}
    for name in SPEED:
        value = host.text(path_of(name), 4096)
        if isinstance(value, Absent):
            if value.kind not in ("missing", "captured"):
                found[name] = value
        else:
            found[name] = " ".join(value.split())
    return found
