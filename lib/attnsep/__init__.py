"""Softmax versus linear attention: the library behind the executable companion to arXiv 2310.11685.

These are the names that a chapter or a user needs, with examples; each is loaded when it is first used.  Everything
else is in the modules beside this one, which also say more about these names.

Attention outputs, under the paper's two kernels and others:

>>> import numpy as np
>>> from attnsep import Kernel, Linear, Softmax, attend, namespace, to_numpy
>>> q, k, v = np.zeros((1, 2)), np.ones((3, 2)), np.array([[1.0], [2.0], [6.0]])
>>> attend(q, k, v, kernel=Softmax(beta=2)).round(12)
array([[3.]])
>>> Linear().weights(np.array([1.0, 3.0])), Kernel.parse("topk:16")
(array([0.25, 0.75]), TopK(k=16))
>>> to_numpy(namespace("numpy").asarray([1.0, 2.0]))  # off a GPU, where `namespace` found one
array([1., 2.])

The paper's two kinds of data, and the network that decides between their variants:

>>> from attnsep import Law, QueryData, TokenData, fires, gains, network, signs
>>> data = TokenData(n=8, d=6, a=1, c="0.5")
>>> data.matrix(np).shape, round(data.tau, 3), gains(8, 1, "linear")[0]
((8, 6), 0.865, Power(base=Fraction(2, 1), exponent=1))
>>> law = Law(TokenData(n=1024, d=258, a="0.7", c="0.5"), "softmax")
>>> round(law.weights().p, 6), round(law.column_probability(), 6), round(law.fires(10), 6)
(0.788842, 0.250001, 0.943687)
>>> rng = np.random.default_rng(1)
>>> A, x = QueryData(n=4, spike=4.0).matrix(rng, xp=np)
>>> weights = Softmax().weights(A @ x)
>>> y = signs(rng, 4, 3, np)
>>> fires(weights, y, 0.5) == (float(network(weights, y, 0.5)) > 0)
True

What may be said of random signs, of frequencies, and of whole intervals of numbers:

>>> from attnsep import certify, clopper_pearson, hoeffding, interval
>>> round(hoeffding(2.0, 1.0), 3)
0.135
>>> [round(end, 3) for end in clopper_pearson(8, 10, 0.05)]
[0.444, 0.975]

The claims of the book, and what their checks found:

>>> from attnsep import card, check, claims_table, verify
>>> check("tensor-trick")  # doctest: +ELLIPSIS
Holds – proved; exact, 8 cases, n from 1 to 5. The tightest case meets its bound exactly.
Broken on purpose: ...
>>> [found.verdict for found in verify(["tensor-trick", "hoeffding-one-sided"])]
['holds', 'holds']
>>> card("tensor-trick").header
('statement', 'who says it', 'evidence', 'in the source card')
>>> claims_table().header[:4]
('claim', 'who says it', 'evidence', 'verdict')

And an attention of your own, judged by all this:

>>> from attnsep import report
>>> card_of_mine = report(lambda q, k, v: attend(q, k, v, kernel="linear"), width=34, lines=["sees"], n=512)
>>> card_of_mine["sees"].verdict
'no'
"""

__version__ = "0.1.0"

__all__ = [
    "Kernel",
    "Law",
    "Linear",
    "QueryData",
    "Softmax",
    "TokenData",
    "attend",
    "card",
    "certify",
    "check",
    "claims_table",
    "clopper_pearson",
    "fires",
    "gains",
    "hoeffding",
    "interval",
    "namespace",
    "network",
    "report",
    "signs",
    "to_numpy",
    "verify",
]

# Type checkers take this name for true; to import it would take longer than all that stands here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from attnsep.arrays import namespace, to_numpy
    from attnsep.attention.attend import attend
    from attnsep.attention.kernels import Kernel, Linear, Softmax
    from attnsep.claims import card, check, claims_table, verify
    from attnsep.paper.gains import gains
    from attnsep.paper.network import fires, network, signs
    from attnsep.paper.one_query import QueryData
    from attnsep.paper.tokens import Law, TokenData
    from attnsep.probability.intervals import certify, interval
    from attnsep.probability.sign_sums import clopper_pearson, hoeffding
    from attnsep.reportcard.card import report
else:
    _ROOMS = {
        "arrays": ("namespace", "to_numpy"),
        "attention.attend": ("attend",),
        "attention.kernels": ("Kernel", "Linear", "Softmax"),
        "claims": ("card", "check", "claims_table", "verify"),
        "paper.gains": ("gains",),
        "paper.network": ("fires", "network", "signs"),
        "paper.one_query": ("QueryData",),
        "paper.tokens": ("Law", "TokenData"),
        "probability.intervals": ("certify", "interval"),
        "probability.sign_sums": ("clopper_pearson", "hoeffding"),
        "reportcard.card": ("report",),
    }
    _ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

    def __getattr__(name):
        if name not in _ROOM_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)
        globals()[name] = value  # from now on it is found without this function
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
