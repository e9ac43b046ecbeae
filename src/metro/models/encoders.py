"""Image encoders: compact convolutions, and the published vision transformer."""

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from metro.compat import import_torchvision
from metro.errors import MissingExtra, ModelError
from metro.models.presets import Sizes


class ConvolutionEncoder(nn.Module):
    """Convolutions with batch norm, flattened: ``[N, 3, S, S]`` -> ``[N, F]``.

    The first has stride 2 (3 x 3) or 4 (disjoint 4 x 4 patches, twice as fast), the
    others stride 2. Batch norm takes the place of their biases.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        convolutions = [_stem(sizes)]
        for inputs, outputs in zip(sizes.widths, sizes.widths[1:], strict=False):
            convolutions.append(
                nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
            )
        layers: list[nn.Module] = []
        for convolution in convolutions:
            norm = nn.BatchNorm2d(convolution.out_channels)
            layers += [convolution, norm, nn.ReLU(inplace=True)]
        self.stages = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        """Return the flattened feature map of every image."""
        if len(images) == 1:  # alone it would be summed in another order
            return self(images.repeat(2, 1, 1, 1))[:1]
        # In the order of memory, so that neither way anything is moved.
        return self.stages(images).permute(0, 2, 3, 1).flatten(1)

    @staticmethod
    def num_features(sizes: Sizes) -> int:
        """Return F: channels times the places that the strides leave."""
        edge = -(-sizes.image_size // sizes.patch_size)
        for _ in sizes.widths[1:]:
            # A padded 3 x 3 convolution of stride 2 rounds an odd edge up.
            edge = -(-edge // 2)
        return edge * edge * sizes.widths[-1]


def _stem(sizes: Sizes) -> nn.Conv2d:
    if sizes.patch_size == 2:
        return nn.Conv2d(3, sizes.widths[0], 3, stride=2, padding=1, bias=False)
    if sizes.patch_size == 4 and sizes.image_size % 4 == 0:
        return nn.Conv2d(3, sizes.widths[0], 4, stride=4, bias=False)
    raise ModelError(
        f"The first stride of a cnn must be 2, or 4 for a multiple of 4 pixels; got "
        f"{sizes.patch_size} for {sizes.image_size} pixels."
    )


def build_encoder(sizes: Sizes) -> tuple[Any, int]:
    """Return the image encoder and the number of its features."""
    if sizes.encoder == "cnn":
        encoder: Any = ConvolutionEncoder(sizes)
        # As frames lie in memory: converting weights once spares every batch.
        encoder = encoder.to(memory_format=torch.channels_last)
        return encoder, ConvolutionEncoder.num_features(sizes)
    if sizes.encoder == "vit":
        return _build_vit(sizes), sizes.widths[0]
    raise ModelError(f"encoder must be vit or cnn, got {sizes.encoder!r}.")


def _build_vit(sizes: Sizes) -> Any:
    """Return Hugging Face's ViT of 12 layers; other settings are its defaults."""
    try:
        if find_spec("torchvision") is not None:
            import_torchvision()  # transformers imports it, also where it needs help
        from transformers import ViTConfig, ViTModel
    except ImportError as error:
        raise MissingExtra(
            'The published encoder needs the "swm" extra: pip install "metro-wm[swm]"'
        ) from error
    width = sizes.widths[0]
    settings = ViTConfig(
        hidden_size=width,
        num_hidden_layers=12,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        image_size=sizes.image_size,
        patch_size=sizes.patch_size,
    )
    # Neither is in the released weights, which are filled in strictly.
    return ViTModel(settings, add_pooling_layer=False, use_mask_token=False)
