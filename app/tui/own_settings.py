"""What a user sets for the screens: `keys.toml` and `themes.toml` in the state directory."""

from dataclasses import replace

from textual.binding import Binding

from hostdx.app.state import state_dir
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.probes.types import Json

KEYS_FILE, THEMES_FILE = "keys.toml", "themes.toml"
MAX_FILE_BYTES = 1 << 16
MAX_KEY_CHARS = 60


class KeysFromKeymap:
    """A base of what has keys of its own: each binding gets its action as the name that `keys.toml` knows it by."""

    def __init_subclass__(cls, **options: object) -> None:
        own = cls.__dict__.get("BINDINGS", ())
        if own:
            cls.BINDINGS = [replace(b, id=b.id or b.action) if isinstance(b, Binding) else b for b in own]  # type: ignore[attr-defined]
        super().__init_subclass__(**options)


def read_state_toml(name: str) -> dict[str, Json]:
    """Return a TOML file of the state directory, empty where there is none. Raises ValueError in one line."""
    path = state_dir() / name
    try:
        data = read_trusted_file(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as why:
        raise ValueError(f"{name}: {why.strerror} ({path})") from None
    import tomllib  # 2 ms that few need

    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as why:
        raise ValueError(f"{name}: {' '.join(str(why).split())[:200]}") from None


def read_keymap() -> dict[str, str]:
    """Return the user's keys by action, as Textual's keymap. Raises ValueError in one line."""
    keymap = {}
    for action, key in read_state_toml(KEYS_FILE).items():
        if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_CHARS or not key.isprintable():
            raise ValueError(f'{KEYS_FILE}: {action}: a key is wanted, as in {action} = "f5"')
        keymap[action] = key
    return keymap
