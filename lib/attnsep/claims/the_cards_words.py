"""What the source card says, sentence by sentence, how the book reads it, and what a run found.

Quotations are at most 40 words of the card's own; what it quotes from the paper is told in other words.
"""

from dataclasses import dataclass
from html import escape

from attnsep.checks import require_choice
from attnsep.ledger.framework import LEDGER
from attnsep.ledger.record import read_record, require_record
from attnsep.tables import Link

MOST_WORDS = 40  # of a quotation


@dataclass(frozen=True)
class Sentence:
    """One sentence of the card.

    Parameters
    ----------
    part : str
        The part of the card that it stands in.
    place : str
        Where in that part.
    words : str
        The card's own words.
    reading : str
        What the book takes it to say, and what to keep in mind.
    claims : tuple of str
        The claims that test this reading; none where a run cannot decide.
    own : bool
        Whether they test the card's own sentence and no completion of ours.
    asks : bool
        Whether the sentence asks for something, so that the reading is an answer.
    """

    part: str
    place: str
    words: str
    reading: str
    claims: tuple = ()
    own: bool = False
    asks: bool = False

    def _verdict(self, verdicts):
        """Return what a run found of the reading, in words; `verdicts` by claim, as in a record."""
        if not self.claims:
            return "No run decides this."
        found = {verdicts.get(id, "not run") for id in self.claims}
        if found == {"holds"}:
            return "It holds." if self.own else f"Our {'answer' if self.asks else 'reading of it'} holds."
        if found == {"refuted"}:
            return "A run refutes it." if self.own else "Our reading of it fails."
        return "Undecided."


PARTS = (
    "Mechanism 1",
    "Mechanism 2",
    "Mechanism 3",
    "Foundational Learning",
    "Architecture Onboarding",
    "Open Questions",
    "Limitations",
    "Confidence",
    "Next Checks",
)


