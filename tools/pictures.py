"""Compare stored pictures with fresh ones, pixel by pixel; chapters/conftest.py asks when notebooks run."""

import base64
import io
import re
from importlib.metadata import version

from tools.files import ROOT

# On a processor that rounds elsewhere in the last place the edge of a dot may move by a pixel.  The smallest thing that
# a reader could miss, one letter of a label, has more than fifty.
MOST_PIXELS = 20


def why_not():
    """Return why pictures drawn here cannot be compared with the stored ones, or an empty text."""
    from matplotlib import ft2font

    locked = re.search(r"^matplotlib==(\S+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)[1]
    if version("matplotlib") != locked:
        return f"matplotlib is {version('matplotlib')}, and requirements.lock has {locked}"
    if ft2font.__freetype_build_type__ != "local":
        return "matplotlib draws letters with the system's FreeType and not with its own"
    return ""


def pictures(outputs):
    """Return the PNG pictures of a cell's outputs, base64 as notebooks hold them."""
    return [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]


def problem(stored, fresh):
    """Return in a sentence how the pictures of a cell differ, or an empty text.

    Parameters
    ----------
    stored, fresh : list of str
        PNG pictures in base64, in order.
    """
    if len(stored) != len(fresh):
        return f"{len(stored)} pictures are stored, and {len(fresh)} were drawn"
    for place, pair in enumerate(zip(stored, fresh, strict=True), start=1):
        if pair[0].split() == pair[1].split():  # to unpack two pictures takes longer than to draw some
            continue
        one, other = map(_pixels, pair)
        if one.shape != other.shape:
            sizes = " and ".join(f"{array.shape[1]} × {array.shape[0]}" for array in (one, other))
            return f"picture {place}: the stored and the drawn one have {sizes} pixels"
        differ = (one != other).any(axis=-1)
        if (count := int(differ.sum())) > MOST_PIXELS:
            rows, columns = differ.any(axis=1).nonzero()[0], differ.any(axis=0).nonzero()[0]
            return (
                f"picture {place}: {count} of {differ.size} pixels are not as stored, between columns {columns[0]} "
                f"and {columns[-1]}, rows {rows[0]} and {rows[-1]}"
            )
    return ""


def _pixels(picture):
    """Return the pixels of a PNG in base64, shape (height, width, 4)."""
    import numpy as np
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGBA"))
