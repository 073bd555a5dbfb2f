"""Unpacking a body by its bytes."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from sitemon_spider.core.reasons import Reason
from sitemon_spider.core.unpack import MAX_UNPACKED, unpack

MIB = 1 << 20
XML = b"<urlset><url><loc>https://e.com/</loc></url></urlset>"


def packed(data: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        data = gzip.compress(data, 1, mtime=0)
    return data


@pytest.mark.parametrize("body", [b"", b"\x1f", b"\x1f\x8b", b"\x1f\x8b\x07 not deflate", XML])
def test_a_plain_body_stays_as_it_is(body):
    unpacked = unpack(body)
    assert (unpacked.data, unpacked.cut, unpacked.layers) == (body, None, 0)
    assert not unpacked.notes


@pytest.mark.parametrize("layers", [1, 2])
def test_gzip_is_told_by_its_magic_number_up_to_two_layers(layers):
    unpacked = unpack(packed(XML, layers))
    assert (unpacked.data, unpacked.cut, unpacked.layers) == (XML, None, layers)
    assert unpacked.notes == ({"gzip_double": 1} if layers == 2 else {})


def test_a_third_layer_stays_packed():
    unpacked = unpack(packed(XML, 3))
    assert (unpacked.data, unpacked.layers) == (packed(XML), 2)


def test_the_digest_is_that_of_the_unpacked_bytes():
    assert unpack(packed(XML)).digest == xxhash.xxh3_128_hexdigest(XML) == unpack(XML).digest


def test_a_gzip_is_a_series_of_members():
    """RFC 1952 §2.2."""
    unpacked = unpack(packed(XML) + packed(b"") + packed(b"tail"))
    assert (unpacked.data, unpacked.cut) == (XML + b"tail", None)
    assert unpacked.notes == {"gzip_members": 2}


@pytest.mark.parametrize("tail", [b"\0" * 512, b"\n", b"<!-- cached -->", b"\x1f\x8b"])
def test_what_follows_the_last_member_and_is_none_is_ignored_and_noted(tail):
    unpacked = unpack(packed(XML) + tail)
    assert (unpacked.data, unpacked.cut) == (XML, None)
    assert unpacked.notes == {"gzip_tail": 1}


@pytest.mark.parametrize("missing", range(1, 9))
def test_a_gzip_without_its_whole_trailer_is_cut(missing):
    unpacked = unpack(packed(XML)[:-missing])
    assert (unpacked.data, unpacked.cut) == (XML, Reason.TRUNCATED)


@pytest.mark.parametrize("kept", [3, 9, 10, 11])
def test_a_gzip_cut_in_its_header_is_cut_and_not_plain(kept):
    assert unpack(packed(XML)[:kept]).cut is Reason.TRUNCATED


def test_a_cut_member_after_a_whole_one_is_a_cut():
    unpacked = unpack(packed(XML) + packed(XML)[:-20])
    assert unpacked.data.startswith(XML)
    assert unpacked.cut is Reason.TRUNCATED


def test_a_cut_in_either_layer_is_a_cut():
    for body in (packed(packed(XML)[:-8]), packed(packed(XML))[:-8]):
        assert (unpack(body).data, unpack(body).cut) == (XML, Reason.TRUNCATED)


@pytest.mark.parametrize("position", [-1, -4, -5, -8])
def test_a_wrong_checksum_or_length_is_a_cut_that_keeps_what_came(position):
    text = random.Random(1).randbytes(300_000)
    body = bytearray(packed(text))
    body[position] ^= 1
    unpacked = unpack(bytes(body))
    assert unpacked.cut is Reason.TRUNCATED
    assert text.startswith(unpacked.data)
    assert len(unpacked.data) >= len(text) - 4096


def test_damage_in_the_middle_keeps_what_came_before_it():
    text = b"".join(b"<loc>https://e.com/%d</loc>" % n for n in range(200_000))
    body = bytearray(packed(text))
    middle = len(body) // 2
    body[middle : middle + 64] = b"\xff" * 64
    unpacked = unpack(bytes(body))
    assert unpacked.cut is Reason.TRUNCATED
    begin = text[: len(text) // 3]
    assert unpacked.data.startswith(begin)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_the_limit_counts_unpacked_bytes(layers):
    exact, over = packed(b"x" * 1000, layers), packed(b"x" * 1001, layers)
    assert unpack(exact, 1000).cut is None
    assert len(unpack(exact, 1000).data) == 1000
    assert unpack(over, 1000).cut is Reason.TOO_LARGE
    assert len(unpack(over, 1000).data) == 1000


def test_the_limit_holds_over_all_members():
    unpacked = unpack(packed(b"x" * 600) + packed(b"x" * 600), 1000)
    assert (len(unpacked.data), unpacked.cut) == (1000, Reason.TOO_LARGE)


def test_a_bomb_costs_the_cap_and_not_its_content():
    """[S2]."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(deflate.compress(bytes(MIB)) for _ in range(256)) + deflate.flush()
    tracemalloc.start()
    try:
        unpacked = unpack(packed(bomb), 4 * MIB)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(unpacked.data), unpacked.cut, unpacked.layers) == (4 * MIB, Reason.TOO_LARGE, 2)
    assert peak < 16 * MIB


def test_members_without_content_end_somewhere():
    assert unpack(packed(b"") * 10_001).cut is Reason.TOO_LARGE
    assert unpack(packed(b"") * 10_000).cut is None


def test_the_cap_is_what_the_protocol_allows_a_file():
    assert MAX_UNPACKED == 52_428_800


@given(st.lists(st.binary(max_size=3000), min_size=1, max_size=4), st.binary(max_size=9))
def test_unpacking_undoes_packing(members, tail):
    body = b"".join(packed(member) for member in members)
    unpacked = unpack(body + (b"\0" + tail if tail else b""))
    plain = b"".join(members)
    if not plain.startswith(b"\x1f\x8b\x08"):
        assert (unpacked.data, unpacked.cut) == (plain, None)


@pytest.mark.parametrize("size", [MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB + 7])
def test_sizes_at_the_edges_of_a_step_come_out_whole(size):
    data = (random.Random(size).randbytes(size // 2 + 1) * 2)[:size]
    unpacked = unpack(packed(data) + packed(data))
    assert (unpacked.data == data + data, unpacked.cut) == (True, None)


@given(st.binary(max_size=200))
def test_nothing_a_server_sends_raises(body):
    unpack(body)
    unpack(b"\x1f\x8b\x08" + body)
    unpack(packed(b"\x1f\x8b\x08" + body))
