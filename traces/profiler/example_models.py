"""Small models to try the profiler with."""

import torch
from torch import nn
from torch.nn import functional


def mlp():
    """Three linear layers; inputs of 256 numbers."""
    return nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        y += x
        return self.relu(y)


def residual_cnn():
    """A small residual network; images of 3 x 32 x 32."""
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), Residual(16), Residual(16), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(16, 10))


class Block(nn.Module):
    """A block of a transformer, normalised before attention and before the MLP."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in (q, k, v))
        weights = torch.softmax(q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Encoder(nn.Module):
    """Words of a language model that has its table of words twice."""

    def __init__(self, words=1000, length=64, width=64, heads=4, blocks=2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.position = nn.Parameter(torch.zeros(1, length, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        x = self.embedding(words) + self.position[:, :words.shape[1]]
        return self.head(self.norm(self.blocks(x)))


def encoder():
    """A small transformer; sequences of at most 64 words, which are numbers below 1000."""
    return Encoder()
