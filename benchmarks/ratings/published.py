"""Published test errors of the same tables, and how each was obtained.

``selection`` says on what the number of epochs was chosen, as far as the published code tells.
"""

from dataclasses import dataclass

TEST = "**on the test part**: the best epoch's error"
FIXED = "a fixed number, error of the last"
VALIDATION = "on a share of the training part"
UNKNOWN = "not known to us"


@dataclass(frozen=True, slots=True)
class Published:
    """A published root mean squared error."""

    method: str
    rmse: str
    split: str
    selection: str
    source: str


_U1 = "u1"
_MONTI = "Monti's"
_TENTH = "random 90/10"
_GLOCAL = "Han et al., CIKM 2021"
_IMC_GAE = "Shen et al., CIKM 2021"
_GC_MC = "van den Berg, Kipf & Welling, 2017"
_IGMC = "Zhang & Chen, ICLR 2020"
_SPARSE_FC = "Muller, Martel & Indiveri, ICML 2018; code"

ML_100K = (
    Published("GLocal-K", ".8889", _U1, TEST, _GLOCAL),
    Published("MG-GAT, with user and item features", ".890", _U1, UNKNOWN, "Leng et al., 2020"),
    Published("IMC-GAE", ".8967", _U1, VALIDATION, _IMC_GAE),
    Published("GC-MC, with features", ".905", _U1, FIXED, _GC_MC),
    Published("IGMC", ".905", _U1, FIXED, _IGMC),
)
ML_1M_TENTH = (
    Published("GLocal-K", ".8227", f"{_TENTH}, one split", TEST, _GLOCAL),
    Published("SparseFC", ".823", f"{_TENTH}", FIXED, _SPARSE_FC),
    Published("IMC-GAE", ".8290", f"{_TENTH}", VALIDATION, _IMC_GAE),
    Published("CF-NADE", ".829", f"{_TENTH}, five splits", VALIDATION, "Zheng et al., ICML 2016"),
    Published("GC-MC", ".832", f"{_TENTH}, five splits", FIXED, _GC_MC),
    Published("FedPerGNN, federated", ".839", "theirs", UNKNOWN, "Wu et al., Nat. Commun. 2022"),
)
DOUBAN = (
    Published("GLocal-K", ".7208", _MONTI, TEST, _GLOCAL),
    Published("IGMC", ".721", _MONTI, FIXED, _IGMC),
    Published("IMC-GAE", ".7211", _MONTI, VALIDATION, _IMC_GAE),
    Published("GC-MC, with features", ".734", _MONTI, FIXED, _GC_MC),
)
FLIXSTER = (
    Published("IGMC", ".872", _MONTI, FIXED, _IGMC),
    Published("IMC-GAE", ".8838", _MONTI, VALIDATION, _IMC_GAE),
    Published("GC-MC, with features", ".917", _MONTI, FIXED, _GC_MC),
)
YAHOO_MUSIC = (
    Published("IMC-GAE", "18.7018", _MONTI, VALIDATION, _IMC_GAE),
    Published("IGMC", "19.1", _MONTI, FIXED, _IGMC),
    Published("GC-MC, with features", "20.5", _MONTI, FIXED, _GC_MC),
)
ML_10M = (
    Published("CF-NADE", ".771", f"{_TENTH}, five splits", VALIDATION, "Zheng et al., ICML 2016"),
    Published("GC-MC", ".777", f"{_TENTH}, five splits", FIXED, _GC_MC),
)
