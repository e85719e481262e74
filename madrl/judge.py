"""One response before a classifier and a verifier, whatever these do: the same step in training and on files."""

import logging

from madrl.classifiers import Classifier
from madrl.rollout import Classification, Rollout, Verification
from madrl.verifiers import Verifier

logger = logging.getLogger(__name__)


def classify_response(classifier: Classifier, name: str, rollout: Rollout) -> Classification:
    """The classifier's word. RuntimeError that carries ``name`` when it raises: a classifier is pure and ours to mend,
    and a category must not be made up."""
    try:
        return classifier(rollout)
    except Exception as error:
        logger.exception("classifier %s raised", name)
        raise RuntimeError(f"classifier {name} raised {type(error).__name__}: {error}") from error


async def verify_response(verifier: Verifier, name: str, rollout: Rollout) -> Verification:
    """The verifier's word; unjudged when it raises, since that is nothing the response can be blamed for."""
    try:
        return await verifier(rollout)
    except Exception as error:
        logger.exception("verifier %s raised", name)
        return Verification(None, reason=f"verifier raised {type(error).__name__}: {error}")
