"""Stakes of a bet, by how far there is to go: the numbers of a formula of `core.betting`.

They are written down because scipy's normal quantiles take a quarter of a second to load, and
because a campaign's interval must come out the same to the last bit, whatever computes quantiles.
"""

from base64 import b64decode
from functools import cache
from zlib import decompress

import numpy as np

from assay.core.types import Floats

DESPAIR = 5.0
"""The logarithm of goal over wealth beyond which nobody stakes more."""
GAPS = np.linspace(0.0, DESPAIR, 1001)
"""The gaps of the table; a stake need not be more exact than this."""


@cache
def stakes_by_gap() -> Floats:
    """Return phi(z)/w at w = exp(-gap), with z the normal quantile of w, for every one of `GAPS`.

    >>> stakes_by_gap()[[0, 1, 1000]].round(3)
    array([0.   , 0.014, 2.796])
    """
    parts = np.frombuffer(decompress(b64decode(_DIFFERENCES)), dtype=np.uint8)
    numbers = np.ascontiguousarray(parts.reshape(8, -1).T).view("<i8")[:, 0]
    for _ in range(6):
        numbers = np.cumsum(numbers)
    return np.append(0.0, numbers.view(np.float64))


# Differences of the numbers' bits, of order 6: small ones. The lowest bytes of all come first.
_DIFFERENCES = (
    "eNrtk3041PkWwH8zMsNYLbHe0wt1100NVlNLqYSVZmP1titLeTS3bJ4ts6QoQlTscrW3wuWaVRhMMQY1VmsaIfI2rG"
    "kG42UYZsaMeTOJMXNtPbvG2O7T/eOq7jPn+/x+v+ec7znnd873ez6EnN6hxycVmivCNlb0y/yzcEOkWO3gHz5bWyMN"
    "DHGGViZ7zuiZz+ZmVwjo6KgwRJMvQWCUkSG+GmRtkpZ7pKvsExA4046+9pYWdEpODd31+a1CYoJHX+6v+8I8yIg7Lx"
    "I2mDqSMCOF4/cgguiSS8s8Hdh+qde/mjqZTb4bsfGe2Ynsn4uLA93r4/ovV209WEWanDZ4Dh3EVRzcIM31lFcYTu8C"
    "n+WFz3qMIrJNvm7ZgBrWiSvSOI4SQT7PJGi5+BXVo8+cgrq6gPWs3XagjqWcx+XUkuj0aY6h7jqDQxaozdEeSSHJkb"
    "evEG6W1xUOYafKQBQhZxnTahDOt4fYmq9zMvD/0O8vAXY+fs7f7PULQV44cCY0FB2OTjx2xy/rKqrk2ul7cem3Y6qi"
    "7ycQMNdx+FRyVhEx7/7dopZ0aj7+WdrYDQb2SSOh6cnDhifNVeziflIrvZpOaaC1tdOa2Vi9Qn5nvVaGTkcDt6+ng0"
    "8REA1KNLueiWj9zNlS/e4+SeOHlE4Qp2MCqNFvhpXvSNxaB6nYe96jwqidqzE03gdP8n4AsORMsawBgYfK6Dp94DZE"
    "rkOTaaMxHRAI9Up8Ck0UjGHET9uJNm16vTAxaznrOcA07VzeufsGssqKzVzFrkMHRtzZiQmK+zYPCi+3Hp02uu+T7d"
    "WsPcNYPyoVgswI+3P2ULv9Unyp4xC7mNgyXf5H4wzfdEcwvwd5/TCNEhR1unTNmCZEMLwrB3XDs9WUr4DVRqI26qbY"
    "ehy46fvQNSsx0kfEMu/d1LVCaom7eGn3lBCkzTOSDCMa/8rtOXolBLfanBCEcRrRZ5mKhRYSjoGmbNiK8SnmeKnNmE"
    "P2uejYskknqpbUUCI0npJAtKfG7Ckrqe7ldsPrSR41++JzI9wmJdryF7qM3Znf5dhPT8BMa1y5fTvJayeg+vVf5nr2"
    "GA5azGqQI5LdBo2HTLRIp6IvlH5g1fIxX2pbElQJr0NS2F6VK81wyXtLf7BYDmIDW25FJkXe1kHecgb3bujTssRmIG"
    "M41f4/wymroQOa1r/qrHrknXE2D07Zd8frGc/ntpVN6fbpFiSlM+Gq9Oa2aBn2TNFq4/unLp2tlHl/fzol6aKvqGuz"
    "aEJrxpq0Co6FS814pLjqv8NYpMx1ltcLDweDy/c3uuQfxMc4Pw3Icmk6s2P0o1HvT/Ucbb5GYxyo8ZLDuM+KfMda3L"
    "kDLhgUvd29x1jYlHokqnwLkxrUUZkSsx9IrfE+pMMAj4Z/Z/htjD/mRPPINobUZDnRTQt7ogr++Kt/+hfvz/uSU328"
    "0qbfLYyItvpi1wunPRa/2C/DZ6+dWnnvnKHULGkQJSPjkS5R8QGQo4UddEeYHRNZ6JtpWHI1KGwlvoB30xURQREfS2"
    "lFP+jk2+KS6XeN1tD2nDuNaHdNJz/repDsNW0pZmPqOVuPp1bQpk0RPidjbxTVtPbzZTBjq01bXfce8A8+FXYu5nJy"
    "2j8ycn7KL8KVEaqINbWPHs/R0dLW0dnVTaXRe/sY/QODTObICGt0jM3mcLnjPB5/YmJCIBAKRSKxWCyRSCYnJ6Vz8n"
    "xOpn6T9totfg3+s6oif50oXj4v1xII8OoFKFsAlc2XX2DRUjLPBy5yAVSiVZ1U9AVJXoUqpfpdeaUCC/+5MBBQbCP0"
    "KnQ+Vq0FUEqkZFcp6LWd/Ommah/KbSz2BF7T6h/2BS5KEco21drmS1BJt7jAeRUkX/gD1QVSSbLgyBbaVBv746iAPz"
    "1HpYjfDeDqRD40f5mtztOLm77ZstPDMZvAdeZFPE37BORwvgrmE8NJqR3Xt/M6ik5Iz8HiiaTGFko3nTHIZI1xxnkT"
    "AqFILJkjryCmwDLCaTFj/3OS0q3IlnYIxTsq/8ecP6QF4/eB1Zy/nnNA8Z85B5aSc5ch2ExBeECj8QdeYT8ao2OLNf"
    "JrWmlDYzyhRGrh9ePAJOiNaOUegf0SkPYWSIommp248lDN+ZJz/q/zDdeuaas5f084XxO6uq0Zi1l/ocBVvJmsyIoY"
    "nJ/JVXLatuC/vdFAO29nXV7z4i2Q5JweIveJVHO+5JzXNThCAmlqzt8TzvHuX8STzFcEuqI3KSyCD8V3ts/PpGDAXD"
    "M0980mmp6jm9f9NlCatC/bLFJzvuScz0JmZJBZNefvCeff70H2hSfCpGDQ3KVrzIAXzilIDnrzkQbeFkuAQs35knO+"
    "CD415+8y5zseRSVsr311j4uR+S8YUnOu5lzN+TvL+b8BUNx0MA=="
)
