"""The coach model in torch: a llama decoder with tied embeddings and interleaved rotary pairs."""

# Torch is no part of the usual environment, where its classes are unknown.
# mypy: disallow-subclassing-any=False

import math
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.coach.shape import CONTEXT_TOKENS, NORM_EPSILON, ROPE_BASE, Shape

INITIAL_SPREAD = 0.02


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of neighbouring pairs, the layout that llama.cpp expects of GGUF files."""
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack((first * cos - second * sin, first * sin + second * cos), -1).flatten(-2)


@cache
def causal_mask(tokens: int, groups: int, dtype: torch.dtype) -> Tensor:
    """Minus infinity where a token would see a later one, once for each head of a group."""
    mask = torch.full((tokens, tokens), -math.inf, dtype=dtype).triu(1)
    return mask.repeat(groups, 1)


class Norm(nn.Module):
    """Root-mean-square normalisation with a learned scale."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last dimension."""
        return functional.rms_norm(x, (x.shape[-1],), self.weight, NORM_EPSILON)


class Block(nn.Module):
    """Attention with grouped key-value heads, then a gated feed-forward layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width, kv_width = shape.width, shape.kv_heads * shape.head_width
        self.attn_norm = Norm(width)
        self.attn_q = nn.Linear(width, width, bias=False)
        self.attn_k = nn.Linear(width, kv_width, bias=False)
        self.attn_v = nn.Linear(width, kv_width, bias=False)
        self.attn_output = nn.Linear(width, width, bias=False)
        self.ffn_norm = Norm(width)
        self.ffn_gate = nn.Linear(width, shape.hidden, bias=False)
        self.ffn_up = nn.Linear(width, shape.hidden, bias=False)
        self.ffn_down = nn.Linear(shape.hidden, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """One layer over (batch, tokens, width)."""
        x = x + self._attend(self.attn_norm(x), cos, sin)
        h = self.ffn_norm(x)
        out: Tensor = x + self.ffn_down(functional.silu(self.ffn_gate(h)) * self.ffn_up(h))
        return out

    def _attend(self, h: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, tokens, _ = h.shape
        shape = self.shape
        groups = shape.heads // shape.kv_heads

        def heads(x: Tensor, count: int) -> Tensor:
            return x.view(batch, tokens, count, shape.head_width).transpose(1, 2)

        v = heads(self.attn_v(h), shape.kv_heads).reshape(-1, tokens, shape.head_width)
        cos, sin = cos.to(v.dtype), sin.to(v.dtype)
        q = rotate(heads(self.attn_q(h), shape.heads), cos, sin)
        k = rotate(heads(self.attn_k(h), shape.kv_heads), cos, sin)
        # All query heads of one key-value head are one matrix: a third of the time of torch's
        # own attention on a CPU, whose backward pass is slow for short rows.
        q = q.reshape(-1, groups * tokens, shape.head_width)
        k = k.reshape(-1, tokens, shape.head_width)
        mask = causal_mask(tokens, groups, q.dtype)
        with torch.autocast("cpu", enabled=False):
            scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=shape.head_width**-0.5)
            y = torch.bmm(scores.softmax(-1), v)
        y = y.view(batch, shape.heads, tokens, shape.head_width).transpose(1, 2)
        out: Tensor = self.attn_output(y.reshape(batch, tokens, shape.width))
        return out


class Coach(nn.Module):
    """The decoder; `forward` gives the hidden states, `logits` the scores of chosen ones."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.vocabulary, shape.width)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = Norm(shape.width)
        self._initialise()
        half = torch.arange(0, shape.head_width, 2).float() / shape.head_width
        angle = torch.arange(CONTEXT_TOKENS).float()[:, None] / ROPE_BASE**half
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def _initialise(self) -> None:
        residual = INITIAL_SPREAD / math.sqrt(2 * self.shape.layers)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                last = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(parameter, 0.0, residual if last else INITIAL_SPREAD)

    def forward(self, tokens: Tensor) -> Tensor:
        """Hidden states of (batch, tokens) ids."""
        count = tokens.shape[1]
        h = self.token_embd(tokens)
        for block in self.blk:
            h = block(h, self.cos[:count], self.sin[:count])
        out: Tensor = self.output_norm(h)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores over the vocabulary; the embedding is also the output matrix."""
        return functional.linear(hidden, self.token_embd.weight)
