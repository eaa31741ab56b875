"""Secrets in the files that a capture keeps and in the lines that a finding shows: settings, sentences, commands.

A command in a crontab, a unit or a log is masked by the places of its words, as a process's is.
"""

import re

from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.reading.secrecy.harmless_forms import harmless_part_of_url
from hostdx.probes.reading.secrecy.secret_forms import LINE_FORMS, MASK, SETTING_FORMS
from hostdx.probes.reading.secrecy.secrets import (
    mask_by_position,
    mask_secret_forms,
    mask_secrets,
    mask_shell_words,
)

# files that are nothing but a secret
_SECRET_FILES = lazy_pattern(
    r"^/etc/(?:.*/)?[\w.-]*(?:\.keys?|keytab|\.secrets?|munge\.key)$|"
    r"^/sys/.*/(?:password\w*|\w*secret)$|^/proc/sys/.*(?:fastopen_key|stable_secret)$"
)
# files of settings that rules read
_SETTINGS = lazy_pattern(
    r"^/(?:etc/(?!ssh/|pam\.d/)|var/lib/(?:iscsi|kubelet|pgsql|postgresql)/|boot/loader/)|"
    r"^/var/spool/(?:pbs|torque)/mom_priv/|/opt/.*/conf/"
)
_SCRIPTS = lazy_pattern(r"^/etc/(?:cron\.(?!d/)\w+/|rc\.)")
_CRONTABS = lazy_pattern(r"^(?P<system>/etc/cron(?:tab$|\.d/))|^/var/spool/cron/")
_CRON_TIME = r"[ \t]*(?:@\w+|[\d*/,-]+(?:[ \t]+[\w*/,-]+){4})[ \t]+"
# what stands before a command in a unit, in a file of interfaces, in a list of options, in a log
_COMMAND = lazy_pattern(
    r"(?m)(^[ \t]*(?:(?:pre-|post-)?(?:up|down)[ \t]+|Exec\w+=[-@+!:]*)|"
    r"\bCMD \(|\bCOMMAND=|\b(?:cmd|proctitle)=\"|--rsh=\")([^\n]+)"
)
_KERNEL_SETTING = lazy_pattern(r">[ \t]*/(?:sys|proc)/")  # `echo none > /sys/…`: what it writes is no secret
_WEB_ADDRESS = lazy_pattern(r"https?://[^\s\"'|;)]+")
_EXECVE = lazy_pattern(r"\ba\d+=\"([^\"]*)\"")
# what no form matches without
_HINT = lazy_pattern(
    r"(?i)pas{1,2}|secret|token|psk|authtok|communit|macaroon|\bpin|pw|key|login|auth|mysql|[0-9a-f]{8}-|session|one-time|otp|credential|user|query|values|_bind|imap|connect|[:%][^\s/@:]{4,}@|"
    r"AKIA|ASIA|crypt|https?://|CMD|COMMAND=|--rsh|type=EXECVE|EXECVE"
)


def mask_file(path: str, text: str) -> str:
    """Return the text of a file that a capture keeps, `***` in place of what looks like a secret."""
    if _SECRET_FILES.search(path):
        return re.sub(r"(?m)^.+$", MASK, text)
    if _SETTINGS.search(path):
        for form in SETTING_FORMS:
            if re.search(form.files, path):
                text = form.mask(text)
    if _SCRIPTS.search(path):
        text = re.sub("[^\n]+", lambda line: _mask_command(line[0]), text)
    if crontab := _CRONTABS.search(path):
        user = r"[a-z_][\w-]*[ \t]+" if crontab["system"] else ""
        text = re.sub(rf"(?m)^({_CRON_TIME}{user})([^\n]+)", _mask_second_group, text)
    return mask_lines(text)


def mask_lines(text: str) -> str:
    """Return lines of a log, or what a program has printed, `***` in place of what looks like a secret."""
    return mask_secrets(_mask_secret_lines(text))


def mask_evidence(text: str) -> str:
    """Return a finding's sentence without secrets: no word of it is one for standing behind an option."""
    return mask_secret_forms(_mask_secret_lines(text))


def _mask_secret_lines(text: str) -> str:
    return "\n".join(_mask_line(line) if _HINT.search(line) else line for line in text.split("\n"))


def _mask_line(line: str) -> str:
    for form in LINE_FORMS:
        line = form.mask(line)
    line = _COMMAND.sub(_mask_second_group, line)
    return _mask_audit_execve(line) if "EXECVE" in line else line


def _mask_second_group(match: re.Match[str]) -> str:
    return match[1] + _mask_command(match[2])


def _mask_command(text: str) -> str:
    if _KERNEL_SETTING.search(text):
        return text
    masked_text = mask_shell_words(text, mask_by_position, _mask_command)
    return _WEB_ADDRESS.sub(_keep_host_of_address, masked_text)


def _keep_host_of_address(address: re.Match[str]) -> str:
    """The path of a web address may be its secret, as a webhook's is."""
    host = harmless_part_of_url(address[0])
    return address[0] if host is None else f"{host}{MASK}"


def _mask_audit_execve(line: str) -> str:
    """The audit log's words of a command: a0="mysql" a1="-uroot"."""
    words = [word[1] for word in _EXECVE.finditer(line)]
    masked_words = iter(mask_by_position(words))

    def replace_word(match: re.Match[str]) -> str:
        masked_word = next(masked_words)
        return match[0] if masked_word is None else match[0].replace(match[1], masked_word)

    return _EXECVE.sub(replace_word, line)
