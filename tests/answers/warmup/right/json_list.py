# right: a list as JSON, so that no id can look like another one's step
import json


def effect_key(*parts: str) -> str:
    return json.dumps(parts)
