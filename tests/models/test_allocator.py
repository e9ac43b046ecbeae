"""The allocator keeps what is freed."""

from metro.models.allocator import keep_freed_memory


def test_the_allocator_can_be_asked_twice():
    """Keeping freed memory is harmless to ask for again."""
    assert keep_freed_memory() == keep_freed_memory()
