"""Programs that act: policies, values, replay, bandits, evolution. Games are the programs' own."""

import collections
import random

import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

from tests.simgpu.programs.harness import drawn, gpu, program


class Walk:
    """A walk over 5 places: right is good, and the last place ends it."""

    def reset(self):
        self.place = 0
        return self.state()

    def state(self):
        return [float(self.place == k) for k in range(5)]

    def step(self, action):
        self.place = max(0, min(4, self.place + (1 if action else -1)))
        return self.state(), 1.0 if self.place == 4 else -0.1, self.place == 4


Transition = collections.namedtuple("Transition", "state action next_state reward")


@program
def policy_gradient_with_returns():
    device = gpu()
    policy, walk = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2)).to(device), Walk()
    optimiser, totals = torch.optim.Adam(policy.parameters(), lr=0.05), []
    torch.manual_seed(5)
    for _ in range(3):
        state, logs, rewards = walk.reset(), [], []
        for _ in range(8):
            odds = Categorical(F.softmax(policy(torch.tensor(state).float().unsqueeze(0).to(device)), dim=1))
            action = odds.sample()
            logs.append(odds.log_prob(action))
            state, reward, done = walk.step(action.item())
            rewards.append(reward)
            if done:
                break
        returns = collections.deque()
        for reward in rewards[::-1]:
            returns.appendleft(reward + 0.99 * (returns[0] if returns else 0))
        returns = torch.tensor(returns, device=device)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = torch.cat([-log * value for log, value in zip(logs, returns, strict=True)]).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        totals += [sum(rewards), loss.item()]
    return totals


@program
def q_network_with_a_replay_memory():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    chance, walk, memory = random.Random(3), Walk(), collections.deque([], maxlen=50)
    policy, target = nn.Linear(5, 2).to(device), nn.Linear(5, 2).to(device)
    target.load_state_dict(policy.state_dict())
    optimiser = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
    state, losses = torch.tensor(walk.reset(), device=device).unsqueeze(0), []
    for _ in range(20):
        if chance.random() > 0.5:
            with torch.no_grad():
                action = policy(state).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[chance.randrange(2)]], device=device, dtype=torch.long)
        observed, reward, done = walk.step(action.item())
        after = None if done else torch.tensor(observed, dtype=torch.float32, device=device).unsqueeze(0)
        memory.append(Transition(state, action, after, torch.tensor([reward], device=device)))
        state = torch.tensor(walk.reset(), device=device).unsqueeze(0) if done else after
        if len(memory) < 8:
            continue
        batch = Transition(*zip(*chance.sample(memory, 8), strict=True))
        goes_on = torch.tensor([s is not None for s in batch.next_state], device=device, dtype=torch.bool)
        values = torch.zeros(8, device=device)
        with torch.no_grad():
            values[goes_on] = target(torch.cat([s for s in batch.next_state if s is not None])).max(1).values
        guess = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
        loss = nn.SmoothL1Loss()(guess, (values * 0.99 + torch.cat(batch.reward)).unsqueeze(1))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimiser.step()
        mixed, own = target.state_dict(), policy.state_dict()
        for key in own:
            mixed[key] = own[key] * 0.1 + mixed[key] * 0.9
        target.load_state_dict(mixed)
        losses.append(loss.item())
    return losses, target.weight


@program
def proximal_policies_by_minibatches():
    device = gpu()
    model = nn.ModuleDict({"act": nn.Linear(3, 2), "value": nn.Linear(3, 1)}).to(device)
    length, batch = 5, 2
    observed, actions = drawn(length, batch, 3, device=device), torch.randint(2, (length, batch)).to(device)
    rewards, dones = torch.rand(length, batch).to(device), torch.zeros(length, batch).to(device)
    dones[2, 1] = 1
    with torch.no_grad():
        old = Categorical(logits=model["act"](observed)).log_prob(actions)
        values = model["value"](observed).squeeze(-1)
        better, last = torch.zeros_like(rewards).to(device), 0
        for t in reversed(range(length)):
            after = values[t + 1] if t + 1 < length else torch.zeros(batch, device=device)
            delta = rewards[t] + 0.99 * after * (1.0 - dones[t]) - values[t]
            better[t] = last = delta + 0.95 * 0.99 * (1.0 - dones[t]) * last
        returns = better + values
    order, optimiser, losses = (
        torch.randperm(length * batch),
        torch.optim.Adam(model.parameters(), lr=0.01, eps=1e-5),
        [],
    )
    b_seen, b_actions, b_old, b_better, b_returns = (
        x.reshape(length * batch, *x.shape[2:]) for x in (observed, actions, old, better, returns)
    )
    for rows in order.split(4):
        odds = Categorical(logits=model["act"](b_seen[rows]))
        log = odds.log_prob(b_actions[rows]) - b_old[rows]
        ratio, gain = log.exp(), b_better[rows]
        gain = (gain - gain.mean()) / (gain.std(unbiased=False) + 1e-8)
        policy = torch.max(-gain * ratio, -gain * torch.clamp(ratio, 0.8, 1.2)).mean()
        value = 0.5 * ((model["value"](b_seen[rows]).view(-1) - b_returns[rows]) ** 2).mean()
        loss = policy - 0.01 * odds.entropy().mean() + value * 0.5
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimiser.step()
        losses += [loss.item(), ((ratio - 1) - log).mean().item()]
    return losses


@program
def values_of_a_grid_are_iterated():
    device = gpu()
    reward = torch.zeros(4, 4, device=device)
    reward[3, 3], reward[1, 2] = 1.0, -1.0
    value = torch.zeros_like(reward)
    for _ in range(50):
        edge = F.pad(value[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
        moves = torch.stack([edge[:-2, 1:-1], edge[2:, 1:-1], edge[1:-1, :-2], edge[1:-1, 2:]])
        best, way = moves.max(0)
        new = reward + 0.9 * best
        if (new - value).abs().max() < 1e-4:
            break
        value = new
    return value, way