SENTENCES = (
    Sentence(
        "Mechanism 1",
        "claim",
        "Softmax attention can distinguish between specific dataset pairs (D0 vs D1) that linear attention cannot.",
        "For every δ there are sizes n, d, m at which the softmax network fires on D₁ and is silent on D₀, and the "
        "linear network is silent on both, each with probability at least 1 − δ. The networks read the outputs through "
        "one threshold τ; linear attention divides by its row sum.",
        ("main-theorem", "main-theorem-sizes", "main-theorem-classifies"),
    ),
    Sentence(
        "Mechanism 1",
        "mechanism, first half",
        "The exponential normalization in softmax attention amplifies differences in query-key dot products",
        "The marked token's weight is n to the power a(1 + a) times another one in its own row, and only 1 + a times "
        "for linear attention. For n = 2 and weak marks nothing is amplified.",
        ("mechanism-1-amplifies", "mechanism-1-from-three-tokens"),
    ),
    Sentence(
        "Mechanism 1",
        "mechanism, second half",
        "subtle structural patterns that linear attention's simple summation cannot capture",
        "Linear attention that divides by its row sum, behind this network and its threshold, stays silent. That is "
        "all we prove. The card's “cannot” is wider, and taken widely it fails: another readout of the same outputs, "
        "or linear attention without the division, does see the mark, as the sentences of Mechanisms 2 and 3 show.",
        ("main-theorem-linear-silent",),
    ),
    Sentence(
        "Mechanism 1",
        "core assumption",
        "There exist binary classification datasets where the distinguishing feature requires non-linear normalization "
        "of attention weights.",
        "Read with the threshold τ of the theorem: of the four ways to switch the exponential and the normalisation on "
        "and off, only both together separate. Nothing is required of a network that may choose a threshold for each "
        "n: then three of the four separate, as the chapter on the mechanisms shows.",
        ("only-exp-normalised-separates",),
    ),
    Sentence(
        "Mechanism 1",
        "break condition",
        "If the dataset patterns can be captured by linear combinations of query-key products without exponential "
        "scaling.",
        "Then linear attention should separate too. A mark of order √n is seen by linear attention at the same τ, and "
        "it separates D₀ from such a D₁.",
        ("break-1-strong-mark", "break-1-linear-separates"),
    ),
    Sentence(
        "Mechanism 2",
        "claim",
        "softmax attention's normalization factor preserves information about relative attention magnitudes that "
        "linear attention loses",
        "Dividing by the sum of a row leaves the ratios of its weights alone, in both attentions. So if this preserves "
        "what separates, normalised linear attention should separate at the same τ.",
        ("mechanism-2-normalising-preserves",),
    ),
    Sentence(
        "Mechanism 2",
        "mechanism, first sentence",
        "the normalization factor αexp ensures that the attention weights sum to 1, preserving relative magnitude "
        "information",
        "Both halves are true of softmax; and of linear attention with positive scores as well, once it is divided by "
        "its row sum.",
        ("normaliser-keeps-ratios",),
    ),
    Sentence(
        "Mechanism 2",
        "mechanism, second sentence: the lack",
        "Linear attention's lack of this normalization",
        "The card names f_lin beside f_exp, and does not define it. We complete it as u_lin divided by its sum, and "
        "then the lack is not there: its weights sum to 1 because we made them so. With f_lin = u_lin the lack is "
        "real, and the next block is about that case.",
        ("mechanism-2-no-normaliser",),
    ),
    Sentence(
        "Mechanism 2",
        "mechanism, second sentence: the loss",
        "causes information loss in cases where relative magnitude differences are crucial for classification",
        "If so, linear attention without the division should separate D₀ from D₁ at no threshold whatever.",
        ("mechanism-2-information-lost",),
    ),
    Sentence(
        "Mechanism 2",
        "core assumption",
        "The distinguishing features between D0 and D1 datasets depend on relative magnitudes of attention weights "
        "rather than absolute values.",
        "In both data sets the weights of a row sum to 1, and they differ in the marked token's weight relative to the "
        "others alone.",
        ("lemma-d-2-weights",),
    ),
    Sentence(
        "Mechanism 2",
        "break condition",
        "If the distinguishing features can be captured by linear transformations of query-key products without "
        "requiring relative magnitude preservation.",
        "They can: the plain sum of all scores, which is linear in them, is larger on D₁ than on D₀.",
        ("break-2-sum-of-scores",),
    ),
    Sentence(
        "Mechanism 3",
        "claim",
        "exponential scaling creates separable feature spaces that linear scaling cannot achieve",
        "Without noise it fails, like the next sentence: the outputs of both are separable. We add noise of a fixed "
        "size to every output. Then the best readout of softmax's outputs gets better with n, and every readout of "
        "normalised linear attention becomes a coin toss.",
        ("readout-separation", "readout-linear-fades"),
    ),
    Sentence(
        "Mechanism 3",
        "mechanism, first half",
        "softmax attention creates decision boundaries that perfectly separate the classes",
        "With high probability over random networks, not always: softmax fires on D₁ and is silent on D₀ except with "
        "the probabilities that the theorem bounds.",
        ("main-theorem-softmax-fires", "main-theorem-softmax-silent"),
    ),
    Sentence(
        "Mechanism 3",
        "mechanism, second half",
        "linear attention creates overlapping regions that cannot be separated by any linear classifier",
        "Taken as it stands: no direction exists along which all outputs on D₁ lie above all outputs on D₀. One "
        "coordinate is such a direction.",
        ("mechanism-3-no-linear-classifier",),
        own=True,
    ),
    Sentence(
        "Mechanism 3",
        "core assumption",
        "The datasets can be constructed with specific sparsity and scaling properties that exploit the fundamental "
        "differences between exponential and linear attention mechanisms.",
        "They can: this is Lemma D.2 and the theorem, completed with matrices.",
        ("lemma-d-2-scores", "main-theorem"),
    ),
    Sentence(
        "Mechanism 3",
        "break condition, sizes",
        "If the dataset construction assumptions (n = (d-2)t, specific parameter bounds) are violated",
        "The card says that the mechanism may break then. We test more than it says: that one token too many breaks "
        "it. Classes of unequal sizes have a theorem of their own.",
        ("break-3-sizes-must-match",),
    ),
    Sentence(
        "Mechanism 3",
        "break condition, bounds",
        "specific parameter bounds",
        "The card gives no bounds. Those of the book are a₀ at most 0.1 and a₁ at least 0.7; again we test more than "
        "the card says: that a₀ = 0.3 breaks the separation.",
        ("break-3-bounds-must-hold",),
    ),
    Sentence(
        "Mechanism 3",
        "break condition, second half",
        "or if the exponential scaling does not create the required separation",
        "That happens: with a mark below 1/φ = 0.618…, the inverse of the golden ratio, softmax loses it as n grows.",
        ("golden-ratio-law", "golden-ratio-collapse"),
    ),
    Sentence(
        "Foundational Learning",
        "quick check 1",
        "What is the dimension of A1 ⊗ A2 when A1 ∈ Rn×d and A2 ∈ Rn×d?",
        "n² rows and d² columns.",
        ("kronecker-shape",),
        asks=True,
    ),
    Sentence(
        "Foundational Learning",
        "quick check 2",
        "How does the softmax normalization αexp(A, x) = ⟨uexp(A, x), 1n⟩ affect the relative magnitudes of attention "
        "weights compared to linear attention?",
        "It leaves them alone, in both attentions. What differs is what is divided: a softmax row does not change when "
        "the same number is added to all scores; a linear row does not change when all scores are multiplied by the "
        "same number, other than 0.",
        ("normaliser-keeps-ratios", "softmax-ignores-shifts", "linear-ignores-scale"),
        asks=True,
    ),
    Sentence(
        "Foundational Learning",
        "quick check 3",
        "What does Hoeffding inequality tell us about the probability that the sum of bounded random variables "
        "deviates from its expected value?",
        "For a sum of signs with weights u it is at most exp(−s²/(2‖u‖²)) to exceed s, and twice that on both sides.",
        ("hoeffding-one-sided", "hoeffding-two-sided"),
        asks=True,
    ),
    Sentence(
        "Architecture Onboarding",
        "design tradeoffs",
        "O(n²) complexity, while linear attention offers O(n) complexity",
        "The half of the sentence about costs; the other half is what the mechanisms are about. At fixed width, the "
        "products take 2n²d and 2nd² + 2nd multiply-adds, and measured times follow with exponents near 2 and 1.",
        ("attention-cost", "cost-exponents"),
    ),
    Sentence(
        "Architecture Onboarding",
        "experiment 1",
        "verify they produce different outputs on synthetic datasets with known distinguishing features",
        "The outputs of the marked row differ by a known amount.",
        ("mechanisms-differ",),
        asks=True,
    ),
    Sentence(
        "Architecture Onboarding",
        "experiment 2",
        "confirm that softmax succeeds where linear fails",
        "Real matrices, random networks: softmax answers more than 85 % of the draws of D₀ and D₁ rightly, linear "
        "attention half of them.",
        ("main-theorem-classifies",),
        asks=True,
    ),
    Sentence(
        "Architecture Onboarding",
        "experiment 3",
        "Vary the parameters (n, d, m, a0, a1, c) to understand the sensitivity of the performance gap",
        "Each of the two networks can err in two ways: it fires on D₀, or it does not do on D₁ what the theorem says. "
        "In a region of the parameters all four errors stay at most 1 %. Beyond each side of this region there is a "
        "point where one does not, unless the parameter ends there; d and t may be as large as one likes.",
        ("one-parameter-at-a-time", "robust-region", "robust-region-walls"),
        asks=True,
    ),
    Sentence(
        "Open Questions",
        "question 1",
        "Can the theoretical framework developed for softmax and linear attention be extended to analyze other "
        "attention mechanisms, such as sparse attention or kernel-based attention?",
        "Yes, for kernels whose rows see all tokens and give all ordinary ones the same weight: for large d one "
        "number, the larger gain of the marked token, decides. Rows that see few tokens need more.",
        ("which-attentions-separate",),
        asks=True,
    ),
    Sentence(
        "Open Questions",
        "question 2",
        "How do the performance differences between softmax and linear attention mechanisms scale with sequence length "
        "and embedding dimension?",
        "As d grows at fixed t, the probabilities that softmax fires on D₀ and that linear attention fires at all "
        "vanish; as n grows at fixed d they do not, if 1 − c is above 0.1.",
        ("scaling-in-d", "scaling-in-n", "scaling-width-floor"),
        asks=True,
    ),
    Sentence(
        "Open Questions",
        "question 3",
        "Are there specific types of tasks or data distributions where linear attention mechanisms can outperform "
        "softmax attention, despite the theoretical limitations identified in this paper?",
        "Yes: telling a quarter of marked tokens from three quarters, for large n and d, at a threshold half-way "
        "between what linear attention gives to the two.",
        ("counting-linear", "counting-softmax-cannot"),
        asks=True,
    ),
    Sentence(
        "Limitations",
        "first",
        "specific parameter regimes (n = (d-2)t, careful choices of a0, a1, and c) that may not generalize to "
        "practical scenarios",
        "Unequal classes are covered while no class holds too many tokens, and the four errors stay below 1 % over a "
        "region of the parameters. Whether that is practical, no run decides.",
        ("ragged-softmax-fires", "ragged-silent", "robust-region"),
        asks=True,
    ),
    Sentence(
        "Limitations",
        "second",
        "idealized conditions including bounded inputs and specific distributional properties that may not hold in "
        "real-world datasets",
        "Noise in every entry: as it grows, softmax first begins to fire on D₀, and only later misses the mark on D₁.",
        ("perturbed-fires", "perturbed-silent", "perturbed-silence-breaks-first"),
        asks=True,
    ),
    Sentence(
        "Limitations",
        "third",
        "it's unclear whether the same performance gap exists for multi-class or regression problems",
        "It does for eight strengths to be told apart, and for the strength to be estimated, with noise in the "
        "outputs.",
        ("many-strengths", "regression"),
        asks=True,
    ),
    Sentence(
        "Confidence",
        "high",
        "The core claim that softmax attention can distinguish between certain dataset pairs while linear attention "
        "cannot is well-supported by the theoretical construction and proofs provided.",
        "The claim holds, completed by us where the card is silent. The proofs of the paper are not in the card, so "
        "the book judges its own.",
        ("main-theorem",),
    ),
    Sentence(
        "Confidence",
        "high, second sentence",
        "The mechanism involving exponential normalization preserving relative magnitude information is mathematically "
        "sound.",
        "As in Mechanism 2: the ratios of the weights are kept, but in both attentions. So taken as the reason for the "
        "difference, normalised linear attention should separate at the same τ.",
        ("mechanism-2-normalising-preserves",),
    ),
    Sentence(
        "Confidence",
        "medium",
        "depends on whether real-world datasets exhibit the specific structural properties required for the "
        "performance difference to manifest",
        "Nothing in the book is a real-world data set with this structure.",
    ),
    Sentence(
        "Confidence",
        "low",
        "The claim that this performance edge is the primary reason for softmax's dominance in practical transformer "
        "applications is not directly supported.",
        "The book does not support it either. Trained models show where the two differ, not why practice prefers one.",
    ),
    Sentence(
        "Next Checks",
        "first",
        "empirically verify that softmax attention consistently outperforms linear attention on these datasets across "
        "multiple random seeds and parameter variations",
        "Constructed networks fire as the law says, at random parameters too. Of trained ones on noisy data of this "
        "kind those that see attention's output alone are clearly better with softmax than with linear attention "
        "without a feature map. Of other kernels softmax is hardly told apart, in full blocks of one alone: not "
        "consistently.",
        ("random-parameters", "edge-learnt", "edge-learnt-full"),
        asks=True,
    ),
    Sentence(
        "Next Checks",
        "second",
        "determine the robustness of the performance gap and identify the parameter ranges where the advantage is most "
        "pronounced",
        "The same region and its walls as for experiment 3.",
        ("one-parameter-at-a-time", "robust-region", "robust-region-walls"),
        asks=True,
    ),
    Sentence(
        "Next Checks",
        "third",
        "Evaluate both attention mechanisms on established benchmark datasets used in transformer literature",
        "With small models: associative recall as it was published, multi-query recall with its authors' data, "
        "handwritten digits as sequences, and short ListOps. In recall softmax is ahead of kernels that have few "
        "features, on the digits and in ListOps it is not told apart from elu+1. None of them decides the question "
        "for large models.",
        ("recall-learnt", "recall-reproduces", "mqar-learnt", "digits-learnt", "listops-learnt"),
        asks=True,
    ),
)


