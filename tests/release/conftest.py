from tests.app.bundle.conftest import bundle

__all__ = ["bundle"]
