"""Laws of the image encoders."""

from dataclasses import replace

import pytest
import torch
from model_makers import TINY, scramble
from torch.testing import assert_close

from metro.models.encoders import ConvolutionEncoder, build_encoder


def make_encoder(sizes=TINY):
    torch.manual_seed(0)
    encoder, features = build_encoder(sizes)
    scramble(encoder)
    return encoder.eval().requires_grad_(False), features


def make_images(number=5, size=16):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(number, 3, size, size, generator=generator)


@pytest.mark.parametrize("widths", [(4,), (4, 6), (4, 6, 8, 10)])
@pytest.mark.parametrize(("patch", "size"), [(2, 16), (2, 17), (2, 30), (4, 20)])
def test_features_are_counted_without_an_image(widths, patch, size):
    """Every convolution halves the edge, rounded up where it is odd."""
    sizes = replace(TINY, widths=widths, patch_size=patch, image_size=size)
    encoder, features = make_encoder(sizes)
    assert encoder(make_images(2, size)).shape == (2, features)


def test_an_image_has_the_same_features_in_any_company():
    """Alone, in a batch and in another order: the same but for rounding."""
    encoder, _ = make_encoder()
    images = make_images()
    together = encoder(images)
    for number in range(len(images)):
        alone = encoder(images[number : number + 1])
        assert torch.allclose(alone, together[number : number + 1])
    assert torch.allclose(encoder(images.flip(0)), together.flip(0))


def test_a_stem_of_stride_four_is_a_product_with_patches():
    """Disjoint patches of 4 x 4 pixels times one matrix, normed and rectified."""
    encoder, _ = make_encoder(replace(TINY, widths=(8,), patch_size=4))
    images = make_images()
    kernel, norm = encoder.stages[0].weight, encoder.stages[1]
    patches = images.unfold(2, 4, 4).unfold(3, 4, 4)  # [N, 3, 4, 4, 4, 4]
    products = torch.einsum("ncyxij,ocij->nyxo", patches, kernel)
    scaled = (products - norm.running_mean) / (norm.running_var + norm.eps).sqrt()
    expected = (scaled * norm.weight + norm.bias).relu().flatten(1)
    assert_close(encoder(images), expected, rtol=1e-4, atol=1e-5)


def test_the_order_in_memory_changes_no_number():
    """Channels last is for speed alone."""
    torch.manual_seed(0)
    plain = ConvolutionEncoder(TINY).eval()
    torch.manual_seed(0)
    fast, _ = build_encoder(TINY)
    images = make_images()
    moved = images.contiguous(memory_format=torch.channels_last)
    assert_close(fast.eval()(moved), plain(images), rtol=1e-4, atol=1e-5)
