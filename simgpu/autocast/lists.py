"""Which op runs how under CUDA's autocast: torch's lists of it, as data (ATen/autocast_mode.h of torch 2.13).

A name is an op's with its overload, `pow.Scalar`. A test compares the lists with the header, with the kernels that
torch has registered and with the lists by which torch itself tests them.
"""

#: Run in the lower precision, float16 or bfloat16.
LOWER = frozenset(
    "_convolution.deprecated _convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d.input "
    "conv_transpose3d.input convolution prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm "
    "bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell "
    "rnn_relu_cell _scaled_dot_product_flash_attention scaled_dot_product_attention cudnn_convolution "
    "cudnn_convolution_transpose".split()
)

#: Run in the lower precision: cuDNN runs them, and autocast lowers its op (ATen/cudnn/AutocastRNN.cpp).
RECURRENT = frozenset(
    f"{name}.{form}" for name in ("lstm", "gru", "rnn_tanh", "rnn_relu") for form in ("input", "data")
)

#: Run in float32.
FLOAT32 = frozenset(
    "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar "
    "pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim "
    "nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d "
    "hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss "
    "soft_margin_loss triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm "
    "logsumexp upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d "
    "upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa "
    "upsample_trilinear3d upsample_bicubic2d _upsample_bicubic2d_aa linalg_matrix_sqrth".split()
)

#: Give float32 unless the call names a `dtype`.
FLOAT32_BY_DEFAULT = frozenset(
    "prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm "
    "linalg_matrix_norm.str_ord sum sum.dim_IntList".split()
)

#: Have no argument `dtype`: an op that has one is called in their place, with float32.
GIVEN_FLOAT32 = {"norm.Scalar": "norm.ScalarOpt_dtype", "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype"}

#: Run in the widest precision among their inputs.
WIDEST = frozenset("addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add".split())

#: Refused.
BANNED = frozenset({"binary_cross_entropy"})
