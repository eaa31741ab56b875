"""What is masked, and what only looks a little like it."""

import shlex
import time

from hostdx.app.recordings.writer import encode_event
from hostdx.probes.reading.secrecy.secret_forms import MASK, SECRET_FORMS, SecretForm
from hostdx.probes.reading.secrecy.secrets import mask_command_words, mask_secrets, mask_tree
from hostdx.probes.reading.time_limit import limit_time
from hostdx.scenarios.contract import events as ev
from tests.every_case import every_case


@every_case(
    ("text", "masked"),
    [
        ("job --password=hunter2 -v", "job --password=*** -v"),
        ("job --db-password hunter2 -v", "job --db-password *** -v"),
        ("job --password='two words' -v", "job --password=*** -v"),
        ("job --password='no end", "job --password=***"),
        ("job --password=a,b;c|d>e f", "job --password=*** f"),
        ("PGPASSWORD=x psql", "PGPASSWORD=*** psql"),
        (
            "env MYSQL_PWD=x AWS_SECRET_ACCESS_KEY=a/b+c= run",
            "env MYSQL_PWD=*** AWS_SECRET_ACCESS_KEY=*** run",
        ),
        ("--api-key abc --access_key=def", "--api-key *** --access_key=***"),
        ("curl -H 'Authorization: Bearer abc.def'", "curl -H 'Authorization: Bearer ***'"),
        ("curl -H 'X-Auth-Token: abc'", "curl -H 'X-Auth-Token: ***'"),
        ("curl https://me:pw@host/x?token=abc&n=1", "curl https://***@host/x?token=***&n=1"),
        ("curl ftp://me:p@ss@host/x", "curl ftp://***@host/x"),
        ("redis://:pw@h:6379/0", "redis://***@h:6379/0"),
        ("push ghp_0123456789abcdefghijABCDEFGHIJ now", "push *** now"),
        ("AKIA0123456789ABCDEF", "***"),
        ("DBPASS=x run", "DBPASS=*** run"),
        ("LDAP_BINDPW=x hosttoken=y job", "LDAP_BINDPW=*** hosttoken=*** job"),
        (
            """curl -d '{"user": "me", "password": "x"}' h""",
            """curl -d '{"user": "me", "password": ***}' h""",
        ),
        ("curl 'https://h/a?sv=1&sig=x%3D&se=2'", "curl 'https://h/a?sv=1&sig=***&se=2'"),
        (
            "https://h/k?X-Amz-Credential=x&X-Amz-Signature=y",
            "https://h/k?X-Amz-Credential=***&X-Amz-Signature=***",
        ),
        ("mysql -e \"create user a identified by 'x'\"", 'mysql -e "create user a identified by ***"'),
        ("aws configure set aws_secret_access_key x", "aws configure set aws_secret_access_key ***"),
        ("tool --auth me:hunter --user=me:Hunter2x", "tool --auth *** --user=me:***"),
        ("tool me:Passw0rd", "tool me:***"),
        ("echo x | sudo -S ls", "echo *** | sudo -S ls"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.sig", "***"),
    ],
)
def test_secrets_are_masked(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked
    assert mask_secrets(masked) == masked


@every_case(
    "text",
    [
        "shred --passes=3 /dev/null", "fio --name=pass --rw=read --filename=/a", "tokens=5", "key=value", "monkey=3",
        "/etc/passwd: world-readable", "firewalld: authorization", "token ring: slow", "PWD=/root", "keyboard=us",
        "root=UUID=1 rd.luks.key=/x", "rsync me@host:/x", "http://a/b@c", "see https://docs.kernel.org/x.html#a",
        "bypass: yes", "pass-through: on", "a password is required", "hostdx run storage --dir /scratch", "",
        "gssd_refresh_krb5_machine_credential: no usable keytab entry found",
    ],
)  # fmt: skip
def test_other_words_stay(text: str) -> None:
    assert mask_secrets(text) == text


@every_case("form", SECRET_FORMS)
def test_each_form_masks_its_example(form: SecretForm) -> None:
    """Alone, and with all the others."""
    assert MASK in form.masked_example and form.masked_example != form.example
    assert form.regex.sub(form.kept, form.example) == form.masked_example
    assert mask_secrets(form.example) == mask_secrets(form.masked_example) == form.masked_example


SECRET = "hunter2"
# A command with a secret, and what is kept of it.
COMMANDS = [
    (["mysql", "-u", "root", "-phunter2", "db"], "mysql -u root -p*** db"),
    (["/usr/bin/mysqldump", "-h", "h", "-phunter2 two"], "/usr/bin/mysqldump -h h -p***"),
    (["mariadb-admin", "-uroot", "-phunter2", "status"], "mariadb-admin -uroot -p*** status"),
    (["curl", "-u", "user:hunter2", "http://h"], "curl -u user:*** http://h"),
    (["curl", "-sSLu", "user:hunter2", "h"], "curl -sSLu user:*** h"),
    (["curl", "-uuser:hunter2", "h"], "curl -uuser:*** h"),
    (["curl", "--proxy-user", "u:hunter2", "--user=u:hunter2", "h"], "curl --proxy-user u:*** --user=u:*** h"),
    (["curl", "-H", "Authorization: Bearer hunter2", "h"], "curl -H 'Authorization: Bearer ***' h"),
    (["curl", "-H", "Authorization: Digest hunter2", "h"], "curl -H 'Authorization: Digest ***' h"),
    (["curl", "-H", "Cookie: id=hunter2", "h"], "curl -H 'Cookie: ***' h"),
    (["curl", "--oauth2-bearer", "hunter2", "h"], "curl --oauth2-bearer *** h"),
    (["curl", "https://me:hunter2@h/x"], "curl https://***@h/x"),
    (["curl", "-x", "me:hunter2@proxy:3128", "h"], "curl -x me:***@proxy:3128 h"),
    (["job", "--pw", "hunter2"], "job --pw ***"),
    (["job", "--pw=hunter2", "--db-pw", "hunter2"], "job --pw=*** --db-pw ***"),
    (["plink", "-pw", "hunter2", "h"], "plink -pw *** h"),
    (["env", "PGPASSWORD=hunter2", "psql"], "env PGPASSWORD=*** psql"),
    (["env", "A=1", "PGPASSWORD=it's hunter2", "psql"], "env A=1 PGPASSWORD=*** psql"),
    (["docker", "run", "-e", "DB_PASSWORD=a hunter2", "-p", "8080:80", "x"],
     "docker run -e DB_PASSWORD=*** -p 8080:80 x"),
    (["docker", "login", "-u", "me", "-p", "hunter2"], "docker login -u me -p ***"),
    (["sshpass", "-p", "hunter2", "ssh", "-p", "22", "login"], "sshpass -p *** ssh -p 22 login"),
    (["sshpass", "-phunter2", "scp", "-p", "a", "h:"], "sshpass -p*** scp -p a h:"),
    (["redis-cli", "-a", "hunter2", "ping"], "redis-cli -a *** ping"),
    (["mongosh", "-u", "a", "-p", "hunter2"], "mongosh -u a -p ***"),
    (["ldapsearch", "-x", "-w", "hunter2"], "ldapsearch -x -w ***"),
    (["ipmitool", "-U", "a", "-P", "hunter2", "sdr"], "ipmitool -U a -P *** sdr"),
    (["smbclient", "-U", "u%hunter2", "//h/s"], "smbclient -U 'u%***' //h/s"),
    (["7z", "x", "-phunter2", "a.7z"], "7z x -p*** a.7z"),
    (["keytool", "-storepass", "hunter2"], "keytool -storepass ***"),
    (["sh", "-c", "mysql -phunter2 db | gzip"], "sh -c 'mysql -p*** db | gzip'"),
    (["http", "-a", "u:hunter2", "h"], "http -a u:*** h"),
    (["vault", "operator", "unseal", "hunter2"], "vault operator unseal ***"),
    (["bw", "unlock", "hunter2"], "bw unlock ***"),
    (["redis-cli", "AUTH", "hunter2"], "redis-cli AUTH ***"),
    (["ceph", "--id", "a", "--key", "hunter2"], "ceph --id a --key ***"),
]  # fmt: skip


@every_case(("words", "masked"), COMMANDS)
def test_a_command_keeps_no_secret_as_words_as_text_and_in_a_recording(words: list[str], masked: str) -> None:
    plain = masked.replace("'", "")
    assert " ".join(mask_command_words(words)) == plain
    text = shlex.join(words)
    assert mask_secrets(text).replace("'", "") == plain
    assert mask_secrets(mask_secrets(text)) == mask_secrets(text)
    event = ev.Note(t=0.0, text=f"ran {text}")
    began = ev.Began(
        t=0.0, schema=ev.SCHEMA, version="", scenario="workload", command=["hostdx", "run", "--cmd", text],
        host="", wall="", seed=0, pid=0, pid_start=0, boot_id="", options={"cmd": text, "variant": [f"a: {text}"]},
    )  # fmt: skip
    assert SECRET.encode() not in encode_event(event) + encode_event(began)


@every_case(
    "text",
    [
        "ssh -p 22 login", "find / -print", "find . -perm 644 -print0 | mysql -u root", "mysql -P 3306 -p db",
        "mysql -e 'select 1'; find -print", "mysql -p\nfind . -print", "cp -p a b", "mkdir -p /x/y", "curl -u user h",
        "curl -o pass.txt h", "rsync -u a:b c:d", "docker run -u 1000:1000 -p 8080:80 mysql:8 -v", "sort -u a:b",
        "python -u a:b", "chown -R u:g x", "7z a -mx=9 a.7z", "unzip -p a.zip", "ps -u root", "sudo -u postgres:x y",
        "user@1000.service", "cgroup:getty@tty1.service", "docker pull nginx:1.25@sha256:9f86", "login -p -f root",
        "rsync -av me@host:/x y", "perf stat -p 4242", "taskset -p 3 77", "zip -r a.zip b", "pwd", "don't -p 22 it's",
        "fio --name=x --rw=read:8 --size=1G", "ssh login -p 22", "ssh-keygen -t ed25519 -f key",
    ],
)  # fmt: skip
def test_ordinary_options_stay(text: str) -> None:
    assert mask_secrets(text) == text
    if not set(";\n") & set(text):  # a shell's own, and no words of a command
        assert mask_command_words(text.split(" ")) == text.split(" ")


@every_case(
    "part",
    ["'", "a:", "a@", "\\", "-u ", "a.b-", "a=", '\\"', "a-", "cookie_", "a:b@h. ", "eyJ", "\"'", "pass"],
)
def test_no_text_keeps_it_busy(part: str) -> None:
    """Ten times the text may take ten times as long, not a hundred times: in CPU time, whoever else is busy."""
    began = time.process_time()
    with limit_time(60.0):
        for head, tail in (("env ", "=x curl"), ("curl ", ":x@h:1"), ("mysql http://", "@h")):
            mask_secrets(head + part * (10_000 // len(part)) + tail)
    assert time.process_time() - began < 0.8


def test_a_value_may_be_the_next_word() -> None:
    words = ["job", "--password", "two words", "--token", "-v", "--url=ftp://a:b@c"]
    assert mask_command_words(words) == ["job", "--password", "***", "--token", "-v", "--url=ftp://***@c"]
    assert mask_command_words(()) == []


def test_at_any_depth() -> None:
    tree = {
        "password": "x",
        "empty": {"api_key": ""},
        "rows": [{"command": ["a", "--token", "b c"]}],
        "token": 7,
    }
    masked = {
        "password": "***",
        "empty": {"api_key": ""},
        "rows": [{"command": ["a", "--token", "***"]}],
        "token": 7,
    }
    assert mask_tree(tree) == masked