@dataclass(frozen=True)
class Words:
    """The sentences of one part of the card, each with the book's reading and the verdict of a run."""

    sentences: tuple
    verdicts: dict

    def __repr__(self):
        return "\n\n".join("\n".join(self._lines(sentence)) for sentence in self.sentences)

    def _lines(self, sentence):
        yield f"{sentence.place}: “{sentence.words}”"
        yield f"  Read as: {sentence.reading}"
        names = ", ".join(f"{id} ({self.verdicts.get(id, 'not run')})" for id in sentence.claims)
        yield f"  {sentence._verdict(self.verdicts)}{' ' + names if names else ''}"

    def _repr_html_(self):
        return "\n".join(map(self._block, self.sentences))

    def _block(self, sentence):
        claims = ", ".join(
            f"{Link(id, LEDGER[id].chapter).html} ({self.verdicts.get(id, 'not run')}, {LEDGER[id].level})"
            for id in sentence.claims
        )
        return (
            f'<div class="card-sentence"><p class="card-place">{escape(sentence.place)}</p>\n'
            f"<blockquote><p>{escape(sentence.words)}</p></blockquote>\n"
            f"<p>{escape(sentence.reading)}</p>\n"
            f"<p><strong>{escape(sentence._verdict(self.verdicts))}</strong> {claims}</p></div>"
        )


def card_words(part, record=None):
    """Return what the source card says in one of its parts, how the book reads it, and what a run found.

    Parameters
    ----------
    part : str
        One of `PARTS`.
    record : dict, optional
        Record of a run, as from ``record.read_record``; left out, the stored one.

    Returns
    -------
    Words
        HTML in a notebook, text in a terminal.

    Raises
    ------
    ValueError, TypeError
        If there is no such part, or the record is none.

    Examples
    --------
    >>> print(str(card_words("Open Questions")).splitlines()[-1])
      Our answer holds. counting-linear (holds), counting-softmax-cannot (holds)
    """
    require_choice("part", part, PARTS)
    record = read_record() if record is None else require_record(record)
    sentences = tuple(sentence for sentence in SENTENCES if sentence.part == part)
    return Words(sentences, {id: row["verdict"] for id, row in record.items()})
