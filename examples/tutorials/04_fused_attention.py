"""Fused attention, forward: softmax(Q K^T scale) V without the weights in memory, causal or not.

One program for each cube core takes blocks of query rows in turn. A causal block is done in two steps: keys before the
block, which all its rows see, and keys inside it, which need a mask.
"""

import table
import torch
import torch_npu
import triton
import triton.language as tl

DEVICE = "npu"
CORES = 20


@triton.jit
def inner(
    out,
    total,
    largest,
    q,
    k_block,
    v_block,
    low,
    high,
    scale,
    rows,
    BLOCK_N: tl.constexpr,
    MASKED: tl.constexpr,
):
    k_block = tl.advance(k_block, (low, 0))
    v_block = tl.advance(v_block, (low, 0))
    for start in range(low, high, BLOCK_N):
        k = tl.load(k_block)
        scores = tl.dot(q, tl.trans(k)) * scale
        if MASKED:
            columns = start + tl.arange(0, BLOCK_N)
            scores = scores + tl.where(rows[:, None] >= columns[None, :], 0.0, -1.0e6)
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.math.exp(scores - new_largest[:, None])
        shrink = tl.math.exp(largest - new_largest)
        total = total * shrink + tl.sum(weights, 1)
        v = tl.load(v_block)
        out = out * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        largest = new_largest
        k_block = tl.advance(k_block, (BLOCK_N, 0))
        v_block = tl.advance(v_block, (BLOCK_N, 0))
    return out, total, largest


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    log_sum_ptr,
    out_ptr,
    scale,
    stride_batch,
    stride_head,
    stride_row,
    Z: tl.constexpr,
    H: tl.constexpr,
    N_CTX: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    blocks_of_rows = N_CTX // BLOCK_M
    for block in range(tl.program_id(0), blocks_of_rows * Z * H, tl.num_programs(0)):
        head = block // blocks_of_rows
        first = block % blocks_of_rows * BLOCK_M
        base = (head // H).to(tl.int64) * stride_batch + (head % H).to(tl.int64) * stride_head
        q_block = tl.make_block_ptr(
            q_ptr + base, (N_CTX, HEAD_DIM), (stride_row, 1), (first, 0), (BLOCK_M, HEAD_DIM), (1, 0)
        )
        k_block = tl.make_block_ptr(
            k_ptr + base, (N_CTX, HEAD_DIM), (stride_row, 1), (0, 0), (BLOCK_N, HEAD_DIM), (1, 0)
        )
        v_block = tl.make_block_ptr(
            v_ptr + base, (N_CTX, HEAD_DIM), (stride_row, 1), (0, 0), (BLOCK_N, HEAD_DIM), (1, 0)
        )
        o_block = tl.make_block_ptr(
            out_ptr + base, (N_CTX, HEAD_DIM), (stride_row, 1), (first, 0), (BLOCK_M, HEAD_DIM), (1, 0)
        )
        rows = first + tl.arange(0, BLOCK_M)
        q = tl.load(q_block)
        out = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
        total = tl.zeros([BLOCK_M], dtype=tl.float32)
        largest = tl.full([BLOCK_M], -1.0e30, dtype=tl.float32)
        if CAUSAL:
            out, total, largest = inner(out, total, largest, q, k_block, v_block, 0, first, scale, rows, BLOCK_N, False)
            out, total, largest = inner(
                out, total, largest, q, k_block, v_block, first, first + BLOCK_M, scale, rows, BLOCK_N, True
            )
        else:
            out, total, largest = inner(out, total, largest, q, k_block, v_block, 0, N_CTX, scale, rows, BLOCK_N, False)
        tl.store(log_sum_ptr + head * N_CTX + rows, largest + tl.math.log(total))
        tl.store(o_block, (out / total[:, None]).to(out_ptr.type.element_ty))


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, scale, block_m, block_n):
        """q, k, v: batch x heads x context x head dimension, contiguous; the context is a multiple of both blocks."""
        z, heads, context, head_dim = q.shape
        assert head_dim == k.shape[-1] == v.shape[-1] and head_dim in {16, 32, 64, 128}
        assert q.is_contiguous() and k.is_contiguous() and v.is_contiguous()
        assert context % block_m == 0 == context % block_n and (not causal or block_m % block_n == 0)
        out = torch.empty_like(q)
        log_sum = torch.empty((z, heads, context), device=q.device, dtype=torch.float32)
        attention_kernel[(CORES,)](
            q, k, v, log_sum, out, scale, q.stride(0), q.stride(1), q.stride(2), Z=z, H=heads, N_CTX=context,
            HEAD_DIM=head_dim, BLOCK_M=block_m, BLOCK_N=block_n, CAUSAL=causal,
        )  # fmt: skip
        ctx.save_for_backward(q, k, v, out, log_sum)
        return out


attention = Attention.apply


def random_heads(z: int, heads: int, context: int, head_dim: int, dtype: torch.dtype) -> torch.Tensor:
    empty = torch.empty((z, heads, context, head_dim), dtype=dtype, device=DEVICE)
    return empty.normal_(mean=0.0, std=0.5).requires_grad_()


def check(z, heads, context, head_dim, causal, dtype, block_m, block_n) -> None:
    torch.manual_seed(20)
    q, k, v = (random_heads(z, heads, context, head_dim, dtype) for _ in range(3))
    scale = 0.5
    result = attention(q, k, v, causal, scale, block_m, block_n)
    hidden = torch.triu(torch.ones((context, context), device=DEVICE), diagonal=1).bool() if causal else None
    scores = torch.matmul(q, k.transpose(2, 3)).float() * scale
    if causal:
        scores = scores.masked_fill(hidden, float("-inf"))
    references = {
        "matmul and softmax": torch.matmul(torch.softmax(scores, dim=-1).to(dtype), v),
        "scaled_dot_product_attention": torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=scale
        ),
        "npu_fusion_attention": torch_npu.npu_fusion_attention(
            q, k, v, heads, input_layout="BNSD", scale=scale, atten_mask=hidden
        )[0],
    }
    for name, expected in references.items():
        torch.testing.assert_close(result, expected, atol=1e-2, rtol=1e-2, msg=lambda m, name=name: f"{name}: {m}")
    kind = "causal" if causal else "full"
    print(f"{kind} attention of {(z, heads, context, head_dim)}, {dtype}: equals {', '.join(references)}")


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N_CTX"],
        x_vals=[128, 256],
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="TFLOPS",
        plot_name="fused-attention-forward",
        args={"Z": 1, "H": 4, "HEAD_DIM": 64},
    )
)
def benchmark(Z, H, N_CTX, HEAD_DIM, provider):
    q, k, v = (random_heads(Z, H, N_CTX, HEAD_DIM, torch.float16) for _ in range(3))
    run = {
        "triton": lambda: attention(q, k, v, False, 0.5, 64, 64),
        "torch": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.5),
    }[provider]
    milliseconds = triton.testing.do_bench(run, warmup=1, rep=2, return_mode="median")
    return 4 * Z * H * N_CTX * N_CTX * HEAD_DIM * 1e-12 / (milliseconds * 1e-3)


def main() -> None:
    check(1, 1, 128, 128, causal=False, dtype=torch.float16, block_m=32, block_n=128)
    check(1, 2, 256, 64, causal=False, dtype=torch.bfloat16, block_m=64, block_n=128)
    check(2, 3, 256, 64, causal=True, dtype=torch.float16, block_m=64, block_n=32)
    table.show(benchmark)


if __name__ == "__main__":
    main()
