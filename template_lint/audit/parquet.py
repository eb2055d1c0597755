"""Rows of a Parquet file, a few at a time, through pyarrow. Columns of numbers stay arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from template_lint.errors import CannotCheckError

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile

_ROWS = 64


def open_parquet(path: str) -> ParquetFile:
    """Open a file. Raises CannotCheckError without pyarrow, or with what is wrong with the file."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise CannotCheckError(
            "reading Parquet needs pyarrow: pip install 'template-lint[audit]'.", kind="needs-extra"
        ) from None
    try:
        return ParquetFile(path, memory_map=False)
    except (ArrowException, OSError) as error:
        raise CannotCheckError(f"no readable Parquet file: {_first_line(error)}") from None


def parquet_rows(path: str, row_group: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of one row group. Raises CannotCheckError where the data is damaged."""
    from pyarrow import ArrowException

    with open_parquet(path) as file:
        try:
            for batch in file.iter_batches(batch_size=_ROWS, row_groups=[row_group], use_threads=False):
                yield from _rows(batch)
        except (ArrowException, OSError) as error:
            raise CannotCheckError(f"damaged Parquet data: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _rows(batch: pyarrow.RecordBatch) -> Iterator[dict[str, Any]]:
    columns = {name: _values(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    for index in range(batch.num_rows):
        yield {name: values[index] for name, values in columns.items()}


def _values(column: pyarrow.Array) -> list[Any]:
    """One Python value per row; a list of numbers without nulls is a numpy array."""
    import pyarrow.types as types

    kind = column.type
    numbers = (types.is_list(kind) or types.is_large_list(kind)) and (
        types.is_integer(kind.value_type) or types.is_floating(kind.value_type)
    )
    if not numbers or column.values.null_count:
        return column.to_pylist()  # type: ignore[no-any-return]
    flat = column.values.to_numpy(zero_copy_only=False)
    offsets = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    return [flat[offsets[row] : offsets[row + 1]] if valid[row] else None for row in range(len(column))]
