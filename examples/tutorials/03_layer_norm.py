"""Layer norm, forward and backward, as a torch.autograd.Function.

The backward pass takes two kernels: the first writes dx and, for each program, partial sums of dw and db over its rows;
the second adds up the partial sums.
"""

import table
import torch
import triton
import triton.language as tl

DEVICE = "npu"
PROGRAMS = 40  # share the rows in the backward pass


@triton.jit
def forward_kernel(
    x_ptr, y_ptr, weight_ptr, bias_ptr, mean_ptr, rstd_ptr, stride, n_columns, eps, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    sums = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, n_columns, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        sums += tl.load(x_ptr + columns, mask=columns < n_columns, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / n_columns
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, n_columns, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + columns, mask=columns < n_columns, other=0.0).to(tl.float32)
        centred = tl.where(columns < n_columns, x - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n_columns, BLOCK_SIZE):
        columns = start + tl.arange(0, BLOCK_SIZE)
        inside = columns < n_columns
        weight = tl.load(weight_ptr + columns, mask=inside).to(tl.float32)
        bias = tl.load(bias_ptr + columns, mask=inside).to(tl.float32)
        x = tl.load(x_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + columns, (x - mean) * rstd * weight + bias, mask=inside)


@triton.jit
def backward_kernel(
    dx_ptr,
    dy_ptr,
    partial_dw_ptr,
    partial_db_ptr,
    x_ptr,
    weight_ptr,
    mean_ptr,
    rstd_ptr,
    stride,
    n_rows,
    n_columns,
    BLOCK_SIZE: tl.constexpr,
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    inside = columns < n_columns
    weight = tl.load(weight_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    db = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for row in range(program, n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * stride + columns, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * stride + columns, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        normal = tl.where(inside, (x - mean) * rstd, 0.0)
        weighted = weight * dy
        along = tl.sum(normal * weighted, axis=0) / n_columns
        average = tl.sum(weighted, axis=0) / n_columns
        dx = (weighted - (normal * along + average)) * rstd
        tl.store(dx_ptr + row * stride + columns, dx, mask=inside)
        dw += dy * normal
        db += dy
    tl.store(partial_dw_ptr + program * n_columns + columns, dw, mask=inside)
    tl.store(partial_db_ptr + program * n_columns + columns, db, mask=inside)


@triton.jit
def add_partials_kernel(
    partial_dw_ptr, partial_db_ptr, dw_ptr, db_ptr, n_partials, n_columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    dw = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    db = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for start in range(0, n_partials, ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = (rows[:, None] < n_partials) & (columns[None, :] < n_columns)
        at = rows[:, None] * n_columns + columns[None, :]
        dw += tl.load(partial_dw_ptr + at, mask=inside, other=0.0)
        db += tl.load(partial_db_ptr + at, mask=inside, other=0.0)
    tl.store(dw_ptr + columns, tl.sum(dw, axis=0), mask=columns < n_columns)
    tl.store(db_ptr + columns, tl.sum(db, axis=0), mask=columns < n_columns)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, normalized_shape, weight, bias, eps):
        y = torch.empty_like(x)
        rows = x.reshape(-1, x.shape[-1])
        n_rows, n_columns = rows.shape
        mean = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
        rstd = torch.empty((n_rows,), dtype=torch.float32, device=x.device)
        forward_kernel[(n_rows,)](rows, y, weight, bias, mean, rstd, rows.stride(0), n_columns, eps, BLOCK_SIZE=1024)
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        rows = x.reshape(-1, x.shape[-1])
        n_rows, n_columns = rows.shape
        block = triton.next_power_of_2(n_columns)
        dx = torch.empty_like(dy)
        dw, db = torch.empty_like(weight), torch.empty_like(weight)
        programs = min(PROGRAMS, n_rows)
        partial_dw = torch.empty((programs, n_columns), dtype=torch.float32, device=x.device)
        partial_db = torch.empty_like(partial_dw)
        backward_kernel[(programs,)](
            dx, dy, partial_dw, partial_db, rows, weight, mean, rstd, rows.stride(0), n_rows, n_columns,
            BLOCK_SIZE=block,
        )  # fmt: skip
        add_partials_kernel[(triton.cdiv(n_columns, 128),)](
            partial_dw, partial_db, dw, db, programs, n_columns, ROWS=8, COLUMNS=128
        )
        return dx, None, dw, db, None


layer_norm = LayerNorm.apply


def check(n_rows: int, n_columns: int, dtype: torch.dtype, eps: float = 1e-5, tolerance: float = 1e-2) -> None:
    x = -2.3 + 0.5 * torch.randn((n_rows, n_columns), dtype=dtype, device=DEVICE)
    weight = torch.rand((n_columns,), dtype=dtype, device=DEVICE, requires_grad=True)
    bias = torch.rand((n_columns,), dtype=dtype, device=DEVICE, requires_grad=True)
    dy = 0.1 * torch.randn_like(x)
    x.requires_grad_(True)

    result = layer_norm(x, (n_columns,), weight, bias, eps)
    expected = torch.nn.functional.layer_norm(x, (n_columns,), weight, bias, eps).to(dtype)
    assert torch.allclose(result, expected, atol=tolerance, rtol=0)

    result.backward(dy, retain_graph=True)
    gradients = [tensor.grad.clone() for tensor in (x, weight, bias)]
    x.grad, weight.grad, bias.grad = None, None, None
    expected.backward(dy, retain_graph=True)
    for name, own, tensor in zip(("dx", "dw", "db"), gradients, (x, weight, bias)):
        assert torch.allclose(own, tensor.grad, atol=tolerance, rtol=1e-2), name
    print(f"layer norm of {n_rows} x {n_columns}, {dtype}: y, dx, dw and db equal torch")


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[512, 2048],
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="layer-norm-backward",
        args={"M": 256, "dtype": torch.float16, "mode": "backward"},
    )
)
def benchmark(M, N, dtype, provider, mode="backward", eps=1e-5):
    x = torch.randn((M, N), dtype=dtype, device=DEVICE).requires_grad_(True)
    weight = torch.rand((N,), dtype=dtype, device=DEVICE, requires_grad=True)
    bias = torch.rand((N,), dtype=dtype, device=DEVICE, requires_grad=True)
    function = {"triton": layer_norm, "torch": torch.nn.functional.layer_norm}[provider]

    def forward():
        return function(x, (N,), weight, bias, eps)

    if mode == "forward":
        run, moved = forward, 2
    else:
        y, dy = forward(), torch.randn_like(x)
        run, moved = lambda: y.backward(dy, retain_graph=True), 3
    milliseconds = triton.testing.do_bench(run, warmup=1, rep=5, grad_to_none=[x], return_mode="median")
    return moved * x.numel() * x.element_size() * 1e-9 / (milliseconds * 1e-3)


def main() -> None:
    torch.manual_seed(0)
    check(1151, 2000, torch.float16)
    check(128, 3000, torch.float32, tolerance=1e-4)
    table.show(benchmark)


if __name__ == "__main__":
    main()
