"""Files of settings that rules read: a capture keeps what they set, and no secret of theirs."""

import time

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.secrecy.redaction import strip_secrets
from hostdx.probes.reading.secrecy.secret_files import mask_evidence, mask_file
from hostdx.probes.reading.secrecy.secret_forms import LINE_FORMS, MASK, SETTING_FORMS, SecretForm
from hostdx.probes.reading.time_limit import limit_time
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.rule import HostRule
from hostdx.scenarios.triage.triage import apply_rule
from tests.every_case import assert_each, every_case

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
    ("/etc/rsyslog.d/b.conf", 'action(httpheaders=["Authorization: Basic {}"])\n'),
    ("/etc/netplan/d.yaml", "peers:\n - keys:\n    shared: {}=\n"),
    ("/etc/postgresql/17/main/postgresql.conf", "ssl_passphrase_command = '/bin/echo \"{}\"'\n"),
    ("/etc/cron.d/push", "0 3 * * * root curl -s https://push.example.org/api/push/{}?status=up\n"),
    ("/etc/corosync/corosync.conf", "totem {{\n key: {}\n}}\n"),
    ("/etc/containerd/config.toml", '  auth = "{}"\n  identitytoken = "{}"\n'),
    ("/etc/postgresql/15/main/postgresql.conf", "primary_conninfo = 'host=a password={}'\n"),
    ("/etc/postgresql/16/main/postgresql.conf", "ssl_passphrase_command = 'echo {}'\n"),
    ("/etc/proftpd/proftpd.conf", "SQLConnectInfo db@host user {}\n"),
    ("/etc/multipath.conf", 'devices {{\n device {{\n  chap_password "{}"\n }}\n}}\n'),
    ("/etc/openldap/slapd.conf", "rootpw {{SSHA}}{}\nolcRootPW: {}\n"),
    ("/etc/xrootd/a.cfg", "http.secretkey {}\ns3.secret {}\n"),
    ("/etc/gridftp.conf", "dbpass {}\n$X509_USER_KEY_PASS {}\n"),
    ("/etc/network/interfaces", "iface w inet dhcp\n wireless-key1 restricted {}\n"),
    ("/etc/NetworkManager/system-connections/y.nmconnection", "wep-key0={}\npreshared-key={}\n"),
    ("/etc/udev/rules.d/a.rules", 'ENV{{UNLOCK_PASSPHRASE}}="{}"\n'),
    ("/etc/condor/condor_config", "SEC_TOKEN_OPTS = -s {}\n"),
    ("/etc/ceph/ceph.conf", "rgw_crypt_s3_kms_encryption_keys = testkey-1={}==\n"),
    ("/etc/proftpd.conf", 'LDAPDNInfo "cn=admin" "{}"\nLDAPBindDN cn=x {}\n'),
    ("/etc/chrony.keys", "10 SHA1 HEX:{}\n"),
    ("/etc/munge/munge.key", "{}\n"),
    ("/etc/crypttab", "vault UUID=1 {} luks\n"),
    ("/etc/default/grub", "password_pbkdf2 root grub.pbkdf2.sha512.10000.{}.{}\n"),
    ("/etc/default/grub", 'GRUB_CMDLINE_LINUX="netroot=iscsi:me:{}@10.0.0.1::3260::iqn.x"\n'),
    ("/etc/nftables.conf", 'tcp dport 22 accept comment "knock {}"\n'),
    ("/etc/exports", "# admin password {}\n/x *(rw) # or {}\n"),
    ("/etc/crontab", "*/5 * * * * root echo {} | openconnect --passwd-on-stdin vpn\n"),
    ("/var/spool/cron/root", "@hourly vault login {}\n"),
    ("/etc/cron.daily/a", "#!/bin/sh\necho {} | openconnect --passwd-on-stdin vpn\n"),
    ("/etc/systemd/system/a.service", "[Service]\nExecStart=/bin/vault login {}\n"),
    ("/sys/class/iscsi_session/session1/password_in", "{}\n"),
    ("/proc/sys/net/ipv6/conf/all/stable_secret", "{}\n"),
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
    ("/etc/corosync/corosync.conf", "totem {\n token: 3000\n secauth: on\n}\n"),
    ("/etc/fstab", "//nas/x /x cifs credentials=/etc/cred,vers=3.0 0 0\n"),
    ("/etc/cron.d/check", "0 1 * * 0 root echo check > /sys/block/md0/md/sync_action\n"),
    ("/etc/cron.daily/trim", "#!/bin/sh\n/usr/sbin/fstrim -av\n"),
    ("/etc/crypttab", "a UUID=1 none luks\nb /dev/sda3 /dev/urandom swap\n"),
)
# What a log or the kernel says with a secret in it.
LINES = (
    "CROND[1]: (root) CMD (mysqldump -uroot -p{} app)",
    "sudo[1]: admin : TTY=pts/0 ; COMMAND=/usr/bin/vault login {}",
    'audit: type=EXECVE argc=3 a0="mysql" a1="-uroot" a2="-p{}"',
    'type=USER_CMD cmd="curl -u a:{} x"',
    "app[1]: A temporary password is generated for root@localhost: {}",
    "app[1]: Your new secret is {}",
    'app[1]: password for user bob changed to "{}"',
    "NetworkManager[1]: <info> Config: added 'psk' value '{}'",
    "cifs: bad option passwrd={}",
    "sss: key {} loaded",
    "StoragePass = {}",
    "FAILED LOGIN (1) on 'tty1' FOR '{}', Authentication failure",
    "Login incorrect: [bob/{}] (from client ap1)",
    "SET PASSWORD FOR 'slurm'@'h' = PASSWORD('{}')",
    "PHP Warning: mysqli::__construct('db','app','{}')",
    "Access denied slurm:{}@db",
    "args: ['--password', '{}']",
    "jdbc:oracle:thin:sys/{}@db:1521/x",
    "initial admin credentials are admin / {}",
    "using AWS key AKIA0123456789ABCDEF / {}",
)
SENTENCES = (
    "kernel: Key type dns_resolver registered",
    "kernel: sd 0:0:0:0: [sda] Sense Key : Medium Error [current]",
    "sshd[91]: Failed password for root from 10.0.0.1 port 22 ssh2",
    "crond: (root) FAILED to authorize user with PAM (Authentication token is no longer valid; new one required)",
    "munged: Unauthorized credential for client UID=0 GID=0",
    "mlx5_core 0000:01:00.0: Bad operation, key 0x1234 lkey",
    "spec_store_bypass: vulnerable",
    "passwd: files sss",
    "munge refuses credentials: clocks or keys differ",
    "mount 10.0.0.1@tcp:10.0.0.2@tcp:/scratch and mds1@o2ib:mds2@o2ib:/home",
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
    stripped = strip_secrets("/var/lib/pgsql/data/log/a.log", log) or ""
    assert "occurring too frequently (9 seconds apart)" in stripped
    assert "Smith" not in stripped and "patients" not in stripped


def test_a_setting_is_kept() -> None:
    def check(case: tuple[str, str]) -> None:
        path, text = case
        assert strip_secrets(path, text) == text

    assert_each(SETTINGS, check, name=lambda case: case[0])


def test_a_secret_of_a_log_is_not_kept_and_not_shown() -> None:
    def check(form: str) -> None:
        assert SECRET not in (strip_secrets("/var/log/messages", form.format(SECRET)) or "")

    assert_each(LINES, check)


def test_a_sentence_about_secrets_is_kept() -> None:
    def check(line: str) -> None:
        assert strip_secrets("/var/log/messages", line) == mask_evidence(line) == line

    assert_each(SENTENCES, check)


@every_case("form", (*SETTING_FORMS, *LINE_FORMS))
def test_each_form_of_files_masks_its_example(form: SecretForm) -> None:
    """Alone, and with all the others."""
    path = "/etc/crypttab" if form.files else "/etc/x.conf" if form in SETTING_FORMS else "/var/log/messages"
    assert MASK in form.masked_example or form.name == "comment"
    assert form.regex.sub(form.kept, form.example) == form.masked_example
    assert mask_file(path, form.example) == mask_file(path, form.masked_example)


@every_case("part", [".", "a.b-", "pass", "%a", "key='", "values(", "key ", "password a ", "a_key=", "CMD ("])
def test_no_file_keeps_it_busy(part: str) -> None:
    """Ten times the text may take ten times as long, not a hundred times: in CPU time, whoever else is busy."""
    began = time.process_time()
    with limit_time(60.0):
        mask_file("/etc/x.conf", f"env {part * (20_000 // len(part))}=x")
    assert time.process_time() - began < 2.0


def test_no_finding_shows_the_secret_of_a_line_that_it_quotes() -> None:
    quoted = Evidence(f"//nas/x /x cifs username=a,password={SECRET} 0 0", "/etc/fstab")
    finding = Finding(
        id="a.b", severity="notice", title=f"refused admin password '{SECRET}'", evidence=(quoted,)
    )
    rule = HostRule("a.b", "host", "a", lambda _host: (finding,))
    for event in apply_rule(rule, Host(), lambda: 0.0):
        assert SECRET not in str(event)
