from itertools import combinations

import numpy as np
import pytest
import torch

from niulab.agents.models.layers import Waves
from niulab.agents.models.networks import (
    CardLayout,
    CardReader,
    CardSetScores,
    DeepSet,
    SplitActorCritic,
    SplitQNetwork,
)
from niulab.engine.hands import SPLITS
from niulab.envs import make_settings
from niulab.envs.encoding import NO_CARD, Encoding

SMALL = {"embedding": 8, "hidden": [8], "critic_embedding": 8, "critic_hidden": [8]}
ARRANGE = {
    "ids": {"encoding": "ids"},
    "float32": {},
    "uint8": {"observation": "uint8"},
    "points": {"point_flags": True},
}


def words_of(settings):
    encoding = Encoding(settings)
    return {
        "layout": CardLayout.of(encoding),
        "highs": encoding.space.high.tolist(),
        "n_actions": settings.n_actions,
    }


def hands(n=50, seed=0):
    rng = np.random.default_rng(seed)
    dealt = [np.sort(rng.choice(52, 5, replace=False)) for _ in range(n)]
    return np.array(dealt, dtype=np.uint8)


@pytest.mark.parametrize("name", sorted(ARRANGE))
def test_every_encoding_is_read_back_to_the_same_cards(name):
    settings = make_settings("niulab/Arrange-v0", **ARRANGE[name])
    encoding = Encoding(settings)
    reader = CardReader(CardLayout.of(encoding), encoding.space.high.tolist())
    seen = torch.from_numpy(encoding.encode_hands(hands())).float()  # as SB3 hands it over
    assert np.array_equal(reader.cards(seen).numpy(), hands())
    assert reader.n_context == 0


@pytest.mark.parametrize("network", [SplitActorCritic, SplitQNetwork])
def test_the_order_of_cards_cannot_matter(network):
    torch.manual_seed(0)
    settings = make_settings("niulab/Arrange-v0", encoding="ids")
    net = network(**words_of(settings), **SMALL)
    score = net.forward_actor if network is SplitActorCritic else net
    cards = torch.from_numpy(hands().astype(np.float32))
    order = [3, 0, 4, 2, 1]
    with torch.no_grad():
        plain, mixed = score(cards), score(cards[:, order])
    for action, (i, j) in enumerate(SPLITS):
        same = tuple(sorted((order[i], order[j])))  # where these two cards lay before
        assert torch.allclose(mixed[:, action], plain[:, SPLITS.index(same)], atol=1e-6)


def test_tables_are_the_same_function_with_the_same_gradient():
    torch.manual_seed(0)
    function = DeepSet(8, [8], 2, "sine")
    scores = CardSetScores(3, function, has_repeats=False)
    cards = torch.from_numpy(hands()[:, :3].astype(np.int64))
    weights = torch.randn(len(cards), 2)
    looked_up = scores([cards[:, 2], cards[:, 0], cards[:, 1]])
    (looked_up * weights).sum().backward()
    gradients = [weight.grad.clone() for weight in function.parameters()]
    function.zero_grad()
    direct = function(cards)
    (direct * weights).sum().backward()
    assert torch.allclose(looked_up, direct, atol=1e-6)
    for old, weight in zip(gradients, function.parameters(), strict=True):
        assert torch.allclose(old, weight.grad, atol=1e-4)


def test_kept_tables_follow_the_weights():
    function = DeepSet(8, [8], 1, "sine")
    scores = CardSetScores(2, function, has_repeats=True)
    pair = [torch.tensor([7]), torch.tensor([7])]  # the same card twice: several decks
    optimizer = torch.optim.Adam(function.parameters(), lr=0.1)
    with torch.no_grad():
        before = scores(pair).clone()
        assert scores.table() is scores.table()
    scores(pair).sum().backward()
    optimizer.step()
    with torch.no_grad():
        after = scores(pair)
        assert not torch.equal(before, after)
        assert torch.allclose(after, function(torch.tensor([[7, 7]])), atol=1e-6)
        for weight in function.parameters():
            weight.data.mul_(2)  # as DQN's target network is updated, unseen by torch's counters
        assert torch.allclose(scores(pair), function(torch.tensor([[7, 7]])), atol=1e-6)


def test_before_the_deal_only_the_context_speaks():
    torch.manual_seed(0)
    settings = make_settings("niulab/NiuNiu-v0", encoding="ids")
    encoding = Encoding(settings)
    net = SplitActorCritic(**words_of(settings), **SMALL)
    cards = net.reader.layout
    seen = torch.zeros(2, encoding.size)
    seen[:, cards.start : cards.stop] = NO_CARD
    seen[1, cards.stop + 2] = 200.0
    context = net.context(net.reader.context(seen))
    with torch.no_grad():
        assert torch.allclose(net.forward_actor(seen), context[:, : settings.n_actions])
        assert not torch.allclose(net.forward_actor(seen)[0], net.forward_actor(seen)[1])
    assert net.reader.context(seen).max() <= 1


def test_products_are_the_sum_over_pairs_of_cards():
    torch.manual_seed(0)
    function = DeepSet(4, [], 1, "sine", vectors="ranks_and_suits", products=True)
    vectors, head = function.vectors.weight, function.head[0]
    for cards in ([0, 17, 51], [4, 5], [9, NO_CARD, 30]):
        each = [vectors[card] for card in cards]
        pairs = sum(a * b for a, b in combinations(each, 2))
        want = head(torch.cat([sum(each), pairs]))
        assert torch.allclose(function(torch.tensor([cards]))[0], want, atol=1e-6)


def test_a_rank_and_a_suit_make_a_card_and_no_card_is_nothing():
    vectors = DeepSet(4, [], 1, "sine", vectors="ranks_and_suits").vectors.weight
    ace_of_spades, ace_of_diamonds, king_of_spades, king_of_diamonds = vectors[[3, 0, 51, 48]]
    assert torch.allclose(
        ace_of_spades - ace_of_diamonds, king_of_spades - king_of_diamonds, atol=1e-6
    )
    assert len(vectors) == NO_CARD + 1
    assert not vectors[NO_CARD].any()


def test_waves_keep_the_numbers_and_tell_neighbors_apart():
    torch.manual_seed(0)
    plain, waved = Waves(2, 64, 0.001), Waves(2, 64, 30.0)
    seen = torch.tensor([[0.5, 1.0], [0.505, 1.0]])  # 20 cents of 4,000 apart

    def distance(waves):
        out = waves(seen)
        assert torch.equal(out[:, :2], seen)
        assert out.shape == (2, 66)
        return (out[0, 2:] - out[1, 2:]).square().mean().sqrt().item()

    assert distance(plain) < 1e-4
    # sin(x + d) - sin(x) has the mean square 1 - cos d; d is normal with SD 30 x 0.005
    assert distance(waved) == pytest.approx((1 - np.exp(-(0.15**2) / 2)) ** 0.5, rel=0.25)


def test_waves_of_the_context_are_weights_of_their_own():
    settings = make_settings("niulab/NiuNiu-v0", encoding="ids")
    words = words_of(settings) | SMALL
    plain = SplitActorCritic(**words).state_dict()
    waved = SplitActorCritic(**words, frequencies=16).state_dict()
    assert plain["context.0.weight"].shape == (8, 7)  # as before there were waves
    assert waved["context.0.directions"].shape == (16, 7)
    assert waved["context.1.weight"].shape == (8, 7 + 16)
