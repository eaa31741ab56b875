"""Files of settings that rules read: a capture keeps what they set, and no secret of theirs."""

from hostdx.probes.reading.secrecy.redaction import strip_secrets
from tests.every_case import assert_each

SECRET = "S3cret77"
SECRETS = (
    ("/var/lib/iscsi/nodes/x/y/default", "node.session.auth.password_in = {}\n"),
    ("/etc/keepalived/keepalived.conf", "authentication {{\n auth_type PASS\n auth_pass {}\n}}\n"),
    ("/etc/libvirt/qemu/a.xml", "<graphics type='vnc' port='-1' passwd='{}'/>\n"),
    ("/etc/NetworkManager/system-connections/w.nmconnection", "[wifi-security]\nkey-mgmt=wpa-psk\npsk={}\n"),
    ("/etc/NetworkManager/system-connections/x.nmconnection", "[wireguard]\nprivate-key={}\n"),
    ("/etc/netplan/a.yaml", 'wifis:\n  wl0:\n    access-points:\n      "home":\n        password: "{}"\n'),
    ("/etc/netplan/b.yaml", "tunnels:\n  wg0:\n    key: {}=\n"),
    ("/etc/netplan/c.yaml", "tunnels:\n  wg0:\n    keys: {{private: {}}}\n"),
    ("/etc/network/interfaces", "iface wlan0 inet dhcp\n wpa-psk {}\n"),
    ("/etc/sysconfig/network-scripts/ifcfg-w", "KEY={}\n"),
    ("/etc/slurm/slurm.conf", "AccountingStoragePass={}\n"),
    ("/etc/fstab", "//srv/share /mnt cifs user=joe,password={},vers=3 0 0\n"),
    ("/etc/rsyslog.conf", 'action(type="ommysql" server="db" uid="u" pwd="{}")\n'),
    ("/etc/rsyslog.d/a.conf", "*.* :ommysql:db,name,user,{}\n"),
    ("/etc/corosync/corosync.conf", "totem {{\n key: {}\n}}\n"),
    ("/etc/containerd/config.toml", '  auth = "{}"\n  identitytoken = "{}"\n'),
    ("/etc/postgresql/15/main/postgresql.conf", "primary_conninfo = 'host=a password={}'\n"),
    ("/etc/postgresql/16/main/postgresql.conf", "ssl_passphrase_command = 'echo {}'\n"),
    ("/etc/proftpd/proftpd.conf", "SQLConnectInfo db@host user {}\n"),
    ("/var/lib/pgsql/data/log/a.log", "STATEMENT:  CREATE ROLE joe LOGIN PASSWORD '{}'\n"),
)
SETTINGS = (
    ("/etc/nsswitch.conf", "passwd: files sss\n"),
    ("/etc/samba/smb.conf", "passwd program = /usr/bin/passwd %u\nunix password sync = yes\n"),
    ("/etc/chrony.conf", "server a iburst key 1\nkeyfile /etc/chrony.keys\n"),
    ("/etc/multipath.conf", "defaults {\n reservation_key 0x123abc\n}\n"),
    (
        "/etc/postgresql/15/main/postgresql.conf",
        "password_encryption = scram-sha-256\nmax_connections = 100\n",
    ),
    ("/etc/sysconfig/network-scripts/ifcfg-eth0", "KEY_MGMT=WPA-PSK\nIPV6_PRIVACY=no\n"),
    ("/etc/sysctl.d/x.conf", "kernel.keys.maxkeys = 200\n"),
    ("/etc/systemd/journald.conf", "PassCred=no\nKeepFree=1G\n"),
    ("/etc/slurm/slurm.conf", "AuthType=auth/munge\nTaskPlugin=task/cgroup\n"),
)


def test_a_secret_of_a_file_is_not_kept() -> None:
    def check(case: tuple[str, str]) -> None:
        path, form = case
        assert SECRET not in (strip_secrets(path, form.format(SECRET, SECRET)) or "")

    assert_each(SECRETS, check, name=lambda case: case[0])


def test_a_log_of_a_database_is_kept_without_its_queries() -> None:
    log = (
        "2026-11-01 UTC LOG:  checkpoints are occurring too frequently (9 seconds apart)\n"
        "2026-11-01 UTC LOG:  duration: 9 ms  statement: SELECT *\n\tFROM patients WHERE name = 'Smith'\n"
        "2026-11-01 UTC DETAIL:  parameters: $1 = 'Smith'\n"
    )
    kept = strip_secrets("/var/lib/pgsql/data/log/a.log", log) or ""
    assert "occurring too frequently (9 seconds apart)" in kept
    assert "Smith" not in kept and "patients" not in kept


def test_a_setting_is_kept() -> None:
    def check(case: tuple[str, str]) -> None:
        path, text = case
        assert strip_secrets(path, text) == text

    assert_each(SETTINGS, check, name=lambda case: case[0])
