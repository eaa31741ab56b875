from tests.app.features.bundle.conftest import bundle

__all__ = ["bundle"]
