# SPDX-License-Identifier: MIT
"""Attention and RotaryEmbedding of opset 23. Attention is defined head by head: scores, softcap, masks, softmax, in this order (the
errata of ONNX 1.22 to opset 23)."""
import numpy

from cases import node


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, mask=None, past=None, causal=False, scale=None, cap=0.0, heads=None):
    """y, present key, present value and the scores in their four states, in float64."""
    flat = q.ndim == 3
    if flat:
        q, k, v = (x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3) for x, n in zip((q, k, v), (heads[0], heads[1], heads[1])))
    before = past[0].shape[2] if past else 0
    if past:
        k, v = numpy.concatenate([past[0], k], 2), numpy.concatenate([past[1], v], 2)
    present = k, v
    shared = q.shape[1] // k.shape[1]
    k, v = k.repeat(shared, 1).astype("float64"), v.repeat(shared, 1).astype("float64")
    scale = q.shape[3] ** -0.5 if scale is None else scale
    states = [scale * q.astype("float64") @ k.swapaxes(2, 3)]
    states.append(cap * numpy.tanh(states[0] / cap) if cap else states[0])
    scores = states[1].copy()
    if causal:
        rows, columns = numpy.indices(scores.shape[2:])
        scores = numpy.where(columns <= rows + before, scores, -numpy.inf)
    if mask is not None:
        scores = numpy.where(mask, scores, -numpy.inf) if mask.dtype == bool else scores + mask
    states += [scores, softmax(scores)]
    y = states[3] @ v
    if flat:
        y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)
    return y, *present, states


def attention_cases(suite):
    def case(name, q, k, v, outputs="y", mode=None, attributes=None, mask=None, past=None, causal=False, scale=None, cap=0.0, opset=23,
             constants=()):
        attributes, heads = dict(attributes or {}), None
        if "q_num_heads" in attributes:
            heads = attributes["q_num_heads"], attributes["kv_num_heads"]
        for key, value in (("is_causal", int(causal)), ("scale", scale), ("softcap", cap), ("qk_matmul_output_mode", mode)):
            if value:
                attributes[key] = value
        y, key, value, states = attention(q, k, v, mask, past, causal, scale, cap, heads)
        given = {"q": q, "k": k, "v": v, "mask": mask, "past_key": past and past[0], "past_value": past and past[1]}
        names = " ".join(n if x is not None else "-" for n, x in given.items())
        made = {"y": y, "present_key": key, "present_value": value, "shown": states[mode or 0]}
        suite.case(name, opset, [node("Attention", names, outputs, **attributes)],
                   {n: x for n, x in given.items() if x is not None and n not in constants},
                   {n: made[n].astype("float32") for n in outputs.split() if n != "-"},
                   {n: given[n] for n in constants})

    q, k, v = suite.floats(2, 3, 4, 8), suite.floats(2, 3, 6, 8), suite.floats(2, 3, 6, 5)
    case("attention_4d", q, k, v)
    case("attention_4d_causal", q, k, v, causal=True)
    case("attention_4d_scaled", q, k, v, scale=0.25)
    case("attention_4d_softcap", q, k, v, cap=2.0)
    case("attention_4d_heads_as_attributes", q, k, v, attributes={"q_num_heads": 3, "kv_num_heads": 3})
    keep = suite.random.rand(4, 6) < 0.6
    keep[:, 0] = True
    case("attention_mask_of_bools", q, k, v, mask=keep)
    case("attention_mask_is_constant", q, k, v, mask=keep, constants=("mask",))
    case("attention_mask_of_bools_softcap", q, k, v, mask=keep, cap=1.5)
    case("attention_mask_of_bools_causal", q, k, v, mask=keep, causal=True)
    case("attention_mask_of_floats", q, k, v, mask=suite.floats(4, 6))
    case("attention_mask_3d", q, k, v, mask=suite.floats(3, 4, 6))
    case("attention_mask_4d_broadcast", q, k, v, mask=suite.floats(2, 1, 1, 6))
    case("attention_mask_of_floats_causal", q, k, v, mask=suite.floats(2, 3, 4, 6), causal=True)
    for mode in range(4):
        case(f"attention_shows_{mode}", q, k, v, "y - - shown", mode, mask=suite.floats(4, 6), cap=3.0)
    case("attention_shows_masked", q, k, v, "y - - shown", 3, causal=True)
    case("attention_present_without_past", q, k, v, "y present_key present_value")
    past = suite.floats(2, 3, 5, 8), suite.floats(2, 3, 5, 5)
    case("attention_past", q, k, v, "y present_key present_value", past=past)
    case("attention_past_not_shown", q, k, v, past=past)
    case("attention_past_causal", q, k, v, "y present_key present_value", past=past, causal=True)
    case("attention_past_mask", q, k, v, "y present_key present_value shown", 2, past=past, mask=suite.floats(4, 11))
    one = suite.floats(1, 4, 1, 8), suite.floats(1, 2, 1, 8), suite.floats(1, 2, 1, 8)
    case("attention_step_of_a_decoder", *one, "y present_key present_value", past=(suite.floats(1, 2, 7, 8), suite.floats(1, 2, 7, 8)),
         causal=True)
    q, k, v = suite.floats(2, 6, 4, 8), suite.floats(2, 2, 5, 8), suite.floats(2, 2, 5, 7)
    case("attention_groups_4d", q, k, v)
    case("attention_groups_4d_mask", q, k, v, "y - - shown", 2, mask=suite.floats(2, 6, 4, 5), cap=4.0)
    case("attention_groups_causal", q, k, v, causal=True)
    case("attention_one_head_for_all", q, k[:, :1], v[:, :1], "y present_key present_value")
    q, k, v = suite.floats(2, 4, 24), suite.floats(2, 6, 24), suite.floats(2, 6, 15)
    three = {"q_num_heads": 3, "kv_num_heads": 3}
    case("attention_3d", q, k, v, attributes=three)
    case("attention_3d_causal_present", q, k, v, "y present_key present_value", attributes=three, causal=True)
    case("attention_3d_all_outputs", q, k, v, "y present_key present_value shown", 1, attributes=three, cap=1.0, mask=keep)
    case("attention_3d_past", q, k, v, "y present_key present_value", attributes=three, past=past)
    q, k, v = suite.floats(2, 4, 24), suite.floats(2, 5, 8), suite.floats(2, 5, 12)
    case("attention_3d_groups", q, k, v, attributes={"q_num_heads": 6, "kv_num_heads": 2})
    case("attention_3d_one_head_for_all", q, k, v, attributes={"q_num_heads": 3, "kv_num_heads": 1})
    case("attention_softmax_in_double", q, k, v, attributes={"q_num_heads": 6, "kv_num_heads": 2, "softmax_precision": 11})
    case("attention_of_constants", q, k, v, "y present_key present_value shown", 2, attributes={"q_num_heads": 6, "kv_num_heads": 2},
         causal=True, constants=("q", "k", "v"))


