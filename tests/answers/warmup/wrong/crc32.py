# wrong: a checksum of 32 bits is no name: plumless and buckeroo have one
# diagnosed: a digest that is too short
from zlib import crc32


def effect_key(task_id, step):
    return f"{crc32(f'{task_id}:{step}'.encode()):x}"
