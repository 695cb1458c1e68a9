"""Programs on text: language models, translation, taggers, and how they write."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import rnn

from tests.simgpu.programs.harness import gpu, program, train

LETTERS = "the cat sat on the mat"


def encoded(text=LETTERS):
    """Return the text as numbers, and how many letters there are."""
    alphabet = sorted(set(text))
    return torch.tensor([alphabet.index(letter) for letter in text]), len(alphabet)


class Block(nn.Module):
    """A transformer's block: attention over what came before, and two layers."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.LayerNorm(width), nn.RMSNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).split(width, 2)
        )
        if cache is not None:
            k, v = (torch.cat([old, new], 2) for old, new in zip(cache, (k, v), strict=True))
        context = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.out(context.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.second(x)), (k, v)


class LanguageModel(nn.Module):
    """Blocks over letters, whose table of letters is its last layer, too."""

    def __init__(self, letters, width=8, depth=2):
        super().__init__()
        self.table = nn.Embedding(letters, width)
        self.blocks = nn.ModuleList([Block(width, 2) for _ in range(depth)])
        self.head = nn.Linear(width, letters, bias=False)
        self.head.weight = self.table.weight

    def forward(self, text, cache=None):
        x, output = self.table(text), []
        for index, block in enumerate(self.blocks):
            x, keys = block(x, None if cache is None else cache[index])
            output.append(keys)
        return self.head(x), output


@program
def tied_gpt_with_warmup_and_decay():
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    text, letters = encoded()
    model = LanguageModel(letters).to(device)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95)
    )
    plan = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, (step + 1) / 2))
    losses = []
    for _ in range(3):
        starts = torch.randint(len(text) - 6, (4,))
        x = torch.stack([text[i : i + 5] for i in starts])
        y = torch.stack([text[i + 1 : i + 6] for i in starts])
        if device.type == "cuda":
            x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
        loss = F.cross_entropy(model(x)[0].view(-1, letters), y.view(-1), ignore_index=-1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        losses.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        optimiser.step()
        plan.step()
        losses.append(loss)
    return losses


@program
@torch.no_grad()
def gpt_samples_among_the_best_five():
    device = gpu()
    text, letters = encoded()
    model = LanguageModel(letters).to(device).eval()
    chance = torch.Generator(device=device).manual_seed(4)
    line = text[None, :3].to(device)
    for _ in range(6):
        scores = model(line)[0][:, -1, :] / 0.8
        best, _ = torch.topk(scores, min(5, scores.size(-1)))
        scores[scores < best[:, [-1]]] = -float("Inf")
        line = torch.cat((line, torch.multinomial(F.softmax(scores, dim=-1), 1, generator=chance)), dim=1)
    return line


@program
@torch.inference_mode()
def gpt_keeps_its_keys_and_samples_by_nucleus():
    device = gpu()
    text, letters = encoded()
    model = LanguageModel(letters).eval().to(device)
    token, cache, tokens = text[None, :1].to(device), None, []
    uniform = torch.rand(6)
    scores, cache = model(token)
    for u in uniform:
        odds, order = scores[:, -1].softmax(-1).sort(descending=True)
        total = odds.cumsum(-1)
        odds[total - odds > 0.9] = 0
        odds /= odds.sum(-1, keepdim=True)
        place = torch.searchsorted(odds.cumsum(-1), u.to(device).expand(1, 1)).clamp_(max=letters - 1)
        token = order.gather(-1, place)
        tokens.append(token.item())
        scores, cache = model(token, cache)
    return tokens, cache[0][0].shape


@program
def bidirectional_tagger_of_unsorted_sentences():
    device = gpu()
    sentences = [torch.randint(1, 9, (length,)) for length in (3, 6, 2)]
    tags = rnn.pad_sequence([s % 3 for s in sentences], batch_first=True, padding_value=-100).to(device)
    table = nn.Embedding(9, 4, padding_idx=0).to(device)
    lstm = nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True).to(device)
    head = nn.Linear(10, 3).to(device)
    lengths = torch.tensor([len(s) for s in sentences])
    words = rnn.pad_sequence(sentences, batch_first=True).to(device)

    def loss(m):
        packed = rnn.pack_padded_sequence(m[0](words), lengths, batch_first=True, enforce_sorted=False)
        output, (hidden, _) = m[1](packed)
        output, back = rnn.pad_packed_sequence(output, batch_first=True)
        assert back.tolist() == [3, 6, 2] and hidden.shape == (4, 3, 5)
        return F.cross_entropy(m[2](output).transpose(1, 2), tags)

    return train(nn.ModuleList([table, lstm, head]), loss, optimiser=torch.optim.Adam)


@program
def translation_with_a_whole_transformer():
    device = gpu()
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True).to(device)
    source, target = torch.randint(1, 7, (2, 5)).to(device), torch.randint(1, 7, (2, 4)).to(device)
    source[1, 3:] = 0
    tables = nn.ModuleList([nn.Embedding(7, 8), nn.Embedding(7, 8), nn.Linear(8, 7)]).to(device)
    later = model.generate_square_subsequent_mask(3, device=device)

    def loss(m):
        before, wanted = target[:, :-1], target[:, 1:]
        output = m[0](
            m[1][0](source), m[1][1](before), tgt_mask=later, src_key_padding_mask=source.eq(0).float() * -1e9,
            memory_key_padding_mask=source.eq(0).float() * -1e9,
        )  # fmt: skip
        return F.cross_entropy(m[1][2](output).flatten(0, 1), wanted.flatten(), label_smoothing=0.1)

    return train(nn.ModuleList([model, tables]), loss, optimiser=torch.optim.Adam, betas=(0.9, 0.98), eps=1e-9)


@program
def skip_grams_with_negative_samples():
    device = gpu()
    inside, outside = (nn.Embedding(12, 4, sparse=True).to(device) for _ in range(2))
    centre, around, never = (torch.randint(0, 12, shape).to(device) for shape in ((5,), (5,), (5, 3)))

    def loss(m):
        yes = F.logsigmoid((m[0](centre) * m[1](around)).sum(1))
        no = F.logsigmoid(-torch.bmm(m[1](never), m[0](centre).unsqueeze(2)).squeeze(2)).sum(1)
        return -(yes + no).mean()

    return train(nn.ModuleList([inside, outside]), loss, lr=0.5)


@program
def bag_of_words_by_a_collating_loader():
    device = gpu()

    def collate(batch):
        labels, texts, offsets = [], [], [0]
        for label, text in batch:
            labels.append(label)
            texts.append(torch.tensor(text, dtype=torch.int64))
            offsets.append(len(text))
        return (
            torch.tensor(labels, dtype=torch.int64).to(device), torch.cat(texts).to(device),
            torch.tensor(offsets[:-1]).cumsum(dim=0).to(device),
        )  # fmt: skip

    data = [(k % 2, [k, k + 1, 2 * k][: 1 + k % 3]) for k in range(8)]
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=False, collate_fn=collate)
    model = nn.Sequential()
    model.bag, model.head = nn.EmbeddingBag(20, 4, sparse=False).to(device), nn.Linear(4, 2).to(device)
    optimiser, right, losses = torch.optim.SGD(model.parameters(), lr=1.0), 0, []
    for label, text, offsets in loader:
        optimiser.zero_grad()
        output = model.head(model.bag(text, offsets))
        loss = F.cross_entropy(output, label)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimiser.step()
        right += (output.argmax(1) == label).sum().item()
        losses.append(loss.item())
    return right, losses