def rotary(x, cosines, sines, ids=None, interleaved=0, turned=0, heads=0):
    four = x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)
    turned = turned or four.shape[3]
    c, s = (cache if ids is None else cache[ids] for cache in (cosines, sines))
    c, s = c[:, None], s[:, None]
    y = four.astype("float64").copy()
    first = slice(0, turned, 2) if interleaved else slice(0, turned // 2)
    second = slice(1, turned, 2) if interleaved else slice(turned // 2, turned)
    a, b = four[..., first], four[..., second]
    y[..., first], y[..., second] = c * a - s * b, s * a + c * b
    y = y if x.ndim == 4 else y.transpose(0, 2, 1, 3).reshape(x.shape)
    return y.astype("float32")


def rotary_cases(suite):
    def case(name, x, half, ids=None, **attributes):
        rows = (12, half) if ids is not None else (x.shape[0], x.shape[2 if x.ndim == 4 else 1], half)
        angle = suite.floats(*rows, low=0, high=6)
        caches = numpy.cos(angle), numpy.sin(angle)
        y = rotary(x, *caches, ids, attributes.get("interleaved", 0), attributes.get("rotary_embedding_dim", 0),
                   attributes.get("num_heads", 0))
        inputs = {"x": x, "cosines": caches[0], "sines": caches[1]}
        if ids is not None:
            inputs["ids"] = ids
        suite.case(name, 23, [node("RotaryEmbedding", " ".join(inputs), "y", **attributes)], inputs, {"y": y})

    x = suite.floats(2, 3, 4, 8)
    ids = suite.integers(2, 4, low=0, high=12)
    case("rotary_4d", x, 4)
    case("rotary_4d_positions", x, 4, ids)
    case("rotary_4d_interleaved", x, 4, ids, interleaved=1)
    case("rotary_4d_in_part", x, 3, ids, rotary_embedding_dim=6)
    case("rotary_4d_in_part_interleaved", x, 2, None, rotary_embedding_dim=4, interleaved=1)
    x = suite.floats(2, 4, 24)
    case("rotary_3d", x, 4, None, num_heads=3)
    case("rotary_3d_positions", x, 4, ids, num_heads=3)
    case("rotary_3d_in_part_interleaved", x, 2, ids, num_heads=3, rotary_embedding_dim=4, interleaved=1)


def cases(suite):
    attention_cases(suite)
    rotary_cases(suite)
